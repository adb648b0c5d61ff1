//! What a window lets its members reach (MPI section 12.2): where it is, and memory that is attached and detached.

use core::ffi::{c_int, c_void};
use std::cell::RefCell;
use std::ops::Range;

use crate::abi::constants::*;
use crate::abi::types::MPI_Aint;

/// The memory of a window.
pub(crate) struct Memory {
    facts: Facts,
    attached: RefCell<Attached>,
}

/// The values of the predefined attributes (MPI section 12.2.6). All but the first are given out by their addresses.
struct Facts {
    base: usize,
    size: MPI_Aint,
    disp_unit: c_int,
    flavor: c_int,
    model: c_int,
}

impl Memory {
    /// None yet: it is attached later. Displacements are addresses.
    pub(crate) fn dynamic() -> Self {
        let facts = Facts {
            base: MPI_BOTTOM.addr(),
            size: 0,
            disp_unit: 1,
            flavor: MPI_WIN_FLAVOR_DYNAMIC,
            model: MPI_WIN_UNIFIED,
        };
        Self { facts, attached: RefCell::default() }
    }

    /// Whether a key is that of a predefined attribute.
    pub(crate) fn is_key(keyval: c_int) -> bool {
        (MPI_WIN_BASE..=MPI_WIN_MODEL).contains(&keyval)
    }

    /// The value of a predefined attribute, as long as the window lives.
    pub(crate) fn attribute(&self, keyval: c_int) -> Option<*mut c_void> {
        let facts = &self.facts;
        let number: *const c_int = match keyval {
            MPI_WIN_BASE => return Some(std::ptr::with_exposed_provenance_mut(facts.base)),
            MPI_WIN_SIZE => return Some((&raw const facts.size).cast_mut().cast()),
            MPI_WIN_DISP_UNIT => &facts.disp_unit,
            MPI_WIN_CREATE_FLAVOR => &facts.flavor,
            MPI_WIN_MODEL => &facts.model,
            _ => return None,
        };
        Some(number.cast_mut().cast())
    }

    /// Lets the members reach `bytes` from `base` on, which must not wrap around.
    pub(crate) fn attach(&self, base: usize, bytes: usize) -> Result<(), Overlap> {
        self.attached.borrow_mut().add(base, bytes)
    }

    /// Whether there was such a region, which now there is not.
    pub(crate) fn detach(&self, base: usize) -> bool {
        self.attached.borrow_mut().remove(base)
    }
}

/// The region that one to be attached has bytes in common with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overlap(pub(crate) Range<usize>);

/// The memory that is attached to a window.
#[derive(Default)]
struct Attached {
    /// By their addresses, none having a byte in common with another.
    regions: Vec<Range<usize>>,
    /// The addresses of regions without bytes, which can lie anywhere.
    empty: Vec<usize>,
}

impl Attached {
    fn add(&mut self, base: usize, bytes: usize) -> Result<(), Overlap> {
        if bytes == 0 {
            self.empty.push(base);
            return Ok(());
        }
        let at = self.regions.partition_point(|region| region.end <= base);
        match self.regions.get(at) {
            Some(next) if next.start < base + bytes => Err(Overlap(next.clone())),
            _ => {
                self.regions.insert(at, base..base + bytes);
                Ok(())
            }
        }
    }

    fn remove(&mut self, base: usize) -> bool {
        if let Ok(at) = self.regions.binary_search_by_key(&base, |region| region.start) {
            self.regions.remove(at);
            return true;
        }
        let found = self.empty.iter().position(|empty| *empty == base);
        found.map(|at| self.empty.swap_remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{Attached, Overlap};

    /// A small deterministic generator: the test needs variety, not randomness.
    fn step(seed: &mut u64) -> usize {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 33) as usize
    }

    #[test]
    fn regions_come_and_go_as_in_a_list_that_is_searched_byte_by_byte() {
        for start in 0..50 {
            let (mut attached, mut model) = (Attached::default(), Vec::<(usize, usize)>::new());
            let mut seed = start;
            for _ in 0..1_000 {
                let (base, bytes) = (step(&mut seed) % 64, step(&mut seed) % 9);
                if step(&mut seed).is_multiple_of(2) {
                    let is_taken =
                        |byte| model.iter().any(|(base, bytes)| (*base..base + bytes).contains(&byte));
                    let is_free = !(base..base + bytes).any(is_taken);
                    assert_eq!(attached.add(base, bytes).is_ok(), is_free, "{base} {bytes} {model:?}");
                    if is_free {
                        model.push((base, bytes));
                    }
                } else {
                    // Of two that begin at one address, one has no bytes, and goes last.
                    model.sort_by_key(|(_, bytes)| *bytes == 0);
                    let found = model.iter().position(|(other, _)| *other == base);
                    assert_eq!(attached.remove(base), found.is_some(), "{base} {model:?}");
                    found.map(|at| model.remove(at));
                }
            }
        }
    }

    #[test]
    fn an_overlap_is_told_with_the_region_that_was_there() {
        let mut attached = Attached::default();
        attached.add(100, 10).unwrap();
        attached.add(120, 10).unwrap();
        assert_eq!(attached.add(90, 11), Err(Overlap(100..110)));
        assert_eq!(attached.add(109, 50), Err(Overlap(100..110)));
        assert_eq!(attached.add(110, 10), Ok(()));
        assert!(attached.remove(100) && !attached.remove(100) && !attached.remove(121));
    }
}

//! What a window lets its members reach (MPI section 12.2): where it is, and memory that is attached and detached.

use core::ffi::{c_int, c_void};
use std::cell::RefCell;
use std::ops::Range;

use crate::abi::constants::*;
use crate::abi::types::MPI_Aint;

/// The memory of a window.
pub(crate) struct Memory {
    pub(crate) window: engine::Window,
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
    /// Of this process, from an address on. What is attached later has none yet, and displacements are addresses.
    pub(crate) fn new(window: engine::Window, base: usize, size: MPI_Aint, unit: i64, flavor: c_int) -> Self {
        let disp_unit = c_int::try_from(unit).unwrap_or(c_int::MAX);
        let facts = Facts { base, size, disp_unit, flavor, model: MPI_WIN_UNIFIED };
        Self { window, facts, attached: RefCell::default() }
    }

    /// How the window was made.
    pub(crate) fn flavor(&self) -> c_int {
        self.facts.flavor
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

    /// Attaches `bytes` from `base` on, which must not wrap around.
    pub(crate) fn attach(&self, base: usize, bytes: usize) -> Result<(), Overlap> {
        self.attached.borrow_mut().add(base, bytes)
    }

    /// The bytes of the region that begins here and is no longer attached; `None` if there was none.
    pub(crate) fn detach(&self, base: usize) -> Option<usize> {
        self.attached.borrow_mut().remove(base)
    }

    /// What lies in one piece with a region that is attached, on both sides.
    pub(crate) fn neighborhood(&self, region: &Range<usize>) -> Range<usize> {
        self.attached.borrow().around(region)
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

    fn remove(&mut self, base: usize) -> Option<usize> {
        if let Ok(at) = self.regions.binary_search_by_key(&base, |region| region.start) {
            return Some(self.regions.remove(at).len());
        }
        let found = self.empty.iter().position(|empty| *empty == base);
        found.map(|at| self.empty.swap_remove(at)).map(|_| 0)
    }

    /// A region with all that touches it.
    fn around(&self, region: &Range<usize>) -> Range<usize> {
        let at = self.regions.partition_point(|other| other.end <= region.start);
        let (before, after) = self.regions.split_at(at);
        let touches_before = |start: usize, other: &Range<usize>| {
            if other.end == start { Ok(other.start) } else { Err(start) }
        };
        let touches_behind = |end: usize, other: &Range<usize>| {
            if other.start <= end { Ok(other.end.max(end)) } else { Err(end) }
        };
        let start = before.iter().rev().try_fold(region.start, touches_before);
        let end = after.iter().try_fold(region.end, touches_behind);
        start.unwrap_or_else(|start| start)..end.unwrap_or_else(|end| end)
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
                    assert_eq!(attached.remove(base).is_some(), found.is_some(), "{base} {model:?}");
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
        assert_eq!(attached.around(&(100..110)), 100..130);
        assert_eq!(attached.remove(100), Some(10));
        assert_eq!((attached.remove(100), attached.remove(121)), (None, None));
        assert_eq!((attached.around(&(120..130)), attached.around(&(100..110))), (110..130, 100..130));
    }
}

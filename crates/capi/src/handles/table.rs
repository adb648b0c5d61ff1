//! A table of objects behind handles.
//!
//! A handle is an address-sized number that says which kind of object it names, in which slot, and which generation of that
//! slot:
//!
//! ```text
//!  63      56 55                32 31                 0
//! +----------+--------------------+--------------------+
//! |   kind   |     generation     |        slot        |
//! +----------+--------------------+--------------------+
//! ```
//!
//! No kind is zero, so no handle collides with the predefined ones, which lie below 0x1000. Freeing an object moves its slot
//! to the next generation: a stale handle, a handle of another kind and a number made up by the program are all told apart
//! from a live one by one comparison. A slot's generation repeats after 2^24 - 1 objects.

use std::cell::RefCell;

const GENERATIONS: u32 = (1 << 24) - 1;
const _: () = assert!(size_of::<usize>() == 8, "handles need 64 bits");

/// Which kind of object a handle names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    Comm = 1,
    Group,
    Datatype,
    Op,
    Info,
    Errhandler,
    Session,
    Win,
}

/// Objects of one kind. `T` is cheap to clone: a counted reference or a small number.
pub(crate) struct Table<T> {
    kind: Kind,
    slots: RefCell<Slots<T>>,
}

struct Slots<T> {
    entries: Vec<Slot<T>>,
    /// Slots that hold nothing, the most recently used last: it is the one in the cache.
    free: Vec<u32>,
}

struct Slot<T> {
    /// What a handle's upper half must be.
    mark: u32,
    object: Option<T>,
}

impl<T: Clone> Table<T> {
    pub(crate) const fn new(kind: Kind) -> Self {
        Self { kind, slots: RefCell::new(Slots { entries: Vec::new(), free: Vec::new() }) }
    }

    /// Stores an object and returns its handle.
    #[inline]
    pub(crate) fn insert(&self, object: T) -> usize {
        let slots = &mut *self.slots.borrow_mut();
        let index = match slots.free.pop() {
            Some(index) => index,
            None => {
                slots.entries.push(Slot { mark: mark(self.kind, 0), object: None });
                (slots.entries.len() - 1) as u32
            }
        };
        let slot = &mut slots.entries[index as usize];
        slot.object = Some(object);
        (slot.mark as usize) << 32 | index as usize
    }

    /// The object that a live handle names.
    #[inline]
    pub(crate) fn get(&self, handle: usize) -> Option<T> {
        let slots = self.slots.borrow();
        let slot = slots.entries.get(handle & u32::MAX as usize)?;
        if slot.mark as usize != handle >> 32 {
            return None;
        }
        slot.object.clone()
    }

    /// Takes the object out; the handle is dead from now on. The caller drops the object, outside of any borrow.
    #[inline]
    pub(crate) fn remove(&self, handle: usize) -> Option<T> {
        let slots = &mut *self.slots.borrow_mut();
        let index = handle & u32::MAX as usize;
        let slot = slots.entries.get_mut(index)?;
        if slot.mark as usize != handle >> 32 {
            return None;
        }
        let object = slot.object.take()?;
        slot.mark = next_generation(slot.mark);
        slots.free.push(index as u32);
        Some(object)
    }

    /// A handle as a positive C integer (MPI section 20.3): the slot, above all predefined values.
    pub(crate) fn to_int(&self, handle: usize) -> Option<i32> {
        self.get(handle)?;
        i32::try_from((handle & u32::MAX as usize) + INT_BASE).ok()
    }

    /// The handle that now lives in the slot that such an integer names.
    pub(crate) fn handle_of_int(&self, number: i32) -> Option<usize> {
        let index = usize::try_from(number).ok()?.checked_sub(INT_BASE)?;
        let slots = self.slots.borrow();
        let slot = slots.entries.get(index)?;
        slot.object.as_ref()?;
        Some((slot.mark as usize) << 32 | index)
    }

    /// The first object for which `wanted` holds.
    pub(crate) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        let slots = self.slots.borrow();
        slots.entries.iter().filter_map(|slot| slot.object.as_ref()).find(|object| wanted(object)).cloned()
    }

    /// Objects alive.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let slots = self.slots.borrow();
        slots.entries.len() - slots.free.len()
    }
}

/// Integers below this stand for predefined handles.
const INT_BASE: usize = 0x1000;

fn mark(kind: Kind, generation: u32) -> u32 {
    (kind as u32) << 24 | generation
}

fn next_generation(mark: u32) -> u32 {
    let (kind, generation) = (mark & !GENERATIONS, mark & GENERATIONS);
    kind | (generation + 1) & GENERATIONS
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{Kind, Table};

    /// A small deterministic generator: the test needs variety, not randomness.
    fn step(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *seed >> 33
    }

    #[test]
    fn agrees_with_a_map_under_any_sequence_of_operations() {
        for start in 0..50 {
            let table = Table::new(Kind::Comm);
            let mut model: HashMap<usize, u64> = HashMap::new();
            let mut dead = Vec::new();
            let mut seed = start;
            for _ in 0..2_000 {
                match step(&mut seed) % 3 {
                    0 => {
                        let value = step(&mut seed);
                        let handle = table.insert(value);
                        assert!(handle >= 0x1000, "collides with a predefined handle");
                        assert_eq!(model.insert(handle, value), None, "a live handle was given out twice");
                    }
                    1 => {
                        let chosen = model.keys().nth(step(&mut seed) as usize % model.len().max(1)).copied();
                        let Some(handle) = chosen else { continue };
                        assert_eq!(table.remove(handle), model.remove(&handle));
                        dead.push(handle);
                    }
                    _ => {
                        for (handle, value) in &model {
                            assert_eq!(table.get(*handle), Some(*value));
                        }
                    }
                }
            }
            assert_eq!(table.len(), model.len());
            assert!(dead.iter().all(|handle| model.contains_key(handle) || table.get(*handle).is_none()));
        }
    }

    #[test]
    fn a_handle_of_another_kind_is_foreign() {
        let (comms, groups) = (Table::new(Kind::Comm), Table::new(Kind::Group));
        let comm = comms.insert(1);
        groups.insert(2);
        assert_eq!(groups.get(comm), None);
        assert_eq!(groups.remove(comm), None);
    }

    #[test]
    fn any_number_is_either_live_or_refused() {
        let table = Table::new(Kind::Op);
        let live = table.insert(7);
        let mut seed = 3;
        for _ in 0..10_000 {
            let number = (step(&mut seed) << 32 | step(&mut seed)) as usize;
            assert!(number == live || table.get(number).is_none());
        }
        assert_eq!((table.get(0), table.get(usize::MAX)), (None, None));
    }

    #[test]
    fn integers_lead_back_to_their_handle_while_it_lives() {
        let table = Table::new(Kind::Info);
        let handle = table.insert(5);
        let number = table.to_int(handle).expect("live");
        assert!(number >= 0x1000);
        assert_eq!(table.handle_of_int(number), Some(handle));
        table.remove(handle);
        assert_eq!((table.to_int(handle), table.handle_of_int(number)), (None, None));
    }
}

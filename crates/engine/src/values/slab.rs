//! A table whose keys go stale: slot number plus generation, so that a freed key never finds another entry.

use alloc::vec::Vec;

/// Names an entry of a [`Slab`]: generation in the upper half, slot in the lower. Never zero: generations start at 1.
pub(crate) type Key = u64;

/// Entries in reused slots. Insertion and removal are O(1) and allocate only when the table grows.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    entry: Option<T>,
}

impl<T> Slab<T> {
    pub const fn new() -> Slab<T> {
        Slab { slots: Vec::new(), free: Vec::new() }
    }

    /// Bytes that one more slot costs, for the budget.
    pub const SLOT_BYTES: usize = size_of::<Slot<T>>() + size_of::<u32>();

    /// True if the next insertion has to allocate.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Entries in use.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The key that the next insertion gives out, for entries that must know it.
    #[inline]
    pub fn next_key(&self) -> Key {
        let index = self.free.last().copied().unwrap_or(self.slots.len() as u32);
        let generation = self.slots.get(index as usize).map_or(1, |slot| slot.generation);
        (u64::from(generation) << 32) | u64::from(index)
    }

    pub fn insert(&mut self, entry: T) -> Key {
        self.insert_with(|| entry)
    }

    /// Adds what `make` gives. The slot is found first: with nothing behind `make` that could unwind, a large entry is made where it stays, and not copied there from
    /// the stack, whose parts have not reached the cache by then.
    #[inline(always)]
    pub fn insert_with(&mut self, make: impl FnOnce() -> T) -> Key {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push(Slot { generation: 1, entry: None });
                self.slots.len() as u32 - 1
            }
        };
        let slot = &mut self.slots[index as usize];
        // A free slot holds nothing that would have to be dropped.
        core::mem::forget(slot.entry.replace(make()));
        (u64::from(slot.generation) << 32) | u64::from(index)
    }

    #[inline]
    pub fn get(&self, key: Key) -> Option<&T> {
        let slot = self.slots.get(key as u32 as usize)?;
        if slot.generation != (key >> 32) as u32 {
            return None;
        }
        slot.entry.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.slots.get_mut(key as u32 as usize)?;
        if slot.generation != (key >> 32) as u32 {
            return None;
        }
        slot.entry.as_mut()
    }

    /// True if the key was that of an entry which has been removed, as far as is known: generations
    /// repeat.
    #[cold]
    pub fn was_removed(&self, key: Key) -> bool {
        let generation = (key >> 32) as u32;
        let slot = self.slots.get(key as u32 as usize);
        slot.is_some_and(|slot| generation > 0 && generation < slot.generation)
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.entry.as_ref())
    }

    /// The keys of all entries.
    pub fn keys(&self) -> Vec<Key> {
        let key = |(index, slot): (usize, &Slot<T>)| (u64::from(slot.generation) << 32) | index as u64;
        self.slots.iter().enumerate().filter(|(_, slot)| slot.entry.is_some()).map(key).collect()
    }

    pub fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slots.get_mut(key as u32 as usize)?;
        if slot.generation != (key >> 32) as u32 {
            return None;
        }
        let entry = slot.entry.take()?;
        self.free(key as u32);
        Some(entry)
    }

    /// Removes an entry, which is dropped where it is. Nothing happens if there is none.
    #[inline]
    pub fn drop_entry(&mut self, key: Key) {
        let Some(slot) = self.slots.get_mut(key as u32 as usize) else { return };
        if slot.generation == (key >> 32) as u32 && slot.entry.is_some() {
            slot.entry = None;
            self.free(key as u32);
        }
    }

    /// Removes an entry from which `take` takes all that would have to be dropped: what is left is neither moved nor looked at. Nothing happens to one of which
    /// `take` wants nothing.
    #[inline]
    pub fn take_out_of<R>(&mut self, key: Key, take: impl FnOnce(&mut T) -> Option<R>) -> Option<R> {
        let slot = self.slots.get_mut(key as u32 as usize)?;
        if slot.generation != (key >> 32) as u32 {
            return None;
        }
        let taken = take(slot.entry.as_mut()?)?;
        core::mem::forget(slot.entry.take());
        self.free(key as u32);
        Some(taken)
    }

    /// A slot whose generations are used up is retired rather than started over, which could revive an old key.
    #[inline(always)]
    fn free(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_key_does_not_find_the_next_entry_of_its_slot() {
        let mut slab = Slab::new();
        let old = slab.insert("old");
        assert_eq!(slab.remove(old), Some("old"));
        let new = slab.insert("new");
        assert_eq!(old as u32, new as u32, "the slot is reused");
        assert_eq!(slab.get(old), None);
        assert_eq!(slab.remove(old), None);
        assert_eq!(slab.get(new), Some(&"new"));
    }

    #[test]
    fn an_entry_that_is_dropped_in_its_slot_leaves_it_to_the_next_and_its_key_stale() {
        let mut slab = Slab::new();
        let count = alloc::rc::Rc::new(());
        let old = slab.insert(count.clone());
        slab.drop_entry(old);
        assert_eq!((slab.len(), alloc::rc::Rc::strong_count(&count)), (0, 1));
        let new = slab.insert(count);
        assert_eq!(old as u32, new as u32, "the slot is reused");
        slab.drop_entry(old);
        assert!(slab.get(old).is_none() && slab.get(new).is_some(), "only the key of the entry drops it");
    }

    #[test]
    fn the_next_key_is_known_before_the_entry_is_there() {
        let mut slab = Slab::new();
        for round in 0..3 {
            let keys: Vec<Key> = (0..4)
                .map(|entry| {
                    let next = slab.next_key();
                    assert_eq!(slab.insert(entry), next, "round {round}");
                    next
                })
                .collect();
            assert!(keys.into_iter().all(|key| slab.remove(key).is_some()));
        }
    }

    #[test]
    fn keys_are_never_zero() {
        assert_ne!(Slab::new().insert(()), 0);
    }
}

//! Numbered things: what an event refers to by a number that fits into it.

/// Numbered things whose numbers are used again.
pub(crate) struct Slots<T> {
    things: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(crate) fn new() -> Self {
        Self { things: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, thing: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.things[slot as usize] = Some(thing);
                slot
            }
            None => {
                self.things.push(Some(thing));
                (self.things.len() - 1) as u32
            }
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.things[slot as usize].take().expect("a slot in use")
    }

    #[inline]
    pub(crate) fn at(&mut self, slot: u32) -> &mut T {
        self.things[slot as usize].as_mut().expect("a slot in use")
    }
}

//! The context numbers of a rank: which are taken, and by which communicator.
//!
//! A communicator's number must be free at every member when its members agree on it (`rank::comm_create`). It is taken from the moment a
//! member offers it, so that creations that are under way together offer different ones, until nothing at this rank needs it any more:
//! the last use of the communicator has gone (a handle, a collective that runs, a persistent request), and no message of it is left in the
//! rank's tables. The first the communicator tells by itself, by its [`Lease`]; the second is for the rank to say, who knows the tables
//! ([`Contexts::reclaim`]): till then the number is *leaving*. What the other members of the old communicator do with the number is their
//! own affair: a member that still has it will not agree to it, and one that has not been asked shares no new communicator with this rank.
//!
//! Numbers stay small as long as communicators go as they come, so that they can be looked up by index.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

use crate::values::comm::{Comm, Lease, WeakComm};
use crate::values::ids::ContextId;
use crate::values::order;

/// Numbers that may wait for [`Contexts::reclaim`] before somebody must look through the tables.
const LEAVING: usize = 16;

/// One past the last number.
const END: u32 = ContextId::NUMBERS;

/// The numbers of one rank. All clones are the same.
#[derive(Clone, Default, Debug)]
pub(crate) struct Contexts(Rc<RefCell<Numbers>>);

#[derive(Default, Debug)]
struct Numbers {
    /// A bit for each number, set while it is taken.
    taken: Vec<u64>,
    /// The communicators that have numbers, by these.
    comms: Vec<Option<WeakComm>>,
    /// Numbers whose communicators have gone.
    leaving: Vec<u32>,
    /// None leaves any more.
    kept: bool,
}

/// A number that a communicator has, until it is dropped.
#[derive(Debug)]
struct Taken {
    contexts: Contexts,
    number: u32,
}

impl Lease for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut numbers = self.contexts.0.borrow_mut();
        if let Some(comm) = numbers.comms.get_mut(self.number as usize) {
            *comm = None;
        }
        if !numbers.kept {
            numbers.leaving.push(self.number);
        }
    }
}

impl Contexts {
    /// Takes the number if it is free, and says which was taken: it, or none. Then the second is the lowest free number above it.
    pub fn offer(&self, number: u32) -> (bool, u32) {
        let mut numbers = self.0.borrow_mut();
        let free = numbers.free_from(number);
        if free == number {
            numbers.take(number);
        }
        (free == number, free)
    }

    /// A number that was offered and not agreed on is free again.
    pub fn withdraw(&self, number: u32) {
        self.0.borrow_mut().release(number);
    }

    /// One past the highest number that is taken.
    pub fn top(&self) -> u32 {
        let numbers = self.0.borrow();
        let last = numbers.taken.iter().rposition(|word| *word != 0);
        last.map_or(0, |at| at as u32 * 64 + 64 - numbers.taken[at].leading_zeros())
    }

    /// Gives a communicator its number, which it keeps as long as it is used.
    pub fn give(&self, comm: &Comm, number: u32) {
        {
            let mut numbers = self.0.borrow_mut();
            numbers.take(number);
            let index = number as usize;
            if numbers.comms.len() <= index {
                numbers.comms.resize_with(index + 1, || None);
            }
            numbers.comms[index] = Some(comm.weak());
        }
        comm.set_context(ContextId::of_number(number), Rc::new(Taken { contexts: self.clone(), number }));
    }

    /// The communicator of a context, if it is still there.
    pub fn comm_of(&self, context: ContextId) -> Option<Comm> {
        self.0.borrow().comms.get(context.number() as usize)?.as_ref()?.get()
    }

    /// From now on no number is used again, so that those who keep books by them do not mix communicators up.
    pub fn keep_all(&self) {
        self.0.borrow_mut().kept = true;
    }

    /// True if somebody should look whether numbers that are leaving have left.
    pub fn has_many_leaving(&self) -> bool {
        self.0.borrow().leaving.len() >= LEAVING
    }

    /// Frees the numbers that are leaving and not among those that `used` gives.
    pub fn reclaim(&self, used: impl Iterator<Item = ContextId>) {
        let mut numbers = self.0.borrow_mut();
        let mut leaving = core::mem::take(&mut numbers.leaving);
        let mut held: Vec<u64> = used.map(|context| u64::from(context.subject().0.number())).collect();
        order::sort(&mut held);
        leaving.retain(|number| {
            let stays = held.binary_search(&u64::from(*number)).is_ok();
            if !stays {
                numbers.release(*number);
            }
            stays
        });
        numbers.leaving = leaving;
    }
}

impl Numbers {
    /// The lowest free number from `start` on; [`END`] if there is none.
    fn free_from(&self, start: u32) -> u32 {
        let mut number = start;
        while number < END {
            let Some(word) = self.taken.get(number as usize / 64) else { return number };
            let free = !word >> (number % 64);
            if free != 0 {
                return (number + free.trailing_zeros()).min(END);
            }
            number = (number / 64 + 1) * 64;
        }
        END
    }

    fn take(&mut self, number: u32) {
        let at = number as usize / 64;
        if self.taken.len() <= at {
            self.taken.resize(at + 1, 0);
        }
        self.taken[at] |= 1 << (number % 64);
    }

    fn release(&mut self, number: u32) {
        if let Some(word) = self.taken.get_mut(number as usize / 64) {
            *word &= !(1 << (number % 64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::group::Group;

    fn with(contexts: &Contexts, number: u32) -> Comm {
        let comm = Comm::new(ContextId::PENDING, Group::all(2), 0);
        contexts.give(&comm, number);
        comm
    }

    #[test]
    fn a_number_is_offered_once_until_it_is_withdrawn() {
        let contexts = Contexts::default();
        assert_eq!(contexts.offer(63), (true, 63));
        assert_eq!(contexts.offer(63), (false, 64));
        assert_eq!(contexts.top(), 64);
        contexts.withdraw(63);
        assert_eq!(contexts.offer(63), (true, 63));
    }

    #[test]
    fn a_number_is_free_again_when_neither_its_communicator_nor_a_message_needs_it() {
        let contexts = Contexts::default();
        let comm = with(&contexts, 5);
        let context = comm.context();
        assert_eq!(contexts.comm_of(context).map(|found| found.context()), Some(context));
        let kept = comm.clone();
        drop(comm);
        contexts.reclaim(core::iter::empty());
        assert!(!contexts.offer(5).0, "a clone is the communicator");
        drop(kept);
        assert!(contexts.comm_of(context).is_none());
        contexts.reclaim(core::iter::once(context.collective()));
        assert!(!contexts.offer(5).0, "a message of its collectives is left");
        contexts.reclaim(core::iter::once(context.companion(true)));
        assert!(!contexts.offer(5).0, "a message about its messages is left");
        contexts.reclaim(core::iter::empty());
        assert!(contexts.offer(5).0);
    }

    #[test]
    fn numbers_end_where_the_bits_of_other_contexts_begin() {
        let contexts = Contexts::default();
        assert_eq!(contexts.offer(END - 1), (true, END - 1));
        assert_eq!(contexts.offer(END - 1), (false, END));
        assert!(ContextId::of_number(END - 1).is_point_to_point());
    }
}

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
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::values::comm::{Comm, Lease, WeakComm};
use crate::values::ids::ContextId;
use crate::values::order;
use crate::values::shared::{LaneBound, Locked};

/// Numbers that may wait for [`Contexts::reclaim`] before somebody must look through the tables.
const LEAVING: usize = 16;

/// One past the last number.
const END: u32 = ContextId::NUMBERS;

/// The numbers of one rank, as one of its lanes knows them. All clones are the same, and all lanes share the numbers.
#[derive(Clone, Debug)]
pub(crate) struct Contexts {
    numbers: Arc<Locked<Numbers>>,
    /// The lane.
    lane: u32,
}

#[derive(Debug)]
struct Numbers {
    /// A bit for each number, set while it is taken.
    taken: Vec<u64>,
    /// The communicators that have numbers, by these.
    comms: Vec<Option<LaneBound<WeakComm>>>,
    /// Numbers whose communicators have gone, and the lanes that these were in.
    leaving: Vec<(u32, u32)>,
    /// None leaves any more.
    kept: bool,
    /// Lanes that communicators may take.
    lanes: u32,
}

/// A number that a communicator has, until it is dropped.
struct Taken {
    numbers: Arc<Locked<Numbers>>,
    number: u32,
    lane: u32,
}

impl Lease for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut numbers = self.numbers.lock();
        let comm = numbers.comms.get_mut(self.number as usize).and_then(Option::take);
        if !numbers.kept {
            numbers.leaving.push((self.lane, self.number));
        }
        drop(numbers);
        drop(comm.map(|comm| comm.take_in_lane(self.lane)));
    }
}

impl Default for Contexts {
    fn default() -> Contexts {
        let numbers =
            Numbers { taken: Vec::new(), comms: Vec::new(), leaving: Vec::new(), kept: false, lanes: 1 };
        Contexts { numbers: Arc::new(Locked::new(numbers)), lane: 0 }
    }
}

impl Contexts {
    /// Takes the number if it is free, and says which was taken: it, or none. Then the second is the lowest free number above it.
    pub fn offer(&self, number: u32) -> (bool, u32) {
        let mut numbers = self.numbers.lock();
        let free = numbers.free_from(number);
        if free == number {
            numbers.take(number);
        }
        (free == number, free)
    }

    /// A number that was offered and not agreed on is free again.
    pub fn withdraw(&self, number: u32) {
        self.numbers.lock().release(number);
    }

    /// One past the highest number that is taken.
    pub fn top(&self) -> u32 {
        let numbers = self.numbers.lock();
        let last = numbers.taken.iter().rposition(|word| *word != 0);
        last.map_or(0, |at| at as u32 * 64 + 64 - numbers.taken[at].leading_zeros())
    }

    /// The same numbers, for another lane.
    pub fn of_lane(&self, lane: u32) -> Contexts {
        Contexts { numbers: self.numbers.clone(), lane }
    }

    /// Lanes that communicators may take from now on, of which there are as many.
    pub fn open_lanes(&self, lanes: u32) {
        self.numbers.lock().lanes = lanes;
    }

    /// Lanes that communicators may take.
    pub fn lanes(&self) -> u32 {
        self.numbers.lock().lanes
    }

    /// Gives a communicator its number, which it keeps as long as it is used, and its lane.
    pub fn give(&self, comm: &Comm, number: u32, lane: u32) {
        {
            let mut numbers = self.numbers.lock();
            numbers.take(number);
            let index = number as usize;
            if numbers.comms.len() <= index {
                numbers.comms.resize_with(index + 1, || None);
            }
            #[allow(unsafe_code, reason = "whose lane a communicator is in is known here")]
            // SAFETY: a communicator is used, and its lease dropped, by threads in its lane; so are
            // messages of its context, for which `comm_of` looks it up.
            let bound = unsafe { LaneBound::new(comm.weak(), lane) };
            numbers.comms[index] = Some(bound);
        }
        let taken = Taken { numbers: self.numbers.clone(), number, lane };
        comm.set_context(ContextId::of_number(number), lane, Rc::new(taken));
    }

    /// The communicator of a context, if it is still there. Only for one of this lane.
    pub fn comm_of(&self, context: ContextId) -> Option<Comm> {
        self.numbers.lock().comms.get(context.number() as usize)?.as_ref()?.in_lane(self.lane).get()
    }

    /// From now on no number is used again, so that those who keep books by them do not mix communicators up.
    pub fn keep_all(&self) {
        self.numbers.lock().kept = true;
    }

    /// True if somebody should look whether numbers of this lane that are leaving have left.
    pub fn has_many_leaving(&self) -> bool {
        let numbers = self.numbers.lock();
        numbers.leaving.len() >= LEAVING
            && numbers.leaving.iter().filter(|(lane, _)| *lane == self.lane).count() >= LEAVING
    }

    /// Frees the numbers that are leaving this lane and not among those that `used` gives.
    pub fn reclaim(&self, used: impl Iterator<Item = ContextId>) {
        let mut held: Vec<u64> = used.map(|context| u64::from(context.subject().0.number())).collect();
        order::sort(&mut held);
        let mut numbers = self.numbers.lock();
        let mut leaving = core::mem::take(&mut numbers.leaving);
        leaving.retain(|(lane, number)| {
            let stays = *lane != self.lane || held.binary_search(&u64::from(*number)).is_ok();
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
        contexts.give(&comm, number, 0);
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

//! Which way long data go between the two members of a board, found out by trying ([`Trial`]).
//!
//! One of them *leads*: who gives, and where both do the first. It times its calls, from one of a kind and length to the next, and says in its note of each which way the next one goes; the other does what it has
//! heard. Who takes what the other one gives sees in its note how it came, so it need only guess right to be quick. Where both give they have to agree: each has seen the note of the other when a call
//! ends well, and when one fails, which both learn, both forget what was said.

use alloc::vec::Vec;
use core::cell::RefCell;

use crate::values::trial::{Copies, Trial, class_of};

/// What a member knows of the ways of calls.
#[derive(Debug, Default)]
pub(crate) struct Tried(RefCell<Vec<Class>>);

/// Calls of a kind, and of lengths that differ by less than twice.
#[derive(Debug)]
struct Class {
    kind: u8,
    doublings: u32,
    /// Of those that this member leads: when the last one began, and what it said of the next.
    trial: Trial,
    begun: u64,
    next: Copies,
    /// What the other one has said of the next that it leads.
    heard: Copies,
}

/// The way of a call, and of the next of its class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Going {
    pub now: Copies,
    pub next: Copies,
}

impl Going {
    /// Of what is not tried.
    pub const NOTHING: Going = Going { now: Copies::One, next: Copies::One };
}

impl Tried {
    fn with<T>(&self, kind: u8, bytes: u64, then: impl FnOnce(&mut Class) -> T) -> T {
        let doublings = class_of(bytes);
        let mut classes = self.0.borrow_mut();
        let place = classes
            .iter()
            .position(|class| (class.kind, class.doublings) == (kind, doublings))
            .unwrap_or_else(|| {
                classes.push(Class {
                    kind,
                    doublings,
                    trial: Trial::new(),
                    begun: 0,
                    next: Copies::One,
                    heard: Copies::One,
                });
                classes.len() - 1
            });
        then(&mut classes[place])
    }

    /// A call begins now that this member leads: what to say.
    pub fn lead(&self, kind: u8, bytes: u64, time: u64) -> Going {
        self.with(kind, bytes, |class| {
            if class.begun > 0 {
                class.trial.turned(time.saturating_sub(class.begun), bytes);
            }
            class.begun = time;
            let now = class.next;
            class.next = class.trial.way();
            Going { now, next: class.next }
        })
    }

    /// The way of a call that the other one leads, as far as it has been heard.
    pub fn heard(&self, kind: u8, bytes: u64) -> Copies {
        self.with(kind, bytes, |class| class.heard)
    }

    /// The other one has said which way the next such call goes.
    pub fn hear(&self, kind: u8, bytes: u64, next: Copies) {
        self.with(kind, bytes, |class| class.heard = next);
    }

    /// A call in which both give has failed, at both.
    #[cold]
    pub fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: u8 = 3;

    /// Two members in so many calls that take a time by their way: how many of them went by two copies.
    fn calls(
        leader: &Tried,
        follower: &Tried,
        count: u32,
        now: &mut u64,
        cost: impl Fn(Copies) -> u64,
    ) -> u32 {
        let mut twice = 0;
        for _ in 0..count {
            let said = leader.lead(KIND, 8192, *now);
            assert_eq!(said.now, follower.heard(KIND, 8192), "both go the same way");
            follower.hear(KIND, 8192, said.next);
            *now += cost(said.now);
            twice += u32::from(said.now == Copies::Two);
        }
        twice
    }

    #[test]
    fn both_members_go_the_same_way_and_nearly_always_the_quicker_one() {
        for (one, two, likes_two) in [(3_000, 1_300, true), (600, 1_100, false)] {
            let (leader, follower, mut now) = (Tried::default(), Tried::default(), 1);
            let cost = |way| if way == Copies::Two { two } else { one };
            let twice = calls(&leader, &follower, 10_000, &mut now, cost);
            let right = if likes_two { twice } else { 10_000 - twice };
            assert!(right > 9_500, "{one} and {two} ns: the quicker way in {right} of 10000");
        }
    }

    #[test]
    fn members_who_forget_together_agree_again() {
        let (leader, follower, mut now) = (Tried::default(), Tried::default(), 1);
        let cost = |way| if way == Copies::Two { 1_000 } else { 3_000 };
        assert!(calls(&leader, &follower, 100, &mut now, cost) > 50);
        leader.lead(KIND, 8192, now);
        leader.forget();
        follower.forget();
        assert!(calls(&leader, &follower, 100, &mut now, cost) > 50);
    }

    #[test]
    fn calls_of_other_kinds_and_lengths_have_ways_of_their_own() {
        let tried = Tried::default();
        tried.hear(KIND, 8192, Copies::Two);
        assert_eq!(tried.heard(KIND, 5000), Copies::Two, "the same class");
        assert_eq!(tried.heard(KIND, 8193), Copies::One);
        assert_eq!(tried.heard(KIND + 1, 8192), Copies::One);
        assert_eq!(tried.lead(KIND, 8192, 7).now, Copies::One, "what this member leads is another matter");
    }
}

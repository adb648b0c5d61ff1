//! Agreeing on a context number: one that is free at every member of the new communicator.
//!
//! All members begin with the same candidate. In each round a member takes the candidate if it is free at its side and says so by naming
//! it; else it names the lowest number above that it could take. The highest of all names tells everybody the outcome: if it is the
//! candidate, all have taken it; if not, those who have give it back, and it is the next candidate. So one small all-reduction is enough as
//! a rule, and a second one where the candidate was taken somewhere.
//!
//! Any number of creations may be under way at once at a member (MPI_Comm_idup), in any order: none waits for another. Two that fail in
//! step would take the same number from each other for ever, so from the second failure on each moves up a few places of its own; and
//! from the sixth on members name what is above all that they have taken. The first candidate follows from the place of the creation among
//! the collectives of its communicator: creations that follow each other begin with different ones, so a number that was given back is not used
//! again at once.
//!
//! With the number goes the **lane** that the communicator takes: below the number that a member names is the lane that it would choose, from the last on, so that of
//! different wishes the lowest lane wins. All lanes suit a member that has several; one that has not names the first, which then is what all get.
//!
//! Members of disjoint groups may share a number: no rank is in two of them. A member that is not in the new communicator agrees to everything.

use core::cell::Cell;

use alloc::rc::Rc;

use crate::coll::allreduce;
use crate::schedule::{Builder, Next, Step};
use crate::values::comm::Comm;
use crate::values::contexts::Contexts;
use crate::values::datatype::{Basic, Datatype};
use crate::values::error::{Error, Result};
use crate::values::ids::ContextId;
use crate::values::memory::Region;
use crate::values::op::{Builtin, Op};

/// The first candidates are spread over so many numbers.
const SPREAD: u32 = 128;
/// Lanes that can be named.
const LANES: u32 = 8;
/// Rounds after which members do not look for gaps any more.
const PATIENCE: u32 = 6;

/// One creation's search for a number, at one member.
pub(super) struct Search {
    /// The same at all members of the creation, and as a rule another one for each creation.
    seed: u32,
    /// This member is in the new communicator.
    wants: bool,
    /// The lane that this member would choose.
    wish: u32,
    candidate: Cell<u32>,
    has_taken: Cell<bool>,
    rounds: Cell<u32>,
}

impl Search {
    pub fn new(seed: u32, wants: bool, wish: u32) -> Search {
        let first = ContextId::LOCAL.number() + 1 + seed % SPREAD;
        Search {
            seed,
            wants,
            wish: wish % LANES,
            candidate: Cell::new(first),
            has_taken: Cell::new(false),
            rounds: Cell::new(0),
        }
    }

    /// What this member names.
    pub fn name(&self, contexts: &Contexts) -> u32 {
        // One that is not in the new communicator has no wish: the last lane loses to all others.
        let wish = if self.wants { self.wish } else { LANES - 1 };
        self.number(contexts) * LANES + (LANES - 1 - wish)
    }

    fn number(&self, contexts: &Contexts) -> u32 {
        let candidate = self.candidate.get();
        if !self.wants {
            return candidate;
        }
        let (taken, free) = contexts.offer(candidate);
        self.has_taken.set(taken);
        if taken || self.rounds.get() < PATIENCE { free } else { free.max(contexts.top()) }
    }

    /// The number and the lane that the creation gets, if all have named the number: `highest` is the highest that was named.
    pub fn conclude(&self, contexts: &Contexts, highest: u32) -> Result<Option<(u32, u32)>> {
        let (highest, lane) = (highest / LANES, LANES - 1 - highest % LANES);
        let candidate = self.candidate.get();
        if highest == candidate {
            return Ok(Some((candidate, lane)));
        }
        if self.has_taken.replace(false) {
            contexts.withdraw(candidate);
        }
        let rounds = self.rounds.get() + 1;
        self.rounds.set(rounds);
        let next = highest.saturating_add(places(self.seed, rounds));
        if next >= ContextId::NUMBERS {
            return Err(Error::Comm { reason: "no more communicators: the context numbers are used up" });
        }
        self.candidate.set(next);
        Ok(None)
    }
}

/// How many places a creation moves up after a round: none after the first, then up to 15, another number for each creation and round.
fn places(seed: u32, rounds: u32) -> u32 {
    if rounds < 2 { 0 } else { (seed ^ rounds.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0xc2b2_ae35) >> 28 }
}

/// Writes the steps that find a number and give it to the new communicator, if this member is in it.
pub(super) fn write(b: &mut Builder<'_>, new: Option<&Comm>, wish: u32) -> Result<()> {
    b.set_op(&Op::builtin(Builtin::Max));
    let number = b.scratch(1, &Datatype::basic(Basic::U32))?;
    let search = Rc::new(Search::new(b.seed(), new.is_some(), wish));

    let (named, naming) = (number.clone(), search.clone());
    call(b, move |contexts| {
        store(&named, naming.name(contexts));
        Ok(Next::Step)
    });
    allreduce::write_small(b, &number)?;

    let new = new.cloned();
    call(b, move |contexts| match search.conclude(contexts, load(&number))? {
        Some((number, lane)) => {
            if let Some(new) = &new {
                contexts.give(new, number, lane);
            }
            Ok(Next::Step)
        }
        None => Ok(Next::Restart),
    });
    Ok(())
}

fn call(b: &mut Builder<'_>, function: impl Fn(&Contexts) -> Result<Next> + 'static) {
    b.push(Step::Call(Rc::new(function)));
}

pub(super) fn store(region: &Region, number: u32) {
    region.store(&number.to_ne_bytes());
}

pub(super) fn load(region: &Region) -> u32 {
    let mut bytes = [0; 4];
    region.load(&mut bytes);
    u32::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creations_that_take_numbers_from_each_other_part() {
        // Two creations at two members, each of which is first at one of them in every round.
        for seeds in [(1, 129), (5, 5 + SPREAD), (0, 3 * SPREAD)] {
            let ranks = [Contexts::default(), Contexts::default()];
            let searches =
                [seeds.0, seeds.1].map(|seed| [Search::new(seed, true, 0), Search::new(seed, true, 0)]);
            let mut done = [None, None];
            for round in 0.. {
                assert!(round < 40, "they do not part");
                let mut named = [[0; 2]; 2];
                for (rank, contexts) in ranks.iter().enumerate() {
                    for turn in 0..2 {
                        let creation = (rank + turn) % 2;
                        if done[creation].is_none() {
                            named[creation][rank] = searches[creation][rank].name(contexts);
                        }
                    }
                }
                for creation in 0..2 {
                    if done[creation].is_none() {
                        let highest = named[creation].into_iter().max().unwrap();
                        let concluded = [0, 1]
                            .map(|rank| searches[creation][rank].conclude(&ranks[rank], highest).unwrap());
                        assert_eq!(concluded[0], concluded[1], "members conclude alike");
                        done[creation] = concluded[0];
                    }
                }
                if done.iter().all(Option::is_some) {
                    break;
                }
            }
            assert_ne!(done[0], done[1]);
        }
    }

    #[test]
    fn members_get_one_lane_which_is_the_first_if_one_of_them_has_no_other() {
        for (wishes, expected) in [([3, 3], 3), ([3, 5], 3), ([7, 0], 0), ([0, 0], 0), ([7, 7], 7)] {
            let ranks = [Contexts::default(), Contexts::default()];
            let searches = wishes.map(|wish| Search::new(4, true, wish));
            let outsider = Search::new(4, false, 0);
            let named = [0, 1].map(|rank| searches[rank].name(&ranks[rank]));
            let highest = named.into_iter().chain([outsider.name(&ranks[0])]).max().unwrap();
            let concluded = [0, 1].map(|rank| searches[rank].conclude(&ranks[rank], highest).unwrap());
            assert_eq!(concluded[0], concluded[1]);
            assert_eq!(concluded[0].map(|(_, lane)| lane), Some(expected));
        }
    }

    #[test]
    fn gaps_that_never_meet_are_given_up() {
        let ranks = [Contexts::default(), Contexts::default()];
        for number in 0..1000 {
            ranks[number as usize % 2].offer(number);
        }
        let search = [0, 1].map(|_| Search::new(0, true, 0));
        for round in 0.. {
            assert!(round < 12, "they go on looking for a gap");
            let highest = (0..2).map(|rank| search[rank].name(&ranks[rank])).max().unwrap();
            let concluded = [0, 1].map(|rank| search[rank].conclude(&ranks[rank], highest).unwrap());
            if let Some((number, _)) = concluded[0] {
                assert!(number >= 998);
                break;
            }
        }
    }
}

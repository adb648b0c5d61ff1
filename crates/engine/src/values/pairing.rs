//! The order in which the values of members are combined, in every reduction to one result.
//!
//! ```text
//!   ((0 1)(2 3)) ((4 5) 6)          seven members
//! ```
//!
//! Neighbours in pairs, then pairs of these, and so on; who has no neighbour above goes up alone.
//! The order follows from the number of members alone. So a reduction has the same bits however its
//! data travel: by messages, by a board in any form, whoever does the work. That is what lets
//! floating-point results be the same in every call (MPI section 6.9.1 recommends it). Prefix
//! reductions are combined from the left instead.
//!
//! Algorithms by messages follow the same pairs: exchanges at distance 1, 2, 4, … (`coll`). This
//! file is the order for a member that has all values at hand.

/// A step of combining values in slots, each of which holds what some neighbours have together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Join {
    /// A member's value goes into a slot.
    Load { member: u32, slot: usize },
    /// A member's value is combined with what is in a slot, and the result is there; `is_low` if
    /// the member is of lower rank.
    Member { member: u32, slot: usize, is_low: bool },
    /// What is in the slot above is combined with what is in this slot, and the result is there;
    /// `is_low` if the one above is of lower ranks.
    Slots { slot: usize, is_low: bool },
}

/// How many slots the values of so many members take, at most.
pub(crate) const fn slots(members: u32) -> usize {
    let levels = members.next_power_of_two().ilog2() as usize;
    if levels == 0 { 1 } else { levels }
}

/// From the last member down to the first: then each step combines lower ranks with what is in a
/// slot.
pub(crate) const DOWNWARDS: u32 = 0;

/// In which order [`in_pairs`] takes so many members, if it is to begin with this one.
pub(crate) const fn from(first: u32, members: u32) -> u32 {
    first ^ (members.next_power_of_two() - 1)
}

/// Combines the values of so many members. They come in the order of their numbers from behind,
/// with these bits turned. The result is in slot 0.
#[inline(always)]
pub(crate) fn in_pairs(members: u32, turned: u32, mut step: impl FnMut(Join)) {
    let end = members.next_power_of_two();
    let mut used = 0;
    for index in (0..end).rev() {
        let member = index ^ turned;
        if member < members {
            // Of two neighbours, the second that comes finds the first in the slot.
            if index.is_multiple_of(2) && (member ^ 1) < members {
                step(Join::Member { member, slot: used - 1, is_low: member.is_multiple_of(2) });
            } else {
                step(Join::Load { member, slot: used });
                used += 1;
            }
        }
        let mut half = 2;
        while half < end && index.is_multiple_of(2 * half) {
            let begin = member & !(half - 1);
            let other = begin ^ half;
            if begin < members && other < members {
                used -= 1;
                step(Join::Slots { slot: used - 1, is_low: begin < other });
            }
            half *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    use super::*;

    /// By the definition.
    fn expected(first: u32, span: u32, members: u32) -> String {
        let half = span / 2;
        if span == 1 {
            return first.to_string();
        }
        let low = expected(first, half, members);
        if first + half >= members {
            return low;
        }
        format!("({low} {})", expected(first + half, half, members))
    }

    fn found(members: u32, first: u32) -> String {
        let mut slots: Vec<String> = Vec::new();
        let mut order = Vec::new();
        let pair = |low: &str, high: &str, is_low| match is_low {
            true => format!("({low} {high})"),
            false => format!("({high} {low})"),
        };
        in_pairs(members, from(first, members), |step| match step {
            Join::Load { member, slot } => {
                assert_eq!(slot, slots.len());
                slots.push(member.to_string());
                order.push(member);
            }
            Join::Member { member, slot, is_low } => {
                assert_eq!(slot + 1, slots.len());
                slots[slot] = pair(&member.to_string(), &slots[slot], is_low);
                order.push(member);
            }
            Join::Slots { slot, is_low } => {
                assert_eq!(slot + 2, slots.len());
                let above = slots.pop().unwrap();
                slots[slot] = pair(&above, &slots[slot], is_low);
            }
        });
        assert!(slots.len() == 1 && order.len() == members as usize);
        assert_eq!(order[0], first, "of {members}");
        slots.remove(0)
    }

    #[test]
    fn values_are_combined_in_the_same_pairs_whichever_comes_first() {
        for members in 1..=33 {
            for first in 0..members {
                assert_eq!(found(members, first), expected(0, members.next_power_of_two(), members));
            }
        }
        in_pairs(11, DOWNWARDS, |step| {
            assert!(!matches!(step, Join::Member { is_low: false, .. } | Join::Slots { is_low: false, .. }));
        });
        assert_eq!(found(7, 2), "(((0 1) (2 3)) ((4 5) 6))");
    }

    #[test]
    fn no_more_slots_are_used_than_are_said() {
        for members in 1..=70 {
            for first in 0..members {
                let mut most = 0;
                in_pairs(members, from(first, members), |step| {
                    if let Join::Load { slot, .. } = step {
                        most = most.max(slot + 1);
                    }
                });
                assert!(most <= slots(members), "{most} of {members}");
            }
        }
    }
}

//! Selection by data: each collective has a table, and the first rule that fits is used.
//!
//! The numbers weigh two machines. Where members share cores (fibers of one worker), every message costs a switch, so trees with
//! 2(p - 1) messages in all beat exchanges with p log p (measured on one core: 8 B all-reduction of 8 members 7.7 us against
//! 14.9, of 64 members 62 us against 246); where every member has a core, exchanges take half the rounds. The tree loses at most
//! a factor of two there, so only small communicators take the exchange. Large messages take what moves the fewest bytes. An algorithm whose messages grow with the
//! members asks for so many bytes for each of them that a message is worth it; with a limit of members instead, one member more would cost five times as much.
//!
//! The numbers themselves have names ([`Bound`]), so that a job may run with those of its machine.

use alloc::boxed::Box;

use fabric::Fabric;

use crate::schedule::Workshop;
use crate::values::bounds::{Bound, Bounds};

/// One line of a table.
pub(super) struct Rule<F: 'static> {
    /// What users call the algorithm.
    pub name: &'static str,
    /// For at most this many bytes.
    pub bytes: Bound,
    /// For at least this many bytes for each member: what an algorithm asks for whose rounds grow with the members.
    pub each: Bound,
    /// For more than the first and at most the second of these members.
    pub members: (Bound, Bound),
    /// What the algorithm cannot do without.
    pub needs: Needs,
    /// Writes the schedule.
    pub build: F,
}

/// Restrictions of an algorithm. They hold for preferred algorithms, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Needs {
    Nothing,
    /// A commutative operation; by the table only where results need not be those of shared memory,
    /// bit by bit.
    Commutative,
    /// A power of two of members.
    PowerOfTwo,
    /// At least as many elements as members.
    Elements,
    /// The network's multicast to all members; by the table only where it pays.
    Multicast,
}

/// What the network's multicast is to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// It has none, or one that does not reach all members.
    None,
    /// It can be used.
    Possible,
    /// It takes less time than messages.
    Pays,
}

/// What a call offers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub bytes: u64,
    pub members: u32,
    pub commutative: bool,
    pub elements: u64,
    pub reach: Reach,
    /// Other calls of the members may go by memory that they share, in the order of
    /// `values::pairing`.
    pub paired: bool,
}

impl Offer {
    /// A call without an operation.
    pub fn data(bytes: u64, members: u32) -> Offer {
        Offer::reduction(bytes, members, true, u64::MAX)
    }

    /// A call with one.
    pub fn reduction(bytes: u64, members: u32, commutative: bool, elements: u64) -> Offer {
        Offer { bytes, members, commutative, elements, reach: Reach::None, paired: false }
    }

    /// The same where the members may share memory.
    pub fn on(self, fabric: &dyn Fabric) -> Offer {
        Offer { paired: fabric.caps().boards, ..self }
    }

    fn meets(&self, needs: Needs) -> bool {
        match needs {
            Needs::Nothing => true,
            Needs::Commutative => self.commutative,
            Needs::PowerOfTwo => self.members.is_power_of_two(),
            Needs::Elements => self.elements >= u64::from(self.members),
            Needs::Multicast => self.reach != Reach::None,
        }
    }

    /// What a rule asks for, of whatever table: so there is one copy of it.
    fn fits(
        &self,
        bounds: &Bounds,
        (most, each): (Bound, Bound),
        (above, up_to): (Bound, Bound),
        needs: Needs,
    ) -> bool {
        let members = u64::from(self.members);
        self.bytes <= bounds.get(most)
            && self.bytes >= bounds.get(each).saturating_mul(members)
            && members > bounds.get(above)
            && members <= bounds.get(up_to)
            && self.meets(needs)
            && (needs != Needs::Multicast || self.reach == Reach::Pays)
            && (needs != Needs::Commutative || !self.paired)
    }
}

/// Every size.
pub(super) const ANY: (Bound, Bound) = (Bound::Zero, Bound::Any);

/// The algorithm for a call.
#[inline]
pub(super) fn choose<F: Copy>(
    shop: Workshop<'_>,
    collective: &'static str,
    rules: &'static [Rule<F>],
    offer: Offer,
) -> F {
    if let Some(name) = shop.schedules.preferred(collective)
        && let Some(rule) = rules.iter().find(|rule| rule.name == name && offer.meets(rule.needs))
    {
        return rule.build;
    }
    by_table(rules, shop.schedules.bounds(), offer).build
}

/// The rule for a call. The last rule of every table fits always.
#[inline]
fn by_table<F>(rules: &'static [Rule<F>], bounds: &Bounds, offer: Offer) -> &'static Rule<F> {
    let fits = |rule: &&Rule<F>| offer.fits(bounds, (rule.bytes, rule.each), rule.members, rule.needs);
    rules.iter().find(fits).or(rules.last()).expect("a table has rules")
}

/// The algorithms of a table.
pub(super) fn names<F>(rules: &'static [Rule<F>]) -> Box<dyn Iterator<Item = &'static str>> {
    Box::new(rules.iter().map(|rule| rule.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coll::{allgather, allgatherv, reduce_scatter};

    #[test]
    fn a_thousand_members_with_little_data_take_no_algorithm_of_a_thousand_rounds() {
        fn chosen<F>(rules: &'static [Rule<F>], offer: Offer) -> &'static str {
            by_table(rules, &Bounds::BUILT_IN, offer).name
        }
        for block in [1, 256, 272, 1000] {
            let offer = Offer::data(1000 * block, 1000);
            assert_eq!(chosen(allgather::RULES, offer), "tree", "{block} bytes each");
            assert_eq!(chosen(allgatherv::RULES, offer), "gather_bcast", "{block} bytes each");
            assert_eq!(chosen(reduce_scatter::RULES, offer), "reduce_scatterv", "{block} bytes each");
        }
        assert_eq!(chosen(allgather::RULES, Offer::data(1000 * (16 << 10), 1000)), "ring");
        assert_eq!(chosen(allgather::RULES, Offer::data(1 << 20, 8)), "ring");
    }

    #[test]
    fn another_bound_is_another_choice() {
        let mut bounds = Bounds::BUILT_IN;
        let name = |bounds: &Bounds| by_table(allgather::RULES, bounds, Offer::data(1 << 20, 8)).name;
        assert_eq!(name(&bounds), "ring");
        bounds.set(Bound::AllgatherRoundBytes, 1 << 20);
        assert_eq!(name(&bounds), "tree");
        bounds.set(Bound::AllgatherExchangeMembers, 8);
        bounds.set(Bound::AllgatherExchangeBytes, 1 << 20);
        assert_eq!(name(&bounds), "recursive_doubling");
    }
}

//! Selection by data: each collective has a table, and the first rule that fits is used.
//!
//! The numbers weigh two machines. Where members share cores (fibers of one worker), every message costs a switch, so trees with
//! 2(p - 1) messages in all beat exchanges with p log p (measured on one core: 8 B all-reduction of 8 members 7.7 us against
//! 14.9, of 64 members 62 us against 246); where every member has a core, exchanges take half the rounds. The tree loses at most
//! a factor of two there, so only small communicators take the exchange. Large messages take what moves the fewest bytes.

use alloc::boxed::Box;

use crate::schedule::Workshop;

/// One line of a table.
pub(super) struct Rule<F: 'static> {
    /// What users call the algorithm.
    pub name: &'static str,
    /// For at most this many bytes.
    pub bytes: u64,
    /// For at least and at most this many members.
    pub members: (u32, u32),
    /// What the algorithm cannot do without.
    pub needs: Needs,
    /// Writes the schedule.
    pub build: F,
}

/// Restrictions of an algorithm. They hold for preferred algorithms, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Needs {
    Nothing,
    /// A commutative operation.
    Commutative,
    /// A power of two of members.
    PowerOfTwo,
    /// At least as many elements as members.
    Elements,
}

/// What a call offers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub bytes: u64,
    pub members: u32,
    pub commutative: bool,
    pub elements: u64,
}

impl Offer {
    /// A call without an operation.
    pub fn data(bytes: u64, members: u32) -> Offer {
        Offer { bytes, members, commutative: true, elements: u64::MAX }
    }

    fn meets(&self, needs: Needs) -> bool {
        match needs {
            Needs::Nothing => true,
            Needs::Commutative => self.commutative,
            Needs::PowerOfTwo => self.members.is_power_of_two(),
            Needs::Elements => self.elements >= u64::from(self.members),
        }
    }
}

/// Every size.
pub(super) const ANY: (u32, u32) = (0, u32::MAX);

/// The algorithm for a call. The last rule of every table fits always.
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
    rules
        .iter()
        .find(|rule| {
            offer.bytes <= rule.bytes
                && (rule.members.0..=rule.members.1).contains(&offer.members)
                && offer.meets(rule.needs)
        })
        .or(rules.last())
        .expect("a table has rules")
        .build
}

/// The algorithms of a table.
pub(super) fn names<F>(rules: &'static [Rule<F>]) -> Box<dyn Iterator<Item = &'static str>> {
    Box::new(rules.iter().map(|rule| rule.name))
}

//! Reduce-scatter by recursive halving: the first half of Rabenseifner's algorithm, for all-reductions and reductions to a root.
//!
//! Members beyond a power of two fold their value into a neighbour's first. Then, at distance 1, 2, 4, …, two partners split what
//! they both hold and each keeps one half, combined. Partners are always neighbouring blocks of ranks, so the order of
//! non-commutative operations is kept (at the price of a copy). Cost: log2 p rounds, n bytes sent, n combined; one more round of n
//! bytes if p is no power of two.
//!
//! Where members may share memory nobody is folded, so that the order is that of `values::pairing`:
//! members are taken in blocks of falling powers of two, each of which halves by itself; then each
//! block, from the last on, hands what it has to the one before.

use smallvec::SmallVec;

use super::members::power_below;
use super::prelude::*;

/// What a member holds after the halving.
pub(super) struct Halves {
    /// Place among the members that take part; `None` for one that was folded into its neighbour.
    pub place: Option<u32>,
    /// Elements that it holds the result of.
    pub range: (u64, u64),
    /// What it held before each round.
    pub before: SmallVec<[(u64, u64); 16]>,
    /// Members that take part: a power of two.
    pub active: u32,
    /// Members beyond these.
    folded: u32,
    paired: bool,
}

impl Halves {
    /// The member at a place among those that take part.
    pub fn member(&self, place: u32) -> u32 {
        match place {
            _ if self.paired => place,
            _ if place < self.folded => place * 2 + 1,
            _ => place + self.folded,
        }
    }

    /// The elements that the member at a place holds the result of.
    pub fn range_of(&self, place: u32, count: u64) -> (u64, u64) {
        range_in((0, count), place, self.active)
    }

    /// The neighbour that this member is folded into, or that is folded into it.
    pub fn fold_partner(&self, me: u32) -> Option<u32> {
        if self.paired {
            // The rest take part in the order, but end without a piece.
            return if me >= self.active {
                Some(me - self.active)
            } else {
                (me < self.folded).then_some(me + self.active)
            };
        }
        (me < 2 * self.folded).then_some(me ^ 1)
    }
}

/// Writes the halving of `work`, which holds this member's value and is overwritten.
pub(super) fn build(b: &mut Builder<'_>, work: &Region) -> Result<Halves> {
    let active = power_below(b.size);
    let folded = b.size - active;
    let me = b.me;
    if b.is_paired() && folded > 0 {
        return in_blocks(b, work, active);
    }
    let place = match me {
        _ if me >= 2 * folded => Some(me - folded),
        _ if me % 2 == 1 => Some(me / 2),
        _ => None,
    };
    let mut halves =
        Halves { place, range: (0, work.count()), before: SmallVec::new(), active, folded, paired: false };
    let Some(place) = place else {
        b.send(me + 1, work);
        b.wait();
        return Ok(halves);
    };
    let room = if me < 2 * folded { work.count() } else { work.count().div_ceil(2) };
    let operand = b.scratch(room, work.datatype())?;
    if me < 2 * folded {
        b.receive(me - 1, &operand);
        b.combine(&operand, work);
    }
    let member = |place: u32| if place < folded { place * 2 + 1 } else { place + folded };
    halve(b, &mut halves, (place, active), (work, &operand), &member, &mut |_, _| Ok(()))?;
    Ok(halves)
}

/// A round of halving, as a member sees it.
#[derive(Clone, Copy)]
struct Round {
    distance: u32,
    partner: u32,
    /// The elements that the member keeps.
    range: (u64, u64),
}

/// Halves what the members at the places of a block have, until each has a piece. `meanwhile`
/// writes what else goes on in a round.
fn halve(
    b: &mut Builder<'_>,
    halves: &mut Halves,
    (place, places): (u32, u32),
    (work, operand): (&Region, &Region),
    member: &dyn Fn(u32) -> u32,
    meanwhile: &mut dyn FnMut(&mut Builder<'_>, Round) -> Result<()>,
) -> Result<()> {
    let mut distance = 1;
    while distance < places {
        let partner = member(place ^ distance);
        let upper = place & distance != 0;
        halves.before.push(halves.range);
        let (first, end) = half(halves.range, !upper);
        let range = half(halves.range, upper);
        meanwhile(b, Round { distance, partner, range })?;
        b.send(partner, &work.elements(first, end - first));
        halves.range = range;
        let (first, end) = range;
        let (kept, operand) = (work.elements(first, end - first), operand.elements(0, end - first));
        b.receive(partner, &operand);
        if upper {
            b.combine(&operand, &kept);
        } else {
            append(b, &kept, &operand);
        }
        distance *= 2;
    }
    Ok(())
}

/// Combines what is kept with what higher ranks have, which is overwritten.
fn append(b: &mut Builder<'_>, kept: &Region, operand: &Region) {
    if b.may_exchange(kept.datatype()) {
        b.combine(operand, kept);
    } else {
        b.combine(kept, operand);
        b.copy(operand, kept);
    }
}

/// What a member has of the values of higher blocks: elements from one on.
struct Higher {
    first: u64,
    values: Region,
}

impl Higher {
    fn of(b: &mut Builder<'_>, (first, end): (u64, u64), like: &Region) -> Result<Higher> {
        Ok(Higher { first, values: b.scratch(end - first, like.datatype())? })
    }

    fn elements(&self, (first, end): (u64, u64)) -> Region {
        self.values.elements(first - self.first, end - first)
    }
}

/// Writes the halving for members of whom nobody is folded. What the next block has goes along with
/// the halving of the one before it: each place of the next gives its piece to the same place of
/// that one, which gives halves of it to its partners.
fn in_blocks(b: &mut Builder<'_>, work: &Region, active: u32) -> Result<Halves> {
    let (me, folded, whole) = (b.me, b.size - active, (0, work.count()));
    let mut halves =
        Halves { place: None, range: whole, before: SmallVec::new(), active, folded, paired: true };
    let operand = b.scratch(work.count().div_ceil(2), work.datatype())?;
    let (mut first, mut places, mut before) = (0, active, None);
    while me >= first + places {
        before = Some(first);
        first += places;
        places = power_below(b.size - first);
    }
    let (place, rest) = (me - first, b.size - first - places);
    // Places from which the next block's values come.
    let given = if rest > 0 { power_below(rest) } else { places };
    let mut higher: Option<Higher> = None;
    let mut pass_on = |b: &mut Builder<'_>, Round { distance, partner, range }: Round| {
        if rest == 0 || distance < given {
            return Ok(());
        }
        if distance == given && place < given {
            let got = Higher::of(b, range_in(whole, place, given), work)?;
            b.receive(first + places + place, &got.values);
            b.wait();
            higher = Some(got);
        }
        if let Some(higher) = &higher {
            b.send(partner, &higher.elements(range_in(whole, place ^ distance, 2 * distance)));
        } else if place < 2 * distance {
            let got = Higher::of(b, range, work)?;
            b.receive(partner, &got.values);
            higher = Some(got);
        }
        Ok(())
    };
    let member = |place: u32| first + place;
    halve(b, &mut halves, (place, places), (work, &operand), &member, &mut pass_on)?;
    let (begin, end) = halves.range;
    if let Some(higher) = higher {
        append(b, &work.elements(begin, end - begin), &higher.elements(halves.range));
    }
    if let Some(before) = before {
        b.send(before + place, &work.elements(begin, end - begin));
        b.wait();
    } else {
        halves.place = Some(place);
    }
    Ok(halves)
}

/// The elements of which a member has the result, at a place of a block of so many.
fn range_in(whole: (u64, u64), place: u32, places: u32) -> (u64, u64) {
    let mut range = whole;
    let mut distance = 1;
    while distance < places {
        range = half(range, place & distance != 0);
        distance *= 2;
    }
    range
}

fn half((first, end): (u64, u64), upper: bool) -> (u64, u64) {
    let middle = first + (end - first) / 2;
    if upper { (middle, end) } else { (first, middle) }
}

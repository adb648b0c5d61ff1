//! Many runs of bytes in few words: what a rank of a collective call tells of the bytes that it wants.
//!
//! **Invariant:** runs ascend and do not overlap; runs that touch are one.

use std::ops::Range;

/// A run of bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub offset: u64,
    pub len: u64,
}

impl Run {
    pub fn end(self) -> u64 {
        self.offset + self.len
    }

    /// What of it lies in a range.
    fn cut(self, range: &Range<u64>) -> Run {
        let (start, end) = (self.offset.max(range.start), self.end().min(range.end));
        Run { offset: start, len: end - start }
    }
}

/// `count` runs of one length, `stride` bytes apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stripe {
    pub offset: u64,
    pub len: u64,
    pub stride: u64,
    pub count: u64,
}

impl Stripe {
    pub fn run(&self, index: u64) -> Run {
        Run { offset: self.offset + index * self.stride, len: self.len }
    }

    pub fn end(&self) -> u64 {
        self.run(self.count - 1).end()
    }

    pub fn bytes(&self) -> u64 {
        self.len * self.count
    }

    /// The runs that have bytes in a range, by index.
    fn touching(&self, range: &Range<u64>) -> Range<u64> {
        if self.end() <= range.start || self.offset >= range.end {
            return 0..0;
        }
        let step = self.stride.max(1);
        // The first that ends behind the start, and the first that begins at the end or later.
        let first = (range.start + 1).saturating_sub(self.offset + self.len).div_ceil(step);
        let last = (range.end - self.offset).div_ceil(step);
        first..last.min(self.count)
    }
}

/// Runs in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Runs(Vec<Stripe>);

/// Bytes of a stripe in a message.
const STRIPE_BYTES: usize = 32;

impl Runs {
    /// Adds a run behind all others.
    pub fn push(&mut self, run: Run) {
        if run.len == 0 {
            return;
        }
        let Some(last) = self.0.last_mut() else {
            return self.0.push(Stripe { offset: run.offset, len: run.len, stride: 0, count: 1 });
        };
        if last.count == 1 && last.offset + last.len == run.offset {
            last.len += run.len;
        } else if last.count == 1 && last.len == run.len {
            (last.stride, last.count) = (run.offset - last.offset, 2);
        } else if last.len == run.len && last.run(last.count).offset == run.offset && last.count > 1 {
            last.count += 1;
        } else {
            self.0.push(Stripe { offset: run.offset, len: run.len, stride: 0, count: 1 });
        }
    }

    /// Adds runs behind all others.
    pub fn push_stripe(&mut self, stripe: Stripe) {
        let first = stripe.run(0);
        match self.0.last_mut() {
            Some(last)
                if (last.len, last.stride) == (stripe.len, stripe.stride)
                    && last.count > 1
                    && last.run(last.count).offset == stripe.offset =>
            {
                last.count += stripe.count;
            }
            Some(last) if stripe.count > 1 && last.end() < stripe.offset => self.0.push(stripe),
            None if stripe.count > 1 => self.0.push(stripe),
            _ => {
                self.push(first);
                if stripe.count > 1 {
                    let offset = stripe.offset + stripe.stride;
                    self.push_stripe(Stripe { offset, count: stripe.count - 1, ..stripe });
                }
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first byte at this place or behind it.
    pub fn first_from(&self, offset: u64) -> Option<u64> {
        let stripe = self.0.get(self.0.partition_point(|stripe| stripe.end() <= offset))?;
        let index = offset.saturating_sub(stripe.offset).checked_div(stripe.stride).unwrap_or(0);
        let run = stripe.run(index);
        Some(if offset < run.end() { offset.max(run.offset) } else { stripe.run(index + 1).offset })
    }

    /// The stripes that have bytes in a range, with the indices of the runs that do.
    fn touching<'a>(&'a self, range: &'a Range<u64>) -> impl Iterator<Item = (&'a Stripe, Range<u64>)> {
        let first = self.0.partition_point(|stripe| stripe.end() <= range.start);
        let reached = self.0[first..].iter().take_while(|stripe| stripe.offset < range.end);
        reached.map(|stripe| (stripe, stripe.touching(range))).filter(|(_, touching)| !touching.is_empty())
    }

    /// What of the runs lies in a range, run by run.
    pub fn in_range(&self, range: &Range<u64>) -> Clip<'_> {
        let first = self.0.partition_point(|stripe| stripe.end() <= range.start);
        let nothing = Stripe { offset: 0, len: 0, stride: 0, count: 0 };
        Clip { left: &self.0[first..], range: range.clone(), stripe: nothing, next: 0..0 }
    }

    /// The same in stripes: runs that the range cuts are stripes of their own.
    pub fn stripes_in(&self, range: &Range<u64>) -> Vec<Stripe> {
        let mut stripes = Vec::new();
        let mut push = |run: Run, stride, count| {
            stripes.push(Stripe { offset: run.offset, len: run.len, stride, count });
        };
        for (stripe, Range { start, end }) in self.touching(range) {
            let [first, last] = [stripe.run(start), stripe.run(end - 1)];
            let is_cut = |run: Run| run.offset < range.start || run.end() > range.end;
            let whole = start + u64::from(is_cut(first))..end - u64::from(end - start > 1 && is_cut(last));
            if is_cut(first) {
                push(first.cut(range), 0, 1);
            }
            if !whole.is_empty() {
                push(stripe.run(whole.start), stripe.stride, whole.end - whole.start);
            }
            if end - start > 1 && is_cut(last) {
                push(last.cut(range), 0, 1);
            }
        }
        stripes
    }

    /// Bytes in a range.
    pub fn bytes_in(&self, range: &Range<u64>) -> u64 {
        let bytes = |(stripe, touching): (&Stripe, Range<u64>)| {
            // All but the outermost lie inside as a whole.
            let before = range.start.saturating_sub(stripe.run(touching.start).offset);
            let behind = stripe.run(touching.end - 1).end().saturating_sub(range.end);
            (touching.end - touching.start) * stripe.len - before - behind
        };
        self.touching(range).map(bytes).sum()
    }

    /// As bytes of a message.
    pub fn encode(&self) -> Vec<u8> {
        let words = self.0.iter().flat_map(|stripe| [stripe.offset, stripe.len, stripe.stride, stripe.count]);
        words.flat_map(u64::to_ne_bytes).collect()
    }

    /// From a message; none if it is not one that [`encode`](Runs::encode) writes.
    pub fn decode(bytes: &[u8]) -> Option<Runs> {
        if !bytes.len().is_multiple_of(STRIPE_BYTES) {
            return None;
        }
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        let mut end = 0;
        let stripe = |bytes: &[u8]| {
            let [offset, len, stride, count] = [0, 8, 16, 24].map(|at| word(&bytes[at..at + 8]));
            let stripe = Stripe { offset, len, stride, count };
            let span = stride.checked_mul(count.checked_sub(1)?)?;
            let fits = offset.checked_add(span)?.checked_add(len)? <= i64::MAX as u64;
            let in_order = offset >= end && len > 0 && (count == 1 || stride >= len);
            end = offset + span + len;
            (fits && in_order).then_some(stripe)
        };
        bytes.chunks_exact(STRIPE_BYTES).map(stripe).collect::<Option<Vec<_>>>().map(Runs)
    }
}

/// What a rank is said to want, read and asked as the ranks that stand for parts of a file do: how many of its bytes lie in a range, if it is a list at all.
/// For `fuzz/`: panics if what it was asked does not fit together.
#[doc(hidden)]
pub fn bytes_of_foreign_runs(message: &[u8], range: Range<u64>) -> Option<u64> {
    let runs = Runs::decode(message)?;
    assert_eq!(runs.encode(), message);
    let (bytes, stripes) = (runs.bytes_in(&range), runs.stripes_in(&range));
    assert_eq!(stripes.iter().map(|stripe| stripe.len * stripe.count).sum::<u64>(), bytes);
    // One by one where they are few.
    if stripes
        .iter()
        .try_fold(0_u64, |sum, stripe| sum.checked_add(stripe.count))
        .is_some_and(|count| count < 1000)
    {
        assert_eq!(runs.in_range(&range).map(|run| run.len).sum::<u64>(), bytes);
        assert!(merged(vec![runs.in_range(&range)]).iter().map(|run| run.len).sum::<u64>() == bytes);
    }
    Some(bytes)
}

/// The runs of a part of a file, one after the other.
pub(crate) struct Clip<'a> {
    left: &'a [Stripe],
    range: Range<u64>,
    stripe: Stripe,
    /// Those of the stripe that are still to come.
    next: Range<u64>,
}

impl Iterator for Clip<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        loop {
            if let Some(index) = self.next.next() {
                return Some(self.stripe.run(index).cut(&self.range));
            }
            let (first, left) = self.left.split_first()?;
            if first.offset >= self.range.end {
                return None;
            }
            (self.stripe, self.next, self.left) = (*first, first.touching(&self.range), left);
        }
    }
}

/// What several ranks have in a part of a file, in one order; runs that touch or overlap are one.
pub(crate) fn union(lists: &[Runs], range: &Range<u64>) -> Vec<Run> {
    tiled(lists, range).unwrap_or_else(|| merged(lists.iter().map(|runs| runs.in_range(range)).collect()))
}

/// The same where stripes fill each other's gaps, as they do where a file is dealt out: without a look at every run.
fn tiled(lists: &[Runs], range: &Range<u64>) -> Option<Vec<Run>> {
    let mut stripes: Vec<Stripe> = lists.iter().flat_map(|runs| runs.stripes_in(range)).collect();
    engine::sort_by(&mut stripes, &|a, b| a.offset < b.offset);
    let (mut kept, mut left): (Vec<Run>, &[Stripe]) = (Vec::new(), &stripes);
    while let Some((first, mut behind)) = left.split_first() {
        let mut end = first.offset + first.len;
        if first.count > 1 {
            while end < first.offset + first.stride {
                let (next, rest) = behind.split_first()?;
                if (next.offset, next.stride, next.count) != (end, first.stride, first.count) {
                    return None;
                }
                (end, behind) = (end + next.len, rest);
            }
            if end != first.offset + first.stride {
                return None;
            }
            end = first.offset + first.stride * first.count;
        }
        match kept.last_mut() {
            Some(last) if last.end() > first.offset => return None,
            Some(last) if last.end() == first.offset => last.len = end - last.offset,
            _ => kept.push(Run { offset: first.offset, len: end - first.offset }),
        }
        left = behind;
    }
    Some(kept)
}

/// The runs of several ranks in one order; runs that touch or overlap become one. Ranks that take turns, as they do where a file is dealt out, are found at once.
fn merged(mut parts: Vec<Clip<'_>>) -> Vec<Run> {
    let mut heads: Vec<Option<Run>> = parts.iter_mut().map(Iterator::next).collect();
    let (mut kept, mut turn): (Vec<Run>, usize) = (Vec::new(), 0);
    loop {
        let end = kept.last().map(|last| last.end());
        let goes_on = |index: &usize| heads[*index].zip(end).is_some_and(|(run, end)| run.offset <= end);
        let next = (turn..heads.len()).chain(0..turn).find(goes_on);
        // Behind a gap it is the first of all.
        let first = || (0..heads.len()).min_by_key(|index| heads[*index].map_or(u64::MAX, |run| run.offset));
        let Some((index, run)) = next.or_else(first).and_then(|index| Some((index, heads[index]?))) else {
            return kept;
        };
        match kept.last_mut() {
            Some(last) if last.end() >= run.offset => last.len = last.len.max(run.end() - last.offset),
            _ => kept.push(run),
        }
        heads[index] = parts[index].next();
        turn = (index + 1) % heads.len();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(list: &[(u64, u64)]) -> Runs {
        let mut runs = Runs::default();
        list.iter().for_each(|&(offset, len)| runs.push(Run { offset, len }));
        runs
    }

    #[test]
    fn equal_runs_at_equal_distances_are_one_stripe_and_runs_that_touch_are_one_run() {
        assert_eq!(of(&[(0, 4), (8, 4), (16, 4), (24, 4)]).0.len(), 1);
        assert_eq!(of(&[(0, 4), (4, 4), (8, 8)]).0, [Stripe { offset: 0, len: 16, stride: 0, count: 1 }]);
    }

    #[test]
    fn a_damaged_message_is_refused() {
        let good = of(&[(5, 3), (20, 4)]).encode();
        assert_eq!(Runs::decode(&good), Some(of(&[(5, 3), (20, 4)])));
        assert_eq!(Runs::decode(&good[1..]), None);
        let backwards = [&good[32..], &good[..32]].concat();
        assert_eq!(Runs::decode(&backwards), None);
        let mut endless = good;
        endless[24..32].copy_from_slice(&u64::MAX.to_ne_bytes());
        assert_eq!(Runs::decode(&endless), None);
    }

    proptest! {
        #[test]
        fn clipping_finds_what_a_look_at_every_byte_finds(
            steps in prop::collection::vec((0_u64..6, 1_u64..5), 0..40),
            start in 0_u64..150,
            len in 0_u64..150,
        ) {
            let (mut at, mut list, mut bytes) = (0, Vec::new(), std::collections::BTreeSet::new());
            for (gap, len) in steps {
                list.push((at + gap, len));
                bytes.extend(at + gap..at + gap + len);
                at += gap + len;
            }
            let runs = of(&list);
            prop_assert_eq!(Runs::decode(&runs.encode()), Some(runs.clone()));
            let range = start..start + len;
            let wanted: Vec<u64> = bytes.iter().copied().filter(|byte| range.contains(byte)).collect();
            let found: Vec<u64> = runs.in_range(&range).flat_map(|run| run.offset..run.end()).collect();
            prop_assert_eq!(&found, &wanted);
            let stripes = runs.stripes_in(&range);
            let runs_of = |stripe: &Stripe| (0..stripe.count).map(|index| stripe.run(index)).collect::<Vec<_>>();
            let found: Vec<u64> =
                stripes.iter().flat_map(runs_of).flat_map(|run| run.offset..run.end()).collect();
            prop_assert_eq!(&found, &wanted);
            prop_assert_eq!(runs.bytes_in(&range), wanted.len() as u64);
            prop_assert_eq!(runs.first_from(start), bytes.range(start..).next().copied());
        }

        #[test]
        fn stripes_that_are_added_have_the_bytes_of_their_runs(
            steps in prop::collection::vec((0_u64..5, 1_u64..4, 1_u64..4, 1_u64..4), 0..20),
        ) {
            let (mut at, mut one_by_one, mut together) = (0, Vec::new(), Runs::default());
            for (gap, len, distance, count) in steps {
                let stride = if count == 1 { 0 } else { len + distance };
                let stripe = Stripe { offset: at + gap, len, stride, count };
                together.push_stripe(stripe);
                one_by_one.extend((0..count).map(|index| (stripe.run(index).offset, len)));
                at = stripe.end();
            }
            let bytes = |runs: &Runs| runs.in_range(&(0..10_000)).flat_map(|run| run.offset..run.end()).collect::<Vec<u64>>();
            prop_assert_eq!(bytes(&of(&one_by_one)), bytes(&together));
            prop_assert_eq!(Runs::decode(&together.encode()), Some(together));
        }

        #[test]
        fn ranks_that_take_turns_have_one_run_together(
            lens in prop::collection::vec(1_u64..9, 1..5),
            turns in 1_u64..9,
            missing in 0_usize..9,
            start in 0_u64..50,
            len in 1_u64..100,
        ) {
            let stride: u64 = lens.iter().sum();
            let mut at = 0;
            let mut all = Vec::new();
            for (member, len) in lens.iter().enumerate() {
                let mut runs = Runs::default();
                // One of them may have nothing, so that there are gaps.
                (0..turns).filter(|_| member != missing).for_each(|turn| runs.push(Run { offset: at + turn * stride, len: *len }));
                all.push(runs);
                at += len;
            }
            for range in [0..stride * turns, start..start + len] {
                let parts = all.iter().map(|runs| runs.in_range(&range)).collect();
                prop_assert_eq!(union(&all, &range), merged(parts));
            }
        }

        #[test]
        fn merged_runs_have_the_bytes_of_all(
            lists in prop::collection::vec(prop::collection::vec((0_u64..9, 1_u64..9), 0..12), 0..5),
        ) {
            let mut wanted = std::collections::BTreeSet::new();
            let all: Vec<Runs> = lists
                .iter()
                .map(|list| {
                    let (mut at, mut runs) = (0, Runs::default());
                    for &(gap, len) in list {
                        runs.push(Run { offset: at + gap, len });
                        wanted.extend(at + gap..at + gap + len);
                        at += gap + len;
                    }
                    runs
                })
                .collect();
            let runs = union(&all, &(0..1000));
            prop_assert_eq!(&runs, &merged(all.iter().map(|runs| runs.in_range(&(0..1000))).collect()));
            prop_assert!(runs.windows(2).all(|pair| pair[0].end() < pair[1].offset));
            let found: Vec<u64> = runs.iter().flat_map(|run| run.offset..run.end()).collect();
            prop_assert_eq!(found, wanted.into_iter().collect::<Vec<_>>());
        }
    }
}

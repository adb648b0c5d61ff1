//! Where the bytes of a view lie in its file: a stream of bytes, of which byte `n` is the n-th that the file type names (MPI section 14.3).
//!
//! Nothing of a rank is in it, so that a thread of the library's own can walk it.

use std::ops::Range;

use engine::datatype::Layout;

use crate::runs::Stripe;

/// The stream of a view.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    displacement: u64,
    layout: Layout,
    /// Where the stream ends.
    end: u64,
}

impl Pattern {
    pub fn new(displacement: u64, layout: Layout) -> Pattern {
        Pattern { displacement, layout, end: u64::MAX }
    }

    /// How its runs follow each other. MPI asks for order inside of a file type, not from one tile to the next: where a second tile would go back, the
    /// stream is one tile.
    pub fn in_order(self) -> (Pattern, Order) {
        match self.order_of(2) {
            Order::Backwards => self.once(),
            order => (self, order),
        }
    }

    /// The first tile alone, and how its runs follow each other.
    pub fn once(self) -> (Pattern, Order) {
        let order = self.order_of(1);
        (Pattern { end: self.layout.size(), ..self }, order)
    }

    /// Bytes of the stream, if it does not go on for ever.
    pub fn end(&self) -> Option<u64> {
        (self.end < u64::MAX).then_some(self.end)
    }

    /// All bytes of the file.
    pub fn whole() -> Pattern {
        Pattern::new(0, Layout::bytes(1))
    }

    /// Whether the stream is one piece of the file.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Whether there are no bytes in it at all.
    pub fn is_empty(&self) -> bool {
        self.layout.size() == 0
    }

    /// Calls `each` with (offset in the file, offset from the start of the range, bytes), in order; runs that touch are one.
    pub fn walk(&self, range: Range<u64>, mut each: impl FnMut(u64, u64, u64)) {
        let Range { start, end } = range;
        if start >= end || self.is_empty() {
            return;
        }
        let mut pending: Option<(u64, u64, u64)> = None;
        self.layout.walk(start, end - start, |offset, at, len| {
            let offset = self.displacement.wrapping_add_signed(offset);
            match &mut pending {
                Some((first, _, bytes)) if *first + *bytes == offset => *bytes += len,
                _ => {
                    if let Some((offset, at, len)) = pending.replace((offset, at, len)) {
                        each(offset, at, len);
                    }
                }
            }
        });
        if let Some((offset, at, len)) = pending {
            each(offset, at, len);
        }
    }

    /// As [`walk`](Pattern::walk), with equal runs at equal distances together; runs that touch may be told apart.
    pub fn walk_stripes(&self, range: Range<u64>, mut each: impl FnMut(Stripe, u64)) {
        let Range { start, end } = range;
        if start >= end || self.is_empty() {
            return;
        }
        self.layout.walk_strides(start, end - start, |offset, at, len, stride, count| {
            let offset = self.displacement.wrapping_add_signed(offset);
            match u64::try_from(stride) {
                Ok(stride) if stride == len => {
                    each(Stripe { offset, len: len * count, stride: 0, count: 1 }, at);
                }
                Ok(stride) if stride > len || count == 1 => each(Stripe { offset, len, stride, count }, at),
                // They lie on each other.
                _ => (0..count).for_each(|index| {
                    let offset = offset.wrapping_add_signed(stride * index as i64);
                    each(Stripe { offset, len, stride: 0, count: 1 }, at + index * len);
                }),
            }
        });
    }

    /// Where a byte of the stream lies.
    pub fn place(&self, position: u64) -> u64 {
        let mut place = self.displacement;
        self.walk(position..position.saturating_add(1), |offset, _, _| place = offset);
        place
    }

    /// From the first byte of a part of the stream to its end. It must not be empty.
    pub fn reach(&self, range: &Range<u64>) -> Range<u64> {
        self.place(range.start)..self.place(range.end - 1) + 1
    }

    /// The first byte of the stream that lies at this byte of the file or behind it.
    pub fn position_of(&self, byte: u64) -> u64 {
        if byte <= self.displacement || self.is_empty() {
            return 0;
        }
        let tiles = (byte - self.displacement) / self.layout.extent().max(1) as u64 + 2;
        let (mut low, mut high) = (0, tiles.saturating_mul(self.layout.size()).min(self.end));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.place(middle) < byte {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Runs that so many bytes have, about.
    pub fn runs_of(&self, bytes: u64) -> u64 {
        if self.is_contiguous() || self.is_empty() {
            return 1;
        }
        let whole = u128::from(self.layout.runs()) * u128::from(bytes) / u128::from(self.layout.size());
        u64::try_from(whole).unwrap_or(u64::MAX).max(1)
    }

    /// Whether the displacements of so many tiles never go back, and whether some of their bytes lie on others.
    fn order_of(&self, tiles: u64) -> Order {
        let (mut order, mut last, mut end) = (Order::Apart, 0, 0);
        self.walk(0..self.layout.size() * tiles, |offset, _, len| {
            if offset < last {
                order = Order::Backwards;
            } else if offset < end && order == Order::Apart {
                order = Order::Overlapping;
            }
            (last, end) = (offset, end.max(offset + len));
        });
        order
    }
}

/// How the runs of a pattern follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Apart,
    Overlapping,
    Backwards,
}

#[cfg(test)]
mod tests {
    use engine::datatype::Block;

    use super::*;

    fn pattern(displacement: u64, blocks: &[(i64, u64)], extent: i64) -> Pattern {
        let blocks = blocks.iter().map(|&(offset, len)| Block { offset, len });
        Pattern::new(displacement, Layout::new(blocks, 0, extent))
    }

    fn listed(pattern: &Pattern, range: Range<u64>) -> Vec<(u64, u64, u64)> {
        let mut runs = Vec::new();
        pattern.walk(range, |offset, at, len| runs.push((offset, at, len)));
        runs
    }

    #[test]
    fn tiles_follow_each_other_and_runs_that_touch_between_them_are_one() {
        let tiles = pattern(100, &[(0, 2), (6, 2)], 8);
        assert_eq!(listed(&tiles, 1..7), [(101, 0, 1), (106, 1, 4), (114, 5, 1)]);
        assert!(listed(&tiles, 3..3).is_empty());
    }

    #[test]
    fn stripes_have_the_bytes_of_the_runs() {
        let runs = |stripes: &[(Stripe, u64)]| -> Vec<(u64, u64)> {
            let bytes = |(stripe, at): &(Stripe, u64)| {
                let (stripe, at) = (*stripe, *at);
                (0..stripe.count).flat_map(move |index| {
                    (0..stripe.len).map(move |byte| {
                        (stripe.offset + index * stripe.stride + byte, at + index * stripe.len + byte)
                    })
                })
            };
            stripes.iter().flat_map(bytes).collect()
        };
        for tiles in [
            pattern(100, &[(4, 3)], 8),
            pattern(100, &[(0, 2), (6, 2)], 8),
            pattern(0, &[(0, 8)], 8),
            // They lie on each other.
            pattern(0, &[(0, 8)], 6),
        ] {
            for range in [0..24, 1..23, 5..6] {
                let (mut stripes, mut wanted) = (Vec::new(), Vec::new());
                tiles.walk_stripes(range.clone(), |stripe, at| stripes.push((stripe, at)));
                tiles.walk(range.clone(), |offset, at, len| {
                    wanted.extend((0..len).map(|byte| (offset + byte, at + byte)));
                });
                assert_eq!(runs(&stripes), wanted, "{tiles:?}, {range:?}");
            }
        }
    }

    #[test]
    fn the_place_of_a_byte_and_the_byte_at_a_place_agree() {
        let tiles = pattern(100, &[(4, 2), (10, 1)], 16);
        for position in 0..40 {
            assert_eq!(tiles.position_of(tiles.place(position)), position);
        }
        assert_eq!(tiles.position_of(0), 0);
        assert_eq!(tiles.position_of(106), 2);
        assert_eq!(tiles.position_of(111), 3);
    }

    #[test]
    fn patterns_that_overlap_or_go_back_are_told_from_others() {
        for (blocks, extent, expected, end) in [
            ([(0, 2), (6, 2)], 8, Order::Apart, None),
            ([(0, 4), (2, 4)], 8, Order::Overlapping, None),
            ([(0, 2), (6, 2)], 7, Order::Overlapping, None),
            ([(6, 2), (0, 2)], 8, Order::Backwards, Some(4)),
            // Only the second tile goes back.
            ([(0, 2), (6, 2)], 4, Order::Apart, Some(4)),
        ] {
            let (pattern, order) = pattern(100, &blocks, extent).in_order();
            assert_eq!((order, pattern.end()), (expected, end), "{blocks:?} {extent}");
            if order == Order::Apart {
                assert_eq!(pattern.position_of(106), 2);
                assert_eq!(end.map(|_| pattern.position_of(1000)), end);
            }
        }
        let (first, order) = pattern(0, &[(0, 2), (6, 2)], 7).once();
        assert_eq!((order, first.end()), (Order::Apart, Some(4)));
    }
}

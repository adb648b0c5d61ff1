//! Pieces of the program's memory: which bytes they have, whether two of them overlap, and whether one has changed.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use engine::Datatype;

/// Elements of a datatype at an address of the program's.
#[derive(Clone)]
pub(super) struct Region {
    /// The argument.
    pub(super) name: &'static str,
    pub(super) base: usize,
    pub(super) count: u64,
    pub(super) datatype: Datatype,
    /// The operation writes there.
    pub(super) is_written: bool,
}

/// Checksums look at so many bytes of a buffer, its first ones: a check must not take longer than the operation.
const SUMMED_MAX: u64 = 16 << 20;
/// The same for memory of a window, which is summed at every fence.
const SHARED_SUMMED_MAX: usize = 1 << 20;
/// Regions in more pieces are not compared piece by piece.
const PIECES_MAX: u64 = 1 << 16;

impl Region {
    pub(super) fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.datatype.size())
    }

    /// From the first byte to the last, gaps included.
    pub(super) fn hull(&self) -> Range<usize> {
        if self.bytes() == 0 {
            return 0..0;
        }
        let layout = self.datatype.layout();
        let last = (self.count as i64 - 1).wrapping_mul(layout.extent());
        let (low, high) = (last.min(0) + layout.true_lower_bound(), last.max(0) + layout.true_upper_bound());
        self.base.wrapping_add_signed(low as isize)..self.base.wrapping_add_signed(high as isize)
    }

    /// The first bytes that both have, if there are some. Regions of very many pieces that interleave are taken to be apart.
    pub(super) fn overlap(&self, other: &Region) -> Option<Range<usize>> {
        let (ours, theirs) = (self.hull(), other.hull());
        let common = ours.start.max(theirs.start)..ours.end.min(theirs.end);
        if common.is_empty() {
            return None;
        }
        let dense = |region: &Region| region.datatype.layout().is_contiguous();
        if dense(self) && dense(other) {
            return Some(common);
        }
        let (ours, theirs) = (self.pieces()?, other.pieces()?);
        let (mut at, mut beside) = (ours.iter().peekable(), theirs.iter().peekable());
        while let (Some(one), Some(two)) = (at.peek(), beside.peek()) {
            let common = one.start.max(two.start)..one.end.min(two.end);
            if !common.is_empty() {
                return Some(common);
            }
            if one.end <= two.end {
                at.next()
            } else {
                beside.next()
            };
        }
        None
    }

    /// The pieces by address; nothing if there are too many.
    pub(super) fn pieces(&self) -> Option<Vec<Range<usize>>> {
        let layout = self.datatype.layout();
        if !layout.is_contiguous() && layout.runs().saturating_mul(self.count) > PIECES_MAX {
            return None;
        }
        let mut pieces = Vec::new();
        layout.walk(0, self.bytes(), |offset, _, len| {
            let start = self.base.wrapping_add_signed(offset as isize);
            pieces.push(start..start.wrapping_add(len as usize));
        });
        engine::sort_by(&mut pieces, &|a, b| a.start < b.start);
        Some(pieces)
    }

    /// A number that is another one, nearly certainly, if the data has changed.
    pub(super) fn sum(&self) -> u64 {
        let mut sum = 0xcbf2_9ce4_8422_2325u64;
        let mut mix = |word: u64| sum = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.datatype.layout().walk(0, self.bytes().min(SUMMED_MAX), |offset, _, len| {
            let start =
                std::ptr::with_exposed_provenance::<u8>(self.base.wrapping_add_signed(offset as isize));
            // SAFETY: the program has given this memory to a send, to be read until that is complete.
            let bytes = unsafe { std::slice::from_raw_parts(start, len as usize) };
            let words = bytes.chunks_exact(8);
            for byte in words.remainder() {
                mix(u64::from(*byte));
            }
            for word in words {
                mix(u64::from_ne_bytes(word.try_into().expect("eight bytes")));
            }
        });
        sum
    }
}

/// As [`Region::sum`] of memory that others may change meanwhile, its first bytes.
pub(super) fn sum_of_shared(base: usize, bytes: usize) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    let mut mix = |word: u64| sum = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (mut at, end) = (base, base + bytes.min(SHARED_SUMMED_MAX));
    while at < end {
        let address = std::ptr::with_exposed_provenance_mut::<u8>(at);
        if at.is_multiple_of(8) && end - at >= 8 {
            // SAFETY: memory of a window, which the program leaves there until it is freed; aligned, and read in one step.
            mix(unsafe { AtomicU64::from_ptr(address.cast()) }.load(Ordering::Relaxed));
            at += 8;
        } else {
            // SAFETY: as above.
            mix(u64::from(unsafe { AtomicU8::from_ptr(address) }.load(Ordering::Relaxed)));
            at += 1;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use engine::datatype::{Basic, Block, Layout};

    use super::*;

    fn region(base: usize, count: u64, datatype: &Datatype) -> Region {
        Region { name: "buf", base, count, datatype: datatype.clone(), is_written: true }
    }

    #[test]
    fn dense_regions_overlap_where_their_bytes_do() {
        let int = Datatype::basic(Basic::I32);
        assert_eq!(region(1000, 4, &int).overlap(&region(1012, 4, &int)), Some(1012..1016));
        assert_eq!(region(1000, 4, &int).overlap(&region(1016, 4, &int)), None);
        assert_eq!(region(1000, 0, &int).overlap(&region(1000, 4, &int)), None);
    }

    #[test]
    fn columns_that_interleave_are_apart_and_equal_ones_are_not() {
        let column = Datatype::derived(
            Layout::new((0..5).map(|row| Block { offset: row * 40, len: 8 }), 0, 8),
            Some(Basic::F64),
        );
        assert_eq!(region(1000, 1, &column).overlap(&region(1008, 1, &column)), None);
        assert_eq!(region(1000, 2, &column).overlap(&region(1008, 1, &column)), Some(1008..1016));
    }

    #[test]
    fn a_changed_byte_changes_the_sum() {
        let mut data = [7u8; 37];
        let bytes = Datatype::basic(Basic::Byte);
        let address = data.as_mut_ptr().expose_provenance();
        let before = region(address, 37, &bytes).sum();
        assert_eq!(region(address, 37, &bytes).sum(), before);
        data[36] = 8;
        std::hint::black_box(&mut data);
        assert_ne!(region(address, 37, &bytes).sum(), before);
    }
}

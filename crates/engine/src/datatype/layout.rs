//! Where the bytes of an element lie, and how to walk them from any byte on.
//!
//! Invariant: blocks are kept in the order of the type map (the order in which data travels), neighbours that touch are
//! merged, and empty blocks are dropped; so a layout is contiguous exactly if it has one block at offset 0 that fills the extent.

use alloc::vec::Vec;

use smallvec::{SmallVec, smallvec};

/// A run of contiguous bytes of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// From the element's origin.
    pub offset: i64,
    /// Bytes.
    pub len: u64,
}

/// The bytes of one element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    blocks: SmallVec<[Block; 2]>,
    size: u64,
    lower_bound: i64,
    extent: i64,
    contiguous: bool,
}

impl Layout {
    /// `bytes` contiguous bytes.
    pub fn bytes(bytes: u64) -> Layout {
        Layout::new([Block { offset: 0, len: bytes }], 0, bytes as i64)
    }

    /// The given blocks in type-map order, with lower bound and extent.
    pub fn new(blocks: impl IntoIterator<Item = Block>, lower_bound: i64, extent: i64) -> Layout {
        let mut merged: SmallVec<[Block; 2]> = smallvec![];
        let mut size = 0;
        for block in blocks {
            size += block.len;
            match merged.last_mut() {
                _ if block.len == 0 => {}
                Some(last) if last.offset + last.len as i64 == block.offset => last.len += block.len,
                _ => merged.push(block),
            }
        }
        let contiguous = match merged.as_slice() {
            [] => true,
            [block] => block.offset == 0 && block.len as i64 == extent,
            _ => false,
        };
        Layout { blocks: merged, size, lower_bound, extent, contiguous }
    }

    /// `count` copies, each one extent after the other.
    pub fn repeated(&self, count: u64) -> Layout {
        if self.contiguous {
            return Layout::new(
                [Block { offset: 0, len: self.size * count }],
                self.lower_bound,
                self.extent * count as i64,
            );
        }
        let blocks: Vec<Block> = (0..count as i64)
            .flat_map(|copy| {
                self.blocks.iter().map(move |b| Block { offset: b.offset + copy * self.extent, len: b.len })
            })
            .collect();
        Layout::new(blocks, self.lower_bound, self.extent * count as i64)
    }

    /// Bytes of data.
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes from one element to the next.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.extent
    }

    /// The lower bound.
    pub fn lower_bound(&self) -> i64 {
        self.lower_bound
    }

    /// First byte of data (true lower bound).
    pub fn true_lower_bound(&self) -> i64 {
        self.blocks.iter().map(|b| b.offset).min().unwrap_or(0)
    }

    /// One past the last byte of data.
    pub fn true_upper_bound(&self) -> i64 {
        self.blocks.iter().map(|b| b.offset + b.len as i64).max().unwrap_or(0)
    }

    /// The runs of bytes, in the order in which they travel.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// True if any number of elements lie in one piece that starts at the origin.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Walks the bytes `from..from + len` of the packed form of many elements, calling `each` with (offset from the
    /// buffer's origin, offset from `from`, bytes) for each run in memory. Resumable at any byte: `from` need not be the
    /// start of an element or a block.
    pub fn walk(&self, from: u64, len: u64, mut each: impl FnMut(i64, u64, u64)) {
        if self.contiguous {
            if len > 0 {
                each(from as i64, 0, len);
            }
            return;
        }
        if self.size == 0 {
            return;
        }
        let mut element = from / self.size;
        let mut skip = from % self.size;
        let mut done = 0;
        while done < len {
            let origin = element as i64 * self.extent;
            for block in &self.blocks {
                if skip >= block.len {
                    skip -= block.len;
                    continue;
                }
                let run = (block.len - skip).min(len - done);
                each(origin + block.offset + skip as i64, done, run);
                done += run;
                skip = 0;
                if done == len {
                    return;
                }
            }
            element += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn touching_blocks_merge_and_a_filled_extent_is_contiguous() {
        let layout = Layout::new([Block { offset: 0, len: 4 }, Block { offset: 4, len: 4 }], 0, 8);
        assert!(layout.is_contiguous());
        let padded = Layout::new([Block { offset: 0, len: 12 }], 0, 16);
        assert!(!padded.is_contiguous());
        assert_eq!(padded.size(), 12);
    }

    proptest! {
        /// Packing in one go and packing in pieces cut anywhere visit the same bytes in the same order.
        #[test]
        fn walking_in_pieces_visits_the_bytes_of_walking_at_once(
            gaps in proptest::collection::vec((0u64..4, 1u64..6), 1..5),
            count in 1u64..5,
            cuts in proptest::collection::vec(1u64..9, 1..30),
        ) {
            let mut at = 0;
            let blocks: Vec<Block> = gaps.iter().map(|&(gap, len)| {
                let block = Block { offset: at + gap as i64, len };
                at += (gap + len) as i64;
                block
            }).collect();
            let layout = Layout::new(blocks.clone(), 0, at + 3);
            let model: Vec<i64> = (0..count as i64).flat_map(|element| {
                blocks.iter().flat_map(move |b| (0..b.len as i64).map(move |i| element * (at + 3) + b.offset + i))
            }).collect();
            let total = layout.size() * count;
            let mut seen = Vec::new();
            let mut from = 0;
            for cut in cuts.iter().cycle() {
                let len = (*cut).min(total - from);
                layout.walk(from, len, |offset, _, run| seen.extend((0..run as i64).map(|i| offset + i)));
                from += len;
                if from == total { break; }
            }
            prop_assert_eq!(seen, model);
        }
    }
}

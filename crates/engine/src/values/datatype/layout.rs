//! Where the bytes of an element lie, and how to walk those of many elements from any byte on.

use core::fmt;

use super::nest::{Nest, Piece, Runs};

/// A run of contiguous bytes of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// From the element's origin.
    pub offset: i64,
    /// Bytes.
    pub len: u64,
}

/// The bytes of one element: where they lie, and its bounds.
#[derive(Clone)]
pub struct Layout {
    nest: Nest,
    lower_bound: i64,
    extent: i64,
    contiguous: bool,
}

impl Layout {
    /// `bytes` contiguous bytes.
    pub fn bytes(bytes: u64) -> Layout {
        Layout::of(Nest::run(0, bytes), 0, bytes as i64)
    }

    /// The given blocks in type-map order, with lower bound and extent.
    pub fn new(blocks: impl IntoIterator<Item = Block>, lower_bound: i64, extent: i64) -> Layout {
        let runs = blocks.into_iter().map(|block| Nest::run(block.offset, block.len));
        Layout::of(Nest::sequence(runs.collect()), lower_bound, extent)
    }

    pub(super) fn of(nest: Nest, lower_bound: i64, extent: i64) -> Layout {
        let fills = |run: Block| run.offset == 0 && run.len as i64 == extent;
        let contiguous = nest.size() == 0 || nest.as_run().is_some_and(fills);
        Layout { nest, lower_bound, extent, contiguous }
    }

    pub(super) fn nest(&self) -> &Nest {
        &self.nest
    }

    /// Bytes of data.
    #[inline]
    pub fn size(&self) -> u64 {
        self.nest.size()
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
        self.nest.reach().0
    }

    /// One past the last byte of data.
    pub fn true_upper_bound(&self) -> i64 {
        self.nest.reach().1
    }

    /// How many runs of contiguous bytes an element has.
    pub fn runs(&self) -> u64 {
        self.nest.runs()
    }

    /// True if any number of elements lie in one piece that starts at the origin.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Walks the bytes `from..from + len` of the packed form of many elements, calling `each` with (offset from the
    /// buffer's origin, offset from `from`, bytes) for each run in memory. Resumable at any byte: `from` need not be the
    /// start of an element or a block, and finding it takes no longer the further on it lies. Runs come in the order of the packed form.
    pub fn walk(&self, from: u64, len: u64, mut each: impl FnMut(i64, u64, u64)) {
        self.pieces_apart(from, len, &mut |mut at, piece| {
            piece.each_run(|offset, len| {
                each(offset, at, len);
                at += len;
            });
        });
    }

    /// As [`walk`](Layout::walk), with equal runs at equal distances together, where the type has them so: `each` gets the first's offset, where its bytes
    /// begin in the packed form, their length, the distance, and how many.
    pub fn walk_strides(&self, from: u64, len: u64, mut each: impl FnMut(i64, u64, u64, i64, u64)) {
        self.pieces_apart(from, len, &mut |mut at, piece| match piece.runs {
            Runs::One(len) => each(piece.origin, at, len, piece.stride, piece.count),
            _ => piece.each_run(|offset, len| {
                each(offset, at, len, 0, 1);
                at += len;
            }),
        });
    }

    /// As [`pieces`](Layout::pieces), for all that have no copy of the walk of their own, which is three kilobytes: a call for each piece.
    #[inline(never)]
    pub(crate) fn pieces_apart(&self, from: u64, len: u64, each: &mut dyn FnMut(u64, Piece<'_>)) {
        self.pieces(from, len, each);
    }

    /// As [`walk`](Layout::walk), in pieces of many runs each.
    #[inline]
    pub(crate) fn pieces(&self, from: u64, len: u64, mut each: impl FnMut(u64, Piece<'_>)) {
        if len == 0 {
            return;
        }
        if self.contiguous {
            each(0, Piece::one(from as i64, len));
        } else if from == 0
            && len == self.nest.size()
            && let Some(piece) = self.nest.as_piece()
        {
            // One element as a whole: a small one takes no longer to copy than its range to divide.
            each(0, piece);
        } else {
            self.nest.walk_copies(0, self.extent, from..from + len, 0, &mut each);
        }
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { nest, lower_bound, extent, .. } = self;
        write!(f, "{} bytes in {} runs, bounds {lower_bound} + {extent}", nest.size(), nest.runs())
    }
}

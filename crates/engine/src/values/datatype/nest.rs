//! Where bytes lie, as loops: what a datatype's constructors said, in as few steps as will do.
//!
//! Ten million rows of a matrix are one loop, not ten million entries. A [`Nest`] is a tree of five shapes; its leaves are runs of
//! contiguous bytes. Walking it from any byte on takes as many steps as the tree has levels (and a search in each list), then hands out
//! [`Piece`]s: a piece is a whole inner loop, so that whoever copies it decides once how and not for each run.
//!
//! Invariants, kept by the constructors: bytes are in the order of the type map, in which they travel; nothing in a tree is empty but the
//! tree of no bytes itself; a loop runs at least twice; runs that touch are one run; the offset of a loop's body is 0, and so is that of
//! the first entry of a list.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use super::layout::Block;

/// Bytes at offsets from an origin.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    /// Of everything below.
    offset: i64,
    /// Bytes of data.
    size: u64,
    /// The first byte, and one past the last, from `offset` on.
    reach: (i64, i64),
    /// Runs of contiguous bytes.
    runs: u64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    /// All bytes, in one piece.
    Run,
    /// Runs of one length.
    Equal {
        len: u64,
        offsets: Arc<[i64]>,
    },
    /// Runs of several lengths.
    Runs(Arc<[Run]>),
    Loop {
        count: u64,
        stride: i64,
        body: Arc<Nest>,
    },
    /// One after the other.
    Sequence(Arc<[Step]>),
}

/// A run in a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub offset: i64,
    pub len: u64,
    /// Bytes of data before it.
    before: u64,
}

#[derive(Clone, Debug)]
struct Step {
    before: u64,
    nest: Nest,
}

/// Runs that are copied in one go: `count` times the same, `stride` bytes apart. In the packed form they follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// Where the first of the repetitions begins.
    pub origin: i64,
    pub count: u64,
    pub stride: i64,
    pub runs: Runs<'a>,
}

/// What a piece repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Runs<'a> {
    /// As many bytes, at the origin.
    One(u64),
    Equal(u64, &'a [i64]),
    Many(&'a [Run]),
}

impl<'a> Piece<'a> {
    pub fn one(origin: i64, len: u64) -> Piece<'a> {
        Piece { origin, count: 1, stride: 0, runs: Runs::One(len) }
    }

    /// Each run, as offset and length.
    pub fn each_run(&self, mut each: impl FnMut(i64, u64)) {
        let mut origin = self.origin;
        for _ in 0..self.count {
            match self.runs {
                Runs::One(len) => each(origin, len),
                Runs::Equal(len, offsets) => offsets.iter().for_each(|offset| each(origin + offset, len)),
                Runs::Many(runs) => runs.iter().for_each(|run| each(origin + run.offset, run.len)),
            }
            origin = origin.wrapping_add(self.stride);
        }
    }
}

/// Lists of at most this many runs become a part of the list that they are put into.
const FLAT_MAX: usize = 16;

impl Nest {
    pub fn run(offset: i64, len: u64) -> Nest {
        Nest { offset, size: len, reach: (0, len as i64), runs: u64::from(len > 0), shape: Shape::Run }
    }

    pub fn empty() -> Nest {
        Nest::run(0, 0)
    }

    /// The same, `by` bytes further on.
    pub fn moved(mut self, by: i64) -> Nest {
        self.offset += by;
        self
    }

    /// `count` times the same, `stride` bytes apart. The caller has seen to it that all places and sizes are numbers.
    pub fn repeated(mut self, count: u64, stride: i64) -> Nest {
        if count == 0 || self.size == 0 {
            return Nest::empty();
        }
        if count == 1 {
            return self;
        }
        let last = stride * (count as i64 - 1);
        let (offset, size) = (core::mem::take(&mut self.offset), self.size * count);
        let reach = (self.reach.0 + last.min(0), self.reach.1 + last.max(0));
        let runs = self.runs.saturating_mul(count);
        let shape = match self.shape {
            Shape::Run if stride == self.size as i64 => return Nest::run(offset, size),
            // The inner loop ends where the next round of the outer one begins.
            Shape::Loop { count: inner, stride: step, body }
                if step.checked_mul(inner as i64) == Some(stride) =>
            {
                Shape::Loop { count: inner * count, stride: step, body }
            }
            shape => Shape::Loop { count, stride, body: Arc::new(Nest { shape, ..self }) },
        };
        Nest { offset, size, reach, runs, shape }
    }

    /// One after the other.
    #[inline(never)]
    pub fn sequence(parts: Vec<Nest>) -> Nest {
        let mut kept: Vec<Nest> = Vec::new();
        for part in parts {
            match &part.shape {
                _ if part.size == 0 => {}
                Shape::Run => push_run(&mut kept, part.offset, part.size),
                Shape::Equal { len, offsets } if offsets.len() <= FLAT_MAX => {
                    offsets.iter().for_each(|offset| push_run(&mut kept, part.offset + offset, *len));
                }
                Shape::Runs(runs) if runs.len() <= FLAT_MAX => {
                    runs.iter().for_each(|run| push_run(&mut kept, part.offset + run.offset, run.len));
                }
                _ => kept.push(part),
            }
        }
        match kept.len() {
            0 => Nest::empty(),
            1 => kept.remove(0),
            _ if kept.iter().all(|part| matches!(part.shape, Shape::Run)) => Nest::of_runs(&kept),
            _ => Nest::of_parts(kept),
        }
    }

    /// A list of two or more runs.
    fn of_runs(kept: &[Nest]) -> Nest {
        let (offset, len) = (kept[0].offset, kept[0].size);
        let equal = kept.iter().all(|run| run.size == len);
        let stride = kept[1].offset - offset;
        if equal && kept.windows(2).all(|pair| pair[1].offset - pair[0].offset == stride) {
            return Nest::run(offset, len).repeated(kept.len() as u64, stride);
        }
        let shape = if equal {
            Shape::Equal { len, offsets: kept.iter().map(|run| run.offset - offset).collect() }
        } else {
            let place = |before: &mut u64, run: &Nest| {
                let placed = Run { offset: run.offset - offset, len: run.size, before: *before };
                *before += run.size;
                Some(placed)
            };
            Shape::Runs(kept.iter().scan(0, place).collect())
        };
        Nest { offset, shape, ..hull(kept, offset) }
    }

    /// A list of two or more parts of which one at least is a loop or a list.
    fn of_parts(kept: Vec<Nest>) -> Nest {
        let offset = kept[0].offset;
        let all = hull(&kept, offset);
        let place = |before: &mut u64, nest: Nest| {
            let step = Step { before: *before, nest: nest.moved(-offset) };
            *before += step.nest.size;
            Some(step)
        };
        Nest { offset, shape: Shape::Sequence(kept.into_iter().scan(0, place).collect()), ..all }
    }

    /// Bytes of data.
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The first byte, and one past the last, from the origin on.
    pub fn reach(&self) -> (i64, i64) {
        (self.offset + self.reach.0, self.offset + self.reach.1)
    }

    /// Runs of contiguous bytes.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The one run that all bytes are, if they are.
    pub fn as_run(&self) -> Option<Block> {
        matches!(self.shape, Shape::Run).then_some(Block { offset: self.offset, len: self.size })
    }

    /// Hands out the bytes of `range` (in the packed form) as pieces, in order, each with where it begins in the packed form of the range.
    pub fn walk<F: FnMut(u64, Piece<'_>)>(&self, origin: i64, range: Range<u64>, at: u64, each: &mut F) {
        let origin = origin.wrapping_add(self.offset);
        let Range { start, end } = range;
        if start >= end {
            return;
        }
        match &self.shape {
            Shape::Run => each(at, Piece::one(origin + start as i64, end - start)),
            Shape::Equal { len, offsets } => {
                let run = |index: usize| Block { offset: offsets[index], len: *len };
                let before = |index: usize| index as u64 * len;
                let listed = |whole: Range<usize>| Runs::Equal(*len, &offsets[whole]);
                let [first, last] = [(start / len) as usize, (end / len) as usize];
                walk_list(origin, start..end, at, first..last, (run, before, listed), each);
            }
            Shape::Runs(runs) => {
                let run = |index: usize| Block { offset: runs[index].offset, len: runs[index].len };
                let before = |index: usize| runs.get(index).map_or(self.size, |run| run.before);
                let listed = |whole: Range<usize>| Runs::Many(&runs[whole]);
                let first = runs.partition_point(|run| run.before <= start) - 1;
                let last = runs.partition_point(|run| run.before + run.len <= end);
                walk_list(origin, start..end, at, first..last, (run, before, listed), each);
            }
            Shape::Loop { stride, body, .. } => body.walk_copies(origin, *stride, start..end, at, each),
            Shape::Sequence(steps) => {
                let first = steps.partition_point(|step| step.before <= start) - 1;
                for step in &steps[first..] {
                    if step.before >= end {
                        break;
                    }
                    let from = start.saturating_sub(step.before);
                    let to = (end - step.before).min(step.nest.size);
                    step.nest.walk(origin, from..to, at + (step.before + from - start), each);
                }
            }
        }
    }

    /// As [`walk`](Nest::walk), over copies of this, `stride` bytes apart.
    pub fn walk_copies<F: FnMut(u64, Piece<'_>)>(
        &self,
        origin: i64,
        stride: i64,
        range: Range<u64>,
        mut at: u64,
        each: &mut F,
    ) {
        let Range { start, end } = range;
        if start >= end {
            return;
        }
        let (mut copy, skip) = (start / self.size, start % self.size);
        let place = |copy: u64| origin.wrapping_add((copy as i64).wrapping_mul(stride));
        let mut left = end - start;
        if skip > 0 {
            let part = left.min(self.size - skip);
            self.walk(place(copy), skip..skip + part, at, each);
            (at, left, copy) = (at + part, left - part, copy + 1);
        }
        let whole = left / self.size;
        if let Some(runs) = self.flat().filter(|_| whole > 0) {
            each(at, Piece { origin: place(copy).wrapping_add(self.offset), count: whole, stride, runs });
            (at, copy) = (at + whole * self.size, copy + whole);
        } else {
            for _ in 0..whole {
                self.walk(place(copy), 0..self.size, at, each);
                (at, copy) = (at + self.size, copy + 1);
            }
        }
        self.walk(place(copy), 0..left % self.size, at, each);
    }

    /// All of it as one piece, if it is one.
    pub fn as_piece(&self) -> Option<Piece<'_>> {
        let one = |origin, count, stride, runs| Some(Piece { origin, count, stride, runs });
        match &self.shape {
            Shape::Loop { count, stride, body } => {
                one(self.offset.wrapping_add(body.offset), *count, *stride, body.flat()?)
            }
            _ => one(self.offset, 1, 0, self.flat()?),
        }
    }

    /// The runs of a leaf.
    fn flat(&self) -> Option<Runs<'_>> {
        match &self.shape {
            Shape::Run => Some(Runs::One(self.size)),
            Shape::Equal { len, offsets } => Some(Runs::Equal(*len, offsets)),
            Shape::Runs(runs) => Some(Runs::Many(runs)),
            Shape::Loop { .. } | Shape::Sequence(_) => None,
        }
    }
}

/// Size, reach and runs of parts that are put together; of their shape nothing.
fn hull(parts: &[Nest], offset: i64) -> Nest {
    let ends = parts.iter().map(Nest::reach);
    let (low, high) = ends.fold((i64::MAX, i64::MIN), |all, part| (all.0.min(part.0), all.1.max(part.1)));
    Nest {
        offset,
        size: parts.iter().map(|part| part.size).sum(),
        reach: (low - offset, high - offset),
        runs: parts.iter().fold(0, |sum, part| sum.saturating_add(part.runs)),
        shape: Shape::Run,
    }
}

fn push_run(kept: &mut Vec<Nest>, offset: i64, len: u64) {
    match kept.last_mut() {
        Some(last) if matches!(last.shape, Shape::Run) && last.offset + last.size as i64 == offset => {
            *last = Nest::run(last.offset, last.size + len);
        }
        _ => kept.push(Nest::run(offset, len)),
    }
}

/// Hands out a range of a list of runs, in order: the whole ones as one piece, and a part of one at each end. `first` is the run that the range
/// begins in, `last` the first that does not lie before its end as a whole.
fn walk_list<'a, F: FnMut(u64, Piece<'_>)>(
    origin: i64,
    range: Range<u64>,
    at: u64,
    Range { start: first, end: last }: Range<usize>,
    (run, before, listed): (
        impl Fn(usize) -> Block,
        impl Fn(usize) -> u64,
        impl Fn(Range<usize>) -> Runs<'a>,
    ),
    each: &mut F,
) {
    let Range { start, end } = range;
    let skip = start - before(first);
    let part = |index: usize, from: u64, to: u64| {
        let Block { offset, .. } = run(index);
        let inside = from - before(index);
        (at + (from - start), Piece::one(origin + offset + inside as i64, to - from))
    };
    let mut whole = first..last;
    if skip > 0 {
        whole.start += 1;
        let (at, piece) = part(first, start, end.min(before(first + 1)));
        each(at, piece);
    }
    if whole.start > last {
        return;
    }
    if !whole.is_empty() {
        let at = at + (before(whole.start) - start);
        each(at, Piece { origin, count: 1, stride: 0, runs: listed(whole) });
    }
    if before(last) < end {
        let (at, piece) = part(last, before(last).max(start), end);
        each(at, piece);
    }
}

//! What one-sided operations do at their targets, and which of them must not meet there (MPI section 12.7).
//!
//! Invariant: a [`Footprint`] has exactly the bytes that its operation reaches. What cannot be told in so little room has none, and is compared with
//! nothing.

use std::ops::Range;
use std::rc::Rc;

use smallvec::SmallVec;

use super::letters::{Reader, Writer};
use super::regions::Region;
use crate::abi::constants::MPI_NO_OP;

/// What an operation does to the bytes that it reaches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Act {
    Get,
    Put,
    /// Also one that fetches: with which operation, on elements of which basic type ("" if of several).
    Accumulate {
        op: u64,
        element: Rc<str>,
    },
    /// Compares and swaps.
    Swap {
        element: Rc<str>,
    },
}

/// Why two operations must not meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    Changed,
    Operations,
    Types,
}

impl Act {
    /// Nothing is changed.
    fn only_reads(&self) -> bool {
        matches!(self, Act::Get) || matches!(self, Act::Accumulate { op, .. } if *op == MPI_NO_OP.0 as u64)
    }

    /// Something is changed.
    pub(super) fn changes(&self) -> bool {
        !self.only_reads()
    }

    /// The rule that is broken if this and another operation reach the same bytes and neither is complete before the other. Accumulates of one origin
    /// keep their order, whatever they are.
    pub(super) fn forbids(&self, other: &Act, of_one_origin: bool) -> Option<Rule> {
        use Act::*;
        if self.only_reads() && other.only_reads() {
            return None;
        }
        let (ours, theirs) = match (self, other) {
            (Put | Get, _) | (_, Put | Get) => return Some(Rule::Changed),
            _ if of_one_origin => return None,
            (
                Accumulate { element: ours, .. } | Swap { element: ours },
                Accumulate { element: theirs, .. } | Swap { element: theirs },
            ) => (ours, theirs),
        };
        if ours != theirs && !ours.is_empty() && !theirs.is_empty() {
            return Some(Rule::Types);
        }
        match (self, other) {
            // The standard's own examples mix a swap with other operations.
            (Accumulate { op: ours, .. }, Accumulate { op: theirs, .. })
                if ours != theirs && !self.only_reads() && !other.only_reads() =>
            {
                Some(Rule::Operations)
            }
            _ => None,
        }
    }

    /// `writes`, for a sentence.
    pub(super) fn verb(&self, op_name: fn(u64) -> String) -> String {
        let of = |element: &str| if element.is_empty() { String::new() } else { format!(" of {element}") };
        match self {
            Act::Get => "reads".into(),
            Act::Put => "writes".into(),
            Act::Accumulate { op, element } => format!("accumulates ({}{})", op_name(*op), of(element)),
            Act::Swap { element } => format!("compares and swaps{}", of(element)),
        }
    }
}

impl Rule {
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Rule::Changed => {
                "what one operation changes must not be reached by another before that is complete (MPI 5.0, 12.7)"
            }
            Rule::Operations => {
                "accumulates that meet must have the same operation, or MPI_NO_OP (MPI 5.0, 12.2.1, accumulate_ops)"
            }
            Rule::Types => "accumulates that meet must have the same basic type (MPI 5.0, 12.7)",
        }
    }
}

/// The bytes that an operation reaches, counted from where its target's memory begins; or their addresses, if memory is attached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Footprint(SmallVec<[Span; 1]>);

/// Pieces of the same length, at the same distance. All before those of the next span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    start: i64,
    len: i64,
    stride: i64,
    count: i64,
}

/// Spans that are kept of an operation.
const SPANS_MAX: usize = 64;

impl Footprint {
    /// Those of elements of a datatype; nothing if there are none, or if they are too many pieces without regularity.
    pub(super) fn of(region: &Region) -> Option<Footprint> {
        let mut spans: SmallVec<[Span; 1]> = SmallVec::new();
        if region.bytes() == 0 {
            return None;
        }
        if region.datatype.layout().is_contiguous() {
            let hull = region.hull();
            let (start, len) = (hull.start as i64, hull.len() as i64);
            spans.push(Span { start, len, stride: 0, count: 1 });
            return Some(Footprint(spans));
        }
        for piece in region.pieces()? {
            let (start, len) = (piece.start as i64, piece.len() as i64);
            if spans.last_mut().is_some_and(|last| last.takes(start, len)) {
                continue;
            }
            if spans.len() == SPANS_MAX {
                return None;
            }
            spans.push(Span { start, len, stride: 0, count: 1 });
        }
        (!spans.is_empty()).then_some(Footprint(spans))
    }

    /// From the first byte to behind the last.
    pub(super) fn hull(&self) -> Range<i64> {
        let (first, last) = (self.0[0], self.0[self.0.len() - 1]);
        first.start..last.end()
    }

    /// The first bytes that both have.
    pub(super) fn overlap(&self, other: &Footprint) -> Option<Range<i64>> {
        let (ours, theirs) = (self.hull(), other.hull());
        if ours.start.max(theirs.start) >= ours.end.min(theirs.end) {
            return None;
        }
        let (mut ours, mut theirs) = (self.pieces().peekable(), other.pieces().peekable());
        while let (Some(one), Some(two)) = (ours.peek(), theirs.peek()) {
            let common = one.start.max(two.start)..one.end.min(two.end);
            if !common.is_empty() {
                return Some(common);
            }
            if one.end <= two.end {
                ours.next()
            } else {
                theirs.next()
            };
        }
        None
    }

    /// Takes up the bytes of another one that go on where these end; false if they do not.
    pub(super) fn extend(&mut self, other: &Footprint) -> bool {
        let ([ours], [theirs]) = (&mut self.0[..], &other.0[..]) else { return false };
        let fits = ours.count == 1 && theirs.count == 1 && ours.end() == theirs.start;
        if fits {
            ours.len += theirs.len;
        }
        fits
    }

    fn pieces(&self) -> impl Iterator<Item = Range<i64>> + '_ {
        self.0.iter().flat_map(|span| {
            (0..span.count).map(|index| {
                let start = span.start + index * span.stride;
                start..start + span.len
            })
        })
    }

    fn encode(&self, letter: &mut Writer) {
        letter.number(self.0.len() as i64);
        for Span { start, len, stride, count } in &self.0 {
            [*start, *len, *stride, *count].into_iter().for_each(|number| letter.number(number));
        }
    }

    fn decode(letter: &mut Reader<'_>) -> Option<Footprint> {
        let spans = usize::try_from(letter.number()?).ok().filter(|spans| (1..=SPANS_MAX).contains(spans))?;
        let mut span = || {
            let mut number = || letter.number();
            Some(Span { start: number()?, len: number()?, stride: number()?, count: number()? })
        };
        (0..spans).map(|_| span()).collect::<Option<_>>().map(Footprint)
    }
}

impl Span {
    fn end(self) -> i64 {
        self.start + (self.count - 1) * self.stride + self.len
    }

    /// Takes a piece that comes next; false if it does not fit in.
    fn takes(&mut self, start: i64, len: i64) -> bool {
        if self.count == 1 && self.end() == start {
            self.len += len;
            return true;
        }
        let fits = len == self.len
            && match self.count {
                1 => start > self.start,
                _ => start == self.start + self.count * self.stride,
            };
        if fits {
            self.stride = if self.count == 1 { start - self.start } else { self.stride };
            self.count += 1;
        }
        fits
    }
}

/// When an operation was under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum When {
    /// In the epoch of an active target that all who tell of it have just ended.
    Epoch,
    /// At a passive target: from the call that began it to the call that completed it there, by the clock of all ranks.
    Between(u64, u64),
}

impl When {
    /// Certainly neither was complete when the other began.
    pub(super) fn meets(self, other: When) -> bool {
        match (self, other) {
            (When::Epoch, When::Epoch) => true,
            (When::Between(begun, ended), When::Between(from, to)) => begun.max(from) < ended.min(to),
            _ => false,
        }
    }
}

/// One operation at its target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Access {
    pub(super) target: u32,
    pub(super) act: Act,
    pub(super) bytes: Footprint,
    pub(super) when: When,
}

impl Access {
    pub(super) fn encode(&self, letter: &mut Writer) {
        let (kind, op, element) = match &self.act {
            Act::Get => (0, 0, ""),
            Act::Put => (1, 0, ""),
            Act::Accumulate { op, element } => (2, *op, &**element),
            Act::Swap { element } => (3, 0, &**element),
        };
        let (timed, begun, ended) = match self.when {
            When::Epoch => (0, 0, 0),
            When::Between(begun, ended) => (1, begun as i64, ended as i64),
        };
        for number in [i64::from(self.target), kind, op as i64, timed, begun, ended] {
            letter.number(number);
        }
        letter.text(element);
        self.bytes.encode(letter);
    }

    pub(super) fn decode(letter: &mut Reader<'_>) -> Option<Access> {
        let mut number = || letter.number();
        let (target, kind, op) = (u32::try_from(number()?).ok()?, number()?, number()? as u64);
        let (timed, begun, ended) = (number()? != 0, number()? as u64, number()? as u64);
        let element: Rc<str> = letter.text()?.into();
        let act = match kind {
            0 => Act::Get,
            1 => Act::Put,
            2 => Act::Accumulate { op, element },
            3 => Act::Swap { element },
            _ => return None,
        };
        let when = if timed { When::Between(begun, ended) } else { When::Epoch };
        Some(Access { target, act, bytes: Footprint::decode(letter)?, when })
    }
}

#[cfg(test)]
mod tests {
    use engine::Datatype;
    use engine::datatype::{Basic, Block, Layout};

    use super::*;
    use crate::abi::constants::{MPI_REPLACE, MPI_SUM};

    fn footprint(base: usize, count: u64, datatype: &Datatype) -> Footprint {
        let datatype = datatype.clone();
        Footprint::of(&Region { name: "", base, count, datatype, is_written: true }).expect("bytes")
    }

    fn column() -> Datatype {
        let blocks = (0..5).map(|row| Block { offset: row * 40, len: 8 });
        Datatype::derived(Layout::new(blocks, 0, 8), Some(Basic::F64))
    }

    #[test]
    fn columns_are_one_span_and_meet_where_their_bytes_do() {
        let (one, beside) = (footprint(0, 1, &column()), footprint(8, 1, &column()));
        assert_eq!((one.0.len(), one.hull()), (1, 0..168));
        assert_eq!(one.overlap(&beside), None);
        assert_eq!(footprint(0, 2, &column()).overlap(&beside), Some(8..16));
        let row = footprint(40, 5, &Datatype::basic(Basic::F64));
        assert_eq!((row.overlap(&one), row.overlap(&beside)), (Some(40..48), Some(48..56)));
    }

    #[test]
    fn what_goes_on_behind_is_taken_up_and_nothing_else() {
        let byte = Datatype::basic(Basic::Byte);
        let mut first = footprint(0, 4, &byte);
        assert!(!first.extend(&footprint(5, 4, &byte)) && !first.extend(&footprint(0, 4, &byte)));
        assert!(first.extend(&footprint(4, 4, &byte)) && first.hull() == (0..8));
    }

    #[test]
    fn accumulates_meet_if_they_do_the_same() {
        let sum = |element: &str| Act::Accumulate { op: MPI_SUM.0 as u64, element: element.into() };
        let replace = Act::Accumulate { op: MPI_REPLACE.0 as u64, element: "MPI_INT".into() };
        let look = Act::Accumulate { op: MPI_NO_OP.0 as u64, element: "MPI_INT".into() };
        let swap = Act::Swap { element: "MPI_INT".into() };
        let int = sum("MPI_INT");
        for fine in [&int, &look, &swap] {
            assert_eq!(int.forbids(fine, false), None, "{fine:?}");
        }
        assert_eq!(int.forbids(&replace, false), Some(Rule::Operations));
        assert_eq!(int.forbids(&replace, true), None, "those of one origin keep their order");
        assert_eq!(int.forbids(&sum("MPI_DOUBLE"), false), Some(Rule::Types));
        assert_eq!(swap.forbids(&sum("MPI_LONG"), false), Some(Rule::Types));
        for moved in [Act::Put, Act::Get] {
            assert_eq!(moved.forbids(&int, true), Some(Rule::Changed));
            assert_eq!(moved.forbids(&Act::Put, true), Some(Rule::Changed));
        }
        assert_eq!(Act::Get.forbids(&look, false), None);
        assert_eq!(Act::Put.forbids(&look, false), Some(Rule::Changed));
    }

    #[test]
    fn times_meet_only_if_neither_ended_before_the_other_began() {
        let (early, late) = (When::Between(10, 20), When::Between(20, 30));
        assert!(!early.meets(late) && !late.meets(early));
        assert!(early.meets(When::Between(19, 20)) && When::Epoch.meets(When::Epoch));
        assert!(!When::Epoch.meets(early));
    }

    #[test]
    fn an_access_is_read_as_it_was_written_and_not_if_it_is_cut_short() {
        let act = Act::Accumulate { op: MPI_SUM.0 as u64, element: "MPI_INT".into() };
        let access =
            Access { target: 7, act, bytes: footprint(16, 3, &column()), when: When::Between(5, u64::MAX) };
        let mut letter = Writer::default();
        access.encode(&mut letter);
        assert_eq!(Access::decode(&mut Reader(&letter.0)), Some(access));
        for len in 0..letter.0.len() {
            assert_eq!(Access::decode(&mut Reader(&letter.0[..len])), None, "{len} bytes");
        }
    }
}

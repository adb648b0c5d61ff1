//! Accumulate operations (MPI sections 12.3.4 and 12.7.1): each element is changed in one step, as far as others accumulate elements of the same type.
//!
//! There are two means. **Words**: numbers and logical values of 4 or 8 bytes, in windows whose memory every member has near, are changed by the processor's atomic
//! operations, if they are few, in one piece and aligned. **The lock** for accumulates of the target: everything else, 64 KiB at a time, by the kernels that
//! reductions use.
//!
//! Both may meet at a place. So whoever changes words says so before (`busy`, a flag of its own) and looks whether somebody has the lock there; and whoever
//! has taken it waits until all who are busy have gone. One of the two sees the other. A counter that many
//! ranks share thus costs an atomic operation at its place and one on a line that nobody else has, and a long row costs what its kernel does.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::AtomicU32;

use fabric::{PortalError, Width};

use crate::progress::tables::watch::Access;
use crate::rank::Rank;
use crate::rank::window::errand::{PIECE, Wish};
use crate::rank::window::transfer::fits;
use crate::rank::window::{Aim, Window};
use crate::values::datatype::Basic;
use crate::values::error::{Error, Result};
use crate::values::memory::desk::DATA;
use crate::values::memory::ground::Ground;
use crate::values::memory::place::{Act, Near, Place, word_of, write_word};
use crate::values::memory::words;
use crate::values::memory::{Kernel, RecvBuffer, SendBuffer};
use crate::values::op::Builtin;

/// Bytes up to which words are changed one by one, however many members there are.
const FEW: u64 = 512;

impl Rank {
    /// Combines data of this rank with that of a target, which gets the result; `fetched` gets what the target had before. MPI_NO_OP needs no data.
    #[inline]
    pub fn accumulate(
        &self,
        window: &Window,
        from: Option<&SendBuffer>,
        fetched: Option<&RecvBuffer>,
        aim: &Aim<'_>,
        op: Builtin,
    ) -> Result<()> {
        if fetched.is_none()
            && let Some(input) = from.and_then(SendBuffer::contiguous)
            && input.len() as u64 == aim.bytes()
            && let Some((near, width, basic)) = self.words(window, aim, input.len() as u64)?
            && input.len() == width
            && from.is_some_and(|from| from.datatype().element() == Some(basic))
            && let Some(act) = act_of(op, basic)
            && let Some(_busy) = window.announce(aim.target)
        {
            self.tell_access(window, aim, Access::Accumulate);
            near.change(width, act, word_of(input));
            return Ok(());
        }
        self.accumulate_apart(window, from, fetched, aim, op)
    }

    /// What is fetched, scattered, far, more than a word, or wrong.
    #[inline(never)]
    fn accumulate_apart(
        &self,
        window: &Window,
        from: Option<&SendBuffer>,
        fetched: Option<&RecvBuffer>,
        aim: &Aim<'_>,
        op: Builtin,
    ) -> Result<()> {
        window.target(aim.target)?;
        let kind = if fetched.is_some() { Access::Fetch } else { Access::Accumulate };
        self.tell_access(window, aim, kind);
        window.stored.set(true);
        let bytes = match from {
            Some(from) if op != Builtin::NoOp => {
                from.check()?;
                fits(from.bytes(), aim.bytes())?;
                from.bytes()
            }
            _ => aim.bytes(),
        };
        if let Some(fetched) = fetched {
            fetched.check()?;
            fits(bytes, fetched.bytes())?;
        }
        if bytes == 0 {
            return Ok(());
        }
        let what = What::new(from, aim, op)?;
        let place = window.place(self, aim, bytes.div_ceil(aim.datatype.size()))?;
        let input = match from.filter(|_| op != Builtin::NoOp) {
            None => Cow::Borrowed(&[][..]),
            Some(from) => from.contiguous().map_or_else(|| Cow::Owned(from.packed()), Cow::Borrowed),
        };
        let mut before = alloc::vec![0; if fetched.is_some() { bytes as usize } else { 0 }];
        let is_dense = aim.datatype.layout().is_contiguous();
        let few = what.width().filter(|_| window.by_words && is_dense && bytes <= window.few());
        if let (Place::Near(near), Some(width)) = (place, few)
            && near.is_aligned(width)
            && let Some(_busy) = window.announce(aim.target)
        {
            what.change_words(near, width, bytes as usize, &input, &mut before);
        } else if let Place::Near(near) = place
            && is_dense
        {
            self.change_near(window, aim.target, &what, near, bytes as usize, &input, &mut before)?;
        } else if let (Some(_), Some(width)) = (&window.far, far_width(what.basic)) {
            let what = (&what, width);
            self.change_far_words(window, aim, &place, what, bytes, &input, &mut before)?;
        } else {
            let len = bytes as usize;
            let done = match (place, from.filter(|_| fetched.is_none() && op != Builtin::NoOp)) {
                (Place::Far(_, _, at), Some(from)) if is_dense && len > DATA => {
                    self.accumulate_together(window, aim, (&place, at), &what, from)?
                }
                (Place::Far(_, _, at), _) if is_dense => {
                    let what = (what.wish(fetched.is_some()), at, len);
                    let is_done = self.ask(window, aim.target, what, [&input, &[]], &mut before)?;
                    if is_done { len } else { 0 }
                }
                _ => 0,
            };
            self.change_packed(window, aim, &place, &what, done..len, &input, &mut before)?;
        }
        if let Some(fetched) = fetched {
            fetched.unpack(0, &before);
        }
        Ok(())
    }

    /// As [`accumulate`](Rank::accumulate) for one element of a predefined type, the same on all sides.
    #[inline]
    pub fn fetch_and_op(
        &self,
        window: &Window,
        from: Option<&SendBuffer>,
        fetched: &RecvBuffer,
        aim: &Aim<'_>,
        op: Builtin,
    ) -> Result<()> {
        if let Some((near, width, basic)) = self.words(window, aim, aim.datatype.size())?
            && let Some(act) = act_of(op, basic)
            && fetched.is_contiguous()
            && let Some(_busy) = window.announce(aim.target)
        {
            self.tell_access(window, aim, Access::Fetch);
            let operand = from.and_then(SendBuffer::contiguous).map_or(0, word_of);
            let before = near.change(width, act, operand);
            fetched.fill(width, |into| write_word(before, into));
            return Ok(());
        }
        self.accumulate(window, from, Some(fetched), aim, op)
    }

    /// Replaces an element of the target's if it is what is expected; `fetched` gets what it was.
    #[inline]
    pub fn compare_and_swap(
        &self,
        window: &Window,
        desired: &SendBuffer,
        expected: &SendBuffer,
        fetched: &RecvBuffer,
        aim: &Aim<'_>,
    ) -> Result<()> {
        let place = self.words(window, aim, aim.datatype.size())?;
        self.tell_access(window, aim, Access::Swap);
        let basic =
            aim.datatype.element().filter(|basic| aim.datatype.is_predefined() && is_comparable(*basic));
        if basic.is_none() {
            return Err(Error::Datatype {
                reason: "the datatype cannot be compared, expected a predefined one of integers, logical values or bytes",
            });
        }
        let (Some(desired), Some(expected)) = (desired.contiguous(), expected.contiguous()) else {
            return Err(Error::Internal { reason: "an integer that is scattered" });
        };
        if let Some((near, width, _)) = place
            && let Some(_busy) = window.announce(aim.target)
        {
            let before = near.change(width, Act::ReplaceIf(word_of(expected)), word_of(desired));
            fetched.fill(width, |into| write_word(before, into));
            return Ok(());
        }
        let place = window.place(self, aim, 1)?;
        let width = basic.and_then(far_width).filter(|_| window.far.is_some());
        let words = (word_of(expected), word_of(desired));
        if let Some(width) = width
            && let Some(before) = self.swap_far_word(window, aim, &place, width, words)?
        {
            fetched.fill(width.bytes(), |into| write_word(before, into));
            return Ok(());
        }
        window.stored.set(true);
        let mut before = [0; 16];
        let before = &mut before[..desired.len().min(16)];
        if let Place::Far(_, _, at) = place
            && self.ask(window, aim.target, (Wish::Swap, at, before.len()), [desired, expected], before)?
        {
            fetched.unpack(0, before);
            return Ok(());
        }
        let are_words = basic.and_then(width_of).is_some();
        self.with_accumulate_lock(window, aim.target, are_words, || {
            self.load(&place, aim.datatype, 0, before)?;
            if before == expected {
                self.store(&place, aim.datatype, 0, desired)?;
            }
            Ok(())
        })?;
        fetched.unpack(0, before);
        Ok(())
    }

    /// The place of words that can be changed by atomic operations of the processor's, their width, and what they are.
    #[inline]
    fn words(&self, window: &Window, aim: &Aim<'_>, bytes: u64) -> Result<Option<(Near, usize, Basic)>> {
        let target = window.target(aim.target)?;
        let is_one_row = window.by_words && aim.datatype.is_predefined();
        let near = aim.datatype.element().filter(|_| is_one_row).and_then(|basic| {
            let (width, near) = (width_of(basic)?, target.near(aim.displacement, bytes)?);
            near.is_aligned(width).then_some((near, width, basic))
        });
        Ok(near)
    }

    /// Elements without gaps that are near, under the lock.
    #[allow(clippy::too_many_arguments, reason = "what is changed, by whom, and what for")]
    fn change_near(
        &self,
        window: &Window,
        target: u32,
        what: &What,
        near: Near,
        len: usize,
        input: &[u8],
        before: &mut [u8],
    ) -> Result<()> {
        let piece = what.whole_elements(PIECE);
        for at in (0..len).step_by(piece) {
            let part = at..len.min(at + piece);
            self.with_accumulate_lock(window, target, what.width().is_some(), || {
                near.moved(at as i64).with_bytes(part.len(), |bytes| {
                    if let Some(before) = before.get_mut(part.clone()) {
                        before.copy_from_slice(bytes);
                    }
                    if let Some(input) = input.get(part.clone()) {
                        what.combine(input, bytes);
                    }
                });
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Elements that are scattered or far, some of their bytes, under the lock.
    #[allow(clippy::too_many_arguments, reason = "as above")]
    pub(super) fn change_packed(
        &self,
        window: &Window,
        aim: &Aim<'_>,
        place: &Place,
        what: &What,
        range: Range<usize>,
        input: &[u8],
        before: &mut [u8],
    ) -> Result<()> {
        let piece = what.whole_elements(PIECE);
        let mut bytes: Vec<u8> = alloc::vec![0; range.len().min(piece)];
        for at in range.clone().step_by(piece) {
            let part = at..range.end.min(at + piece);
            let bytes = &mut bytes[..part.len()];
            self.with_accumulate_lock(window, aim.target, what.width().is_some(), || {
                self.change_part(aim, place, what, part, input, before, bytes)
            })?;
        }
        Ok(())
    }

    /// As many of them as there is room for, by one who has the lock.
    #[allow(clippy::too_many_arguments, reason = "as above")]
    pub(super) fn change_part(
        &self,
        aim: &Aim<'_>,
        place: &Place,
        what: &What,
        part: Range<usize>,
        input: &[u8],
        before: &mut [u8],
        room: &mut [u8],
    ) -> core::result::Result<(), PortalError> {
        let at = part.start as u64;
        self.load(place, aim.datatype, at, room)?;
        if let Some(before) = before.get_mut(part.clone()) {
            before.copy_from_slice(room);
        }
        if let Some(input) = input.get(part) {
            what.combine(input, room);
            self.store(place, aim.datatype, at, room)?;
        }
        Ok(())
    }

    /// Does something while nobody else accumulates at a target under its lock, nor by words, if that could be the same ones.
    pub(super) fn with_accumulate_lock(
        &self,
        window: &Window,
        target: u32,
        are_words: bool,
        act: impl FnOnce() -> core::result::Result<(), PortalError>,
    ) -> Result<()> {
        let Some(ground) = &window.ground else { return self.with_far_lock(window, target, act) };
        let control = ground.control(target);
        let mut attempt = || words::take_alone(&control.accumulating);
        if !attempt() {
            self.lane.wait_for_memory(&mut attempt)?;
        }
        let _alone = Alone(&control.accumulating);
        if are_words && window.by_words {
            self.wait_for_busy(window, ground)?;
        }
        act().map_err(|error| window.failed(target, error))
    }

    /// Waits until those who are changing words have gone: each for as long as an atomic operation takes, as long as it has its core.
    fn wait_for_busy(&self, window: &Window, ground: &Ground) -> Result<()> {
        for member in 0..window.comm.size() {
            let mut is_gone = || words::is_gone(&ground.control(member).busy);
            if !is_gone() {
                self.lane.wait_for_memory(&mut is_gone)?;
            }
        }
        Ok(())
    }
}

impl Window {
    /// Says that this rank is changing words of a target, until the result goes; none if somebody has the lock there.
    #[inline]
    pub(super) fn announce(&self, target: u32) -> Option<Busy<'_>> {
        let ground = self.ground.as_ref()?;
        let busy = Busy(&ground.control(self.comm.rank()).busy);
        if !super::ATOMICS_ARE_IN_ORDER {
            self.stored.set(true);
        }
        words::come(busy.0, &ground.control(target).accumulating).then_some(busy)
    }

    /// The lock for accumulates of a target, if it can be had without waiting for anybody.
    #[inline]
    pub(super) fn alone_at_once(&self, target: u32, are_words: bool) -> Option<Alone<'_>> {
        let ground = self.ground.as_ref()?;
        let control = ground.control(target);
        if !words::take_alone(&control.accumulating) {
            return None;
        }
        let alone = Alone(&control.accumulating);
        let is_gone = |member| words::is_gone(&ground.control(member).busy);
        let meets_words = are_words && self.by_words;
        (!meets_words || (0..self.targets.len() as u32).all(is_gone)).then_some(alone)
    }

    /// Bytes up to which words are changed one by one. Whoever has the lock looks at every member, and an atomic operation costs as much as about four such looks.
    #[inline]
    pub(super) fn few(&self) -> u64 {
        (2 * self.targets.len() as u64).min(FEW)
    }
}

/// This rank has the lock for accumulates of a target.
pub(super) struct Alone<'a>(&'a AtomicU32);

impl Drop for Alone<'_> {
    #[inline]
    fn drop(&mut self) {
        words::give_alone(self.0);
    }
}

/// This rank is changing words.
pub(super) struct Busy<'a>(&'a AtomicU32);

impl Drop for Busy<'_> {
    #[inline]
    fn drop(&mut self) {
        words::go(self.0);
    }
}

/// What is done to elements.
pub(super) struct What {
    basic: Basic,
    op: Builtin,
    kernel: Kernel,
}

impl What {
    /// An operation on elements of a type, if it is defined on them.
    #[inline]
    pub(super) fn of(op: Builtin, basic: Basic) -> Option<What> {
        op.kernel(basic).map(|kernel| What { basic, op, kernel })
    }

    /// An error unless the operation is defined on the elements that both sides have.
    #[inline]
    fn new(from: Option<&SendBuffer>, aim: &Aim<'_>, op: Builtin) -> Result<What> {
        let basic = aim.datatype.element().ok_or(MIXED)?;
        if let Some(from) = from.filter(|_| op != Builtin::NoOp)
            && from.datatype().element() != Some(basic)
        {
            return Err(if from.datatype().element().is_none() { MIXED } else { UNLIKE });
        }
        What::of(op, basic).ok_or(Error::Op { op: op.name(), datatype: basic })
    }

    pub(super) fn width(&self) -> Option<usize> {
        width_of(self.basic)
    }

    fn wish(&self, fetch: bool) -> Wish {
        Wish::Accumulate { op: self.op, basic: self.basic, fetch }
    }

    pub(super) fn basic(&self) -> Basic {
        self.basic
    }

    pub(super) fn op(&self) -> Builtin {
        self.op
    }

    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The bytes of as many elements as fit.
    fn whole_elements(&self, bytes: usize) -> usize {
        let size = self.basic.size() as usize;
        bytes / size * size
    }

    /// `inout[i] = input[i] op inout[i]`, both without gaps.
    fn combine(&self, input: &[u8], inout: &mut [u8]) {
        let (size, extent) = (self.basic.size() as usize, self.basic.extent() as usize);
        let gap = self.basic.halves().zip(self.basic.index_offset());
        let Some(([value, _], index_at)) = gap.filter(|_| size != extent) else {
            return (self.kernel)(input, inout);
        };
        // A pair lies with gaps where the kernel works on it.
        let (value, index_at) = (value.size() as usize, index_at as usize);
        let spread = |packed: &[u8]| {
            let mut pair = [0; 32];
            pair[..value].copy_from_slice(&packed[..value]);
            pair[index_at..][..size - value].copy_from_slice(&packed[value..]);
            pair
        };
        for (a, b) in input.chunks_exact(size).zip(inout.chunks_exact_mut(size)) {
            let mut result = spread(b);
            (self.kernel)(&spread(a)[..extent], &mut result[..extent]);
            b[..value].copy_from_slice(&result[..value]);
            b[value..].copy_from_slice(&result[index_at..][..size - value]);
        }
    }

    /// What becomes of one element that is a word.
    #[inline]
    fn act(&self) -> Act<'_> {
        act_of(self.op, self.basic).unwrap_or(Act::Combine(&self.kernel))
    }

    /// Words without gaps, each in one step.
    fn change_words(&self, near: Near, width: usize, len: usize, input: &[u8], before: &mut [u8]) {
        let act = self.act();
        for at in (0..len).step_by(width) {
            let operand = input.get(at..at + width).map_or(0, word_of);
            let was = near.moved(at as i64).change(width, act, operand);
            if let Some(before) = before.get_mut(at..at + width) {
                write_word(was, before);
            }
        }
    }
}

const MIXED: Error = Error::Datatype {
    reason: "the datatype has elements of several types, expected those of one predefined datatype alone",
};
const UNLIKE: Error = Error::Datatype {
    reason: "origin and target have elements of different types, expected the same predefined one",
};

/// What an operation does to a word, if that is known without its kernel.
#[inline]
pub(super) fn act_of(op: Builtin, basic: Basic) -> Option<Act<'static>> {
    match op {
        Builtin::Sum if is_integer(basic) => Some(Act::Add),
        Builtin::Sum if matches!(basic, Basic::F32 | Basic::F64) => Some(Act::AddFloat),
        Builtin::Replace => Some(Act::Replace),
        Builtin::NoOp => Some(Act::Keep),
        _ => None,
    }
}

/// The width of the words that elements of a type are, if they are.
#[inline]
pub(super) fn width_of(basic: Basic) -> Option<usize> {
    match basic {
        Basic::I32 | Basic::U32 | Basic::F32 => Some(4),
        Basic::I64 | Basic::U64 | Basic::Long | Basic::UnsignedLong | Basic::F64 | Basic::ComplexF32 => {
            Some(8)
        }
        Basic::Logical { bytes } if matches!(bytes, 4 | 8) => Some(bytes as usize),
        _ => None,
    }
}

/// The width of words that the fabric's atomics change, whatever the operation: floating-point numbers would need two questions an element.
fn far_width(basic: Basic) -> Option<Width> {
    let is_word = is_integer(basic) || matches!(basic, Basic::Logical { .. });
    let width = width_of(basic).filter(|_| is_word)?;
    Some(if width == 4 { Width::Four } else { Width::Eight })
}

/// True if the sum of two elements of a type that are words is that of the words.
#[inline]
fn is_integer(basic: Basic) -> bool {
    matches!(basic, Basic::I32 | Basic::U32 | Basic::I64 | Basic::U64 | Basic::Long | Basic::UnsignedLong)
}

/// What MPI_Compare_and_swap is defined on.
#[inline]
pub(super) fn is_comparable(basic: Basic) -> bool {
    let is_narrow = matches!(basic, Basic::I8 | Basic::U8 | Basic::I16 | Basic::U16);
    is_narrow || is_integer(basic) || matches!(basic, Basic::Bool | Basic::Byte | Basic::Logical { .. })
}

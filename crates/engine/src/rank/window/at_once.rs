//! What most operations come to (MPI section 12.3): elements of a predefined type, the same on both sides, in one piece of memory that this rank addresses, with nothing in the way.
//!
//! Each function does all of its call or nothing: what is false here is begun again by the function of the same name without `at_once`, which knows all cases and all errors. So
//! the same is checked here as there (epoch, member, range, who watches), by looks at a few words, and nothing is explained.

use crate::rank::Rank;
use crate::rank::window::Window;
use crate::rank::window::accumulate::{What, act_of, is_comparable, width_of};
use crate::rank::window::errand::PIECE;
use crate::values::datatype::{Basic, Datatype};
use crate::values::memory::place::{Act, Near, word_of, write_word};
use crate::values::op::Builtin;

impl Rank {
    /// Writes bytes to a target.
    #[inline(always)]
    pub fn put_at_once(&self, window: &Window, bytes: &[u8], target: u32, displacement: i64) -> bool {
        let Some(near) = self.near_at_once(window, target, displacement, bytes.len()) else { return false };
        window.stored.set(true);
        near.store(bytes);
        true
    }

    /// Reads bytes of a target.
    #[inline(always)]
    pub fn get_at_once(&self, window: &Window, into: &mut [u8], target: u32, displacement: i64) -> bool {
        let Some(near) = self.near_at_once(window, target, displacement, into.len()) else { return false };
        near.fetch(into);
        true
    }

    /// Combines elements of a predefined type, which lie without gaps, with those of a target, which gets the result.
    #[inline(always)]
    pub fn accumulate_at_once(
        &self,
        window: &Window,
        input: &[u8],
        datatype: &Datatype,
        (target, displacement): (u32, i64),
        op: Builtin,
    ) -> bool {
        debug_assert!(datatype.layout().is_contiguous());
        let Some(basic) = datatype.element() else { return false };
        let Some(near) = self.near_at_once(window, target, displacement, input.len()) else { return false };
        if width_of(basic) != Some(input.len()) {
            return window.combine_at_once(input, basic, (target, near), op);
        }
        let Some(act) = act_of(op, basic).filter(|_| op != Builtin::NoOp) else { return false };
        self.change_at_once(window, basic, (target, near), act, word_of(input)).is_some()
    }

    /// The same for one element; `fetched` gets what the target had before.
    #[inline(always)]
    pub fn fetch_and_op_at_once(
        &self,
        window: &Window,
        (input, fetched): (&[u8], &mut [u8]),
        datatype: &Datatype,
        (target, displacement): (u32, i64),
        op: Builtin,
    ) -> bool {
        let Some(basic) = datatype.element() else { return false };
        let Some(act) = act_of(op, basic) else { return false };
        let Some(near) = self.near_at_once(window, target, displacement, input.len()) else { return false };
        let before = self.change_at_once(window, basic, (target, near), act, word_of(input));
        before.inspect(|before| write_word(*before, fetched)).is_some()
    }

    /// Replaces one element by another if it is what is expected; `fetched` gets what it was.
    #[inline(always)]
    pub fn compare_and_swap_at_once(
        &self,
        window: &Window,
        (desired, expected, fetched): (&[u8], &[u8], &mut [u8]),
        datatype: &Datatype,
        (target, displacement): (u32, i64),
    ) -> bool {
        let Some(basic) = datatype.element().filter(|basic| is_comparable(*basic)) else { return false };
        let Some(near) = self.near_at_once(window, target, displacement, desired.len()) else { return false };
        let act = Act::ReplaceIf(word_of(expected));
        let before = self.change_at_once(window, basic, (target, near), act, word_of(desired));
        before.inspect(|before| write_word(*before, fetched)).is_some()
    }

    /// Where bytes of a target lie, if it may be accessed, they are in the window and near, and nobody watches.
    #[inline(always)]
    fn near_at_once(&self, window: &Window, target: u32, displacement: i64, bytes: usize) -> Option<Near> {
        let target = window.targets.get(target as usize)?;
        let may_be = window.epochs.allows(&target.open) && !self.lane.is_watched();
        if may_be { target.near(displacement, bytes as u64) } else { None }
    }

    /// Changes an element that is a word by an atomic operation; returns what it was.
    #[inline(always)]
    fn change_at_once(
        &self,
        window: &Window,
        basic: Basic,
        (target, near): (u32, Near),
        act: Act<'_>,
        operand: u64,
    ) -> Option<u64> {
        let width = width_of(basic).filter(|width| window.by_words && near.is_aligned(*width))?;
        let _busy = window.announce(target)?;
        Some(near.change(width, act, operand))
    }
}

impl Window {
    /// Combines more than a few words, or what is no word, under the lock.
    #[inline(never)]
    fn combine_at_once(&self, input: &[u8], basic: Basic, (target, near): (u32, Near), op: Builtin) -> bool {
        let Some(what) = What::of(op, basic) else { return false };
        if input.is_empty() || input.len() > PIECE || op == Builtin::NoOp {
            return false;
        }
        let are_words = what.width().is_some();
        if are_words && self.by_words && input.len() as u64 <= self.few() {
            return false;
        }
        let Some(_alone) = self.alone_at_once(target, are_words) else { return false };
        self.stored.set(true);
        // Elements without gaps are what the kernel takes.
        near.with_bytes(input.len(), |bytes| (what.kernel())(input, bytes));
        true
    }
}

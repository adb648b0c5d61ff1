//! The trace hash: everything that happened, folded into one number.
//!
//! Multiply and rotate, a few instructions an event. It tells runs apart; it does not withstand somebody who wants two to collide.

use super::motion::Due;
use crate::Time;

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

pub(super) struct Trace(u64);

impl Trace {
    pub(super) fn new() -> Self {
        Self(FACTOR)
    }

    #[inline]
    pub(super) fn fold(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }

    #[inline]
    pub(super) fn event(&mut self, time: Time, order: u64, due: Due) {
        self.fold(time);
        self.fold(order ^ due.bits().rotate_left(17));
    }

    pub(super) fn hash(&self) -> u64 {
        (self.0 ^ self.0 >> 32).wrapping_mul(FACTOR)
    }
}

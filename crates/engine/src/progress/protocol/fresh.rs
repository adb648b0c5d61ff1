//! Letters instead of an offer, for data that its receiver would read slowly.
//!
//! What a rank has just written lies in the cache of its core alone. Another core that reads it by a call of the system waits for line after line, and where two
//! ranks read from each other at the same time that takes longer than the two copies of letters, which both cores make at once. Only who reads can see it, so it takes
//! the time, and its DONE says whether it was long. After two that were, the next messages to it travel eagerly, up to `fresh_max` bytes, and after some of them two are
//! offered again, to see whether it is still so. One would not do: after letters the receiver's cache has nothing of the sender's memory, whether or not somebody writes there.
//!
//! Cost: two looks at the clock a message that is read, and two slow ones among many.

use fabric::{Fabric, Node};

use crate::progress::core::Core;
use crate::progress::tables::portions::Pace;

/// So many messages go in letters before others are offered again.
const LETTERS: u32 = 64;

/// Nanoseconds that a call of the system may take, and a KiB that it copies. Data in both caches takes some 70 a KiB, letters some 120, and fresh data 250 to 500.
const CALL: u64 = 1000;
const KIB: u64 = 150;

/// A look at the clock before memory is read, if it matters how long that takes.
#[derive(Clone, Copy)]
pub(super) struct Reading(Option<u64>);

impl Reading {
    /// So many bytes have been read.
    pub fn pace(self, fabric: &dyn Fabric, bytes: u64) -> Pace {
        match self.0 {
            None => Pace::Untimed,
            Some(begun) if fabric.now().saturating_sub(begun) > CALL + bytes / 1024 * KIB => Pace::Slow,
            Some(_) => Pace::Quick,
        }
    }
}

impl Core {
    /// The data of a message of this length is about to be read.
    pub(super) fn reads(&self, fabric: &dyn Fabric, length: u64) -> Reading {
        Reading((length < self.choice.fresh_below).then(|| fabric.now()))
    }

    /// A peer has read memory of this rank, at the pace that its DONE tells.
    pub(super) fn was_read(&mut self, by: Node, pace: u64) {
        let peer = self.peers.at(by);
        if pace == Pace::Slow as u64 {
            if peer.was_slow {
                peer.fresh = LETTERS;
            }
            peer.was_slow = !peer.was_slow;
        } else if pace == Pace::Quick as u64 {
            peer.was_slow = false;
        }
    }

    /// Counts a message of this length that is too long to be eager: true if it goes in letters all the same.
    #[inline]
    pub(super) fn takes_letters(&mut self, to: Node, length: u64) -> bool {
        if length >= self.choice.fresh_below {
            return false;
        }
        let peer = self.peers.at(to);
        if peer.fresh == 0 {
            return false;
        }
        peer.fresh -= 1;
        peer.one_way = 0;
        true
    }
}

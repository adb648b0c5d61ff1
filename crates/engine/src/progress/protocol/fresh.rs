//! Letters instead of an offer, for data that lies in its sender's cache.
//!
//! What a rank has just written is in the cache of its core alone. Another core that reads it by a call of the system waits for line after line, and the rank that writes the next message there has to
//! take the lines back. Letters are two copies, but both cores make them at once, and what the program writes and reads stays with the core that does. Where nobody touches
//! what is sent, as in benchmarks, one copy is quicker. Which of both a program is like is found out by trying ([`Trials`](crate::progress::tables::trials)).
//!
//! Cost: a look at the clock for each message, and a few that go the slower way.

use fabric::{Fabric, Node};

use crate::progress::core::Core;
use crate::values::trial::Copies;

impl Core {
    /// Counts a message of this length that is too long to be eager: true if it goes in letters all the same.
    #[inline]
    pub(super) fn takes_letters(&mut self, fabric: &dyn Fabric, to: Node, length: u64) -> bool {
        if length >= self.choice.fresh_below {
            return false;
        }
        let peer = self.peers.at(to);
        let seen = peer.seen + u64::from(self.long_seen);
        let way = peer.trials.way(fabric.now(), seen, length, self.choice.fresh_below - 1);
        if way == Copies::Two {
            peer.goes_in_letters();
        }
        way == Copies::Two
    }

    /// True if the last message of about this length went in letters, as far as is known: then the next one probably does, and no announcement concerns it.
    pub fn liked_letters(&mut self, to: Node, length: u64) -> bool {
        length < self.choice.fresh_below && self.peers.at(to).trials.last_way(length) == Copies::Two
    }

    /// A message that is too long to be eager has come this way, or has been offered.
    pub(super) fn long_arrived(&mut self, fabric: &dyn Fabric, from: Node, length: u64, way: Copies) {
        if length >= self.choice.fresh_below || length < self.choice.eager_below {
            return;
        }
        self.long_seen = self.long_seen.wrapping_add(1);
        if from.0 < fabric.me().0 {
            self.peers.at(from).trials.follow(length, way);
        }
    }
}

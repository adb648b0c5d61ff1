//! How much there is of what a rank keeps: numbers that its tables tell without counting anything for it.

use fabric::Node;

use crate::rank::Rank;
use crate::values::choice::Choice;
use crate::values::tuning::Tuning;

/// How much there is, at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Levels {
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that have come.
    pub received: u64,
    /// Those of them that came before their receives.
    pub early: u64,
    /// Those that still wait for them.
    pub unexpected: u64,
    /// Receives that wait for a message.
    pub posted: u64,
    /// Operations that are not done, or whose end nobody has asked for.
    pub requests: u64,
    /// Peers whose mailbox is full.
    pub blocked: u64,
    /// Bytes of memory that the budget has lent.
    pub memory: u64,
}

/// Together, for the lanes of a process. Memory is counted once: all have one budget.
impl core::ops::Add for Levels {
    type Output = Levels;

    fn add(self, other: Levels) -> Levels {
        Levels {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            early: self.early + other.early,
            unexpected: self.unexpected + other.unexpected,
            posted: self.posted + other.posted,
            requests: self.requests + other.requests,
            blocked: self.blocked + other.blocked,
            memory: self.memory.max(other.memory),
        }
    }
}

impl Rank {
    /// How much there is of everything, in this lane.
    pub fn levels(&self) -> Levels {
        let core = self.lane.core.borrow();
        let peers = (0..core.peers.len()).filter_map(|node| core.peers.get(Node(node)));
        let (sent, received) = peers.fold((0, 0), |(sent, seen), peer| (sent + peer.sent, seen + peer.seen));
        Levels {
            sent,
            received,
            early: core.early,
            unexpected: core.messages.len() as u64,
            posted: core.posted.len() as u64,
            requests: core.requests.len() as u64,
            blocked: core.blocked.len() as u64,
            memory: self.fabric().budget().used() as u64,
        }
    }

    /// Messages that this lane has sent to a peer, and that have come from there.
    pub fn exchanged(&self, peer: Node) -> (u64, u64) {
        self.lane.core.borrow().peers.get(peer).map_or((0, 0), |peer| (peer.sent, peer.seen))
    }

    /// Changes the tunable numbers, for what begins from now on. All ranks of a job must have the same.
    pub fn retune(&self, tuning: Tuning) {
        let core = &mut *self.lane.core.borrow_mut();
        core.choice = Choice::new(&tuning, self.fabric().caps());
        core.tuning = tuning;
    }

    /// The algorithm that a collective prefers, if any.
    pub fn preferred_algorithm(&self, collective: &'static str) -> Option<&'static str> {
        self.lane.schedules.preferred(collective)
    }
}

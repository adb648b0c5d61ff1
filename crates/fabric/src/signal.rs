//! Counters that any node may raise at another, the *sync* of the seeds; and words that two nodes may race for.

use crate::{Lost, Node};

/// How many lanes every node has.
pub const LANES: usize = 4;

/// One of a node's [`LANES`] counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane(pub u8);

/// All-to-one and one-to-all notification, from which barriers are built. Every node owns [`LANES`] counters that start at
/// zero and only grow; the nodes of its cluster, and all others that have a [route](crate::Route::signals) for signals to it, may raise them, only the
/// owner reads them.
pub trait Signal {
    /// Adds one to counter `lane` of `to`. Never blocks; what this node wrote before, `to` sees after it has
    /// read the raised counter. Wakes `to` if it is parked. May be called inside the sink of `poll`. Says so if `to` is known to be gone:
    /// then nobody reads the counter any more. Only where [`Route::signals`](crate::Route::signals) holds; elsewhere it may panic.
    fn raise(&self, to: Node, lane: Lane) -> Result<(), Lost>;

    /// How often counter `lane` of this node has been raised. Never blocks. A raise that this call has not yet reported
    /// keeps [`Park::park`](crate::Park::park) from sleeping.
    fn raised(&self, lane: Lane) -> u64;

    /// The barrier that the machine itself has for the nodes of this node's cluster; `None` where there is none, as by default.
    fn cluster_barrier(&self) -> Option<&dyn MachineBarrier> {
        None
    }

    /// The barrier that the machine itself has for all nodes of the job, but an I/O rank; `None` where there is none, as by default.
    fn world_barrier(&self) -> Option<&dyn MachineBarrier> {
        None
    }

    /// Opens a word of this node, which it and a peer may then claim: so one of the two can take back what it has told the other
    /// without asking, if the other has not begun to use it. False where there is no such word, as by default everywhere: then
    /// claims of this name always succeed, and must not be relied on.
    ///
    /// A name is the word's number in the lower half and a round, not 0, in the upper; it is opened at most once, after whatever used the number before
    /// is over on this node. The peer learns it by a letter that is sent afterwards. **Blocks:** never. May be called inside the sink of `poll`.
    fn open(&self, name: u64) -> bool {
        let _ = name;
        false
    }

    /// Claims a word of `owner`: true for the first of all who claim this name, false for the others, and for everybody once its
    /// number was opened under another name. **Blocks:** never. May be called inside the sink of `poll`.
    fn claim(&self, owner: Node, name: u64) -> bool {
        let _ = (owner, name);
        true
    }

    /// True if nobody has claimed this name yet. **Blocks:** never.
    fn is_open(&self, owner: Node, name: u64) -> bool {
        let _ = (owner, name);
        true
    }
}

/// A barrier in hardware, of all nodes of a cluster or of the job.
pub trait MachineBarrier {
    /// This node is there: the number of the meeting, from 1 on. Never blocks. A node arrives again only after it has passed.
    fn arrive(&self) -> u64;

    /// True once all its nodes have arrived at this meeting; what they wrote before, this node sees then. The last arrival wakes those that
    /// sleep, or keeps them from falling asleep until they have asked. Never blocks.
    fn passed(&self, meeting: u64) -> bool;
}

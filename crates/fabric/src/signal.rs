//! Counters that any node may raise at another: the *sync* of the seeds.

use crate::Node;

/// How many lanes every node has.
pub const LANES: usize = 4;

/// One of a node's [`LANES`] counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane(pub u8);

/// All-to-one and one-to-all notification, from which barriers are built. Every node owns [`LANES`] counters that start at
/// zero and only grow; all nodes may raise them, only the owner reads them.
pub trait Signal {
    /// Adds one to counter `lane` of `to`. Never blocks, never fails; what this node wrote before, `to` sees after it has
    /// read the raised counter. Wakes `to` if it is parked. May be called inside the sink of `poll`.
    fn raise(&self, to: Node, lane: Lane);

    /// How often counter `lane` of this node has been raised. Never blocks. A raise that this call has not yet reported
    /// keeps [`Park::park`](crate::Park::park) from sleeping.
    fn raised(&self, lane: Lane) -> u64;
}

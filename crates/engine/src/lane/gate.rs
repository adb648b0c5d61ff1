//! How threads take turns at a lane.

use fabric::{Fabric, Idle, Woke};

/// Lets one thread of a process at a time use a lane, and others while that one waits. The lock itself is the caller's: whoever calls a method of
/// the rank is inside. Below MPI_THREAD_MULTIPLE there is none.
pub trait Gate {
    /// One round of a wait of the thread that is inside: as [`Park::park`](fabric::Park::park), but others may come in meanwhile. It is inside again when
    /// this returns.
    fn park(&self, fabric: &dyn Fabric, rounds: u32, idle: Idle) -> Woke;

    /// Something has come that another thread may wait for. Called by the thread that is inside.
    fn stir(&self);
}

//! What a chip must offer for Corelace to run on it.
//!
//! A fabric connects the *nodes* of one job: a node is the end-point of one rank. The names come from the manycore
//! systems that Corelace grew out of (mailbox, portal, sync); a new chip implements the six traits below and passes the
//! conformance suite in `fabric-test`.
//!
//! | trait | what it is for | seeds |
//! | --- | --- | --- |
//! | [`Mailbox`] | small letters, order kept per sender | mailbox, control network |
//! | [`Portal`] | bulk data between a local buffer and an exposed remote one; atomics | portal, DMA engine |
//! | [`Signal`] | counters that any node may raise at another: all-to-one, one-to-all; words that two may race for | sync |
//! | [`Clock`] | the only source of time | |
//! | [`Park`] | the only way to wait | |
//! | [`Memory`] | a byte budget; memory that the ranks of a machine share | scratchpad, global memory |
//!
//! [`Fabric`] unites them with the node's place in the job, its [`Caps`] and its [`Route`]s. The traits are object safe: the engine holds
//! a `Box<dyn Fabric>`, and middleware (tracing, fault injection, routing between two fabrics) wraps any of them.
//!
//! # Rules that hold for every method
//!
//! * A fabric value belongs to **one rank** and is used by one thread of control at a time; it need not be [`Send`] while
//!   in use. Nothing in it is shared with other ranks except through the backend's own atomics.
//! * No method is called from inside a callback of the same fabric value unless its documentation says so.
//! * No method blocks, except those of [`Park`] that give the core away, and [`VirtualTime::work`].
//! * No method fails by panicking on anything a peer can cause: a letter that a peer has spoilt is handed out as [`DAMAGED`]. Breaking a
//!   documented precondition may panic.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;

use alloc::boxed::Box;

mod atomic;
mod budget;
mod caps;
mod mailbox;
mod multicast;
mod park;
mod portal;
mod region;
mod route;
mod shape;
mod signal;
mod table;
mod virtual_time;

pub use atomic::{Atomic, AtomicOp, Atomics, Width, Word};
pub use budget::{Budget, BudgetExceeded, Holder, Memory};
pub use caps::Caps;
pub use mailbox::{DAMAGED, HEADER_BYTES, Header, Lost, Mailbox, NO_NODE, Next, PortStep, PostError};
pub use multicast::{Landing, Multicast, MulticastLaws};
pub use park::{Alarm, Armed, Clock, Idle, Park, Woke};
pub use portal::{Delivery, Mover, Portal, PortalError, Ticket};
pub use region::{Audience, Key, MemoryKind, Region, Shared};
pub use route::{CostLaw, Route, Thresholds};
pub use shape::Shape;
pub use signal::{LANES, Lane, MachineBarrier, Signal};
pub use table::PeerTable;
pub use virtual_time::{VirtualTime, Worked};

/// The end-point of one rank in a fabric: a handle of its table of nodes, below [`Fabric::nodes`] and the same on every node for as long as the job
/// runs. Handles are given in order and never again, so a table by node ([`PeerTable`]) may grow but need not forget.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Node(pub u32);

/// One node's end of the fabric: everything that the engine asks of the machine.
pub trait Fabric: Mailbox + Portal + Signal + Clock + Park + Memory {
    /// This node.
    fn me(&self) -> Node;

    /// How many nodes the job has; they are numbered from zero. May grow while the job runs, where nodes can join it, and never shrinks: who keeps
    /// something by node grows with those that it talks to. No fabric lets nodes join yet.
    fn nodes(&self) -> u32;

    /// What this fabric can do. Constant for the life of the value. The engine decides by capabilities, never by the
    /// backend's name.
    fn caps(&self) -> &Caps;

    /// How `peer`, which may be this node itself, is reached. A look-up in a small table: cheap enough to ask for each rendezvous, and the
    /// layer above keeps what short messages need. The first call for a peer may probe it with a real transfer; from then on the answer is
    /// the same, for as long as the peer lives.
    fn route(&self, peer: Node) -> &Route;

    /// The network's own multicast, where it has one; most have not.
    fn multicast(&self) -> Option<&dyn Multicast> {
        None
    }

    /// Another end of this node, for another thread: its lane `number`, from 1 on, which reaches the same lane of those peers that have opened it. Once for each; this
    /// end stays lane 0. `None` if the fabric has no such lane, as most have not.
    ///
    /// Once a lane was opened, [`arm`](Park::arm) at any of the ends announces the sleep of the thread that then sleeps at one of them.
    fn open_lane(&self, _number: u32) -> Option<Box<dyn Fabric>> {
        None
    }
}

//! MPI semantics over any fabric.
//!
//! One [`Rank`] is one MPI process: it owns its end of the fabric and all state. It is used by one thread of control at a
//! time, through `&Rank`; many ranks may live in one operating-system process. The engine names no backend and touches no
//! operating system: time, waiting, memory and transport come through [`fabric`].
//!
//! # Layers, bottom up
//!
//! * [`memory`]: the one room with unsafe code: user buffers as typed values.
//! * [`datatype`]: basic types, layouts, pack and unpack.
//! * [`group`], [`comm`]: who talks to whom, in which context.
//! * `envelope`: what the letters say. `matching`: which receive gets which message.
//! * `request`: operations in flight. `protocol`: eager, lazy, and the rendezvous protocols; `choice`: which of them carries a
//!   message.
//! * `p2p`, `complete`, `probe`, `buffered`, `persistent`, `cancel`: the point-to-point operations of MPI chapter 3, as
//!   methods of [`Rank`].
//! * `waits`: what a rank waits for, for those who ask. `observe`: the hooks for traces and live displays.
//! * `compute`: declared work on a simulated chip. `raw`: mailbox and portal without matching.
//! * [`op`]: reductions. `schedule`: what a collective does, as steps that blocking, non-blocking and persistent forms run.
//!   `coll`: the algorithms, and the tables that choose between them (chapter 6). `comm_create`: agreeing on contexts (chapter 7).
//!
//! Errors are values ([`Error`]); MPI's integer codes and error handlers exist only in the C library.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

#[cfg(test)]
extern crate std;

mod buffered;
mod cancel;
mod choice;
mod coll;
pub mod comm;
mod comm_create;
mod complete;
mod compute;
mod core;
pub mod datatype;
mod direct;
mod envelope;
mod error;
pub mod group;
mod ids;
mod leftovers;
mod matching;
#[allow(unsafe_code)]
pub mod memory;
mod observe;
pub mod op;
mod p2p;
mod partitioned;
mod peers;
mod persistent;
mod poison;
mod probe;
mod protocol;
mod rank;
mod raw;
mod request;
mod schedule;
mod slab;
mod topo_create;
pub mod topology;
mod tuning;
mod waits;

pub use coll::Plan;
pub use comm::{Comm, Comparison};
pub use complete::{Found, State};
pub use datatype::Datatype;
pub use error::{Error, Result};
pub use group::{Group, GroupComparison};
pub use ids::{ContextId, Dest, Source, Tag, TagMatch};
pub use leftovers::Leftover;
pub use memory::{RecvBuffer, RecvParts, SendBuffer, SendParts};
pub use observe::{Carried, MessageNumber, Observer, PostNumber, Transit, Wanted};
pub use op::{Builtin, Op, UserFunction};
pub use p2p::Mode;
pub use probe::{Message, MessageId};
pub use rank::Rank;
pub use request::{RequestId, Status};
pub use topo_create::Edge;
pub use tuning::{Protocol, Tuning};
pub use waits::{Collective, LISTED, Listed, Lookout, Operation, OperationKind, Statement, Wait};

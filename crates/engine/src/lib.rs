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

mod coll;
mod lane;
mod progress;
mod rank;
mod schedule;
mod values;

pub use coll::Plan;
pub use lane::complete::{Found, State};
pub use lane::waits::{Collective, LISTED, Listed, Lookout, Operation, OperationKind, Statement, Wait};
pub use progress::observe::{Carried, MessageNumber, Observer, PostNumber, Transit, Wanted};
pub use progress::request::{RequestId, Status};
pub use rank::Rank;
pub use rank::buffered::Holder;
pub use rank::comm_create::Bridge;
pub use rank::leftovers::Leftover;
pub use rank::p2p::Mode;
pub use rank::probe::{Message, MessageId};
pub use rank::topo_create::Edge;
pub use values::comm::{Comm, Comparison};
pub use values::datatype::Datatype;
pub use values::error::{Error, Result};
pub use values::group::{Group, GroupComparison};
pub use values::ids::{ContextId, Dest, Root, Source, Tag, TagMatch};
pub use values::memory::{RecvBuffer, RecvParts, SendBuffer, SendParts};
pub use values::op::{Builtin, Op, UserFunction};
pub use values::tuning::{Protocol, Tuning};
pub use values::{comm, datatype, group, memory, op, topology};

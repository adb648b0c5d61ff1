//! MPI semantics over any fabric.
//!
//! One [`Rank`] is one MPI process: it owns its end of the fabric and all state. It is used by one thread of control at a
//! time, through `&Rank`; many ranks may live in one operating-system process. The engine names no backend and touches no
//! operating system: time, waiting, memory and transport come through [`fabric`].
//!
//! # Floors, bottom up
//!
//! * `values`: what everything above speaks of, without a rank's state: [`datatype`], [`memory`] (which, with `shared`, is all that has unsafe code), [`op`],
//!   [`group`], [`comm`], [`topology`], ids, errors, envelopes.
//! * `schedule`: what a collective does, as steps. `coll`: the algorithms that write them, and the tables that choose between them (MPI chapter 6).
//! * `progress`: the state that no user code runs under: its tables, and the protocols that letters drive. It never waits.
//! * `lane`: one end-point. Progress and waiting, completing requests, running schedules.
//! * `rank`: the methods of [`Rank`], one file a subject: what a program calls.
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

pub use lane::complete::State;
pub use lane::gate::Gate;
pub use lane::services::Service;
pub use lane::statement::{Collective, LISTED, Listed, Lookout, Operation, OperationKind, Statement, Wait};
pub use rank::Rank;
pub use rank::accounts::Holder;
pub use rank::comm_create::{Bridge, Crossing};
pub use rank::complete::Found;
pub use rank::leftovers::Leftover;
pub use rank::levels::Levels;
pub use rank::plan::Plan;
pub use rank::probe::{Message, MessageId};
pub use rank::sets::{Division, ProcessSet};
pub use rank::topo_create::Edge;
pub use rank::window::{Aim, Backing, Window};
pub use values::bounds::{Bound, Bounds, Named};
pub use values::comm::{Comm, Comparison};
pub use values::counted_work::CountedWork;
pub use values::datatype::Datatype;
pub use values::error::{Error, Outside, Result};
pub use values::group::{Group, GroupComparison};
pub use values::ids::{ContextId, Dest, Root, Source, Tag, TagMatch};
pub use values::memory::{Block, Exposed, Lent, RecvBuffer, RecvParts, SendBuffer, SendParts, SharedMemory};
pub use values::mode::Mode;
pub use values::op::{Builtin, Op, Reduction, UserFunction};
pub use values::order::sort_by;
pub use values::request::{List, RequestId, Status};
pub use values::shared::{Counted, KeptCell, Quiet, expect_several_threads};
pub use values::tuning::{Protocol, Tuning};
pub use values::{comm, datatype, group, memory, op, topology};

/// What a rank shows of itself while it runs: the four points that traces and live displays are made from.
pub mod observe {
    pub use crate::progress::tables::watch::{
        Access, Begin, Carried, End, Epoch, EpochKind, Match, Meeting, MessageNumber, Observer, PostNumber,
        Transit, Wait, Wanted,
    };
}

//! The bootstrap protocol between the launcher and the ranks.
//!
//! | piece | direction | form |
//! | --- | --- | --- |
//! | [`Invitation`] | launcher -> rank | environment variables (`CORELACE_*`), descriptors by number |
//! | [`Observation`] | launcher -> rank or host | environment variables, descriptors by number |
//! | [`HostPlan`] | launcher -> host of threads or fibers | one text argument |
//! | [`Message`] | rank or host -> launcher | frames on the control socket |
//! | [`Reply`] | launcher -> rank | a pipe that a [`Request`] names |
//! | inquiry | launcher -> rank or host | a number of four bytes on the same socket; answered by [`Message::Statement`] |
//!
//! Invitations, plans and messages carry [`PROTOCOL`]. A launcher and a library of different versions therefore notice each other and say so,
//! instead of hanging. [`visible`] is how both show foreign text. The invariant of the whole crate: a rank needs nothing but its own environment and inherited
//! descriptors to join a job; no file, no name service, no network.

mod chip;
mod control;
pub mod copies;
mod host;
mod invitation;
mod last_call;
mod message;
mod observation;
mod request;
mod statement;
mod visible;

pub use chip::{ChipStats, HostChip};
pub use control::{Asked, Control, Inbox, InboxError};
pub use host::{HostContext, HostPlan, HostRank, PlanError};
pub use invitation::{ClaimError, Error, Invitation, var};
pub use last_call::{LastCall, sheet};
pub use message::{Crash, DecodeError, MESSAGE_MAX, Message, StackCopy};
pub use observation::{Doing, Line, Observation, TraceFiles};
pub use request::{Program, REQUEST_MAX, Reply, Request};
pub use statement::{Collective, Kind, Operation, STATEMENT_MAX, Statement};
pub use visible::visible;

/// The version of everything in this crate. It changes when an old peer would misunderstand a new one.
pub const PROTOCOL: u32 = 3;

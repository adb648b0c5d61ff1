//! The objects that handles name, and the tables that look them up.
//!
//! A look-up returns a counted reference, never a borrow: a callback that runs during the call may free the handle, and the
//! object then lives until the call is over.
//!
//! Threads: a communicator, its requests and its messages are for threads inside its lane. All other objects are for any, and therefore counted and stored so
//! that threads may: they do not change but for what is locked or atomic, and for names and attributes, which calls without a communicator use,
//! one at a time in the first lane.

mod attributes;
mod comm;
mod datatype;
mod errhandler;
mod file;
mod generalized;
mod group;
mod info;
mod memory;
mod op;
mod partitioned;
mod requests;
mod session;
mod table;
pub(crate) mod tools;
mod window;

pub(crate) use attributes::{Attributes, Carrier, Copy, Delete, Keyvals};
pub(crate) use comm::{Comm, CommRef, Comms};
pub(crate) use datatype::{LOWER_MARK, Origin, Type, Types, UPPER_MARK};
pub(crate) use engine::Group;
pub(crate) use errhandler::{Action, Bearer, Errhandler, Function, FunctionWith, Handlers};
pub(crate) use file::{Conversion, Datarep, Datareps, File, Files, Seen};
pub(crate) use generalized::{Functions, Generalized};
pub(crate) use group::Groups;
pub(crate) use info::{Info, Infos};
pub(crate) use memory::{Memory, Overlap};
pub(crate) use op::{Op, Ops, UserFunction, UserOp};
pub(crate) use partitioned::{Partitioned, Parts};
pub(crate) use requests::{Integers, Requests};
pub(crate) use session::{Session, Sessions};
pub(crate) use table::{Kind, Table, is_sent, lane_of, with_lane, without_lane};
pub(crate) use window::{Window, Windows};

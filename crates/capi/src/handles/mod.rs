//! The objects that handles name, and the tables that look them up.
//!
//! A look-up returns a counted reference, never a borrow: a callback that runs during the call may free the handle, and the
//! object then lives until the call is over.

mod comm;
mod datatype;
mod group;
mod info;
mod op;
mod session;
mod table;

pub(crate) use comm::{Comm, Comms};
pub(crate) use datatype::{LOWER_MARK, Origin, Type, Types, UPPER_MARK};
pub(crate) use engine::Group;
pub(crate) use group::Groups;
pub(crate) use info::{Info, Infos};
pub(crate) use op::{Op, Ops, UserFunction, UserOp};
pub(crate) use session::{Session, Sessions};
pub(crate) use table::{Kind, Table};

//! What every collective uses.

pub(super) use crate::coll::select::{Rule, choose};
pub(super) use crate::schedule::{Builder, Steps, Workshop};
pub(super) use crate::values::bounds::Bound;
pub(super) use crate::values::comm::Comm;
pub(super) use crate::values::error::{Error, Result};
pub(super) use crate::values::ids::Root;
pub(super) use crate::values::memory::{RecvBuffer, RecvParts, Region, SendBuffer, SendParts};
pub(super) use crate::values::op::Op;

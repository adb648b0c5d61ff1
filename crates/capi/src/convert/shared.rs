//! The conversions of handles for functions that are not hot: each compiled once and called, not copied into every entry point.
//!
//! What is converted and how it is checked is the same: these only stand before the ones of [`Call`](crate::call::Call).

use std::rc::Rc;

use crate::call::Shared;
use crate::errors::Outcome;
use crate::r#gen::types::*;
use crate::handles::{Comm, Op, Type};

impl Shared {
    /// A communicator.
    #[inline(never)]
    pub(crate) fn comm(&self, name: &'static str, handle: MPI_Comm) -> Outcome<Rc<Comm>> {
        (**self).comm(name, handle)
    }

    /// A datatype.
    #[inline(never)]
    pub(crate) fn datatype(&self, name: &'static str, handle: MPI_Datatype) -> Outcome<Rc<Type>> {
        (**self).datatype(name, handle)
    }

    /// A reduction operation.
    #[inline(never)]
    pub(crate) fn op(&self, name: &'static str, handle: MPI_Op) -> Outcome<Op> {
        (**self).op(name, handle)
    }
}

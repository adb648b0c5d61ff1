//! Errors as values: a [`Fault`] says why a call failed; codes have classes and texts ([`registry`]). MPI section 9.4 and 9.5.

mod fault;
pub(crate) mod registry;

pub(crate) use fault::{Fault, Outcome, Past};

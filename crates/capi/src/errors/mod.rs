//! Errors on their way to the program: a [`Fault`] is raised through an error handler ([`handler`]) and becomes the code
//! that the call returns; codes have classes and texts ([`registry`]). MPI section 9.3 to 9.5.

mod fault;
pub(crate) mod handler;
pub(crate) mod registry;

pub(crate) use fault::{Fault, Outcome};

//! The C interface of Corelace: MPI 5.0 with the standard ABI.
//!
//! A call passes through four rooms:
//!
//! * [`gen`](crate::gen): the 662 entry points `PMPI_X` with their weak aliases `MPI_X`, generated from `spec/`. They name
//!   which conversion each argument needs.
//! * [`convert`]: the conversions and checks, and the one contract that all unsafe code here rests on.
//! * [`imp`]: what a function does, chapter by chapter, in terms of the engine.
//! * [`errors`]: what becomes of a failure.
//!
//! [`current`] finds out which rank calls, [`state`] is all that is known of it, [`handles`] are its objects. Nothing else
//! is kept: many ranks may share a process.

mod agent;
mod attributes;
mod boot;
mod call;
mod check;
mod convert;
mod current;
mod errors;
#[rustfmt::skip]
pub mod r#gen;
mod handles;
mod host;
mod imp;
mod site;
mod state;

//! The C interface of Corelace: MPI 5.0 with the standard ABI.
//!
//! # Floors, bottom up
//!
//! A room names rooms of its own floor and of those below; `cargo test -p xtask` holds that.
//!
//! * `abi`: types and constants, generated from `spec/`.
//! * `errors`: why a call failed, and what error codes mean.
//! * `handles`: the objects that handles name, and the tables that look them up.
//! * `process`: `State` is all that is known of one MPI process, `current` finds out which one calls. Nothing else is kept: many ranks
//!   may share a process.
//! * `check`: looks for misuse, if the user wants it.
//! * `call`: the way from an entry point to the implementation, and from a fault to the error handler.
//! * `convert`: from C arguments to Rust values, and the one contract that all unsafe code here rests on.
//! * `imp`: what a function does, chapter by chapter, in terms of the engine.
//! * `entries`: the 662 entry points `PMPI_X` with their weak aliases `MPI_X`, generated from `spec/`. They name which conversion each
//!   argument needs.

#[rustfmt::skip]
pub mod abi;
mod call;
mod check;
mod convert;
#[rustfmt::skip]
mod entries;
mod errors;
mod handles;
mod imp;
mod process;

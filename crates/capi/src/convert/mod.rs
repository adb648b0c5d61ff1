//! From C arguments to Rust values, checked: the one layer between the entry points and the implementations.
//!
//! # The contract
//!
//! The pointers that these functions take come straight from the C caller, who owes what the MPI standard asks: a non-null
//! pointer to a parameter is the address of a live object (or array of the documented length) of that parameter's type,
//! readable for inputs, writable for outputs, which no other thread touches during the call. Every `unsafe` of the generated
//! entry points and of this module rests on that and on nothing else. Whatever the library can check, it checks: handles,
//! null pointers, counts, ranks, tags.
//!
//! Outputs and arrays become cells: C lets two outputs be the same object, Rust's exclusive references do not.

mod arguments;
mod buffer;
mod memory;
mod shared;
mod status;

pub(crate) use arguments::{RankArg, TagArg, given, optional};
pub(crate) use buffer::{Buf, committed};
pub(crate) use memory::{NumberCell, Numbers, Out, OutNumber, OutString, OutText, Outs};
pub(crate) use shared::NumberArray;
pub(crate) use status::{StatusOut, StatusesOut, Words, empty_status, read_status};

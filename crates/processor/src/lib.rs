//! What this processor does to many bytes at a time: how wide its registers are, how bytes are copied soonest, and what its caches can be told of them.
//!
//! The shared library is put together at a level of optimisation that keeps it small, at which the compiler vectorises no loop, whatever crate it is of; and what the C library
//! takes for a copy is not the quickest on every processor. So who copies much asks here. On a processor that is not known here all of it is what the compiler does.
#![no_std]

#[cfg(test)]
extern crate std;

mod copies;
pub mod hints;
#[cfg(target_arch = "x86_64")]
mod registers;

pub use copies::{copy, copy_across, copy_in_bulk, copy_overlapping, copy_short};
#[cfg(target_arch = "x86_64")]
pub use registers::{Width, width};

//! MPI semantics over any fabric.
#![no_std]
extern crate alloc;

//! The one room with unsafe code: memory that the engine uses while Rust code runs on.
//!
//! The engine asks one thing of a buffer (see [`engine::memory`]): the memory stays valid and is left alone until the
//! operation is complete. Safe code cannot be trusted to wait, and values can be forgotten instead of dropped; so each way
//! of starting an operation here keeps the promise by itself:
//!
//! | way | who keeps the buffer | who makes sure of the completion |
//! | --- | --- | --- |
//! | blocking, in [`flight`], [`collective`], [`reduction`] and [`neighbor`] | the caller's borrow | the function does not return, nor unwind, before |
//! | scoped, in [`scope`] | a borrow that lasts for the scope | the scope does not return, nor unwind, before |
//! | persistent, in [`persistent`] and [`partitioned`] | a borrow that lasts for the scope, lent out between rounds | as scoped |
//! | owned, in [`owned`] | the request; after its end, the process's orphans | nobody need: the memory is only freed after it |
//! | one-sided, in [`window`], [`remote`], [`cells`] and [`far`] | the library, which has allocated it | nobody need: an operation is complete when its call returns |
//!
//! [`datatype`] says which types travel at all, [`elements`] and [`view`] tell the engine where they lie, [`reduce`] lets closures of safe code combine elements; [`serialized`] lets
//! threads take turns.
//!
//! **Invariant:** outside of this module no pointer exists, and nothing can end a borrow that the engine relies on.

mod cells;
pub mod collective;
pub mod datatype;
pub mod elements;
mod far;
pub mod flight;
pub mod neighbor;
pub mod owned;
pub mod partitioned;
pub mod persistent;
pub mod process;
pub mod reduce;
pub mod reduction;
pub mod remote;
pub mod scope;
pub mod serialized;
pub mod view;
pub mod window;

pub use datatype::{Data, Datatype, Shape};
pub use elements::{Buffer, BufferMut};
pub(crate) use process::Process;

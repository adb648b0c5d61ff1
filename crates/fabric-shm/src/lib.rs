//! Ranks as processes of one machine.
//!
//! The ranks map one memfd segment that the launcher made and passed by descriptor: nothing has a name, so nothing can be
//! left behind. Letters and signals go through the [exchange](ring::exchange) in it; bulk data is copied once, from process
//! to process, by the kernel (*cross memory attach*, `process_vm_readv`).
//!
//! | module | subject |
//! | --- | --- |
//! | [`segment`] | the memfd, what its first pages say, who has joined |
//! | [`shm`] | [`ShmFabric`]: the traits |
//! | `cma` | puts and gets between address spaces |
//! | `together` | several of them by one call |
//! | `heap` | memory that ranks share: allocated by one, mapped by all |
//! | `tuning` | every number that was measured rather than derived |
//!
//! **Invariant:** a message of up to [`tuning::EAGER_MAX`] bytes between ranks that are awake makes no system call, takes no
//! lock and allocates nothing.
#![warn(missing_docs)]

mod cma;
mod heap;
pub mod segment;
pub mod shm;
mod together;
pub mod tuning;

pub use cma::allowed as attach_allowed;
pub use ring::patience::Manner;
pub use segment::{create_segment, segment_length};
pub use shm::{Options, ShmFabric};

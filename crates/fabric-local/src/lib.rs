//! Ranks in one address space: OS threads, or fibers spread over a few threads.
//!
//! [`run_threads`] and [`run_fibers`] start the ranks of a job, give each a [`LocalFabric`], and return when all have ended.
//! Letters and signals go through the same [exchange](ring::exchange) as between processes, in anonymous memory; bulk data is
//! a plain copy.
//!
//! | module | subject |
//! | --- | --- |
//! | [`job`] | options, hooks, outcomes |
//! | [`local`] | [`LocalFabric`]: the traits |
//! | `threads` | ranks as threads |
//! | `fibers` | ranks as fibers: the workers and their scheduling |
//! | [`switch`] | from one stack to another |
//! | [`stack`] | the stacks of ranks, and whose an address is |
//! | [`state`] | what a thread keeps for the rank that it runs |
//! | `crew` | what the workers share: who is parked where, and how a post wakes a fiber |
//! | `idlers` | sleeping threads, and noticing that all of them sleep for ever |
//! | `summons` | making ranks look up from outside of the job |
//! | `tuning` | every number that was measured rather than derived |
//!
//! **Invariant:** a rank's fabric is used by the thread that runs the rank. Fibers never move between workers, so thread-local
//! state of the program stays right.
#![warn(missing_docs)]

mod crew;
mod fibers;
mod idlers;
pub mod job;
pub mod local;
pub mod stack;
pub mod state;
mod summons;
pub mod switch;
mod threads;
pub mod tuning;

pub use fibers::run_fibers;
pub use job::{Hooks, NoHooks, Options, Outcome, Stall};
pub use local::LocalFabric;
pub use stack::{Stacks, rank_of_stack_address};
pub use state::ThreadState;
pub use summons::Summons;
pub use threads::run_threads;

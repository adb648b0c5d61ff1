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
//! | `inbox` | which parked fiber is woken by whom, across threads |
//! | `slices` | the end of a long turn |
//! | `idlers` | sleeping threads, and noticing that all of them sleep for ever |
//! | `summons` | making ranks look up from outside of the job |
//! | `lock` | a lock that the thread sanitizer understands |
//! | `tuning` | every number that was measured rather than derived |
//!
//! `RUSTFLAGS="--cfg loom"` leaves only what is model-checked: `idlers` and `inbox`, over `modelled` instead of futexes.
//!
//! **Invariant:** a rank's fabric is used by the thread that runs the rank. Fibers never move between workers, so thread-local
//! state of the program stays right.
#![warn(missing_docs)]

#[cfg(not(loom))]
mod cores;
#[cfg(not(loom))]
mod crew;
#[cfg(not(loom))]
mod fibers;
#[cfg(not(loom))]
mod idlers;
#[cfg(loom)]
pub mod idlers;
#[cfg(not(loom))]
mod inbox;
#[cfg(loom)]
pub mod inbox;
#[cfg(not(loom))]
pub mod job;
#[cfg(not(loom))]
pub mod local;
#[cfg(not(loom))]
mod lock;
#[cfg(loom)]
pub mod modelled;
#[cfg(not(loom))]
mod slices;
#[cfg(not(loom))]
pub mod stack;
#[cfg(not(loom))]
pub mod state;
#[cfg(not(loom))]
mod summons;
#[cfg(not(loom))]
pub mod switch;
#[cfg(not(loom))]
mod threads;
#[cfg(not(loom))]
pub mod tuning;

#[cfg(not(loom))]
pub use cores::cores;
#[cfg(not(loom))]
pub use fibers::run_fibers;
#[cfg(not(loom))]
pub use job::{Hooks, NoHooks, Options, Outcome, Stall, no_stacks};
#[cfg(not(loom))]
pub use local::LocalFabric;
#[cfg(not(loom))]
pub use slices::Whole;
#[cfg(not(loom))]
pub use stack::{Stacks, most_mappings, rank_of_stack_address, stack_of_rank};
#[cfg(not(loom))]
pub use state::ThreadState;
#[cfg(not(loom))]
pub use summons::Summons;
#[cfg(not(loom))]
pub use threads::run_threads;

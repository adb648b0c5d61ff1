//! A lane: one end-point of a rank, with its part of the rank's state. It makes progress, waits, completes requests and runs schedules.
//!
//! Here the engine meets the program again: a step of a schedule may call the user's own reduction. No borrow of the state is held meanwhile.

pub(crate) mod asked;
pub(crate) mod board;
mod circle;
pub(crate) mod complete;
mod direct;
mod endpoint;
pub(crate) mod gate;
mod lookout;
mod messages;
mod run;
pub(crate) mod services;
pub(crate) mod signals;
mod spread;
pub(crate) mod statement;
mod wait;

pub(crate) use endpoint::Lane;

//! Schedules: what a collective does, as a list of steps that blocking, non-blocking and persistent forms all run.
//!
//! Messages are started in order and go on side by side; a local step (combine, copy, call) and [`Step::Wait`] wait for all
//! messages that were started before. So a *round* is a run of sends and receives followed by the local steps that use them.
//!
//! Schedules are built by the algorithms in `coll` through a [`Builder`], and run by a lane (`lane::run`): here they are data. A schedule, its step list and its
//! small scratch memory are reused by the next collective: a barrier or a small all-reduction allocates nothing.

mod boarding;
mod builder;
mod call;
mod dealing;
mod home;
mod pool;
mod steps;

pub(crate) use boarding::{Boarding, Stage, Taken};
pub(crate) use builder::Builder;
pub(crate) use call::{Call, Which};
pub(crate) use dealing::Dealing;
pub(crate) use home::Home;
pub(crate) use pool::{Schedules, Workshop};
pub(crate) use steps::{Identity, Next, Pending, Schedule, Spread, Step, Steps, WORD_BYTES};

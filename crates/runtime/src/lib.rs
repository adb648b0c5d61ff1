//! The composition root: picks a fabric, puts an engine on it, and hands out ranks.
//!
//! This is the only room that knows all backends, and the only one that reads the environment.
//!
//! | way in | who uses it | ranks are |
//! | --- | --- | --- |
//! | [`join`] | a program started by `mpirun`, or alone | processes |
//! | [`cluster::run`] | `corelace::run` | threads or fibers of the calling program |
//! | [`chip::run`] | `corelace::run_on` | fibers of the calling program, on a simulated chip |
//! | [`host::run`] | `mpirun --ranks thread` and `fiber`, `mpirun --chip` | copies of a C program in one process |
//!
//! Each gives a [`Job`]: the rank, its place in the job, and the way back to the launcher.

mod answers;
pub mod chip;
pub mod cluster;
pub mod host;
mod job;
mod join;
mod lanes;
pub mod last_call;
pub mod loader;
pub mod module;
pub mod observe;
mod settings;
pub mod surroundings;
mod turnstile;
pub mod variables;

pub use answers::{Origin, Site, Witness};
pub use engine::{Bound, Bounds, Named as NamedBound, Protocol};
pub use job::{Job, Place};
pub use join::{JoinError, give_up, join};
pub use lanes::{Lane, Lanes};
pub use observe::Wish;
pub use settings::{
    BOUNDS_VARIABLE, CHECK_VARIABLE, INITIAL_HANDLER_VARIABLE, InitialHandler, PROTOCOL_VARIABLE, Settings,
    SettingsError, WAIT_VARIABLE, WAITS, is_agent_wanted, is_check_wanted, lanes_wanted,
};
pub use turnstile::{Turnstile, TurnstileGate};

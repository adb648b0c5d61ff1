//! One MPI process: all that is known of it, which one is calling, how it gets into its job and what runs beside the program's own calls.

pub(crate) mod agent;
pub(crate) mod boot;
pub(crate) mod current;
pub(crate) mod facts;
pub(crate) mod host;
mod lanes;
pub(crate) mod site;
mod state;
mod turns;

pub(crate) use lanes::Seat;
pub(crate) use state::{Allocated, Leave, Phase, State, Watch, World};

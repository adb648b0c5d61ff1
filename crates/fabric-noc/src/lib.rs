//! Ranks on a simulated manycore chip, in virtual time.
//!
//! [`run`] starts the ranks of a job as fibers of the calling thread and gives each a [`NocFabric`]. Time is the chip's: a rank's
//! clock moves by what its calls cost and by what it waits for, never by the wall. What one rank does reaches another through
//! the [machine](sim::Machine) only: letters over the control network, transfers over the data network, servers of a place.
//!
//! | module | subject |
//! | --- | --- |
//! | [`job`] | options, reports |
//! | [`placement`] | which rank runs where |
//! | `fibers` | the loop that runs whatever comes first: an event of the machine, or a rank |
//! | `board` | how a rank gives way until it is its turn, and how it waits |
//! | `state` | what ranks and machine share: seats, wake-ups, credits |
//! | `by_place` | what a rank keeps of the places that it has met |
//! | `events` | what the machine's events mean for ranks |
//! | `cargo` | what is under way in the machine |
//! | `noc` | [`NocFabric`]: mailbox, signal, clock, park, memory |
//! | `portal` | [`NocFabric`]: the portal |
//! | `multicast` | [`NocFabric`]: letters, signals and puts to several clusters at once |
//! | `names` | the name service of the software that has one |
//! | `caps` | the capabilities of a chip |
//! | `survey` | what a trace shows of the chip, window by window |
//! | `regions` | memory that an adapter knows, and its shadow at the host |
//! | `scratchpad` | one byte account a place |
//!
//! **Invariant:** a rank observes others, or does what others can observe, only when every event and every rank that is
//! earlier in virtual time has been handled; ties go to the machine, then to the lower rank. So two runs are the same run.
#![warn(missing_docs)]

mod barrier;
mod board;
mod by_place;
mod caps;
mod cargo;
mod events;
mod fibers;
pub mod job;
mod kinds;
mod multicast;
mod names;
mod noc;
pub mod placement;
mod portal;
mod ports;
mod regions;
mod scratchpad;
mod segments;
mod state;
mod survey;

pub use fibers::run;
pub use job::{Footprint, Glance, Memory, Options, Report, RunError, Software, Stats};
pub use noc::NocFabric;
pub use placement::{Map, Placement, PlacementError};
pub use survey::{PlaceSample, Sample};

//! Chips in virtual time: a packet-level discrete-event model of manycore processors with scratchpads and a network on chip.
//!
//! | module | what it knows |
//! | --- | --- |
//! | [`chip`] | the description of a chip: a TOML file becomes a validated [`Chip`], or an error with file, line and reason |
//! | `topology` | positions, links, the one static route between two end points, and the tree from one to several |
//! | `rate` | time a byte or a flit, in fractions of a tick |
//! | `buffers` | finite buffers of routers, where a chip describes them |
//! | `link` | a directed link or interface: reserved first come, first served |
//! | `queue` | the total order of events: time, place, sequence |
//! | `flow` | a transfer on its way: its packets, its credits |
//! | `dma` | an engine of some channels and the transfers that wait for one |
//! | `ddr` | rows and banks of the memory outside the chip, and where a transfer's bytes lie in it |
//! | `server` | first come, first served: resource managers, system cores, memory controllers |
//! | `slots` | numbered things that events refer to |
//! | [`energy`] | what was spent, by part, and the power over time |
//! | [`machine`] | a chip in motion: the event loop |
//! | [`report`] | which links were crowded |
//!
//! It knows nothing of what the bytes mean. Time is an integer, nothing depends on addresses, hashes or wall clocks, so the same
//! calls give the same events, and the same [`Machine::trace_hash`], on every run and every computer.
#![forbid(unsafe_code)]

pub mod chip;
pub mod energy;
pub mod machine;
pub mod report;

mod buffers;
mod ddr;
mod dma;
mod flow;
mod link;
mod queue;
mod rate;
mod server;
mod slots;
mod topology;

pub use chip::{
    Adapter, BUILTIN, Chip, ChipError, Code, Core, FindError, Ipc, IpcCosts, KINDS_OF_WORK, Place, Position,
    Work,
};
pub use ddr::Layout;
pub use energy::{Energy, PowerSample};
pub use link::{LinkUse, Node};
pub use machine::{Event, Machine, Memory, Mover, Transfer};
pub use rate::Rate;
pub use server::{Served, Server};

/// Virtual time, and durations: thousandths of a cycle of the chip's reference clock.
pub type Time = u64;

/// One cycle of the reference clock.
pub const CYCLE: Time = 1000;

//! Ranks on a simulated chip: fibers of the calling thread, in virtual time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{Protocol, Rank};
use fabric::Fabric;
use fabric_local::Hooks;
use fabric_noc::{NocFabric, Options, Placement, RunError, Sample, Software};
use pmi::Control;

pub use fabric_noc::job::Scratchpad;
pub use fabric_noc::{Footprint, Glance, Map, Report, Stats};
pub use sim::Chip;

use crate::job::{Job, Place};
use crate::last_call::Sheet;
use crate::observe::{ChipRecorder, Wish};
use crate::settings::Settings;

/// A job on a chip.
pub struct OnChip<'a> {
    /// The chip.
    pub chip: &'a Chip,
    /// How many ranks, not counting an I/O rank.
    pub ranks: u32,
    /// Which clusters they go to.
    pub map: Map,
    /// Whether one more rank, the last, runs on the first I/O subsystem.
    pub io: bool,
    /// Bytes of stack a rank on the host; 0 for a default. What the chip's memory is charged is in the chip's description.
    pub stack_bytes: usize,
    /// The user's settings.
    pub settings: &'a Settings,
    /// Told whenever a rank's code gains or loses the thread.
    pub hooks: &'a dyn Hooks,
    /// As [`fabric_local::Options::unwind_stalled`]: true for ranks written in Rust, false for programs in C.
    pub unwind_stalled: bool,
    /// What others want to see of the ranks and the chip.
    pub wish: &'a Wish,
    /// The way to the launcher, if there is one.
    pub control: Option<Arc<Control>>,
    /// Index of the program of each rank, by rank (MPI_APPNUM).
    pub appnum: &'a dyn Fn(u32) -> Option<u32>,
    /// What the program of each rank takes of its cluster's memory, by rank.
    pub footprint: &'a dyn Fn(u32) -> Footprint,
    /// Virtual seconds charged for a second of processor time; makes runs differ.
    pub scale: Option<f64>,
    /// As [`Options::summoned`].
    pub summoned: Option<&'a AtomicBool>,
    /// Shown where the run stands, again and again.
    pub watch: Option<&'a dyn Fn(&Glance)>,
}

/// Runs `body` once a rank; what came out, by rank, and what was counted.
pub fn run<T>(on: &OnChip<'_>, body: &dyn Fn(Box<Job>) -> T) -> Result<Report<T>, RunError> {
    let mut options = Options {
        map: on.map,
        io: on.io,
        software: software(on.chip, on.settings.protocol),
        footprint: on.footprint,
        unwind_stalled: on.unwind_stalled,
        scale: on.scale,
        watch: on.watch,
        summoned: on.summoned,
        ..Options::new(on.chip, on.ranks)
    };
    if on.stack_bytes > 0 {
        options.stack_bytes = on.stack_bytes;
    }
    let with_fabric = |fabric: NocFabric| body(job(on, fabric));
    let nodes = on.ranks as usize + usize::from(on.io);
    let recording = on.wish.chip_recording(nodes, on.chip.ticks_per_second());
    let recorder = recording.map(|recording| ChipRecorder::new(recording, on.chip));
    let record = recorder.as_ref().map(|recorder| |sample: &Sample<'_>| recorder.record(sample));
    options.survey = record.as_ref().map(|record| record as &dyn Fn(&Sample<'_>));
    fabric_noc::run(&options, on.hooks, &with_fabric)
}

/// The job of the rank that has this fabric. Its stack is gone before the rank runs: thousands of ranks would each keep the pages.
#[inline(never)]
fn job(on: &OnChip<'_>, fabric: NocFabric) -> Box<Job> {
    let node = fabric.me().0;
    let place = Place {
        rank: node,
        size: on.ranks,
        appnum: (on.appnum)(node),
        cores: on.ranks,
        launcher: None,
        parent: None,
    };
    let tuning = on.settings.tuning(&fabric);
    let fabric: Box<dyn Fabric> = Box::new(fabric);
    let rank = if on.io { Rank::beside_io_rank(fabric, tuning) } else { Rank::new(fabric, tuning) };
    on.settings.prefer(&rank);
    on.wish.observe(&rank, node as usize);
    Box::new(Job::new(rank, place, on.control.clone(), Sheet::private()))
}

/// The place of each rank as an index of the chip's places, the I/O rank last; none if the chip has no room for them.
pub fn places(chip: &Chip, ranks: u32, map: Map, io: bool) -> Vec<u32> {
    let placement = Placement::new(chip, ranks, map, io);
    placement.map_or(Vec::new(), |placement| {
        (0..placement.nodes()).map(|node| placement.place(node).0.into()).collect()
    })
}

/// LWMPI's operating system, in the descriptions of the chips that it runs on.
const NANVIX: &str = "nanvix";

/// LWMPI is software for Nanvix, whose ranks find each other by name; everything else uses what the chip comes with.
fn software(chip: &Chip, protocol: Protocol) -> Software {
    match protocol {
        Protocol::Lwmpi | Protocol::LwmpiUnopt if chip.ipc(NANVIX).is_some() => {
            Software { ipc: NANVIX.into(), name_service: true }
        }
        _ => Software::default_of(chip),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lwmpi_brings_its_own_software() {
        let chip = Chip::builtin("mppa256-nanvix").expect("it ships");
        assert_eq!(software(&chip, Protocol::LwmpiUnopt).ipc, "nanvix");
        let chip = Chip::builtin("mesh16").expect("it ships");
        assert_eq!(software(&chip, Protocol::LwmpiUnopt).ipc, chip.default_ipc, "it has no Nanvix");
        assert_eq!(software(&chip, Protocol::Dma).ipc, chip.default_ipc);
    }
}

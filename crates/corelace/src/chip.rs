//! Jobs on a simulated chip, inside of the calling program.

use std::path::{Path, PathBuf};

use fabric_local::NoHooks;
use runtime::Wish;
use runtime::chip::{self, Chip, Footprint, Map, OnChip};
use runtime::observe::FloorPlan;

use crate::communicator::Communicator;
use crate::job::{Execution, RunError};
use crate::trace::Tracing;

/// Runs `body` on `ranks` ranks of a simulated chip, in virtual time. `chip` is the name of one that ships (see `corelace chips`)
/// or a file that ends in `.toml`.
///
/// The chip's protocols and costs decide how long messages take; code of a rank takes no time, except what it declares with
/// [`Communicator::compute`]. Two runs of the same job give the same figures.
///
/// ```
/// let run = corelace::run_on("mesh16", 16, |world| {
///     world.compute(10_000).unwrap();
///     world.allreduce(&world.rank(), corelace::op::sum()).unwrap()
/// })?;
/// assert_eq!(run.values, [120; 16]);
/// assert!(run.stats.cycles > 10_000 && run.stats.letters > 0);
///
/// let again = corelace::run_on("mesh16", 16, |world| {
///     world.compute(10_000).unwrap();
///     world.allreduce(&world.rank(), corelace::op::sum()).unwrap()
/// })?;
/// assert_eq!(run.stats, again.stats);
/// # Ok::<(), corelace::RunError>(())
/// ```
pub fn run_on<T: Send>(
    chip: &str,
    ranks: usize,
    body: impl Fn(Communicator<'_>) -> T + Sync,
) -> Result<ChipRun<T>, RunError> {
    ChipJob::new(chip, ranks).run(body)
}

/// A job on a simulated chip, with options.
///
/// ```
/// // One rank a cluster, so that every message crosses the network on the chip.
/// let run = corelace::ChipJob::new("mppa256-andey", 2).scatter().run(|world| {
///     if world.rank() == 0 {
///         world.send(&[7u8; 5000][..], 1, 0).unwrap();
///     } else {
///         assert_eq!(world.recv_vec::<u8>(0, 0).unwrap().0, [7; 5000]);
///     }
/// })?;
/// assert_eq!((run.stats.transfers, run.stats.bytes), (1, 5000));
/// # Ok::<(), corelace::RunError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a job does nothing until it is run"]
pub struct ChipJob {
    chip: String,
    ranks: usize,
    map: Map,
    multicast: bool,
    trace: Option<PathBuf>,
}

/// What came out of a run on a chip.
#[derive(Clone, PartialEq, Debug)]
pub struct ChipRun<T> {
    /// What the ranks returned, in their order.
    pub values: Vec<T>,
    /// What was counted.
    pub stats: ChipStats,
}

/// The figures of a run on a chip.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChipStats {
    /// Virtual time from the start to the end of the last rank.
    pub seconds: f64,
    /// The same in cycles of the chip's clock.
    pub cycles: u64,
    /// Letters between clusters.
    pub letters: u64,
    /// Transfers of bulk data between clusters.
    pub transfers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Joules that the chip took.
    pub energy: f64,
    /// Equal for equal runs.
    pub trace_hash: u64,
}

impl ChipJob {
    /// A job of `ranks` ranks; a cluster of the chip is filled before the next one gets a rank.
    pub fn new(chip: &str, ranks: usize) -> ChipJob {
        ChipJob { chip: chip.into(), ranks, map: Map::Compact, multicast: false, trace: None }
    }

    /// Ranks go round the clusters.
    pub fn scatter(mut self) -> ChipJob {
        self.map = Map::Scatter;
        self
    }

    /// Broadcasts and barriers use the multicast of the chip's network, where it has one; otherwise messages, as the published systems do.
    pub fn multicast(mut self) -> ChipJob {
        self.multicast = true;
        self
    }

    /// Records what ranks and chip do into `file` (see [`trace`](crate::trace)).
    pub fn trace(mut self, file: impl AsRef<Path>) -> ChipJob {
        self.trace = Some(file.as_ref().into());
        self
    }

    /// Runs `body` on all ranks.
    pub fn run<T: Send>(&self, body: impl Fn(Communicator<'_>) -> T + Sync) -> Result<ChipRun<T>, RunError> {
        let mut chip = Chip::find(&self.chip).map_err(|error| RunError::chip(error.to_string()))?;
        if !self.multicast {
            chip.leave_multicast();
        }
        let execution = Execution::new(self.ranks, &body)?;
        let tracing = self.trace.as_ref().map(|file| Tracing::begin(file, self.described(&chip)));
        let nothing = Wish::default();
        let job = OnChip {
            chip: &chip,
            ranks: execution.ranks(),
            map: self.map,
            io: false,
            stack_bytes: 0,
            settings: execution.settings(),
            hooks: &NoHooks,
            unwind_stalled: true,
            wish: tracing.as_ref().map_or(&nothing, |tracing| &tracing.wish),
            control: None,
            appnum: &|_| None,
            // A rank's code and globals are those of the calling program, which no chip would hold.
            footprint: &|_| Footprint::default(),
            scale: None,
            watch: None,
            summoned: None,
        };
        let report = chip::run(&job, &|job| execution.rank(*job));
        tracing.map_or(Ok(()), Tracing::end)?;
        let report = report.map_err(|error| RunError::chip(error.to_string()))?;
        let stats = ChipStats {
            seconds: report.stats.seconds(),
            cycles: report.stats.cycles(),
            letters: report.stats.letters,
            transfers: report.stats.transfers,
            bytes: report.stats.bytes,
            energy: report.stats.energy.joules(),
            trace_hash: report.stats.trace_hash,
        };
        let (values, failures) = execution.finish(report.outcomes);
        Ok(ChipRun { values: RunError::judge(self.ranks, values, failures)?, stats })
    }

    /// The job as its trace describes it.
    fn described(&self, chip: &Chip) -> trace::Job {
        let ranks = self.ranks as u32;
        trace::Job {
            ranks,
            mode: "chip".into(),
            ticks_per_second: chip.ticks_per_second(),
            places: chip::places(chip, ranks, self.map, false),
            chip: Some(FloorPlan::of(chip).chip),
            ..trace::Job::default()
        }
    }
}

//! Letting others see what ranks do: recordings for a trace, and the board of a live display.
//!
//! The launcher says by [`pmi::Observation`] what it wants, the calling program of `corelace::run` by a [`Wish`]. Where nobody
//! wants anything a rank gets no observer, and each point at which one would be told is a test of a pointer.

mod board;
mod chip;
mod counter;
mod recorder;

use std::path::PathBuf;

use engine::Rank;
use engine::observe::{Begin, Carried, End, Match, Observer, Transit, Wait};
use fabric::Fabric;
use pmi::{Observation, TraceFiles};
use trace::{CHIP_SHARE, CHIP_STREAM, Recording};

use board::Gauge;
pub(crate) use chip::ChipRecorder;
pub use chip::FloorPlan;
pub use counter::frequency;
use recorder::{Clock, Recorder};

/// Bytes of all recordings of a job that are in memory before its ranks begin.
const PREPARED: u64 = 64 << 20;

/// What is wanted to be seen of the ranks of this process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wish {
    /// Bytes of each recording.
    pub limit: u64,
    /// See [`TraceFiles::counter`].
    pub counter: Option<u64>,
    /// A recording for each rank of this process, in rank order, and one for the chip; none if no trace is wanted.
    pub recordings: Vec<PathBuf>,
    /// The descriptor of the board.
    pub board: Option<i32>,
}

impl Wish {
    /// What the launcher of this process wants.
    pub fn from_process() -> Result<Wish, pmi::Error> {
        let Observation { trace, board, .. } = Observation::from_process()?;
        let TraceFiles { limit, counter, files } =
            trace.unwrap_or(TraceFiles { limit: 0, counter: None, files: Vec::new() });
        // By name, because a recording maps a file that it opens itself.
        let recordings = files.into_iter().map(|file| format!("/proc/self/fd/{file}").into()).collect();
        Ok(Wish { limit, counter, recordings, board })
    }

    /// Puts an observer on a rank, if anything is wanted. `place` is its number among the ranks of this process. What cannot be had
    /// is said, and the rank runs without it.
    pub(crate) fn observe(&self, rank: &Rank, place: usize) {
        let fabric = rank.fabric();
        let number = fabric.me().0;
        let counter = self.counter.filter(|_| fabric.virtual_time().is_none());
        let recorder = self.recordings.get(place).and_then(|path| {
            let frequency = counter.unwrap_or(fabric.caps().ticks_per_second);
            let mut recording = Recording::create(path, number, self.limit, frequency)
                .map_err(|error| eprintln!("corelace: rank {number} is not traced: {error}"))
                .ok()?;
            recording.prepare(PREPARED / u64::from(rank.local().size()));
            Some(recording)
        });
        let clock = match counter {
            Some(_) => Clock::Counter,
            None if fabric.virtual_time().is_some() => Clock::Chip,
            None => Clock::System,
        };
        let recorder = recorder.map(|recording| Recorder::new(recording, number, clock));
        let gauge = self.board.and_then(|board| {
            Gauge::on(board, number)
                .map_err(|error| eprintln!("corelace: rank {number} is not shown by --progress: {error}"))
                .ok()
        });
        match (recorder, gauge) {
            (Some(recorder), Some(gauge)) => rank.observe(Box::new(Both(recorder, gauge))),
            (Some(recorder), None) => rank.observe(Box::new(recorder)),
            (None, Some(gauge)) => rank.observe(Box::new(gauge)),
            (None, None) => {}
        }
    }

    /// The recording of the chip that `ranks` ranks run on, if one is wanted and can be had.
    pub(crate) fn chip_recording(&self, ranks: usize, ticks_per_second: u64) -> Option<Recording> {
        let path = self.recordings.get(ranks)?;
        let recording =
            Recording::create(path, CHIP_STREAM, self.limit.saturating_mul(CHIP_SHARE), ticks_per_second);
        recording.map_err(|error| eprintln!("corelace: the chip is not traced: {error}")).ok()
    }
}

/// A rank that is recorded and shown.
struct Both(Recorder, Gauge);

/// Tells one after the other.
impl Observer for Both {
    fn begins(&mut self, fabric: &dyn Fabric, what: &Begin<'_>) {
        self.0.begins(fabric, what);
        self.1.begins(fabric, what);
    }

    fn matches(&mut self, fabric: &dyn Fabric, what: &Match<'_>) {
        self.0.matches(fabric, what);
        self.1.matches(fabric, what);
    }

    fn ends(&mut self, fabric: &dyn Fabric, what: &End) {
        self.0.ends(fabric, what);
        self.1.ends(fabric, what);
    }

    fn waits(&mut self, fabric: &dyn Fabric, wait: Wait) {
        self.0.waits(fabric, wait);
        self.1.waits(fabric, wait);
    }
}

/// The trace's word for how a message travels.
#[inline]
fn protocol(fabric: &dyn Fabric, me: u32, transit: &Transit) -> trace::Protocol {
    use trace::Protocol;
    match transit.carried {
        _ if transit.peer.0 == me => Protocol::SelfCopy,
        Carried::Eager => Protocol::Eager,
        Carried::EagerPieces | Carried::Streamed => Protocol::EagerPieces,
        Carried::Lazy => Protocol::Lazy,
        Carried::Multicast => Protocol::Multicast,
        Carried::Offered => Protocol::Unknown,
        _ if fabric.route(transit.peer).same_memory => Protocol::Local,
        Carried::Fetched | Carried::Shared => Protocol::RendezvousGet,
        Carried::Granted | Carried::Crossed | Carried::Announced => Protocol::RendezvousPut,
    }
}

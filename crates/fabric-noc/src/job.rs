//! What starts a job on a chip and what comes out of it.

use std::fmt;
use std::sync::atomic::AtomicBool;

use fabric::{BudgetExceeded, Holder};
use fabric_local::Outcome;
use sim::{Chip, Energy, Place, Time};

use crate::placement::{Map, PlacementError};
use crate::survey::Sample;

/// How to run a job.
pub struct Options<'a> {
    /// The chip.
    pub chip: &'a Chip,
    /// How many ranks, not counting an I/O rank.
    pub ranks: u32,
    /// Where they go.
    pub map: Map,
    /// Whether there is an I/O rank, the last node, on the first I/O subsystem.
    pub io: bool,
    /// The communication software of the ranks.
    pub software: Software,
    /// How much memory a place has.
    pub memory: Memory,
    /// What the program of a node takes, by node.
    pub footprint: &'a dyn Fn(u32) -> Footprint,
    /// Bytes of each rank's stack on the host. Mapped lazily, above a guard of at least the same size.
    pub stack_bytes: usize,
    /// As [`fabric_local::Options::unwind_stalled`].
    pub unwind_stalled: bool,
    /// Virtual seconds charged for a second of processor time that a rank spends outside of the fabric. `None`: a rank's own code
    /// takes no time but what it declares. `Some` makes runs differ.
    pub scale: Option<f64>,
    /// Shown where the run stands, every few thousand events.
    pub watch: Option<&'a dyn Fn(&Glance)>,
    /// Set by another thread that wants the ranks that wait to look up ([`fabric::Woke::Glance`]); cleared when they have done so.
    pub summoned: Option<&'a AtomicBool>,
    /// Shown what the chip does, window by window of virtual time.
    pub survey: Option<&'a dyn Fn(&Sample<'_>)>,
}

impl<'a> Options<'a> {
    /// `ranks` ranks on `chip`, everything else by default.
    pub fn new(chip: &'a Chip, ranks: u32) -> Options<'a> {
        Options {
            chip,
            ranks,
            map: Map::default(),
            io: false,
            software: Software::default_of(chip),
            memory: Memory::Chip,
            footprint: &|_| Footprint::default(),
            stack_bytes: 256 << 10,
            unwind_stalled: true,
            scale: None,
            watch: None,
            summoned: None,
            survey: None,
        }
    }
}

/// The software between ranks and hardware: which costs hold, and which habits it has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Software {
    /// The name of the set of costs in the chip's description.
    pub ipc: String,
    /// Ranks are found by name: the first letter of a cluster to a rank of another costs two look-ups.
    pub name_service: bool,
}

impl Software {
    /// What a chip's description uses unless told otherwise.
    pub fn default_of(chip: &Chip) -> Software {
        Software { ipc: chip.default_ipc.clone(), name_service: false }
    }
}

/// How much memory a place has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// What the chip's description says.
    Chip,
    /// So many bytes.
    Bytes(usize),
    /// No limit.
    Unlimited,
}

/// What a program takes of a place's memory before it allocates anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// Which program: ranks of a place that run the same one share its text.
    pub program: u32,
    /// Bytes of code and constants.
    pub text: usize,
    /// Bytes of data, initialised or not, of each rank.
    pub data: usize,
}

/// Where a run stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glance {
    /// Virtual time.
    pub time: Time,
    /// Events handled.
    pub events: u64,
    /// Nodes that have ended.
    pub ended: u32,
    /// Nodes in all.
    pub nodes: u32,
}

/// What came out of a job.
#[derive(Debug)]
pub struct Report<T> {
    /// How each node ended, the I/O rank last.
    pub outcomes: Vec<Outcome<T>>,
    /// What was counted.
    pub stats: Stats,
    /// The memory of each place that had ranks, at its peak.
    pub memory: Vec<Scratchpad>,
    /// What the fabric has to say about a run that went wrong, a sentence each.
    pub complaints: Vec<String>,
}

/// The memory of one place when most of it was in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scratchpad {
    /// The place.
    pub place: Place,
    /// Its bytes.
    pub limit: usize,
    /// Who held what.
    pub holders: Vec<Holder>,
}

/// What was counted in a run.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Virtual time from the start to the end of the last rank.
    pub time: Time,
    /// Ticks of it in a second.
    pub ticks_per_second: u64,
    /// Letters sent between places, those of the name service included.
    pub letters: u64,
    /// Letters sent inside places.
    pub local_letters: u64,
    /// Transfers between places.
    pub transfers: u64,
    /// Bytes of those transfers.
    pub bytes: u64,
    /// Meetings at the machine's own barrier.
    pub barriers: u64,
    /// Where memories are of several kinds: how often the bytes of a put or a get were moved, by cores and by the network.
    pub copies: u64,
    /// Cycles that the ranks have computed by [`work`](fabric::VirtualTime::work).
    pub worked: u64,
    /// Some rank did, if only for no cycle at all.
    pub declared: bool,
    /// Where memory has to be registered: how often it was.
    pub registrations: u64,
    /// How often it had been before.
    pub registered_before: u64,
    /// Regions that made room for others.
    pub evictions: u64,
    /// Bytes that were copied to a shadow before they left.
    pub shadowed: u64,
    /// Calls that system cores have served, but for those that asked in vain.
    pub calls: u64,
    /// Letters of the name service, which are among `letters`.
    pub name_letters: u64,
    /// What it took.
    pub energy: Energy,
    /// The highest mean power of a stretch of time, in microwatts (see [`sim::Machine::power_samples`]).
    pub peak_microwatts: u64,
    /// Equal for equal runs, and only by accident for others.
    pub trace_hash: u64,
    /// Events that were handled.
    pub events: u64,
}

impl Stats {
    /// Cycles of the chip's clock.
    pub fn cycles(&self) -> u64 {
        self.time / sim::CYCLE
    }

    /// Virtual seconds.
    pub fn seconds(&self) -> f64 {
        self.time as f64 / self.ticks_per_second as f64
    }
}

/// Why no rank was started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunError {
    /// The chip has no room for the ranks.
    Placement(PlacementError),
    /// The chip's description has no costs of that name.
    Software {
        /// The name.
        ipc: String,
        /// The chip.
        chip: String,
        /// The names it has.
        known: Vec<String>,
    },
    /// Programs and stacks do not fit into a place.
    Memory {
        /// The place.
        place: Place,
        /// What did not fit.
        exceeded: BudgetExceeded,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Placement(error) => error.fmt(f),
            RunError::Software { ipc, chip, known } => write!(
                f,
                "the chip {chip} has no costs named \"{ipc}\", expected one of: {}",
                known.join(" ")
            ),
            RunError::Memory { place, exceeded } => {
                write!(f, "the ranks do not fit into place {}: {exceeded}", place.0)
            }
        }
    }
}

impl std::error::Error for RunError {}

//! A job put together from its events: calls from enter and leave, messages from both their sides, waits with the message
//! that ended them, and for each rank what it did at every instant.
//!
//! Times are ticks since the first event of the job. Everything here bears incomplete traces (a ring forgets the oldest
//! events, a crash the last ones) and damaged ones: what does not fit is left out.

mod arrivals;
mod collectives;
mod gather;
mod reader;
mod segments;
mod windows;

use std::collections::BTreeMap;

pub use collectives::Collective;
use trace::{AccessKind, Chip, EpochKind, Job, Protocol, ServerKind, Trace};

/// A job.
pub struct Run {
    /// What the trace says about it.
    pub job: Job,
    /// Ticks from the first event to the last.
    pub duration: u64,
    /// Names of functions, call sites and collectives; the first is empty.
    pub names: Vec<String>,
    /// All ranks, by their number.
    pub ranks: Vec<Rank>,
    /// All messages of which any side was recorded.
    pub messages: Vec<Message>,
    /// Communicators with messages or collectives, and their members as `0-3,8` if they are known.
    pub communicators: BTreeMap<u32, String>,
    /// All one-sided operations, by time.
    pub accesses: Vec<Access>,
    /// What the chip did.
    pub chip: Option<ChipRun>,
    /// Events in the trace.
    pub events: u64,
    /// Events that were overwritten.
    pub dropped: u64,
}

/// A rank.
#[derive(Default)]
pub struct Rank {
    /// Its first event.
    pub begin: u64,
    /// Its last event.
    pub end: u64,
    /// Calls in the order in which they began.
    pub calls: Vec<Call>,
    /// Waits, in order, none overlapping another.
    pub waits: Vec<Wait>,
    /// Rounds of collectives.
    pub phases: Vec<Phase>,
    /// Epochs of windows, by their beginnings.
    pub epochs: Vec<Epoch>,
    /// Regions that the program marked, by their beginnings.
    pub regions: Vec<Region>,
    /// What it did from its begin to its end without a gap.
    pub segments: Vec<Segment>,
}

/// A call of an MPI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// When it was entered.
    pub begin: u64,
    /// When it was left.
    pub end: u64,
    /// Index of its name.
    pub function: u32,
    /// Index of its call site's name.
    pub site: u32,
    /// 0 unless another call made this one.
    pub depth: u16,
    /// Bytes of a collective's buffer, or of the messages and one-sided operations of any other call.
    pub bytes: u64,
}

/// A region that the program marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Since when.
    pub begin: u64,
    /// Until when.
    pub end: u64,
    /// Its number.
    pub number: u32,
    /// 0 unless it is within another one.
    pub depth: u16,
}

/// A round of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// When it began.
    pub time: u64,
    /// Index of the algorithm's name.
    pub collective: u32,
    /// Which round.
    pub round: u32,
}

/// A time in which a rank could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Since when.
    pub begin: u64,
    /// Until when.
    pub end: u64,
    /// The call in which it waited: an index into the rank's calls.
    pub call: Option<u32>,
    /// The message that ended it (an index into the run's messages), and the side on which the rank stood.
    pub ended_by: Option<(u32, Side)>,
    /// If no message ended it: the rank that came last to the collective, and when.
    pub last_to_arrive: Option<(u32, u64)>,
    /// If it was for an epoch of a window: who held it up.
    pub held: Option<Held>,
}

/// Who held up a rank at a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The rank that did.
    pub by: u32,
    /// How.
    pub how: HeldBy,
    /// Until when.
    pub until: u64,
}

/// How a rank holds up another one at a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HeldBy {
    /// It had a lock.
    Lock = 1,
    /// It had not posted yet.
    Post = 2,
    /// It had not completed its accesses yet.
    Complete = 3,
    /// It came last to a fence.
    Fence = 4,
}

/// A one-sided operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The rank that does it.
    pub from: u32,
    /// The rank whose memory it reaches.
    pub to: u32,
    /// When it began.
    pub begin: u64,
    /// When its call was left.
    pub end: u64,
    /// What it does.
    pub kind: AccessKind,
    /// Its window.
    pub window: u32,
    /// How much it moves.
    pub bytes: u64,
}

/// An epoch of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Since when.
    pub begin: u64,
    /// Until when.
    pub end: u64,
    /// Of which kind.
    pub kind: EpochKind,
    /// With whom, if not with all members.
    pub peer: Option<u32>,
    /// The window.
    pub window: u32,
}

/// The side of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// It sends.
    Sender,
    /// It receives.
    Receiver,
}

/// A message, as far as its sides recorded it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The sender's rank.
    pub from: u32,
    /// The receiver's rank.
    pub to: u32,
    /// Its tag.
    pub tag: i32,
    /// Its communicator, also if a collective on it sent the message.
    pub comm: u32,
    /// Its size.
    pub bytes: u64,
    /// How it travelled.
    pub protocol: Protocol,
    /// When the sender began.
    pub send_start: Option<u64>,
    /// When the sender's buffer was free again.
    pub send_end: Option<u64>,
    /// When the receive was posted.
    pub posted: Option<u64>,
    /// When it met its receive.
    pub matched: Option<u64>,
    /// When it had arrived.
    pub arrived: Option<u64>,
}

/// What a rank does at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// Its own work.
    Compute = 0,
    /// Moving messages: inside MPI and not waiting.
    Transfer = 1,
    /// Waiting for others.
    Wait = 2,
}

/// A stretch of one state; it lasts until the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Since when.
    pub begin: u64,
    /// Until when.
    pub end: u64,
    /// What the rank did.
    pub state: State,
}

/// What a chip did.
pub struct ChipRun {
    /// Its floor plan.
    pub plan: Chip,
    /// Windows of links: begin, end, link, flits.
    pub links: Vec<(u64, u64, u32, u32)>,
    /// The same of the control network's links, which count from 0 again.
    pub control: Vec<(u64, u64, u32, u32)>,
    /// Windows of servers: begin, end, who at which place, ticks of work.
    pub servers: Vec<(u64, u64, (ServerKind, u32), u64)>,
    /// Power: since when, microwatts.
    pub power: Vec<(u64, u64)>,
    /// Memory: since when, place, bytes.
    pub memory: Vec<(u64, u32, u64)>,
    /// Queues of DMA engines: since when, place, depth.
    pub dma: Vec<(u64, u32, u32)>,
    /// Queues of DDR controllers: since when, controller, depth.
    pub ddr: Vec<(u64, u32, u32)>,
}

/// Longer than any run (months in nanoseconds), and short enough that the sums of a rank do not overflow.
const TICKS_MAX: u64 = 1 << 54;

/// A time of the trace as a time of the run.
fn ticks_since(origin: u64, time: u64) -> u64 {
    time.saturating_sub(origin).min(TICKS_MAX)
}

impl Run {
    /// Puts a trace together.
    pub fn of(trace: &Trace) -> Run {
        let mut run = gather::gather(trace);
        arrivals::explain(&mut run);
        run
    }

    /// Ticks as seconds.
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.job.ticks_per_second.max(1) as f64
    }

    /// Ranks and cores, if more ranks than cores shared a machine. Then a rank may wait for a core, which no event tells of.
    pub fn crowded(&self) -> Option<(u64, u64)> {
        let (ranks, cores) = (self.ranks.len() as u64, u64::from(self.job.cores));
        (cores > 0 && ranks > cores && self.job.chip.is_none()).then_some((ranks, cores))
    }

    /// A name, or a dash.
    pub fn name(&self, index: u32) -> &str {
        match self.names.get(index as usize).map(String::as_str) {
            None | Some("") => "–",
            Some(name) => name,
        }
    }

    /// The place of a rank on the floor plan.
    pub fn place(&self, rank: u32) -> Option<u32> {
        self.job.places.get(rank as usize).copied()
    }
}

impl Segment {
    /// How long it lasts.
    pub fn ticks(&self) -> u64 {
        self.end - self.begin
    }
}

impl Wait {
    /// How long it lasted.
    pub fn ticks(&self) -> u64 {
        self.end - self.begin
    }
}

impl HeldBy {
    /// What people read.
    pub const fn label(self) -> &'static str {
        match self {
            HeldBy::Lock => "had the lock",
            HeldBy::Post => "late to post",
            HeldBy::Complete => "late to complete",
            HeldBy::Fence => "came last to the fence",
        }
    }
}

impl Rank {
    /// Ticks within `begin..end` that the rank spent in a state.
    pub fn ticks_in(&self, state: State, begin: u64, end: u64) -> u64 {
        let first = self.segments.partition_point(|segment| segment.end <= begin);
        self.segments[first..]
            .iter()
            .take_while(|segment| segment.begin < end)
            .filter(|segment| segment.state == state)
            .map(|segment| segment.end.min(end) - segment.begin.max(begin))
            .sum()
    }

    /// The outermost call at an instant.
    pub fn call_at(&self, time: u64) -> Option<&Call> {
        let after = self.calls.partition_point(|call| call.begin <= time);
        self.calls[..after].iter().rev().find(|call| call.depth == 0).filter(|call| time < call.end)
    }
}

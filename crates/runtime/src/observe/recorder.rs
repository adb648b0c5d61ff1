//! From what a rank shows of itself to its recording.
//!
//! The clock is what an event costs most, so it is read only where time can have passed since the event before: what follows
//! another event within a few instructions (a send that begins right after its call was entered, the end of a short message right
//! after its match) gets the same time, and the end of a short message is no record of its own but a bit of its beginning's. So is
//! the return from a call at the time of its last event. A chip's clock costs nothing and is always asked. Times of a rank never go
//! back: where the helper core of a chip acts for a rank, whose clock may be ahead, what the rank does next is not before that.

use std::fmt::Write;

use engine::Group;
use engine::observe::{
    Access, Begin, End, Epoch, EpochKind, Match, Meeting, MessageNumber, Observer, Transit, Wait, Wanted,
};
use fabric::Fabric;
use trace::{ALL_MEMBERS, ANY_SOURCE, ANY_TAG, Event, MessageId, NO_ROOT, Name, Recording};

use super::{counter, protocol};
use crate::module;

/// Copying so many bytes takes no time worth a look at the clock.
const SHORT: u64 = 1024;

pub(super) struct Recorder {
    recording: Recording,
    /// The rank.
    me: u32,
    clock: Clock,
    /// The time of the last event.
    last: u64,
    /// The time of the last event that has a record of its own.
    recorded: u64,
    /// No time has passed since the last event.
    fresh: bool,
    /// When the call under way was entered.
    entered: Option<u64>,
    /// When a letter was about to leave.
    sends_since: u64,
    waits_since: u64,
    computes_since: u64,
    calls: Names,
    rounds: Names,
    /// Contexts of collectives whose members were told of, in order.
    introduced: Vec<(u32, Group)>,
}

/// What tells the time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// The processor's counter.
    Counter,
    /// The clock of the fabric: the system's.
    System,
    /// The clock of the fabric: a simulated chip's.
    Chip,
}

impl Recorder {
    pub(super) fn new(recording: Recording, me: u32, clock: Clock) -> Recorder {
        Recorder {
            recording,
            me,
            clock,
            last: 0,
            recorded: 0,
            fresh: false,
            entered: None,
            sends_since: 0,
            waits_since: 0,
            computes_since: 0,
            calls: Names::default(),
            rounds: Names::default(),
            introduced: Vec::new(),
        }
    }

    #[inline(always)]
    fn record_send(
        &mut self,
        fabric: &dyn Fabric,
        time: u64,
        message: MessageNumber,
        transit: &Transit,
        done: bool,
    ) {
        self.record(Event::SendStart {
            time,
            message: MessageId(message.0),
            to: transit.peer.0,
            tag: transit.tag,
            comm: transit.context.to_bits(),
            bytes: transit.bytes,
            protocol: protocol(fabric, self.me, transit),
            done,
        });
    }

    #[inline(always)]
    fn record(&mut self, event: Event) {
        self.recorded = event.time();
        self.recording.record(event);
    }

    /// Tells of the members of a communicator, before its first collective.
    fn introduce(&mut self, time: u64, meeting: &Meeting<'_>) {
        let comm = meeting.context.to_bits();
        let place = self.introduced.binary_search_by_key(&comm, |(known, _)| *known);
        match place {
            Ok(place) if self.introduced[place].1.is_same(meeting.members) => return,
            // The number is that of another one now.
            Ok(place) => self.introduced[place].1 = meeting.members.clone(),
            Err(place) => self.introduced.insert(place, (comm, meeting.members.clone())),
        }
        let members = self.recording.intern(&ranges(meeting.members));
        self.record(Event::Members { time, comm, members });
    }

    /// Nothing is known of a wait or work that a pause falls into.
    fn forget(&mut self, fabric: &dyn Fabric) {
        (self.waits_since, self.computes_since) = (self.now(fabric), self.last);
        self.fresh = false;
    }

    /// Of an epoch: since when the call under way wants what happens now, the time, and what it is.
    fn about(&mut self, fabric: &dyn Fabric, epoch: &Epoch) -> (u64, u64, trace::EpochKind, u32, u32) {
        let time = self.now(fabric);
        let peer = epoch.peer.map_or(ALL_MEMBERS, |node| node.0);
        (self.entered.unwrap_or(time), time, epoch_kind(epoch.kind), peer, epoch.window.to_bits())
    }

    #[inline]
    fn is_short(&self, bytes: u64) -> bool {
        bytes <= SHORT && self.clock != Clock::Chip
    }

    /// The time now.
    #[inline]
    fn now(&mut self, fabric: &dyn Fabric) -> u64 {
        let time = if self.clock == Clock::Counter { counter::ticks() } else { fabric.now() };
        self.last = self.last.max(time);
        self.fresh = self.clock != Clock::Chip;
        self.last
    }

    /// The time of the last event if none has passed since, else the time now.
    #[inline]
    fn recent(&mut self, fabric: &dyn Fabric) -> u64 {
        if self.fresh { self.last } else { self.now(fabric) }
    }
}

impl Observer for Recorder {
    fn begins(&mut self, fabric: &dyn Fabric, what: &Begin<'_>) {
        match what {
            Begin::Call { function, site } => {
                let time = self.now(fabric);
                self.entered = Some(time);
                let (function, site) = self.calls.of(function, *site, &mut self.recording);
                self.record(Event::Enter { time, function, site });
            }
            Begin::Letter => {
                self.sends_since = self.recent(fabric);
                self.fresh = false;
            }
            Begin::Send { message, transit, done: true } => {
                // It began before its letter left.
                let done = self.is_short(transit.bytes);
                self.record_send(fabric, self.sends_since, *message, transit, done);
                if !done {
                    self.ends(fabric, &End::Send(*message));
                }
            }
            Begin::Send { message, transit, done: false } => {
                let time = self.recent(fabric);
                self.fresh = false;
                self.record_send(fabric, time, *message, transit, false);
            }
            Begin::Receive { post, wanted: Wanted { from, tag, context, bytes } } => {
                let time = self.recent(fabric);
                self.record(Event::RecvPost {
                    time,
                    request: post.0.get(),
                    from: from.map_or(ANY_SOURCE, |node| node.0),
                    tag: tag.unwrap_or(ANY_TAG),
                    comm: context.to_bits(),
                    bytes: *bytes,
                });
            }
            Begin::Round { collective, round } => {
                let time = self.recent(fabric);
                let (collective, _) = self.rounds.of(collective, 0, &mut self.recording);
                self.record(Event::Phase { time, collective, round: *round });
            }
            Begin::Collective(meeting) => {
                let time = self.recent(fabric);
                self.introduce(time, meeting);
                let (which, _) = self.rounds.of(meeting.which, 0, &mut self.recording);
                self.record(Event::Collective {
                    time,
                    which,
                    comm: meeting.context.to_bits(),
                    number: meeting.number,
                    root: meeting.root.unwrap_or(NO_ROOT),
                    bytes: meeting.bytes,
                });
            }
            Begin::Access { kind, target, window, bytes } => {
                let time = self.recent(fabric);
                // Moving them takes time.
                self.fresh = self.is_short(*bytes);
                self.record(Event::Access {
                    time,
                    kind: access_kind(*kind),
                    target: target.0,
                    window: window.to_bits(),
                    bytes: *bytes,
                });
            }
            Begin::Epoch(epoch) => {
                let (asked, time, kind, peer, window) = self.about(fabric, epoch);
                self.record(Event::EpochBegin { asked, time, kind, peer, window });
            }
            Begin::Region(number) => {
                let time = self.now(fabric);
                self.record(Event::Region { time, number: *number, begins: true });
            }
            Begin::Work => {
                self.computes_since = self.recent(fabric);
                self.fresh = false;
            }
            // The match tells of it.
            Begin::Early { .. } => {}
            Begin::Pause => self.forget(fabric),
        }
    }

    fn matches(&mut self, fabric: &dyn Fabric, what: &Match<'_>) {
        let time = self.now(fabric);
        let transit = what.transit;
        self.fresh = self.is_short(transit.bytes);
        self.record(Event::RecvMatch {
            time,
            message: MessageId(what.message.0),
            request: what.post.map_or(0, |post| post.0.get()),
            from: transit.peer.0,
            tag: transit.tag,
            bytes: transit.bytes,
            protocol: protocol(fabric, self.me, transit),
            done: what.done,
            waited: if what.waited { time - self.waits_since } else { 0 },
        });
    }

    fn ends(&mut self, fabric: &dyn Fabric, what: &End) {
        match what {
            End::Epoch(epoch) => {
                let (asked, time, kind, peer, window) = self.about(fabric, epoch);
                self.record(Event::EpochEnd { asked, time, kind, peer, window });
            }
            End::Call => {
                self.entered = None;
                let fresh = core::mem::take(&mut self.fresh);
                if fresh && self.recorded == self.last {
                    return self.recording.leave_at_last();
                }
                let time = if fresh { self.last } else { self.now(fabric) };
                self.fresh = false;
                self.record(Event::Leave { time });
            }
            End::Send(message) => {
                let time = self.now(fabric);
                self.record(Event::SendEnd { time, message: MessageId(message.0) });
            }
            End::Receive(message) => {
                let time = self.recent(fabric);
                self.record(Event::RecvEnd { time, message: MessageId(message.0) });
            }
            End::Region(number) => {
                let time = self.now(fabric);
                self.record(Event::Region { time, number: *number, begins: false });
            }
            End::Work => {
                let end = self.now(fabric);
                self.record(Event::Compute { begin: self.computes_since, end });
            }
            End::Pause => self.forget(fabric),
        }
    }

    fn waits(&mut self, fabric: &dyn Fabric, wait: Wait) {
        let time = self.recent(fabric);
        match wait {
            Wait::Begins => {
                self.waits_since = time;
                self.fresh = false;
            }
            Wait::Ends => self.record(Event::Wait { begin: self.waits_since, end: time }),
        }
    }
}

/// The nodes of a group in order, neighbours as a range: `0-3,8`.
fn ranges(group: &Group) -> String {
    let mut nodes = group.nodes().map(|node| node.0).peekable();
    let mut text = String::new();
    while let Some(first) = nodes.next() {
        let mut last = first;
        while let Some(next) = nodes.next_if(|next| *next == last + 1) {
            last = next;
        }
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        _ = match last == first {
            true => write!(text, "{comma}{first}"),
            false => write!(text, "{comma}{first}-{last}"),
        };
    }
    text
}

fn access_kind(kind: Access) -> trace::AccessKind {
    match kind {
        Access::Put => trace::AccessKind::Put,
        Access::Get => trace::AccessKind::Get,
        Access::Accumulate => trace::AccessKind::Accumulate,
        Access::Fetch => trace::AccessKind::Fetch,
        Access::Swap => trace::AccessKind::Swap,
    }
}

fn epoch_kind(kind: EpochKind) -> trace::EpochKind {
    match kind {
        EpochKind::Fence => trace::EpochKind::Fence,
        EpochKind::Access => trace::EpochKind::Access,
        EpochKind::Exposure => trace::EpochKind::Exposure,
        EpochKind::SharedLock => trace::EpochKind::SharedLock,
        EpochKind::ExclusiveLock => trace::EpochKind::ExclusiveLock,
        EpochKind::LockAll => trace::EpochKind::LockAll,
    }
}

/// The names of calls that come again and again: a small table that is looked at before the recording's own.
struct Names([Call; Names::SLOTS]);

/// A function and a place that it is called from, by their addresses and by name.
#[derive(Clone, Copy)]
struct Call {
    function: *const u8,
    site: u64,
    names: (Name, Name),
}

impl Default for Names {
    fn default() -> Names {
        Names([Call { function: core::ptr::null(), site: 0, names: (Name::NONE, Name::NONE) }; Names::SLOTS])
    }
}

impl Names {
    const SLOTS: usize = 64;

    #[inline]
    fn of(&mut self, function: &'static str, site: u64, recording: &mut Recording) -> (Name, Name) {
        // Addresses of one page differ in their middle bits; without a site there is the function.
        let key = site.wrapping_add(function.as_ptr().addr() as u64);
        let slot = &mut self.0[(key >> 2 ^ key >> 8) as usize % Names::SLOTS];
        if slot.function != function.as_ptr() || slot.site != site {
            *slot = Call::new(function, site, recording);
        }
        slot.names
    }
}

/// What a recording calls a call site: the launcher explains it when the job has ended.
fn spot(site: u64) -> String {
    module::spot(site).unwrap_or_else(|| format!("{site:#x}"))
}

impl Call {
    #[cold]
    #[inline(never)]
    fn new(function: &'static str, site: u64, recording: &mut Recording) -> Call {
        let name = recording.intern(function);
        let place = if site == 0 { Name::NONE } else { recording.intern(&spot(site)) };
        Call { function: function.as_ptr(), site, names: (name, place) }
    }
}

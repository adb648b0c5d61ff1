//! From a rank's hooks to its recording.
//!
//! The clock is what an event costs most, so it is read only where time can have passed since the event before: what follows
//! another event within a few instructions (a send that begins right after its call was entered, the end of a short message right
//! after its match) gets the same time. Times of a rank never go back: where the helper core of a chip acts for a rank, whose clock
//! may be ahead, what the rank does next is not before that.

use engine::{MessageNumber, PostNumber, Transit, Wanted};
use fabric::Fabric;
use trace::{ANY_SOURCE, ANY_TAG, Event, MessageId, Name, Recording};

use super::{counter, protocol, site};

/// Copying so many bytes takes no time worth a look at the clock.
const SHORT: u64 = 1024;

pub(super) struct Recorder {
    recording: Recording,
    /// The rank.
    me: u32,
    /// Whether the clock is the processor's counter and not the fabric's.
    counter: bool,
    /// The time of the last event.
    last: u64,
    /// No time has passed since then.
    fresh: bool,
    waits_since: u64,
    computes_since: u64,
    functions: Names,
    sites: Names,
    collectives: Names,
}

impl Recorder {
    pub(super) fn new(recording: Recording, me: u32, counter: bool) -> Recorder {
        Recorder {
            recording,
            me,
            counter,
            last: 0,
            fresh: false,
            waits_since: 0,
            computes_since: 0,
            functions: Names::default(),
            sites: Names::default(),
            collectives: Names::default(),
        }
    }

    #[inline]
    pub(super) fn enter(&mut self, fabric: &dyn Fabric, function: &'static str, site: u64) {
        let time = self.now(fabric);
        let recording = &mut self.recording;
        let name = self.functions.of(function.as_ptr() as u64, || recording.intern(function));
        let site = self
            .sites
            .of(site, || recording.intern(&if site == 0 { String::new() } else { site::describe(site) }));
        self.recording.record(Event::Enter { time, function: name, site });
    }

    #[inline]
    pub(super) fn leave(&mut self, fabric: &dyn Fabric) {
        let time = self.recent(fabric);
        self.fresh = false;
        self.recording.record(Event::Leave { time });
    }

    #[inline]
    pub(super) fn send_begins(&mut self, fabric: &dyn Fabric, message: MessageNumber, transit: &Transit) {
        let time = self.recent(fabric);
        self.fresh = false;
        self.recording.record(Event::SendStart {
            time,
            message: MessageId(message.0),
            to: transit.peer.0,
            tag: transit.tag,
            comm: transit.context.to_bits(),
            bytes: transit.bytes,
            protocol: protocol(fabric, self.me, transit),
        });
    }

    #[inline]
    pub(super) fn send_ends(&mut self, fabric: &dyn Fabric, message: MessageNumber) {
        let time = self.now(fabric);
        self.recording.record(Event::SendEnd { time, message: MessageId(message.0) });
    }

    #[inline]
    pub(super) fn receive_begins(&mut self, fabric: &dyn Fabric, post: PostNumber, wanted: &Wanted) {
        let time = self.recent(fabric);
        self.recording.record(Event::RecvPost {
            time,
            request: post.0,
            from: wanted.from.map_or(ANY_SOURCE, |node| node.0),
            tag: wanted.tag.unwrap_or(ANY_TAG),
            comm: wanted.context.to_bits(),
            bytes: wanted.bytes,
        });
    }

    #[inline]
    pub(super) fn receive_matches(
        &mut self,
        fabric: &dyn Fabric,
        message: MessageNumber,
        post: Option<PostNumber>,
        transit: &Transit,
    ) {
        let time = self.now(fabric);
        self.fresh = transit.bytes <= SHORT;
        self.recording.record(Event::RecvMatch {
            time,
            message: MessageId(message.0),
            request: post.map_or(0, |post| post.0),
            from: transit.peer.0,
            tag: transit.tag,
            bytes: transit.bytes,
            protocol: protocol(fabric, self.me, transit),
        });
    }

    #[inline]
    pub(super) fn receive_ends(&mut self, fabric: &dyn Fabric, message: MessageNumber) {
        let time = self.recent(fabric);
        self.recording.record(Event::RecvEnd { time, message: MessageId(message.0) });
    }

    #[inline]
    pub(super) fn wait_begins(&mut self, fabric: &dyn Fabric) {
        self.waits_since = self.recent(fabric);
        self.fresh = false;
    }

    #[inline]
    pub(super) fn wait_ends(&mut self, fabric: &dyn Fabric) {
        let end = self.recent(fabric);
        self.recording.record(Event::Wait { begin: self.waits_since, end });
    }

    pub(super) fn compute_begins(&mut self, fabric: &dyn Fabric) {
        self.computes_since = self.recent(fabric);
        self.fresh = false;
    }

    pub(super) fn compute_ends(&mut self, fabric: &dyn Fabric) {
        let end = self.now(fabric);
        self.recording.record(Event::Compute { begin: self.computes_since, end });
    }

    pub(super) fn round_begins(&mut self, fabric: &dyn Fabric, collective: &'static str, round: u32) {
        let time = self.recent(fabric);
        let recording = &mut self.recording;
        let collective = self.collectives.of(collective.as_ptr() as u64, || recording.intern(collective));
        self.recording.record(Event::Phase { time, collective, round });
    }

    /// The time now.
    #[inline]
    fn now(&mut self, fabric: &dyn Fabric) -> u64 {
        let time = if self.counter { counter::ticks() } else { fabric.now() };
        self.last = self.last.max(time);
        self.fresh = true;
        self.last
    }

    /// The time of the last event if none has passed since, else the time now.
    #[inline]
    fn recent(&mut self, fabric: &dyn Fabric) -> u64 {
        if self.fresh { self.last } else { self.now(fabric) }
    }
}

/// The names of words that come again and again: a small table that is looked at before the recording's own.
struct Names([(u64, Name); Names::SLOTS]);

impl Default for Names {
    fn default() -> Names {
        // No string and no code is at the highest address.
        Names([(u64::MAX, Name::NONE); Names::SLOTS])
    }
}

impl Names {
    const SLOTS: usize = 64;

    #[inline]
    fn of(&mut self, key: u64, make: impl FnOnce() -> Name) -> Name {
        // Addresses of one page differ in their middle bits.
        let slot = &mut self.0[((key >> 3 ^ key >> 9) as usize) % Names::SLOTS];
        if slot.0 != key {
            *slot = (key, make());
        }
        slot.1
    }
}

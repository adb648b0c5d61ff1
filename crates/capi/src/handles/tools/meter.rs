//! Measuring: an observer of each lane that adds to the handles of performance variables that are started, and tells those who listen to events.
//!
//! It is there while there is any such handle or listener, and only then. Of the messages of checkers, which no program knows of, it says nothing.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use engine::observe::{Begin, Carried, End, Match, Observer, Transit, Wait};
use fabric::Fabric;
use runtime::variables::{Class, Element, Happening, Measure, PERFORMANCE, Performance};

use super::listeners::{Listeners, Registration};
use super::{Members, lock};

/// A handle of a performance variable.
pub(crate) struct Gauge {
    pub(crate) variable: &'static Performance,
    /// The session that it belongs to.
    pub(crate) session: usize,
    /// The communicator that it is bound to, if it is.
    members: Option<Members>,
    /// The values; of a variable that is always there, what is to be subtracted from what the engine tells.
    cells: Box<[AtomicU64]>,
    started: AtomicBool,
    /// Its handle, once it has one.
    handle: AtomicUsize,
}

impl Gauge {
    pub(crate) fn new(index: usize, session: usize, members: Option<Members>, cells: usize) -> Gauge {
        let cells = (0..cells).map(|_| AtomicU64::new(0)).collect();
        Gauge {
            variable: &PERFORMANCE[index],
            session,
            members,
            cells,
            started: AtomicBool::new(false),
            handle: AtomicUsize::new(0),
        }
    }

    pub(crate) fn cells(&self) -> &[AtomicU64] {
        &self.cells
    }

    pub(crate) fn set_handle(&self, handle: usize) {
        self.handle.store(handle, Ordering::Relaxed);
    }

    pub(crate) fn handle(&self) -> usize {
        self.handle.load(Ordering::Relaxed)
    }

    fn add(&self, cell: usize, amount: u64) {
        if let Some(cell) = self.cells.get(cell) {
            cell.fetch_add(amount, Ordering::Relaxed);
        }
    }

    fn add_for(&self, transit: &Transit, amount: u64) {
        if let Some(rank) = self.members.as_ref().and_then(|members| members.rank_of(transit)) {
            self.add(rank, amount);
        }
    }

    /// A level has changed to this: a watermark may, too.
    fn mark(&self, level: u64) {
        match self.variable.class {
            Class::Highest => self.cells[0].fetch_max(level, Ordering::Relaxed),
            _ => self.cells[0].fetch_min(level, Ordering::Relaxed),
        };
    }
}

/// What all lanes of a process measure together.
#[derive(Default)]
pub(crate) struct Counting {
    started: Mutex<Vec<Arc<Gauge>>>,
    pub(super) listeners: Listeners,
    /// Messages that wait for their receives, while somebody measures.
    unexpected: AtomicU64,
    /// Operations under way, of those that began while somebody measured.
    under_way: AtomicU64,
    waits: AtomicU64,
}

impl Counting {
    /// Whether there is anything to measure or to tell.
    pub(crate) fn is_wanted(&self) -> bool {
        !lock(&self.started).is_empty() || self.listeners.are_any()
    }

    /// Begins to measure for a handle, if it does not yet.
    pub(crate) fn start(&self, gauge: &Arc<Gauge>) {
        if !gauge.started.swap(true, Ordering::AcqRel) {
            lock(&self.started).push(Arc::clone(gauge));
        }
    }

    /// Measures for it no more.
    pub(crate) fn stop(&self, gauge: &Arc<Gauge>) {
        if gauge.started.swap(false, Ordering::AcqRel) {
            lock(&self.started).retain(|other| !Arc::ptr_eq(other, gauge));
        }
    }

    /// Somebody begins to measure: so many messages wait for their receives now.
    pub(crate) fn begin(&self, unexpected: u64) {
        self.unexpected.store(unexpected, Ordering::Relaxed);
        self.under_way.store(0, Ordering::Relaxed);
    }

    /// The level that a watermark starts from, as far as it is measured here.
    pub(crate) fn under_way(&self) -> u64 {
        self.under_way.load(Ordering::Relaxed)
    }

    pub(crate) fn listen(&self, registration: &Arc<Registration>) {
        self.listeners.listen(registration);
    }

    pub(crate) fn listen_no_more(&self, registration: &Arc<Registration>) {
        self.listeners.listen_no_more(registration);
    }

    /// Calls back for the events that wait.
    pub(crate) fn deliver(&self) {
        self.listeners.deliver();
    }

    pub(crate) fn listeners(&self) -> &Listeners {
        &self.listeners
    }

    fn each(&self, count: impl Fn(&Gauge, Measure)) {
        for gauge in lock(&self.started).iter() {
            count(gauge, gauge.variable.measure);
        }
    }

    fn level(&self, measure: Measure, change: i64) {
        let level = if measure == Measure::UnexpectedMark { &self.unexpected } else { &self.under_way };
        let changed = |level: u64| Some(level.saturating_add_signed(change));
        let before = level.fetch_update(Ordering::Relaxed, Ordering::Relaxed, changed).unwrap_or_default();
        let now = before.saturating_add_signed(change);
        self.each(|gauge, of| {
            if of == measure {
                gauge.mark(now);
            }
        });
    }

    fn message(&self, fabric: &dyn Fabric, happening: Happening, transit: &Transit) {
        self.listeners.tell(nanoseconds(fabric), happening, |registration, element| match element {
            Element::Peer => Some(match registration.members() {
                Some(members) => members.rank_of(transit)? as u64,
                None => u64::from(transit.peer.0),
            }),
            Element::Tag => Some(transit.tag as u32 as u64),
            _ => Some(transit.bytes),
        });
    }
}

/// The observer of one lane.
pub(crate) struct Meter {
    counting: Arc<Counting>,
    waits_since: Option<u64>,
}

impl Meter {
    pub(crate) fn new(counting: &Arc<Counting>) -> Meter {
        Meter { counting: Arc::clone(counting), waits_since: None }
    }

    fn wait_ends(&mut self, fabric: &dyn Fabric) {
        let Some(since) = self.waits_since.take() else { return };
        let now = nanoseconds(fabric);
        let waited = now.saturating_sub(since);
        self.counting.each(|gauge, measure| {
            if measure == Measure::WaitTime {
                gauge.add(0, waited);
            }
        });
        self.counting.listeners.tell(now, Happening::WaitEnds, |_, _| Some(waited));
    }
}

impl Observer for Meter {
    fn begins(&mut self, fabric: &dyn Fabric, what: &Begin<'_>) {
        let counting = &self.counting;
        match what {
            Begin::Send { transit, .. } | Begin::Early { transit } if transit.context.is_companion() => {}
            Begin::Send { transit, done, .. } => {
                counting.each(|gauge, measure| match measure {
                    Measure::BytesSent => gauge.add(0, transit.bytes),
                    Measure::BytesToEach => gauge.add(transit.peer.0 as usize, transit.bytes),
                    Measure::CommSent => gauge.add_for(transit, 1),
                    Measure::CommBytesSent => gauge.add_for(transit, transit.bytes),
                    Measure::SentBy(carried) if carried == transit.carried => gauge.add(0, 1),
                    _ => {}
                });
                if !done {
                    counting.level(Measure::UnderWayMark, 1);
                }
                counting.message(fabric, Happening::Sent, transit);
                if transit.carried == Carried::Offered {
                    counting.message(fabric, Happening::Offered, transit);
                }
            }
            Begin::Receive { .. } => counting.level(Measure::UnderWayMark, 1),
            Begin::Early { transit } => {
                counting.level(Measure::UnexpectedMark, 1);
                counting.message(fabric, Happening::Early, transit);
            }
            Begin::Round { .. } => counting.each(|gauge, measure| {
                if measure == Measure::Rounds {
                    gauge.add(0, 1);
                }
            }),
            Begin::Access { bytes, .. } => counting.each(|gauge, measure| match measure {
                Measure::Accesses => gauge.add(0, 1),
                Measure::AccessBytes => gauge.add(0, *bytes),
                _ => {}
            }),
            Begin::Call { .. }
            | Begin::Letter
            | Begin::Collective(_)
            | Begin::Epoch(_)
            | Begin::Region(_)
            | Begin::Work
            | Begin::Pause => {}
        }
    }

    fn matches(&mut self, fabric: &dyn Fabric, what: &Match<'_>) {
        let (counting, transit) = (&self.counting, what.transit);
        if transit.context.is_companion() {
            return;
        }
        counting.each(|gauge, measure| match measure {
            Measure::BytesReceived => gauge.add(0, transit.bytes),
            Measure::BytesFromEach => gauge.add(transit.peer.0 as usize, transit.bytes),
            Measure::CommReceived => gauge.add_for(transit, 1),
            Measure::CommBytesReceived => gauge.add_for(transit, transit.bytes),
            Measure::ReceivedBy(carried) if carried == transit.carried => gauge.add(0, 1),
            _ => {}
        });
        if what.early {
            counting.level(Measure::UnexpectedMark, -1);
        }
        match (what.post, what.done) {
            (Some(_), true) => counting.level(Measure::UnderWayMark, -1),
            // A probe had taken it out of matching: its receive begins now.
            (None, false) => counting.level(Measure::UnderWayMark, 1),
            _ => {}
        }
        counting.message(fabric, Happening::Received, transit);
        if what.waited {
            self.wait_ends(fabric);
        }
    }

    fn ends(&mut self, _: &dyn Fabric, what: &End) {
        if matches!(what, End::Send(_) | End::Receive(_)) {
            self.counting.level(Measure::UnderWayMark, -1);
        }
    }

    fn waits(&mut self, fabric: &dyn Fabric, wait: Wait) {
        if wait == Wait::Ends {
            return self.wait_ends(fabric);
        }
        let now = nanoseconds(fabric);
        self.waits_since = Some(now);
        let counting = &self.counting;
        let ordinal = counting.waits.fetch_add(1, Ordering::Relaxed) + 1;
        counting.each(|gauge, measure| {
            if measure == Measure::Waits {
                gauge.add(0, 1);
            }
        });
        counting.listeners.tell(now, Happening::WaitBegins, |_, _| Some(ordinal));
    }
}

/// The rank's clock.
pub(crate) fn nanoseconds(fabric: &dyn Fabric) -> u64 {
    let ticks = u128::from(fabric.now()) * 1_000_000_000;
    (ticks / u128::from(fabric.caps().ticks_per_second)) as u64
}

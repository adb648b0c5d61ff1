//! How a rank gives way until it is its turn, and how it waits.

use std::cell::{Cell, RefCell, RefMut};

use corosensei::Yielder;
use fabric::{Caps, Node, Worked};
use fabric_local::Stall;
use sim::{CYCLE, Chip, Memory, Place, Time};

use crate::job::Options;
use crate::names::Names;
use crate::portal::memory_of;
use crate::state::{Rest, State};

/// What the loop tells a fiber that it resumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Go {
    /// It is your turn.
    On,
    /// Nothing will ever come for this rank: unwind.
    Stalled,
}

/// No rank.
pub(crate) const NOBODY: u32 = u32::MAX;

/// What all fabrics of a job share. Everything on it belongs to the one thread that runs the job.
pub(crate) struct Board {
    pub(crate) state: RefCell<State>,
    pub(crate) caps: Caps,
    /// The rank that runs.
    pub(crate) current: Cell<u32>,
    /// How each rank suspends itself; null when it does not live.
    yielders: Box<[Cell<*const Yielder<Go, ()>>]>,
    pub(crate) stalled: Cell<bool>,
    pub(crate) unwind_stalled: bool,
    names: Option<Names>,
    /// By place: where buffers of ranks are.
    memories: Box<[Memory]>,
    meter: Option<Meter>,
}

impl Board {
    pub(crate) fn new(
        state: State,
        chip: &Chip,
        caps: Caps,
        names: Option<Names>,
        options: &Options<'_>,
    ) -> Board {
        let nodes = state.seats.len();
        Board {
            meter: options.scale.map(|scale| Meter::new(scale * caps.ticks_per_second as f64 / 1e9)),
            state: RefCell::new(state),
            caps,
            current: Cell::new(NOBODY),
            yielders: (0..nodes).map(|_| Cell::new(std::ptr::null())).collect(),
            stalled: Cell::new(false),
            unwind_stalled: options.unwind_stalled,
            names,
            memories: (0..chip.places()).map(|place| memory_of(chip, Place(place))).collect(),
        }
    }

    pub(crate) fn memory(&self, place: Place) -> Memory {
        self.memories[usize::from(place.0)]
    }

    pub(crate) fn set_yielder(&self, rank: u32, yielder: *const Yielder<Go, ()>) {
        self.yielders[rank as usize].set(yielder);
    }

    pub(crate) fn names(&self) -> Option<&Names> {
        self.names.as_ref()
    }

    /// Returns when everything that is earlier than the clock of `me` has happened. Without a switch if nothing is, or if it
    /// was the machine's business alone.
    #[inline]
    pub(crate) fn settle(&self, me: Node) {
        self.meter(me);
        loop {
            let mut state = self.state.borrow_mut();
            let clock = state.seat(me.0).clock;
            let turn = state.next_turn();
            let limit = turn.map_or(clock, |(at, _)| at.min(clock));
            if state.machine.next_time().is_some_and(|at| at <= limit) {
                state.step_until(limit);
                continue;
            }
            if turn.is_none_or(|turn| turn > (clock, me.0)) {
                break;
            }
            state.wake(me.0, clock);
            drop(state);
            self.suspend(me);
        }
        self.start_meter();
    }

    /// Lets the core of `me` compute until then, unless its agent has something to handle before.
    pub(crate) fn work_until(&self, mut state: RefMut<'_, State>, me: Node, until: Time) -> Worked {
        let seat = state.seat(me.0);
        let mail = seat.inbox.front().map(|letter| letter.visible);
        let news = (seat.agent.news || seat.room).then_some(seat.clock);
        let interrupt = mail.into_iter().chain(news).min().map(|at| at.max(seat.agent.free));
        seat.rest = Rest::Working(until);
        state.wake(me.0, interrupt.map_or(until, |at| at.min(until)));
        drop(state);
        self.suspend(me);
        self.start_meter();
        let mut state = self.state.borrow_mut();
        let now = state.machine.now();
        let seat = state.seat(me.0);
        (seat.agent.news, seat.room) = (false, false);
        if seat.clock < until {
            let left = (until - seat.clock).div_ceil(CYCLE);
            seat.agent.unfinished = Some((left, until));
            return Worked::Interrupted { left };
        }
        // An agent that is still at it holds the state that the rank needs next.
        seat.clock = until.max(now);
        Worked::Done
    }

    /// Waits inside a call until the rank is unblocked.
    pub(crate) fn block(&self, me: Node) {
        self.state.borrow_mut().seat(me.0).rest = Rest::Blocked;
        self.suspend(me);
        self.start_meter();
    }

    /// Gives the thread to the loop until it is this rank's turn. `errno` belongs to the rank, not to the thread.
    ///
    /// # Panics
    /// If called by another than the fiber of `me`; or to unwind the fiber, if the job has stalled.
    pub(crate) fn suspend(&self, me: Node) {
        assert!(self.current.get() == me.0, "a fabric was used outside of its rank");
        if self.stalled.get() {
            self.abandon(me);
        }
        if self.switch(me) == Go::Stalled {
            self.abandon(me);
        }
    }

    fn switch(&self, me: Node) -> Go {
        // SAFETY: no arguments; the location is that of the calling thread, on which the fiber stays.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        let saved = unsafe { *errno };
        // SAFETY: the caller is this rank's fiber, so its yielder is alive.
        let go = unsafe { (*self.yielders[me.0 as usize].get()).suspend(()) };
        // SAFETY: as above.
        unsafe { *errno = saved };
        go
    }

    /// As in `fabric-local`: unwinds the fiber, or where that must not be, never lets it run again.
    #[cold]
    fn abandon(&self, me: Node) -> ! {
        if self.unwind_stalled && !std::thread::panicking() {
            Stall::unwind();
        }
        loop {
            self.switch(me);
        }
    }

    /// Charges the processor time that the rank has spent outside of the fabric, if the job is to be charged for it.
    #[inline]
    pub(crate) fn meter(&self, me: Node) {
        if let Some(meter) = &self.meter {
            let spent = meter.ticks();
            self.state.borrow_mut().charge(me.0, spent);
        }
    }

    #[inline]
    pub(crate) fn start_meter(&self) {
        if let Some(meter) = &self.meter {
            meter.restart();
        }
    }
}

/// Measures the processor time of a rank's own code.
struct Meter {
    /// Ticks of virtual time a nanosecond of processor time.
    ticks_per_nanosecond: f64,
    since: Cell<u64>,
}

impl Meter {
    fn new(ticks_per_nanosecond: f64) -> Meter {
        Meter { ticks_per_nanosecond, since: Cell::new(processor_nanoseconds()) }
    }

    fn restart(&self) {
        self.since.set(processor_nanoseconds());
    }

    /// Ticks since the last call or restart.
    fn ticks(&self) -> u64 {
        let now = processor_nanoseconds();
        let spent = now - self.since.replace(now);
        (spent as f64 * self.ticks_per_nanosecond) as u64
    }
}

fn processor_nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes into `time` during the call only.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

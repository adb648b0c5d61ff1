//! How a rank gives way until it is its turn, and how it waits.

use std::cell::{Cell, RefCell, RefMut};

use fabric::{Caps, MulticastLaws, Node, Woke, Worked};
use fabric_local::ThreadState;
use fabric_local::state::Spare;
use fabric_local::switch::Context;
use sim::chip::Team;
use sim::{CYCLE, Chip, Memory, Place, Time};

use crate::caps::Routes;
use crate::job::Options;
use crate::multicast;
use crate::names::Names;
use crate::portal::memory_of;
use crate::segments::behind;
use crate::state::{Rest, State};

/// No rank.
pub(crate) const NOBODY: u32 = u32::MAX;

/// What all fabrics of a job share. Everything on it belongs to the one thread that runs the job.
pub(crate) struct Board {
    pub(crate) state: RefCell<State>,
    pub(crate) caps: Caps,
    /// By place.
    pub(crate) routes: Box<[Routes]>,
    /// The rank that runs.
    pub(crate) current: Cell<u32>,
    /// The rank whose fiber has just ended, or [`NOBODY`].
    pub(crate) ended: Cell<u32>,
    /// Where each rank goes on that does not run.
    fibers: Box<[Context]>,
    /// Where the loop goes on, while a rank runs.
    looping: Context,
    /// Where the thread keeps what belongs to the rank that runs.
    thread: ThreadState,
    _spare: Box<Spare>,
    pub(crate) stalled: Cell<bool>,
    /// The rank that runs was not woken: it says what it waits for and gives way at once.
    pub(crate) glancing: Cell<bool>,
    pub(crate) unwind_stalled: bool,
    /// The machine has a barrier of its own.
    pub(crate) has_barrier: bool,
    /// What the network's multicast costs, if it has one that can be used; and what setting one up takes a core: of letters, of data.
    pub(crate) multicast: Option<(MulticastLaws, [Time; 2])>,
    /// What it costs that several cores work for a rank.
    pub(crate) team: Team,
    /// By place: cores that ranks may share.
    cores: Box<[u32]>,
    /// By number: the place of an I/O subsystem, if it has memory of its own.
    subsystems: Box<[Option<Place>]>,
    names: Option<Names>,
    /// By place: where buffers of ranks are.
    memories: Box<[Memory]>,
    meter: Option<Meter>,
}

impl Board {
    pub(crate) fn new(
        state: State,
        chip: &Chip,
        (caps, routes): (Caps, Box<[Routes]>),
        names: Option<Names>,
        options: &Options<'_>,
    ) -> Board {
        let nodes = state.seats.len();
        let spare = Box::<Spare>::default();
        // SAFETY: used on this thread alone, for the board and all that hold it stay there; the board keeps the spare words.
        let thread = unsafe { ThreadState::of_this_thread(&spare) };
        Board {
            meter: options.scale.map(|scale| Meter::new(scale * caps.ticks_per_second as f64 / 1e9)),
            state: RefCell::new(state),
            caps,
            routes,
            current: Cell::new(NOBODY),
            ended: Cell::new(NOBODY),
            fibers: (0..nodes).map(|_| Context::running()).collect(),
            looping: Context::running(),
            thread,
            _spare: spare,
            stalled: Cell::new(false),
            glancing: Cell::new(false),
            unwind_stalled: options.unwind_stalled,
            has_barrier: chip.barrier.is_some(),
            multicast: chip.ipc(&options.software.ipc).and_then(|ipc| multicast::laws(chip, ipc)),
            team: chip.cluster.team.unwrap_or_default(),
            subsystems: (0..chip.io.len() as u32).map(|io| behind(chip, io)).collect(),
            cores: (0..chip.places()).map(|place| cores_for_ranks(chip, Place(place))).collect(),
            names,
            memories: (0..chip.places()).map(|place| memory_of(chip, Place(place))).collect(),
        }
    }

    /// The place of an I/O subsystem with memory of its own.
    pub(crate) fn subsystem(&self, number: u32) -> Option<Place> {
        self.subsystems.get(number as usize).copied().flatten()
    }

    /// The cores that may work for `me`: an equal share of those of its place.
    pub(crate) fn cores_of(&self, me: Node) -> u32 {
        let state = self.state.borrow();
        let place = state.placement.place(me.0);
        let ranks = state.placement.residents(place).len() as u32;
        (self.cores[usize::from(place.0)] / ranks).max(1)
    }

    pub(crate) fn memory(&self, place: Place) -> Memory {
        self.memories[usize::from(place.0)]
    }

    /// Where the fiber of `rank` goes on.
    pub(crate) fn fiber(&self, rank: u32) -> &Context {
        &self.fibers[rank as usize]
    }

    /// Lets the fiber of `rank` run until it gives the thread back.
    ///
    /// # Safety
    /// To be called by the loop; the fiber must be prepared or suspended.
    pub(crate) unsafe fn resume(&self, rank: u32) {
        // SAFETY: the caller's promise.
        unsafe { self.switch(&self.looping, self.fiber(rank)) };
    }

    /// Gives the thread back to the loop, for good.
    ///
    /// # Safety
    /// The caller must be the fiber of `rank`, and own nothing any more.
    pub(crate) unsafe fn end(&self, rank: u32) -> ! {
        // SAFETY: the loop is suspended while a fiber runs.
        unsafe { self.switch(self.fiber(rank), &self.looping) };
        unreachable!("an ended fiber was resumed");
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
            if self.suspend(me) == Woke::Stalled {
                break;
            }
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
        if self.suspend(me) == Woke::Stalled {
            return Worked::Done;
        }
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
        // One that is not to go on was not waiting for others, so it has nothing to say of them.
        while self.suspend(me) == Woke::InVain {}
        self.start_meter();
    }

    /// Gives the thread to the loop until it is this rank's turn, or the job has stalled. Where ranks must not go on then, they come
    /// back once, to say what they wait for.
    ///
    /// # Panics
    /// If called by another than the fiber of `me`.
    pub(crate) fn suspend(&self, me: Node) -> Woke {
        assert!(self.current.get() == me.0, "a fabric was used outside of its rank");
        if !(self.stalled.get() && self.unwind_stalled) {
            // SAFETY: the caller is the fiber of this rank, so the loop is suspended.
            unsafe { self.switch(self.fiber(me.0), &self.looping) };
        }
        if self.glancing.get() {
            return Woke::Glance;
        }
        if !self.stalled.get() {
            return Woke::Again;
        }
        // One that is not to go on is resumed this once.
        if self.unwind_stalled { Woke::Stalled } else { Woke::InVain }
    }

    /// Suspends the caller as `from`, with what the thread keeps for it, and goes on as `to`.
    ///
    /// # Safety
    /// As for [`Context::switch`].
    #[inline(always)]
    unsafe fn switch(&self, from: &Context, to: &Context) {
        // SAFETY: all of a job stays on one thread, whose state this is; the rest is the caller's promise.
        unsafe {
            let suspended = self.thread.suspend();
            from.switch(to);
            self.thread.resume(suspended);
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

/// Cores of a place that may work for ranks; one each where nobody says what several cost.
fn cores_for_ranks(chip: &Chip, place: Place) -> u32 {
    if chip.cluster.team.is_some() { chip.cores_at(place) } else { 1 }
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

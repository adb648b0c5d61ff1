//! The loop that runs whatever comes first in virtual time: an event of the machine, or a rank.
//!
//! All ranks are fibers of the calling thread. A rank runs until it gives way or waits; nothing on the way of a switch allocates,
//! locks or calls the system.

use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fabric::Node;
use fabric_local::switch::Kept;
use fabric_local::{Hooks, Outcome, Stacks};
use sim::{Machine, Place, Time};

use crate::barrier::Meeting;
use crate::board::{Board, NOBODY};
use crate::caps::{caps, routes};
use crate::cargo::Cargo;
use crate::job::{Glance, Options, Report, RunError, Stats};
use crate::kinds::Kinds;
use crate::names::Names;
use crate::noc::NocFabric;
use crate::placement::Placement;
use crate::ports::Desk;
use crate::scratchpad::Scratchpads;
use crate::state::{Rest, State};
use crate::survey::Survey;

/// Turns between two looks of [`Options::watch`].
const WATCH_INTERVAL: u64 = 4096;

/// Runs `body` on every rank, and on the I/O rank if there is one, and returns when all have ended or wait for ever.
///
/// A rank that panics ends as [`Outcome::Panicked`]; when no event is left, ranks that still wait end as [`Outcome::Stalled`].
///
/// # Panics
/// If a hook panics. Where there is no room for stacks, the process ends with a sentence that says so.
pub fn run<T>(
    options: &Options<'_>,
    hooks: &dyn Hooks,
    body: &dyn Fn(NocFabric) -> T,
) -> Result<Report<T>, RunError> {
    let chip = options.chip;
    let placement =
        Placement::new(chip, options.ranks, options.map, options.io).map_err(RunError::Placement)?;
    let ipc = chip.ipc(&options.software.ipc).ok_or_else(|| RunError::Software {
        ipc: options.software.ipc.clone(),
        chip: chip.name.clone(),
        known: chip.ipc.iter().map(|(name, _)| name.clone()).collect(),
    })?;
    let scratchpads = Scratchpads::new(options, &placement)?;
    let nodes = placement.nodes();
    let costs = |place| chip.costs(ipc, place);
    let mut state = State::new(Machine::new(chip), placement, scratchpads, costs);
    for seat in &mut state.seats {
        let delegate = seat.costs.adapter.and_then(|adapter| adapter.delegate);
        let number = chip.kind_at(seat.place).map_or(seat.place.0, |(_, number)| number);
        // Who would be its own needs none.
        let delegate = delegate.and_then(|kind| chip.place_of_kind(kind, number));
        seat.delegate = delegate.filter(|delegate| *delegate != seat.place);
    }
    state.kinds = chip.memory.map(Kinds::new);
    if let Some(slots) = ipc.cluster.slots {
        state.desks = (0..chip.places()).map(|_| Desk::new(slots)).collect();
    }
    state.barrier = chip.barrier.map(|time| Meeting::new(time, options.ranks));
    let names = options.software.name_service.then(|| Names::new(chip, nodes));
    let board = Rc::new(Board::new(state, chip, (caps(chip, ipc), routes(chip, ipc)), names, options));
    let stacks = ManuallyDrop::new(stacks(nodes, options.stack_bytes));
    let start = |node| Start {
        board: &board,
        node,
        body,
        fabric: Some(NocFabric::new(&board, Node(node))),
        outcome: Outcome::Stalled,
    };
    let mut starts: Vec<Start<'_, T>> = (0..nodes).map(start).collect();
    let fibers = starts.iter_mut().map(|start| {
        let context = board.fiber(start.node);
        // SAFETY: stacks are freed only after all fibers have ended, or never; `starts` outlives the shift, after which no fiber
        // runs. One that is left suspended never uses again what it has borrowed.
        Some(unsafe { context.prepare(stacks.of(start.node), run_rank::<T>, (&raw mut *start).cast()) })
    });
    let fibers = fibers.collect();
    let survey = Survey::new(options.survey, chip.io.len() as u16);
    let found = stacks.found_here();
    let mut shift = Shift { board: &board, hooks, stacks: &stacks, fibers, ended: 0, leaked: false, survey };
    shift.run(options.watch, options.summoned);
    drop(found);
    let Shift { mut survey, leaked, .. } = shift;
    if !leaked {
        drop(ManuallyDrop::into_inner(stacks));
    }
    let outcomes = starts.into_iter().map(|start| start.outcome).collect();
    let report = report(&board, outcomes, chip.ticks_per_second());
    let state = board.state.borrow();
    survey.look(&state, state.machine.now(), Time::MAX);
    Ok(report)
}

fn report<T>(board: &Board, outcomes: Vec<Outcome<T>>, ticks_per_second: u64) -> Report<T> {
    let mut state = board.state.borrow_mut();
    let time = state.seats.iter().map(|seat| seat.clock).max().unwrap_or(0).max(state.machine.now());
    // The machine's time goes on to the end of the last rank, for the energy; transfers that nobody waits for end, too.
    let end = state.hold.stow(Cargo::End);
    state.machine.timer(time, Place(0), end);
    while state.step_until(time) {}
    // The machine knows nothing of time that passes on cores alone.
    let clocks = state.seats.iter().fold(state.machine.trace_hash(), |hash, seat| {
        (hash ^ seat.clock).wrapping_mul(0x100_0000_01b3).rotate_left(29)
    });
    let counts = &state.counts;
    let stats = Stats {
        time,
        ticks_per_second,
        letters: counts.letters,
        local_letters: counts.local_letters,
        transfers: counts.transfers,
        bytes: counts.bytes,
        barriers: counts.barriers,
        copies: counts.copies,
        worked: counts.worked,
        declared: counts.declared,
        registrations: counts.registrations,
        registered_before: counts.registered_before,
        evictions: counts.evictions,
        shadowed: counts.shadowed,
        calls: counts.calls,
        name_letters: counts.name_letters,
        energy: state.machine.energy(),
        peak_microwatts: state
            .machine
            .power_samples()
            .iter()
            .map(|sample| sample.microwatts)
            .max()
            .unwrap_or(0),
        trace_hash: clocks,
        events: counts.events,
    };
    let memory = state.scratchpads.report(&state.placement);
    let complaints = mem::take(&mut state.complaints);
    Report { outcomes, stats, memory, complaints }
}

fn stacks(nodes: u32, bytes: usize) -> Stacks {
    Stacks::new(nodes, bytes).unwrap_or_else(|error| fabric_local::no_stacks(nodes, bytes, &error))
}

/// What the fiber of a node begins with, and where it leaves its outcome.
struct Start<'a, T> {
    board: &'a Board,
    node: u32,
    body: &'a dyn Fn(NocFabric) -> T,
    fabric: Option<NocFabric>,
    /// `Stalled` until the fiber ends by itself.
    outcome: Outcome<T>,
}

/// What a fiber runs.
///
/// # Safety
/// `start` must point to a [`Start`] of this `T` that nobody else uses until the fiber has ended.
unsafe extern "C" fn run_rank<T>(start: *mut ()) -> ! {
    // SAFETY: the caller's promise.
    let start = unsafe { &mut *start.cast::<Start<'_, T>>() };
    let fabric = start.fabric.take().expect("a rank begins once");
    start.board.start_meter();
    start.outcome = Outcome::of(catch_unwind(AssertUnwindSafe(|| (start.body)(fabric))));
    start.board.ended.set(start.node);
    // SAFETY: this is the fiber of that node, and it has nothing left to drop.
    unsafe { start.board.end(start.node) }
}

/// The loop at work.
struct Shift<'w, 's> {
    board: &'w Board,
    hooks: &'w dyn Hooks,
    stacks: &'w Stacks,
    /// What belongs to the fibers that have not ended.
    fibers: Vec<Option<Kept>>,
    ended: u32,
    /// A fiber stays suspended for ever, so its stack must stay, too.
    leaked: bool,
    survey: Survey<'s>,
}

impl Shift<'_, '_> {
    fn run(&mut self, watch: Option<&dyn Fn(&Glance)>, summoned: Option<&AtomicBool>) {
        let mut turns = 0u64;
        while let Some(rank) = self.next() {
            self.resume(rank);
            if let Some(summoned) = summoned
                && summoned.load(Relaxed)
            {
                summoned.store(false, Relaxed);
                self.let_answer();
            }
            turns += 1;
            if turns.is_multiple_of(WATCH_INTERVAL)
                && let Some(watch) = watch
            {
                watch(&self.glance());
            }
        }
        self.take_over(NOBODY);
        if (self.ended as usize) < self.fibers.len() {
            self.give_up();
        }
    }

    /// The rank whose turn it is, after all events before; `None` if nothing is left to happen.
    fn next(&mut self) -> Option<u32> {
        let mut state = self.board.state.borrow_mut();
        loop {
            let turn = state.next_turn();
            let limit = turn.map_or(Time::MAX, |(at, _)| at);
            let pause = limit.min(self.survey.next());
            if state.step_until(pause) {
                // It may have given another rank an earlier turn.
                continue;
            }
            if pause < limit && (turn.is_some() || state.machine.next_time().is_some()) {
                let quiet_until = state.machine.next_time().map_or(limit, |at| at.min(limit));
                self.survey.look(&state, pause, quiet_until);
                continue;
            }
            let (at, rank) = turn?;
            state.take_turn(at, rank);
            return Some(rank);
        }
    }

    fn glance(&self) -> Glance {
        let state = self.board.state.borrow();
        Glance {
            time: state.machine.now(),
            events: state.counts.events,
            ended: self.ended,
            nodes: self.fibers.len() as u32,
        }
    }

    fn resume(&mut self, rank: u32) {
        if self.fibers[rank as usize].is_none() {
            return;
        }
        take_over(self.board, self.hooks, rank);
        // SAFETY: this is the loop, and a fiber that has not ended is suspended or has yet to begin.
        unsafe { self.board.resume(rank) };
        if self.board.ended.replace(NOBODY) == rank {
            self.take_over(NOBODY);
            self.board.state.borrow_mut().seat(rank).rest = Rest::Ended;
            self.fibers[rank as usize] = None;
            self.ended += 1;
            // SAFETY: the fiber owned nothing any more when it ended.
            unsafe { self.stacks.clear(rank) };
        }
    }

    fn take_over(&self, rank: u32) {
        take_over(self.board, self.hooks, rank);
    }

    /// Lets every rank that waits say what for. Nothing passes in virtual time, and nobody's turn changes.
    #[cold]
    fn let_answer(&mut self) {
        self.board.glancing.set(true);
        for rank in 0..self.fibers.len() as u32 {
            let asleep = self.board.state.borrow_mut().seat(rank).asleep;
            if asleep {
                self.resume(rank);
            }
        }
        self.board.glancing.set(false);
        self.take_over(NOBODY);
    }

    /// Fibers that wait for ever are told so and end, where that may be, or stay what they are once they have said what they wait for.
    #[cold]
    fn give_up(&mut self) {
        self.board.stalled.set(true);
        for rank in 0..self.fibers.len() {
            self.resume(rank as u32);
            if let Some(fiber) = self.fibers[rank].take() {
                // Its stack cannot be unwound, and what lies on it must stay: others may hold addresses of it.
                let _kept = ManuallyDrop::new(fiber);
                self.leaked = true;
            }
        }
        self.take_over(NOBODY);
    }
}

/// Tells the hooks whose code this thread runs from now on.
fn take_over(board: &Board, hooks: &dyn Hooks, rank: u32) {
    let before = board.current.replace(rank);
    if rank != NOBODY {
        if before != rank {
            hooks.enter(rank);
        }
    } else if before != NOBODY {
        hooks.leave(before);
    }
}

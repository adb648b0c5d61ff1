//! The loop that runs whatever comes first in virtual time: an event of the machine, or a rank.
//!
//! All ranks are fibers of the calling thread. A rank runs until it gives way or waits; nothing on the way of a switch allocates,
//! locks or calls the system.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use fabric::Node;
use fabric_local::{Hooks, Outcome};
use sim::{Machine, Place, Time};

use crate::board::{Board, Go, NOBODY};
use crate::caps::caps;
use crate::cargo::Cargo;
use crate::job::{Glance, Options, Report, RunError, Stats};
use crate::names::Names;
use crate::noc::NocFabric;
use crate::placement::Placement;
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
/// If there is no memory for stacks, or a hook panics.
pub fn run<T>(
    options: &Options<'_>,
    hooks: &dyn Hooks,
    body: &dyn Fn(NocFabric) -> T,
) -> Result<Report<T>, RunError> {
    let chip = options.chip;
    let placement =
        Placement::new(chip, options.ranks, options.map, options.io).map_err(RunError::Placement)?;
    let ipc = *chip.ipc(&options.software.ipc).ok_or_else(|| RunError::Software {
        ipc: options.software.ipc.clone(),
        chip: chip.name.clone(),
        known: chip.ipc.iter().map(|(name, _)| name.clone()).collect(),
    })?;
    let scratchpads = Scratchpads::new(options, &placement)?;
    let nodes = placement.nodes();
    let costs = |place| if chip.io_at(place).is_some() { ipc.io } else { ipc.cluster };
    let state = State::new(Machine::new(chip), placement, scratchpads, costs, chip.places());
    let names = options.software.name_service.then(|| Names::new(chip, nodes));
    let board = Rc::new(Board::new(state, chip, caps(chip, &ipc), names, options));
    let fibers = (0..nodes).map(|node| Some(start(node, options, &board, body))).collect();
    let survey = Survey::new(options.survey, chip.io.len() as u16);
    let mut shift = Shift { board: &board, hooks, fibers, outcomes: Vec::new(), ended: 0, survey };
    shift.outcomes.resize_with(nodes as usize, || Outcome::Stalled);
    shift.run(options.watch);
    let Shift { outcomes, mut survey, .. } = shift;
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

type Fiber<T> = Coroutine<Go, (), Outcome<T>, DefaultStack>;

/// Makes the fiber of a node.
fn start<T>(node: u32, options: &Options<'_>, board: &Rc<Board>, body: &dyn Fn(NocFabric) -> T) -> Fiber<T> {
    let bytes = options.stack_bytes;
    let stack = DefaultStack::new(bytes)
        .unwrap_or_else(|error| panic!("no stack of {bytes} bytes for a rank: {error}"));
    let fabric = NocFabric::new(board, Node(node));
    let board = board.clone();
    // SAFETY: `body` and the outcome's type outlive the call of `run`, which does not return before every fiber has either ended
    // or been leaked; a leaked one never runs again, so what it borrowed is never used again.
    unsafe {
        Coroutine::with_stack_unchecked(stack, move |yielder, go: Go| {
            board.set_yielder(node, yielder);
            board.start_meter();
            let outcome = match go {
                Go::On => Outcome::of(catch_unwind(AssertUnwindSafe(|| body(fabric)))),
                Go::Stalled => Outcome::Stalled,
            };
            board.set_yielder(node, std::ptr::null());
            outcome
        })
    }
}

/// The loop at work.
struct Shift<'w, T> {
    board: &'w Board,
    hooks: &'w dyn Hooks,
    fibers: Vec<Option<Fiber<T>>>,
    outcomes: Vec<Outcome<T>>,
    ended: u32,
    survey: Survey<'w>,
}

impl<T> Shift<'_, T> {
    fn run(&mut self, watch: Option<&dyn Fn(&Glance)>) {
        let mut turns = 0u64;
        while let Some(rank) = self.next() {
            self.resume(rank, Go::On);
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

    fn resume(&mut self, rank: u32, go: Go) {
        let Some(fiber) = &mut self.fibers[rank as usize] else { return };
        take_over(self.board, self.hooks, rank);
        if let CoroutineResult::Return(outcome) = fiber.resume(go) {
            self.take_over(NOBODY);
            self.board.state.borrow_mut().seat(rank).rest = Rest::Ended;
            self.outcomes[rank as usize] = outcome;
            self.fibers[rank as usize] = None;
            self.ended += 1;
        }
    }

    fn take_over(&self, rank: u32) {
        take_over(self.board, self.hooks, rank);
    }

    /// The outcomes of fibers that wait for ever are `Stalled` already, unless one catches the unwinding and ends by itself.
    #[cold]
    fn give_up(&mut self) {
        self.board.stalled.set(true);
        for rank in 0..self.fibers.len() {
            self.resume(rank as u32, Go::Stalled);
            if let Some(fiber) = self.fibers[rank].take() {
                // Its stack cannot be unwound, and what lies on it must stay: others may hold addresses of it.
                mem::forget(fiber);
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

//! How calls of threads that call at once come into the lanes of their process, and leave them.
//!
//! A call is in the lane of the communicator, request or message that it is about, which its handle tells; calls about nothing of these are in the first. **Invariant:** a thread is inside one
//! lane at a time, so nobody waits for a lane while it keeps another one busy. A callback that calls about something in another lane, and a call that has to do with several,
//! give their lane up meanwhile.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use runtime::{Lanes, Turnstile};

use super::current;
use super::lanes::{Beside, Seat};
use super::state::State;
use crate::abi::constants::MPI_THREAD_MULTIPLE;

/// In the note of the lane that a thread is in: it has given another one up for it, and goes back there.
const CROSSED: usize = 1 << 8;

/// What a thread goes back to after a call about another lane.
struct Paused {
    note: usize,
    /// How deep it was in that lane, if it has given it up.
    depth: Option<u32>,
    /// How deep it was in the other lane before the call.
    until: u32,
}

thread_local! {
    static PAUSED: RefCell<Vec<Paused>> = const { RefCell::new(Vec::new()) };
}

impl State {
    /// Opens lanes, for a process whose threads may call at once; false if there is one only, as for checks, which follow one
    /// call at a time.
    pub(super) fn open_lanes(&'static self) -> bool {
        if self.thread_level.load(Ordering::Relaxed) < MPI_THREAD_MULTIPLE || self.check().is_some() {
            return false;
        }
        let Some(lanes) = Lanes::open(self.rank(), &self.turnstile, runtime::lanes_wanted()) else {
            return false;
        };
        self.first.take_turns(&self.turnstile);
        self.beside.set(Beside::new(lanes)).is_ok()
    }

    #[inline(always)]
    pub(crate) fn has_lanes(&self) -> bool {
        self.beside.get().is_some()
    }

    pub(crate) fn number_of_lanes(&self) -> u32 {
        self.beside.get().map_or(1, |beside| beside.lanes.all().len() as u32)
    }

    /// From now on the lane has something to look after.
    pub(crate) fn use_lane(&self, lane: u32) {
        if let Some(beside) = self.beside.get() {
            beside.lanes.use_lane(lane);
        }
    }

    /// What the interface keeps of a lane.
    #[inline]
    pub(crate) fn seat(&self, lane: u32) -> &Seat {
        match self.beside.get() {
            Some(beside) if lane != 0 => beside.seat(lane),
            _ => &self.first,
        }
    }

    fn turnstile_of(&self, lane: u32) -> &'static Turnstile {
        self.seat(lane).turnstile().expect("only threads of a process with lanes are in one")
    }

    /// The calling thread comes into the lane of a seat, for a call: false if there is one lane only.
    #[inline(always)]
    pub(crate) fn come_in(&self, seat: &Seat) -> bool {
        match seat.turnstile() {
            None => false,
            // As a rule it was in the same one before: the note stays when it leaves.
            Some(turnstile) if current::inside() == seat.lane as usize + 1 && turnstile.slip_in() => true,
            Some(turnstile) => self.come_in_slowly(seat.lane, turnstile),
        }
    }

    #[inline(never)]
    fn come_in_slowly(&self, lane: u32, turnstile: &Turnstile) -> bool {
        if current::inside() & !CROSSED != lane as usize + 1 {
            self.change_lanes(lane, turnstile);
        }
        turnstile.enter();
        true
    }

    /// It leaves the lane again, unless this was an inner call, and is back in the one that it has given up. False if there is one lane only.
    #[inline(always)]
    pub(crate) fn go_out(&self, seat: &Seat) -> bool {
        match seat.turnstile() {
            None => false,
            Some(turnstile) if current::inside() & CROSSED == 0 && turnstile.slip_out() => true,
            Some(turnstile) => self.go_out_slowly(turnstile),
        }
    }

    #[inline(never)]
    fn go_out_slowly(&self, turnstile: &Turnstile) -> bool {
        turnstile.leave();
        if current::inside() & CROSSED != 0 {
            self.return_to_another(turnstile.depth_inside());
        }
        true
    }

    /// The thread is about to come into another lane than before. If it is still inside that one, a callback of the program's calls about something else, or a call has to do with several: it
    /// gives it up.
    #[cold]
    fn change_lanes(&self, lane: u32, to: &Turnstile) {
        let before = current::inside();
        let other = (before & !CROSSED).checked_sub(1).map(|other| self.turnstile_of(other as u32));
        let depth = other.filter(|other| other.is_inside()).map(Turnstile::pause);
        // A thread that waits in a lane, and looks after others meanwhile, is outside of it: there is nothing to give up, but a note to go back to.
        if depth.is_none() && before & CROSSED == 0 {
            return current::set_inside(lane as usize + 1);
        }
        PAUSED
            .with_borrow_mut(|paused| paused.push(Paused { note: before, depth, until: to.depth_inside() }));
        current::set_inside((lane as usize + 1) | CROSSED);
    }

    /// Goes back, if the thread is no deeper in its lane than when it came there.
    #[cold]
    fn return_to_another(&self, depth: u32) {
        let Some(paused) = PAUSED.with_borrow_mut(|paused| paused.pop_if(|last| last.until == depth)) else {
            return;
        };
        if let Some(depth) = paused.depth {
            self.turnstile_of((paused.note & !CROSSED) as u32 - 1).resume(depth);
        }
        current::set_inside(paused.note);
    }

    #[inline(never)]
    fn step_over(&self, to: u32) {
        self.come_in(self.seat(to));
    }

    #[inline(never)]
    fn step_back(&self, from: u32) {
        self.go_out(self.seat(from));
    }

    /// Does something in the first lane, for a thread that need not be inside of any.
    pub(crate) fn in_first_lane<T>(&self, act: impl FnOnce() -> T) -> T {
        if self.has_lanes() {
            return self.cross(0, act);
        }
        if !self.takes_turns() {
            return act();
        }
        self.turnstile.enter();
        let result = act();
        self.turnstile.leave();
        result
    }

    /// Does something in another lane than the one that the calling thread is inside, which it gives up meanwhile.
    pub(crate) fn cross<T>(&self, to: u32, act: impl FnOnce() -> T) -> T {
        self.step_over(to);
        let result = act();
        self.step_back(to);
        result
    }
}

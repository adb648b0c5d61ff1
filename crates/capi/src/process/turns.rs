//! How calls of threads that call at once come into the lanes of their process, and leave them.
//!
//! A call is in the lane of the communicator, request or message that it is about, which its handle tells; calls about nothing of these are in the first. **Invariant:** a thread is inside one
//! lane at a time, so nobody waits for a lane while it keeps another one busy. A callback that calls about something in another lane, and a call that has to do with several,
//! give their lane up meanwhile.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use engine::Rank;
use runtime::last_call::Words;
use runtime::{Lanes, Turnstile};

use super::current;
use super::lanes::{Beside, Own};
use super::state::State;
use crate::abi::constants::MPI_THREAD_MULTIPLE;
use crate::handles::Requests;

/// Set in the note of the lane that a thread is inside, above the lane's number and one, if it has given another one up for it.
const HAS_PAUSED: usize = 1 << 8;

thread_local! {
    /// The lanes that this thread has given up for calls about others, and how deep it was in them.
    static PAUSED: RefCell<Vec<(u32, u32)>> = const { RefCell::new(Vec::new()) };
}

impl State {
    /// Opens lanes, for a process whose threads may call at once; false if there is one only.
    pub(super) fn open_lanes(&'static self) -> bool {
        if self.thread_level.load(Ordering::Relaxed) < MPI_THREAD_MULTIPLE {
            return false;
        }
        let Some(lanes) = Lanes::open(self.rank(), &self.turnstile, runtime::lanes_wanted()) else {
            return false;
        };
        self.types.expect_several_threads();
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

    /// What another lane than the first has. Apart, because every call asks.
    #[inline(never)]
    fn beside(&self, lane: u32) -> (&'static Rank, &Own) {
        let beside = self.beside.get().expect("only a process with lanes has another one");
        (beside.lanes.at(lane).rank, &beside.own[lane as usize - 1])
    }

    /// The engine in a lane. Only called while MPI is active.
    #[inline(always)]
    pub(crate) fn rank_in(&self, lane: u32) -> &Rank {
        if lane == 0 { self.rank() } else { self.beside(lane).0 }
    }

    /// The requests of a lane.
    #[inline(always)]
    pub(crate) fn requests_in(&self, lane: u32) -> &Requests {
        if lane == 0 { &self.requests } else { &self.beside(lane).1.requests }
    }

    /// Where calls in a lane are noted: those of the first on the rank's sheet.
    #[inline(always)]
    pub(crate) fn noted_in(&self, lane: u32) -> &'static Words {
        if lane == 0 { self.noted.get() } else { self.beside(lane).1.noted }
    }

    #[inline(always)]
    fn turnstile_of(&self, lane: u32) -> &Turnstile {
        self.beside.get().map_or(&self.turnstile, |beside| beside.lanes.at(lane).turnstile)
    }

    /// The calling thread comes into a lane, for a call.
    #[inline]
    pub(crate) fn enter_lane(&self, lane: u32) {
        let (turnstile, inside) = (self.turnstile_of(lane), current::inside());
        let this = lane as usize + 1;
        if inside & (HAS_PAUSED - 1) == this {
            turnstile.enter();
        } else if inside == 0 {
            turnstile.enter();
            current::set_inside(this);
        } else {
            self.enter_from_another(lane, inside);
        }
    }

    /// It leaves the lane again, unless this was an inner call.
    #[inline]
    pub(crate) fn leave_lane(&self, lane: u32) {
        let turnstile = self.turnstile_of(lane);
        turnstile.leave();
        if turnstile.is_inside() {
            return;
        }
        if current::inside() & HAS_PAUSED != 0 {
            return self.return_to_another();
        }
        current::set_inside(0);
    }

    /// A callback of the program's calls about something in another lane than its own call.
    #[cold]
    fn enter_from_another(&self, lane: u32, inside: usize) {
        let other = (inside & (HAS_PAUSED - 1)) as u32 - 1;
        let turnstile = self.turnstile_of(other);
        // Not if it looks after yet another lane just now, and a reduction of the program's called.
        if !turnstile.is_inside() {
            return self.turnstile_of(lane).enter();
        }
        let depth = turnstile.pause();
        PAUSED.with_borrow_mut(|paused| paused.push((inside as u32, depth)));
        self.turnstile_of(lane).enter();
        current::set_inside((lane as usize + 1) | HAS_PAUSED);
    }

    #[cold]
    fn return_to_another(&self) {
        let Some((inside, depth)) = PAUSED.with_borrow_mut(Vec::pop) else { return };
        let other = inside as usize & (HAS_PAUSED - 1);
        self.turnstile_of(other as u32 - 1).resume(depth);
        current::set_inside(inside as usize);
    }

    /// Does something in another lane than the one that the calling thread is inside, which it gives up meanwhile.
    pub(crate) fn cross<T>(&self, from: u32, to: u32, act: impl FnOnce() -> T) -> T {
        if !self.has_lanes() {
            return act();
        }
        debug_assert_ne!(from, to, "lanes to cross between");
        self.enter_lane(to);
        let result = act();
        self.leave_lane(to);
        result
    }
}

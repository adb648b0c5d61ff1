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

thread_local! {
    /// The notes of lanes that this thread has given up for calls about others, and how deep it was in them.
    static PAUSED: RefCell<Vec<(usize, u32)>> = const { RefCell::new(Vec::new()) };
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

    /// What there is of a lane but the first. Apart, because every call asks.
    #[inline(never)]
    fn own(&self, lane: u32) -> &Own {
        let beside = self.beside.get().expect("only a process with lanes has another one");
        &beside.own[lane as usize - 1]
    }

    /// The engine in a lane. Only called while MPI is active.
    #[inline(always)]
    pub(crate) fn rank_in(&self, lane: u32) -> &Rank {
        if lane == 0 { self.rank() } else { self.own(lane).rank }
    }

    /// The requests of a lane.
    #[inline(always)]
    pub(crate) fn requests_in(&self, lane: u32) -> &Requests {
        if lane == 0 { &self.requests } else { &self.own(lane).requests }
    }

    /// Where calls in a lane are noted: those of the first on the rank's sheet.
    #[inline(always)]
    pub(crate) fn noted_in(&self, lane: u32) -> &'static Words {
        if lane == 0 { self.noted.get() } else { self.own(lane).noted }
    }

    #[inline(always)]
    fn turnstile_of(&self, lane: u32) -> &Turnstile {
        if lane == 0 { &self.turnstile } else { self.own(lane).turnstile }
    }

    /// The calling thread comes into a lane, for a call. True if it has given another one up for that.
    #[inline]
    pub(crate) fn enter_lane(&self, lane: u32) -> bool {
        // As a rule it was in the same one before, or still is: the note stays when it leaves.
        let crosses = current::inside() != lane as usize + 1 && self.change_lanes(lane);
        self.turnstile_of(lane).enter();
        crosses
    }

    /// It leaves the lane again, unless this was an inner call, and is back in the one that it has given up.
    #[inline]
    pub(crate) fn leave_lane(&self, lane: u32, crosses: bool) {
        self.turnstile_of(lane).leave();
        if crosses {
            self.return_to_another();
        }
    }

    /// The thread is about to come into another lane than before. If it is still inside that one, a callback of the program's calls about something else, or a call has to do with several: it
    /// gives it up, and this is true.
    #[inline(never)]
    fn change_lanes(&self, lane: u32) -> bool {
        let before = current::inside();
        current::set_inside(lane as usize + 1);
        let Some(other) = before.checked_sub(1).map(|other| self.turnstile_of(other as u32)) else {
            return false;
        };
        let is_inside = other.is_inside();
        if is_inside {
            PAUSED.with_borrow_mut(|paused| paused.push((before, other.pause())));
        }
        is_inside
    }

    #[cold]
    fn return_to_another(&self) {
        let Some((before, depth)) = PAUSED.with_borrow_mut(Vec::pop) else { return };
        self.turnstile_of(before as u32 - 1).resume(depth);
        current::set_inside(before);
    }

    /// Does something in another lane than the one that the calling thread is inside, which it gives up meanwhile.
    pub(crate) fn cross<T>(&self, to: u32, act: impl FnOnce() -> T) -> T {
        if !self.has_lanes() {
            return act();
        }
        let crosses = self.enter_lane(to);
        let result = act();
        self.leave_lane(to, crosses);
        result
    }
}

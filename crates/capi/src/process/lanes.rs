//! The lanes of a process (`runtime::Lanes`), as the C interface sees them: what it keeps of each.

use std::cell::Cell;

use engine::Rank;
use runtime::last_call::Words;
use runtime::{Lane, Lanes, Turnstile};

use crate::handles::Requests;

/// What is called before MPI_Init is nowhere noted.
static NOWHERE: Words = Words::new();

/// What the interface keeps of a lane, on cache lines of its own. Every call has one at hand.
#[repr(align(128))]
pub(crate) struct Seat {
    /// Which lane this is.
    pub(crate) lane: u32,
    /// The engine in this lane, once there is one.
    rank: Cell<Option<&'static Rank>>,
    /// Where calls are noted: those of the first lane on the rank's sheet.
    noted: Cell<&'static Words>,
    /// Where threads take turns at it, in a process with several lanes.
    turnstile: Cell<Option<&'static Turnstile>>,
    pub(crate) requests: Requests,
}

impl Seat {
    /// That of a process that has not joined a job.
    pub(super) fn first() -> Seat {
        Seat {
            lane: 0,
            rank: Cell::new(None),
            noted: Cell::new(&NOWHERE),
            turnstile: Cell::new(None),
            requests: Requests::default(),
        }
    }

    fn another(lane: u32, of: &'static Lane) -> Seat {
        Seat {
            lane,
            rank: Cell::new(Some(of.rank)),
            noted: Cell::new(Box::leak(Box::default())),
            turnstile: Cell::new(Some(of.turnstile)),
            requests: Requests::of_lane(lane),
        }
    }

    /// The process has joined its job.
    pub(super) fn join(&self, rank: &'static Rank, noted: &'static Words) {
        self.rank.set(Some(rank));
        self.noted.set(noted);
    }

    /// From now on there are other lanes.
    pub(super) fn take_turns(&self, turnstile: &'static Turnstile) {
        self.turnstile.set(Some(turnstile));
    }

    /// Where threads take turns at the lane, if there are several.
    #[inline(always)]
    pub(crate) fn turnstile(&self) -> Option<&'static Turnstile> {
        self.turnstile.get()
    }

    /// The engine in this lane, once the process has joined its job.
    #[inline(always)]
    pub(crate) fn joined(&self) -> Option<&'static Rank> {
        self.rank.get()
    }

    /// The engine in this lane, for a call that began before there was one. Only called while MPI is active.
    #[cold]
    #[inline(never)]
    pub(crate) fn rank(&self) -> &'static Rank {
        self.joined().expect("the entry points check that MPI is active")
    }

    /// Where calls in this lane are noted.
    #[inline(always)]
    pub(crate) fn noted(&self) -> &'static Words {
        self.noted.get()
    }
}

/// What there is besides the first lane.
pub(crate) struct Beside {
    pub(super) lanes: &'static Lanes,
    /// From lane 1 on.
    seats: Box<[Seat]>,
}

impl Beside {
    pub(super) fn new(lanes: &'static Lanes) -> Beside {
        let seat = |(lane, of): (usize, &'static Lane)| Seat::another(lane as u32, of);
        Beside { lanes, seats: lanes.all().iter().enumerate().skip(1).map(seat).collect() }
    }

    pub(super) fn seat(&self, lane: u32) -> &Seat {
        &self.seats[lane as usize - 1]
    }
}

//! The lanes of a rank whose threads call at once: an end-point each, with its own part of the engine and its own turnstile.
//!
//! A thread is inside one lane at a time. What one lane has under way must go on, too, while threads wait in others and nobody uses it: so a thread that
//! waits *looks after* the lanes that are out of use, now and then while it spins and each time before it sleeps; and it announces its sleep there as well, so that
//! whatever comes for one of them wakes it.
//!
//! A lane is in use if somebody waits in it, or if another thread has come in since the last look: then its own thread will be back. It is not disturbed; but who sleeps looks up again soon.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use engine::Rank;

use crate::turnstile::{Turnstile, TurnstileGate};

/// Most lanes that a rank can have.
pub const LANES: usize = 8;

/// One lane.
pub struct Lane {
    /// Where threads take turns at it.
    pub turnstile: &'static Turnstile,
    /// The rank in this lane.
    pub rank: &'static Rank,
}

/// The lanes of a rank.
pub struct Lanes {
    all: Vec<Lane>,
    /// A bit for each that has a communicator, or had one. Seldom written.
    used: AtomicU32,
}

// SAFETY: the ranks are used by threads inside their turnstiles only.
unsafe impl Sync for Lanes {}
// SAFETY: as said.
unsafe impl Send for Lanes {}

/// What one lane's threads have seen of the others.
#[derive(Default)]
pub(crate) struct Others {
    lanes: OnceLock<(&'static Lanes, usize)>,
    /// The entries of each at the last look.
    seen: [AtomicU32; LANES],
}

/// What a look at the other lanes found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Looked {
    /// There is nothing to look after.
    Alone,
    /// Nothing was to be done, in any of them.
    Quiet,
    /// Nothing was to be done, but some are in use.
    Busy,
    /// Something was done.
    Moved,
}

impl Lanes {
    /// Opens lanes beside the first, whose rank and turnstile these are, as far as the fabric has them; at most `wanted` in all are used. Before the second
    /// thread calls. `None` if there is only one.
    pub fn open(rank: &'static Rank, turnstile: &'static Turnstile, wanted: u32) -> Option<&'static Lanes> {
        if wanted < 2 {
            return None;
        }
        let mut all = vec![Lane { turnstile, rank }];
        // All of them, whatever is wanted: other processes may choose any for a communicator.
        for number in 1..LANES as u32 {
            let fabric = rank.fabric().open_lane(number)?;
            // Kept for the life of the process, as the first lane is.
            let turnstile: &'static Turnstile = Box::leak(Box::default());
            let rank: &'static Rank = Box::leak(Box::new(rank.beside(fabric, number)));
            all.push(Lane { turnstile, rank });
        }
        engine::expect_several_threads();
        let lanes: &'static Lanes = Box::leak(Box::new(Lanes { all, used: AtomicU32::new(1) }));
        for (number, lane) in lanes.all.iter().enumerate() {
            let gate = TurnstileGate::new(lane.turnstile, lane.rank.fabric());
            gate.others().lanes.set((lanes, number)).unwrap_or_else(|_| unreachable!("a new gate"));
            lane.rank.set_gate(Box::new(gate));
        }
        rank.open_lanes(wanted.min(LANES as u32));
        Some(lanes)
    }

    /// All of them.
    pub fn all(&self) -> &[Lane] {
        &self.all
    }

    /// From now on this lane has something to look after.
    pub fn use_lane(&self, number: u32) {
        self.used.fetch_or(1 << number, Ordering::Relaxed);
    }
}

impl Others {
    /// Whether there is nothing to look after.
    pub(crate) fn are_unused(&self) -> bool {
        self.lanes.get().is_none_or(|(lanes, own)| lanes.used.load(Ordering::Relaxed) & !(1 << own) == 0)
    }

    /// Looks after the lanes that are out of use. By a thread that is inside none; `sleeps` says that it is about to sleep, which is announced.
    pub(crate) fn look_after(&self, sleeps: bool) -> Looked {
        let Some((lanes, own)) = self.lanes.get() else { return Looked::Alone };
        let used = lanes.used.load(Ordering::Relaxed) & !(1 << own);
        let mut looked = if used == 0 { Looked::Alone } else { Looked::Quiet };
        let mut is_busy = false;
        for (number, lane) in lanes.all.iter().enumerate() {
            if used & 1 << number == 0 || lane.turnstile.has_minder() {
                continue;
            }
            let (entries, is_mine) = lane.turnstile.last_entry();
            let before = self.seen[number].swap(entries, Ordering::Relaxed);
            if (before != entries && !is_mine) || !lane.turnstile.try_enter() {
                is_busy = true;
                continue;
            }
            if lane.rank.mind() > 0 {
                looked = Looked::Moved;
            }
            if sleeps {
                // The announcement is left there: at worst somebody rings in vain.
                let _ = lane.rank.fabric().arm();
                if lane.rank.fabric().pending() {
                    looked = Looked::Moved;
                }
            }
            lane.turnstile.leave();
            self.seen[number].store(lane.turnstile.last_entry().0, Ordering::Relaxed);
        }
        if is_busy && looked == Looked::Quiet { Looked::Busy } else { looked }
    }
}

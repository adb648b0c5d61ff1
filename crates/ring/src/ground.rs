//! The core that a rank waits on, and whether others were last seen there.
//!
//! A waiter that has waited for a while notes at its doorbell where it does. Others of its job compare
//! that with where they are: what is noted may be old, and then costs them a yield, or a wait that is
//! longer than it had to be. A process with more threads than cores counts as shared with itself: its
//! other threads may wait in other lanes, or compute outside of MPI, where they note nothing.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::Endpoint;
use crate::doorbell::Doorbell;
use crate::linux::{current_core, monotonic_ns, threads_of_process, yield_core};
use crate::patience::Ground;

/// The core under a waiter that sleeps on `bell`, among others.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a, F> {
    bell: &'a Doorbell,
    others: F,
}

impl<'a, B: Iterator<Item = &'a Doorbell>, F: Fn() -> B> Place<'a, F> {
    /// Of a waiter with this doorbell among those with these; its own may be one of them.
    pub fn new(bell: &'a Doorbell, others: F) -> Place<'a, F> {
        Place { bell, others }
    }
}

impl<'a, B: Iterator<Item = &'a Doorbell>, F: Fn() -> B> Ground for Place<'a, F> {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn give_away(&self) {
        yield_core();
    }

    fn is_shared(&self) -> bool {
        let core = current_core();
        self.bell.note_core(core);
        (self.others)().any(|other| !core::ptr::eq(other, self.bell) && other.was_on(core))
    }

    fn is_crowded(&self) -> bool {
        // Those who wait here are all the threads there are: they know where each other is.
        false
    }
}

/// True if the rank of an end-point, one of `ranks` of its job with numbers in a row, waits on a core that another of them was last seen on.
#[cold]
pub fn is_shared(endpoint: &Endpoint, ranks: u32) -> bool {
    let (me, exchange) = (endpoint.me().0, endpoint.exchange());
    let near = me.saturating_sub(ranks)..me.saturating_add(ranks).min(exchange.geometry().ranks());
    Place::new(endpoint.my_doorbell(), || near.clone().map(|rank| exchange.doorbell(rank))).is_shared()
}

/// True if the process has more threads than `cores`.
#[cold]
pub fn has_more_threads_than(cores: u32) -> bool {
    /// The threads are counted once in this time: to count them costs some microseconds.
    const VALID_NS: u64 = 10_000_000;
    const THREAD_BITS: u32 = 16;
    /// When the threads were counted, with their number in the lowest bits.
    static COUNTED: AtomicU64 = AtomicU64::new(0);

    let (now, counted) = (monotonic_ns(), COUNTED.load(Ordering::Relaxed));
    let threads = if counted != 0 && now.saturating_sub(counted >> THREAD_BITS << THREAD_BITS) < VALID_NS {
        counted & ((1 << THREAD_BITS) - 1)
    } else {
        let threads = u64::from(threads_of_process()).min((1 << THREAD_BITS) - 1);
        COUNTED.store(now >> THREAD_BITS << THREAD_BITS | threads, Ordering::Relaxed);
        threads
    };
    threads > cores.into()
}

/// Makes a fabric, which has an `endpoint`, the ground that its rank waits on. `$ranks` says how many
/// ranks its job has, and `$cores` how many cores the threads of its process may count on.
#[macro_export]
macro_rules! wait_on_this_core {
    ($fabric:ty, $ranks:expr, $cores:expr) => {
        impl $crate::patience::Ground for $fabric {
            fn now_ns(&self) -> u64 {
                $crate::linux::monotonic_ns()
            }

            fn give_away(&self) {
                $crate::linux::yield_core();
            }

            fn is_shared(&self) -> bool {
                let ranks: fn(&$fabric) -> u32 = $ranks;
                $crate::ground::is_shared(&self.endpoint, ranks(self))
            }

            fn is_crowded(&self) -> bool {
                let cores: fn(&$fabric) -> u32 = $cores;
                $crate::ground::has_more_threads_than(cores(self))
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_the_process_are_counted() {
        // The harness runs each test in a thread of its own, beside the main thread.
        assert!(threads_of_process() >= 2);
        assert!(has_more_threads_than(1));
        assert!(!has_more_threads_than(60_000));
    }

    #[test]
    fn a_core_is_shared_with_those_who_were_last_seen_there() {
        let bells = [Doorbell::new(), Doorbell::new(), Doorbell::new()];
        let place = Place::new(&bells[0], || bells.iter());
        // This thread may be moved between two looks; then it looks again.
        let shared = |expected: bool| {
            (0..100).any(|_| {
                let core = current_core();
                bells[1].note_core(if expected { core } else { core + 1 });
                place.is_shared() == expected && core == current_core()
            })
        };
        assert!(!place.is_shared(), "nobody has noted anything");
        assert!(shared(true));
        assert!(shared(false));
    }
}

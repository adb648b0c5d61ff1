//! The core that a rank waits on, and whether others were last seen there.
//!
//! A waiter that has waited for a while notes at its doorbell where it does. Others of its job compare that with where they are: what is noted may be old, and then
//! costs them a yield, or a wait that is longer than it had to be.

use crate::Endpoint;
use crate::doorbell::Doorbell;
use crate::linux::{current_core, monotonic_ns, yield_core};
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
}

/// True if the rank of an end-point, one of `ranks` of its job with numbers in a row, waits on a core that another of them was last seen on.
#[cold]
pub fn is_shared(endpoint: &Endpoint, ranks: u32) -> bool {
    let (me, exchange) = (endpoint.me().0, endpoint.exchange());
    let near = me.saturating_sub(ranks)..me.saturating_add(ranks).min(exchange.geometry().ranks());
    Place::new(endpoint.my_doorbell(), || near.clone().map(|rank| exchange.doorbell(rank))).is_shared()
}

/// Makes a fabric, which has an `endpoint`, the ground that its rank waits on; `$ranks` says how many ranks its job has.
#[macro_export]
macro_rules! wait_on_this_core {
    ($fabric:ty, $ranks:expr) => {
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
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

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

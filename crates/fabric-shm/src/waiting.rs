//! When a waiting rank spins, yields and sleeps.
//!
//! Decided once, from the number of ranks and of the cores they share: with a core for every rank, spinning gives the best
//! latency; with fewer, it keeps the awaited rank from running.
//!
//! **Invariant:** a rank sleeps only on its own doorbell, and only after it has announced that, run the barrier that the
//! doorbell asks for, and looked for work once more.

use fabric::Idle;
use ring::Endpoint;
use ring::linux::{HeavyBarrier, Sharing, futex_wait, futex_wake, yield_core};
use ring::sync::{Ordering, fence};

use crate::tuning::{CROWDED_YIELD_ROUNDS, EAGER_ROUNDS, SPIN_ROUNDS, YIELD_ROUNDS};

/// How this rank waits and wakes.
pub(crate) struct Waiting {
    /// Every rank has a core of its own.
    roomy: bool,
    /// The heavy barriers of sleepers reach this process: its posts need no fence where the receiver has promised one.
    registered: bool,
    /// The barrier that this rank runs before it sleeps.
    barrier: Barrier,
}

#[derive(Clone, Copy)]
enum Barrier {
    Heavy(HeavyBarrier),
    Fence,
}

impl Waiting {
    /// Every rank registers for heavy barriers, if the kernel lets it. Only ranks with a core of their own promise them: the
    /// others sleep so often that an interrupt on every core each time would cost more than the posters' fences.
    pub(crate) fn new(ranks: u32, cores: usize, endpoint: &Endpoint) -> Waiting {
        let roomy = ranks as usize <= cores;
        let heavy = HeavyBarrier::register(Sharing::Processes);
        let barrier = match heavy {
            Some(heavy) if roomy => {
                endpoint.my_doorbell().promise_heavy_barrier();
                Barrier::Heavy(heavy)
            }
            _ => Barrier::Fence,
        };
        Waiting { roomy, registered: heavy.is_some(), barrier }
    }

    /// One park (see [`fabric::Park::park`]).
    #[inline]
    pub(crate) fn park(&self, endpoint: &Endpoint, rounds: u32, idle: Idle) {
        if self.roomy && rounds < SPIN_ROUNDS {
            if rounds >= EAGER_ROUNDS {
                std::hint::spin_loop();
            }
            return;
        }
        self.park_long(endpoint, rounds, idle);
    }

    #[cold]
    fn park_long(&self, endpoint: &Endpoint, rounds: u32, idle: Idle) {
        let yields = if self.roomy { SPIN_ROUNDS + YIELD_ROUNDS } else { CROWDED_YIELD_ROUNDS };
        if rounds < yields || idle == Idle::Briefly {
            yield_core();
        } else {
            self.sleep(endpoint);
        }
    }

    fn sleep(&self, endpoint: &Endpoint) {
        let bell = endpoint.my_doorbell();
        let armed = bell.arm(|| match self.barrier {
            Barrier::Heavy(heavy) => heavy.run(),
            Barrier::Fence => fence(Ordering::SeqCst),
        });
        if !endpoint.pending() {
            futex_wait(bell.word(), armed, Sharing::Processes);
        }
        // Woken, interrupted, or not asleep at all: in each case the rank is awake now, whoever cleared the flag.
        bell.disarm();
    }

    /// To be called after a letter or signal to `to` was published.
    #[inline(always)]
    pub(crate) fn wake(&self, endpoint: &Endpoint, to: u32) {
        let bell = endpoint.exchange().doorbell(to);
        if bell.ring(self.registered) {
            futex_wake(bell.word(), Sharing::Processes);
        }
    }
}

//! What loom has in place of futexes: sleepers block on a condition variable.

use loom::sync::{Condvar, Mutex};
use loom::thread;
use ring::Doorbell;
use ring::sync::{Ordering, fence};

/// As `ring::waiting::Waiting` of waiters that promise no heavy barrier.
#[derive(Default)]
pub struct Waiting {
    lock: Mutex<()>,
    woken: Condvar,
}

impl Waiting {
    /// Announces sleep.
    pub fn arm(&self, bell: &Doorbell) -> u32 {
        bell.arm(|| fence(Ordering::SeqCst))
    }

    /// Sleeps while the announcement stands. There is no limit.
    pub fn sleep(&self, bell: &Doorbell, _: u32, _: Option<u64>) -> bool {
        let mut guard = self.lock.lock().unwrap();
        while bell.is_armed() {
            guard = self.woken.wait(guard).unwrap();
        }
        false
    }

    /// True if the owner of `bell` sleeps.
    pub fn finds_asleep(&self, bell: &Doorbell) -> bool {
        bell.finds_asleep(false)
    }

    /// Wakes the owner of `bell`.
    pub fn wake(&self, _: &Doorbell) {
        let _guard = self.lock.lock().unwrap();
        self.woken.notify_all();
    }
}

/// Lets others run.
pub fn yield_core() {
    thread::yield_now();
}

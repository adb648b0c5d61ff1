//! The hardware: a board of cores with one memory, as its manual might describe it.
//!
//! Every core has a queue of eight messages of 120 bytes, four event counters and an interrupt line; a wire counts how often cores have pulled it. On the real board these are
//! registers; here, locks and counters of the host stand in for them, and a thread for each core.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Messages that a queue holds.
pub const SLOTS: usize = 8;
/// Bytes of a message.
pub const MESSAGE: usize = 120;

/// One message in a queue.
pub struct Message {
    /// The core that sent it.
    pub from: u32,
    /// Its bytes.
    pub bytes: [u8; MESSAGE],
    /// How many of them count.
    pub length: usize,
}

/// What one core has.
#[derive(Default)]
pub struct Core {
    queue: Mutex<VecDeque<Message>>,
    interrupt: Condvar,
    events: [AtomicU64; 4],
    /// Of the first core: how often the wire was pulled.
    wire: AtomicU64,
}

impl Core {
    /// Puts a message into the queue and interrupts the core; false if the queue is full.
    pub fn deliver(&self, message: Message) -> bool {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = queue.len() < SLOTS;
        if fits {
            queue.push_back(message);
            self.interrupt.notify_one();
        }
        fits
    }

    /// Takes the oldest message.
    pub fn take(&self) -> Option<Message> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Raises an event counter and interrupts the core.
    pub fn raise(&self, lane: usize) {
        self.events[lane].fetch_add(1, Ordering::Release);
        self.interrupt();
    }

    /// Interrupts the core.
    pub fn interrupt(&self) {
        // Under the lock, so that a core that is about to sleep has seen what it is interrupted for, or sleeps already.
        let _queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.interrupt.notify_one();
    }

    /// Pulls the wire; how often it was pulled before.
    pub fn pull_wire(&self) -> u64 {
        self.wire.fetch_add(1, Ordering::AcqRel)
    }

    /// How often the wire was pulled.
    pub fn pulls(&self) -> u64 {
        self.wire.load(Ordering::Acquire)
    }

    /// Reads an event counter.
    pub fn events(&self, lane: usize) -> u64 {
        self.events[lane].load(Ordering::Acquire)
    }

    /// True if the queue is not empty.
    pub fn has_message(&self) -> bool {
        !self.queue.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Sleeps until there is a message, `woken` says that there is an event, or the time is over.
    pub fn sleep(&self, woken: impl Fn() -> bool, most: Option<Duration>) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |queue: &mut VecDeque<Message>| queue.is_empty() && !woken();
        match most {
            None => drop(self.interrupt.wait_while(queue, idle).unwrap_or_else(PoisonError::into_inner)),
            Some(most) => drop(self.interrupt.wait_timeout_while(queue, most, idle)),
        }
    }
}

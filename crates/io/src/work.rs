//! Threads for transfers that the program does not wait for.
//!
//! There are few of them in a process, whatever ranks it has, and none before the first such transfer. A rank that sleeps is woken by its bell when one of its
//! transfers has ended.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fabric::Alarm;

/// Most threads.
const THREADS: usize = 4;

/// Wakes the rank that a transfer is for. A rank that nobody can wake does its transfers itself.
pub(crate) type Bell = Arc<dyn Alarm>;

/// Something that is done now, or by a thread.
pub(crate) enum Ticket<T> {
    Done(T),
    Pending(Arc<Mutex<Option<T>>>),
    /// The result was taken.
    Gone,
}

impl<T: Send + 'static> Ticket<T> {
    /// Has a thread do it, if there is a bell.
    pub fn begin(bell: Option<&Bell>, job: impl FnOnce() -> T + Send + 'static) -> Ticket<T> {
        let Some(bell) = bell.cloned() else { return Ticket::Done(job()) };
        let result = Arc::new(Mutex::new(None));
        let there = Arc::clone(&result);
        POOL.give(Box::new(move || {
            let done = job();
            *there.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
            bell.ring();
        }));
        Ticket::Pending(result)
    }

    /// The result, once.
    pub fn take(&mut self) -> Option<T> {
        match std::mem::replace(self, Ticket::Gone) {
            Ticket::Done(result) => Some(result),
            Ticket::Gone => None,
            Ticket::Pending(place) => {
                let result = place.lock().unwrap_or_else(PoisonError::into_inner).take();
                if result.is_none() {
                    *self = Ticket::Pending(place);
                }
                result
            }
        }
    }

    pub fn is_pending(&self) -> bool {
        matches!(self, Ticket::Pending(_))
    }
}

type Job = Box<dyn FnOnce() + Send>;

struct Pool {
    queue: Mutex<Queue>,
    has_more: Condvar,
}

struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

static POOL: Pool = Pool {
    queue: Mutex::new(Queue { jobs: VecDeque::new(), threads: 0, idle: 0 }),
    has_more: Condvar::new(),
};

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&'static self, job: Job) {
        let mut queue = self.lock();
        queue.jobs.push_back(job);
        if queue.idle < queue.jobs.len() && queue.threads < THREADS {
            let named = std::thread::Builder::new().name("corelace file".into()).stack_size(256 << 10);
            if named.spawn(move || self.work()).is_ok() {
                queue.threads += 1;
            } else if queue.threads == 0 {
                // The system has no thread for it.
                let job = queue.jobs.pop_back();
                drop(queue);
                return job.into_iter().for_each(|job| job());
            }
        }
        drop(queue);
        self.has_more.notify_one();
    }

    fn work(&self) {
        // Signals are for the program's threads.
        // SAFETY: a set of signals on this stack; the call changes this thread's mask only.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        }
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job();
                queue = self.lock();
            } else {
                queue.idle += 1;
                queue = self.has_more.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        }
    }
}

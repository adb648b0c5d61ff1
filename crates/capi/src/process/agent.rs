//! The agent: a thread of the library's that makes progress while the program computes, on request (`CORELACE_AGENT=1`).
//!
//! It is one more thread that takes turns with those of the program, and that always waits: it minds the fabric whenever no thread of the program does,
//! asleep until something comes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use engine::Rank;
use runtime::Turnstile;

/// Frames of the engine, and reductions of the program's that a collective runs.
const STACK_BYTES: usize = 1 << 20;

static LEAVE: AtomicBool = AtomicBool::new(false);

/// The running agent.
pub(crate) struct Agent(JoinHandle<()>);

struct Shared {
    rank: &'static Rank,
    turnstile: &'static Turnstile,
}
// SAFETY: the agent uses the rank inside the turnstile only.
unsafe impl Send for Shared {}

impl Agent {
    /// Starts it. Threads must take turns already. `None`, with a sentence, if the system has no thread for it.
    pub(crate) fn start(rank: &'static Rank, turnstile: &'static Turnstile) -> Option<Agent> {
        // A process may become active again, by a session.
        LEAVE.store(false, Ordering::Relaxed);
        let shared = Shared { rank, turnstile };
        let body = move || {
            let Shared { rank, turnstile } = { shared };
            // Signals are for the program's threads.
            // SAFETY: a set of signals on this stack; the call changes this thread's mask only.
            unsafe {
                let mut all = std::mem::zeroed();
                libc::sigfillset(&mut all);
                libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
            }
            turnstile.serve();
            turnstile.enter();
            // A rank that is poisoned says so in the calls of its program.
            let _ = rank.wait_until(|_| LEAVE.load(Ordering::Relaxed));
            turnstile.leave();
        };
        let named = std::thread::Builder::new().name("corelace agent".into()).stack_size(STACK_BYTES);
        named
            .spawn(body)
            .map(Agent)
            .inspect_err(|error| {
                eprintln!("corelace: CORELACE_AGENT=1, but there is no thread for the agent: {error}")
            })
            .ok()
    }

    /// Ends it. Called inside the turnstile, by the thread that finalises.
    pub(crate) fn stop(self, rank: &Rank, turnstile: &Turnstile) {
        LEAVE.store(true, Ordering::Relaxed);
        rank.stir();
        turnstile.outside(|| _ = self.0.join());
    }
}

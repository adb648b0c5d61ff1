//! The end of a long turn: a fiber that computes without a call of the library gives way to those
//! that wait for its worker.
//!
//! Fibers hand over to each other when they park. One that does not would keep its worker for
//! itself, and with it the ranks that share it: they could not even end the job. So a timer of the
//! worker's processor time interrupts it. A fiber that has had the worker for [`BEATS`] beats while
//! others were ready is suspended inside of the handler, and goes on there when its turn comes.
//!
//! **Invariant:** a fiber is interrupted in the code of its own program only, on its own stack,
//! outside of handlers and of what the library calls back ([`Whole`]). So it holds no lock of the
//! library or of libc, and is in the midst of none of their work. It goes on where it was, on the
//! same thread, as all fibers do.
//!
//! The timer counts processor time, so no fiber is interrupted on a thread that sleeps, and a busy
//! machine changes nothing. A program that handles or blocks SIGURG has turns without end.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ops::Range;
use std::ptr;

use crate::crew::{Crew, NOBODY, Worker};
use crate::stack::stack_of_rank;

/// Nobody's default action, what debuggers pass on without stopping, and what programs must expect
/// at any time.
const SIGNAL: c_int = libc::SIGURG;

/// Processor time between two beats.
const BEAT_NS: i64 = 25_000_000;

/// Beats for which a fiber may have its worker while others are ready: 100 ms.
const BEATS: u32 = 4;

thread_local! {
    /// The worker of this thread. Without a destructor and without lazy initialisation: a signal
    /// handler reads it.
    static HERE: Cell<*const Slices<'static>> = const { Cell::new(ptr::null()) };
    /// How many times the library has called the program back, on this thread, in the midst of its
    /// own work.
    static WHOLE: Cell<u32> = const { Cell::new(0) };
}

/// The turns of one worker. The timer runs while this is there.
pub(crate) struct Slices<'w> {
    crew: &'w Crew,
    worker: &'w Worker,
    /// Where the program of each rank lies.
    code: &'w [Range<usize>],
    /// The signals that the worker blocks by itself.
    mask: u64,
    timer: Option<libc::timer_t>,
    /// The worker's turn at the last beat, and for how many beats it has been that.
    turn: Cell<u64>,
    beats: Cell<u32>,
}

impl<'w> Slices<'w> {
    /// Slices for the worker of the calling thread. Nothing happens before
    /// [`begin`](Slices::begin).
    pub fn new(crew: &'w Crew, worker: &'w Worker, code: &'w [Range<usize>]) -> Slices<'w> {
        let (turn, beats) = (Cell::new(0), Cell::new(0));
        Slices { crew, worker, code, mask: blocked(), timer: None, turn, beats }
    }

    /// Starts the timer, unless the program's code is not known or the signal is not free. Must not
    /// move from now on.
    pub fn begin(&mut self) {
        if self.code.is_empty() || !handles_signal() {
            return;
        }
        HERE.set(ptr::from_ref(self).cast());
        WHOLE.set(0);
        // SAFETY: all-zero bytes are valid for both; the kernel reads them during the calls. A
        // refusal leaves turns without end.
        unsafe {
            let mut event: libc::sigevent = zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = SIGNAL;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer: libc::timer_t = ptr::null_mut();
            if libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &mut event, &mut timer) == 0 {
                let beat = libc::timespec { tv_sec: 0, tv_nsec: BEAT_NS };
                let time = libc::itimerspec { it_interval: beat, it_value: beat };
                libc::timer_settime(timer, 0, &time, ptr::null_mut());
                self.timer = Some(timer);
            }
        }
    }

    /// One beat, in the handler, which has interrupted the thread at an instruction.
    fn beat(&self, instruction: usize, stack: usize, mask: u64) {
        let turn = self.worker.turns();
        if self.turn.replace(turn) != turn {
            self.beats.set(0);
            return;
        }
        self.beats.set(self.beats.get().saturating_add(1));
        let me = self.worker.current.get();
        if self.beats.get() < BEATS || me == NOBODY || WHOLE.get() > 0 || mask != self.mask {
            return;
        }
        let is_own =
            |range: Option<Range<usize>>, address| range.is_some_and(|range| range.contains(&address));
        if is_own(self.code.get(me as usize).cloned(), instruction) && is_own(stack_of_rank(me), stack) {
            self.crew.interrupt(self.worker, me);
        }
    }
}

impl Drop for Slices<'_> {
    fn drop(&mut self) {
        HERE.set(ptr::null());
        if let Some(timer) = self.timer {
            // SAFETY: made by `begin`, and deleted once.
            unsafe { libc::timer_delete(timer) };
        }
    }
}

/// The thread's turn does not end while this is there: the library has called the program back in
/// the midst of its own work.
pub struct Whole(());

impl Whole {
    /// From now on.
    #[must_use = "it ends when this is dropped"]
    #[inline]
    pub fn turn() -> Whole {
        WHOLE.set(WHOLE.get() + 1);
        Whole(())
    }
}

impl Drop for Whole {
    #[inline]
    fn drop(&mut self) {
        WHOLE.set(WHOLE.get() - 1);
    }
}

/// Makes the signal ours, unless somebody else has it.
fn handles_signal() -> bool {
    // SAFETY: all-zero bytes are a valid sigaction; the handler keeps to what a handler may do, and
    // is no more restricted where it switches to another fiber. Other signals are not blocked: the
    // fiber that goes on has not asked for that.
    unsafe {
        let mut before: libc::sigaction = zeroed();
        if libc::sigaction(SIGNAL, ptr::null(), &mut before) != 0 {
            return false;
        }
        let ours = handle as *const () as usize;
        if before.sa_sigaction == ours {
            return true;
        }
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = ours;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        before.sa_sigaction == libc::SIG_DFL && libc::sigaction(SIGNAL, &action, ptr::null_mut()) == 0
    }
}

/// The signals that the calling thread blocks, as the kernel has them.
fn blocked() -> u64 {
    // SAFETY: an all-zero set is valid, and filled by the call.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &mut set);
        first_word(&set)
    }
}

/// The part of a set that the kernel knows; what lies behind it in a handler's context is not the
/// set's.
fn first_word(set: &libc::sigset_t) -> u64 {
    // SAFETY: a set has at least so many bytes.
    unsafe { ptr::from_ref(set).cast::<u64>().read_unaligned() }
}

extern "C" fn handle(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands over a siginfo_t and a ucontext_t that are valid during the handler.
    let (info, context) = unsafe { (&*info, &*context.cast::<libc::ucontext_t>()) };
    // Other threads may have no room for the variable yet, which must not be made here.
    if info.si_code != libc::SI_TIMER {
        return;
    }
    let here = HERE.get();
    if here.is_null() {
        return;
    }
    let (stack, instruction) = registers(context);
    // SAFETY: there until it takes the pointer away, on this thread. `errno` is kept by the switch.
    unsafe { (*here).beat(instruction, stack, first_word(&context.uc_sigmask)) };
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> (usize, usize) {
    let registers = &context.uc_mcontext.gregs;
    (registers[libc::REG_RSP as usize] as usize, registers[libc::REG_RIP as usize] as usize)
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> (usize, usize) {
    (context.uc_mcontext.sp as usize, context.uc_mcontext.pc as usize)
}

/// Unknown, so that nobody is interrupted.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn registers(_: &libc::ucontext_t) -> (usize, usize) {
    (0, 0)
}

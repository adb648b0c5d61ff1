//! The way of a call: from the entry point to the implementation, and back with the code that it returns.

use core::ffi::c_int;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::abi::constants::*;
use crate::call::{Call, Scope, Shared, Whose, raise};
use crate::errors::{Fault, Outcome};
use crate::process::current::{self, Caller};
use crate::process::site::{self, stack_pointer};
use crate::process::{Leave, Phase, Seat, State, Watch, host};

/// A function of the interface, and what was learnt when it was called first. Passed by its parts: seven hundred tables of pointers
/// would cost every start as many relocations.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Below, how far above the stack pointer of [`run`] or `run_words` the return address lies; above, the number of the name on the rank's
    /// sheet, whose highest bit says that the return address is not known. 0 before the first call.
    pub(crate) learnt: &'static AtomicU64,
    /// How many others of this library the function lies under that tells of the call.
    pub(crate) under: u32,
}

/// The [`Entry`] of the function that this is written in, which lies under others.
macro_rules! entry {
    ($name:literal) => {
        $crate::call::entry!($name, under: 0)
    };
    ($name:literal, under: $under:literal) => {{
        static LEARNT: ::core::sync::atomic::AtomicU64 = ::core::sync::atomic::AtomicU64::new(0);
        $crate::call::Entry { name: $name, learnt: &LEARNT, under: $under }
    }};
}
pub(crate) use entry;

impl Entry {
    /// Notes the call on the rank's sheet, for the case that the rank dies. `stack_pointer` is always taken at one spot, which lies
    /// `under` so many functions.
    #[inline(always)]
    fn note(&self, state: &State, seat: &Seat, stack_pointer: usize, under: u32) {
        let learnt = self.learnt.load(Relaxed);
        if learnt == 0 {
            return learn(self.name, self.learnt, (state, seat), stack_pointer, under);
        }
        let address = stack_pointer + (learnt as u32 as usize);
        // SAFETY: above the stack pointer, within the frames of this very function, whose layout was learnt.
        let site = unsafe { core::ptr::with_exposed_provenance::<u64>(address).read() };
        seat.noted().note(learnt >> 32, site);
    }
}

/// The first [`Entry::note`] of a function. Takes the entry's parts, which would otherwise lie in memory in every call.
#[cold]
#[inline(never)]
fn learn(
    name: &'static str,
    learnt: &'static AtomicU64,
    (state, seat): (&State, &Seat),
    stack_pointer: usize,
    under: u32,
) {
    /// Names that the sheet of this process has; hosts have no sheets, only numbers.
    static NAMES: AtomicU32 = AtomicU32::new(0);
    const NO_SITE: u32 = pmi::sheet::NO_SITE as u32;
    let number = state.sheet().write_name(u64::from(NAMES.fetch_add(1, Relaxed)) + 1, name) as u32;
    let (distance, number) = match site::distance(stack_pointer, under).map(u32::try_from) {
        Some(Ok(distance)) => (distance, number),
        _ => (0, number | NO_SITE),
    };
    learnt.store(u64::from(number) << 32 | u64::from(distance), Relaxed);
    if learnt.load(Relaxed) != 0 {
        Entry { name, learnt, under }.note(state, seat, stack_pointer, under);
    }
}

/// Runs the body of a function that needs MPI to be active.
#[inline(always)]
pub(crate) fn run<const N: usize>(
    entry: Entry,
    scope: Scope,
    arguments: impl FnOnce() -> [u64; N],
    body: impl FnOnce(&Call) -> Outcome,
) -> c_int {
    // Not a closure around `arguments`: they would have to be in memory for it, in every call.
    let (state, seat, rank) = match current::caller() {
        Caller::Unobserved(state) => (state, &state.first, Some(state.rank())),
        Caller::Other(state) => match enter_a_lane(state, scope.lane()) {
            Some(seat) => (state, seat, seat.joined()),
            None => match enter(entry.name, &arguments(), entry.under + 1) {
                Some(state) => (state, &state.first, state.first.joined()),
                None => return outside(entry.name),
            },
        },
        Caller::Unknown => return outside(entry.name),
    };
    entry.note(state, seat, stack_pointer!(), entry.under);
    let call = Call { state, name: entry.name, seat, rank };
    let code = code(&call, scope, body(&call));
    if state.phase() != Phase::Active {
        leave(&call, code);
    }
    code
}

/// The calling process, with its call noted, if it is active and nobody watches: for those who then do all of a call, or leave it to a function that [runs](run) it.
#[inline(always)]
pub(crate) fn quick(entry: Entry) -> Option<&'static State> {
    let Caller::Unobserved(state) = current::caller() else { return None };
    entry.note(state, &state.first, stack_pointer!(), 0);
    Some(state)
}

/// What a function returns that leaves its call to another of this library: not by a jump, so that both are on the stack.
#[inline(always)]
pub(crate) fn left_to(code: c_int) -> c_int {
    core::hint::black_box(code)
}

/// The same for a function that is not hot, of which there are hundreds: the entry point only lays its arguments down as words, and everything else is compiled once, or is
/// the body, which takes them up again.
#[inline(always)]
pub(crate) fn run_shared<const N: usize>(
    entry: Entry,
    whose: Whose,
    words: [u64; N],
    body: unsafe fn(&Shared, &[u64; N]) -> Outcome,
) -> c_int {
    // SAFETY: a thin reference is passed as a thin pointer is.
    let body =
        unsafe { core::mem::transmute::<unsafe fn(&Shared, &[u64; N]) -> Outcome, Body<Shared>>(body) };
    run_words(entry.name, entry.learnt, Form { whose, words: N as u8 }, words.as_ptr(), body)
}

/// The body of a function that takes its arguments as words, by the address of the first.
type Body<C> = unsafe fn(&C, *const u64) -> Outcome;

/// What is to be known of a function's words, in so little room that it is passed in a register.
#[derive(Clone, Copy)]
struct Form {
    whose: Whose,
    words: u8,
}

/// Takes the entry's parts: together they would have to be in memory.
#[inline(never)]
fn run_words(
    name: &'static str,
    learnt: &'static AtomicU64,
    form: Form,
    words: *const u64,
    body: Body<Shared>,
) -> c_int {
    let Some(state) = current::active() else { return outside(name) };
    // SAFETY: the caller's array has so many, and lives as long as this call.
    let arguments = unsafe { core::slice::from_raw_parts(words, usize::from(form.words)) };
    let scope = form.whose.scope(arguments);
    let seat = if state.has_lanes() { state.seat(scope.lane()) } else { &state.first };
    Entry { name, learnt, under: 1 }.note(state, seat, stack_pointer!(), 1);
    if state.phase() != Phase::Active && enter_a_lane(state, seat.lane).is_none() {
        enter(name, arguments, 2);
    }
    let shared = Shared::new(Call { state, name, seat, rank: seat.joined() });
    // SAFETY: these are the words that this body is for; what they mean is the program's promise, by which it called the entry point.
    let outcome = unsafe { body(&shared, words) };
    let code = code(&shared, scope, outcome);
    // What the call holds is given back before the thread leaves its lane, since communicators are counted by threads inside.
    let call = shared.give_back();
    if state.phase() != Phase::Active {
        leave(&call, code);
    }
    code
}

/// What the call returns.
#[inline]
fn code(call: &Call, scope: Scope, outcome: Outcome) -> c_int {
    match outcome {
        Ok(()) => MPI_SUCCESS,
        Err(fault) => raise(call, scope, fault),
    }
}

/// A call of a process whose threads call at once, in this lane; nothing in any other process.
#[inline(never)]
fn enter_a_lane(state: &'static State, lane: u32) -> Option<&'static Seat> {
    if !state.is_active() {
        return None;
    }
    let seat = state.seat(lane);
    state.come_in(seat).then_some(seat)
}

/// A call in a process with one lane that an observer is told of, that is checked, or that another thread may be in the way of; nothing if it comes at the
/// wrong time. It lies `under` so many functions of this library.
#[cold]
#[inline(never)]
fn enter(name: &'static str, arguments: &[u64], under: u32) -> Option<&'static State> {
    let state = current::active()?;
    if state.takes_turns() {
        state.turnstile.enter();
        if state.phase() == Phase::Guarded {
            return Some(state);
        }
    } else if state.check().is_none() && state.may_be_called_by_threads() && !state.turnstile.try_enter() {
        // Checks find overlapping calls themselves, and let the job go on.
        state.end(
            MPI_ERR_OTHER,
            &format!(
                "{name} was called while another thread was in a call: MPI_THREAD_SERIALIZED is provided, expected one call at \
                 a time (MPI 5.0, 11.6.2)"
            ),
        );
    }
    if state.phase() == Phase::Observed {
        let site = state.distances.caller(name, stack_pointer!(), under);
        state.rank().catch_up();
        state.rank().enter(name, site);
        if let Some(check) = state.check() {
            check.enter(state, name, site, arguments);
        }
    }
    Some(state)
}

/// The end of a call that an observer was told of, that is checked, or that other threads had to keep out of.
#[inline(never)]
fn leave(call: &Call, code: c_int) {
    if !call.state.go_out(call.seat) {
        leave_alone(call.state, code);
    }
    if call.state.tools.is_heard() {
        call.state.tools.deliver();
    }
}

#[cold]
fn leave_alone(state: &State, code: c_int) {
    if let Some(check) = state.check() {
        check.leave(state, code);
    }
    if state.phase() != Phase::Guarded
        && let Some(rank) = state.rank_if_joined()
    {
        rank.leave();
    }
    if state.takes_turns() || state.check().is_none() && state.may_be_called_by_threads() {
        state.turnstile.leave();
    }
}

/// Runs the body of a function that may be called at any time.
#[inline(always)]
pub(crate) fn run_any_phase<const N: usize>(
    entry: Entry,
    whose: Whose,
    words: [u64; N],
    body: unsafe fn(&Call, &[u64; N]) -> Outcome,
) -> c_int {
    // SAFETY: a thin reference is passed as a thin pointer is.
    let body = unsafe { core::mem::transmute::<unsafe fn(&Call, &[u64; N]) -> Outcome, Body<Call>>(body) };
    run_words_any_phase(entry.name, Form { whose, words: N as u8 }, words.as_ptr(), body)
}

#[inline(never)]
fn run_words_any_phase(name: &'static str, form: Form, words: *const u64, body: Body<Call>) -> c_int {
    let Some(state) = current::any_phase() else {
        return elsewhere(name, words, body).unwrap_or_else(|| outside(name));
    };
    // SAFETY: the caller's array has so many, and lives as long as this call.
    let arguments = unsafe { core::slice::from_raw_parts(words, usize::from(form.words)) };
    let checked = state.check().map(|check| enter_any_phase(check, state, name, arguments));
    let call = Call::in_the_first(state, name);
    // SAFETY: these are the words that this body is for; what they mean is the program's promise, by which it called the entry point.
    let outcome = unsafe { body(&call, words) };
    let code = code(&call, form.whose.scope(arguments), outcome);
    if let Some(leave) = checked {
        leave(code);
    }
    code
}

/// What any thread of the program may ask for in every kind of ranks (sections 11.2.1 and 11.6.1):
/// these read what is locked, atomic or constant, and nothing else.
const FOR_ANY_THREAD: [&str; 6] = [
    "MPI_Initialized",
    "MPI_Finalized",
    "MPI_Query_thread",
    "MPI_Is_thread_main",
    "MPI_Get_version",
    "MPI_Get_library_version",
];

/// One of these on a thread that runs no rank, in a process of several: the answer is that of the
/// rank whose program calls.
#[cold]
#[inline(never)]
fn elsewhere(name: &'static str, words: *const u64, body: Body<Call>) -> Option<c_int> {
    if !current::is_hosting() || current::is_forked() || !FOR_ANY_THREAD.contains(&name) {
        return None;
    }
    let instruction = site::caller(stack_pointer!(), u32::MAX).unwrap_or(0);
    let ask = |state: &'static State| {
        // SAFETY: as where the body is called otherwise.
        let outcome = unsafe { body(&Call::in_the_first(state, name), words) };
        outcome.map_or_else(|fault| fault.code(), |()| MPI_SUCCESS)
    };
    // SAFETY: see the list.
    unsafe { host::with_rank_of_code(instruction, ask) }
}

/// As [`enter`] for a function that observers are not told of; what is to be told the code that it returns.
#[cold]
#[inline(never)]
fn enter_any_phase<'a>(
    check: &'a dyn Watch,
    state: &State,
    name: &'static str,
    arguments: &[u64],
) -> Leave<'a> {
    // How many functions lie between here and the entry point is the compiler's choice.
    let site = state.distances.caller(name, stack_pointer!(), u32::MAX);
    check.enter_at_any_time(state, name, site, arguments)
}

/// Runs the body of a function of the tools interface: its errors are returned, no handler is called.
#[inline]
pub(crate) fn run_tool(entry: Entry, body: impl FnOnce(&Call) -> Outcome) -> c_int {
    let Some(state) = current::any_phase() else { return MPI_T_ERR_NOT_INITIALIZED };
    if !state.tools.is_initialised() && entry.name != "MPI_T_init_thread" {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    match body(&Call::in_the_first(state, entry.name)) {
        Ok(()) => MPI_SUCCESS,
        // The interface has codes of its own (MPI section 15.3.10), and one for whatever else is wrong with an argument.
        Err(fault) if fault.code() < MPI_T_ERR_CANNOT_INIT => MPI_T_ERR_INVALID,
        Err(fault) => fault.code(),
    }
}

/// What is wrong with a call before MPI_Init, and with one after MPI_Finalize.
pub(crate) const TOO_EARLY: &str =
    "called before MPI_Init, expected MPI_Init, MPI_Init_thread or MPI_Session_init first";
pub(crate) const TOO_LATE: &str = "called after MPI_Finalize, expected before it";

/// A call before MPI_Init, after MPI_Finalize, from a thread that runs no rank, or from a forked child.
#[cold]
#[inline(never)]
fn outside(name: &'static str) -> c_int {
    let Some(state) = current::any_phase() else {
        if current::is_forked() {
            eprintln!(
                "corelace: {name} was called in a child that a rank has made by fork(): the child is no rank, expected calls \
                 of MPI in the rank itself only"
            );
        } else {
            eprintln!(
                "corelace: {name} was called on a thread that belongs to no rank: ranks that are threads or fibers provide \
                 MPI_THREAD_FUNNELED, expected calls on the thread of MPI_Init only (--ranks process provides \
                 MPI_THREAD_MULTIPLE)"
            );
        }
        return MPI_ERR_OTHER;
    };
    let reason = match state.phase() {
        Phase::Finalized => TOO_LATE,
        _ => TOO_EARLY,
    };
    raise(&Call::in_the_first(state, name), Scope::Process, Fault::new(MPI_ERR_OTHER, reason))
}

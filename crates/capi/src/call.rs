//! One call of the C interface: from the entry point to the implementation, and from a fault to the error handler.

use core::ffi::{c_int, c_void};
use std::ops::Deref;

use crate::current;
use crate::errors::{Fault, Outcome, handler};
use crate::r#gen::constants::*;
use crate::r#gen::types::*;
use crate::site::stack_pointer;
use crate::state::{Phase, State};

/// What an implementation knows of the call: whose it is and what it is called.
pub(crate) struct Call {
    pub(crate) state: &'static State,
    /// `MPI_Send`, ….
    pub(crate) name: &'static str,
}

/// The object among the arguments whose error handler is called.
#[derive(Clone, Copy)]
pub(crate) enum Scope {
    Comm(MPI_Comm),
    File(MPI_File),
    Request(MPI_Request),
    /// None of these: MPI_COMM_SELF.
    Process,
}

/// Runs the body of a function that needs MPI to be active.
#[inline(always)]
pub(crate) fn run<const N: usize>(
    name: &'static str,
    scope: Scope,
    arguments: impl FnOnce() -> [u64; N],
    body: impl FnOnce(&Call) -> Outcome,
) -> c_int {
    // Not a closure around `arguments`: they would have to be in memory for it, in every call.
    let state = match current::unobserved() {
        Some(state) => state,
        None => match enter(name, &arguments()) {
            Some(state) => state,
            None => return outside(name),
        },
    };
    let call = Call { state, name };
    let code = match body(&call) {
        Ok(()) => MPI_SUCCESS,
        Err(fault) => handler::raise(&call, scope, fault),
    };
    if state.phase() != Phase::Active {
        leave(state, code);
    }
    code
}

/// The same for a function that is not hot: what it has in common with the others is compiled once, since each of the hundreds
/// of entry points would bring its own copy.
#[inline(always)]
pub(crate) fn run_shared<const N: usize>(
    name: &'static str,
    scope: Scope,
    arguments: impl FnOnce() -> [u64; N],
    body: impl FnOnce(&Shared) -> Outcome,
) -> c_int {
    let Some(state) = begin() else { return outside(name) };
    if state.phase() != Phase::Active {
        enter(name, &arguments());
    }
    let call = Shared(Call { state, name });
    let outcome = body(&call);
    end(&call, scope, outcome)
}

/// A call whose conversions of handles and arrays are the library's one copy (`convert/shared`).
pub(crate) struct Shared(Call);

impl Deref for Shared {
    type Target = Call;

    #[inline]
    fn deref(&self) -> &Call {
        &self.0
    }
}

#[inline(never)]
fn begin() -> Option<&'static State> {
    current::active()
}

#[inline(never)]
fn end(call: &Call, scope: Scope, outcome: Outcome) -> c_int {
    let code = end_any_phase(call, scope, outcome);
    if call.state.phase() != Phase::Active {
        leave(call.state, code);
    }
    code
}

#[inline(never)]
fn end_any_phase(call: &Call, scope: Scope, outcome: Outcome) -> c_int {
    match outcome {
        Ok(()) => MPI_SUCCESS,
        Err(fault) => handler::raise(call, scope, fault),
    }
}

/// A call that an observer is told of, or that is checked; nothing if it comes at the wrong time.
#[cold]
#[inline(never)]
fn enter(name: &'static str, arguments: &[u64]) -> Option<&'static State> {
    let state = current::active()?;
    let site = state.distances.caller(name, stack_pointer!());
    state.rank().enter(name, site);
    if let Some(check) = state.check() {
        check.enter(state, name, site, arguments);
    }
    Some(state)
}

/// The end of a call that an observer was told of, or that is checked.
#[cold]
#[inline(never)]
fn leave(state: &State, code: c_int) {
    if let Some(check) = state.check() {
        check.leave(state, code);
    }
    if let Some(rank) = state.rank_if_joined() {
        rank.leave();
    }
}

/// Runs the body of a function that may be called at any time.
#[inline]
pub(crate) fn run_any_phase<const N: usize>(
    name: &'static str,
    scope: Scope,
    arguments: impl FnOnce() -> [u64; N],
    body: impl FnOnce(&Call) -> Outcome,
) -> c_int {
    let Some(state) = current::any_phase() else { return outside(name) };
    let check = state.check();
    if check.is_some() {
        enter_any_phase(state, name, &arguments());
    }
    let call = Call { state, name };
    let outcome = body(&call);
    let code = end_any_phase(&call, scope, outcome);
    if let Some(check) = check {
        check.leave(state, code);
    }
    code
}

/// As [`enter`] for a function that observers are not told of.
#[cold]
#[inline(never)]
fn enter_any_phase(state: &State, name: &'static str, arguments: &[u64]) {
    let site = state.distances.caller(name, stack_pointer!());
    if let Some(check) = state.check() {
        check.enter(state, name, site, arguments);
    }
}

/// An argument as a word: a number by its value, everything else by its address or handle.
pub(crate) trait Word {
    fn word(self) -> u64;
}

impl Word for c_int {
    #[inline(always)]
    fn word(self) -> u64 {
        i64::from(self) as u64
    }
}

impl Word for i64 {
    #[inline(always)]
    fn word(self) -> u64 {
        self as u64
    }
}

impl Word for isize {
    #[inline(always)]
    fn word(self) -> u64 {
        self as u64
    }
}

impl<T> Word for *const T {
    #[inline(always)]
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

impl<T> Word for *mut T {
    #[inline(always)]
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

macro_rules! word_of_handles {
    ($($handle:ty),*) => {
        $(impl Word for $handle {
            #[inline(always)]
            fn word(self) -> u64 {
                self.0 as u64
            }
        })*
    };
}
word_of_handles!(MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info, MPI_Message, MPI_Op);
word_of_handles!(MPI_Request, MPI_Session, MPI_Win);

/// Runs the body of a function of the tools interface: its errors are returned, no handler is called.
#[inline]
pub(crate) fn run_tool(name: &'static str, _: Scope, body: impl FnOnce(&Call) -> Outcome) -> c_int {
    let Some(state) = current::any_phase() else { return MPI_T_ERR_NOT_INITIALIZED };
    match body(&Call { state, name }) {
        Ok(()) => MPI_SUCCESS,
        Err(fault) => fault.code(),
    }
}

/// What a function of the tools interface answers that has nothing to work on.
#[cold]
pub(crate) fn unsupported_tool(_name: &'static str, _: Scope) -> c_int {
    MPI_T_ERR_NOT_SUPPORTED
}

/// Whether MPI_IN_PLACE stands where a buffer could.
#[inline]
pub(crate) fn in_place(buffer: *const c_void) -> bool {
    buffer == MPI_IN_PLACE.cast_const()
}

/// The datatype of a buffer, which may be anything if the buffer is MPI_IN_PLACE.
#[inline]
pub(crate) fn unless_in_place(buffer: *const c_void, datatype: MPI_Datatype) -> MPI_Datatype {
    if in_place(buffer) { MPI_BYTE } else { datatype }
}

/// What a function answers that this library does not have.
#[cold]
pub(crate) fn unsupported(name: &'static str, scope: Scope) -> c_int {
    run_shared(
        name,
        scope,
        || [],
        |_| {
            Err(Fault::new(
                MPI_ERR_UNSUPPORTED_OPERATION,
                format_args!("{name} is not implemented by this library"),
            ))
        },
    )
}

/// A call before MPI_Init, after MPI_Finalize, or from a thread that runs no rank.
#[cold]
#[inline(never)]
fn outside(name: &'static str) -> c_int {
    let Some(state) = current::any_phase() else {
        eprintln!("corelace: {name} was called on a thread that belongs to no rank of this job");
        return MPI_ERR_OTHER;
    };
    let reason = match state.phase() {
        Phase::Finalized => "called after MPI_Finalize, expected before it",
        _ => "called before MPI_Init, expected MPI_Init or MPI_Init_thread first",
    };
    handler::raise(&Call { state, name }, Scope::Process, Fault::new(MPI_ERR_OTHER, reason))
}

//! Chapter 11: sessions and process sets.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::{Holder, ProcessSet};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, OutNumber};
use crate::errors::{Fault, Outcome};
use crate::handles::{Bearer, Errhandler, Group, Info, Session};
use crate::imp::activity::{activate, drain};
use crate::imp::errhandlers::suits;
use crate::imp::p2p;
use crate::process::World;

/// The hint that asks for a level of thread support, and tells which was provided.
const THREAD_LEVEL: &str = "thread_level";

/// The kinds of memory that messages may lie in, and the hint that tells of them (MPI section 11.4.3).
pub(crate) const ALLOC_KINDS: (&str, &str) = ("mpi_memory_alloc_kinds", "mpi,system");

const LEVELS: [(&str, c_int); 4] = [
    ("MPI_THREAD_SINGLE", MPI_THREAD_SINGLE),
    ("MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED),
    ("MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED),
    ("MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE),
];

pub(crate) fn mpi_session_init(
    call: &Call,
    info: Option<Arc<Info>>,
    errhandler: &Arc<Errhandler>,
    session: Out<MPI_Session>,
) -> Outcome {
    suits(Bearer::Session, errhandler)?;
    let wanted = info.and_then(|info| info.get(THREAD_LEVEL));
    let wanted = wanted.and_then(|wanted| LEVELS.iter().find(|(name, _)| *name == wanted));
    let wanted = wanted.map_or(MPI_THREAD_SINGLE, |(_, level)| *level);
    // Held from here on: of two threads that begin sessions at once, one makes the process active.
    let mut sessions = call.state.sessions.lock();
    activate(call.state, wanted)?;
    // The level is the process's: a session gets what others have asked for, too.
    let level = call.state.thread_level.load(Ordering::Relaxed);
    session.set(sessions.begin(level, Arc::clone(errhandler)));
    Ok(())
}

/// Ends a session, and the activity of the process with the last one if there is no world.
pub(crate) fn mpi_session_finalize(call: &Call, session: &Cell<MPI_Session>) -> Outcome {
    let state = call.state;
    let found = call.session("session", session.get())?;
    p2p::flush(call, Holder::Session(found.number))?;
    let _ = call.rank().detach_buffer(Holder::Session(found.number));
    let is_last = state.sessions.lock().live == 1 && state.world() != World::Open;
    if is_last {
        drain(call)?;
    }
    state.sessions.lock().end(session.get());
    session.set(MPI_SESSION_NULL);
    if is_last {
        state.finish();
    }
    Ok(())
}

pub(crate) fn mpi_session_get_info(call: &Call, session: &Arc<Session>, info_used: Out<MPI_Info>) -> Outcome {
    let used = Info::default();
    if let Some((name, _)) = LEVELS.iter().find(|(_, level)| *level == session.thread_level) {
        used.set(THREAD_LEVEL, name);
    }
    used.set(ALLOC_KINDS.0, ALLOC_KINDS.1);
    info_used.set(call.state.infos.insert(used));
    Ok(())
}

pub(crate) fn mpi_session_get_num_psets(
    _: &Call,
    _session: &Arc<Session>,
    _info: Option<Arc<Info>>,
    npset_names: Out<c_int>,
) -> Outcome {
    npset_names.set(ProcessSet::ALL.len() as c_int);
    Ok(())
}

/// The length counts the null character, as given and as answered; with a length of zero only that is answered.
pub(crate) fn mpi_session_get_nth_pset(
    _: &Call,
    _session: &Arc<Session>,
    _info: Option<Arc<Info>>,
    n: c_int,
    pset_len: &Cell<c_int>,
    pset_name: *mut c_char,
) -> Outcome {
    let Some(set) = usize::try_from(n).ok().and_then(|n| ProcessSet::ALL.get(n)) else {
        let text = format_args!("n is {n}, expected 0 to {}", ProcessSet::ALL.len() - 1);
        return Err(Fault::new(MPI_ERR_ARG, text));
    };
    let name = set.name();
    let room = usize::try_from(pset_len.get()).unwrap_or(0);
    if room > 0 {
        if pset_name.is_null() {
            return Err(Fault::null("pset_name"));
        }
        let bytes = &name.as_bytes()[..name.len().min(room - 1)];
        // SAFETY: the contract of `convert`: there is room for as many characters as the caller says.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), pset_name.cast(), bytes.len());
            pset_name.add(bytes.len()).write(0);
        }
    }
    pset_len.set(name.len() as c_int + 1);
    Ok(())
}

pub(crate) fn mpi_session_get_pset_info(
    call: &Call,
    _session: &Arc<Session>,
    pset_name: &CStr,
    info: Out<MPI_Info>,
) -> Outcome {
    let about = Info::default();
    about.set("mpi_size", &set(call, &pset_name.to_string_lossy())?.size().to_string());
    info.set(call.state.infos.insert(about));
    Ok(())
}

pub(crate) fn mpi_group_from_session_pset(
    call: &Call,
    session: &Arc<Session>,
    pset_name: &CStr,
    newgroup: Out<MPI_Group>,
) -> Outcome {
    newgroup.set(MPI_GROUP_NULL);
    let group = set(call, &pset_name.to_string_lossy())?.of_session(session.number);
    newgroup.set(call.state.groups.insert(group));
    Ok(())
}

/// The processes of a set.
fn set(call: &Call, given: &str) -> Outcome<Group> {
    let Some(set) = ProcessSet::named(given) else {
        let known = ProcessSet::ALL.map(ProcessSet::name).join(", ");
        let text = format_args!("pset_name is {given}, expected one of {known}");
        return Err(Fault::new(MPI_ERR_ARG, text));
    };
    Ok(call.rank().process_set(set))
}

pub(crate) fn mpi_session_attach_buffer(
    call: &Call,
    session: &Arc<Session>,
    buffer: Buf,
    size: i64,
) -> Outcome {
    p2p::attach(call, Holder::Session(session.number), buffer, size)
}

pub(crate) fn mpi_session_detach_buffer(
    call: &Call,
    session: &Arc<Session>,
    buffer_addr: Out<*mut c_void>,
    size: OutNumber,
) -> Outcome {
    p2p::detach(call, Holder::Session(session.number), buffer_addr, size)
}

pub(crate) fn mpi_session_flush_buffer(call: &Call, session: &Arc<Session>) -> Outcome {
    call.rank().flush_buffer(Holder::Session(session.number))?;
    Ok(())
}

pub(crate) fn mpi_session_iflush_buffer(
    call: &Call,
    session: &Arc<Session>,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = call.rank().iflush_buffer(Holder::Session(session.number))?;
    request.set(call.requests().started_on(id, MPI_COMM_WORLD));
    Ok(())
}

//! Performance variables (MPI section 15.3.7).
//!
//! Those that are always there are read out of the engine's tables, less what they were when the handle was made or reset. The others are added up in the handle itself, while it is
//! started.

use core::ffi::{CStr, c_int, c_void};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fabric::Node;
use runtime::variables::{Class, Measure, PERFORMANCE, Performance};

use super::{binding, categories, entry, give, in_each_lane, index_of, levels, measure, members, verbosity};
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, OutText};
use crate::errors::{Fault, Outcome};
use crate::handles::tools::{Gauge, Room};
use crate::process::{Phase, State};

pub(crate) fn mpi_t_pvar_get_num(_: &Call, num_pvar: Out<c_int>) -> Outcome {
    num_pvar.set(PERFORMANCE.len() as c_int);
    Ok(())
}

pub(crate) fn mpi_t_pvar_get_index(
    _: &Call,
    name: &CStr,
    var_class: c_int,
    pvar_index: Out<c_int>,
) -> Outcome {
    let is = |variable: &Performance, wanted: &str| variable.name == wanted && class(variable) == var_class;
    pvar_index.set(index_of(PERFORMANCE, name, is)?);
    Ok(())
}

pub(crate) fn mpi_t_pvar_get_info(
    _: &Call,
    pvar_index: c_int,
    name: OutText,
    _name_len: *mut c_int,
    verbose: Option<Out<c_int>>,
    var_class: Option<Out<c_int>>,
    datatype: Option<Out<MPI_Datatype>>,
    enumtype: Option<Out<MPI_T_enum>>,
    desc: OutText,
    _desc_len: *mut c_int,
    bind: Option<Out<c_int>>,
    readonly: Option<Out<c_int>>,
    continuous: Option<Out<c_int>>,
    atomic: Option<Out<c_int>>,
) -> Outcome {
    let (_, variable) = entry(PERFORMANCE, pvar_index, "pvar_index")?;
    name.set(variable.name);
    give(verbose, verbosity(variable.audience));
    give(var_class, class(variable));
    give(
        datatype,
        match variable.class {
            Class::State => MPI_INT,
            Class::Percentage | Class::Timer => MPI_DOUBLE,
            _ => MPI_UNSIGNED_LONG_LONG,
        },
    );
    let is_state = variable.class == Class::State;
    give(enumtype, if is_state { categories::of_phases() } else { MPI_T_ENUM_NULL });
    desc.set(variable.what);
    give(bind, binding(variable.bind));
    give(readonly, c_int::from(variable.is_read_only()));
    give(continuous, c_int::from(variable.is_always_there()));
    give(atomic, c_int::from(!variable.is_read_only()));
    Ok(())
}

fn class(variable: &Performance) -> c_int {
    match variable.class {
        Class::State => MPI_T_PVAR_CLASS_STATE,
        Class::Level => MPI_T_PVAR_CLASS_LEVEL,
        Class::Size => MPI_T_PVAR_CLASS_SIZE,
        Class::Percentage => MPI_T_PVAR_CLASS_PERCENTAGE,
        Class::Highest => MPI_T_PVAR_CLASS_HIGHWATERMARK,
        Class::Lowest => MPI_T_PVAR_CLASS_LOWWATERMARK,
        Class::Counter => MPI_T_PVAR_CLASS_COUNTER,
        Class::Aggregate => MPI_T_PVAR_CLASS_AGGREGATE,
        Class::Timer => MPI_T_PVAR_CLASS_TIMER,
    }
}

pub(crate) fn mpi_t_pvar_session_create(call: &Call, pe_session: Out<MPI_T_pvar_session>) -> Outcome {
    pe_session.set(MPI_T_pvar_session(call.state.tools.room().sessions.insert(())));
    Ok(())
}

/// Its handles go with it.
pub(crate) fn mpi_t_pvar_session_free(call: &Call, pe_session: &Cell<MPI_T_pvar_session>) -> Outcome {
    let room = call.state.tools.room();
    let session = pe_session.get();
    room.sessions.remove(session.0).ok_or_else(|| no_session(&room, session))?;
    while let Some(gauge) = room.gauges.find(|gauge| gauge.session == session.0) {
        free(call.state, &room, &gauge);
    }
    pe_session.set(MPI_T_PVAR_SESSION_NULL);
    Ok(())
}

#[cold]
fn no_session(room: &Room, session: MPI_T_pvar_session) -> Fault {
    let (past, expected) = (room.sessions.past(session.0), "a session of performance variables");
    Fault::handle(MPI_T_ERR_INVALID_SESSION, "pe_session", session.0, expected, past)
}

fn in_session(call: &Call, session: MPI_T_pvar_session) -> Outcome<Arc<Room>> {
    let room = call.state.tools.room();
    room.sessions.get(session.0).ok_or_else(|| no_session(&room, session))?;
    Ok(room)
}

pub(crate) fn mpi_t_pvar_handle_alloc(
    call: &Call,
    pe_session: MPI_T_pvar_session,
    pvar_index: c_int,
    obj_handle: *mut c_void,
    handle: Out<MPI_T_pvar_handle>,
    count: Out<c_int>,
) -> Outcome {
    let room = in_session(call, pe_session)?;
    let (index, variable) = entry(PERFORMANCE, pvar_index, "pvar_index")?;
    let members = members(call, variable.bind, obj_handle)?;
    let cells = match (&members, variable.is_of_each()) {
        (Some(members), _) => members.peers.size(),
        (None, false) => 1,
        (None, true) => call.state.rank_if_joined().map(|rank| rank.world().size()).ok_or_else(|| {
            let text = format_args!("{} has a value for each process, which MPI_Init tells", variable.name);
            Fault::new(MPI_T_ERR_NOT_ACCESSIBLE, text)
        })?,
    };
    let gauge = Arc::new(Gauge::new(index, pe_session.0, members, cells as usize));
    reset(call.state, &room, &gauge);
    let number = room.gauges.insert(Arc::clone(&gauge));
    gauge.set_handle(number);
    handle.set(MPI_T_pvar_handle(number));
    count.set(cells as c_int);
    Ok(())
}

pub(crate) fn mpi_t_pvar_handle_free(
    call: &Call,
    pe_session: MPI_T_pvar_session,
    handle: &Cell<MPI_T_pvar_handle>,
) -> Outcome {
    let (room, gauge) = of_handle(call, pe_session, handle.get())?;
    free(call.state, &room, &gauge);
    handle.set(MPI_T_PVAR_HANDLE_NULL);
    Ok(())
}

fn free(state: &State, room: &Room, gauge: &Arc<Gauge>) {
    stop(state, room, gauge);
    room.gauges.remove(gauge.handle());
}

fn of_handle(
    call: &Call,
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
) -> Outcome<(Arc<Room>, Arc<Gauge>)> {
    let room = in_session(call, session)?;
    let gauge = room.gauges.get(handle.0).filter(|gauge| gauge.session == session.0);
    let gauge = gauge.ok_or_else(|| {
        let expected = "the handle of a performance variable in this session";
        Fault::handle(MPI_T_ERR_INVALID_HANDLE, "handle", handle.0, expected, room.gauges.past(handle.0))
    })?;
    Ok((room, gauge))
}

/// Does something with a handle; or with each of the session for which it can be done, if the handle stands for all.
fn with(
    call: &Call,
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    act: impl Fn(&Room, &Arc<Gauge>) -> Outcome,
) -> Outcome {
    if handle != MPI_T_PVAR_ALL_HANDLES {
        let (room, gauge) = of_handle(call, session, handle)?;
        return act(&room, &gauge);
    }
    let room = in_session(call, session)?;
    for gauge in room.all_of(session.0) {
        // Those that it cannot be done with are passed over.
        let _ = act(&room, &gauge);
    }
    Ok(())
}

fn startable(gauge: &Gauge) -> Outcome {
    if !gauge.variable.is_always_there() {
        return Ok(());
    }
    let text = format_args!("{} is always there, and neither started nor stopped", gauge.variable.name);
    Err(Fault::new(MPI_T_ERR_PVAR_NO_STARTSTOP, text))
}

pub(crate) fn mpi_t_pvar_start(
    call: &Call,
    pe_session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
) -> Outcome {
    with(call, pe_session, handle, |room, gauge| {
        startable(gauge)?;
        let was_wanted = room.counting.is_wanted();
        room.counting.start(gauge);
        measure(call.state, room, was_wanted);
        Ok(())
    })
}

pub(crate) fn mpi_t_pvar_stop(
    call: &Call,
    pe_session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
) -> Outcome {
    with(call, pe_session, handle, |room, gauge| {
        startable(gauge)?;
        stop(call.state, room, gauge);
        Ok(())
    })
}

fn stop(state: &State, room: &Room, gauge: &Arc<Gauge>) {
    let was_wanted = room.counting.is_wanted();
    room.counting.stop(gauge);
    measure(state, room, was_wanted);
}

pub(crate) fn mpi_t_pvar_read(
    call: &Call,
    pe_session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    buf: Buf,
) -> Outcome {
    let (_, gauge) = of_handle(call, pe_session, handle)?;
    store(&gauge, buf, &values(call.state, &gauge));
    Ok(())
}

pub(crate) fn mpi_t_pvar_readreset(
    call: &Call,
    pe_session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    buf: Buf,
) -> Outcome {
    let (room, gauge) = of_handle(call, pe_session, handle)?;
    if gauge.variable.is_read_only() {
        let text = format_args!("{} can only be read", gauge.variable.name);
        return Err(Fault::new(MPI_T_ERR_PVAR_NO_ATOMIC, text));
    }
    store(&gauge, buf, &reset(call.state, &room, &gauge));
    Ok(())
}

fn writable(gauge: &Gauge) -> Outcome {
    if !gauge.variable.is_read_only() {
        return Ok(());
    }
    let text = format_args!("{} can only be read", gauge.variable.name);
    Err(Fault::new(MPI_T_ERR_PVAR_NO_WRITE, text))
}

pub(crate) fn mpi_t_pvar_reset(
    call: &Call,
    pe_session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
) -> Outcome {
    with(call, pe_session, handle, |room, gauge| {
        writable(gauge)?;
        reset(call.state, room, gauge);
        Ok(())
    })
}

pub(crate) fn mpi_t_pvar_write(
    call: &Call,
    pe_session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    buf: Buf,
) -> Outcome {
    let (_, gauge) = of_handle(call, pe_session, handle)?;
    writable(&gauge)?;
    let told = told(call.state, &gauge);
    for (place, cell) in gauge.cells().iter().enumerate() {
        let bytes = buf.load(8 * place);
        let value = match gauge.variable.class {
            Class::Timer => (f64::from_ne_bytes(bytes) * NANOSECONDS) as u64,
            _ => u64::from_ne_bytes(bytes),
        };
        match told.get(place) {
            Some(told) => cell.store(told.wrapping_sub(value), Relaxed),
            None => cell.store(value, Relaxed),
        }
    }
    Ok(())
}

const NANOSECONDS: f64 = 1e9;

/// Stores the values of a variable, in its type.
fn store(gauge: &Gauge, buf: Buf, values: &[u64]) {
    for (place, value) in values.iter().enumerate() {
        match gauge.variable.class {
            Class::State => buf.store(4 * place, &(*value as c_int).to_ne_bytes()),
            Class::Timer => buf.store(8 * place, &(*value as f64 / NANOSECONDS).to_ne_bytes()),
            // The bits of a share are its value.
            _ => buf.store(8 * place, &value.to_ne_bytes()),
        }
    }
}

/// What a handle says now.
fn values(state: &State, gauge: &Gauge) -> Vec<u64> {
    let cells = gauge.cells().iter().map(|cell| cell.load(Relaxed));
    if !gauge.variable.is_always_there() {
        return cells.collect();
    }
    told(state, gauge).into_iter().zip(cells).map(|(told, before)| told.wrapping_sub(before)).collect()
}

/// Lets a handle begin anew, and returns what it said.
fn reset(state: &State, room: &Room, gauge: &Gauge) -> Vec<u64> {
    let told = told(state, gauge);
    let level = match gauge.variable.measure {
        Measure::UnexpectedMark => levels(state).unexpected,
        Measure::UnderWayMark => room.counting.under_way(),
        _ => 0,
    };
    let anew = |(place, cell): (usize, &std::sync::atomic::AtomicU64)| match told.get(place) {
        // Nothing is subtracted from what is not counted.
        Some(told) if gauge.variable.is_read_only() => *told,
        Some(told) => told.wrapping_sub(cell.swap(*told, Relaxed)),
        None => cell.swap(level, Relaxed),
    };
    gauge.cells().iter().enumerate().map(anew).collect()
}

/// What the engine's tables tell, of a variable that is always there; nothing of another.
fn told(state: &State, gauge: &Gauge) -> Vec<u64> {
    let of_each = |told: &dyn Fn((u64, u64)) -> u64| {
        let mut all = vec![0; gauge.cells().len()];
        in_each_lane(state, |rank| {
            for (node, sum) in all.iter_mut().enumerate() {
                *sum += told(rank.exchanged(Node(node as u32)));
            }
        });
        all
    };
    if !gauge.variable.is_always_there() {
        return Vec::new();
    }
    match gauge.variable.measure {
        Measure::SentToEach => return of_each(&|(sent, _)| sent),
        Measure::ReceivedFromEach => return of_each(&|(_, received)| received),
        _ => {}
    }
    let levels = levels(state);
    vec![match gauge.variable.measure {
        Measure::Sent => levels.sent,
        Measure::Received => levels.received,
        Measure::Early => levels.early,
        Measure::EarlyShare => (levels.early as f64 / levels.received.max(1) as f64).to_bits(),
        Measure::Unexpected => levels.unexpected,
        Measure::Posted => levels.posted,
        Measure::Requests => levels.requests,
        Measure::Blocked => levels.blocked,
        Measure::Memory => levels.memory,
        Measure::MemoryLimit => {
            let mut limit = 0;
            in_each_lane(state, |rank| limit = rank.fabric().budget().limit() as u64);
            limit
        }
        // Nothing else is always there.
        _ => match state.phase() {
            Phase::Early => 0,
            Phase::Active | Phase::Guarded | Phase::Observed => 1,
            Phase::Finalized => 2,
        },
    }]
}

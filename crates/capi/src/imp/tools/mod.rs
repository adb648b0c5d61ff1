//! Chapter 15: the tools interface. What there is to see and to set is data (`runtime::variables`); here it is looked up, read, written and measured.
//!
//! | room | section |
//! | --- | --- |
//! | `control` | 15.3.6, control variables |
//! | `performance` | 15.3.7, performance variables |
//! | `events` | 15.3.8, events |
//! | `categories` | 15.3.9, categories; 15.3.5, enumerations |

pub(crate) mod categories;
pub(crate) mod control;
pub(crate) mod events;
pub(crate) mod performance;

use core::ffi::{CStr, c_int, c_void};

use engine::{Levels, Rank};
use runtime::variables::{Audience, Bind};

use crate::abi::constants::*;
use crate::abi::types::MPI_Comm;
use crate::call::Call;
use crate::convert::Out;
use crate::errors::{Fault, Outcome};
use crate::handles::tools::{Members, Meter, Room};
use crate::process::{State, current};

/// Threads that MPI does not know of may call from now on, if that is asked for: those of MPI then take turns with them, since what is read lies in the tables of
/// the rank.
pub(crate) fn mpi_t_init_thread(call: &Call, required: c_int, provided: Out<c_int>) -> Outcome {
    let state = call.state;
    let highest = if current::is_hosting() { MPI_THREAD_FUNNELED } else { MPI_THREAD_MULTIPLE };
    let level = required.clamp(MPI_THREAD_SINGLE, highest);
    if level >= MPI_THREAD_SERIALIZED {
        if state.is_active() && !state.takes_turns() {
            if state.main_thread.get() != Some(&std::thread::current().id()) {
                let text = "MPI is active, and this is not the thread of MPI_Init: expected the call there, or before";
                return Err(Fault::new(MPI_T_ERR_CANNOT_INIT, text));
            }
            state.take_turns();
        }
        state.tools.expect_threads();
    }
    state.tools.begin();
    provided.set(level);
    Ok(())
}

pub(crate) fn mpi_t_finalize(call: &Call) -> Outcome {
    if call.state.tools.end() {
        in_each_lane(call.state, |rank| rank.set_meter(None));
        call.state.in_first_lane(|| call.state.follow_listeners());
    }
    Ok(())
}

/// The process has joined its job: what was set before holds from now on.
pub(crate) fn begin(state: &State) {
    for (control, value) in state.tools.pending().drain(..) {
        control::apply(state.rank(), control, value);
    }
}

/// The process is active: what is measured is measured in all its lanes.
pub(crate) fn attach(state: &State) {
    if let Some(room) = state.tools.used_room()
        && room.counting.is_wanted()
    {
        measure(state, &room, false);
    }
}

/// Something is to be measured now that was not, or the other way round: `was_wanted` says whether anything was.
fn measure(state: &State, room: &Room, was_wanted: bool) {
    let wanted = room.counting.is_wanted();
    if wanted == was_wanted {
        return;
    }
    if wanted {
        room.counting.begin(levels(state).unexpected);
    }
    in_each_lane(state, |rank| rank.set_meter(wanted.then(|| Box::new(Meter::new(&room.counting)) as _)));
}

/// Does something in each lane, once the process has joined its job. The calling thread need not be inside of any.
fn in_each_lane(state: &State, mut act: impl FnMut(&Rank)) {
    for lane in 0..state.number_of_lanes() {
        let visit = || {
            if let Some(rank) = state.seat(lane).joined() {
                act(rank);
            }
        };
        if lane == 0 { state.in_first_lane(visit) } else { state.cross(lane, visit) }
    }
}

/// How much there is of everything, in all lanes.
fn levels(state: &State) -> Levels {
    let mut all = Levels::default();
    in_each_lane(state, |rank| all = all + rank.levels());
    all
}

/// The entry of a list with this index.
fn entry<T>(list: &'static [T], index: c_int, name: &str) -> Outcome<(usize, &'static T)> {
    let found = usize::try_from(index).ok().and_then(|index| Some((index, list.get(index)?)));
    found.ok_or_else(|| {
        let last = list.len() - 1;
        Fault::new(MPI_T_ERR_INVALID_INDEX, format_args!("{name} is {index}, expected 0 to {last}"))
    })
}

/// The index of the entry of a list for which `is` holds.
fn index_of<T>(list: &[T], name: &CStr, is: impl Fn(&T, &str) -> bool) -> Outcome<c_int> {
    let wanted = name.to_string_lossy();
    let place = list.iter().position(|entry| is(entry, &wanted));
    place
        .map(|place| place as c_int)
        .ok_or_else(|| Fault::new(MPI_T_ERR_INVALID_NAME, format_args!("{wanted:?} is not known")))
}

/// The communicator that something is bound to, by its address.
fn members(call: &Call, bind: Bind, object: *mut c_void) -> Outcome<Option<Members>> {
    if bind == Bind::Process {
        return Ok(None);
    }
    if object.is_null() {
        return Err(Fault::null("obj_handle"));
    }
    // SAFETY: the contract of `convert`: the address of a handle of the kind that the variable is bound to.
    let handle = unsafe { object.cast::<MPI_Comm>().read() };
    // In no lane, so that nobody's count is touched.
    let comm = call.state.comms.of_call(handle, u32::MAX);
    let comm = comm.filter(|_| call.state.is_active()).ok_or_else(|| {
        let past = call.state.comms.table().past(handle.0);
        Fault::handle(MPI_T_ERR_INVALID_HANDLE, "obj_handle", handle.0, "a communicator", past)
    })?;
    Ok(Some(Members { context: comm.comm.context(), peers: comm.comm.peers().clone() }))
}

fn verbosity(audience: Audience) -> c_int {
    match audience {
        Audience::User => MPI_T_VERBOSITY_USER_BASIC,
        Audience::Tuner => MPI_T_VERBOSITY_TUNER_BASIC,
        Audience::Developer => MPI_T_VERBOSITY_MPIDEV_BASIC,
    }
}

fn binding(bind: Bind) -> c_int {
    match bind {
        Bind::Process => MPI_T_BIND_NO_OBJECT,
        Bind::Comm => MPI_T_BIND_MPI_COMM,
    }
}

/// Stores something where it is wanted.
fn give<T>(out: Option<Out<'_, T>>, value: T) {
    if let Some(out) = out {
        out.set(value);
    }
}

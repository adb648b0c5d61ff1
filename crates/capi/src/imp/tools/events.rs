//! Events (MPI section 15.3.8): registrations, callbacks, and what is known of an event inside of one.

use core::ffi::{CStr, c_int, c_void};
use std::cell::Cell;
use std::sync::Arc;

use runtime::variables::EVENTS;

use super::{binding, entry, give, index_of, measure, members, verbosity};
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, OutText};
use crate::errors::{Fault, Outcome, Past};
use crate::handles::Info;
use crate::handles::tools::{Callback, Instance, Registration, Room, SOURCE, nanoseconds};

pub(crate) fn mpi_t_source_get_num(_: &Call, num_sources: Out<c_int>) -> Outcome {
    num_sources.set(SOURCE + 1);
    Ok(())
}

fn source(index: c_int) -> Outcome {
    if index == SOURCE {
        return Ok(());
    }
    Err(Fault::new(MPI_T_ERR_INVALID_INDEX, format_args!("source_index is {index}, expected {SOURCE}")))
}

pub(crate) fn mpi_t_source_get_info(
    call: &Call,
    source_index: c_int,
    name: OutText,
    _name_len: *mut c_int,
    desc: OutText,
    _desc_len: *mut c_int,
    ordering: Option<Out<MPI_T_source_order>>,
    ticks_per_second: Option<Out<MPI_Count>>,
    max_ticks: Option<Out<MPI_Count>>,
    info: Option<Out<MPI_Info>>,
) -> Outcome {
    source(source_index)?;
    name.set("rank");
    desc.set("the rank that calls; its clock is that of MPI_Wtime, in nanoseconds");
    // With several lanes events of different threads are noted as they come.
    let ordered = !call.state.has_lanes();
    give(ordering, if ordered { MPI_T_SOURCE_ORDERED } else { MPI_T_SOURCE_UNORDERED });
    give(ticks_per_second, 1_000_000_000);
    give(max_ticks, MPI_Count::MAX);
    give_info(call, info);
    Ok(())
}

/// An info object without hints, which the caller frees.
fn give_info(call: &Call, info: Option<Out<'_, MPI_Info>>) {
    if let Some(info) = info {
        info.set(call.state.infos.insert(Info::default()));
    }
}

pub(crate) fn mpi_t_source_get_timestamp(
    call: &Call,
    source_index: c_int,
    timestamp: Out<MPI_Count>,
) -> Outcome {
    source(source_index)?;
    let Some(rank) = call.state.rank_if_joined() else {
        return Err(Fault::new(MPI_T_ERR_NOT_ACCESSIBLE, "the rank has no clock before MPI_Init"));
    };
    timestamp.set(call.state.in_first_lane(|| nanoseconds(rank.fabric())) as MPI_Count);
    Ok(())
}

pub(crate) fn mpi_t_event_get_num(_: &Call, num_events: Out<c_int>) -> Outcome {
    num_events.set(EVENTS.len() as c_int);
    Ok(())
}

pub(crate) fn mpi_t_event_get_index(_: &Call, name: &CStr, event_index: Out<c_int>) -> Outcome {
    event_index.set(index_of(EVENTS, name, |event, wanted| event.name == wanted)?);
    Ok(())
}

pub(crate) fn mpi_t_event_get_info(
    call: &Call,
    event_index: c_int,
    name: OutText,
    _name_len: *mut c_int,
    verbose: Option<Out<c_int>>,
    array_of_datatypes: *mut MPI_Datatype,
    array_of_displacements: *mut MPI_Aint,
    num_elements: Option<&Cell<c_int>>,
    enumtype: Option<Out<MPI_T_enum>>,
    info: Option<Out<MPI_Info>>,
    desc: OutText,
    _desc_len: *mut c_int,
    bind: Option<Out<c_int>>,
) -> Outcome {
    let (_, event) = entry(EVENTS, event_index, "event_index")?;
    name.set(event.name);
    give(verbose, verbosity(event.audience));
    if let Some(number) = num_elements {
        let room = usize::try_from(number.get()).unwrap_or(0);
        let length = |given: bool| if given { room } else { 0 };
        // SAFETY: the contract of `convert`: arrays that are there have so many elements.
        let (types, places) = unsafe {
            (
                call.outs("array_of_datatypes", array_of_datatypes, length(!array_of_datatypes.is_null()))?,
                call.outs(
                    "array_of_displacements",
                    array_of_displacements,
                    length(!array_of_displacements.is_null()),
                )?,
            )
        };
        let mut place = 0;
        for (index, element) in event.elements.iter().enumerate() {
            types.set(index, if element.is_int() { MPI_INT } else { MPI_UNSIGNED_LONG_LONG });
            places.set(index, place as MPI_Aint);
            place += element.size();
        }
        number.set(event.elements.len() as c_int);
    }
    give(enumtype, MPI_T_ENUM_NULL);
    give_info(call, info);
    desc.set(event.what);
    give(bind, binding(event.bind));
    Ok(())
}

pub(crate) fn mpi_t_event_handle_alloc(
    call: &Call,
    event_index: c_int,
    obj_handle: *mut c_void,
    info: Option<Arc<Info>>,
    event_registration: Out<MPI_T_event_registration>,
) -> Outcome {
    let (index, event) = entry(EVENTS, event_index, "event_index")?;
    let members = members(call, event.bind, obj_handle)?;
    let registration = Arc::new(Registration::new(index, members, hints(info)));
    let handle = call.state.tools.room().registrations.insert(Arc::clone(&registration));
    registration.set_handle(MPI_T_event_registration(handle));
    event_registration.set(MPI_T_event_registration(handle));
    Ok(())
}

/// A copy of hints: none of them is used, and all can be read again.
fn hints(info: Option<Arc<Info>>) -> Arc<Info> {
    Arc::new(info.map(|info| info.copy()).unwrap_or_default())
}

fn of_handle(call: &Call, handle: MPI_T_event_registration) -> Outcome<(Arc<Room>, Arc<Registration>)> {
    let room = call.state.tools.room();
    let found = room.registrations.get(handle.0);
    let registration = found.ok_or_else(|| {
        let expected = "the registration of an event";
        let past = room.registrations.past(handle.0);
        Fault::handle(MPI_T_ERR_INVALID_HANDLE, "event_registration", handle.0, expected, past)
    })?;
    Ok((room, registration))
}

/// Whether there is somebody to call back has changed.
fn follow(call: &Call, room: &Room, registration: &Arc<Registration>, wanted: bool) {
    let was_wanted = room.counting.is_wanted();
    if wanted {
        room.counting.listen(registration);
    } else {
        room.counting.listen_no_more(registration);
    }
    measure(call.state, room, was_wanted);
    call.state.tools.set_heard(room.counting.listeners().are_any());
    call.state.in_first_lane(|| call.state.follow_listeners());
}

/// What has happened before is told first. The registration is gone when this returns.
pub(crate) fn mpi_t_event_handle_free(
    call: &Call,
    event_registration: MPI_T_event_registration,
    user_data: *mut c_void,
    free_cb_function: MPI_T_event_free_cb_function,
) -> Outcome {
    let (room, registration) = of_handle(call, event_registration)?;
    room.counting.deliver();
    follow(call, &room, &registration, false);
    if let Some(function) = free_cb_function {
        // SAFETY: a function of the program's, of this type, by MPI's contract with it.
        unsafe { function(event_registration, MPI_T_CB_REQUIRE_NONE, user_data) };
    }
    room.registrations.remove(event_registration.0);
    Ok(())
}

pub(crate) fn mpi_t_event_handle_set_info(
    call: &Call,
    event_registration: MPI_T_event_registration,
    info: Option<Arc<Info>>,
) -> Outcome {
    let (_, registration) = of_handle(call, event_registration)?;
    registration.set_info(hints(info));
    Ok(())
}

pub(crate) fn mpi_t_event_handle_get_info(
    call: &Call,
    event_registration: MPI_T_event_registration,
    info_used: Out<MPI_Info>,
) -> Outcome {
    let (_, registration) = of_handle(call, event_registration)?;
    info_used.set(call.state.infos.insert(registration.info().copy()));
    Ok(())
}

#[cold]
fn no_callback(safety: c_int) -> Fault {
    let text = format_args!("cb_safety is {safety}, expected a level at which a callback is registered");
    Fault::new(MPI_T_ERR_INVALID, text)
}

pub(crate) fn mpi_t_event_register_callback(
    call: &Call,
    event_registration: MPI_T_event_registration,
    cb_safety: MPI_T_cb_safety,
    info: Option<Arc<Info>>,
    user_data: *mut c_void,
    event_cb_function: MPI_T_event_cb_function,
) -> Outcome {
    let (room, registration) = of_handle(call, event_registration)?;
    let callback = event_cb_function.map(|function| Callback::new(function, user_data, hints(info)));
    if !registration.set_callback(cb_safety, callback) {
        let text = format_args!("cb_safety is {cb_safety}, expected one of the MPI_T_CB_REQUIRE levels");
        return Err(Fault::new(MPI_T_ERR_INVALID, text));
    }
    follow(call, &room, &registration, registration.has_callback());
    Ok(())
}

pub(crate) fn mpi_t_event_callback_set_info(
    call: &Call,
    event_registration: MPI_T_event_registration,
    cb_safety: MPI_T_cb_safety,
    info: Option<Arc<Info>>,
) -> Outcome {
    let (_, registration) = of_handle(call, event_registration)?;
    if registration.set_callback_info(cb_safety, hints(info)) { Ok(()) } else { Err(no_callback(cb_safety)) }
}

pub(crate) fn mpi_t_event_callback_get_info(
    call: &Call,
    event_registration: MPI_T_event_registration,
    cb_safety: MPI_T_cb_safety,
    info_used: Out<MPI_Info>,
) -> Outcome {
    let (_, registration) = of_handle(call, event_registration)?;
    let info = registration.callback_info(cb_safety).ok_or_else(|| no_callback(cb_safety))?;
    info_used.set(call.state.infos.insert(info.copy()));
    Ok(())
}

pub(crate) fn mpi_t_event_set_dropped_handler(
    call: &Call,
    event_registration: MPI_T_event_registration,
    dropped_cb_function: MPI_T_event_dropped_cb_function,
) -> Outcome {
    let (_, registration) = of_handle(call, event_registration)?;
    registration.set_dropped_handler(dropped_cb_function);
    Ok(())
}

fn of_instance(call: &Call, handle: MPI_T_event_instance) -> Outcome<Instance> {
    let current = call.state.tools.room().counting.listeners().current(handle);
    current.ok_or_else(|| {
        let expected = "the event that a callback is being told of";
        Fault::handle(MPI_T_ERR_INVALID_HANDLE, "event_instance", handle.0, expected, Past::Lives)
    })
}

pub(crate) fn mpi_t_event_read(
    call: &Call,
    event_instance: MPI_T_event_instance,
    element_index: c_int,
    buffer: Buf,
) -> Outcome {
    let instance = of_instance(call, event_instance)?;
    let element = usize::try_from(element_index).ok().and_then(|index| instance.element(index));
    let bytes = element.ok_or_else(|| {
        let text = format_args!("element_index is {element_index}, expected an element of the event");
        Fault::new(MPI_T_ERR_INVALID_INDEX, text)
    })?;
    buffer.store(0, bytes);
    Ok(())
}

pub(crate) fn mpi_t_event_copy(call: &Call, event_instance: MPI_T_event_instance, buffer: Buf) -> Outcome {
    buffer.store(0, of_instance(call, event_instance)?.bytes());
    Ok(())
}

pub(crate) fn mpi_t_event_get_timestamp(
    call: &Call,
    event_instance: MPI_T_event_instance,
    event_timestamp: Out<MPI_Count>,
) -> Outcome {
    event_timestamp.set(of_instance(call, event_instance)?.nanoseconds as MPI_Count);
    Ok(())
}

pub(crate) fn mpi_t_event_get_source(
    call: &Call,
    event_instance: MPI_T_event_instance,
    source_index: Out<c_int>,
) -> Outcome {
    of_instance(call, event_instance)?;
    source_index.set(SOURCE);
    Ok(())
}

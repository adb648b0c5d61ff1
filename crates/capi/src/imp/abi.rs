//! Chapter 20: the application binary interface. Version, Fortran settings, handles as integers.

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::Out;
use crate::errors::{Fault, Outcome};
use crate::handles::{Info, Integers, Table};
use crate::process::{State, current};

pub(crate) fn mpi_abi_get_version(_: &Call, abi_major: Out<c_int>, abi_minor: Out<c_int>) -> Outcome {
    abi_major.set(MPI_ABI_VERSION);
    abi_minor.set(MPI_ABI_SUBVERSION);
    Ok(())
}

pub(crate) fn mpi_abi_get_info(call: &Call, info: Out<MPI_Info>) -> Outcome {
    let sizes = Info::default();
    for (key, bytes) in [
        ("mpi_aint_size", size_of::<MPI_Aint>()),
        ("mpi_count_size", size_of::<MPI_Count>()),
        ("mpi_offset_size", size_of::<MPI_Offset>()),
    ] {
        sizes.set(key, &bytes.to_string());
    }
    info.set(call.state.infos.insert(sizes));
    Ok(())
}

pub(crate) fn mpi_abi_set_fortran_booleans(
    call: &Call,
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> Outcome {
    let size = logical_bytes(logical_size)?;
    if logical_true.is_null() || logical_false.is_null() {
        return Err(Fault::null("logical_true or logical_false"));
    }
    let mut fortran = call.state.fortran.lock().expect("nobody panics with it");
    if fortran.booleans.is_some() {
        return Err(Fault::new(MPI_ERR_ABI, "the Fortran booleans are set already, expected one call"));
    }
    // SAFETY: the contract of `convert`: both point to a LOGICAL of the given size.
    let bytes = |value: *mut c_void| unsafe { std::slice::from_raw_parts(value.cast::<u8>(), size) }.to_vec();
    fortran.booleans = Some((size, bytes(logical_true), bytes(logical_false)));
    Ok(())
}

pub(crate) fn mpi_abi_get_fortran_booleans(
    call: &Call,
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: Out<c_int>,
) -> Outcome {
    let size = logical_bytes(logical_size)?;
    let fortran = call.state.fortran.lock().expect("nobody panics with it");
    let known = fortran.booleans.as_ref().filter(|(known, ..)| *known == size);
    is_set.set(c_int::from(known.is_some()));
    let Some((_, yes, no)) = known else { return Ok(()) };
    if logical_true.is_null() || logical_false.is_null() {
        return Err(Fault::null("logical_true or logical_false"));
    }
    // SAFETY: the contract of `convert`: both have room for a LOGICAL of the given size.
    unsafe {
        std::ptr::copy_nonoverlapping(yes.as_ptr(), logical_true.cast(), size);
        std::ptr::copy_nonoverlapping(no.as_ptr(), logical_false.cast(), size);
    }
    Ok(())
}

fn logical_bytes(given: c_int) -> Outcome<usize> {
    match given {
        1 | 2 | 4 | 8 | 16 => Ok(given as usize),
        _ => Err(Fault::new(MPI_ERR_ARG, format_args!("logical_size is {given}, expected 1, 2, 4, 8 or 16"))),
    }
}

pub(crate) fn mpi_abi_set_fortran_info(call: &Call, info: Option<Arc<Info>>) -> Outcome {
    let Some(info) = info else {
        return Err(Fault::new(MPI_ERR_INFO, "info is MPI_INFO_NULL, expected an object"));
    };
    let mut fortran = call.state.fortran.lock().expect("nobody panics with it");
    if fortran.sizes.is_some() {
        return Err(Fault::new(MPI_ERR_ABI, "the Fortran sizes are set already, expected one call"));
    }
    fortran.sizes = Some(info.copy());
    Ok(())
}

pub(crate) fn mpi_abi_get_fortran_info(call: &Call, info: Out<MPI_Info>) -> Outcome {
    let fortran = call.state.fortran.lock().expect("nobody panics with it");
    info.set(match &fortran.sizes {
        Some(sizes) => call.state.infos.insert(sizes.copy()),
        None => MPI_INFO_NULL,
    });
    Ok(())
}

/// Predefined handles are their own integers.
const PREDEFINED: usize = 0x1000;

/// What an integer or a handle that names nothing becomes.
const NOTHING: c_int = -1;

fn to_int<T: Clone>(handle: usize, table: Option<&Table<T>>) -> c_int {
    if handle < PREDEFINED {
        return handle as c_int;
    }
    table.and_then(|table| table.to_int(handle)).unwrap_or(NOTHING)
}

fn from_int<T: Clone>(number: c_int, table: Option<&Table<T>>, null: usize) -> usize {
    match usize::try_from(number) {
        Ok(number) if number < PREDEFINED => number,
        _ => table.and_then(|table| table.handle_of_int(number)).unwrap_or(null),
    }
}

pub(crate) fn mpi_comm_toint(comm: MPI_Comm) -> c_int {
    to_int(comm.0, current::any_phase().map(|state| state.comms.table()))
}

pub(crate) fn mpi_comm_fromint(comm: c_int) -> MPI_Comm {
    MPI_Comm(from_int(comm, current::any_phase().map(|state| state.comms.table()), MPI_COMM_NULL.0))
}

pub(crate) fn mpi_group_toint(group: MPI_Group) -> c_int {
    to_int(group.0, current::any_phase().map(|state| state.groups.table()))
}

pub(crate) fn mpi_group_fromint(group: c_int) -> MPI_Group {
    MPI_Group(from_int(group, current::any_phase().map(|state| state.groups.table()), MPI_GROUP_NULL.0))
}

pub(crate) fn mpi_type_toint(datatype: MPI_Datatype) -> c_int {
    to_int(datatype.0, current::any_phase().map(|state| state.types.table()))
}

pub(crate) fn mpi_type_fromint(datatype: c_int) -> MPI_Datatype {
    MPI_Datatype(from_int(
        datatype,
        current::any_phase().map(|state| state.types.table()),
        MPI_DATATYPE_NULL.0,
    ))
}

pub(crate) fn mpi_op_toint(op: MPI_Op) -> c_int {
    to_int(op.0, current::any_phase().map(|state| state.ops.table()))
}

pub(crate) fn mpi_op_fromint(op: c_int) -> MPI_Op {
    MPI_Op(from_int(op, current::any_phase().map(|state| state.ops.table()), MPI_OP_NULL.0))
}

pub(crate) fn mpi_info_toint(info: MPI_Info) -> c_int {
    to_int(info.0, current::any_phase().map(|state| state.infos.table()).as_deref())
}

pub(crate) fn mpi_info_fromint(info: c_int) -> MPI_Info {
    let table = current::any_phase().map(|state| state.infos.table());
    MPI_Info(from_int(info, table.as_deref(), MPI_INFO_NULL.0))
}

pub(crate) fn mpi_errhandler_toint(errhandler: MPI_Errhandler) -> c_int {
    to_int(errhandler.0, current::any_phase().map(|state| state.handlers.made()).as_deref())
}

pub(crate) fn mpi_errhandler_fromint(errhandler: c_int) -> MPI_Errhandler {
    let table = current::any_phase().map(|state| state.handlers.made());
    MPI_Errhandler(from_int(errhandler, table.as_deref(), MPI_ERRHANDLER_NULL.0))
}

pub(crate) fn mpi_request_toint(request: MPI_Request) -> c_int {
    match current::any_phase() {
        Some(state) if request.0 >= PREDEFINED => state.integers.of(request.0),
        _ => request.0 as c_int,
    }
}

pub(crate) fn mpi_request_fromint(request: c_int) -> MPI_Request {
    MPI_Request(word_from_int(request, MPI_REQUEST_NULL.0, |state| &state.integers))
}

pub(crate) fn mpi_message_toint(message: MPI_Message) -> c_int {
    match current::any_phase() {
        Some(state) if message.0 >= PREDEFINED => state.message_integers.of(message.0),
        _ => message.0 as c_int,
    }
}

pub(crate) fn mpi_message_fromint(message: c_int) -> MPI_Message {
    MPI_Message(word_from_int(message, MPI_MESSAGE_NULL.0, |state| &state.message_integers))
}

fn word_from_int(number: c_int, null: usize, integers: fn(&State) -> &Integers) -> usize {
    match usize::try_from(number) {
        Ok(number) if number < PREDEFINED => number,
        _ => current::any_phase().and_then(|state| integers(state).word(number)).unwrap_or(null),
    }
}

pub(crate) fn mpi_win_toint(win: MPI_Win) -> c_int {
    to_int(win.0, current::any_phase().map(|state| state.windows.table()))
}

pub(crate) fn mpi_win_fromint(win: c_int) -> MPI_Win {
    MPI_Win(from_int(win, current::any_phase().map(|state| state.windows.table()), MPI_WIN_NULL.0))
}

pub(crate) fn mpi_file_toint(file: MPI_File) -> c_int {
    to_int(file.0, current::any_phase().map(|state| state.files.table()))
}

pub(crate) fn mpi_file_fromint(file: c_int) -> MPI_File {
    MPI_File(from_int(file, current::any_phase().map(|state| state.files.table()), MPI_FILE_NULL.0))
}

pub(crate) fn mpi_session_toint(session: MPI_Session) -> c_int {
    let open = current::any_phase().map(|state| state.sessions.lock());
    to_int(session.0, open.as_ref().map(|open| open.table()))
}

pub(crate) fn mpi_session_fromint(session: c_int) -> MPI_Session {
    let open = current::any_phase().map(|state| state.sessions.lock());
    MPI_Session(from_int(session, open.as_ref().map(|open| open.table()), MPI_SESSION_NULL.0))
}

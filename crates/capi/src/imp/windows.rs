//! Chapter 12: windows as objects. Memory is attached to them and taken away again; to move data is not here yet.

use core::ffi::{CStr, c_int};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, OutString};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Info, Memory, Overlap, Window};
use crate::imp::collectives::synchronise;
use crate::imp::properties::{EVERY_ORDER, Hint, SAME_OP_NO_OP, heed, rename, tell_hints, tell_name};

/// The hints of section 12.2.1 and their defaults.
const HINTS: [Hint; 6] = [
    ("no_locks", "false"),
    ("accumulate_ordering", EVERY_ORDER),
    ("accumulate_ops", SAME_OP_NO_OP),
    ("mpi_accumulate_granularity", "0"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
];

/// Errors go to the communicator's handler until there is a window, which begins with MPI_ERRORS_ARE_FATAL whatever its communicator has
/// (MPI section 12.6.1).
pub(crate) fn mpi_win_create_dynamic(
    call: &Call,
    info: Option<Arc<Info>>,
    comm: &Rc<Comm>,
    win: Out<MPI_Win>,
) -> Outcome {
    win.set(MPI_WIN_NULL);
    comm.comm.intra()?;
    let own = call.rank().dup(&comm.comm)?;
    call.state.use_lane(own.lane());
    let own = Comm::new(own, Arc::clone(&call.state.handlers.fatal));
    heed(&own.info, &HINTS, info);
    win.set(call.state.windows.insert(own, Memory::dynamic()));
    Ok(())
}

/// The attributes go while the window is whole. No member gets out before all have come, so that none is left who could reach into memory that
/// the program uses otherwise from now on (MPI section 12.2.5).
pub(crate) fn mpi_win_free(call: &Call, win: &Cell<MPI_Win>) -> Outcome {
    let handle = win.get();
    let found = call.window("win", handle)?;
    found.attributes.clear(handle.0)?;
    synchronise(call.rank(), &found.comm)?;
    drop(call.state.windows.remove(handle));
    drop(found);
    call.rank().reclaim_contexts();
    win.set(MPI_WIN_NULL);
    Ok(())
}

pub(crate) fn mpi_win_attach(_: &Call, win: &Window, base: Buf, size: MPI_Aint) -> Outcome {
    let address = base.address();
    let bytes = usize::try_from(size).ok().filter(|bytes| address.addr().checked_add(*bytes).is_some());
    let Some(bytes) = bytes else {
        let text = format_args!("size is {size}, expected zero or more bytes that memory has from base on");
        return Err(Fault::new(MPI_ERR_SIZE, text));
    };
    if bytes > 0 && (address.is_null() || address == MPI_IN_PLACE) {
        let text = format_args!("base is {address:p}, expected the address of {size} bytes");
        return Err(Fault::new(MPI_ERR_RMA_ATTACH, text));
    }
    win.memory().attach(address.expose_provenance(), bytes).map_err(|Overlap(there)| {
        let text = format_args!(
            "base is {address:p} and size is {size}, expected memory that is not attached; {:#x} to {:#x} is",
            there.start,
            there.end - 1
        );
        Fault::new(MPI_ERR_RMA_ATTACH, text)
    })
}

pub(crate) fn mpi_win_detach(_: &Call, win: &Window, base: Buf) -> Outcome {
    if win.memory().detach(base.address().addr()) {
        return Ok(());
    }
    let text = format_args!("base is {:p}, expected that of memory which is attached", base.address());
    Err(Fault::new(MPI_ERR_RMA_ATTACH, text))
}

pub(crate) fn mpi_win_get_group(call: &Call, win: &Window, group: Out<MPI_Group>) -> Outcome {
    group.set(call.state.groups.insert(win.comm.group().clone()));
    Ok(())
}

pub(crate) fn mpi_win_set_info(_: &Call, win: &Window, info: Option<Arc<Info>>) -> Outcome {
    heed(&win.info, &HINTS, info);
    Ok(())
}

pub(crate) fn mpi_win_get_info(call: &Call, win: &Window, info_used: Out<MPI_Info>) -> Outcome {
    tell_hints(call, &win.info, &HINTS, None, info_used);
    Ok(())
}

pub(crate) fn mpi_win_set_name(_: &Call, win: &Window, win_name: &CStr) -> Outcome {
    rename(&win.name, win_name);
    Ok(())
}

pub(crate) fn mpi_win_get_name(
    _: &Call,
    win: Option<Window>,
    win_name: OutString,
    resultlen: Out<c_int>,
) -> Outcome {
    tell_name(win.as_ref().map(|win| &win.name), "MPI_WIN_NULL", win_name, resultlen);
    Ok(())
}

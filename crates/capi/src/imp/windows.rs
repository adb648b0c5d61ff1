//! Chapter 12: windows as objects, with the memory that they are made with or that is attached to them. What is done with it is in `one_sided` and `epochs`.

use core::ffi::{CStr, c_int, c_void};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use engine::{Backing, Crossing, Dest};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, OutNumber, OutString, RankArg};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Info, Memory, Overlap, Window};
use crate::imp::collectives::synchronise;
use crate::imp::properties::{EVERY_ORDER, Hint, SAME_OP_NO_OP, heed, rename, tell_hints, tell_name};

/// The hints of section 12.2.1 and their defaults.
const HINTS: [Hint; 7] = [
    ("no_locks", "false"),
    ("accumulate_ordering", EVERY_ORDER),
    ("accumulate_ops", SAME_OP_NO_OP),
    ("mpi_accumulate_granularity", "0"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    (NONCONTIGUOUS, "false"),
];

/// The memory of a shared window need not be in one piece (MPI section 12.2.3).
const NONCONTIGUOUS: &str = "alloc_shared_noncontig";

/// Makes a window of a communicator, with memory of some kind; the base is that of this process.
///
/// Errors go to the communicator's handler until there is a window, which begins with MPI_ERRORS_ARE_FATAL whatever its communicator has
/// (MPI section 12.6.1).
#[inline(never)]
fn make(
    call: &Call,
    (backing, flavor): (Backing, c_int),
    disp_unit: i64,
    info: Option<Arc<Info>>,
    comm: &Rc<Comm>,
    win: Out<MPI_Win>,
) -> Outcome<usize> {
    win.set(MPI_WIN_NULL);
    comm.comm.intra()?;
    if disp_unit <= 0 {
        return Err(Fault::new(
            MPI_ERR_DISP,
            format_args!("disp_unit is {disp_unit}, expected one or more bytes"),
        ));
    }
    let own = call.rank().dup(&comm.comm)?;
    call.state.use_lane(own.lane());
    call.in_lane(own.lane(), |call| {
        let window =
            with_home(call, |home| call.rank().create_window(own.clone(), backing, disp_unit as u64, home))?;
        // Either all members share memory, or each of them misses one: they refuse together.
        let is_missing = |member| window.memory_of(member).is_none();
        if flavor == MPI_WIN_FLAVOR_SHARED && (0..own.size()).any(is_missing) {
            with_home(call, |home| call.rank().free_window(&window, home));
            return Err(Fault::new(
                MPI_ERR_RMA_SHARED,
                "comm has members that share no memory, expected one of MPI_Comm_split_type with MPI_COMM_TYPE_SHARED",
            ));
        }
        let (base, size) = match backing {
            Backing::Given(memory) => (memory.base().addr(), memory.bytes()),
            Backing::Attached => (MPI_BOTTOM.addr(), 0),
            Backing::Allocated { bytes, .. } => {
                (window.memory_of(own.rank()).map_or(0, |(base, ..)| base.expose_provenance()), bytes)
            }
        };
        let own = Comm::new(own, Arc::clone(&call.state.handlers.fatal));
        heed(&own.info, &HINTS, info);
        own.made.set(Some(call.name_and_site()));
        let memory = Memory::new(window, base, size as MPI_Aint, disp_unit, flavor);
        win.set(call.state.windows.insert(own, memory));
        Ok(base)
    })
}

/// Memory that ranks share is had in the first lane.
pub(super) fn with_home<T>(call: &Call, act: impl FnOnce(Option<&Crossing<'_>>) -> T) -> T {
    let cross = |act: &mut dyn FnMut(&engine::Rank)| call.in_lane(0, |call| act(call.rank()));
    act(if call.lane() == 0 { None } else { Some(&cross) })
}

/// A number of bytes for a window.
fn bytes_of(size: i64) -> Outcome<usize> {
    usize::try_from(size)
        .map_err(|_| Fault::new(MPI_ERR_SIZE, format_args!("size is {size}, expected zero or more bytes")))
}

pub(crate) fn mpi_win_create(
    call: &Call,
    base: Buf,
    size: i64,
    disp_unit: i64,
    info: Option<Arc<Info>>,
    comm: &Rc<Comm>,
    win: Out<MPI_Win>,
) -> Outcome {
    let (bytes, address) = (bytes_of(size)?, base.address());
    if bytes > 0 && (address.is_null() || address == MPI_IN_PLACE) {
        let text = format_args!("base is {address:p}, expected the address of {size} bytes");
        return Err(Fault::new(MPI_ERR_BASE, text));
    }
    address.expose_provenance();
    make(call, (Backing::Given(base.exposed(bytes)), MPI_WIN_FLAVOR_CREATE), disp_unit, info, comm, win)?;
    Ok(())
}

pub(crate) fn mpi_win_allocate(
    call: &Call,
    size: i64,
    disp_unit: i64,
    info: Option<Arc<Info>>,
    comm: &Rc<Comm>,
    baseptr: Out<*mut c_void>,
    win: Out<MPI_Win>,
) -> Outcome {
    let backing = Backing::Allocated { bytes: bytes_of(size)?, contiguous: false };
    let base = make(call, (backing, MPI_WIN_FLAVOR_ALLOCATE), disp_unit, info, comm, win)?;
    baseptr.set(std::ptr::with_exposed_provenance_mut(base));
    Ok(())
}

pub(crate) fn mpi_win_allocate_shared(
    call: &Call,
    size: i64,
    disp_unit: i64,
    info: Option<Arc<Info>>,
    comm: &Rc<Comm>,
    baseptr: Out<*mut c_void>,
    win: Out<MPI_Win>,
) -> Outcome {
    let apart = info.as_ref().and_then(|info| info.get(NONCONTIGUOUS)).is_some_and(|value| value == "true");
    let backing = Backing::Allocated { bytes: bytes_of(size)?, contiguous: !apart };
    let base = make(call, (backing, MPI_WIN_FLAVOR_SHARED), disp_unit, info, comm, win)?;
    baseptr.set(std::ptr::with_exposed_provenance_mut(base));
    Ok(())
}

/// Memory that this process cannot load from and store to has no bytes for it (MPI section 12.2.3). MPI_PROC_NULL asks for the first member that has some.
pub(crate) fn mpi_win_shared_query(
    _: &Call,
    win: &Window,
    rank: RankArg,
    size: OutNumber<'_>,
    disp_unit: OutNumber<'_>,
    baseptr: Out<*mut c_void>,
) -> Outcome {
    if win.memory().flavor() == MPI_WIN_FLAVOR_DYNAMIC {
        let text = "win has memory that is attached, expected one that was made with memory";
        return Err(Fault::new(MPI_ERR_RMA_FLAVOR, text));
    }
    let known = |member: u32| win.inner().memory_of(member).filter(|(_, bytes, _)| *bytes > 0);
    let found = match rank.dest(win)? {
        Dest::Rank(member) => win.inner().memory_of(member),
        Dest::Null => (0..win.peer_size() as u32).find_map(known),
    };
    let (base, bytes, unit) = found.unwrap_or((std::ptr::null_mut(), 0, 1));
    let base = if bytes == 0 { std::ptr::null_mut() } else { base };
    base.expose_provenance();
    size.set(bytes as i64);
    disp_unit.set(unit as i64);
    baseptr.set(base.cast());
    Ok(())
}

pub(crate) fn mpi_win_create_dynamic(
    call: &Call,
    info: Option<Arc<Info>>,
    comm: &Rc<Comm>,
    win: Out<MPI_Win>,
) -> Outcome {
    make(call, (Backing::Attached, MPI_WIN_FLAVOR_DYNAMIC), 1, info, comm, win)?;
    Ok(())
}

/// The attributes go while the window is whole. No member gets out before all have come, so that none is left who could reach into memory that
/// the program uses otherwise from now on (MPI section 12.2.5).
pub(crate) fn mpi_win_free(call: &Call, win: &Cell<MPI_Win>) -> Outcome {
    let handle = win.get();
    let found = call.window("win", handle)?;
    call.rank().may_free_window(found.inner())?;
    found.attributes.clear(handle.0)?;
    call.rank().close_window(found.inner());
    synchronise(call.rank(), &found.comm)?;
    with_home(call, |home| call.rank().free_window(found.inner(), home));
    drop(call.state.windows.remove(handle));
    drop(found);
    call.rank().reclaim_contexts();
    win.set(MPI_WIN_NULL);
    Ok(())
}

pub(crate) fn mpi_win_attach(call: &Call, win: &Window, base: Buf, size: MPI_Aint) -> Outcome {
    is_dynamic(win)?;
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
    })?;
    if bytes == 0 {
        return Ok(());
    }
    // What is in one piece is told of as such, before its parts go, so that members find theirs at any time.
    let own = address.addr()..address.addr() + bytes;
    let whole = win.memory().neighborhood(&own);
    if let Err(error) = call.rank().attach_memory(win.inner(), base.part(&whole)) {
        win.memory().detach(own.start);
        return Err(error.into());
    }
    for part in [whole.start..own.start, own.end..whole.end] {
        if !part.is_empty() {
            call.rank().detach_memory(win.inner(), base.part(&part));
        }
    }
    Ok(())
}

pub(crate) fn mpi_win_detach(call: &Call, win: &Window, base: Buf) -> Outcome {
    is_dynamic(win)?;
    let start = base.address().addr();
    if let Some(bytes) = win.memory().detach(start) {
        if bytes > 0 {
            let own = start..start + bytes;
            let whole = win.memory().neighborhood(&own);
            for part in [whole.start..own.start, own.end..whole.end] {
                if !part.is_empty() {
                    call.rank().attach_memory(win.inner(), base.part(&part))?;
                }
            }
            call.rank().detach_memory(win.inner(), base.part(&whole));
        }
        return Ok(());
    }
    let text = format_args!("base is {:p}, expected that of memory which is attached", base.address());
    Err(Fault::new(MPI_ERR_RMA_ATTACH, text))
}

fn is_dynamic(win: &Window) -> Outcome {
    if win.memory().flavor() == MPI_WIN_FLAVOR_DYNAMIC {
        return Ok(());
    }
    let text = "win was made with its memory, expected a window of MPI_Win_create_dynamic";
    Err(Fault::new(MPI_ERR_RMA_FLAVOR, text))
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
    win: Option<&Window>,
    win_name: OutString,
    resultlen: Out<c_int>,
) -> Outcome {
    tell_name(win.as_ref().map(|win| &win.name), "MPI_WIN_NULL", win_name, resultlen);
    Ok(())
}

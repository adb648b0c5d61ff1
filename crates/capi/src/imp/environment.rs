//! Chapters 9 and 11: beginning and end, versions, names, clocks, memory.

use core::ffi::{c_char, c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::Counted;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, OutNumber, OutString};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Info};
use crate::imp::activity::{activate, drain};
use crate::imp::processes;
use crate::process::{Allocated, Phase, World, current, site};

pub(crate) fn mpi_init(call: &Call, _argc: *mut c_int, _argv: *mut *mut *mut c_char) -> Outcome {
    init(call, MPI_THREAD_SINGLE).map(|_| ())
}

pub(crate) fn mpi_init_thread(
    call: &Call,
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    required: c_int,
    provided: Out<c_int>,
) -> Outcome {
    if ![MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE]
        .contains(&required)
    {
        let text = format_args!("required is {required}, expected one of the MPI_THREAD levels");
        return Err(Fault::new(MPI_ERR_ARG, text));
    }
    provided.set(init(call, required)?);
    Ok(())
}

/// Returns the level of thread support that is provided.
fn init(call: &Call, required: c_int) -> Outcome<c_int> {
    match call.state.world() {
        World::Before => (),
        World::Open => {
            return Err(Fault::new(MPI_ERR_OTHER, "MPI is initialised already, expected one call"));
        }
        World::Closed => {
            return Err(Fault::new(MPI_ERR_OTHER, "called after MPI_Finalize, expected one MPI_Init"));
        }
    }
    // No session begins or ends meanwhile.
    let _sessions = call.state.sessions.lock();
    let level = activate(call.state, required)?;
    call.state.open_world();
    processes::meet_parent(call.state)?;
    Ok(level)
}

pub(crate) fn mpi_initialized(call: &Call, flag: Out<c_int>) -> Outcome {
    flag.set(c_int::from(call.state.world() != World::Before));
    Ok(())
}

pub(crate) fn mpi_finalized(call: &Call, flag: Out<c_int>) -> Outcome {
    flag.set(c_int::from(call.state.world() == World::Closed));
    Ok(())
}

/// The attributes of MPI_COMM_SELF go first, while everything still works (MPI section 11.2.3).
pub(crate) fn mpi_finalize(call: &Call) -> Outcome {
    let state = call.state;
    match state.world() {
        World::Open => {}
        World::Before => {
            return Err(Fault::new(MPI_ERR_OTHER, "called before MPI_Init, expected MPI_Init first"));
        }
        World::Closed => return Err(Fault::new(MPI_ERR_OTHER, crate::call::TOO_LATE)),
    }
    if let Some(own) = state.comms.get(MPI_COMM_SELF) {
        own.attributes.clear(MPI_COMM_SELF.0)?;
    }
    // What is under way ends while everybody is still there to take it; the second time, what the synchronisation itself sent.
    // What checks have sent each other may have to be taken first, by checks.
    if state.check().is_none() {
        drain(call)?;
    }
    crate::imp::collectives::synchronise(state.rank(), state.rank().world())?;
    if let Some(check) = state.check() {
        check.at_the_end(state);
    }
    drain(call)?;
    state.close_world();
    Ok(())
}

pub(crate) fn mpi_query_thread(call: &Call, provided: Out<c_int>) -> Outcome {
    while_active(call)?;
    provided.set(call.state.thread_level.load(Ordering::Relaxed));
    Ok(())
}

pub(crate) fn mpi_is_thread_main(call: &Call, flag: Out<c_int>) -> Outcome {
    while_active(call)?;
    flag.set(c_int::from(call.state.main_thread.get() == Some(&std::thread::current().id())));
    Ok(())
}

/// For functions that any thread may call, even while another is in a call, but not before MPI_Init and after MPI_Finalize.
fn while_active(call: &Call) -> Outcome {
    match call.state.phase() {
        Phase::Early => Err(Fault::new(MPI_ERR_OTHER, crate::call::TOO_EARLY)),
        Phase::Finalized => Err(Fault::new(MPI_ERR_OTHER, crate::call::TOO_LATE)),
        _ => Ok(()),
    }
}

pub(crate) fn mpi_abort(call: &Call, comm: &Rc<Comm>, errorcode: c_int) -> Outcome {
    // The launcher names rank and code.
    let name = comm.name.borrow();
    let name = if name.is_empty() { "a communicator" } else { &name };
    let place =
        site::in_words(&|| call.state.last_call()).map_or_else(String::new, |place| format!(" {place}"));
    call.state.end(errorcode, &format!("MPI_Abort was called on {name}{place}"))
}

pub(crate) fn mpi_get_version(_: &Call, version: Out<c_int>, subversion: Out<c_int>) -> Outcome {
    version.set(MPI_VERSION);
    subversion.set(MPI_SUBVERSION);
    Ok(())
}

pub(crate) fn mpi_get_library_version(_: &Call, version: OutString, resultlen: Out<c_int>) -> Outcome {
    // `cargo xtask install` sets the variable when it optimises across crates.
    resultlen.set(version.set(match option_env!("CORELACE_BUILD") {
        Some(_) => {
            concat!("Corelace ", env!("CARGO_PKG_VERSION"), " (MPI 5.0, standard ABI 1.0, release build)")
        }
        None => concat!("Corelace ", env!("CARGO_PKG_VERSION"), " (MPI 5.0, standard ABI 1.0, quick build)"),
    }));
    Ok(())
}

pub(crate) fn mpi_get_processor_name(_: &Call, name: OutString, resultlen: Out<c_int>) -> Outcome {
    let mut bytes = [0_u8; MPI_MAX_PROCESSOR_NAME as usize];
    // SAFETY: the array is writable for its length; a name that does not fit is cut.
    let failed = unsafe { libc::gethostname(bytes.as_mut_ptr().cast(), bytes.len() - 1) };
    let text = if failed == 0 { bytes.split(|byte| *byte == 0).next().unwrap_or_default() } else { &[] };
    let host = String::from_utf8_lossy(text);
    resultlen.set(name.set(if host.is_empty() { "localhost" } else { &host }));
    Ok(())
}

/// Levels from 3 on begin a region of that number in a trace, and its negative ends it. Level 0 stops the trace of this rank,
/// the others between let it go on (MPI section 15.2: levels but 0, 1 and 2 are up to the implementation).
pub(crate) fn mpi_pcontrol(call: &Call, level: c_int) -> Outcome {
    match level.unsigned_abs() {
        0..=2 => call.state.observe(level != 0),
        region => call.state.mark_region(region, level > 0),
    }
    Ok(())
}

/// The fabric's clock, which is virtual on a simulated chip; before MPI_Init, the machine's.
pub(crate) fn mpi_wtime() -> f64 {
    match current::active() {
        Some(state) => {
            if state.phase() == Phase::Observed {
                state.rank().catch_up();
            }
            let fabric = state.rank().fabric();
            fabric.now() as f64 / fabric.caps().ticks_per_second as f64
        }
        None => {
            let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: the clock exists on every Linux, and the structure is ours.
            unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
            now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
        }
    }
}

pub(crate) fn mpi_wtick() -> f64 {
    match current::active() {
        Some(state) => 1.0 / state.rank().fabric().caps().ticks_per_second as f64,
        None => 1e-9,
    }
}

/// Memory begins at a cache line at least.
const ALIGNMENT: usize = 64;

/// Where shared memory begins.
const PAGE: usize = 4096;

/// What the budget calls memory that programs get from MPI.
const ALLOCATED: &str = "MPI_Alloc_mem";

/// Pieces that are shared: each is a mapping, of which a process may have some ten thousands.
const SHARED_PIECES: usize = 4096;

pub(crate) fn mpi_alloc_mem(
    call: &Call,
    size: i64,
    info: Option<Arc<Info>>,
    baseptr: Out<*mut c_void>,
) -> Outcome {
    let bytes = (size as usize).max(1);
    let wanted = info.and_then(|info| info.get("mpi_minimum_memory_alignment")?.parse::<usize>().ok());
    let alignment =
        wanted.filter(|wanted| wanted.is_power_of_two()).map_or(ALIGNMENT, |wanted| wanted.max(ALIGNMENT));
    let may_be_shared = alignment <= PAGE && call.state.allocated().len() < SHARED_PIECES;
    // Before MPI_Init there is nobody to share with, and no budget to keep to.
    let joined =
        with_engine(call, |rank| match if may_be_shared { rank.allocate_memory(bytes) } else { None } {
            Some(piece) => Ok(Some(piece)),
            None => rank.fabric().budget().reserve(ALLOCATED, bytes).map(|()| None),
        });
    let (address, piece) = match joined.transpose().map_err(engine::Error::from)? {
        Some(Some(piece)) => (piece.base().cast(), Some(Allocated::Shared(piece))),
        Some(None) => (allocate(bytes, alignment), Some(Allocated::Private { bytes })),
        None => (allocate(bytes, alignment), None),
    };
    if address.is_null() {
        with_engine(call, |rank| rank.fabric().budget().release(ALLOCATED, bytes));
        return Err(Fault::new(
            MPI_ERR_NO_MEM,
            format_args!("size is {size}, but there is no such piece of memory"),
        ));
    }
    if let Some(Allocated::Private { bytes }) = piece {
        with_engine(call, |rank| rank.fabric().lies_globally(address.cast(), bytes, true));
    }
    if let Some(piece) = piece {
        call.state.allocated().insert(address.addr(), piece);
    }
    baseptr.set(address);
    Ok(())
}

/// Null if there is none.
fn allocate(bytes: usize, alignment: usize) -> *mut c_void {
    let mut address = std::ptr::null_mut();
    // SAFETY: the alignment is a power of two and a multiple of the pointer size.
    unsafe { libc::posix_memalign(&mut address, alignment, bytes) };
    address
}

pub(crate) fn mpi_free_mem(call: &Call, base: Buf) -> Outcome {
    let piece = call.state.allocated().remove(&base.address().addr());
    match piece {
        Some(Allocated::Shared(piece)) => {
            // After MPI_Finalize it stays until the process ends, with all else that ranks have shared.
            with_engine(call, |rank| rank.free_memory(piece));
            return Ok(());
        }
        Some(Allocated::Private { bytes }) => {
            with_engine(call, |rank| {
                rank.fabric().lies_globally(base.address().cast(), bytes, false);
                rank.fabric().budget().release(ALLOCATED, bytes);
            });
        }
        None => {}
    }
    // SAFETY: the caller owes an address from MPI_Alloc_mem that was not freed.
    unsafe { libc::free(base.address()) };
    Ok(())
}

/// Does something with the engine while MPI is active, in the first lane. The function that calls may be called at any time, so it is in no lane yet.
fn with_engine<T>(call: &Call, act: impl FnOnce(&engine::Rank) -> T) -> Option<T> {
    let state = call.state;
    if !state.is_active() {
        return None;
    }
    let rank = state.rank_if_joined()?;
    Some(state.in_first_lane(|| act(rank)))
}

pub(crate) fn mpi_get_address(_: &Call, location: Buf, address: Out<MPI_Aint>) -> Outcome {
    address.set(location.address().expose_provenance() as MPI_Aint);
    Ok(())
}

pub(crate) fn mpi_aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
    base.wrapping_add(disp)
}

pub(crate) fn mpi_aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
    addr1.wrapping_sub(addr2)
}

/// The kinds of hardware that MPI_Comm_split_type knows, and whether this process is within one of each (section 9.1.2).
pub(crate) fn mpi_get_hw_resource_info(call: &Call, hw_info: Out<MPI_Info>) -> Outcome {
    let kinds = Info::default();
    kinds.set(crate::imp::comm::SHARED_MEMORY, "true");
    hw_info.set(call.state.infos.insert(kinds));
    Ok(())
}

/// Upper bound for the packed form: the data itself, since it travels as it is.
pub(crate) fn mpi_pack_size(
    _: &Call,
    incount: i64,
    datatype: &Counted<crate::handles::Type>,
    _comm: &Rc<Comm>,
    size: OutNumber,
) -> Outcome {
    size.set((incount as u64).saturating_mul(datatype.datatype.size()) as i64);
    Ok(())
}

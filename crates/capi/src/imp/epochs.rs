//! Chapter 12: synchronisation of windows, by fences, groups and locks (MPI section 12.5).

use core::ffi::c_int;

use engine::{Dest, Group};

use crate::abi::constants::*;
use crate::call::Call;
use crate::convert::{Out, RankArg};
use crate::errors::{Fault, Outcome};
use crate::handles::Window;

/// An error if something is asserted that does not belong to the call (MPI section 12.5.5).
fn asserted(assert: c_int, known: c_int, expected: &str) -> Outcome {
    if assert & !known == 0 {
        return Ok(());
    }
    Err(Fault::new(MPI_ERR_ASSERT, format_args!("assert is {assert}, expected zero or {expected}")))
}

/// The assertion that nobody needs to be told, or waited for.
fn unchecked(assert: c_int) -> Outcome<bool> {
    asserted(assert, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK")?;
    Ok(assert != 0)
}

/// A member of a window; none for MPI_PROC_NULL, where nothing is to be done.
#[inline]
fn member(rank: RankArg, win: &Window) -> Outcome<Option<u32>> {
    Ok(match rank.dest(win)? {
        Dest::Rank(member) => Some(member),
        Dest::Null => None,
    })
}

pub(crate) fn mpi_win_fence(call: &Call, assert: c_int, win: &Window) -> Outcome {
    let known = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    asserted(
        assert,
        known,
        "a sum of MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED",
    )?;
    Ok(call.rank().fence(win.inner(), assert & MPI_MODE_NOSUCCEED != 0)?)
}

pub(crate) fn mpi_win_post(call: &Call, group: &Group, assert: c_int, win: &Window) -> Outcome {
    let known = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
    asserted(assert, known, "a sum of MPI_MODE_NOCHECK, MPI_MODE_NOSTORE, MPI_MODE_NOPUT")?;
    Ok(call.rank().post(win.inner(), group, assert & MPI_MODE_NOCHECK != 0)?)
}

pub(crate) fn mpi_win_start(call: &Call, group: &Group, assert: c_int, win: &Window) -> Outcome {
    Ok(call.rank().start_access(win.inner(), group, unchecked(assert)?)?)
}

pub(crate) fn mpi_win_complete(call: &Call, win: &Window) -> Outcome {
    Ok(call.rank().complete_access(win.inner())?)
}

pub(crate) fn mpi_win_wait(call: &Call, win: &Window) -> Outcome {
    Ok(call.rank().wait_for_access(win.inner())?)
}

pub(crate) fn mpi_win_test(call: &Call, win: &Window, flag: Out<c_int>) -> Outcome {
    flag.set(c_int::from(call.rank().test_access(win.inner())?));
    Ok(())
}

pub(crate) fn mpi_win_lock(
    call: &Call,
    lock_type: c_int,
    rank: RankArg,
    assert: c_int,
    win: &Window,
) -> Outcome {
    if lock_type != MPI_LOCK_EXCLUSIVE && lock_type != MPI_LOCK_SHARED {
        let text = format_args!("lock_type is {lock_type}, expected MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED");
        return Err(Fault::new(MPI_ERR_LOCKTYPE, text));
    }
    let (unchecked, member) = (unchecked(assert)?, member(rank, win)?);
    Ok(call.rank().lock_window(win.inner(), member, lock_type == MPI_LOCK_EXCLUSIVE, unchecked)?)
}

pub(crate) fn mpi_win_unlock(call: &Call, rank: RankArg, win: &Window) -> Outcome {
    Ok(call.rank().unlock_window(win.inner(), member(rank, win)?)?)
}

pub(crate) fn mpi_win_lock_all(call: &Call, assert: c_int, win: &Window) -> Outcome {
    Ok(call.rank().lock_all(win.inner(), unchecked(assert)?)?)
}

pub(crate) fn mpi_win_unlock_all(call: &Call, win: &Window) -> Outcome {
    Ok(call.rank().unlock_all(win.inner())?)
}

#[inline]
pub(crate) fn mpi_win_flush(call: &Call, rank: RankArg, win: &Window) -> Outcome {
    Ok(call.rank().flush_window(win.inner(), member(rank, win)?)?)
}

pub(crate) fn mpi_win_flush_all(call: &Call, win: &Window) -> Outcome {
    Ok(call.rank().flush_window(win.inner(), None)?)
}

/// What is done at the target is done at the origin.
pub(crate) fn mpi_win_flush_local(call: &Call, rank: RankArg, win: &Window) -> Outcome {
    mpi_win_flush(call, rank, win)
}

pub(crate) fn mpi_win_flush_local_all(call: &Call, win: &Window) -> Outcome {
    mpi_win_flush_all(call, win)
}

pub(crate) fn mpi_win_sync(call: &Call, win: &Window) -> Outcome {
    Ok(call.rank().synchronise_window(win.inner())?)
}

//! Chapter 14: files as objects, their sizes, hints and pointers. What is read and written is in `files_access` and `files_begin`, views are in `files_views`.

use core::ffi::{CStr, c_int};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use io::{Hints, Mode};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::Out;
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, File, Info, Seen};
use crate::imp::windows::with_home;

/// What the bits of an access mode say.
fn mode_of(amode: c_int) -> io::Result<Mode> {
    let has = |bit: c_int| amode & bit != 0;
    let ways = [MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR];
    let known = ways.iter().fold(
        MPI_MODE_CREATE
            | MPI_MODE_EXCL
            | MPI_MODE_DELETE_ON_CLOSE
            | MPI_MODE_UNIQUE_OPEN
            | MPI_MODE_SEQUENTIAL
            | MPI_MODE_APPEND,
        |all, way| all | way,
    );
    let mode = Mode {
        reads: has(MPI_MODE_RDONLY) || has(MPI_MODE_RDWR),
        writes: has(MPI_MODE_WRONLY) || has(MPI_MODE_RDWR),
        creates: has(MPI_MODE_CREATE),
        exclusive: has(MPI_MODE_EXCL),
        deletes: has(MPI_MODE_DELETE_ON_CLOSE),
        unique: has(MPI_MODE_UNIQUE_OPEN),
        sequential: has(MPI_MODE_SEQUENTIAL),
        appends: has(MPI_MODE_APPEND),
    };
    let ways = ways.into_iter().filter(|way| has(*way)).count() as u32;
    // A bit that means nothing is as wrong as two ways at once.
    mode.checked(if amode & !known == 0 { ways } else { 0 }, i64::from(amode))
}

/// The name of a file. The system takes any bytes; sentences about a file do not.
fn name_of(filename: &CStr) -> Outcome<&str> {
    filename.to_str().map_err(|_| {
        let text = format_args!("filename is {filename:?}, expected text in UTF-8");
        Fault::new(MPI_ERR_BAD_FILE, text)
    })
}

/// The hints that are known, of those that are given.
fn each_hint(info: Option<Arc<Info>>, mut each: impl FnMut(&str, &str)) {
    let Some(info) = info else { return };
    for key in Hints::keys() {
        if let Some(value) = info.get(key) {
            each(key, &value);
        }
    }
}

pub(crate) fn mpi_file_open(
    call: &Call,
    comm: &Rc<Comm>,
    filename: &CStr,
    amode: c_int,
    info: Option<Arc<Info>>,
    fh: Out<MPI_File>,
) -> Outcome {
    fh.set(MPI_FILE_NULL);
    comm.comm.intra()?;
    let name = name_of(filename)?;
    let mut hints = Hints::default();
    each_hint(info, |key, value| hints.heed(key, value));
    let own = call.in_lane(comm.comm.lane(), |call| call.rank().dup(&comm.comm))?;
    call.state.use_lane(own.lane());
    let byte = call.datatype("etype", MPI_BYTE)?;
    let seen =
        Seen { disp: 0, etype: byte.clone(), filetype: byte, name: "native".to_owned(), datarep: None };
    call.in_lane(own.lane(), |call| {
        let (lane, group) = (own.lane(), own.group().clone());
        let opened = with_home(call, |home| {
            io::File::open(call.rank(), own, name, mode_of(amode), hints, home, fabric_local::cores)
        });
        let handler = Arc::clone(&call.state.handlers.file());
        let file = opened.inspect_err(|_| call.rank().reclaim_contexts())?;
        fh.set(call.state.files.insert(lane, File::new(file, group, amode, handler, seen)));
        Ok(())
    })
}

pub(crate) fn mpi_file_close(call: &Call, fh: &Cell<MPI_File>) -> Outcome {
    let file = call.file("fh", fh.get())?;
    with_home(call, |home| file.file.close(home))?;
    drop(call.state.files.remove(fh.get()));
    drop(file);
    call.rank().reclaim_contexts();
    fh.set(MPI_FILE_NULL);
    Ok(())
}

pub(crate) fn mpi_file_delete(_: &Call, filename: &CStr, _info: Option<Arc<Info>>) -> Outcome {
    Ok(io::delete(name_of(filename)?)?)
}

pub(crate) fn mpi_file_set_size(_: &Call, fh: &Rc<File>, size: MPI_Offset) -> Outcome {
    Ok(fh.file.set_size(size)?)
}

pub(crate) fn mpi_file_preallocate(_: &Call, fh: &Rc<File>, size: MPI_Offset) -> Outcome {
    Ok(fh.file.preallocate(size)?)
}

pub(crate) fn mpi_file_get_size(_: &Call, fh: &Rc<File>, size: Out<MPI_Offset>) -> Outcome {
    size.set(fh.file.size()? as MPI_Offset);
    Ok(())
}

pub(crate) fn mpi_file_get_group(call: &Call, fh: &Rc<File>, group: Out<MPI_Group>) -> Outcome {
    group.set(call.state.groups.insert(fh.group.clone()));
    Ok(())
}

pub(crate) fn mpi_file_get_amode(_: &Call, fh: &Rc<File>, amode: Out<c_int>) -> Outcome {
    amode.set(fh.amode);
    Ok(())
}

/// Takes hints up; a view may bring some, too.
pub(super) fn heed(fh: &File, info: Option<Arc<Info>>) {
    each_hint(info, |key, value| fh.file.heed(key, value));
}

pub(crate) fn mpi_file_set_info(_: &Call, fh: &Rc<File>, info: Option<Arc<Info>>) -> Outcome {
    heed(fh, info);
    Ok(())
}

pub(crate) fn mpi_file_get_info(call: &Call, fh: &Rc<File>, info_used: Out<MPI_Info>) -> Outcome {
    let used = Info::default();
    fh.file.hints(|key, value| used.set(key, value));
    info_used.set(call.state.infos.insert(used));
    Ok(())
}

pub(crate) fn mpi_file_set_atomicity(_: &Call, fh: &Rc<File>, flag: bool) -> Outcome {
    Ok(fh.file.set_atomic(flag)?)
}

pub(crate) fn mpi_file_get_atomicity(_: &Call, fh: &Rc<File>, flag: Out<c_int>) -> Outcome {
    flag.set(c_int::from(fh.file.is_atomic()));
    Ok(())
}

pub(crate) fn mpi_file_sync(_: &Call, fh: &Rc<File>) -> Outcome {
    Ok(fh.file.sync()?)
}

/// Where a seek leads.
fn target(
    fh: &File,
    offset: MPI_Offset,
    whence: c_int,
    current: impl FnOnce() -> io::Result<i64>,
) -> Outcome<i64> {
    let base = match whence {
        MPI_SEEK_SET => 0,
        MPI_SEEK_CUR => current()?,
        MPI_SEEK_END => fh.file.end()?,
        _ => {
            let text =
                format_args!("whence is {whence}, expected MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END");
            return Err(Fault::new(MPI_ERR_ARG, text));
        }
    };
    base.checked_add(offset).ok_or_else(|| {
        Fault::new(
            MPI_ERR_ARG,
            format_args!("offset is {offset}, expected one that leads to a place of a file"),
        )
    })
}

pub(crate) fn mpi_file_seek(_: &Call, fh: &Rc<File>, offset: MPI_Offset, whence: c_int) -> Outcome {
    let to = target(fh, offset, whence, || fh.file.position())?;
    Ok(fh.file.seek(to)?)
}

pub(crate) fn mpi_file_seek_shared(_: &Call, fh: &Rc<File>, offset: MPI_Offset, whence: c_int) -> Outcome {
    let to = target(fh, offset, whence, || fh.file.shared_position())?;
    Ok(fh.file.seek_shared(Ok(to))?)
}

pub(crate) fn mpi_file_get_position(_: &Call, fh: &Rc<File>, offset: Out<MPI_Offset>) -> Outcome {
    offset.set(fh.file.position()?);
    Ok(())
}

pub(crate) fn mpi_file_get_position_shared(_: &Call, fh: &Rc<File>, offset: Out<MPI_Offset>) -> Outcome {
    offset.set(fh.file.shared_position()?);
    Ok(())
}

pub(crate) fn mpi_file_get_byte_offset(
    _: &Call,
    fh: &Rc<File>,
    offset: MPI_Offset,
    disp: Out<MPI_Offset>,
) -> Outcome {
    disp.set(fh.file.byte_offset(offset)?);
    Ok(())
}

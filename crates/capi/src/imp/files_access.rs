//! Section 14.4: reading and writing, while the program waits. The forms that it does not wait for are in `files_begin`.

use std::rc::Rc;

use engine::{Counted, Status};
use io::Whence;

use crate::abi::types::MPI_Offset;
use crate::call::Call;
use crate::convert::{Buf, StatusOut};
use crate::errors::Outcome;
use crate::handles::{File, Type};
use crate::imp::files_views::{sink, source};

/// How many take part in an access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    One,
    All,
}

/// Memory of the program: where, how many elements, of which type.
pub(super) type Memory<'a> = (Buf, i64, &'a Counted<Type>);

/// What the status of an access tells.
pub(super) fn tell(status: StatusOut, bytes: u64) {
    status.set(&Status { bytes, ..Status::EMPTY });
}

#[inline(never)]
fn read(
    fh: &File,
    (buf, count, datatype): Memory<'_>,
    whence: Whence,
    who: Who,
    status: StatusOut,
) -> Outcome {
    let sink = sink(fh, buf, count, datatype)?;
    tell(
        status,
        match who {
            Who::One => fh.file.read(sink, whence)?,
            Who::All => fh.file.read_all(sink, whence)?,
        },
    );
    Ok(())
}

#[inline(never)]
fn write(
    fh: &File,
    (buf, count, datatype): Memory<'_>,
    whence: Whence,
    who: Who,
    status: StatusOut,
) -> Outcome {
    let source = source(fh, buf, count, datatype)?;
    tell(
        status,
        match who {
            Who::One => fh.file.write(source, whence)?,
            Who::All => fh.file.write_all(source, whence)?,
        },
    );
    Ok(())
}

pub(crate) fn mpi_file_read_at(
    _: &Call,
    fh: &Rc<File>,
    offset: MPI_Offset,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    read(fh, (buf, count, datatype), Whence::At(offset), Who::One, status)
}

pub(crate) fn mpi_file_read(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    read(fh, (buf, count, datatype), Whence::Own, Who::One, status)
}

pub(crate) fn mpi_file_read_shared(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    read(fh, (buf, count, datatype), Whence::Shared, Who::One, status)
}

pub(crate) fn mpi_file_read_at_all(
    _: &Call,
    fh: &Rc<File>,
    offset: MPI_Offset,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    read(fh, (buf, count, datatype), Whence::At(offset), Who::All, status)
}

pub(crate) fn mpi_file_read_all(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    read(fh, (buf, count, datatype), Whence::Own, Who::All, status)
}

pub(crate) fn mpi_file_read_ordered(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    read(fh, (buf, count, datatype), Whence::Shared, Who::All, status)
}

pub(crate) fn mpi_file_write_at(
    _: &Call,
    fh: &Rc<File>,
    offset: MPI_Offset,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    write(fh, (buf, count, datatype), Whence::At(offset), Who::One, status)
}

pub(crate) fn mpi_file_write(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    write(fh, (buf, count, datatype), Whence::Own, Who::One, status)
}

pub(crate) fn mpi_file_write_shared(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    write(fh, (buf, count, datatype), Whence::Shared, Who::One, status)
}

pub(crate) fn mpi_file_write_at_all(
    _: &Call,
    fh: &Rc<File>,
    offset: MPI_Offset,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    write(fh, (buf, count, datatype), Whence::At(offset), Who::All, status)
}

pub(crate) fn mpi_file_write_all(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    write(fh, (buf, count, datatype), Whence::Own, Who::All, status)
}

pub(crate) fn mpi_file_write_ordered(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    status: StatusOut,
) -> Outcome {
    write(fh, (buf, count, datatype), Whence::Shared, Who::All, status)
}

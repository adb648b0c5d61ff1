//! Sections 14.4.2 to 14.4.5: reading and writing that the program does not wait for: with a request, or split into a call that begins and one that ends.

use std::rc::Rc;

use engine::{Counted, RequestId};
use io::Whence;

use crate::abi::types::{MPI_Comm, MPI_Offset, MPI_Request};
use crate::call::Call;
use crate::convert::{Buf, Out, StatusOut};
use crate::errors::Outcome;
use crate::handles::{File, Type};
use crate::imp::files_access::{Memory, Who, tell};
use crate::imp::files_views::{sink, source};

/// The handle of an access; its errors go to the file's handler.
fn started(call: &Call, fh: &File, id: RequestId, request: Out<MPI_Request>) {
    request.set(call.requests().started_on(id, MPI_Comm(fh.handle().0)));
}

#[inline(never)]
fn read(
    call: &Call,
    fh: &File,
    (buf, count, datatype): Memory<'_>,
    (whence, who): (Whence, Who),
    request: Out<MPI_Request>,
) -> Outcome {
    let sink = sink(fh, buf, count, datatype)?;
    let id = match who {
        Who::One => fh.file.begin_read(sink, whence)?,
        Who::All => fh.file.begin_read_all(sink, whence)?,
    };
    started(call, fh, id, request);
    Ok(())
}

#[inline(never)]
fn write(
    call: &Call,
    fh: &File,
    (buf, count, datatype): Memory<'_>,
    (whence, who): (Whence, Who),
    request: Out<MPI_Request>,
) -> Outcome {
    let source = source(fh, buf, count, datatype)?;
    let id = match who {
        Who::One => fh.file.begin_write(source, whence)?,
        Who::All => fh.file.begin_write_all(source, whence)?,
    };
    started(call, fh, id, request);
    Ok(())
}

/// What a split access is called, whichever of its two functions says so, and with large counts or not.
const READ_AT: &str = "MPI_File_read_at_all_begin";
const WRITE_AT: &str = "MPI_File_write_at_all_begin";
const READ: &str = "MPI_File_read_all_begin";
const WRITE: &str = "MPI_File_write_all_begin";
const READ_ORDERED: &str = "MPI_File_read_ordered_begin";
const WRITE_ORDERED: &str = "MPI_File_write_ordered_begin";

#[inline(never)]
fn read_split(fh: &File, name: &'static str, (buf, count, datatype): Memory<'_>, whence: Whence) -> Outcome {
    let sink = sink(fh, buf, count, datatype)?;
    Ok(fh.file.begin_split(name, |file| file.begin_read_all(sink, whence))?)
}

#[inline(never)]
fn write_split(fh: &File, name: &'static str, (buf, count, datatype): Memory<'_>, whence: Whence) -> Outcome {
    let source = source(fh, buf, count, datatype)?;
    Ok(fh.file.begin_split(name, |file| file.begin_write_all(source, whence))?)
}

#[inline(never)]
fn end(fh: &File, name: &'static str, status: StatusOut) -> Outcome {
    tell(status, fh.file.end_split(name)?);
    Ok(())
}

pub(crate) fn mpi_file_iread_at(
    call: &Call,
    fh: &Rc<File>,
    offset: MPI_Offset,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    request: Out<MPI_Request>,
) -> Outcome {
    read(call, fh, (buf, count, datatype), (Whence::At(offset), Who::One), request)
}

pub(crate) fn mpi_file_iread(
    call: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    request: Out<MPI_Request>,
) -> Outcome {
    read(call, fh, (buf, count, datatype), (Whence::Own, Who::One), request)
}

pub(crate) fn mpi_file_iread_shared(
    call: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    request: Out<MPI_Request>,
) -> Outcome {
    read(call, fh, (buf, count, datatype), (Whence::Shared, Who::One), request)
}

pub(crate) fn mpi_file_iread_at_all(
    call: &Call,
    fh: &Rc<File>,
    offset: MPI_Offset,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    request: Out<MPI_Request>,
) -> Outcome {
    read(call, fh, (buf, count, datatype), (Whence::At(offset), Who::All), request)
}

pub(crate) fn mpi_file_iread_all(
    call: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    request: Out<MPI_Request>,
) -> Outcome {
    read(call, fh, (buf, count, datatype), (Whence::Own, Who::All), request)
}

pub(crate) fn mpi_file_iwrite_at(
    call: &Call,
    fh: &Rc<File>,
    offset: MPI_Offset,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    request: Out<MPI_Request>,
) -> Outcome {
    write(call, fh, (buf, count, datatype), (Whence::At(offset), Who::One), request)
}

pub(crate) fn mpi_file_iwrite(
    call: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    request: Out<MPI_Request>,
) -> Outcome {
    write(call, fh, (buf, count, datatype), (Whence::Own, Who::One), request)
}

pub(crate) fn mpi_file_iwrite_shared(
    call: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    request: Out<MPI_Request>,
) -> Outcome {
    write(call, fh, (buf, count, datatype), (Whence::Shared, Who::One), request)
}

pub(crate) fn mpi_file_iwrite_at_all(
    call: &Call,
    fh: &Rc<File>,
    offset: MPI_Offset,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    request: Out<MPI_Request>,
) -> Outcome {
    write(call, fh, (buf, count, datatype), (Whence::At(offset), Who::All), request)
}

pub(crate) fn mpi_file_iwrite_all(
    call: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
    request: Out<MPI_Request>,
) -> Outcome {
    write(call, fh, (buf, count, datatype), (Whence::Own, Who::All), request)
}

pub(crate) fn mpi_file_read_at_all_begin(
    _: &Call,
    fh: &Rc<File>,
    offset: MPI_Offset,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
) -> Outcome {
    read_split(fh, READ_AT, (buf, count, datatype), Whence::At(offset))
}

pub(crate) fn mpi_file_read_at_all_end(_: &Call, fh: &Rc<File>, _buf: Buf, status: StatusOut) -> Outcome {
    end(fh, READ_AT, status)
}

pub(crate) fn mpi_file_read_all_begin(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
) -> Outcome {
    read_split(fh, READ, (buf, count, datatype), Whence::Own)
}

pub(crate) fn mpi_file_read_all_end(_: &Call, fh: &Rc<File>, _buf: Buf, status: StatusOut) -> Outcome {
    end(fh, READ, status)
}

pub(crate) fn mpi_file_read_ordered_begin(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
) -> Outcome {
    read_split(fh, READ_ORDERED, (buf, count, datatype), Whence::Shared)
}

pub(crate) fn mpi_file_read_ordered_end(_: &Call, fh: &Rc<File>, _buf: Buf, status: StatusOut) -> Outcome {
    end(fh, READ_ORDERED, status)
}

pub(crate) fn mpi_file_write_at_all_begin(
    _: &Call,
    fh: &Rc<File>,
    offset: MPI_Offset,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
) -> Outcome {
    write_split(fh, WRITE_AT, (buf, count, datatype), Whence::At(offset))
}

pub(crate) fn mpi_file_write_at_all_end(_: &Call, fh: &Rc<File>, _buf: Buf, status: StatusOut) -> Outcome {
    end(fh, WRITE_AT, status)
}

pub(crate) fn mpi_file_write_all_begin(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
) -> Outcome {
    write_split(fh, WRITE, (buf, count, datatype), Whence::Own)
}

pub(crate) fn mpi_file_write_all_end(_: &Call, fh: &Rc<File>, _buf: Buf, status: StatusOut) -> Outcome {
    end(fh, WRITE, status)
}

pub(crate) fn mpi_file_write_ordered_begin(
    _: &Call,
    fh: &Rc<File>,
    buf: Buf,
    count: i64,
    datatype: &Counted<Type>,
) -> Outcome {
    write_split(fh, WRITE_ORDERED, (buf, count, datatype), Whence::Shared)
}

pub(crate) fn mpi_file_write_ordered_end(_: &Call, fh: &Rc<File>, _buf: Buf, status: StatusOut) -> Outcome {
    end(fh, WRITE_ORDERED, status)
}

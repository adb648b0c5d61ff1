//! Chapters 3, 5 and 13: reading and writing statuses.

use core::ffi::c_int;
use std::cell::Cell;

use engine::Counted;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Out, OutNumber, read_status};
use crate::errors::Outcome;
use crate::handles::Type;

pub(crate) fn mpi_get_count(
    _: &Call,
    status: &MPI_Status,
    datatype: &Counted<Type>,
    count: OutNumber,
) -> Outcome {
    let (bytes, size) = (read_status(status).bytes, datatype.datatype.size());
    count.set(match bytes.checked_rem(size) {
        // Values of no size: any number of them may have been meant, if nothing came.
        None if bytes == 0 => 0,
        None => i64::from(MPI_UNDEFINED),
        Some(0) => (bytes / size) as i64,
        Some(_) => i64::from(MPI_UNDEFINED),
    });
    Ok(())
}

pub(crate) fn mpi_get_elements(
    _: &Call,
    status: &MPI_Status,
    datatype: &Counted<Type>,
    count: OutNumber,
) -> Outcome {
    let words = read_status(status);
    let elements = match words.elements {
        // Elements without data leave no trace in the bytes.
        Some(elements) if datatype.datatype.map().elements() == 0 => Some(elements),
        _ => datatype.datatype.map().elements_in(words.bytes),
    };
    count.set(elements.map_or(i64::from(MPI_UNDEFINED), |elements| elements as i64));
    Ok(())
}

pub(crate) fn mpi_status_set_elements(
    call: &Call,
    status: &Cell<MPI_Status>,
    datatype: &Counted<Type>,
    count: i64,
) -> Outcome {
    let count = call.count("count", count)?;
    change(status, |words| {
        words.bytes = datatype.datatype.map().bytes_of(count as u64);
        words.elements = Some(count as u64);
    });
    Ok(())
}

pub(crate) fn mpi_status_set_cancelled(_: &Call, status: &Cell<MPI_Status>, flag: bool) -> Outcome {
    change(status, |words| words.cancelled = flag);
    Ok(())
}

pub(crate) fn mpi_test_cancelled(_: &Call, status: &MPI_Status, flag: Out<c_int>) -> Outcome {
    flag.set(c_int::from(read_status(status).cancelled));
    Ok(())
}

pub(crate) fn mpi_status_get_source(_: &Call, status: &MPI_Status, source: Out<c_int>) -> Outcome {
    source.set(status.MPI_SOURCE);
    Ok(())
}

pub(crate) fn mpi_status_get_tag(_: &Call, status: &MPI_Status, tag: Out<c_int>) -> Outcome {
    tag.set(status.MPI_TAG);
    Ok(())
}

pub(crate) fn mpi_status_get_error(_: &Call, status: &MPI_Status, err: Out<c_int>) -> Outcome {
    err.set(status.MPI_ERROR);
    Ok(())
}

pub(crate) fn mpi_status_set_source(
    _: &Call,
    status: &Cell<MPI_Status>,
    source: crate::convert::RankArg,
) -> Outcome {
    status.set(MPI_Status { MPI_SOURCE: source.value, ..status.get() });
    Ok(())
}

pub(crate) fn mpi_status_set_tag(
    _: &Call,
    status: &Cell<MPI_Status>,
    tag: crate::convert::TagArg,
) -> Outcome {
    status.set(MPI_Status { MPI_TAG: tag.value, ..status.get() });
    Ok(())
}

pub(crate) fn mpi_status_set_error(_: &Call, status: &Cell<MPI_Status>, err: c_int) -> Outcome {
    status.set(MPI_Status { MPI_ERROR: err, ..status.get() });
    Ok(())
}

fn change(status: &Cell<MPI_Status>, edit: impl FnOnce(&mut crate::convert::Words)) {
    let mut fields = status.get();
    let mut words = read_status(&fields);
    edit(&mut words);
    fields.MPI_internal = words.pack();
    status.set(fields);
}

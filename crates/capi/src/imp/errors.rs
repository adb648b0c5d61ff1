//! Chapter 9: error classes, codes and strings.

use core::ffi::{CStr, c_int};

use crate::call::Call;
use crate::convert::{Out, OutString};
use crate::errors::Outcome;

pub(crate) fn mpi_error_class(call: &Call, errorcode: c_int, errorclass: Out<c_int>) -> Outcome {
    errorclass.set(call.state.errors.class(errorcode)?);
    Ok(())
}

pub(crate) fn mpi_error_string(
    call: &Call,
    errorcode: c_int,
    string: OutString,
    resultlen: Out<c_int>,
) -> Outcome {
    resultlen.set(string.set(&call.state.errors.text(errorcode)?));
    Ok(())
}

pub(crate) fn mpi_add_error_class(call: &Call, errorclass: Out<c_int>) -> Outcome {
    errorclass.set(call.state.errors.add_class());
    Ok(())
}

pub(crate) fn mpi_add_error_code(call: &Call, errorclass: c_int, errorcode: Out<c_int>) -> Outcome {
    errorcode.set(call.state.errors.add_code(errorclass)?);
    Ok(())
}

pub(crate) fn mpi_add_error_string(call: &Call, errorcode: c_int, string: &CStr) -> Outcome {
    call.state.errors.set_text(errorcode, &string.to_string_lossy())
}

pub(crate) fn mpi_remove_error_class(call: &Call, errorclass: c_int) -> Outcome {
    call.state.errors.remove_class(errorclass)
}

pub(crate) fn mpi_remove_error_code(call: &Call, errorcode: c_int) -> Outcome {
    call.state.errors.remove_code(errorcode)
}

pub(crate) fn mpi_remove_error_string(call: &Call, errorcode: c_int) -> Outcome {
    call.state.errors.remove_text(errorcode)
}

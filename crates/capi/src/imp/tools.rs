//! Chapter 15: the tools interface. This library has no variables, categories, events or enumerations to show yet, and says
//! so: every list is empty, every index out of range, every name unknown.

use core::ffi::{CStr, c_int};
use std::sync::atomic::Ordering;

use crate::abi::constants::*;
use crate::call::Call;
use crate::convert::Out;
use crate::errors::{Fault, Outcome};

fn initialised(call: &Call) -> Outcome {
    if call.state.tools.load(Ordering::Relaxed) > 0 {
        Ok(())
    } else {
        Err(Fault::new(MPI_T_ERR_NOT_INITIALIZED, "the tools interface is not initialised"))
    }
}

pub(crate) fn mpi_t_init_thread(call: &Call, required: c_int, provided: Out<c_int>) -> Outcome {
    call.state.tools.fetch_add(1, Ordering::Relaxed);
    // Whatever else the library serves: there is nothing here that two threads could share.
    provided.set(required.clamp(MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE));
    Ok(())
}

pub(crate) fn mpi_t_finalize(call: &Call) -> Outcome {
    initialised(call)?;
    call.state.tools.fetch_sub(1, Ordering::Relaxed);
    Ok(())
}

fn none(call: &Call, number: Out<c_int>) -> Outcome {
    initialised(call)?;
    number.set(0);
    Ok(())
}

pub(crate) fn mpi_t_cvar_get_num(call: &Call, num_cvar: Out<c_int>) -> Outcome {
    none(call, num_cvar)
}

pub(crate) fn mpi_t_pvar_get_num(call: &Call, num_pvar: Out<c_int>) -> Outcome {
    none(call, num_pvar)
}

pub(crate) fn mpi_t_category_get_num(call: &Call, num_cat: Out<c_int>) -> Outcome {
    none(call, num_cat)
}

pub(crate) fn mpi_t_event_get_num(call: &Call, num_events: Out<c_int>) -> Outcome {
    none(call, num_events)
}

pub(crate) fn mpi_t_source_get_num(call: &Call, num_sources: Out<c_int>) -> Outcome {
    none(call, num_sources)
}

pub(crate) fn mpi_t_category_changed(call: &Call, update_number: Out<c_int>) -> Outcome {
    none(call, update_number)
}

fn unknown(call: &Call, name: &CStr) -> Outcome {
    initialised(call)?;
    Err(Fault::new(MPI_T_ERR_INVALID_NAME, format_args!("{name:?} is not known")))
}

pub(crate) fn mpi_t_cvar_get_index(call: &Call, name: &CStr, _cvar_index: Out<c_int>) -> Outcome {
    unknown(call, name)
}

pub(crate) fn mpi_t_pvar_get_index(
    call: &Call,
    name: &CStr,
    _var_class: c_int,
    _pvar_index: Out<c_int>,
) -> Outcome {
    unknown(call, name)
}

pub(crate) fn mpi_t_category_get_index(call: &Call, name: &CStr, _cat_index: Out<c_int>) -> Outcome {
    unknown(call, name)
}

pub(crate) fn mpi_t_event_get_index(call: &Call, name: &CStr, _event_index: Out<c_int>) -> Outcome {
    unknown(call, name)
}

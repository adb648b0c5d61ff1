//! Chapter 7: attributes on communicators and datatypes, with the deprecated names of MPI-1.

use core::ffi::{c_int, c_void};
use std::cell::Cell;
use std::mem::transmute;
use std::rc::Rc;

use engine::Counted;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::Out;
use crate::errors::{Fault, Outcome};
use crate::handles::{Carrier, Comm, Copy, Delete, Type};
use crate::process::facts::Predefined;

pub(crate) fn mpi_comm_create_keyval(
    call: &Call,
    comm_copy_attr_fn: MPI_Comm_copy_attr_function,
    comm_delete_attr_fn: MPI_Comm_delete_attr_function,
    comm_keyval: Out<c_int>,
    extra_state: *mut c_void,
) -> Outcome {
    // SAFETY: the types differ in the name of the handle only, which is an address-sized number in all of them.
    let copy = unsafe { transmute::<MPI_Comm_copy_attr_function, Copy>(comm_copy_attr_fn) };
    // SAFETY: as above.
    let delete = unsafe { transmute::<MPI_Comm_delete_attr_function, Delete>(comm_delete_attr_fn) };
    comm_keyval.set(call.state.keyvals.create(Carrier::Comm, copy, delete, extra_state));
    Ok(())
}

pub(crate) fn mpi_keyval_create(
    call: &Call,
    copy_fn: MPI_Copy_function,
    delete_fn: MPI_Delete_function,
    keyval: Out<c_int>,
    extra_state: *mut c_void,
) -> Outcome {
    mpi_comm_create_keyval(call, copy_fn, delete_fn, keyval, extra_state)
}

pub(crate) fn mpi_type_create_keyval(
    call: &Call,
    type_copy_attr_fn: MPI_Type_copy_attr_function,
    type_delete_attr_fn: MPI_Type_delete_attr_function,
    type_keyval: Out<c_int>,
    extra_state: *mut c_void,
) -> Outcome {
    // SAFETY: as for communicators.
    let copy = unsafe { transmute::<MPI_Type_copy_attr_function, Copy>(type_copy_attr_fn) };
    // SAFETY: as above.
    let delete = unsafe { transmute::<MPI_Type_delete_attr_function, Delete>(type_delete_attr_fn) };
    type_keyval.set(call.state.keyvals.create(Carrier::Type, copy, delete, extra_state));
    Ok(())
}

pub(crate) fn mpi_win_create_keyval(
    call: &Call,
    win_copy_attr_fn: MPI_Win_copy_attr_function,
    win_delete_attr_fn: MPI_Win_delete_attr_function,
    win_keyval: Out<c_int>,
    extra_state: *mut c_void,
) -> Outcome {
    // SAFETY: as for communicators.
    let copy = unsafe { transmute::<MPI_Win_copy_attr_function, Copy>(win_copy_attr_fn) };
    // SAFETY: as above.
    let delete = unsafe { transmute::<MPI_Win_delete_attr_function, Delete>(win_delete_attr_fn) };
    win_keyval.set(call.state.keyvals.create(Carrier::Win, copy, delete, extra_state));
    Ok(())
}

fn free(call: &Call, carrier: Carrier, keyval: &Cell<c_int>) -> Outcome {
    if Predefined::is_key(keyval.get()) {
        return Err(predefined(keyval.get()));
    }
    call.state.keyvals.free(carrier, keyval.get())?;
    keyval.set(MPI_KEYVAL_INVALID);
    Ok(())
}

pub(crate) fn mpi_comm_free_keyval(call: &Call, comm_keyval: &Cell<c_int>) -> Outcome {
    free(call, Carrier::Comm, comm_keyval)
}

pub(crate) fn mpi_keyval_free(call: &Call, keyval: &Cell<c_int>) -> Outcome {
    free(call, Carrier::Comm, keyval)
}

pub(crate) fn mpi_type_free_keyval(call: &Call, type_keyval: &Cell<c_int>) -> Outcome {
    free(call, Carrier::Type, type_keyval)
}

pub(crate) fn mpi_win_free_keyval(call: &Call, win_keyval: &Cell<c_int>) -> Outcome {
    free(call, Carrier::Win, win_keyval)
}

pub(crate) fn mpi_comm_set_attr(
    call: &Call,
    comm: &Rc<Comm>,
    comm_keyval: c_int,
    attribute_val: *mut c_void,
) -> Outcome {
    if Predefined::is_key(comm_keyval) {
        return Err(predefined(comm_keyval));
    }
    let keyval = comm.attributes.key(&call.state.keyvals, Carrier::Comm, comm_keyval)?;
    comm.attributes.set(comm.handle().0, keyval, attribute_val)
}

pub(crate) fn mpi_attr_put(
    call: &Call,
    comm: &Rc<Comm>,
    keyval: c_int,
    attribute_val: *mut c_void,
) -> Outcome {
    mpi_comm_set_attr(call, comm, keyval, attribute_val)
}

pub(crate) fn mpi_comm_get_attr(
    call: &Call,
    comm: &Rc<Comm>,
    comm_keyval: c_int,
    attribute_val: Out<*mut c_void>,
    flag: Out<c_int>,
) -> Outcome {
    let found = if Predefined::is_key(comm_keyval) {
        call.state.predefined.get().and_then(|values| values.attribute(&call.state.errors, comm_keyval))
    } else {
        comm.attributes.key(&call.state.keyvals, Carrier::Comm, comm_keyval)?;
        comm.attributes.get(comm_keyval)
    };
    deliver(found, attribute_val, flag);
    Ok(())
}

pub(crate) fn mpi_attr_get(
    call: &Call,
    comm: &Rc<Comm>,
    keyval: c_int,
    attribute_val: Out<*mut c_void>,
    flag: Out<c_int>,
) -> Outcome {
    mpi_comm_get_attr(call, comm, keyval, attribute_val, flag)
}

pub(crate) fn mpi_comm_delete_attr(call: &Call, comm: &Rc<Comm>, comm_keyval: c_int) -> Outcome {
    if Predefined::is_key(comm_keyval) {
        return Err(predefined(comm_keyval));
    }
    comm.attributes.key(&call.state.keyvals, Carrier::Comm, comm_keyval)?;
    comm.attributes.delete(comm.handle().0, comm_keyval)
}

pub(crate) fn mpi_attr_delete(call: &Call, comm: &Rc<Comm>, keyval: c_int) -> Outcome {
    mpi_comm_delete_attr(call, comm, keyval)
}

pub(crate) fn mpi_type_set_attr(
    call: &Call,
    datatype: &Counted<Type>,
    type_keyval: c_int,
    attribute_val: *mut c_void,
) -> Outcome {
    let keyval = datatype.attributes.key(&call.state.keyvals, Carrier::Type, type_keyval)?;
    datatype.attributes.set(datatype.handle().0, keyval, attribute_val)
}

pub(crate) fn mpi_type_get_attr(
    call: &Call,
    datatype: &Counted<Type>,
    type_keyval: c_int,
    attribute_val: Out<*mut c_void>,
    flag: Out<c_int>,
) -> Outcome {
    datatype.attributes.key(&call.state.keyvals, Carrier::Type, type_keyval)?;
    deliver(datatype.attributes.get(type_keyval), attribute_val, flag);
    Ok(())
}

pub(crate) fn mpi_type_delete_attr(call: &Call, datatype: &Counted<Type>, type_keyval: c_int) -> Outcome {
    datatype.attributes.key(&call.state.keyvals, Carrier::Type, type_keyval)?;
    datatype.attributes.delete(datatype.handle().0, type_keyval)
}

fn deliver(found: Option<*mut c_void>, attribute_val: Out<*mut c_void>, flag: Out<c_int>) {
    flag.set(c_int::from(found.is_some()));
    if let Some(value) = found {
        attribute_val.set(value);
    }
}

#[cold]
fn predefined(keyval: c_int) -> Fault {
    Fault::new(MPI_ERR_KEYVAL, format_args!("keyval is {keyval}, which is predefined and cannot be changed"))
}

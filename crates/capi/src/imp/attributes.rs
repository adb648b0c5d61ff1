//! Chapter 7: attributes on communicators, datatypes and windows, with the deprecated names of MPI-1.

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
use crate::handles::{Attributes, Carrier, Comm, Copy, Delete, Memory, Type, Window};
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

/// An object with attributes.
struct Object<'a> {
    carrier: Carrier,
    handle: usize,
    attributes: &'a Attributes,
}

impl Object<'_> {
    /// Whether the library sets an attribute, and the program does not.
    fn has_predefined(&self, keyval: c_int) -> bool {
        match self.carrier {
            Carrier::Comm => Predefined::is_key(keyval),
            Carrier::Win => Memory::is_key(keyval),
            Carrier::Type => false,
        }
    }

    #[inline(never)]
    fn set(&self, call: &Call, keyval: c_int, value: *mut c_void) -> Outcome {
        if self.has_predefined(keyval) {
            return Err(predefined(keyval));
        }
        let keyval = self.attributes.key(&call.state.keyvals, self.carrier, keyval)?;
        self.attributes.set(self.handle, keyval, value)
    }

    #[inline(never)]
    fn get(&self, call: &Call, keyval: c_int, value: Out<*mut c_void>, flag: Out<c_int>) -> Outcome {
        self.attributes.key(&call.state.keyvals, self.carrier, keyval)?;
        deliver(self.attributes.get(keyval), value, flag);
        Ok(())
    }

    #[inline(never)]
    fn delete(&self, call: &Call, keyval: c_int) -> Outcome {
        if self.has_predefined(keyval) {
            return Err(predefined(keyval));
        }
        self.attributes.key(&call.state.keyvals, self.carrier, keyval)?;
        self.attributes.delete(self.handle, keyval)
    }
}

fn of_comm(comm: &Comm) -> Object<'_> {
    Object { carrier: Carrier::Comm, handle: comm.handle().0, attributes: &comm.attributes }
}

fn of_type(datatype: &Type) -> Object<'_> {
    Object { carrier: Carrier::Type, handle: datatype.handle().0, attributes: &datatype.attributes }
}

fn of_window(win: &Window) -> Object<'_> {
    Object { carrier: Carrier::Win, handle: win.handle().0, attributes: &win.attributes }
}

pub(crate) fn mpi_comm_set_attr(
    call: &Call,
    comm: &Rc<Comm>,
    comm_keyval: c_int,
    attribute_val: *mut c_void,
) -> Outcome {
    of_comm(comm).set(call, comm_keyval, attribute_val)
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
    if Predefined::is_key(comm_keyval) {
        let values = call.state.predefined.get();
        let found = values.and_then(|values| values.attribute(&call.state.errors, comm_keyval));
        deliver(found, attribute_val, flag);
        return Ok(());
    }
    of_comm(comm).get(call, comm_keyval, attribute_val, flag)
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
    of_comm(comm).delete(call, comm_keyval)
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
    of_type(datatype).set(call, type_keyval, attribute_val)
}

pub(crate) fn mpi_type_get_attr(
    call: &Call,
    datatype: &Counted<Type>,
    type_keyval: c_int,
    attribute_val: Out<*mut c_void>,
    flag: Out<c_int>,
) -> Outcome {
    of_type(datatype).get(call, type_keyval, attribute_val, flag)
}

pub(crate) fn mpi_type_delete_attr(call: &Call, datatype: &Counted<Type>, type_keyval: c_int) -> Outcome {
    of_type(datatype).delete(call, type_keyval)
}

pub(crate) fn mpi_win_set_attr(
    call: &Call,
    win: &Window,
    win_keyval: c_int,
    attribute_val: *mut c_void,
) -> Outcome {
    of_window(win).set(call, win_keyval, attribute_val)
}

pub(crate) fn mpi_win_get_attr(
    call: &Call,
    win: &Window,
    win_keyval: c_int,
    attribute_val: Out<*mut c_void>,
    flag: Out<c_int>,
) -> Outcome {
    if let Some(value) = win.memory().attribute(win_keyval) {
        deliver(Some(value), attribute_val, flag);
        return Ok(());
    }
    of_window(win).get(call, win_keyval, attribute_val, flag)
}

pub(crate) fn mpi_win_delete_attr(call: &Call, win: &Window, win_keyval: c_int) -> Outcome {
    of_window(win).delete(call, win_keyval)
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

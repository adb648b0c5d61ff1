//! Chapter 5: datatypes.

use core::ffi::{CStr, c_int};
use std::cell::Cell;
use std::rc::Rc;

use engine::Datatype;

use crate::call::Call;
use crate::convert::{Out, OutNumber, OutString};
use crate::errors::{Fault, Outcome};
use crate::r#gen::constants::*;
use crate::r#gen::types::*;
use crate::handles::{Origin, Type};

pub(crate) fn mpi_type_size(_: &Call, datatype: &Rc<Type>, size: OutNumber) -> Outcome {
    size.set(datatype.datatype.size() as i64);
    Ok(())
}

pub(crate) fn mpi_type_get_extent(
    _: &Call,
    datatype: &Rc<Type>,
    lb: OutNumber,
    extent: OutNumber,
) -> Outcome {
    lb.set(datatype.datatype.layout().lower_bound());
    extent.set(datatype.datatype.extent());
    Ok(())
}

pub(crate) fn mpi_type_get_true_extent(
    _: &Call,
    datatype: &Rc<Type>,
    true_lb: OutNumber,
    true_extent: OutNumber,
) -> Outcome {
    let layout = datatype.datatype.layout();
    true_lb.set(layout.true_lower_bound());
    true_extent.set(layout.true_upper_bound() - layout.true_lower_bound());
    Ok(())
}

pub(crate) fn mpi_type_commit(call: &Call, datatype: &Cell<MPI_Datatype>) -> Outcome {
    call.datatype("datatype", datatype.get())?.committed.set(true);
    Ok(())
}

pub(crate) fn mpi_type_free(call: &Call, datatype: &Cell<MPI_Datatype>) -> Outcome {
    let handle = datatype.get();
    let found = call.datatype("datatype", handle)?;
    if found.datatype.is_predefined() {
        let text =
            format_args!("datatype is {}, which is predefined and cannot be freed", found.name.borrow());
        return Err(Fault::new(MPI_ERR_TYPE, text));
    }
    found.attributes.clear(handle.0)?;
    drop(call.state.types.remove(handle));
    datatype.set(MPI_DATATYPE_NULL);
    Ok(())
}

pub(crate) fn mpi_type_dup(call: &Call, oldtype: &Rc<Type>, newtype: Out<MPI_Datatype>) -> Outcome {
    let origin = Origin {
        combiner: MPI_COMBINER_DUP,
        types: vec![(oldtype.handle(), Rc::clone(oldtype))],
        ..Origin::default()
    };
    let layout = oldtype.datatype.layout().clone();
    let copy = Type::derived(Datatype::derived(layout, oldtype.datatype.element()), origin);
    copy.committed.set(oldtype.committed.get());
    oldtype.attributes.copy_to(oldtype.handle().0, &copy.attributes)?;
    newtype.set(call.state.types.insert(copy));
    Ok(())
}

pub(crate) fn mpi_type_contiguous(
    call: &Call,
    count: i64,
    oldtype: &Rc<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let origin = Origin {
        combiner: MPI_COMBINER_CONTIGUOUS,
        integers: vec![count],
        types: vec![(oldtype.handle(), Rc::clone(oldtype))],
        ..Origin::default()
    };
    let datatype = Datatype::contiguous(count as u64, &oldtype.datatype);
    newtype.set(call.state.types.insert(Type::derived(datatype, origin)));
    Ok(())
}

pub(crate) fn mpi_type_set_name(_: &Call, datatype: &Rc<Type>, type_name: &CStr) -> Outcome {
    *datatype.name.borrow_mut() = type_name.to_string_lossy().into_owned();
    Ok(())
}

pub(crate) fn mpi_type_get_name(
    _: &Call,
    datatype: &Rc<Type>,
    type_name: OutString,
    resultlen: Out<c_int>,
) -> Outcome {
    resultlen.set(type_name.set(&datatype.name.borrow()));
    Ok(())
}

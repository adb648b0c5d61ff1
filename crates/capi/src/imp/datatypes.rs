//! Chapter 5: datatypes.

use core::ffi::{CStr, c_int};
use std::cell::Cell;
use std::rc::Rc;

use engine::{Counted, RecvBuffer, SendBuffer};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, NumberCell, Out, OutNumber, OutString, Outs};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Origin, Type};
use crate::imp::properties::{rename, tell_name};

pub(crate) fn mpi_type_size(_: &Call, datatype: &Counted<Type>, size: OutNumber) -> Outcome {
    size.set(datatype.datatype.size() as i64);
    Ok(())
}

pub(crate) fn mpi_type_get_extent(
    _: &Call,
    datatype: &Counted<Type>,
    lb: OutNumber,
    extent: OutNumber,
) -> Outcome {
    lb.set(datatype.datatype.layout().lower_bound());
    extent.set(datatype.datatype.extent());
    Ok(())
}

pub(crate) fn mpi_type_get_true_extent(
    _: &Call,
    datatype: &Counted<Type>,
    true_lb: OutNumber,
    true_extent: OutNumber,
) -> Outcome {
    let layout = datatype.datatype.layout();
    true_lb.set(layout.true_lower_bound());
    true_extent.set(layout.true_upper_bound() - layout.true_lower_bound());
    Ok(())
}

pub(crate) fn mpi_type_commit(call: &Call, datatype: &Cell<MPI_Datatype>) -> Outcome {
    call.datatype("datatype", datatype.get())?.commit();
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

pub(crate) fn mpi_type_dup(call: &Call, oldtype: &Counted<Type>, newtype: Out<MPI_Datatype>) -> Outcome {
    let origin = Origin {
        combiner: MPI_COMBINER_DUP,
        types: vec![(oldtype.handle(), oldtype.clone())],
        ..Origin::default()
    };
    let copy = Type::derived(oldtype.datatype.duplicate(), origin);
    if oldtype.is_committed() {
        copy.commit();
    }
    newtype.set(MPI_DATATYPE_NULL); // Also if a copy function fails.
    oldtype.attributes.copy_to(oldtype.handle().0, &copy.attributes)?;
    newtype.set(call.state.types.insert(copy));
    Ok(())
}

/// The Fortran type of a class and size (MPI section 19.1.5).
pub(crate) fn mpi_type_match_size(
    _: &Call,
    typeclass: c_int,
    size: c_int,
    datatype: Out<MPI_Datatype>,
) -> Outcome {
    datatype.set(match (typeclass, size) {
        (MPI_TYPECLASS_INTEGER, 1) => MPI_INTEGER1,
        (MPI_TYPECLASS_INTEGER, 2) => MPI_INTEGER2,
        (MPI_TYPECLASS_INTEGER, 4) => MPI_INTEGER4,
        (MPI_TYPECLASS_INTEGER, 8) => MPI_INTEGER8,
        (MPI_TYPECLASS_INTEGER, 16) => MPI_INTEGER16,
        (MPI_TYPECLASS_REAL, 2) => MPI_REAL2,
        (MPI_TYPECLASS_REAL, 4) => MPI_REAL4,
        (MPI_TYPECLASS_REAL, 8) => MPI_REAL8,
        (MPI_TYPECLASS_REAL, 16) => MPI_REAL16,
        (MPI_TYPECLASS_COMPLEX, 4) => MPI_COMPLEX4,
        (MPI_TYPECLASS_COMPLEX, 8) => MPI_COMPLEX8,
        (MPI_TYPECLASS_COMPLEX, 16) => MPI_COMPLEX16,
        (MPI_TYPECLASS_COMPLEX, 32) => MPI_COMPLEX32,
        _ => {
            let text = format_args!(
                "typeclass is {typeclass} and size {size}, expected a class and one of its sizes"
            );
            return Err(Fault::new(MPI_ERR_ARG, text));
        }
    });
    Ok(())
}

pub(crate) fn mpi_type_set_name(_: &Call, datatype: &Counted<Type>, type_name: &CStr) -> Outcome {
    rename(&datatype.name, type_name);
    Ok(())
}

pub(crate) fn mpi_type_get_name(
    _: &Call,
    datatype: Option<&Counted<Type>>,
    type_name: OutString,
    resultlen: Out<c_int>,
) -> Outcome {
    tell_name(datatype.as_ref().map(|datatype| &datatype.name), "MPI_DATATYPE_NULL", type_name, resultlen);
    Ok(())
}

/// A type from a constructor with large counts cannot be told in `int`s (MPI section 5.1.13).
fn small(datatype: &Type) -> Outcome<&Origin> {
    if datatype.origin.large_counts.is_empty() {
        return Ok(&datatype.origin);
    }
    let text =
        "datatype was made by a constructor with large counts, expected the form of this function with _c";
    Err(Fault::new(MPI_ERR_TYPE, text))
}

/// How many values a call of MPI_Type_get_contents returns.
pub(crate) fn mpi_type_get_envelope(
    _: &Call,
    datatype: &Counted<Type>,
    num_integers: Out<c_int>,
    num_addresses: Out<c_int>,
    num_datatypes: Out<c_int>,
    combiner: Out<c_int>,
) -> Outcome {
    let origin = small(datatype)?;
    num_integers.set(origin.integers.len() as c_int);
    num_addresses.set(origin.addresses.len() as c_int);
    num_datatypes.set(origin.types.len() as c_int);
    combiner.set(origin.combiner);
    Ok(())
}

pub(crate) fn mpi_type_get_envelope_c(
    _: &Call,
    datatype: &Counted<Type>,
    num_integers: Out<MPI_Count>,
    num_addresses: Out<MPI_Count>,
    num_large_counts: Out<MPI_Count>,
    num_datatypes: Out<MPI_Count>,
    combiner: Out<c_int>,
) -> Outcome {
    let origin = &datatype.origin;
    num_integers.set(origin.integers.len() as MPI_Count);
    num_addresses.set(origin.addresses.len() as MPI_Count);
    num_large_counts.set(origin.large_counts.len() as MPI_Count);
    num_datatypes.set(origin.types.len() as MPI_Count);
    combiner.set(origin.combiner);
    Ok(())
}

pub(crate) fn mpi_type_get_contents(
    call: &Call,
    datatype: &Counted<Type>,
    max_integers: usize,
    max_addresses: usize,
    max_datatypes: usize,
    array_of_integers: Outs<c_int>,
    array_of_addresses: Outs<MPI_Aint>,
    array_of_datatypes: Outs<MPI_Datatype>,
) -> Outcome {
    small(datatype)?;
    contents(
        call,
        datatype,
        [max_integers, max_addresses, 0, max_datatypes],
        array_of_integers,
        array_of_addresses,
        None,
        array_of_datatypes,
    )
}

fn contents(
    call: &Call,
    datatype: &Type,
    [max_integers, max_addresses, max_large_counts, max_datatypes]: [usize; 4],
    array_of_integers: Outs<c_int>,
    array_of_addresses: Outs<MPI_Aint>,
    array_of_large_counts: Option<Outs<MPI_Count>>,
    array_of_datatypes: Outs<MPI_Datatype>,
) -> Outcome {
    let origin = &datatype.origin;
    if origin.combiner == MPI_COMBINER_NAMED {
        let text =
            format_args!("datatype is {}, which is predefined and has no contents", datatype.name.borrow());
        return Err(Fault::new(MPI_ERR_TYPE, text));
    }
    for (name, given, needed) in [
        ("max_integers", max_integers, origin.integers.len()),
        ("max_addresses", max_addresses, origin.addresses.len()),
        ("max_large_counts", max_large_counts, origin.large_counts.len()),
        ("max_datatypes", max_datatypes, origin.types.len()),
    ] {
        if given < needed {
            return Err(Fault::new(
                MPI_ERR_ARG,
                format_args!("{name} is {given}, expected at least {needed}"),
            ));
        }
    }
    for (index, value) in origin.integers.iter().enumerate() {
        array_of_integers.set(index, *value as c_int);
    }
    for (index, value) in origin.addresses.iter().enumerate() {
        array_of_addresses.set(index, *value as MPI_Aint);
    }
    for (index, value) in origin.large_counts.iter().enumerate() {
        if let Some(counts) = &array_of_large_counts {
            counts.set(index, *value);
        }
    }
    for (index, (handle, part)) in origin.types.iter().enumerate() {
        // The program frees the derived ones.
        let fresh =
            if part.datatype.is_predefined() { *handle } else { call.state.types.refer(part.clone()) };
        array_of_datatypes.set(index, fresh);
    }
    Ok(())
}

pub(crate) fn mpi_type_get_contents_c(
    call: &Call,
    datatype: &Counted<Type>,
    max_integers: usize,
    max_addresses: usize,
    max_large_counts: usize,
    max_datatypes: usize,
    array_of_integers: Outs<c_int>,
    array_of_addresses: Outs<MPI_Aint>,
    array_of_large_counts: Outs<MPI_Count>,
    array_of_datatypes: Outs<MPI_Datatype>,
) -> Outcome {
    contents(
        call,
        datatype,
        [max_integers, max_addresses, max_large_counts, max_datatypes],
        array_of_integers,
        array_of_addresses,
        Some(array_of_large_counts),
        array_of_datatypes,
    )
}

pub(crate) fn mpi_pack(
    _: &Call,
    inbuf: Buf,
    incount: i64,
    datatype: &Counted<Type>,
    outbuf: Buf,
    outsize: i64,
    position: NumberCell,
    _comm: &Rc<Comm>,
) -> Outcome {
    let (bytes, start) = range_of(incount, datatype.datatype.size(), "outsize", outsize, position)?;
    pack_at(inbuf, incount, datatype, (outbuf, start, bytes), |data, packed| data.pack(0, packed));
    position.set("position", (start + bytes) as i64)
}

pub(crate) fn mpi_unpack(
    _: &Call,
    inbuf: Buf,
    insize: i64,
    position: NumberCell,
    outbuf: Buf,
    outcount: i64,
    datatype: &Counted<Type>,
    _comm: &Rc<Comm>,
) -> Outcome {
    let (bytes, start) = range_of(outcount, datatype.datatype.size(), "insize", insize, position)?;
    unpack_at((inbuf, start, bytes), outbuf, outcount, datatype, |data, packed| data.unpack(0, packed));
    position.set("position", (start + bytes) as i64)
}

/// Packs elements into `bytes` bytes of a buffer, from `start` on.
fn pack_at(
    data: Buf,
    count: i64,
    datatype: &Type,
    (packed, start, bytes): (Buf, u64, u64),
    pack: impl FnOnce(&SendBuffer, &mut [u8]),
) {
    if bytes > 0 {
        // SAFETY: the promises that came with the addresses: the data is readable, and the packed buffer, which has as many bytes, writable.
        unsafe {
            let place = packed.address().cast::<u8>().add(start as usize);
            let data = SendBuffer::new(data.address().cast(), count as u64, &datatype.datatype);
            pack(&data, std::slice::from_raw_parts_mut(place, bytes as usize));
        }
    }
}

/// Unpacks elements out of `bytes` bytes of a buffer, from `start` on.
fn unpack_at(
    (packed, start, bytes): (Buf, u64, u64),
    data: Buf,
    count: i64,
    datatype: &Type,
    unpack: impl FnOnce(&RecvBuffer, &[u8]),
) {
    if bytes > 0 {
        // SAFETY: the promises that came with the addresses: the packed buffer, which has as many bytes, is readable, and the data writable.
        unsafe {
            let place = packed.address().cast::<u8>().add(start as usize);
            let data = RecvBuffer::new(data.address().cast(), count as u64, &datatype.datatype);
            unpack(&data, std::slice::from_raw_parts(place, bytes as usize));
        }
    }
}

/// How many bytes a pack or unpack moves, and from where on, if the packed buffer has them.
fn range_of(count: i64, each: u64, name: &str, size: i64, position: NumberCell) -> Outcome<(u64, u64)> {
    let start = position.get();
    let bytes = (count as u64).saturating_mul(each);
    match u64::try_from(start) {
        Ok(start) if start.saturating_add(bytes) <= size as u64 => Ok((bytes, start)),
        _ => {
            let text = format_args!(
                "{name} is {size} and position {start}, expected room for {bytes} bytes from there on"
            );
            Err(Fault::new(MPI_ERR_TRUNCATE, text))
        }
    }
}

/// "external32" is the one representation that there is.
fn check_representation(datarep: &CStr) -> Outcome {
    if datarep == c"external32" {
        return Ok(());
    }
    let text = format_args!("datarep is \"{}\", expected \"external32\"", datarep.to_string_lossy());
    Err(Fault::new(MPI_ERR_ARG, text))
}

pub(crate) fn mpi_pack_external(
    _: &Call,
    datarep: &CStr,
    inbuf: Buf,
    incount: i64,
    datatype: &Counted<Type>,
    outbuf: Buf,
    outsize: i64,
    position: NumberCell,
) -> Outcome {
    check_representation(datarep)?;
    let each = datatype.datatype.map().external_bytes();
    let (bytes, start) = range_of(incount, each, "outsize", outsize, position)?;
    pack_at(inbuf, incount, datatype, (outbuf, start, bytes), SendBuffer::pack_external);
    position.set("position", (start + bytes) as i64)
}

pub(crate) fn mpi_unpack_external(
    _: &Call,
    datarep: &CStr,
    inbuf: Buf,
    insize: i64,
    position: NumberCell,
    outbuf: Buf,
    outcount: i64,
    datatype: &Counted<Type>,
) -> Outcome {
    check_representation(datarep)?;
    let each = datatype.datatype.map().external_bytes();
    let (bytes, start) = range_of(outcount, each, "insize", insize, position)?;
    unpack_at((inbuf, start, bytes), outbuf, outcount, datatype, |buffer, bytes| {
        buffer.unpack_external(bytes);
    });
    position.set("position", (start + bytes) as i64)
}

pub(crate) fn mpi_pack_external_size(
    _: &Call,
    datarep: &CStr,
    incount: i64,
    datatype: &Counted<Type>,
    size: OutNumber,
) -> Outcome {
    check_representation(datarep)?;
    size.set((incount as u64).saturating_mul(datatype.datatype.map().external_bytes()) as i64);
    Ok(())
}

/// The predefined pair of a value and an index, for MPI_MINLOC and MPI_MAXLOC (MPI section 6.9.4).
pub(crate) fn mpi_type_get_value_index(
    _: &Call,
    value_type: &Counted<Type>,
    index_type: &Counted<Type>,
    pair_type: Out<MPI_Datatype>,
) -> Outcome {
    pair_type.set(match (value_type.handle(), index_type.handle()) {
        (MPI_FLOAT, MPI_INT) => MPI_FLOAT_INT,
        (MPI_DOUBLE, MPI_INT) => MPI_DOUBLE_INT,
        (MPI_LONG, MPI_INT) => MPI_LONG_INT,
        (MPI_INT, MPI_INT) => MPI_2INT,
        (MPI_SHORT, MPI_INT) => MPI_SHORT_INT,
        (MPI_LONG_DOUBLE, MPI_INT) => MPI_LONG_DOUBLE_INT,
        (MPI_REAL, MPI_REAL) => MPI_2REAL,
        (MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION) => MPI_2DOUBLE_PRECISION,
        (MPI_INTEGER, MPI_INTEGER) => MPI_2INTEGER,
        // There is none.
        _ => MPI_DATATYPE_NULL,
    });
    Ok(())
}

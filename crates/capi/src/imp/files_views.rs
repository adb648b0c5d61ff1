//! Sections 14.3 and 14.5: views, and the representations of data in files, among them those of the program.

use core::ffi::{CStr, c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;

use engine::Counted;
use io::{Representation, Sink, Source, View};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, OutNumber, OutString, committed};
use crate::errors::{Fault, Outcome};
use crate::handles::{Conversion, Datarep, File, Info, Seen, Type};
use crate::imp::files::heed;

pub(crate) fn mpi_file_set_view(
    call: &Call,
    fh: &Rc<File>,
    disp: MPI_Offset,
    etype: &Counted<Type>,
    filetype: &Counted<Type>,
    datarep: &CStr,
    info: Option<Arc<Info>>,
) -> Outcome {
    committed(etype)?;
    committed(filetype)?;
    let name = datarep.to_string_lossy();
    let registered = call.state.datareps.find(&name);
    let representation = match (&*name, &registered) {
        ("native", _) => Representation::Native,
        ("internal", _) => Representation::Internal,
        ("external32", _) => Representation::External32,
        (_, Some(_)) => Representation::Registered,
        _ => {
            let text = format_args!(
                "datarep is \"{name}\", expected \"native\", \"internal\", \"external32\" or one of MPI_Register_datarep"
            );
            return Err(Fault::new(MPI_ERR_UNSUPPORTED_DATAREP, text));
        }
    };
    let converted = registered.filter(|known| !is_plain(known));
    let unit = match (representation, &converted) {
        (Representation::External32, _) => io::external_extent(&etype.datatype)?,
        (_, Some(known)) => extent_by(known, etype)?,
        _ => etype.datatype.extent(),
    };
    let disp = match disp {
        MPI_DISPLACEMENT_CURRENT if fh.file.mode().sequential => fh.file.current_displacement()?,
        disp => disp,
    };
    let view = View::new(disp, &etype.datatype, &filetype.datatype, unit, representation);
    fh.file.set_view(view)?;
    heed(fh, info);
    let seen = Seen {
        disp,
        etype: etype.clone(),
        filetype: filetype.clone(),
        name: name.into_owned(),
        datarep: converted,
    };
    let previous = fh.seen.replace(seen);
    drop(previous);
    Ok(())
}

pub(crate) fn mpi_file_get_view(
    call: &Call,
    fh: &Rc<File>,
    disp: Out<MPI_Offset>,
    etype: Out<MPI_Datatype>,
    filetype: Out<MPI_Datatype>,
    datarep: OutString,
) -> Outcome {
    // A handle of the program's own, unless the type is a predefined one.
    let refer = |of: &Counted<Type>| {
        if of.datatype.is_predefined() { of.handle() } else { call.state.types.refer(of.clone()) }
    };
    let seen = fh.seen.borrow().clone();
    disp.set(seen.disp);
    etype.set(refer(&seen.etype));
    filetype.set(refer(&seen.filetype));
    datarep.set(&seen.name);
    Ok(())
}

pub(crate) fn mpi_file_get_type_extent(
    _: &Call,
    fh: &Rc<File>,
    datatype: &Counted<Type>,
    extent: OutNumber<'_>,
) -> Outcome {
    let known = fh.seen.borrow().datarep.clone();
    extent.set(match known {
        Some(known) => extent_by(&known, datatype)?,
        None => fh.file.extent(&datatype.datatype)?,
    });
    Ok(())
}

pub(crate) fn mpi_register_datarep(
    call: &Call,
    datarep: &CStr,
    read_conversion_fn: MPI_Datarep_conversion_function,
    write_conversion_fn: MPI_Datarep_conversion_function,
    dtype_file_extent_fn: MPI_Datarep_extent_function,
    extra_state: *mut c_void,
) -> Outcome {
    let [read, write] = [read_conversion_fn, write_conversion_fn]
        .map(|given| given.map_or(Conversion::None, Conversion::Small));
    register(call, datarep, [read, write], dtype_file_extent_fn, extra_state)
}

pub(crate) fn mpi_register_datarep_c(
    call: &Call,
    datarep: &CStr,
    read_conversion_fn: MPI_Datarep_conversion_function_c,
    write_conversion_fn: MPI_Datarep_conversion_function_c,
    dtype_file_extent_fn: MPI_Datarep_extent_function,
    extra_state: *mut c_void,
) -> Outcome {
    let [read, write] = [read_conversion_fn, write_conversion_fn]
        .map(|given| given.map_or(Conversion::None, Conversion::Large));
    register(call, datarep, [read, write], dtype_file_extent_fn, extra_state)
}

fn register(
    call: &Call,
    name: &CStr,
    [read, write]: [Conversion; 2],
    extent: MPI_Datarep_extent_function,
    extra: *mut c_void,
) -> Outcome {
    let name = name.to_string_lossy().into_owned();
    if name.is_empty() || name.len() >= MPI_MAX_DATAREP_STRING as usize {
        let text = format_args!(
            "datarep has {} characters, expected one to {}",
            name.len(),
            MPI_MAX_DATAREP_STRING - 1
        );
        return Err(Fault::new(MPI_ERR_ARG, text));
    }
    if ["native", "internal", "external32"].contains(&&*name) || call.state.datareps.find(&name).is_some() {
        let text = format_args!("datarep is \"{name}\", expected a name that was not registered before");
        return Err(Fault::new(MPI_ERR_DUP_DATAREP, text));
    }
    if extent.is_none() {
        return Err(Fault::null("dtype_file_extent_fn"));
    }
    call.state.datareps.add(Datarep { name, read, write, extent, extra });
    Ok(())
}

/// Whether data is in the file as in memory.
fn is_plain(datarep: &Datarep) -> bool {
    matches!((&datarep.read, &datarep.write), (Conversion::None, Conversion::None))
}

/// Bytes from one element to the next in the file. The program's function knows predefined types; those made of one such are as many times as long.
fn extent_by(datarep: &Datarep, datatype: &Counted<Type>) -> Outcome<i64> {
    let leaf = leaf(datatype)?;
    let of_leaf = ask_extent(datarep, &leaf)?;
    let (whole, part) = (datatype.datatype.extent(), leaf.datatype.extent());
    let times = (part != 0 && whole % part == 0).then(|| (whole / part).checked_mul(of_leaf)).flatten();
    times.ok_or_else(|| {
        let text = format_args!(
            "datatype has an extent of {whole} bytes, expected a multiple of the {part} bytes of its elements"
        );
        Fault::new(MPI_ERR_CONVERSION, text)
    })
}

fn ask_extent(datarep: &Datarep, leaf: &Type) -> Outcome<i64> {
    let Some(extent_of) = datarep.extent else { return Ok(leaf.datatype.extent()) };
    let mut extent: MPI_Aint = 0;
    // SAFETY: the program's promise with MPI_Register_datarep; the number is valid.
    let code = unsafe { extent_of(leaf.handle(), &mut extent, datarep.extra) };
    if code == MPI_SUCCESS {
        Ok(extent as i64)
    } else {
        Err(Fault::from_callback("dtype_file_extent_fn", code))
    }
}

/// The one predefined type that a type is made of.
fn leaf(datatype: &Counted<Type>) -> Outcome<Counted<Type>> {
    if datatype.datatype.is_predefined() {
        return Ok(datatype.clone());
    }
    let mut found: Option<Counted<Type>> = None;
    for (_, part) in &datatype.origin.types {
        let of_part = leaf(part)?;
        match &found {
            Some(other) if other.handle() != of_part.handle() => {
                let text = "datatype is made of several predefined types, expected one: the program's representation knows no others";
                return Err(Fault::new(MPI_ERR_CONVERSION, text));
            }
            _ => found = Some(of_part),
        }
    }
    found.ok_or_else(|| Fault::new(MPI_ERR_CONVERSION, "datatype has no elements, expected some"))
}

/// Calls a conversion of the program's.
fn convert(
    datarep: &Datarep,
    conversion: Conversion,
    user: *mut c_void,
    (datatype, count): (&Type, i64),
    file: *mut c_void,
) -> c_int {
    // SAFETY: the program's promise with MPI_Register_datarep: both sides have room for so many elements.
    unsafe {
        match conversion {
            Conversion::None => MPI_SUCCESS,
            Conversion::Small(function) => {
                function(user, datatype.handle(), count as c_int, file, 0, datarep.extra)
            }
            Conversion::Large(function) => function(user, datatype.handle(), count, file, 0, datarep.extra),
        }
    }
}

/// Bytes of an element in the file.
fn file_bytes(datarep: &Datarep, datatype: &Counted<Type>) -> Outcome<u64> {
    let leaf = leaf(datatype)?;
    let each = u64::try_from(ask_extent(datarep, &leaf)?).unwrap_or(0);
    Ok(datatype.datatype.size() / leaf.datatype.size().max(1) * each)
}

/// What is written, as the file has it.
pub(super) fn source(fh: &File, buf: Buf, count: i64, datatype: &Counted<Type>) -> Outcome<Source> {
    let buffer = engine::SendBuffer::clone(&*buf.send(count, datatype)?);
    let datarep = fh.seen.borrow().datarep.clone();
    if let Some(known) = datarep {
        let mut bytes = vec![0; (file_bytes(&known, datatype)? * count as u64) as usize];
        let code = convert(&known, known.write, buf.address(), (datatype, count), bytes.as_mut_ptr().cast());
        if code != MPI_SUCCESS {
            return Err(conversion_failed("write_conversion_fn", code));
        }
        return Ok(Source::converted(bytes, buffer.bytes()));
    }
    Ok(match fh.file.representation() {
        Representation::External32 => io::external_source(&buffer),
        _ => Source::native(buffer),
    })
}

/// Room for what is read.
pub(super) fn sink(fh: &File, buf: Buf, count: i64, datatype: &Counted<Type>) -> Outcome<Sink> {
    let buffer = engine::RecvBuffer::clone(&*buf.receive(count, datatype)?);
    let datarep = fh.seen.borrow().datarep.clone();
    if let Some(known) = datarep {
        let each = file_bytes(&known, datatype)?;
        let (datatype, native) = (datatype.clone(), buffer.bytes());
        return Ok(Sink::converted(each * count as u64, native, move |found| {
            let elements = found.len() as u64 / each.max(1);
            let from = found.as_ptr().cast_mut().cast();
            let code = convert(&known, known.read, buf.address(), (&datatype, elements as i64), from);
            if code != MPI_SUCCESS {
                return Err(io::Error::File(
                    io::Kind::Conversion,
                    conversion_text("read_conversion_fn", code),
                ));
            }
            Ok(elements * datatype.datatype.size())
        }));
    }
    Ok(match fh.file.representation() {
        Representation::External32 => Sink::external(buffer),
        _ => Sink::native(buffer),
    })
}

fn conversion_failed(what: &str, code: c_int) -> Fault {
    Fault::new(MPI_ERR_CONVERSION, conversion_text(what, code))
}

fn conversion_text(what: &str, code: c_int) -> String {
    format!("the {what} of the data representation returned error code {code}, expected MPI_SUCCESS")
}

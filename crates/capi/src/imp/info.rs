//! Chapter 10: info objects.

use core::ffi::{CStr, c_char, c_int};
use std::cell::Cell;
use std::sync::Arc;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Out, OutString};
use crate::errors::{Fault, Outcome};
use crate::handles::Info;

/// An info object that must not be null.
fn given(info: Option<Arc<Info>>) -> Outcome<Arc<Info>> {
    info.ok_or_else(|| Fault::new(MPI_ERR_INFO, "info is MPI_INFO_NULL, expected an info object"))
}

/// A key of proper length, without the blanks around it that Fortran leaves.
fn key(text: &CStr) -> Outcome<String> {
    let key = text.to_string_lossy().trim_matches(' ').to_owned();
    if key.is_empty() || key.len() >= MPI_MAX_INFO_KEY as usize {
        let text = format_args!("key has {} bytes, expected 1 to {}", key.len(), MPI_MAX_INFO_KEY - 1);
        return Err(Fault::new(MPI_ERR_INFO_KEY, text));
    }
    Ok(key)
}

pub(crate) fn mpi_info_create(call: &Call, info: Out<MPI_Info>) -> Outcome {
    info.set(call.state.infos.insert(Info::default()));
    Ok(())
}

/// The keys of MPI_INFO_ENV that this library knows (MPI section 10.1).
pub(crate) fn mpi_info_create_env(
    call: &Call,
    argc: c_int,
    argv: *mut *mut c_char,
    info: Out<MPI_Info>,
) -> Outcome {
    let environment = Info::default();
    if argc > 0 && !argv.is_null() {
        // SAFETY: the contract of `convert`: `argv` has `argc` strings.
        let words: Vec<String> = unsafe { std::slice::from_raw_parts(argv, argc as usize) }
            .iter()
            .filter(|word| !word.is_null())
            // SAFETY: as above.
            .map(|word| unsafe { CStr::from_ptr(*word) }.to_string_lossy().into_owned())
            .collect();
        if let Some((command, arguments)) = words.split_first() {
            environment.set("command", command);
            environment.set("argv", &arguments.join(" "));
        }
    }
    environment.set("thread_level", "MPI_THREAD_MULTIPLE");
    info.set(call.state.infos.insert(environment));
    Ok(())
}

pub(crate) fn mpi_info_set(_: &Call, info: Option<Arc<Info>>, name: &CStr, value: &CStr) -> Outcome {
    let info = given(info)?;
    let name = key(name)?;
    let value = value.to_string_lossy();
    if value.len() >= MPI_MAX_INFO_VAL as usize {
        let text = format_args!("value has {} bytes, expected less than {MPI_MAX_INFO_VAL}", value.len());
        return Err(Fault::new(MPI_ERR_INFO_VALUE, text));
    }
    info.set(&name, &value);
    Ok(())
}

pub(crate) fn mpi_info_delete(_: &Call, info: Option<Arc<Info>>, name: &CStr) -> Outcome {
    let info = given(info)?;
    let name = key(name)?;
    if info.delete(&name) {
        Ok(())
    } else {
        Err(Fault::new(
            MPI_ERR_INFO_NOKEY,
            format_args!("key is \"{name}\", which the info object does not have"),
        ))
    }
}

/// `buflen` counts the final zero, in and out.
pub(crate) fn mpi_info_get_string(
    call: &Call,
    info: Option<Arc<Info>>,
    name: &CStr,
    buflen: &Cell<c_int>,
    value: *mut c_char,
    flag: Out<c_int>,
) -> Outcome {
    let info = given(info)?;
    let found = info.get(&key(name)?);
    flag.set(c_int::from(found.is_some()));
    let Some(found) = found else { return Ok(()) };
    let room = usize::try_from(buflen.get()).unwrap_or(0);
    if room > 0 {
        // SAFETY: the contract of `convert`: `value` has room for `buflen` bytes.
        unsafe { call.out_string("value", value, room) }?.set(&found);
    }
    buflen.set(found.len() as c_int + 1);
    Ok(())
}

/// `valuelen` does not count the final zero, for which there must be room besides.
pub(crate) fn mpi_info_get(
    call: &Call,
    info: Option<Arc<Info>>,
    name: &CStr,
    valuelen: c_int,
    value: *mut c_char,
    flag: Out<c_int>,
) -> Outcome {
    let info = given(info)?;
    let found = info.get(&key(name)?);
    flag.set(c_int::from(found.is_some()));
    let Some(found) = found else { return Ok(()) };
    let room = usize::try_from(valuelen).map_err(|_| {
        Fault::new(MPI_ERR_ARG, format_args!("valuelen is {valuelen}, expected zero or more"))
    })?;
    // SAFETY: the contract of `convert`: `value` has room for `valuelen` bytes and a zero.
    unsafe { call.out_string("value", value, room + 1) }?.set(&found);
    Ok(())
}

pub(crate) fn mpi_info_get_valuelen(
    _: &Call,
    info: Option<Arc<Info>>,
    name: &CStr,
    valuelen: Out<c_int>,
    flag: Out<c_int>,
) -> Outcome {
    let info = given(info)?;
    let found = info.get(&key(name)?);
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        valuelen.set(found.len() as c_int);
    }
    Ok(())
}

pub(crate) fn mpi_info_get_nkeys(_: &Call, info: Option<Arc<Info>>, nkeys: Out<c_int>) -> Outcome {
    nkeys.set(given(info)?.len() as c_int);
    Ok(())
}

pub(crate) fn mpi_info_get_nthkey(_: &Call, info: Option<Arc<Info>>, n: c_int, name: OutString) -> Outcome {
    let info = given(info)?;
    let found = usize::try_from(n).ok().and_then(|index| info.key(index));
    let found = found.ok_or_else(|| {
        Fault::new(MPI_ERR_ARG, format_args!("n is {n}, expected 0 to {}", info.len() as i64 - 1))
    })?;
    name.set(&found);
    Ok(())
}

pub(crate) fn mpi_info_dup(call: &Call, info: Option<Arc<Info>>, newinfo: Out<MPI_Info>) -> Outcome {
    newinfo.set(call.state.infos.insert(given(info)?.copy()));
    Ok(())
}

pub(crate) fn mpi_info_free(call: &Call, info: &Cell<MPI_Info>) -> Outcome {
    let handle = info.get();
    let freed = call.state.infos.remove(handle);
    drop(freed.ok_or_else(|| {
        let past = call.state.infos.table().past(handle.0);
        Fault::handle(MPI_ERR_INFO, "info", handle.0, "an info object", past)
    })?);
    info.set(MPI_INFO_NULL);
    Ok(())
}

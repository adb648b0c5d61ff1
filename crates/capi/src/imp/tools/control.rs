//! Control variables (MPI section 15.3.6).
//!
//! They say what holds from the next operation on. Before MPI_Init they are noted, and hold when it returns.

use core::ffi::{CStr, c_int, c_void};
use std::cell::Cell;

use engine::{Protocol, Rank};
use runtime::Settings;
use runtime::variables::{Bind, Control, Scope, Setting, Values, controls};

use super::{binding, categories, entry, give, in_each_lane, index_of, verbosity};
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Buf, Out, OutText};
use crate::errors::{Fault, Outcome};
use crate::process::{State, current};

pub(crate) fn mpi_t_cvar_get_num(_: &Call, num_cvar: Out<c_int>) -> Outcome {
    num_cvar.set(controls().len() as c_int);
    Ok(())
}

pub(crate) fn mpi_t_cvar_get_index(_: &Call, name: &CStr, cvar_index: Out<c_int>) -> Outcome {
    cvar_index.set(index_of(controls(), name, |control, wanted| control.name == wanted)?);
    Ok(())
}

pub(crate) fn mpi_t_cvar_get_info(
    _: &Call,
    cvar_index: c_int,
    name: OutText,
    _name_len: *mut c_int,
    verbose: Option<Out<c_int>>,
    datatype: Option<Out<MPI_Datatype>>,
    enumtype: Option<Out<MPI_T_enum>>,
    desc: OutText,
    _desc_len: *mut c_int,
    bind: Option<Out<c_int>>,
    scope: Option<Out<c_int>>,
) -> Outcome {
    let (index, control) = entry(controls(), cvar_index, "cvar_index")?;
    name.set(&control.name);
    give(verbose, verbosity(control.audience));
    give(
        datatype,
        match control.values {
            Values::Number => MPI_UNSIGNED_LONG_LONG,
            Values::Choice(_) => MPI_INT,
        },
    );
    give(enumtype, categories::of_control(index));
    desc.set(&control.what);
    give(bind, binding(Bind::Process));
    give(
        scope,
        match control.scope {
            Scope::Fixed => MPI_T_SCOPE_READONLY,
            Scope::All | Scope::AllBefore => MPI_T_SCOPE_ALL_EQ,
        },
    );
    Ok(())
}

pub(crate) fn mpi_t_cvar_handle_alloc(
    call: &Call,
    cvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: Out<MPI_T_cvar_handle>,
    count: Out<c_int>,
) -> Outcome {
    let (index, _) = entry(controls(), cvar_index, "cvar_index")?;
    handle.set(MPI_T_cvar_handle(call.state.tools.room().controls.insert(index)));
    count.set(1);
    Ok(())
}

pub(crate) fn mpi_t_cvar_handle_free(call: &Call, handle: &Cell<MPI_T_cvar_handle>) -> Outcome {
    let removed = call.state.tools.room().controls.remove(handle.get().0);
    removed.ok_or_else(|| unknown(call, handle.get()))?;
    handle.set(MPI_T_CVAR_HANDLE_NULL);
    Ok(())
}

#[cold]
fn unknown(call: &Call, handle: MPI_T_cvar_handle) -> Fault {
    let past = call.state.tools.room().controls.past(handle.0);
    Fault::handle(MPI_T_ERR_INVALID_HANDLE, "handle", handle.0, "the handle of a control variable", past)
}

fn of_handle(call: &Call, handle: MPI_T_cvar_handle) -> Outcome<(usize, &'static Control)> {
    let index = call.state.tools.room().controls.get(handle.0).ok_or_else(|| unknown(call, handle))?;
    Ok((index, &controls()[index]))
}

pub(crate) fn mpi_t_cvar_read(call: &Call, handle: MPI_T_cvar_handle, buf: Buf) -> Outcome {
    let (index, control) = of_handle(call, handle)?;
    let value = value(call.state, index);
    match control.values {
        Values::Number => buf.store(0, &value.to_ne_bytes()),
        Values::Choice(_) => buf.store(0, &(value as c_int).to_ne_bytes()),
    }
    Ok(())
}

pub(crate) fn mpi_t_cvar_write(call: &Call, handle: MPI_T_cvar_handle, buf: Buf) -> Outcome {
    let (index, control) = of_handle(call, handle)?;
    let state = call.state;
    if control.scope == Scope::Fixed {
        let text = format_args!("{} is set by {} only", control.name, control.environment());
        return Err(Fault::new(MPI_T_ERR_CVAR_SET_NEVER, text));
    }
    let value = match &control.values {
        Values::Number => u64::from_ne_bytes(buf.load(0)),
        Values::Choice(items) => {
            let value = c_int::from_ne_bytes(buf.load(0));
            let known = u64::try_from(value).ok().filter(|value| (*value as usize) < items.len());
            known.ok_or_else(|| {
                let last = items.len() - 1;
                Fault::new(MPI_T_ERR_INVALID, format_args!("the value is {value}, expected 0 to {last}"))
            })?
        }
    };
    let joined = state.rank_if_joined().is_some();
    // The chip of hosted ranks was made for its protocol.
    if control.scope == Scope::AllBefore && (joined || current::is_hosting()) {
        let text = format_args!("{} cannot be changed any more", control.name);
        return Err(Fault::new(MPI_T_ERR_CVAR_SET_NOT_NOW, text));
    }
    if joined {
        in_each_lane(state, |rank| apply(rank, index, value));
    } else {
        let mut pending = state.tools.pending();
        pending.retain(|(control, _)| *control != index);
        pending.push((index, value));
    }
    Ok(())
}

/// Sets a variable.
pub(super) fn apply(rank: &Rank, index: usize, value: u64) {
    let control = &controls()[index];
    let mut tuning = rank.tuning();
    match (control.setting, &control.values) {
        (Setting::Threshold(name), _) => {
            tuning.set(name, value as usize);
            rank.retune(tuning);
        }
        (Setting::Protocol, _) => {
            tuning.protocol = Protocol::NAMES[value as usize].1;
            rank.retune(tuning);
        }
        (Setting::Algorithm(collective), Values::Choice(items)) => {
            // The first stands for that of the table.
            let preferred = if value == 0 { None } else { Some(items[value as usize]) };
            rank.prefer_algorithm(collective, preferred);
        }
        (Setting::Algorithm(_) | Setting::Fixed(_), _) => {}
    }
}

/// What a variable is: in the rank, else as MPI_Init will find it.
fn value(state: &State, index: usize) -> u64 {
    if state.rank_if_joined().is_some() {
        return state.in_first_lane(|| in_rank(state.rank(), index));
    }
    let pending =
        state.tools.pending().iter().find(|(control, _)| *control == index).map(|(_, value)| *value);
    pending.or_else(|| state.with_prepared(|rank| in_rank(rank, index))).unwrap_or_else(|| {
        let settings = Settings::from_process().ok();
        let setting = controls()[index].setting;
        let algorithm = |collective| settings.as_ref().and_then(|settings| settings.algorithm(collective));
        of_setting(index, algorithm, || match setting {
            Setting::Fixed(_) | Setting::Algorithm(_) => None,
            _ => settings.as_ref().map(Settings::tuning_of_processes),
        })
    })
}

fn in_rank(rank: &Rank, index: usize) -> u64 {
    of_setting(index, |collective| rank.preferred_algorithm(collective), || Some(rank.tuning()))
}

fn of_setting(
    index: usize,
    algorithm: impl Fn(&'static str) -> Option<&'static str>,
    tuning: impl Fn() -> Option<engine::Tuning>,
) -> u64 {
    let control = &controls()[index];
    let place = match (control.setting, &control.values) {
        (Setting::Threshold(name), _) => tuning().and_then(|tuning| tuning.get(name)),
        (Setting::Protocol, _) => tuning()
            .and_then(|tuning| Protocol::NAMES.iter().position(|(_, known)| *known == tuning.protocol)),
        (Setting::Algorithm(collective), Values::Choice(items)) => {
            algorithm(collective).and_then(|preferred| items.iter().position(|item| *item == preferred))
        }
        (Setting::Algorithm(_), Values::Number) => None,
        (Setting::Fixed(value), _) => return value(),
    };
    place.unwrap_or_default() as u64
}

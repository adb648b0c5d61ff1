//! Categories and enumerations of the tools interface.

use core::ffi::{CStr, c_int};

use runtime::variables::{CATEGORIES, EVENTS, PERFORMANCE, PHASES, Topic, Values, controls};

use super::{entry, give, index_of};
use crate::abi::constants::*;
use crate::abi::types::MPI_T_enum;
use crate::call::Call;
use crate::convert::{Out, OutText, Outs};
use crate::errors::{Fault, Outcome, Past};

pub(crate) fn mpi_t_category_get_num(_: &Call, num_cat: Out<c_int>) -> Outcome {
    num_cat.set(CATEGORIES.len() as c_int);
    Ok(())
}

/// They never change.
pub(crate) fn mpi_t_category_changed(_: &Call, update_number: Out<c_int>) -> Outcome {
    update_number.set(0);
    Ok(())
}

pub(crate) fn mpi_t_category_get_index(_: &Call, name: &CStr, cat_index: Out<c_int>) -> Outcome {
    cat_index.set(index_of(&CATEGORIES, name, |category, wanted| category.name == wanted)?);
    Ok(())
}

pub(crate) fn mpi_t_category_get_info(
    _: &Call,
    cat_index: c_int,
    name: OutText,
    _name_len: *mut c_int,
    desc: OutText,
    _desc_len: *mut c_int,
    num_cvars: Option<Out<c_int>>,
    num_pvars: Option<Out<c_int>>,
    num_categories: Option<Out<c_int>>,
) -> Outcome {
    let (_, category) = entry(&CATEGORIES, cat_index, "cat_index")?;
    name.set(category.name);
    desc.set(category.what);
    give(num_cvars, cvars_of(category.topic).count() as c_int);
    give(num_pvars, pvars_of(category.topic).count() as c_int);
    give(num_categories, category.parts.len() as c_int);
    Ok(())
}

pub(crate) fn mpi_t_category_get_num_events(_: &Call, cat_index: c_int, num_events: Out<c_int>) -> Outcome {
    let (_, category) = entry(&CATEGORIES, cat_index, "cat_index")?;
    num_events.set(events_of(category.topic).count() as c_int);
    Ok(())
}

pub(crate) fn mpi_t_category_get_cvars(
    _: &Call,
    cat_index: c_int,
    _: usize,
    indices: Outs<c_int>,
) -> Outcome {
    list(cat_index, &indices, |topic| cvars_of(topic).collect())
}

pub(crate) fn mpi_t_category_get_pvars(
    _: &Call,
    cat_index: c_int,
    _: usize,
    indices: Outs<c_int>,
) -> Outcome {
    list(cat_index, &indices, |topic| pvars_of(topic).collect())
}

pub(crate) fn mpi_t_category_get_events(
    _: &Call,
    cat_index: c_int,
    _: usize,
    indices: Outs<c_int>,
) -> Outcome {
    list(cat_index, &indices, |topic| events_of(topic).collect())
}

pub(crate) fn mpi_t_category_get_categories(
    _: &Call,
    cat_index: c_int,
    _: usize,
    indices: Outs<c_int>,
) -> Outcome {
    list(cat_index, &indices, |topic| {
        let parts =
            CATEGORIES.iter().filter(|category| category.topic == topic).flat_map(|category| category.parts);
        parts.filter_map(|part| CATEGORIES.iter().position(|category| category.topic == *part)).collect()
    })
}

fn list(category: c_int, indices: &Outs<'_, c_int>, held: impl Fn(Topic) -> Vec<usize>) -> Outcome {
    let (_, category) = entry(&CATEGORIES, category, "cat_index")?;
    held(category.topic)
        .into_iter()
        .enumerate()
        .for_each(|(place, index)| indices.set(place, index as c_int));
    Ok(())
}

fn places<T>(list: &'static [T], of: impl Fn(&T) -> bool) -> impl Iterator<Item = usize> {
    list.iter().enumerate().filter(move |(_, entry)| of(entry)).map(|(place, _)| place)
}

fn cvars_of(topic: Topic) -> impl Iterator<Item = usize> {
    places(controls(), move |control| control.topic == topic)
}

fn pvars_of(topic: Topic) -> impl Iterator<Item = usize> {
    places(PERFORMANCE, move |variable| variable.topic == topic)
}

fn events_of(topic: Topic) -> impl Iterator<Item = usize> {
    places(EVENTS, move |event| event.topic == topic)
}

/// The enumeration of a control variable that is one of several: each has its own.
pub(super) fn of_control(index: usize) -> MPI_T_enum {
    match controls()[index].values {
        Values::Number => MPI_T_ENUM_NULL,
        Values::Choice(_) => MPI_T_enum(index + 1),
    }
}

/// The enumeration of phases.
pub(super) fn of_phases() -> MPI_T_enum {
    MPI_T_enum(controls().len() + 1)
}

/// The name and the items of an enumeration.
fn items(enumeration: MPI_T_enum) -> Outcome<(&'static str, &'static [&'static str])> {
    if enumeration == of_phases() {
        return Ok(("phase", &PHASES));
    }
    match enumeration.0.checked_sub(1).and_then(|index| controls().get(index)) {
        Some(control) if let Values::Choice(items) = &control.values => Ok((&control.name, items)),
        _ => Err(Fault::handle(
            MPI_T_ERR_INVALID_HANDLE,
            "enumtype",
            enumeration.0,
            "the enumeration of a variable",
            Past::Unknown,
        )),
    }
}

pub(crate) fn mpi_t_enum_get_info(
    _: &Call,
    enumtype: MPI_T_enum,
    num: Option<Out<c_int>>,
    name: OutText,
    _name_len: *mut c_int,
) -> Outcome {
    let (called, items) = items(enumtype)?;
    give(num, items.len() as c_int);
    name.set(called);
    Ok(())
}

pub(crate) fn mpi_t_enum_get_item(
    _: &Call,
    enumtype: MPI_T_enum,
    index: c_int,
    value: Option<Out<c_int>>,
    name: OutText,
    _name_len: *mut c_int,
) -> Outcome {
    let (_, items) = items(enumtype)?;
    let found = usize::try_from(index).ok().and_then(|index| items.get(index));
    let item = found.ok_or_else(|| {
        let last = items.len() - 1;
        Fault::new(MPI_T_ERR_INVALID_ITEM, format_args!("index is {index}, expected 0 to {last}"))
    })?;
    give(value, index);
    name.set(item);
    Ok(())
}

//! Chapter 7: communicators.

use core::ffi::{CStr, c_int};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use engine::{Comparison, Division, ProcessSet};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Out, OutString, TagArg};
use crate::errors::{Fault, Outcome};
use crate::handles::{Bearer, Comm, CommRef, Errhandler, Group, Info, lane_of};
use crate::imp::errhandlers::suits;
use crate::imp::properties::{self, Hint, rename, tell_hints, tell_name};

pub(crate) fn mpi_comm_size(_: &Call, comm: &Rc<Comm>, size: Out<c_int>) -> Outcome {
    size.set(comm.comm.size() as c_int);
    Ok(())
}

pub(crate) fn mpi_comm_rank(_: &Call, comm: &Rc<Comm>, rank: Out<c_int>) -> Outcome {
    rank.set(comm.comm.rank() as c_int);
    Ok(())
}

pub(crate) fn mpi_comm_compare(_: &Call, comm1: &Rc<Comm>, comm2: &Rc<Comm>, result: Out<c_int>) -> Outcome {
    result.set(match comm1.comm.compare(&comm2.comm) {
        Comparison::Identical => MPI_IDENT,
        Comparison::Congruent => MPI_CONGRUENT,
        Comparison::Similar => MPI_SIMILAR,
        Comparison::Unequal => MPI_UNEQUAL,
    });
    Ok(())
}

pub(crate) fn mpi_comm_group(call: &Call, comm: &Rc<Comm>, group: Out<MPI_Group>) -> Outcome {
    group.set(call.state.groups.insert(comm.comm.group().clone()));
    Ok(())
}

/// Gives a new communicator to the program, with the error handler of its parent.
pub(crate) fn deliver(call: &Call, parent: &Comm, made: Option<engine::Comm>, newcomm: Out<MPI_Comm>) {
    newcomm.set(match made {
        Some(made) => add(call, child(parent, made)),
        None => MPI_COMM_NULL,
    });
}

/// Stores a communicator, in its lane.
pub(crate) fn add(call: &Call, comm: Comm) -> MPI_Comm {
    call.state.use_lane(comm.comm.lane());
    comm.made.set(Some(call.name_and_site()));
    call.state.comms.insert(comm)
}

fn child(parent: &Comm, made: engine::Comm) -> Comm {
    Comm::new(made, Arc::clone(&parent.errhandler.borrow()))
}

/// A duplicate has its parent's attributes, as far as their copy functions want, and the given hints. Those of the parent are not
/// passed on, since MPI 4.0. If a copy function fails, there is no duplicate.
fn duplicate(
    call: &Call,
    parent: &Comm,
    made: engine::Comm,
    hints: Option<Arc<Info>>,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    let copy = child(parent, made);
    heed(&copy, hints);
    let comms = &call.state.comms;
    let handle = add(call, copy);
    let copy = call.comm("newcomm", handle)?;
    let copied = parent.attributes.copy_to(parent.handle().0, &copy.attributes);
    if copied.is_err() {
        let _ = copy.attributes.clear(handle.0);
        drop(comms.remove(handle));
    }
    newcomm.set(if copied.is_ok() { handle } else { MPI_COMM_NULL });
    copied
}

/// The hints of sections 7.4.4 and 6.13 that every communicator has: promises that this library does not need, and keeps in mind.
const HINTS: [Hint; 5] = [
    ("mpi_assert_strict_persistent_collective_ordering", "false"),
    ("mpi_assert_no_any_tag", "false"),
    ("mpi_assert_no_any_source", "false"),
    ("mpi_assert_exact_length", "false"),
    ("mpi_assert_allow_overtaking", "false"),
];

/// Takes up the hints that are known.
pub(crate) fn heed(comm: &Comm, info: Option<Arc<Info>>) {
    properties::heed(&comm.info, &HINTS, info);
}

pub(crate) fn mpi_comm_dup(call: &Call, comm: &Rc<Comm>, newcomm: Out<MPI_Comm>) -> Outcome {
    let made = call.rank().dup(&comm.comm)?;
    duplicate(call, comm, made, None, newcomm)
}

pub(crate) fn mpi_comm_dup_with_info(
    call: &Call,
    comm: &Rc<Comm>,
    info: Option<Arc<Info>>,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    let made = call.rank().dup(&comm.comm)?;
    duplicate(call, comm, made, info, newcomm)
}

pub(crate) fn mpi_comm_idup(
    call: &Call,
    comm: &Rc<Comm>,
    newcomm: Out<MPI_Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let (made, id) = call.rank().idup(&comm.comm)?;
    duplicate(call, comm, made, None, newcomm)?;
    request.set(call.requests().started(id, comm));
    Ok(())
}

pub(crate) fn mpi_comm_idup_with_info(
    call: &Call,
    comm: &Rc<Comm>,
    info: Option<Arc<Info>>,
    newcomm: Out<MPI_Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    let (made, id) = call.rank().idup(&comm.comm)?;
    duplicate(call, comm, made, info, newcomm)?;
    request.set(call.requests().started(id, comm));
    Ok(())
}

pub(crate) fn mpi_comm_create(
    call: &Call,
    comm: &Rc<Comm>,
    group: &Group,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    let made = call.rank().create(&comm.comm, group)?;
    deliver(call, comm, made, newcomm);
    Ok(())
}

/// The group's members make it among themselves, whatever else they have in common (MPI section 7.4.2). It has no parent to take an error handler
/// from, so one is given.
pub(crate) fn mpi_comm_create_from_group(
    call: &Call,
    group: &Group,
    stringtag: &CStr,
    info: Option<Arc<Info>>,
    errhandler: &Arc<Errhandler>,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    suits(Bearer::Comm, errhandler)?;
    newcomm.set(MPI_COMM_NULL);
    if group.size() > 0 {
        let made = call.rank().create_from_group(group, &stringtag.to_string_lossy())?;
        let comm = Comm::new(made, Arc::clone(errhandler));
        heed(&comm, info);
        newcomm.set(add(call, comm));
    }
    Ok(())
}

pub(crate) fn mpi_comm_create_group(
    call: &Call,
    comm: &Rc<Comm>,
    group: &Group,
    tag: TagArg,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    let made = call.rank().create_group(&comm.comm, group, tag.of_send()?)?;
    deliver(call, comm, made, newcomm);
    Ok(())
}

pub(crate) fn mpi_comm_split(
    call: &Call,
    comm: &Rc<Comm>,
    color: c_int,
    key: c_int,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    let chosen = match color {
        MPI_UNDEFINED => None,
        0.. => Some(color as u32),
        _ => {
            let text = format_args!("color is {color}, expected zero or more, or MPI_UNDEFINED");
            return Err(Fault::new(MPI_ERR_ARG, text));
        }
    };
    let made = call.rank().split(&comm.comm, chosen, key)?;
    deliver(call, comm, made, newcomm);
    Ok(())
}

/// Of the hardware one level is known, so that there is nothing to split what is within one (MPI section 7.4.2).
pub(crate) fn mpi_comm_split_type(
    call: &Call,
    comm: &Rc<Comm>,
    split_type: c_int,
    key: c_int,
    info: Option<Arc<Info>>,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    let hint = |name| info.as_ref().and_then(|info| info.get(name));
    let is_shared = hint(RESOURCE_TYPE).as_deref() == Some(SHARED_MEMORY);
    let by = match split_type {
        MPI_COMM_TYPE_SHARED => Some(Division::SharedMemory),
        MPI_COMM_TYPE_HW_UNGUIDED => Some(Division::Below),
        MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED if is_shared => Some(Division::SharedMemory),
        MPI_COMM_TYPE_RESOURCE_GUIDED => {
            hint("mpi_pset_name").and_then(|name| ProcessSet::named(&name)).map(Division::Set)
        }
        MPI_UNDEFINED | MPI_COMM_TYPE_HW_GUIDED => None,
        _ => {
            let text =
                format_args!("split_type is {split_type}, expected one of the MPI_COMM_TYPE constants");
            return Err(Fault::new(MPI_ERR_ARG, text));
        }
    };
    let made = call.rank().split_by(&comm.comm, by, key)?;
    let Some(made) = made else {
        newcomm.set(MPI_COMM_NULL);
        return Ok(());
    };
    let part = child(comm, made);
    if is_shared || split_type == MPI_COMM_TYPE_HW_UNGUIDED {
        part.info.set(RESOURCE_TYPE, SHARED_MEMORY);
    }
    newcomm.set(add(call, part));
    Ok(())
}

/// The hint that names a kind of hardware, and the kind that this library knows.
const RESOURCE_TYPE: &str = "mpi_hw_resource_type";
pub(crate) const SHARED_MEMORY: &str = "mpi_shared_memory";

/// As MPI_Comm_free, after all that is under way on the communicator (MPI section 11.10.4).
pub(crate) fn mpi_comm_disconnect(call: &Call, comm: &Cell<MPI_Comm>) -> Outcome {
    call.in_lane(lane_of(comm.get().0), |call| {
        let found = call.comm("comm", comm.get())?;
        freeable(&found)?;
        call.rank().drain_comm(&found.comm)?;
        drop(found);
        mpi_comm_free(call, comm)
    })
}

fn freeable(comm: &Comm) -> Outcome {
    if [MPI_COMM_WORLD, MPI_COMM_SELF, MPIX_COMM_LOCAL].contains(&comm.handle()) {
        let text = format_args!("comm is {}, which is predefined and cannot be freed", comm.name.borrow());
        return Err(Fault::new(MPI_ERR_COMM, text));
    }
    Ok(())
}

pub(crate) fn mpi_comm_free(call: &Call, comm: &Cell<MPI_Comm>) -> Outcome {
    call.in_lane(lane_of(comm.get().0), |call| free(call, comm))
}

fn free(call: &Call, comm: &Cell<MPI_Comm>) -> Outcome {
    let handle = comm.get();
    let found = call.comm("comm", handle)?;
    freeable(&found)?;
    found.attributes.clear(handle.0)?;
    // A buffer that was attached to it goes with it.
    let _ = call.rank().detach_buffer(engine::Holder::Comm(&found.comm));
    drop(call.state.comms.remove(handle));
    drop(found);
    // In its lane, where others that are made need not look.
    call.rank().reclaim_contexts();
    comm.set(MPI_COMM_NULL);
    Ok(())
}

pub(crate) fn mpi_comm_set_name(_: &Call, comm: &Rc<Comm>, comm_name: &CStr) -> Outcome {
    rename(&comm.name, comm_name);
    Ok(())
}

pub(crate) fn mpi_comm_get_name(
    _: &Call,
    comm: Option<&CommRef>,
    comm_name: OutString,
    resultlen: Out<c_int>,
) -> Outcome {
    tell_name(comm.as_ref().map(|comm| &comm.name), "MPI_COMM_NULL", comm_name, resultlen);
    Ok(())
}

pub(crate) fn mpi_comm_set_info(_: &Call, comm: &Rc<Comm>, info: Option<Arc<Info>>) -> Outcome {
    heed(comm, info);
    Ok(())
}

pub(crate) fn mpi_comm_get_info(call: &Call, comm: &Rc<Comm>, info_used: Out<MPI_Info>) -> Outcome {
    tell_hints(call, &comm.info, &HINTS, Some(RESOURCE_TYPE), info_used);
    Ok(())
}

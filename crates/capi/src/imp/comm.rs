//! Chapter 7: communicators.

use core::ffi::{CStr, c_int};
use std::cell::Cell;
use std::rc::Rc;

use engine::Comparison;

use crate::call::Call;
use crate::convert::{Out, OutString};
use crate::errors::{Fault, Outcome};
use crate::r#gen::constants::*;
use crate::r#gen::types::*;
use crate::handles::{Comm, Info};

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

pub(crate) fn mpi_comm_test_inter(_: &Call, _comm: &Rc<Comm>, flag: Out<c_int>) -> Outcome {
    flag.set(0);
    Ok(())
}

pub(crate) fn mpi_comm_remote_size(_: &Call, comm: &Rc<Comm>, _size: Out<c_int>) -> Outcome {
    Err(intra(comm))
}

pub(crate) fn mpi_comm_remote_group(_: &Call, comm: &Rc<Comm>, _group: Out<MPI_Group>) -> Outcome {
    Err(intra(comm))
}

fn intra(comm: &Comm) -> Fault {
    let text = format_args!("comm is {}, an intracommunicator, expected an intercommunicator", comm.name.borrow());
    Fault::new(MPI_ERR_COMM, text)
}

pub(crate) fn mpi_comm_free(call: &Call, comm: &Cell<MPI_Comm>) -> Outcome {
    let handle = comm.get();
    let found = call.comm("comm", handle)?;
    if handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF {
        let text = format_args!("comm is {}, which is predefined and cannot be freed", found.name.borrow());
        return Err(Fault::new(MPI_ERR_COMM, text));
    }
    found.attributes.clear(handle.0)?;
    drop(call.state.comms.remove(handle));
    comm.set(MPI_COMM_NULL);
    Ok(())
}

pub(crate) fn mpi_comm_set_name(_: &Call, comm: &Rc<Comm>, comm_name: &CStr) -> Outcome {
    *comm.name.borrow_mut() = comm_name.to_string_lossy().into_owned();
    Ok(())
}

pub(crate) fn mpi_comm_get_name(
    _: &Call,
    comm: &Rc<Comm>,
    comm_name: OutString,
    resultlen: Out<c_int>,
) -> Outcome {
    resultlen.set(comm_name.set(&comm.name.borrow()));
    Ok(())
}

pub(crate) fn mpi_comm_set_info(_: &Call, comm: &Rc<Comm>, info: Option<Rc<Info>>) -> Outcome {
    let hints = info.map_or_else(Info::default, |info| info.copy());
    let previous = comm.info.replace(Rc::new(hints));
    drop(previous);
    Ok(())
}

pub(crate) fn mpi_comm_get_info(call: &Call, comm: &Rc<Comm>, info_used: Out<MPI_Info>) -> Outcome {
    let hints = comm.info.borrow().copy();
    info_used.set(call.state.infos.insert(hints));
    Ok(())
}

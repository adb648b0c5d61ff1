//! Chapter 7: intercommunicators.

use core::ffi::{CStr, c_int};
use std::rc::Rc;
use std::sync::Arc;

use engine::Bridge;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Out, RankArg, TagArg};
use crate::errors::{Fault, Outcome, Past};
use crate::handles::{Bearer, Comm, CommRef, Errhandler, Group, Info};
use crate::imp::comm::{add, deliver, heed};
use crate::imp::errhandlers::suits;

pub(crate) fn mpi_comm_test_inter(_: &Call, comm: &Rc<Comm>, flag: Out<c_int>) -> Outcome {
    flag.set(c_int::from(comm.comm.is_inter()));
    Ok(())
}

pub(crate) fn mpi_comm_remote_size(_: &Call, comm: &Rc<Comm>, size: Out<c_int>) -> Outcome {
    inter(comm)?;
    size.set(comm.peer_size() as c_int);
    Ok(())
}

pub(crate) fn mpi_comm_remote_group(call: &Call, comm: &Rc<Comm>, group: Out<MPI_Group>) -> Outcome {
    inter(comm)?;
    group.set(call.state.groups.insert(comm.comm.peers().clone()));
    Ok(())
}

/// The other communicator and the remote leader count at the local leader only (MPI section 7.6.2).
pub(crate) fn mpi_intercomm_create(
    call: &Call,
    local_comm: &Rc<Comm>,
    local_leader: RankArg,
    peer_comm: Option<&CommRef>,
    remote_leader: RankArg,
    tag: TagArg,
    newintercomm: Out<MPI_Comm>,
) -> Outcome {
    local_comm.comm.intra()?;
    let leader = local_leader.member(local_comm)?;
    let leads = leader == local_comm.comm.rank();
    let tag = tag.of_send()?;
    let rank = call.rank();
    let peer = peer_comm.filter(|_| leads);
    let bridge_lane = peer.as_ref().map_or(call.lane(), |peer| peer.comm.lane());
    let cross = |act: &mut dyn FnMut(&engine::Rank)| call.in_lane(bridge_lane, |call| act(call.rank()));
    let crossing: Option<&engine::Crossing<'_>> =
        if bridge_lane == call.lane() { None } else { Some(&cross) };
    let reached = match &peer {
        Some(peer) => {
            remote_leader.member(peer).map(|leader| Some(Bridge { comm: &peer.comm, leader, crossing }))
        }
        None if leads => {
            Err(Fault::handle(MPI_ERR_COMM, "peer_comm", MPI_COMM_NULL.0, "a communicator", Past::Unknown))
        }
        None => Ok(None),
    };
    let bridge = match reached {
        Ok(bridge) => bridge,
        Err(fault) => {
            // The other members wait for the leader: they learn that there is no bridge.
            let _ = rank.create_intercomm(&local_comm.comm, leader, None, tag);
            return Err(fault);
        }
    };
    let made = rank.create_intercomm(&local_comm.comm, leader, bridge, tag)?;
    deliver(call, local_comm, Some(made), newintercomm);
    Ok(())
}

/// The remote group and its leader count at the local leader only.
pub(crate) fn mpi_intercomm_create_from_groups(
    call: &Call,
    local_group: &Group,
    local_leader: RankArg,
    remote_group: Option<&Group>,
    remote_leader: RankArg,
    stringtag: &CStr,
    info: Option<Arc<Info>>,
    errhandler: &Arc<Errhandler>,
    newintercomm: Out<MPI_Comm>,
) -> Outcome {
    suits(Bearer::Comm, errhandler)?;
    let leader = local_leader.of_group(local_group)?;
    let rank = call.rank();
    let leads = local_group.rank_of(rank.fabric().me()) == Some(leader);
    let name = stringtag.to_string_lossy();
    let remote = match remote_group.filter(|_| leads) {
        Some(group) => remote_leader.of_group(group).map(|leader| Some((group, leader))),
        None => Ok(None),
    };
    let remote = match remote {
        Ok(remote) => remote,
        Err(fault) => {
            let _ = rank.create_intercomm_from_groups(local_group, leader, None, &name);
            return Err(fault);
        }
    };
    let made = rank.create_intercomm_from_groups(local_group, leader, remote, &name)?;
    let comm = Comm::new(made, Arc::clone(errhandler));
    heed(&comm, info);
    newintercomm.set(add(call, comm));
    Ok(())
}

pub(crate) fn mpi_intercomm_merge(
    call: &Call,
    intercomm: &Rc<Comm>,
    high: bool,
    newintracomm: Out<MPI_Comm>,
) -> Outcome {
    inter(intercomm)?;
    let made = call.rank().merge(&intercomm.comm, high)?;
    deliver(call, intercomm, Some(made), newintracomm);
    Ok(())
}

fn inter(comm: &Comm) -> Outcome {
    if comm.comm.is_inter() {
        return Ok(());
    }
    let text =
        format_args!("comm is {}, an intracommunicator, expected an intercommunicator", comm.name.borrow());
    Err(Fault::new(MPI_ERR_COMM, text))
}

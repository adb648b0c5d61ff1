//! Chapter 7: groups.

use core::ffi::c_int;
use std::cell::Cell;

use engine::{Group, GroupComparison};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Out, Outs};
use crate::errors::{Fault, Outcome};

pub(crate) fn mpi_group_size(_: &Call, group: &Group, size: Out<c_int>) -> Outcome {
    size.set(group.size() as c_int);
    Ok(())
}

pub(crate) fn mpi_group_rank(call: &Call, group: &Group, rank: Out<c_int>) -> Outcome {
    let me = call.rank().fabric().me();
    rank.set(group.rank_of(me).map_or(MPI_UNDEFINED, |rank| rank as c_int));
    Ok(())
}

pub(crate) fn mpi_group_translate_ranks(
    _: &Call,
    group1: &Group,
    _n: usize,
    ranks1: &[c_int],
    group2: &Group,
    ranks2: Outs<c_int>,
) -> Outcome {
    for (index, rank) in ranks1.iter().enumerate() {
        let translated = match *rank {
            MPI_PROC_NULL => MPI_PROC_NULL,
            rank => {
                let node = u32::try_from(rank).ok().and_then(|rank| group1.node(rank)).ok_or_else(|| {
                    let last = i64::from(group1.size()) - 1;
                    let text =
                        format_args!("ranks1[{index}] is {rank}, expected 0 to {last} or MPI_PROC_NULL");
                    Fault::new(MPI_ERR_RANK, text)
                })?;
                group2.rank_of(node).map_or(MPI_UNDEFINED, |rank| rank as c_int)
            }
        };
        ranks2.set(index, translated);
    }
    Ok(())
}

pub(crate) fn mpi_group_compare(_: &Call, group1: &Group, group2: &Group, result: Out<c_int>) -> Outcome {
    result.set(match group1.compare(group2) {
        GroupComparison::Identical => MPI_IDENT,
        GroupComparison::Similar => MPI_SIMILAR,
        GroupComparison::Unequal => MPI_UNEQUAL,
    });
    Ok(())
}

pub(crate) fn mpi_group_union(
    call: &Call,
    group1: &Group,
    group2: &Group,
    newgroup: Out<MPI_Group>,
) -> Outcome {
    newgroup.set(call.state.groups.insert(group1.union(group2)));
    Ok(())
}

pub(crate) fn mpi_group_intersection(
    call: &Call,
    group1: &Group,
    group2: &Group,
    newgroup: Out<MPI_Group>,
) -> Outcome {
    newgroup.set(call.state.groups.insert(group1.intersection(group2)));
    Ok(())
}

pub(crate) fn mpi_group_difference(
    call: &Call,
    group1: &Group,
    group2: &Group,
    newgroup: Out<MPI_Group>,
) -> Outcome {
    newgroup.set(call.state.groups.insert(group1.difference(group2)));
    Ok(())
}

pub(crate) fn mpi_group_incl(
    call: &Call,
    group: &Group,
    _n: usize,
    ranks: &[c_int],
    newgroup: Out<MPI_Group>,
) -> Outcome {
    newgroup.set(call.state.groups.insert(group.include(&widen(ranks))?));
    Ok(())
}

pub(crate) fn mpi_group_excl(
    call: &Call,
    group: &Group,
    _n: usize,
    ranks: &[c_int],
    newgroup: Out<MPI_Group>,
) -> Outcome {
    newgroup.set(call.state.groups.insert(group.exclude(&widen(ranks))?));
    Ok(())
}

pub(crate) fn mpi_group_range_incl(
    call: &Call,
    group: &Group,
    _n: usize,
    ranges: &[[c_int; 3]],
    newgroup: Out<MPI_Group>,
) -> Outcome {
    newgroup.set(call.state.groups.insert(group.include_ranges(&triplets(ranges))?));
    Ok(())
}

pub(crate) fn mpi_group_range_excl(
    call: &Call,
    group: &Group,
    _n: usize,
    ranges: &[[c_int; 3]],
    newgroup: Out<MPI_Group>,
) -> Outcome {
    newgroup.set(call.state.groups.insert(group.exclude_ranges(&triplets(ranges))?));
    Ok(())
}

pub(crate) fn mpi_group_free(call: &Call, group: &Cell<MPI_Group>) -> Outcome {
    let handle = group.get();
    let freed = call.state.groups.remove(handle);
    drop(freed.ok_or_else(|| {
        let past = call.state.groups.table().past(handle.0);
        Fault::handle(MPI_ERR_GROUP, "group", handle.0, "a group", past)
    })?);
    group.set(MPI_GROUP_NULL);
    Ok(())
}

fn widen(ranks: &[c_int]) -> Vec<i64> {
    ranks.iter().map(|rank| i64::from(*rank)).collect()
}

fn triplets(ranges: &[[c_int; 3]]) -> Vec<[i64; 3]> {
    ranges.iter().map(|range| range.map(i64::from)).collect()
}

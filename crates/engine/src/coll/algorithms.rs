//! The tables of all collectives that have one, for those who want to prefer an algorithm.

use super::{allgather, allgatherv, allreduce, alltoall, barrier, bcast};
use super::{gather, reduce, reduce_scatter, scatter, select};

/// The collective and its algorithm of these names, if there are such; `None` for the algorithm stands for none.
pub(crate) fn find_algorithm(
    collective: &str,
    algorithm: Option<&str>,
) -> Option<(&'static str, Option<&'static str>)> {
    let (collective, known) = ALGORITHMS.iter().find(|(name, _)| *name == collective)?;
    match algorithm {
        None => Some((collective, None)),
        Some(wanted) => known().find(|name| *name == wanted).map(|name| (*collective, Some(name))),
    }
}

/// The algorithms of each collective that has several, in the order of its table.
pub(crate) fn algorithms() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALGORITHMS.iter().flat_map(|(collective, known)| known().map(move |name| (*collective, name)))
}

type Names = alloc::boxed::Box<dyn Iterator<Item = &'static str>>;

/// A collective, and the names of its algorithms.
type Table = (&'static str, fn() -> Names);

/// The collectives that have a table.
const ALGORITHMS: &[Table] = &[
    (allgather::NAME, || select::names(allgather::RULES)),
    (allgatherv::NAME, || select::names(allgatherv::RULES)),
    (allreduce::NAME, || select::names(allreduce::RULES)),
    (alltoall::NAME, || select::names(alltoall::RULES)),
    (barrier::NAME, || select::names(barrier::RULES)),
    (bcast::NAME, || select::names(bcast::RULES)),
    (gather::NAME, || select::names(gather::RULES)),
    (reduce::NAME, || select::names(reduce::RULES)),
    (reduce_scatter::NAME, || select::names(reduce_scatter::RULES)),
    (scatter::NAME, || select::names(scatter::RULES)),
];

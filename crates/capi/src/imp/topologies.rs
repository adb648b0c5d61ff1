//! Chapter 8: virtual topologies. What they are is the engine's (`engine::topology`); here they are made, and taken apart again.

use core::ffi::c_int;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use engine::topology::{Cart, DistGraph, Graph, Topology, balanced};
use engine::{Edge, Rank};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Out, Outs, RankArg};
use crate::errors::{Fault, Outcome};
use crate::handles::{Comm, Info};
use crate::imp::comm::deliver;

/// The error of a function that needs another topology.
fn lacks(comm: &Comm, what: &str) -> Fault {
    let text =
        format_args!("comm is {}, which has no {what}, expected a communicator that has", comm.name.borrow());
    Fault::new(MPI_ERR_TOPOLOGY, text)
}

fn cart(comm: &Comm) -> Outcome<&Cart> {
    match comm.comm.topology() {
        Some(Topology::Cart(cart)) => Ok(cart),
        _ => Err(lacks(comm, "Cartesian topology")),
    }
}

fn graph(comm: &Comm) -> Outcome<&Graph> {
    match comm.comm.topology() {
        Some(Topology::Graph(graph)) => Ok(graph),
        _ => Err(lacks(comm, "graph topology")),
    }
}

fn dist_graph(comm: &Comm) -> Outcome<&DistGraph> {
    match comm.comm.topology() {
        Some(Topology::DistGraph(graph)) => Ok(graph),
        _ => Err(lacks(comm, "distributed graph topology")),
    }
}

/// A rank of this communicator, given as a number.
fn member(comm: &Comm, name: &str, given: c_int) -> Outcome<u32> {
    let size = comm.comm.size();
    u32::try_from(given).ok().filter(|rank| *rank < size).ok_or_else(|| {
        Fault::new(MPI_ERR_RANK, format_args!("{name} is {given}, expected a rank from 0 to {}", size - 1))
    })
}

fn neighbor(found: Option<u32>) -> c_int {
    found.map_or(MPI_PROC_NULL, |rank| rank as c_int)
}

pub(crate) fn mpi_topo_test(_: &Call, comm: &Rc<Comm>, status: Out<c_int>) -> Outcome {
    status.set(match comm.comm.topology() {
        Some(Topology::Cart(_)) => MPI_CART,
        Some(Topology::Graph(_)) => MPI_GRAPH,
        Some(Topology::DistGraph(_)) => MPI_DIST_GRAPH,
        None => MPI_UNDEFINED,
    });
    Ok(())
}

pub(crate) fn mpi_dims_create(_: &Call, nnodes: usize, ndims: usize, dims: &[Cell<c_int>]) -> Outcome {
    if nnodes < 1 {
        return Err(Fault::new(MPI_ERR_ARG, format_args!("nnodes is {nnodes}, expected one or more")));
    }
    let nodes = nnodes as i64;
    let mut given = 1_i64;
    for (index, dim) in dims.iter().enumerate() {
        let dim = dim.get();
        if dim < 0 {
            return Err(Fault::new(
                MPI_ERR_DIMS,
                format_args!("dims[{index}] is {dim}, expected zero or more"),
            ));
        }
        given = given.saturating_mul(i64::from(dim.max(1)));
    }
    let open: Vec<usize> = (0..ndims).filter(|index| dims[*index].get() == 0).collect();
    let left = nodes / given;
    if nodes % given != 0 || (open.is_empty() && left != 1) {
        let text =
            format_args!("nnodes is {nnodes}, expected a multiple of the dimensions that are given, {given}");
        return Err(Fault::new(MPI_ERR_DIMS, text));
    }
    for (index, factor) in open.iter().zip(balanced(left as u32, open.len())) {
        dims[*index].set(factor as c_int);
    }
    Ok(())
}

/// A grid, checked against the number of members.
fn grid(comm: &Comm, dims: &[c_int], periods: &[c_int]) -> Outcome<Cart> {
    if let Some(index) = dims.iter().position(|dim| *dim < 1) {
        return Err(Fault::new(
            MPI_ERR_DIMS,
            format_args!("dims[{index}] is {}, expected one or more", dims[index]),
        ));
    }
    let sizes: Vec<u32> = dims.iter().map(|dim| *dim as u32).collect();
    let circles: Vec<bool> = periods.iter().map(|period| *period != 0).collect();
    let size = comm.comm.size();
    Cart::new(&sizes, &circles).filter(|cart| cart.size() <= size).ok_or_else(|| {
        let members = sizes.iter().fold(1, |members: u64, size| members.saturating_mul(u64::from(*size)));
        let text =
            format_args!("dims have {members} members, expected at most the {size} of the communicator");
        Fault::new(MPI_ERR_ARG, text)
    })
}

pub(crate) fn mpi_cart_create(
    call: &Call,
    comm_old: &Rc<Comm>,
    _ndims: usize,
    dims: &[c_int],
    periods: &[c_int],
    _reorder: bool,
    comm_cart: Out<MPI_Comm>,
) -> Outcome {
    comm_cart.set(MPI_COMM_NULL); // Also if it fails.
    let made = call.rank().create_cart(&comm_old.comm, grid(comm_old, dims, periods)?)?;
    deliver(call, comm_old, made, comm_cart);
    Ok(())
}

pub(crate) fn mpi_cart_map(
    _: &Call,
    comm: &Rc<Comm>,
    _ndims: usize,
    dims: &[c_int],
    periods: &[c_int],
    newrank: Out<c_int>,
) -> Outcome {
    let members = grid(comm, dims, periods)?.size();
    newrank.set(if comm.comm.rank() < members { comm.comm.rank() as c_int } else { MPI_UNDEFINED });
    Ok(())
}

pub(crate) fn mpi_cart_sub(
    call: &Call,
    comm: &Rc<Comm>,
    remain_dims: &[c_int],
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    cart(comm)?;
    let remain: Vec<bool> = remain_dims.iter().map(|remains| *remains != 0).collect();
    let made = call.rank().sub_cart(&comm.comm, &remain)?;
    deliver(call, comm, Some(made), newcomm);
    Ok(())
}

pub(crate) fn mpi_cartdim_get(_: &Call, comm: &Rc<Comm>, ndims: Out<c_int>) -> Outcome {
    ndims.set(cart(comm)?.dimensions() as c_int);
    Ok(())
}

pub(crate) fn mpi_cart_get(
    _: &Call,
    comm: &Rc<Comm>,
    maxdims: usize,
    dims: Outs<c_int>,
    periods: Outs<c_int>,
    coords: Outs<c_int>,
) -> Outcome {
    let cart = cart(comm)?;
    room("maxdims", maxdims, cart.dimensions())?;
    for (index, place) in cart.coordinates(comm.comm.rank()).into_iter().enumerate() {
        dims.set(index, cart.dims()[index] as c_int);
        periods.set(index, c_int::from(cart.periods()[index]));
        coords.set(index, place as c_int);
    }
    Ok(())
}

/// Room for as many values as there are.
fn room(name: &str, given: usize, needed: usize) -> Outcome {
    if given >= needed {
        return Ok(());
    }
    Err(Fault::new(MPI_ERR_ARG, format_args!("{name} is {given}, expected at least {needed}")))
}

pub(crate) fn mpi_cart_rank(_: &Call, comm: &Rc<Comm>, coords: &[c_int], rank: Out<c_int>) -> Outcome {
    let cart = cart(comm)?;
    let places: Vec<i64> = coords.iter().map(|place| i64::from(*place)).collect();
    let found = cart.rank(&places).map_err(|index| {
        let last = cart.dims()[index] - 1;
        Fault::new(MPI_ERR_ARG, format_args!("coords[{index}] is {}, expected 0 to {last}", coords[index]))
    })?;
    rank.set(found as c_int);
    Ok(())
}

pub(crate) fn mpi_cart_coords(
    _: &Call,
    comm: &Rc<Comm>,
    rank: RankArg,
    maxdims: usize,
    coords: Outs<c_int>,
) -> Outcome {
    let cart = cart(comm)?;
    room("maxdims", maxdims, cart.dimensions())?;
    let rank = member(comm, "rank", rank.value)?;
    for (index, place) in cart.coordinates(rank).into_iter().enumerate() {
        coords.set(index, place as c_int);
    }
    Ok(())
}

pub(crate) fn mpi_cart_shift(
    _: &Call,
    comm: &Rc<Comm>,
    direction: c_int,
    disp: c_int,
    rank_source: Out<c_int>,
    rank_dest: Out<c_int>,
) -> Outcome {
    let cart = cart(comm)?;
    if !(0..cart.dimensions() as c_int).contains(&direction) {
        let text = format_args!(
            "direction is {direction}, expected one of {} dimensions, from 0",
            cart.dimensions()
        );
        return Err(Fault::new(MPI_ERR_ARG, text));
    }
    let (source, destination) = cart.shift(comm.comm.rank(), direction as usize, i64::from(disp));
    rank_source.set(neighbor(source));
    rank_dest.set(neighbor(destination));
    Ok(())
}

/// A graph, checked. `edges` has as many entries as the last of `index` says.
fn whole_graph(
    call: &Call,
    comm: &Comm,
    nnodes: usize,
    index: &[c_int],
    edges: *const c_int,
) -> Outcome<Graph> {
    let size = comm.comm.size();
    if nnodes > size as usize {
        let text = format_args!("nnodes is {nnodes}, expected at most the {size} of the communicator");
        return Err(Fault::new(MPI_ERR_ARG, text));
    }
    let ends = [&[0], index].concat();
    if let Some(node) = ends.windows(2).position(|pair| pair[1] < pair[0]) {
        let text = format_args!(
            "index[{node}] is {}, expected no less than the one before, {}",
            ends[node + 1],
            ends[node]
        );
        return Err(Fault::new(MPI_ERR_ARG, text));
    }
    let count = index.last().map_or(0, |last| *last as usize);
    // SAFETY: MPI's contract with the caller: as many edges as the last index says.
    let edges = unsafe { call.slice("edges", edges, count) }?;
    if let Some(place) =
        edges.iter().position(|edge| usize::try_from(*edge).map_or(true, |edge| edge >= nnodes))
    {
        let text = format_args!("edges[{place}] is {}, expected one of {nnodes} nodes, from 0", edges[place]);
        return Err(Fault::new(MPI_ERR_ARG, text));
    }
    let unsigned = |numbers: &[c_int]| numbers.iter().map(|number| *number as u32).collect();
    Ok(Graph::new(unsigned(index), unsigned(edges)))
}

pub(crate) fn mpi_graph_create(
    call: &Call,
    comm_old: &Rc<Comm>,
    nnodes: usize,
    index: &[c_int],
    edges: *const c_int,
    _reorder: bool,
    comm_graph: Out<MPI_Comm>,
) -> Outcome {
    let graph = whole_graph(call, comm_old, nnodes, index, edges)?;
    let made = call.rank().create_graph(&comm_old.comm, graph)?;
    deliver(call, comm_old, made, comm_graph);
    Ok(())
}

pub(crate) fn mpi_graph_map(
    call: &Call,
    comm: &Rc<Comm>,
    nnodes: usize,
    index: &[c_int],
    edges: *const c_int,
    newrank: Out<c_int>,
) -> Outcome {
    let members = whole_graph(call, comm, nnodes, index, edges)?.size();
    newrank.set(if comm.comm.rank() < members { comm.comm.rank() as c_int } else { MPI_UNDEFINED });
    Ok(())
}

pub(crate) fn mpi_graphdims_get(
    _: &Call,
    comm: &Rc<Comm>,
    nnodes: Out<c_int>,
    nedges: Out<c_int>,
) -> Outcome {
    let graph = graph(comm)?;
    nnodes.set(graph.size() as c_int);
    nedges.set(graph.edges().len() as c_int);
    Ok(())
}

pub(crate) fn mpi_graph_get(
    _: &Call,
    comm: &Rc<Comm>,
    maxindex: usize,
    maxedges: usize,
    index: Outs<c_int>,
    edges: Outs<c_int>,
) -> Outcome {
    let graph = graph(comm)?;
    room("maxindex", maxindex, graph.index().len())?;
    room("maxedges", maxedges, graph.edges().len())?;
    list(graph.index(), &index);
    list(graph.edges(), &edges);
    Ok(())
}

/// Hands out ranks, or ends of lists of them.
fn list(numbers: &[u32], out: &Outs<c_int>) {
    for (place, number) in numbers.iter().enumerate() {
        out.set(place, *number as c_int);
    }
}

pub(crate) fn mpi_graph_neighbors_count(
    _: &Call,
    comm: &Rc<Comm>,
    rank: RankArg,
    nneighbors: Out<c_int>,
) -> Outcome {
    let graph = graph(comm)?;
    nneighbors.set(graph.neighbors(member(comm, "rank", rank.value)?).len() as c_int);
    Ok(())
}

pub(crate) fn mpi_graph_neighbors(
    _: &Call,
    comm: &Rc<Comm>,
    rank: RankArg,
    maxneighbors: usize,
    neighbors: Outs<c_int>,
) -> Outcome {
    let found = graph(comm)?.neighbors(member(comm, "rank", rank.value)?);
    room("maxneighbors", maxneighbors, found.len())?;
    list(found, &neighbors);
    Ok(())
}

/// Weights as given: nothing for MPI_UNWEIGHTED. MPI_WEIGHTS_EMPTY stands for an array without entries.
fn weights(
    call: &Call,
    name: &'static str,
    given: *const c_int,
    count: usize,
) -> Outcome<Option<Vec<c_int>>> {
    if given == MPI_UNWEIGHTED.cast_const().cast() {
        return Ok(None);
    }
    if given == MPI_WEIGHTS_EMPTY.cast_const().cast() || count == 0 {
        return Ok(Some(Vec::new()));
    }
    // SAFETY: MPI's contract with the caller: a weight for each edge.
    let weights = unsafe { call.slice(name, given, count) }?;
    if let Some(place) = weights.iter().position(|weight| *weight < 0) {
        let text = format_args!("{name}[{place}] is {}, expected zero or more", weights[place]);
        return Err(Fault::new(MPI_ERR_ARG, text));
    }
    Ok(Some(weights.to_vec()))
}

fn members(comm: &Comm, name: &str, ranks: &[c_int]) -> Outcome<Vec<u32>> {
    ranks.iter().enumerate().map(|(place, rank)| member(comm, &format!("{name}[{place}]"), *rank)).collect()
}

/// A number of edges.
fn degree(name: &str, given: c_int) -> Outcome<usize> {
    usize::try_from(given)
        .map_err(|_| Fault::new(MPI_ERR_ARG, format_args!("{name} is {given}, expected zero or more")))
}

pub(crate) fn mpi_dist_graph_create_adjacent(
    call: &Call,
    comm_old: &Rc<Comm>,
    indegree: usize,
    sources: &[c_int],
    sourceweights: *const c_int,
    outdegree: usize,
    destinations: &[c_int],
    destweights: *const c_int,
    _info: Option<Arc<Info>>,
    _reorder: bool,
    comm_dist_graph: Out<MPI_Comm>,
) -> Outcome {
    let incoming = weights(call, "sourceweights", sourceweights, indegree)?;
    let outgoing = weights(call, "destweights", destweights, outdegree)?;
    let graph = DistGraph {
        sources: members(comm_old, "sources", sources)?,
        destinations: members(comm_old, "destinations", destinations)?,
        weights: incoming.zip(outgoing),
    };
    let made = call.rank().create_dist_graph(&comm_old.comm, graph)?;
    deliver(call, comm_old, Some(made), comm_dist_graph);
    Ok(())
}

pub(crate) fn mpi_dist_graph_create(
    call: &Call,
    comm_old: &Rc<Comm>,
    _n: usize,
    sources: &[c_int],
    degrees: &[c_int],
    destinations: *const c_int,
    given: *const c_int,
    _info: Option<Arc<Info>>,
    _reorder: bool,
    comm_dist_graph: Out<MPI_Comm>,
) -> Outcome {
    let degrees: Vec<usize> = degrees
        .iter()
        .enumerate()
        .map(|(place, given)| degree(&format!("degrees[{place}]"), *given))
        .collect::<Outcome<_>>()?;
    let count: usize = degrees.iter().sum();
    // SAFETY: MPI's contract with the caller: as many destinations as the degrees say.
    let destinations =
        members(comm_old, "destinations", unsafe { call.slice("destinations", destinations, count) }?)?;
    let weights = weights(call, "weights", given, count)?;
    let sources = members(comm_old, "sources", sources)?;
    let from =
        sources.iter().zip(&degrees).flat_map(|(source, degree)| std::iter::repeat_n(*source, *degree));
    let edges: Vec<Edge> = from
        .zip(&destinations)
        .enumerate()
        .map(|(place, (source, destination))| {
            let weight = weights.as_ref().and_then(|weights| weights.get(place)).map_or(0, |weight| *weight);
            Edge { source, destination: *destination, weight }
        })
        .collect();
    let rank: &Rank = call.rank();
    let (incoming, outgoing) = rank.distribute_edges(&comm_old.comm, &edges)?;
    let heavy = |edges: &[Edge]| edges.iter().map(|edge| edge.weight).collect::<Vec<_>>();
    let graph = DistGraph {
        sources: incoming.iter().map(|edge| edge.source).collect(),
        destinations: outgoing.iter().map(|edge| edge.destination).collect(),
        weights: weights.is_some().then(|| (heavy(&incoming), heavy(&outgoing))),
    };
    let made = rank.create_dist_graph(&comm_old.comm, graph)?;
    deliver(call, comm_old, Some(made), comm_dist_graph);
    Ok(())
}

pub(crate) fn mpi_dist_graph_neighbors_count(
    _: &Call,
    comm: &Rc<Comm>,
    indegree: Out<c_int>,
    outdegree: Out<c_int>,
    weighted: Out<c_int>,
) -> Outcome {
    let graph = dist_graph(comm)?;
    indegree.set(graph.sources.len() as c_int);
    outdegree.set(graph.destinations.len() as c_int);
    weighted.set(c_int::from(graph.weights.is_some()));
    Ok(())
}

/// Fewer than there are may be asked for (MPI section 8.5.5).
pub(crate) fn mpi_dist_graph_neighbors(
    call: &Call,
    comm: &Rc<Comm>,
    maxindegree: usize,
    sources: Outs<c_int>,
    sourceweights: *mut c_int,
    maxoutdegree: usize,
    destinations: Outs<c_int>,
    destweights: *mut c_int,
) -> Outcome {
    let graph = dist_graph(comm)?;
    let first = |ranks: &[u32], most: usize| ranks[..most.min(ranks.len())].to_vec();
    list(&first(&graph.sources, maxindegree), &sources);
    list(&first(&graph.destinations, maxoutdegree), &destinations);
    let Some((incoming, outgoing)) = &graph.weights else { return Ok(()) };
    for (name, weights, out, most) in [
        ("sourceweights", incoming, sourceweights, maxindegree),
        ("destweights", outgoing, destweights, maxoutdegree),
    ] {
        if [MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY].contains(&out.cast()) {
            continue;
        }
        let count = most.min(weights.len());
        // SAFETY: MPI's contract with the caller: room for a weight of each neighbour that was asked for.
        let out = unsafe { call.outs(name, out, count) }?;
        weights.iter().take(count).enumerate().for_each(|(place, weight)| out.set(place, *weight));
    }
    Ok(())
}

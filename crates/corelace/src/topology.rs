//! Topologies: who is whose neighbour (MPI chapter 8).

use engine::topology::{self, Topology};

use crate::activity::Collective;
use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::kind::{Cartesian, DistributedGraph, Graph, Neighbors, OneGroup};
use crate::raw::collective;

/// An edge of a [distributed graph](Communicator::distributed_graph): messages go from `source` to `destination`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Who sends.
    pub source: usize,
    /// Who receives.
    pub destination: usize,
    /// How much goes there, in a measure of the program's own.
    pub weight: u32,
}

/// How many ranks a grid of `ranks` ranks has in each dimension, as equal as possible (MPI_Dims_create, section 8.5.2). Dimensions that are not 0 are
/// kept.
///
/// ```
/// assert_eq!(corelace::dims_create(12, &[0, 0]).unwrap(), [4, 3]);
/// assert_eq!(corelace::dims_create(12, &[0, 2, 0]).unwrap(), [3, 2, 2]);
/// assert!(corelace::dims_create(12, &[5, 0]).is_err());
/// ```
pub fn dims_create(ranks: usize, given: &[usize]) -> Result<Vec<usize>> {
    let fixed = given.iter().filter(|dim| **dim > 0).try_fold(1usize, |all, dim| all.checked_mul(*dim));
    let free = given.iter().filter(|dim| **dim == 0).count();
    let left = fixed.filter(|fixed| ranks.is_multiple_of(*fixed) && (free > 0 || *fixed == ranks));
    let left = left.and_then(|fixed| u32::try_from(ranks / fixed).ok()).filter(|left| *left > 0);
    let Some(left) = left else {
        return Err(Error::length(format!(
            "{ranks} ranks cannot fill a grid with the dimensions {given:?}, expected dimensions whose product divides it"
        )));
    };
    let mut balanced = topology::balanced(left, free).into_iter();
    Ok(given.iter().map(|dim| if *dim > 0 { *dim } else { balanced.next().unwrap_or(1) as usize }).collect())
}

/// Communicators with a topology. All ranks call these, with the same arguments but for distributed graphs.
impl<'job, K: OneGroup> Communicator<'job, K> {
    /// A grid of as many ranks as its dimensions say, with the last dimension counting fastest; `None` for ranks beyond them (MPI_Cart_create, section 8.5.1).
    /// A dimension that is periodic is a circle.
    ///
    /// ```
    /// corelace::run(6, |world| {
    ///     let grid = world.cartesian(&[2, 3], &[false, true])?.unwrap();
    ///     let [row, column] = grid.coordinates()[..] else { unreachable!() };
    ///     assert_eq!(grid.rank(), 3 * row + column);
    ///     assert_eq!(grid.rank_at(&[1, -1])?, 5);
    ///
    ///     // To send along a row or a column; beyond the edge is nobody.
    ///     let (left, right) = grid.shift(1, 1)?;
    ///     assert_eq!((left, right), (Some(3 * row + (column + 2) % 3), Some(3 * row + (column + 1) % 3)));
    ///     let (above, below) = grid.shift(0, 1)?;
    ///     assert_eq!((above, below), if row == 0 { (None, Some(column + 3)) } else { (Some(column), None) });
    ///     let mut from_above = 100;
    ///     grid.send_recv(&grid.rank(), below, 0, &mut from_above, above, 0)?;
    ///     assert_eq!(from_above, if row == 0 { 100 } else { column });
    ///
    ///     // The rows, each a circle of its own.
    ///     let row = grid.sub(&[false, true])?;
    ///     assert_eq!((row.size(), row.rank(), row.periods()), (3, column, vec![true]));
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn cartesian(
        &self,
        dims: &[usize],
        periodic: &[bool],
    ) -> Result<Option<Communicator<'job, Cartesian>>> {
        if dims.len() != periodic.len() {
            let (dims, periods) = (dims.len(), periodic.len());
            return Err(Error::length(format!(
                "a grid of {dims} dimensions is given with {periods} periods, expected one for each dimension"
            )));
        }
        let sizes: Option<Vec<u32>> = dims.iter().map(|dim| u32::try_from(*dim).ok()).collect();
        let sizes = sizes.filter(|sizes| !sizes.contains(&0));
        let cart = sizes.and_then(|sizes| topology::Cart::new(&sizes, periodic)).ok_or_else(|| {
            Error::length(format!("no grid has the dimensions {dims:?}, expected one or more ranks in each"))
        })?;
        let made = collective::blocking(self.process, Collective::Topology, |rank| {
            rank.create_cart(&self.comm, cart)
        })?;
        Ok(made.map(|made| self.sibling(made)))
    }

    /// A graph that every rank knows: `neighbors[i]` are the neighbours of rank `i`; `None` for ranks beyond the last (MPI_Graph_create, section
    /// 8.5.3).
    ///
    /// ```
    /// corelace::run(4, |world| {
    ///     // A star: rank 0 in the middle.
    ///     let star = world.graph(&[vec![1, 2, 3], vec![0], vec![0], vec![0]])?.unwrap();
    ///     assert_eq!(star.neighbors_of(0)?, [1, 2, 3]);
    ///     let theirs = star.neighbor_allgather(&star.rank())?;
    ///     assert_eq!(theirs, if star.rank() == 0 { vec![1, 2, 3] } else { vec![0] });
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn graph(&self, neighbors: &[Vec<usize>]) -> Result<Option<Communicator<'job, Graph>>> {
        let (mut index, mut edges) = (Vec::new(), Vec::new());
        for around in neighbors {
            edges.extend(numbered(around, neighbors.len())?);
            index.push(edges.len() as u32);
        }
        let graph = topology::Graph::new(index, edges);
        let made = collective::blocking(self.process, Collective::Topology, |rank| {
            rank.create_graph(&self.comm, graph)
        })?;
        Ok(made.map(|made| self.sibling(made)))
    }

    /// A graph of which each rank gives its own edges: from whom it receives, and to whom it sends (MPI_Dist_graph_create_adjacent, section 8.5.4). An
    /// edge is given at both of its ends.
    ///
    /// ```
    /// corelace::run(5, |world| {
    ///     // A circle in one direction.
    ///     let (previous, next) = ((world.rank() + 4) % 5, (world.rank() + 1) % 5);
    ///     let circle = world.distributed_graph_adjacent(&[previous], &[next])?;
    ///     assert_eq!(circle.neighbor_alltoall(&[world.rank()])?, [previous]);
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn distributed_graph_adjacent(
        &self,
        sources: &[usize],
        destinations: &[usize],
    ) -> Result<Communicator<'job, DistributedGraph>> {
        let sources = numbered(sources, self.size())?;
        let destinations = numbered(destinations, self.size())?;
        self.with_edges(topology::DistGraph { sources, destinations, weights: None })
    }

    /// A graph whose edges are given by any ranks, each once (MPI_Dist_graph_create, section 8.5.4).
    ///
    /// ```
    /// use corelace::Edge;
    ///
    /// corelace::run(4, |world| {
    ///     // Rank 0 knows the whole graph: everybody sends to rank 3.
    ///     let edge = |source| Edge { source, destination: 3, weight: 1 };
    ///     let edges: Vec<Edge> = if world.rank() == 0 { (0..3).map(edge).collect() } else { vec![] };
    ///     let graph = world.distributed_graph(&edges)?;
    ///     assert_eq!(graph.sources(), if world.rank() == 3 { vec![0, 1, 2] } else { vec![] });
    ///     assert_eq!(graph.destinations(), if world.rank() == 3 { vec![] } else { vec![3] });
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn distributed_graph(&self, edges: &[Edge]) -> Result<Communicator<'job, DistributedGraph>> {
        let mut given = Vec::with_capacity(edges.len());
        for edge in edges {
            let ends = numbered(&[edge.source, edge.destination], self.size())?;
            let weight = i32::try_from(edge.weight).map_err(|_| {
                Error::length(format!(
                    "an edge has the weight {}, expected at most {}",
                    edge.weight,
                    i32::MAX
                ))
            })?;
            given.push(engine::Edge { source: ends[0], destination: ends[1], weight });
        }
        let (incoming, outgoing) = collective::blocking(self.process, Collective::Topology, |rank| {
            rank.distribute_edges(&self.comm, &given)
        })?;
        let weights = |edges: &[engine::Edge]| edges.iter().map(|edge| edge.weight).collect();
        let graph = topology::DistGraph {
            sources: incoming.iter().map(|edge| edge.source).collect(),
            destinations: outgoing.iter().map(|edge| edge.destination).collect(),
            weights: Some((weights(&incoming), weights(&outgoing))),
        };
        // Of another rank, which may have said anything.
        let known = |rank: &u32| (*rank as usize) < self.size();
        if !graph.sources.iter().chain(&graph.destinations).all(known) {
            return Err(Error::length(String::from(
                "another rank tells of an edge to a rank that does not exist",
            )));
        }
        self.with_edges(graph)
    }

    #[track_caller]
    fn with_edges(&self, graph: topology::DistGraph) -> Result<Communicator<'job, DistributedGraph>> {
        let made = collective::blocking(self.process, Collective::Topology, |rank| {
            rank.create_dist_graph(&self.comm, graph)
        })?;
        Ok(self.sibling(made))
    }
}

/// The neighbours of this rank, in the order of the blocks of neighbourhood collectives.
impl<K: Neighbors> Communicator<'_, K> {
    /// From how many places blocks come, the places beyond the edge of a grid included.
    pub fn indegree(&self) -> usize {
        self.comm.neighbors().map_or(0, |around| around.sources.len())
    }

    /// To how many places blocks go, the places beyond the edge of a grid included.
    pub fn outdegree(&self) -> usize {
        self.comm.neighbors().map_or(0, |around| around.destinations.len())
    }
}

impl<'job> Communicator<'job, Cartesian> {
    /// How many ranks there are in each dimension.
    pub fn dims(&self) -> Vec<usize> {
        self.cart().dims().iter().map(|dim| *dim as usize).collect()
    }

    /// Which dimensions are circles.
    pub fn periods(&self) -> Vec<bool> {
        self.cart().periods().to_vec()
    }

    /// Where this rank is.
    pub fn coordinates(&self) -> Vec<usize> {
        self.place(self.comm.rank())
    }

    /// Where a rank is (MPI_Cart_coords).
    pub fn coordinates_of(&self, rank: usize) -> Result<Vec<usize>> {
        Ok(self.place(numbered(&[rank], self.size())?[0]))
    }

    /// Who is there (MPI_Cart_rank). In a periodic dimension every number is a place.
    pub fn rank_at(&self, coordinates: &[i64]) -> Result<usize> {
        let cart = self.cart();
        if coordinates.len() != cart.dimensions() {
            let (given, expected) = (coordinates.len(), cart.dimensions());
            return Err(Error::length(format!("{given} coordinates are given, expected {expected}")));
        }
        let rank = cart.rank(coordinates).map_err(|dimension| {
            let (given, size) = (coordinates[dimension], cart.dims()[dimension]);
            Error::length(format!(
                "coordinate {dimension} is {given}, expected 0 to {} in a dimension that is no circle",
                size - 1
            ))
        })?;
        Ok(rank as usize)
    }

    /// From whom to receive, and to whom to send, when all ranks shift data by so many steps along a dimension; `None` beyond the edge
    /// (MPI_Cart_shift). Both can be given to sends and receives as they are.
    pub fn shift(&self, dimension: usize, steps: i64) -> Result<(Option<usize>, Option<usize>)> {
        let cart = self.cart();
        if dimension >= cart.dimensions() {
            let dimensions = cart.dimensions();
            return Err(Error::length(format!("dimension is {dimension}, expected one of {dimensions}")));
        }
        let (from, to) = cart.shift(self.comm.rank(), dimension, steps);
        Ok((from.map(|rank| rank as usize), to.map(|rank| rank as usize)))
    }

    /// The grid of the dimensions that remain, of the ranks with the same place in the others (MPI_Cart_sub). All ranks call it.
    #[track_caller]
    pub fn sub(&self, remain: &[bool]) -> Result<Communicator<'job, Cartesian>> {
        let dimensions = self.cart().dimensions();
        if remain.len() != dimensions {
            let given = remain.len();
            return Err(Error::length(format!("{given} dimensions are spoken of, expected {dimensions}")));
        }
        let made =
            collective::blocking(self.process, Collective::Split, |rank| rank.sub_cart(&self.comm, remain))?;
        Ok(self.sibling(made))
    }

    fn place(&self, rank: u32) -> Vec<usize> {
        self.cart().coordinates(rank).into_iter().map(|coordinate| coordinate as usize).collect()
    }

    fn cart(&self) -> &topology::Cart {
        match self.comm.topology() {
            Some(Topology::Cart(cart)) => cart,
            _ => unreachable!("a communicator of this kind has a grid"),
        }
    }
}

impl Communicator<'_, Graph> {
    /// The neighbours of a rank (MPI_Graph_neighbors).
    pub fn neighbors_of(&self, rank: usize) -> Result<Vec<usize>> {
        let rank = numbered(&[rank], self.size())?[0];
        match self.comm.topology() {
            Some(Topology::Graph(graph)) => {
                Ok(graph.neighbors(rank).iter().map(|rank| *rank as usize).collect())
            }
            _ => unreachable!("a communicator of this kind has a graph"),
        }
    }
}

impl Communicator<'_, DistributedGraph> {
    /// From whom this rank receives (MPI_Dist_graph_neighbors).
    pub fn sources(&self) -> Vec<usize> {
        self.edges().sources.iter().map(|rank| *rank as usize).collect()
    }

    /// To whom this rank sends.
    pub fn destinations(&self) -> Vec<usize> {
        self.edges().destinations.iter().map(|rank| *rank as usize).collect()
    }

    /// The weights of the edges from the sources and to the destinations, if the graph was made with weights.
    pub fn weights(&self) -> Option<(Vec<u32>, Vec<u32>)> {
        let unsigned = |weights: &Vec<i32>| weights.iter().map(|weight| weight.unsigned_abs()).collect();
        self.edges().weights.as_ref().map(|(incoming, outgoing)| (unsigned(incoming), unsigned(outgoing)))
    }

    fn edges(&self) -> &topology::DistGraph {
        match self.comm.topology() {
            Some(Topology::DistGraph(graph)) => graph,
            _ => unreachable!("a communicator of this kind has a graph"),
        }
    }
}

/// Checks ranks of a communicator of this size.
fn numbered(ranks: &[usize], size: usize) -> Result<Vec<u32>> {
    let check = |rank: &usize| match *rank < size {
        true => Ok(*rank as u32),
        false => Err(Error::from(engine::Error::Rank {
            role: "neighbour",
            given: crate::address::number(*rank),
            size: size as u32,
        })),
    };
    ranks.iter().map(check).collect()
}

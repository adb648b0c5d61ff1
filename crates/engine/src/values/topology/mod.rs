//! Virtual topologies (MPI chapter 8): who is whose neighbour, as values. What a communicator's members do with it is in `coll/neighbor`.

mod cart;
mod dims;
mod graph;

use alloc::vec::Vec;

pub use cart::Cart;
pub use dims::balanced;
pub use graph::{DistGraph, Graph};

/// The topology of a communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Topology {
    /// A grid.
    Cart(Cart),
    /// A graph that every member knows.
    Graph(Graph),
    /// A graph of which every member knows its own edges.
    DistGraph(DistGraph),
}

/// A member to exchange with, or nobody: beyond the edge of a grid.
pub type Neighbor = Option<u32>;

/// With whom a member exchanges, in the order in which the buffers of neighbourhood collectives are laid out (MPI section 8.6).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Neighbors {
    /// From whom it receives.
    pub sources: Vec<Neighbor>,
    /// To whom it sends.
    pub destinations: Vec<Neighbor>,
    /// Which of the messages between the same two members belong together: the message to destination `i` is the one that its
    /// receiver expects from source `pairing(i)`.
    pub pairing: Pairing,
}

/// How the messages between the same two members find each other.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Pairing {
    /// The first with the first, the second with the second.
    #[default]
    InOrder,
    /// What goes down a dimension comes from above: place 2d with place 2d + 1, and the other way round.
    Opposite,
}

impl Topology {
    /// With whom this member exchanges.
    pub fn neighbors(&self, rank: u32) -> Neighbors {
        match self {
            Topology::Cart(cart) => {
                let around = cart.neighbors(rank);
                Neighbors { sources: around.clone(), destinations: around, pairing: Pairing::Opposite }
            }
            Topology::Graph(graph) => {
                let around: Vec<Neighbor> = graph.neighbors(rank).iter().map(|other| Some(*other)).collect();
                Neighbors { sources: around.clone(), destinations: around, pairing: Pairing::InOrder }
            }
            Topology::DistGraph(graph) => Neighbors {
                sources: graph.sources.iter().map(|other| Some(*other)).collect(),
                destinations: graph.destinations.iter().map(|other| Some(*other)).collect(),
                pairing: Pairing::InOrder,
            },
        }
    }
}

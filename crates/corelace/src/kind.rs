//! The kinds of communicators, as types: what can be done with one depends on its kind.

use crate::communicator::Communicator;

/// What kind of communicator one is: [`Intra`], [`Inter`], or one with a topology ([`Cartesian`], [`Graph`], [`DistributedGraph`]).
pub trait Kind: private::Sealed {}

/// Kinds with one group of ranks: all but [`Inter`].
pub trait OneGroup: Kind {}

/// Kinds with a topology, in which ranks have neighbours (MPI chapter 8).
pub trait Neighbors: OneGroup {}

mod private {
    pub trait Sealed {}
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident: $($trait:ident),*;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub enum $name {}

            impl private::Sealed for $name {}
            impl Kind for $name {}
            $(impl $trait for $name {})*
        )*
    };
}

kinds! {
    /// One group of ranks, without a topology.
    Intra: OneGroup;
    /// Two groups; messages and collectives go from one to the other (MPI section 7.6).
    Inter:;
    /// A grid (MPI section 8.5.1).
    Cartesian: OneGroup, Neighbors;
    /// A graph that every rank knows (MPI section 8.5.3).
    Graph: OneGroup, Neighbors;
    /// A graph of which each rank knows its own edges (MPI section 8.5.4).
    DistributedGraph: OneGroup, Neighbors;
}

/// A communicator between two groups.
pub type Intercommunicator<'job> = Communicator<'job, Inter>;
/// A communicator whose ranks are the places of a grid.
pub type CartesianCommunicator<'job> = Communicator<'job, Cartesian>;
/// A communicator whose ranks are the nodes of a graph that all of them know.
pub type GraphCommunicator<'job> = Communicator<'job, Graph>;
/// A communicator whose ranks are the nodes of a graph of which each knows its own edges.
pub type DistributedGraphCommunicator<'job> = Communicator<'job, DistributedGraph>;

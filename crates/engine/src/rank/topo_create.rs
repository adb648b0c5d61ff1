//! Creating communicators with a topology (MPI section 8.5). Ranks keep their order: this library has no better one.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

use crate::coll::alltoallv;
use crate::rank::Rank;
use crate::schedule::{Builder, Next, Step};
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::memory::Region;
use crate::values::topology::{Cart, DistGraph, Graph, Topology};

/// An edge of a graph that is given in parts: from whom, to whom, and how heavy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Who sends.
    pub source: u32,
    /// Who receives.
    pub destination: u32,
    /// Its weight.
    pub weight: i32,
}

/// What those who watch call the schedules of this file.
const EXCHANGE: &str = "topo_create";

/// Bytes of an edge in a message.
const EDGE: usize = 12;

impl Rank {
    /// A communicator of the members that fit into a grid; `None` for the others. Collective over `comm`.
    pub fn create_cart(&self, comm: &Comm, cart: Cart) -> Result<Option<Comm>> {
        let members = cart.size();
        self.create_with(comm, members, Topology::Cart(cart))
    }

    /// A communicator of the members that a graph has; `None` for the others. Collective over `comm`.
    pub fn create_graph(&self, comm: &Comm, graph: Graph) -> Result<Option<Comm>> {
        let members = graph.size();
        self.create_with(comm, members, Topology::Graph(graph))
    }

    /// A communicator of all members, each of which knows its own edges. Collective over `comm`.
    pub fn create_dist_graph(&self, comm: &Comm, graph: DistGraph) -> Result<Comm> {
        let made = self.create_with(comm, comm.size(), Topology::DistGraph(graph))?;
        made.ok_or(Error::Internal { reason: "a graph of all members leaves one out" })
    }

    /// The grids of the dimensions that remain (MPI_Cart_sub). Collective over `comm`, which has a grid.
    pub fn sub_cart(&self, comm: &Comm, remain: &[bool]) -> Result<Comm> {
        let Some(Topology::Cart(cart)) = comm.topology() else {
            return Err(Error::Topology { expected: "a grid" });
        };
        let (grid, which, place) = cart.sub(comm.rank(), remain);
        let made = self.split(comm, Some(which), place as i32)?;
        let made = made.ok_or(Error::Internal { reason: "a part of a grid leaves a member out" })?;
        made.set_topology(Topology::Cart(grid));
        Ok(made)
    }

    fn create_with(&self, comm: &Comm, members: u32, topology: Topology) -> Result<Option<Comm>> {
        comm.intra()?;
        if members > comm.size() {
            return Err(Error::Argument {
                reason: "a topology has more members than the communicator",
                given: i64::from(members),
            });
        }
        let made = self.split(comm, (comm.rank() < members).then_some(0), comm.rank() as i32)?;
        if let Some(made) = &made {
            made.set_topology(topology);
        }
        Ok(made)
    }

    /// Brings the edges of a graph, of which each member gives any, to the members at their ends (MPI_Dist_graph_create). Edges between the
    /// same two members are in one order at both. Collective over `comm`.
    pub fn distribute_edges(&self, comm: &Comm, edges: &[Edge]) -> Result<(Vec<Edge>, Vec<Edge>)> {
        let incoming = self.deal_edges(comm, edges, |edge| edge.destination)?;
        let outgoing = self.deal_edges(comm, edges, |edge| edge.source)?;
        Ok((incoming, outgoing))
    }

    /// Sends each edge to one member; gives what has come, by who gave it.
    fn deal_edges(&self, comm: &Comm, edges: &[Edge], to: fn(&Edge) -> u32) -> Result<Vec<Edge>> {
        comm.intra()?;
        let members = comm.size() as usize;
        let mut leaving: Vec<Vec<u8>> = alloc::vec![Vec::new(); members];
        for edge in edges {
            for number in [edge.source, edge.destination, edge.weight as u32] {
                leaving[to(edge) as usize].extend_from_slice(&number.to_le_bytes());
            }
        }
        let lengths: Vec<u64> = leaving.iter().map(|bytes| bytes.len() as u64).collect();
        let told: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
        let each = alloc::vec![8; members];
        let coming = self.exchange_bytes(comm, &told, &each, &each)?;
        let coming: Vec<u64> = coming
            .chunks_exact(8)
            .map(|bytes| u64::from(word(bytes)) | u64::from(word(&bytes[4..])) << 32)
            .collect();
        let bytes = self.exchange_bytes(comm, &leaving.concat(), &lengths, &coming)?;
        let edge = |bytes: &[u8]| Edge {
            source: word(bytes),
            destination: word(&bytes[4..]),
            weight: word(&bytes[8..]) as i32,
        };
        Ok(bytes.chunks_exact(EDGE).map(edge).collect())
    }

    /// Sends a part of some bytes to each member, and gives the parts that have come from each.
    fn exchange_bytes(&self, comm: &Comm, bytes: &[u8], sent: &[u64], received: &[u64]) -> Result<Vec<u8>> {
        let mut b = Builder::new(self.shop(), comm, EXCHANGE);
        let leaving = b.scratch_bytes(bytes.len() as u64)?;
        leaving.store(bytes);
        let total: u64 = received.iter().sum();
        let all = b.scratch_bytes(total)?;
        let (sources, targets) = (parts(&leaving, sent), parts(&all, received));
        alltoallv::exchange(
            &mut b,
            alltoallv::WINDOW,
            |member| sources[member as usize].clone(),
            |member| targets[member as usize].clone(),
        );
        b.wait();
        // The scratch memory goes when the schedule is done, so its last step takes the contents out.
        let result = Rc::new(RefCell::new(alloc::vec![0; total as usize]));
        let taken = result.clone();
        b.push(Step::Call(Rc::new(move |_| {
            all.load(&mut taken.borrow_mut());
            Ok(Next::Step)
        })));
        self.lane.run(b.finish())?;
        Ok(result.take())
    }
}

/// Pieces of these lengths, one behind the other.
fn parts(whole: &Region, lengths: &[u64]) -> Vec<Region> {
    let mut start = 0;
    let mut parts = Vec::with_capacity(lengths.len());
    for length in lengths {
        parts.push(whole.elements(start, *length));
        start += length;
    }
    parts
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

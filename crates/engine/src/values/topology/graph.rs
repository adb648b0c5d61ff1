//! Graphs (MPI sections 8.5.3 and 8.5.4).

use alloc::vec::Vec;

/// A graph that every member knows whole: the edges of all members, one behind the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// Where the edges of each member end.
    index: Vec<u32>,
    edges: Vec<u32>,
}

impl Graph {
    /// Member `i` has the edges from `index[i - 1]` on, up to `index[i]`.
    ///
    /// # Panics
    /// If the ends are not in order, or the last is not that of the edges.
    pub fn new(index: Vec<u32>, edges: Vec<u32>) -> Graph {
        assert!(index.is_sorted() && index.last().copied().unwrap_or(0) as usize == edges.len());
        Graph { index, edges }
    }

    /// Members.
    pub fn size(&self) -> u32 {
        self.index.len() as u32
    }

    /// Where the edges of each member end.
    pub fn index(&self) -> &[u32] {
        &self.index
    }

    /// All edges.
    pub fn edges(&self) -> &[u32] {
        &self.edges
    }

    /// The neighbours of a member.
    pub fn neighbors(&self, rank: u32) -> &[u32] {
        let rank = rank as usize;
        let start = rank.checked_sub(1).map_or(0, |before| self.index[before]);
        &self.edges[start as usize..self.index[rank] as usize]
    }
}

/// What one member knows of a graph: its own edges, with weights where the program gave some.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DistGraph {
    /// Who sends to this member.
    pub sources: Vec<u32>,
    /// To whom this member sends.
    pub destinations: Vec<u32>,
    /// A weight for each source and each destination.
    pub weights: Option<(Vec<i32>, Vec<i32>)>,
}

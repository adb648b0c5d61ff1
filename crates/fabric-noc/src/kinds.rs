//! Kinds of memory, by address: global, which other ranks of a cluster and the network reach, and local, from where data is copied to
//! global memory first, and to where it is copied at last. What a message costs follows from where its two ends are:
//!
//! ```text
//! inside a cluster   local  -> (sender) global -> (receiver) local      2 copies
//!                    global -> (sender) global                          1 copy
//! between clusters   local  -> (sender) global -> (network) global -> (receiver) local   3 copies
//!                    global -> (network) global                         1 copy
//! ```
//!
//! Machines with one kind of memory have none of this: everything is global, and a copy inside a cluster costs what the software says.

use sim::chip::{CopyLaw, Memories};

use crate::noc::NocFabric;
use crate::state::State;

/// Which memory is global, and what copies cost.
#[derive(Clone)]
pub(crate) struct Kinds {
    laws: Memories,
    /// What was said to be global, by the program's allocation and by each window over it, in the order of their first addresses.
    global: Vec<Piece>,
    /// The length of the longest of them.
    longest: usize,
}

/// Memory from an address on, once for each time that it was said to be global.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    base: usize,
    bytes: usize,
}

impl Kinds {
    pub(crate) fn new(laws: Memories) -> Kinds {
        Kinds { laws, global: Vec::new(), longest: 0 }
    }

    fn is_global(&self, address: *const u8) -> bool {
        let at = address.addr();
        let before = self.global.partition_point(|piece| piece.base <= at);
        let mut near = self.global[..before].iter().rev().take_while(|piece| at - piece.base < self.longest);
        near.any(|piece| at - piece.base < piece.bytes)
    }
}

impl State {
    /// Notes that memory is global, or is not any more.
    pub(crate) fn lies_globally(&mut self, base: *const u8, bytes: usize, global: bool) {
        let Some(kinds) = &mut self.kinds else { return };
        let piece = Piece { base: base.addr(), bytes };
        let at = kinds.global.partition_point(|other| *other < piece);
        if global {
            kinds.global.insert(at, piece);
            kinds.longest = kinds.longest.max(bytes);
        } else if kinds.global.get(at) == Some(&piece) {
            kinds.global.remove(at);
        }
    }

    /// The law of copies between local memory and global, if the address is in local memory.
    pub(crate) fn local_law(&self, address: *const u8) -> Option<CopyLaw> {
        let kinds = self.kinds.as_ref()?;
        (!kinds.is_global(address)).then_some(kinds.laws.local)
    }

    /// What the law says for so many bytes; it counts as a copy.
    fn copy(&mut self, rank: u32, law: &CopyLaw, bytes: u64) {
        self.counts.copies += 1;
        self.charge(rank, law.of(bytes));
    }

    /// The rank's core moves bytes out of local memory, if they are there, for the network to take them.
    pub(crate) fn stage(&mut self, rank: u32, from: *const u8, bytes: u64) {
        if self.kinds.is_none() {
            return;
        }
        self.counts.copies += 1;
        if let Some(law) = self.local_law(from) {
            self.copy(rank, &law, bytes);
        }
    }

    /// The rank's core moves bytes that have come for it into its local memory, or out of its system's buffers.
    pub(crate) fn unpack(&mut self, rank: u32, bytes: u64) {
        if !self.desks.is_empty() {
            let copy = self.seat(rank).costs.page_copy.of(bytes);
            return self.charge(rank, copy);
        }
        if let Some(kinds) = self.kinds.as_ref().filter(|_| bytes > 0) {
            let law = kinds.laws.local;
            self.copy(rank, &law, bytes);
        }
    }

    /// A put inside a cluster with kinds of memory: what the sender's core does, and what is left to the receiver's. False if there is one kind.
    pub(crate) fn put_inside(
        &mut self,
        rank: u32,
        to: u32,
        ends: (*const u8, *const u8),
        bytes: u64,
    ) -> bool {
        let Some(kinds) = &self.kinds else { return false };
        let (source, target) = (kinds.is_global(ends.0), kinds.is_global(ends.1));
        let laws = kinds.laws;
        if !source || target {
            let law = if source { laws.global } else { laws.local };
            self.copy(rank, &law, bytes);
        }
        if !target {
            self.seat(rank).owed.push((to, bytes));
        }
        true
    }

    /// Bytes that the receiver of the next letter has to move into its local memory before it acts on it.
    pub(crate) fn owed(&mut self, rank: u32, to: u32) -> u64 {
        let owed = &mut self.seat(rank).owed;
        match owed.iter().position(|(rank, _)| *rank == to) {
            Some(index) => owed.remove(index).1,
            None => 0,
        }
    }
}

impl NocFabric {
    /// The bytes, if they go to local memory, or come in buffers of the system.
    pub(crate) fn to_unpack(&self, target: *const u8, bytes: usize) -> u64 {
        let state = self.board.state.borrow();
        if state.local_law(target).is_some() || !state.desks.is_empty() { bytes as u64 } else { 0 }
    }
}

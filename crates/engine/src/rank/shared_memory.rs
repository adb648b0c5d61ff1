//! Memory for the program (MPI section 9.2), from where messages and windows reach it soonest.

use crate::rank::Rank;
use crate::values::memory::SharedMemory;

impl Rank {
    /// Memory that the other ranks can map, all zero; nothing where any other memory does as well, or there is no more. To be called in the rank's first lane, as
    /// [`free_memory`](Rank::free_memory).
    pub fn allocate_memory(&self, bytes: usize) -> Option<SharedMemory> {
        let helps = self.fabric().caps().maps_shared && self.local().size() > 1;
        if helps { SharedMemory::allocate(self.fabric(), bytes) } else { None }
    }

    /// The program has given it back.
    pub fn free_memory(&self, piece: SharedMemory) {
        piece.release(self.fabric());
    }
}

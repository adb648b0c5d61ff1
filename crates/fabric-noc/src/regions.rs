//! Registered memory: what a network adapter moves by itself has to be registered before. That is dear, and on a card a delegate on the host does it; so a
//! rank keeps the regions that it used last, and memory that lies in one of them costs nothing.
//!
//! Long data of a card may leave from a shadow in the delegate's memory, which is registered like everything else: the card's DMA engine copies it there
//! first, as a whole, and its rank waits for that. The delegate has no part in a message: what it does is counted, and happens once a region.

use fabric::Node;
use sim::{Adapter, Memory, Mover, Place, Server, Transfer};

use crate::cargo::Cargo;
use crate::noc::NocFabric;
use crate::state::State;

/// A region of a rank's memory that the adapter knows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Registered {
    base: usize,
    bytes: usize,
    /// It is the shadow of that memory.
    shadow: bool,
}

impl Registered {
    fn holds(&self, other: &Registered) -> bool {
        let offset = other.base.checked_sub(self.base);
        let inside = offset.is_some_and(|offset| offset + other.bytes <= self.bytes);
        self.shadow == other.shadow && inside
    }
}

impl State {
    /// Makes sure that the adapter knows the memory. What this costs is the delegate's time, or the rank's own where there is none.
    fn register(&mut self, rank: u32, adapter: &Adapter, wanted: Registered) {
        let regions = &mut self.seat(rank).regions;
        if let Some(at) = regions.iter().position(|region| region.holds(&wanted)) {
            // The most recently used one is the first.
            regions[..=at].rotate_right(1);
            self.counts.registered_before += 1;
            return;
        }
        let evicts = regions.len() >= adapter.regions as usize;
        if evicts {
            regions.pop();
        }
        regions.insert(0, wanted);
        self.counts.evictions += u64::from(evicts);
        self.counts.registrations += 1;
        let cost = adapter.registration(wanted.bytes as u64);
        let seat = &self.seats[rank as usize];
        match (seat.delegate, seat.clock) {
            (Some(delegate), clock) => {
                self.seat(rank).clock = self.occupy(Server::Kernel(delegate), delegate, clock, cost);
            }
            (None, _) => self.charge(rank, cost),
        }
    }
}

impl NocFabric {
    /// Registers memory, where an adapter wants that.
    pub(crate) fn register(&self, base: *const u8, bytes: usize) {
        self.register_as(base, bytes, false);
    }

    fn register_as(&self, base: *const u8, bytes: usize, shadow: bool) {
        if let Some(adapter) = self.costs().adapter.filter(|_| bytes > 0) {
            // The delegate's queue must be joined in the order of time.
            self.board.settle(self.me);
            let wanted = Registered { base: base.addr(), bytes, shadow };
            self.board.state.borrow_mut().register(self.me.0, &adapter, wanted);
        }
    }

    /// Makes memory ready to be sent: where it leaves from, if that is not the rank's own place. Then its bytes are in the shadow there.
    pub(crate) fn ready_to_send(&self, base: *const u8, bytes: usize) -> Option<Place> {
        let adapter = self.costs().adapter?;
        let delegate = self.board.state.borrow().seats[self.me.0 as usize].delegate;
        let (Some(shadow), Some(to)) = (adapter.shadow.filter(|shadow| bytes as u64 >= shadow.min), delegate)
        else {
            self.register(base, bytes);
            return None;
        };
        self.register_as(base, bytes, true);
        {
            let mut state = self.board.state.borrow_mut();
            state.charge(self.me.0, shadow.call);
            state.counts.shadowed += bytes as u64;
            let token = state.hold.stow(Cargo::Shadow { rank: self.me.0 });
            let (from, at) = (state.seat(self.me.0).place, state.seat(self.me.0).clock);
            let (from_memory, to_memory) = (Memory::Scratchpad, Memory::Scratchpad);
            let copy = Transfer {
                from,
                to,
                bytes: bytes as u64,
                rows: 1,
                mover: Mover::Dma,
                from_memory,
                to_memory,
                token,
            };
            state.machine.transfer(at, copy);
        }
        self.board.block(self.me);
        Some(to)
    }

    /// The place that shadows of a rank's memory are at.
    pub(crate) fn shadow_of(&self, peer: Node) -> Option<Place> {
        self.board.state.borrow().seats[peer.0 as usize].delegate
    }
}

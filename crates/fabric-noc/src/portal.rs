//! The portal of a chip: between clusters a put by core or DMA engine, inside a cluster a plain copy. The networks can only put: a get from another cluster
//! asks the resource manager there (its system core, where there is none) to put, and atomics are done by it, too. No rank is disturbed by either.
//!
//! The bytes are moved when the machine says that they have landed, so a receiver that looks too early sees what was there before.

use fabric::{
    Atomic, AtomicOp, Audience, Delivery, Fabric, Key, MemoryKind, Mover, Node, Portal, PortalError, Region,
    Shape, Ticket, Word,
};
use ring::transfer;
use sim::chip::Long;
use sim::{Chip, Layout, Memory, Place, Time, Transfer};

use crate::cargo::{Cargo, Carrier, Errand, LETTER_BYTES, Step, Voyage};
use crate::noc::NocFabric;

/// The word of a key that says more of the region.
const MARKS: usize = 3;
/// All ranks reach it: the memory of a window, which is global where there are several kinds.
const TO_ALL: u64 = 1;
/// It is read from its shadow.
const SHADOW: u64 = 2;

impl NocFabric {
    fn is_local(&self, peer: Node) -> bool {
        self.route(peer).same_memory
    }

    /// Time of a copy inside the cluster.
    fn charge_copy(&self, bytes: usize) {
        let costs = self.costs();
        self.charge(costs.copy_call + costs.copy_per_byte.of(bytes as u64));
    }

    fn charge(&self, cost: Time) {
        self.board.state.borrow_mut().charge(self.me.0, cost);
    }

    /// Time of a put inside the cluster: a copy, by the kinds of memory where there are several, or where portals belong to the system, its
    /// copies page by page.
    fn charge_local_put(&self, peer: Node, ends: (*const u8, *const u8), bytes: usize) {
        let costs = self.costs();
        if self.board.state.borrow_mut().put_inside(self.me.0, peer.0, ends, bytes as u64) {
            return;
        }
        if costs.kernel == 0 {
            return self.charge_copy(bytes);
        }
        self.charge(costs.put_core);
        // Page after page: into the system's buffers, out of them, and the word for the next one. The letter that ends the transfer stands for
        // the first write and the first read.
        for (number, page) in pages_of(bytes, costs.page).enumerate() {
            let calls = if number == 0 { 0 } else { 3 };
            self.call_kernel_for(costs.kernel, calls);
            self.call_kernel_for(costs.page_call + 2 * costs.page_copy.of(page), 1);
        }
    }

    /// What the system core does for the pages of a transfer to another cluster: each is written by a call that copies it.
    fn write_pages(&self, bytes: usize) {
        let costs = self.costs();
        if costs.kernel == 0 {
            // There is no system core in the way, and pages may be single bytes.
            return;
        }
        for page in pages_of(bytes, costs.page) {
            self.call_kernel_for(costs.kernel + costs.page_call + costs.page_copy.of(page), 1);
        }
    }

    /// What the receiver of a transfer does for its pages after the first: it allows each, and reads it.
    pub(crate) fn take_pages(&self, pages: u32) {
        self.call_kernel_for(self.costs().kernel, 2 * u64::from(pages.saturating_sub(1)));
    }

    /// The core that acts for the rank pushes bytes into the network. The rank's own is busy until the last has left, however long
    /// the network takes; the agent takes `unhindered` of its time, and the rank goes on meanwhile.
    pub(crate) fn push(&self, unhindered: Time) {
        let began = {
            let mut state = self.board.state.borrow_mut();
            let seat = state.seat(self.me.0);
            if seat.agent.core_clock.is_some() {
                return state.charge(self.me.0, unhindered);
            }
            seat.clock
        };
        self.board.block(self.me);
        let mut state = self.board.state.borrow_mut();
        let seat = state.seat(self.me.0);
        let (place, pushed) = (seat.place, seat.clock - began);
        state.machine.active_from(place, began, pushed);
    }

    /// Puts cargo of so many bytes, in so many pieces, into the books; the transfer from one rank to another that moves it. It needs a ticket.
    pub(crate) fn load(
        &self,
        cargo: Cargo,
        (bytes, rows): (usize, usize),
        (from, to): (u32, u32),
        mover: sim::Mover,
    ) -> Transfer {
        let mut state = self.board.state.borrow_mut();
        let (from, to) = (state.placement.place(from), state.placement.place(to));
        let page = u64::from(state.seat(self.me.0).costs.page);
        state.counts.transfers += 1;
        state.counts.bytes += bytes as u64;
        state.seat(self.me.0).tickets += 1;
        Transfer {
            from,
            to,
            bytes: (bytes as u64).next_multiple_of(page),
            rows: rows as u32,
            mover,
            from_memory: self.board.memory(from),
            to_memory: self.board.memory(to),
            token: state.hold.stow(cargo),
        }
    }

    /// The transfer as it is if its far end lies behind another I/O subsystem than the peer's own.
    fn relocated(&self, mut transfer: Transfer, far: *const u8, is_source: bool) -> Transfer {
        if let Some(place) = self.board.state.borrow().segments.of(far) {
            let end = (place, self.board.memory(place));
            if is_source {
                (transfer.from, transfer.from_memory) = end;
            } else {
                (transfer.to, transfer.to_memory) = end;
            }
        }
        transfer
    }

    /// Hands a transfer to the machine at the rank's clock. `shape` tells where its bytes lie in the memory outside the chip, if they do.
    fn depart(&self, transfer: Transfer, shape: &Shape) {
        let mut state = self.board.state.borrow_mut();
        let at = state.seat(self.me.0).clock;
        state.machine.transfer_in(at, transfer, layout(shape));
    }

    /// Sets up a transfer of this rank's own: whether its core moves the bytes, and how many pages they are.
    fn set_up(&self, bytes: usize, wish: Mover) -> (bool, u64) {
        let by_core = wish != Mover::Dma || !self.board.caps.dma;
        let costs = {
            let mut state = self.board.state.borrow_mut();
            let seat = state.seat(self.me.0);
            let (costs, set_up) = (seat.costs, seat.put_cost(by_core));
            state.charge(self.me.0, set_up);
            costs
        };
        self.write_pages(bytes);
        (by_core, (bytes as u64).div_ceil(u64::from(costs.page)))
    }

    pub(crate) fn mover(&self, by_core: bool) -> sim::Mover {
        if by_core { sim::Mover::Core { per_byte: self.costs().put_per_byte } } else { sim::Mover::Dma }
    }
}

/// The bytes of each page of a transfer; an empty one has one page of nothing.
fn pages_of(bytes: usize, page: u32) -> impl Iterator<Item = u64> {
    let (bytes, page) = (bytes as u64, u64::from(page));
    (0..bytes.div_ceil(page).max(1)).map(move |number| (bytes - number * page).min(page))
}

/// Contiguous pieces of a transfer between two shapes.
fn pieces(one: &Shape, other: &Shape) -> usize {
    if one.is_contiguous() && other.is_contiguous() { 1 } else { one.rows * one.planes }
}

/// Where data of a shape lies in the memory outside the chip. Regions begin where rows of it do.
pub(crate) fn layout(shape: &Shape) -> Layout {
    Layout {
        offset: shape.offset as u64,
        stride: shape.row_stride as u64,
        pieces: shape.rows as u32,
        plane: shape.plane_stride as u64,
    }
}

impl Portal for NocFabric {
    unsafe fn expose(&self, region: Region, to: Audience) -> Result<Key, PortalError> {
        if region.kind != MemoryKind::Host {
            return Err(PortalError::Kind);
        }
        let local = matches!(to, Audience::One(peer) if self.is_local(peer));
        let to_all = matches!(to, Audience::All);
        {
            let mut state = self.board.state.borrow_mut();
            if to_all {
                state.lies_globally(region.base, region.len, true);
            }
            let costs = state.seat(self.me.0).costs;
            state.charge(self.me.0, if local { costs.local_call } else { costs.expose });
        }
        if !local && self.board.state.borrow().desks.is_empty() {
            self.call_kernel();
        }
        let mut key = transfer::key_of(region.base, region.len);
        key.0[MARKS] = if to_all { TO_ALL } else { 0 };
        if !local && region.read_only {
            key.0[MARKS] |= self.ready_to_send(region.base, region.len).map_or(0, |_| SHADOW);
        } else if !local {
            self.register(region.base, region.len);
        }
        Ok(key)
    }

    fn withdraw(&self, key: Key) {
        if key.0[MARKS] & TO_ALL != 0 {
            self.board.state.borrow_mut().lies_globally(transfer::base_of(&key), key.0[1] as usize, false);
        }
    }

    unsafe fn put(
        &self,
        peer: Node,
        local: *const u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        delivery: &Delivery,
    ) -> Result<Ticket, PortalError> {
        let bytes = transfer::check(local_shape, key, remote_shape)?;
        self.board.settle(self.me);
        if self.is_local(peer) {
            assert!(delivery.notice.is_none(), "a notice inside a cluster");
            self.charge_local_put(peer, (local, transfer::base_of(key)), bytes);
            // SAFETY: the caller vouches for the local side and for the key, whose region the shape does not leave; all ranks
            // share one address space.
            unsafe { transfer::copy(local, local_shape, transfer::base_of(key), remote_shape) };
            return Ok(Ticket::DONE);
        }
        let start = local.wrapping_add(local_shape.offset);
        let shadow = self.ready_to_send(start, bytes);
        self.board.state.borrow_mut().stage(self.me.0, local, bytes as u64);
        if let (Some(_), Some(long)) = (delivery.notice, self.costs().long) {
            self.charge(Long::of(Some(long), bytes as u64));
        }
        let (by_core, pages) = self.set_up(bytes, delivery.mover);
        let voyage = Voyage {
            owner: self.me.0,
            peer: peer.0,
            source: local,
            source_shape: *local_shape,
            target: transfer::base_of(key),
            target_shape: *remote_shape,
            notice: delivery.notice,
            pages: pages as u32,
            unpack: self.to_unpack(transfer::base_of(key), bytes),
            carrier: if by_core { Carrier::Core } else { Carrier::Dma },
            done: false,
        };
        let size = (bytes, pieces(local_shape, remote_shape));
        let mut transfer = self.load(Cargo::Transfer(voyage), size, (self.me.0, peer.0), self.mover(by_core));
        transfer.from = shadow.unwrap_or(transfer.from);
        let far = transfer::base_of(key).wrapping_add(remote_shape.offset);
        let transfer = self.relocated(transfer, far, false);
        self.depart(transfer, remote_shape);
        if by_core {
            self.push(self.costs().put_per_byte.of(bytes as u64));
        }
        Ok(Ticket(transfer.token + 1))
    }

    unsafe fn get(
        &self,
        peer: Node,
        local: *mut u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        mover: Mover,
    ) -> Result<Ticket, PortalError> {
        let bytes = transfer::check(local_shape, key, remote_shape)?;
        self.board.settle(self.me);
        if self.is_local(peer) {
            self.charge_copy(bytes);
            // SAFETY: as for a put inside the cluster.
            unsafe { transfer::copy(transfer::base_of(key), remote_shape, local, local_shape) };
            return Ok(Ticket::DONE);
        }
        self.register(local.wrapping_add(local_shape.offset), bytes);
        self.charge(self.costs().get_dma.unwrap_or(self.costs().post));
        self.call_kernel();
        let voyage = Voyage {
            owner: self.me.0,
            peer: peer.0,
            source: transfer::base_of(key),
            source_shape: *remote_shape,
            target: local,
            target_shape: *local_shape,
            notice: None,
            pages: (bytes as u64).div_ceil(u64::from(self.costs().page)) as u32,
            unpack: self.to_unpack(local, bytes),
            carrier: Carrier::Asked,
            done: false,
        };
        let by_core = mover != Mover::Dma || !self.board.caps.dma;
        let size = (bytes, pieces(local_shape, remote_shape));
        let mut transfer = self.load(Cargo::Transfer(voyage), size, (peer.0, self.me.0), self.mover(by_core));
        if key.0[MARKS] & SHADOW != 0 {
            transfer.from = self.shadow_of(peer).unwrap_or(transfer.from);
        }
        let far = transfer::base_of(key).wrapping_add(remote_shape.offset);
        let transfer = self.relocated(transfer, far, true);
        let mut state = self.board.state.borrow_mut();
        state.dispatch(self.me.0, transfer.from, LETTER_BYTES, Cargo::Fetch(transfer));
        Ok(Ticket(transfer.token + 1))
    }

    /// Inside a cluster, a step on its memory at the cost of a local call. To another cluster the networks have no such thing, so it is asked
    /// for: a letter, the step at the owner's place, which costs its resource manager (its system core, where there is none) what taking and
    /// answering a letter does, and a letter back. The owner itself is not disturbed.
    unsafe fn atomic(
        &self,
        peer: Node,
        key: &Key,
        word: Word,
        act: Atomic,
        before: *mut u64,
    ) -> Result<Ticket, PortalError> {
        let place = transfer::check_words(transfer::base_of(key), key.0[1], word, 1)?;
        self.board.settle(self.me);
        let step = Step::One { act, before };
        let errand = Errand { asker: self.me.0, place, width: word.width, step, pushed: false, done: false };
        if self.is_local(peer) {
            self.charge(self.costs().local_call);
            errand.run();
            return Ok(Ticket::DONE);
        }
        // Where accumulates have a law of their own, what asks for one is set up as a put of its operand.
        let costs = self.costs();
        self.charge(if costs.accumulate.is_some() { costs.put_dma } else { costs.post });
        self.call_kernel();
        let mut state = self.board.state.borrow_mut();
        let server = state.placement.place(peer.0);
        let token = state.hold.stow(Cargo::Errand(errand));
        state.seat(self.me.0).tickets += 1;
        state.dispatch(self.me.0, server, LETTER_BYTES, Cargo::Ask { errand: token, server });
        Ok(Ticket(token + 1))
    }

    /// Inside a cluster as one word after the other. To another cluster the operands are put, and whoever does the steps begins when they are there.
    unsafe fn atomic_array(
        &self,
        peer: Node,
        key: &Key,
        first: Word,
        op: AtomicOp,
        operands: *const u8,
        count: usize,
    ) -> Result<Ticket, PortalError> {
        let place = transfer::check_words(transfer::base_of(key), key.0[1], first, count)?;
        self.board.settle(self.me);
        let bytes = count * first.width.bytes();
        let step = Step::Each { op, operands, count };
        let errand =
            |pushed| Errand { asker: self.me.0, place, width: first.width, step, pushed, done: false };
        if self.is_local(peer) {
            self.charge(self.costs().local_call);
            self.charge_copy(bytes);
            errand(false).run();
            return Ok(Ticket::DONE);
        }
        self.board.state.borrow_mut().stage(self.me.0, operands, bytes as u64);
        let wish = if bytes >= self.route(peer).thresholds.dma_min { Mover::Dma } else { Mover::Core };
        let (by_core, _) = self.set_up(bytes, wish);
        let mover = self.mover(by_core);
        let transfer = self.load(Cargo::Errand(errand(by_core)), (bytes, 1), (self.me.0, peer.0), mover);
        self.depart(transfer, &Shape::contiguous(first.offset, bytes));
        if by_core {
            self.push(self.costs().put_per_byte.of(bytes as u64));
        }
        Ok(Ticket(transfer.token + 1))
    }

    fn done(&self, ticket: Ticket) -> Result<bool, PortalError> {
        if ticket == Ticket::DONE {
            return Ok(true);
        }
        self.board.settle(self.me);
        Ok(self.board.state.borrow_mut().claim(ticket.0 - 1))
    }
}

/// The memory that the buffers of ranks at a place are in: an I/O rank owns the DDR of its subsystem.
pub(crate) fn memory_of(chip: &Chip, place: Place) -> Memory {
    match chip.io_at(place) {
        Some(io) if io.ddr.is_some() => Memory::Ddr(place.0 - chip.clusters()),
        _ => Memory::Scratchpad,
    }
}

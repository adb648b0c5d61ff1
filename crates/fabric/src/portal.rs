//! Bulk data: one-sided transfers between a local buffer and a region that a peer has exposed.

use crate::{Atomic, AtomicOp, Audience, Key, Node, Region, Shape, Word};

/// A transfer under way. [`Ticket::DONE`] says that it had finished when the call returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(pub u64);

impl Ticket {
    /// The ticket of a transfer that is already complete.
    pub const DONE: Ticket = Ticket(0);
}

/// Who moves the bytes of a transfer. A wish: a fabric without a DMA engine ([`Caps::dma`](crate::Caps::dma)) has only one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mover {
    /// The core that calls: cheap to start, busy until the last byte.
    #[default]
    Core,
    /// The DMA engine: costs more to start, leaves the core free.
    Dma,
    /// The core that calls, but not before it [asks](Portal::done) for this transfer or one of those that were begun with it: where
    /// [`Caps::gathers`](crate::Caps::gathers) holds, all of them take less time than each alone.
    Together,
}

/// How a put is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delivery {
    /// Who moves the bytes.
    pub mover: Mover,
    /// A letter without payload that the peer polls as one from this node, once all bytes are in place: what a portal's own
    /// end-of-transfer event tells, at no letter's cost. Only where [`Route::notice`](crate::Route::notice) holds. It finds room whatever the mailbox
    /// holds; a letter sent after the ticket is done is polled after it.
    pub notice: Option<crate::Header>,
}

impl Delivery {
    /// By the core, without a notice.
    pub const BY_CORE: Delivery = Delivery { mover: Mover::Core, notice: None };
}

/// Why a transfer was refused. Nothing was moved, or an unspecified part of the destination was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortalError {
    /// This kind of transfer does not work with this peer (see [`Route`](crate::Route)); use letters instead.
    Unreachable,
    /// The shapes of the two sides differ, or one of them leaves its region.
    Shape,
    /// The local side lies in memory that this rank cannot read, or write, as the transfer needs.
    LocalMemory,
    /// The region of the peer lies in memory that cannot be read, or written, as the transfer needs.
    PeerMemory,
    /// The peer is gone.
    PeerLost,
    /// No more regions or transfers can be had now.
    Exhausted,
    /// Memory of this kind cannot be exposed here, or is not what its kind says.
    Kind,
}

/// One-sided transfers.
pub trait Portal {
    /// Makes a region reachable for one peer, or for all nodes, and returns the key to send to them.
    ///
    /// * **Blocks:** never. **Reentrant:** also inside the sink of `poll`.
    /// * **Buffer:** the memory must stay valid, and for a put unread, until [`withdraw`](Portal::withdraw).
    ///
    /// # Safety
    /// The region must be memory of this rank, valid for reads, and for writes if the audience will put.
    unsafe fn expose(&self, region: Region, to: Audience) -> Result<Key, PortalError>;

    /// Ends an exposure. The caller makes sure that no transfer on it is under way.
    fn withdraw(&self, key: Key);

    /// Writes local bytes into the region `key` of `peer`.
    ///
    /// * **Blocks:** never for longer than the copy itself; an engine that has a DMA unit returns at once with a ticket.
    /// * **Buffer:** the local bytes must not change until the ticket is done. The peer learns nothing of the transfer:
    ///   a letter sent after the ticket is done is polled after the data is in place. A notice ([`Delivery::notice`]) tells it.
    /// * **Reentrant:** also inside the sink of `poll`.
    ///
    /// # Safety
    /// `local` must be valid for reads of the whole `local_shape` until the ticket is done, and `key` must name a region
    /// that `peer` still exposes to this node for writing.
    unsafe fn put(
        &self,
        peer: Node,
        local: *const u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        delivery: &Delivery,
    ) -> Result<Ticket, PortalError>;

    /// Reads bytes of the region `key` of `peer` into local memory. As [`put`](Portal::put), the other way round.
    ///
    /// # Safety
    /// `local` must be valid for writes of the whole `local_shape` until the ticket is done, and `key` must name a region
    /// that `peer` still exposes to this node.
    unsafe fn get(
        &self,
        peer: Node,
        local: *mut u8,
        local_shape: &Shape,
        key: &Key,
        remote_shape: &Shape,
        mover: Mover,
    ) -> Result<Ticket, PortalError>;

    /// Reads and changes one word of the region `key` of `peer` as one step that no other atomic of any node comes between, and leaves what was
    /// there before in `before`, unless that is null. Where it works, [`Route::atomics`](crate::Route::atomics) says.
    ///
    /// * **Blocks:** never for longer than the step itself.
    /// * **Order:** atomics of one node on one region take place in the order in which they were begun. Plain loads and stores of the owner are
    ///   atomic with them only if they are atomic themselves.
    /// * **Refused:** a word that does not lie at a multiple of its width, or not in the region, with [`PortalError::Shape`]. By default
    ///   everything, with [`PortalError::Unreachable`].
    /// * **Reentrant:** also inside the sink of `poll`.
    ///
    /// # Safety
    /// `key` must name a region that `peer` exposes to this node for writing; `before` must be null or valid for a write until the ticket is done.
    unsafe fn atomic(
        &self,
        peer: Node,
        key: &Key,
        word: Word,
        act: Atomic,
        before: *mut u64,
    ) -> Result<Ticket, PortalError> {
        let _ = (peer, key, word, act, before);
        Err(PortalError::Unreachable)
    }

    /// As [`atomic`](Portal::atomic) with `op`, for `count` words one after the other, whose operands lie one after the other at `operands`. Each
    /// word is a step of its own. Where it works, [`Route::array_atomics`](crate::Route::array_atomics) says; by default nowhere.
    ///
    /// # Safety
    /// As for `atomic`; `operands` must be valid for reads of `count` words until the ticket is done.
    unsafe fn atomic_array(
        &self,
        peer: Node,
        key: &Key,
        first: Word,
        op: AtomicOp,
        operands: *const u8,
        count: usize,
    ) -> Result<Ticket, PortalError> {
        let _ = (peer, key, first, op, operands, count);
        Err(PortalError::Unreachable)
    }

    /// Remote completion: when the ticket is done, everybody sees what this node has put into memory of `peer` and changed there before this
    /// call. (The ticket of a put says less: that the local buffer is free, and that letters *to this peer* come after the data.) The
    /// default is for fabrics where a transfer that is done is done for all.
    fn flush(&self, peer: Node) -> Result<Ticket, PortalError> {
        let _ = peer;
        Ok(Ticket::DONE)
    }

    /// True once the transfer is complete; or why it never will be. A ticket that has been reported done or failed must not be tested
    /// again, except [`Ticket::DONE`], which always is done.
    fn done(&self, ticket: Ticket) -> Result<bool, PortalError>;
}

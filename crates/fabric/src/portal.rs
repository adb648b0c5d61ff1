//! Bulk data: one-sided transfers between a local buffer and a region that a peer has exposed.

use crate::Node;

/// Names an exposed region. Plain words, so that it can travel inside a letter; made by [`Portal::expose`] on the node that
/// owns the memory and meaningful to its peers only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Key(pub [u64; 2]);

/// Up to three nested dimensions of bytes inside a region: `planes` planes of `rows` rows of `row_bytes` contiguous bytes.
/// The two sides of a transfer may have different strides and offsets, but must have equal counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Where the first byte lies, from the start of the region.
    pub offset: usize,
    /// Contiguous bytes of a row.
    pub row_bytes: usize,
    /// Rows of a plane.
    pub rows: usize,
    /// Bytes from the start of a row to the start of the next.
    pub row_stride: usize,
    /// Planes.
    pub planes: usize,
    /// Bytes from the start of a plane to the start of the next.
    pub plane_stride: usize,
}

impl Shape {
    /// `len` contiguous bytes from `offset` on.
    pub const fn contiguous(offset: usize, len: usize) -> Shape {
        Shape { offset, row_bytes: len, rows: 1, row_stride: len, planes: 1, plane_stride: len }
    }

    /// `rows` rows of `row_bytes` bytes, `row_stride` apart.
    pub const fn rows(offset: usize, row_bytes: usize, rows: usize, row_stride: usize) -> Shape {
        Shape { offset, row_bytes, rows, row_stride, planes: 1, plane_stride: rows * row_stride }
    }

    /// Bytes that a transfer of this shape moves.
    pub const fn bytes(&self) -> usize {
        self.row_bytes * self.rows * self.planes
    }

    /// The first byte past the last one that the shape touches; 0 for an empty shape. `None` if it does not fit in a `usize`.
    pub fn end(&self) -> Option<usize> {
        // Not through `bytes`, which overflows for counts that no region can hold.
        if self.row_bytes == 0 || self.rows == 0 || self.planes == 0 {
            return Some(0);
        }
        let planes = (self.planes - 1).checked_mul(self.plane_stride)?;
        let rows = (self.rows - 1).checked_mul(self.row_stride)?;
        self.offset.checked_add(planes)?.checked_add(rows)?.checked_add(self.row_bytes)
    }

    /// True if both shapes have the same row length and the same numbers of rows and planes.
    pub const fn same_counts(&self, other: &Shape) -> bool {
        self.row_bytes == other.row_bytes && self.rows == other.rows && self.planes == other.planes
    }

    /// True if the bytes lie in one piece.
    pub const fn is_contiguous(&self) -> bool {
        (self.rows <= 1 || self.row_stride == self.row_bytes)
            && (self.planes <= 1 || self.plane_stride == self.rows * self.row_bytes)
    }

    /// Calls `each` with the offset of every row, in order.
    pub fn for_each_row(&self, mut each: impl FnMut(usize)) {
        for plane in 0..self.planes {
            for row in 0..self.rows {
                each(self.offset + plane * self.plane_stride + row * self.row_stride);
            }
        }
    }
}

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
}

/// One-sided transfers.
pub trait Portal {
    /// Makes `len` bytes at `base` reachable for `peer` and returns the key to send to it.
    ///
    /// * **Blocks:** never. **Reentrant:** also inside the sink of `poll`.
    /// * **Buffer:** the memory must stay valid, and for a put unread, until [`withdraw`](Portal::withdraw).
    ///
    /// # Safety
    /// `base..base + len` must be memory of this rank, valid for reads, and for writes if the peer will put.
    unsafe fn expose(&self, base: *mut u8, len: usize, peer: Node) -> Result<Key, PortalError>;

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

    /// True once the transfer is complete; or why it never will be. A ticket that has been reported done or failed must not be tested
    /// again, except [`Ticket::DONE`], which always is done.
    fn done(&self, ticket: Ticket) -> Result<bool, PortalError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_strided_shape_counts_the_last_row_without_its_gap() {
        let shape = Shape { offset: 5, row_bytes: 3, rows: 4, row_stride: 10, planes: 2, plane_stride: 100 };
        assert_eq!(shape.end(), Some(5 + 100 + 30 + 3));
        assert_eq!(shape.bytes(), 24);
        assert!(!shape.is_contiguous());
    }

    #[test]
    fn end_of_a_shape_that_overflows_is_none() {
        let shape = Shape::rows(usize::MAX - 4, 8, 2, 8);
        assert_eq!(shape.end(), None);
    }

    #[test]
    fn empty_shapes_end_at_zero() {
        assert_eq!(Shape::contiguous(7, 0).end(), Some(0));
    }
}

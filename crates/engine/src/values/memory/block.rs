//! A block of an array of this rank, which a transfer reads or writes while the rank goes on.

use core::ptr;

use fabric::{Delivery, Fabric, Key, Mover, Node, PortalError, Shape, Ticket};

use crate::values::memory::place::Near;

/// Rows of bytes in an array of this rank.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    base: *mut u8,
    shape: Shape,
}

impl Block {
    /// # Safety
    /// Until the operation that it is given to is complete, the bytes that the shape names from `base` on are readable and not written, if they are
    /// put; or writable and not used, if they are got.
    pub unsafe fn new(base: *mut u8, shape: Shape) -> Block {
        Block { base, shape }
    }

    /// Its form.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Begins to move it to or from a region of a node, by the DMA engine where there is one.
    pub(crate) fn begin(
        &self,
        fabric: &dyn Fabric,
        (node, key, there): (Node, &Key, &Shape),
        puts: bool,
    ) -> Result<Ticket, PortalError> {
        let mover = if fabric.caps().dma { Mover::Dma } else { Mover::Core };
        let delivery = Delivery { mover, notice: None };
        // SAFETY: the constructor's contract, and that of windows (see `place`).
        unsafe {
            if puts {
                fabric.put(node, self.base, &self.shape, key, there, &delivery)
            } else {
                fabric.get(node, self.base, &self.shape, key, there, mover)
            }
        }
    }

    /// Each of its rows, to be put.
    pub(crate) fn read_rows(&self, mut each: impl FnMut(&[u8])) {
        self.shape.for_each_row(|at| {
            // SAFETY: as above.
            each(unsafe { core::slice::from_raw_parts(self.base.add(at), self.shape.row_bytes) });
        });
    }

    /// Each of its rows, to be filled.
    pub(crate) fn write_rows(&self, mut each: impl FnMut(&mut [u8])) {
        self.shape.for_each_row(|at| {
            // SAFETY: as above.
            each(unsafe { core::slice::from_raw_parts_mut(self.base.add(at), self.shape.row_bytes) });
        });
    }

    /// Copies it to or from rows that this rank addresses.
    pub(crate) fn copy(&self, there: Near, shape: &Shape, puts: bool) {
        let mut places = alloc::vec::Vec::with_capacity(shape.rows * shape.planes);
        shape.for_each_row(|at| places.push(at));
        let mut places = places.into_iter();
        self.shape.for_each_row(|at| {
            let Some(place) = places.next() else { return };
            let (here, there) = (self.base.wrapping_add(at), there.0.wrapping_add(place));
            let (from, to) = if puts { (here, there) } else { (there, here) };
            // SAFETY: as above; `copy` allows the two to overlap.
            unsafe { ptr::copy(from, to, self.shape.row_bytes) };
        });
    }
}

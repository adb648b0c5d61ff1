//! Memory that the steps of a schedule work on: a part of a user's buffer, or of scratch memory.
//!
//! Invariant: a region is made from a buffer whose constructor's caller vouched for it, or from scratch memory that the schedule
//! owns; it lives inside that schedule, which ends before the collective is complete. So using it is safe code. The algorithms
//! see to it that the two regions of a step do not overlap and that no message is under way into or out of memory that a local
//! step touches (a local step waits for all messages started before it).

use core::ptr;

use fabric::{Audience, Delivery, Fabric, Key, MemoryKind, Mover, Node, PortalError, Shape, Ticket};

use crate::values::datatype::{Datatype, Layout};
use crate::values::memory::{Apply, RecvBuffer, SendBuffer};

/// Bytes that go from one layout into another at a time.
const WINDOW: usize = 4096;

/// `count` elements of a datatype.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    base: *mut u8,
    count: u64,
    datatype: Datatype,
}

impl Region {
    pub(in crate::values) fn at(base: *mut u8, count: u64, datatype: &Datatype) -> Region {
        Region { base, count, datatype: datatype.clone() }
    }

    /// No elements.
    pub fn empty(datatype: &Datatype) -> Region {
        Region::at(ptr::null_mut(), 0, datatype)
    }

    /// Bytes of data.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.count * self.datatype.size()
    }

    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// `count` elements from element `first` on, counted from the start of the region; may go past its end where a buffer holds
    /// a block for each member.
    pub fn elements(&self, first: u64, count: u64) -> Region {
        let offset = first as i64 * self.datatype.extent();
        Region { base: self.base.wrapping_offset(offset as isize), count, datatype: self.datatype.clone() }
    }

    /// The block of a member in a buffer that holds one for each, of `self.count()` elements.
    pub fn block(&self, member: u32) -> Region {
        self.elements(u64::from(member) * self.count, self.count)
    }

    /// Several neighbouring blocks.
    pub fn blocks(&self, first: u32, blocks: u32) -> Region {
        self.elements(u64::from(first) * self.count, u64::from(blocks) * self.count)
    }

    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.datatype.layout().is_contiguous()
    }

    /// The same memory as plain bytes, if it lies in one piece. `byte` is the type of one byte.
    pub fn as_bytes(&self, byte: &Datatype) -> Option<Region> {
        self.is_contiguous().then(|| Region::at(self.base, self.bytes(), byte))
    }

    /// The same memory as elements of another type.
    pub fn retyped(&self, count: u64, datatype: &Datatype) -> Region {
        Region::at(self.base, count, datatype)
    }

    /// True if both begin at the same address.
    pub fn same_place(&self, other: &Region) -> bool {
        self.base == other.base
    }

    /// Stores packed bytes from the start on.
    pub fn store(&self, bytes: &[u8]) {
        self.to_receive().unpack(0, bytes);
    }

    /// Loads packed bytes from the start on.
    pub fn load(&self, bytes: &mut [u8]) {
        self.to_send().pack(0, bytes);
    }

    #[inline]
    pub fn to_send(&self) -> SendBuffer {
        // SAFETY: the invariant of this file.
        unsafe { SendBuffer::new(self.base, self.count, &self.datatype) }
    }

    #[inline]
    pub fn to_receive(&self) -> RecvBuffer {
        // SAFETY: the invariant of this file.
        unsafe { RecvBuffer::new(self.base, self.count, &self.datatype) }
    }

    /// Lets the others read it where it lies, in one piece, or write what is theirs of it; until the collective that it belongs to has ended at all members.
    pub fn expose(&self, fabric: &dyn Fabric) -> Result<Key, PortalError> {
        debug_assert!(self.is_contiguous());
        let (base, len) = (self.base, self.bytes() as usize);
        let region = fabric::Region { base, len, kind: MemoryKind::Host, read_only: false };
        // SAFETY: the invariant of this file; others put to it only if it is there to be written, each to a part of its own.
        unsafe { fabric.expose(region, Audience::All) }
    }

    /// Reads bytes from byte `from` on of what a peer has [exposed](Region::expose), as many as this holds in one piece.
    pub fn get(&self, fabric: &dyn Fabric, peer: Node, key: &Key, from: u64) -> Result<Ticket, PortalError> {
        debug_assert!(self.is_contiguous());
        let len = self.bytes() as usize;
        let (local, remote) = (Shape::contiguous(0, len), Shape::contiguous(from as usize, len));
        // SAFETY: the invariant of this file, and the peer keeps its own exposed until all have read it.
        unsafe { fabric.get(peer, self.base, &local, key, &remote, Mover::Core) }
    }

    /// Writes all bytes, which lie in one piece, from byte `from` on of what a peer has [exposed](Region::expose) to be written.
    pub fn put(&self, fabric: &dyn Fabric, peer: Node, key: &Key, from: u64) -> Result<Ticket, PortalError> {
        debug_assert!(self.is_contiguous());
        let len = self.bytes() as usize;
        let (local, remote) = (Shape::contiguous(0, len), Shape::contiguous(from as usize, len));
        // SAFETY: the invariant of this file, and the peer keeps its own exposed until all have written.
        unsafe { fabric.put(peer, self.base, &local, key, &remote, &Delivery::BY_CORE) }
    }

    /// Copies all to memory elsewhere, one byte after the other; `exchanges` is whether another core does [the same the other way](processor::copy_in_bulk).
    ///
    /// # Safety
    /// The memory holds as many bytes, and nobody else uses it.
    #[inline]
    pub(super) unsafe fn copy_out(&self, to: *mut u8, exchanges: bool) {
        let len = self.bytes() as usize;
        if self.is_contiguous() {
            // SAFETY: the invariant of this file, and the caller's.
            unsafe {
                match exchanges {
                    true => processor::copy_in_bulk(self.base, to, len),
                    false => processor::copy(self.base, to, len),
                }
            }
        } else {
            // SAFETY: as the caller says.
            self.to_send().pack(0, unsafe { core::slice::from_raw_parts_mut(to, len) });
        }
    }

    /// The other way round.
    ///
    /// # Safety
    /// The memory holds as many bytes, and nobody writes them.
    #[inline]
    pub(super) unsafe fn copy_in(&self, from: *const u8) {
        let len = self.bytes() as usize;
        if self.is_contiguous() {
            // SAFETY: the invariant of this file, and the caller's.
            unsafe { processor::copy(from, self.base, len) };
        } else {
            // SAFETY: as the caller says.
            self.to_receive().unpack(0, unsafe { core::slice::from_raw_parts(from, len) });
        }
    }

    /// Copies as many bytes as both hold, from one layout into another.
    #[inline]
    pub fn copy_to(&self, target: &Region) {
        let len = self.bytes().min(target.bytes());
        if len == 0 || (self.base == target.base && self.datatype.same(&target.datatype)) {
            return;
        }
        match (self.is_contiguous(), target.is_contiguous()) {
            (true, true) => {
                // SAFETY: the invariant of this file; the two may overlap.
                unsafe { processor::copy_overlapping(self.base, target.base, len as usize) };
            }
            (_, true) => {
                // SAFETY: the invariant of this file: contiguous from `base` on, and nobody else uses it now.
                let into = unsafe { core::slice::from_raw_parts_mut(target.base, len as usize) };
                self.to_send().pack(0, into);
            }
            (true, _) => {
                // SAFETY: as above.
                let from = unsafe { core::slice::from_raw_parts(self.base, len as usize) };
                target.to_receive().unpack(0, from);
            }
            (false, false) if self.overlaps(target) => {
                let mut packed = alloc::vec![0; len as usize];
                self.to_send().pack(0, &mut packed);
                target.to_receive().unpack(0, &packed);
            }
            (false, false) => {
                let (source, target) = (self.to_send(), target.to_receive());
                let mut window = [0; WINDOW];
                for from in (0..len).step_by(WINDOW) {
                    let packed = &mut window[..WINDOW.min((len - from) as usize)];
                    source.pack(from, packed);
                    target.unpack(from, packed);
                }
            }
        }
    }

    /// As [`copy_to`](Region::copy_to), between memory of the program and memory in which members give each other long data, which do not overlap.
    pub fn copy_across_to(&self, target: &Region) {
        self.copy_apart_to(target, processor::copy_across);
    }

    /// The same, where the other member gives [as much at the same time](processor::copy_in_bulk).
    pub fn copy_in_bulk_to(&self, target: &Region) {
        self.copy_apart_to(target, processor::copy_in_bulk);
    }

    #[inline(always)]
    fn copy_apart_to(&self, target: &Region, copy: unsafe fn(*const u8, *mut u8, usize)) {
        if !self.is_contiguous() || !target.is_contiguous() {
            return self.copy_to(target);
        }
        let len = self.bytes().min(target.bytes()) as usize;
        debug_assert!(len as u64 <= self.base.addr().abs_diff(target.base.addr()) as u64);
        // SAFETY: the invariant of this file.
        unsafe { copy(self.base, target.base, len) };
    }

    /// `inout[i] = self[i] op inout[i]`, for the elements that both hold; `how` is for their type.
    #[inline]
    pub fn combine_into(&self, inout: &Region, how: Apply<'_>) {
        let count = self.count.min(inout.count);
        if count == 0 {
            return;
        }
        match how {
            Apply::Kernel(kernel) => {
                let len = (count as i64 * self.datatype.extent()) as usize;
                // SAFETY: the invariant of this file; predefined types lie at their origin, one extent after the other.
                let input = unsafe { core::slice::from_raw_parts(self.base, len) };
                // SAFETY: as above, and the two regions do not overlap.
                let output = unsafe { core::slice::from_raw_parts_mut(inout.base, len) };
                kernel(input, output);
            }
            Apply::User(function) => {
                // SAFETY: the invariant of this file gives what the function may rely on.
                unsafe { function.apply(self.base, inout.base, count, &self.datatype) };
            }
        }
    }

    /// True if the two share memory: the spans from their first to their last byte.
    pub fn overlaps(&self, other: &Region) -> bool {
        if self.bytes() == 0 || other.bytes() == 0 {
            return false;
        }
        let (a, a_end) = self.span();
        let (b, b_end) = other.span();
        a < b_end && b < a_end
    }

    fn span(&self) -> (i64, i64) {
        let (low, high) = span(self.datatype.layout(), self.count);
        let base = self.base as i64;
        (base.wrapping_add(low), base.wrapping_add(high))
    }
}

impl From<&SendBuffer> for Region {
    fn from(buffer: &SendBuffer) -> Region {
        Region::at(buffer.base().cast_mut(), buffer.count(), buffer.datatype())
    }
}

impl From<&RecvBuffer> for Region {
    fn from(buffer: &RecvBuffer) -> Region {
        Region::at(buffer.base(), buffer.count(), buffer.datatype())
    }
}

/// First byte, and one past the last byte, of `count` elements, from their origin.
pub(super) fn span(layout: &Layout, count: u64) -> (i64, i64) {
    if count == 0 {
        return (0, 0);
    }
    let last = (count as i64 - 1) * layout.extent();
    (layout.true_lower_bound() + last.min(0), layout.true_upper_bound() + last.max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::datatype::{Basic, Block};

    #[test]
    fn regions_of_a_type_with_a_negative_bound_overlap_where_their_bytes_do() {
        let layout = Layout::new([Block { offset: -4, len: 4 }, Block { offset: 4, len: 4 }], -4, 12);
        let datatype = Datatype::derived(layout, Some(Basic::I32));
        let mut memory = alloc::vec![0u8; 64];
        let base = memory.as_mut_ptr();
        // SAFETY: only addresses are compared.
        let region = |at: usize, count| {
            // SAFETY: described only, never read or written.
            Region::from(&unsafe { RecvBuffer::new(base.wrapping_add(at), count, &datatype) })
        };
        assert!(region(16, 2).overlaps(&region(24, 1)));
        assert!(!region(4, 1).overlaps(&region(16, 1)));
        assert!(!region(4, 0).overlaps(&region(4, 1)), "no elements, no bytes");
    }
}

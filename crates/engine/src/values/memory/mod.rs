//! User memory as typed values: one of the engine's two rooms with unsafe code. Also memory of other ranks, as windows let this one reach it
//! (`ground`, `far_ground`, `place`, `far_words`).
//!
//! A [`SendBuffer`] or [`RecvBuffer`] is made once, by an unsafe constructor at the API's edge, whose contract is MPI's
//! own: the memory is valid, and left alone, until the operation that it was given to is complete. Everything after that is
//! safe code. Invariant: a buffer value lives no longer than the operation that uses it.

mod block;
pub(crate) mod board;
pub(crate) mod desk;
pub(crate) mod far_ground;
pub(crate) mod far_words;
mod function;
pub(crate) mod ground;
pub(crate) mod groups;
pub(crate) mod hall;
mod lent;
mod lines;
pub(crate) mod long_double;
mod parts;
pub(crate) mod place;
mod region;
pub(crate) mod reuse;
mod scatter;
mod scratch;
mod shared_memory;
pub(crate) mod tried;
pub(crate) mod turns;
#[cfg(target_arch = "x86_64")]
pub(crate) mod wide;
pub(crate) mod words;

/// What [`words`] and [`turns`] are made of.
mod sync {
    pub use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    /// Writes a word before this thread reads any other. An exchange is as good as a fence, and cheaper on the machines of today.
    #[inline]
    pub fn write_in_order(word: &AtomicU32, value: u32) {
        word.swap(value, Ordering::SeqCst);
    }

    /// As [`write_in_order`], for a long one.
    #[inline]
    pub fn write_long_in_order(word: &AtomicU64, value: u64) {
        word.swap(value, Ordering::SeqCst);
    }

    /// The part of a fence that is left to one thread where the other runs a barrier on all cores: the compiler keeps the order.
    #[inline]
    pub fn light_fence() {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
    }

    /// Between a word that was changed and one that is read: nothing, since both operations are in the order of all such.
    #[inline]
    pub fn in_order() {}
}

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ops::Range;

use fabric::{
    Audience, Delivery, Fabric, Key, Landing, MemoryKind, Mover, Multicast, Node, PortalError, Shape, Ticket,
};

use crate::values::datatype::{Basic, Datatype, external};
use crate::values::error::{Error, MOST_BYTES};

pub use block::Block;
pub use function::UserFunction;
pub(crate) use function::{Apply, Kernel};
pub use ground::Exposed;
pub use lent::Lent;
pub use parts::{RecvParts, SendParts};
pub(crate) use region::Region;
use scatter::Way;
pub(crate) use scratch::{Aside, Scratch, Whole};
pub use shared_memory::SharedMemory;

/// Memory to send from: `count` elements of a datatype.
#[derive(Clone, Debug)]
pub struct SendBuffer {
    base: *const u8,
    count: u64,
    bytes: u64,
    datatype: Datatype,
    /// Keeps library-owned memory alive; `base` points into it.
    _owner: Option<Rc<Vec<u8>>>,
}

/// Memory to receive into: `count` elements of a datatype.
#[derive(Clone, Debug)]
pub struct RecvBuffer {
    base: *mut u8,
    count: u64,
    bytes: u64,
    datatype: Datatype,
}

impl SendBuffer {
    /// Describes `count` elements at `base`.
    ///
    /// # Safety
    /// Until the operation that the buffer (or a clone of it) is given to is complete, the bytes that the elements
    /// occupy must be readable and must not be written. `base` may be anything if the elements have no bytes. For a collective
    /// that counts elements per member, "the elements" are those of all members' blocks.
    #[inline]
    pub unsafe fn new(base: *const u8, count: u64, datatype: &Datatype) -> SendBuffer {
        let bytes = bytes_of(count, datatype);
        SendBuffer { base, count, bytes, datatype: datatype.clone(), _owner: None }
    }

    /// Bytes that the library itself holds.
    pub fn owned(bytes: Vec<u8>) -> SendBuffer {
        let owner = Rc::new(bytes);
        SendBuffer {
            base: owner.as_ptr(),
            count: owner.len() as u64,
            bytes: owner.len() as u64,
            datatype: Datatype::basic(Basic::Byte),
            _owner: Some(owner),
        }
    }

    /// Bytes of data.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// An error if the elements have more bytes than there are addresses.
    #[inline]
    pub(crate) fn check(&self) -> crate::values::error::Result<()> {
        if self.bytes <= MOST_BYTES { Ok(()) } else { Err(too_large(self.count, &self.datatype)) }
    }

    /// Elements.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their type.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Where the first element lies.
    pub fn base(&self) -> *const u8 {
        self.base
    }

    /// The bytes, if they lie in one piece.
    #[inline]
    pub(crate) fn contiguous(&self) -> Option<&[u8]> {
        if !self.datatype.layout().is_contiguous() {
            return None;
        }
        let len = self.bytes() as usize;
        if len == 0 {
            return Some(&[]);
        }
        // SAFETY: the constructor's contract: readable and unwritten while the buffer is in use; contiguous from `base` on.
        Some(unsafe { core::slice::from_raw_parts(self.base, len) })
    }

    /// Copies the bytes `from..from + into.len()` of the packed form.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn pack(&self, from: u64, into: &mut [u8]) {
        assert!(from.saturating_add(into.len() as u64) <= self.bytes(), "packed bytes that there are");
        if self.datatype.layout().is_contiguous() {
            // SAFETY: bytes of the elements, which the constructor's caller vouched for; `into` is exclusive.
            unsafe { processor::copy(self.base.add(from as usize), into.as_mut_ptr(), into.len()) };
        } else {
            self.gather(from, into);
        }
    }

    #[inline(never)]
    fn gather(&self, from: u64, into: &mut [u8]) {
        self.datatype.layout().pieces(from, into.len() as u64, |at, piece| {
            // SAFETY: the walk stays within the elements, which the constructor's caller vouched for; `into` is exclusive.
            unsafe {
                let packed = into.as_mut_ptr().add(at as usize);
                scatter::copy(Way::Gather, self.base.cast_mut(), &piece, packed);
            }
        });
    }

    /// Stores all elements in the external representation (MPI section 5.3).
    ///
    /// # Panics
    /// If `into` has another length than they have there.
    pub fn pack_external(&self, into: &mut [u8]) {
        let map = self.datatype.map();
        assert_eq!(into.len() as u64, self.count * map.external_bytes());
        let mut left = into;
        for element in 0..self.count as i64 {
            map.each_row(element * self.datatype.extent(), &mut |basic, first, copies, stride| {
                for copy in 0..copies as i64 {
                    let place = self.base.wrapping_offset((first + copy * stride) as isize);
                    // SAFETY: the map lists elements of the buffer, which the constructor's caller vouched for.
                    let native = unsafe { core::slice::from_raw_parts(place, basic.size() as usize) };
                    let (next, rest) =
                        core::mem::take(&mut left).split_at_mut(external::size(basic) as usize);
                    external::write(basic, native, next);
                    left = rest;
                }
            });
        }
    }

    /// The packed form in memory of the library's own.
    pub(crate) fn packed(&self) -> Vec<u8> {
        match self.contiguous() {
            Some(bytes) => bytes.to_vec(),
            None => {
                let mut bytes = alloc::vec![0; self.bytes() as usize];
                self.pack(0, &mut bytes);
                bytes
            }
        }
    }

    /// Exposes contiguous memory for a peer's get, if it is of this kind.
    pub(crate) fn expose(
        &self,
        fabric: &dyn Fabric,
        peer: Node,
        kind: MemoryKind,
    ) -> Result<Key, PortalError> {
        debug_assert!(self.datatype.layout().is_contiguous());
        let (base, len) = (self.base.cast_mut(), self.bytes() as usize);
        let region = fabric::Region { base, len, kind, read_only: true };
        // SAFETY: readable until the operation is complete, and the exposure ends before that. Peers only get from it.
        unsafe { fabric.expose(region, Audience::One(peer)) }
    }

    /// Writes a part of contiguous memory into the same place of a region that a peer exposed for this message.
    pub(crate) fn put(
        &self,
        fabric: &dyn Fabric,
        peer: Node,
        key: &Key,
        part: Range<u64>,
        delivery: &Delivery,
    ) -> Result<Ticket, PortalError> {
        debug_assert!(self.datatype.layout().is_contiguous() && part.end <= self.bytes());
        let shape = Shape::contiguous(part.start as usize, (part.end - part.start) as usize);
        // SAFETY: readable until the operation is complete, which waits for the ticket; the peer keeps the region exposed
        // until it is told that the put is done.
        unsafe { fabric.put(peer, self.base, &shape, key, &shape, delivery) }
    }

    /// Writes contiguous memory into the regions that several peers have exposed for this message.
    pub(crate) fn multicast(
        &self,
        multicast: &dyn Multicast,
        to: &[Landing],
        mover: Mover,
    ) -> Result<Ticket, PortalError> {
        debug_assert!(self.datatype.layout().is_contiguous());
        // SAFETY: as for `put`.
        unsafe { multicast.put(to, self.base, self.bytes() as usize, mover) }
    }
}

/// Copies bytes: the fewest that are worth a message by two moves instead of a call.
///
/// # Safety
/// As of [`ptr::copy_nonoverlapping`].
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    const WORD: usize = size_of::<u64>();
    // SAFETY: both words lie within the bytes, of which there are at least one word and at most two; the rest is the caller's promise.
    unsafe {
        if (WORD..=2 * WORD).contains(&length) {
            let first = from.cast::<u64>().read_unaligned();
            let last = from.add(length - WORD).cast::<u64>().read_unaligned();
            to.cast::<u64>().write_unaligned(first);
            to.add(length - WORD).cast::<u64>().write_unaligned(last);
        } else {
            processor::copy(from, to, length);
        }
    }
}

impl RecvBuffer {
    /// Describes `count` elements at `base`.
    ///
    /// # Safety
    /// Until the operation that the buffer (or a clone of it) is given to is complete, the bytes that the elements
    /// occupy must be writable and must be neither read nor written by others. `base` may be anything if the elements have
    /// no bytes. For a collective that counts elements per member, "the elements" are those of all members' blocks.
    #[inline]
    pub unsafe fn new(base: *mut u8, count: u64, datatype: &Datatype) -> RecvBuffer {
        RecvBuffer { base, count, bytes: bytes_of(count, datatype), datatype: datatype.clone() }
    }

    /// Bytes of data that fit.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// An error if the elements have more bytes than there are addresses.
    #[inline]
    pub(crate) fn check(&self) -> crate::values::error::Result<()> {
        if self.bytes <= MOST_BYTES { Ok(()) } else { Err(too_large(self.count, &self.datatype)) }
    }

    /// Elements.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their type.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Where the first element lies.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    #[inline]
    pub(crate) fn is_contiguous(&self) -> bool {
        self.datatype.layout().is_contiguous()
    }

    /// True if it lies in one piece and its type is never freed: then there is nothing to drop.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.datatype.is_kept() && self.is_contiguous()
    }

    /// Lets somebody write the first bytes of a buffer that lies in one piece.
    pub(crate) fn fill<T>(&self, len: usize, write: impl FnOnce(&mut [u8]) -> T) -> T {
        assert!(self.is_contiguous() && len as u64 <= self.bytes());
        if len == 0 {
            return write(&mut []);
        }
        // SAFETY: the constructor's contract: nobody else uses the bytes until the operation is complete.
        write(unsafe { core::slice::from_raw_parts_mut(self.base, len) })
    }

    /// The packed form of what the buffer holds now.
    pub(crate) fn copied(&self) -> Vec<u8> {
        // SAFETY: writable memory is readable, and nothing else uses it until the operation begins.
        unsafe { SendBuffer::new(self.base, self.count, &self.datatype) }.packed()
    }

    /// Stores `bytes` as the bytes `from..` of the packed form.
    ///
    /// # Panics
    /// If there is room for fewer.
    #[inline]
    pub fn unpack(&self, from: u64, bytes: &[u8]) {
        self.assert_room(from, bytes);
        if self.is_contiguous() {
            // SAFETY: bytes of the elements, which the constructor's caller vouched for and nobody else uses until the operation is
            // complete.
            unsafe { copy(bytes.as_ptr(), self.base.add(from as usize), bytes.len()) };
        } else {
            self.scatter(from, bytes);
        }
    }

    /// As [`unpack`](RecvBuffer::unpack), of bytes of a long message that another core has just written.
    ///
    /// # Panics
    /// As it does.
    pub fn unpack_across(&self, from: u64, bytes: &[u8]) {
        if !self.is_contiguous() {
            return self.unpack(from, bytes);
        }
        self.assert_room(from, bytes);
        // SAFETY: as there.
        unsafe { processor::copy_across(bytes.as_ptr(), self.base.add(from as usize), bytes.len()) };
    }

    #[inline(always)]
    fn assert_room(&self, from: u64, bytes: &[u8]) {
        assert!(
            from.saturating_add(bytes.len() as u64) <= self.bytes(),
            "packed bytes that there is room for"
        );
    }

    #[inline(never)]
    fn scatter(&self, from: u64, bytes: &[u8]) {
        self.datatype.layout().pieces(from, bytes.len() as u64, |at, piece| {
            // SAFETY: the walk stays within the elements, which the constructor's caller vouched for, and nobody else
            // uses them until the operation is complete. The packed side is only read.
            unsafe {
                let packed = bytes.as_ptr().add(at as usize).cast_mut();
                scatter::copy(Way::Scatter, self.base, &piece, packed);
            }
        });
    }

    /// Loads elements from the external representation (MPI section 5.3), as many whole basic ones as the bytes are; how many bytes they have here.
    ///
    /// # Panics
    /// If there is room for fewer.
    pub fn unpack_external(&self, bytes: &[u8]) -> u64 {
        let map = self.datatype.map();
        assert!(bytes.len() as u64 <= self.count * map.external_bytes());
        let (mut left, mut loaded) = (bytes, 0);
        for element in 0..self.count as i64 {
            if left.is_empty() {
                break;
            }
            map.each_row(element * self.datatype.extent(), &mut |basic, first, copies, stride| {
                for copy in 0..copies as i64 {
                    let Some((next, rest)) = left.split_at_checked(external::size(basic) as usize) else {
                        left = &[];
                        return;
                    };
                    let place = self.base.wrapping_offset((first + copy * stride) as isize);
                    // SAFETY: the map lists elements of the buffer, which the constructor's caller vouched for and nobody else uses
                    // until the operation is complete.
                    let native = unsafe { core::slice::from_raw_parts_mut(place, basic.size() as usize) };
                    external::read(basic, next, native);
                    left = rest;
                    loaded += basic.size();
                }
            });
        }
        loaded
    }

    /// Exposes contiguous memory for a peer's put.
    pub(crate) fn expose(&self, fabric: &dyn Fabric, peer: Node) -> Result<Key, PortalError> {
        debug_assert!(self.is_contiguous());
        // SAFETY: writable and unused by others until the operation is complete, and the exposure ends before that.
        unsafe { fabric.expose(fabric::Region::host(self.base, self.bytes() as usize), Audience::One(peer)) }
    }

    /// Reads a part of a region that a peer exposed for this message into the same place of contiguous memory.
    pub(crate) fn get(
        &self,
        fabric: &dyn Fabric,
        peer: Node,
        key: &Key,
        part: Range<u64>,
        mover: Mover,
    ) -> Result<Ticket, PortalError> {
        debug_assert!(self.is_contiguous() && part.end <= self.bytes());
        let shape = Shape::contiguous(part.start as usize, (part.end - part.start) as usize);
        // SAFETY: writable until the operation is complete, which waits for the ticket; the peer keeps the region exposed
        // until it is told that the get is done.
        unsafe { fabric.get(peer, self.base, &shape, key, &shape, mover) }
    }
}

/// What is too large is refused by `check`; until then it must not look small.
#[inline]
fn bytes_of(count: u64, datatype: &Datatype) -> u64 {
    count.saturating_mul(datatype.size())
}

#[cold]
fn too_large(count: u64, datatype: &Datatype) -> Error {
    Error::Size { count, size: datatype.size() }
}

/// Memory of the library's own that a transfer fills: unpacked into the user's buffer when it is complete.
#[derive(Debug)]
pub(crate) struct Staging(Vec<u8>);

impl Staging {
    pub fn new(len: usize) -> Staging {
        Staging(alloc::vec![0; len])
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// As [`RecvBuffer::get`]. The caller keeps the staging memory until the ticket is done.
    pub fn get(
        &mut self,
        fabric: &dyn Fabric,
        peer: Node,
        key: &Key,
        mover: Mover,
    ) -> Result<Ticket, PortalError> {
        let shape = Shape::contiguous(0, self.0.len());
        // SAFETY: the vector is not resized or moved out of while the transfer is under way.
        unsafe { fabric.get(peer, self.0.as_mut_ptr(), &shape, key, &shape, mover) }
    }

    /// Fills the first `len` bytes from a place of a region that a peer has exposed for that, and waits for it: for regions that the core itself reaches.
    pub fn fill_now(&mut self, fabric: &dyn Fabric, peer: Node, key: &Key, at: usize, len: usize) -> bool {
        let (local, remote) = (Shape::contiguous(0, len), Shape::contiguous(at, len));
        if len > self.0.len() {
            return false;
        }
        // SAFETY: the vector has the room, and is not touched until the transfer is done.
        let started = unsafe { fabric.get(peer, self.0.as_mut_ptr(), &local, key, &remote, Mover::Core) };
        let Ok(ticket) = started else { return false };
        loop {
            match if ticket == Ticket::DONE { Ok(true) } else { fabric.done(ticket) } {
                Ok(false) => core::hint::spin_loop(),
                ended => return ended.is_ok(),
            }
        }
    }

    /// As [`RecvBuffer::expose`]. The caller keeps the staging memory until the exposure is withdrawn.
    pub fn expose(&mut self, fabric: &dyn Fabric, peer: Node) -> Result<Key, PortalError> {
        // SAFETY: the vector is not resized, read or moved out of while it is exposed.
        unsafe { fabric.expose(fabric::Region::host(self.0.as_mut_ptr(), self.0.len()), Audience::One(peer)) }
    }
}

//! Memory of a member of a window, as this rank reaches it, and what is done there.
//!
//! **Invariant:** a place is made by a window that has found the data inside of what the member lets others reach; that memory stays valid until the window
//! is freed ([`Exposed`](super::Exposed)), and the program's accesses do not conflict (MPI section 12.7). So using it is safe code.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use fabric::{Delivery, Fabric, Key, Mover, Node, PortalError, Shape, Ticket};

use crate::values::datatype::{Datatype, Piece};
use crate::values::memory::{Kernel, RecvBuffer, Region};

/// Where the origin of some data lies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Here, in memory that this rank addresses.
    Near(Near),
    /// So many bytes into a region that a node has exposed.
    Far(Node, Key, i64),
    /// At an address of a node that no portal reaches: it is asked for (see `rank/window/letters`).
    Asked(Node, u64),
}

/// An address that this rank has the data at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near(pub *mut u8);

impl Near {
    /// Copies bytes here.
    #[inline]
    pub fn store(self, bytes: &[u8]) {
        // SAFETY: the invariant of this file.
        unsafe { processor::copy_short(bytes.as_ptr(), self.0, bytes.len()) };
    }

    /// Copies bytes from here.
    #[inline]
    pub fn fetch(self, into: &mut [u8]) {
        // SAFETY: as above.
        unsafe { processor::copy_short(self.0, into.as_mut_ptr(), into.len()) };
    }

    /// Copies bytes, which another core has written, to here.
    pub fn store_from_afar(self, bytes: &[u8]) {
        // SAFETY: as above.
        unsafe { processor::copy_across(bytes.as_ptr(), self.0, bytes.len()) };
    }

    /// Copies bytes from here to where another core has read, and will.
    pub fn fetch_for_afar(self, into: &mut [u8]) {
        // SAFETY: as above.
        unsafe { processor::copy_across(self.0, into.as_mut_ptr(), into.len()) };
    }

    /// Copies bytes from here to the first ones of a buffer that lies in one piece.
    #[inline]
    pub fn load(self, into: &RecvBuffer, len: usize) {
        debug_assert!(into.is_contiguous() && len as u64 <= into.bytes());
        // SAFETY: as above, and the buffer's own contract.
        unsafe { processor::copy_short(self.0, into.base(), len) };
    }

    /// The data here as elements.
    pub fn region(self, count: u64, datatype: &Datatype) -> Region {
        Region::at(self.0, count, datatype)
    }

    /// The place of other data.
    pub fn moved(self, by: i64) -> Near {
        Near(self.0.wrapping_offset(by as isize))
    }

    /// True if a word of so many bytes can be changed here in one step.
    #[inline]
    pub fn is_aligned(self, width: usize) -> bool {
        debug_assert!(width.is_power_of_two());
        // No division: this is asked for every word that is changed.
        self.0.addr() & (width - 1) == 0
    }

    /// Bytes that nobody else uses now, because this rank has the lock for it.
    pub fn with_bytes(self, len: usize, act: impl FnOnce(&mut [u8])) {
        // SAFETY: the invariant of this file, and as said.
        act(unsafe { core::slice::from_raw_parts_mut(self.0, len) });
    }

    /// Changes a word of 4 or 8 bytes in one step; returns what was there before. `operand` has the same bytes, from the lowest on.
    #[inline]
    pub fn change(self, width: usize, act: Act<'_>, operand: u64) -> u64 {
        assert!(self.is_aligned(width));
        // SAFETY: the invariant of this file, and the word is aligned.
        unsafe {
            match width {
                4 => step!(AtomicU32, u32, f32, self.0, act, operand),
                _ => step!(AtomicU64, u64, f64, self.0, act, operand),
            }
        }
    }
}

/// What becomes of a word.
#[derive(Clone, Copy)]
pub(crate) enum Act<'a> {
    Add,
    /// As floating-point numbers.
    AddFloat,
    Replace,
    /// Nothing: it is read.
    Keep,
    /// The operand, if it is this.
    ReplaceIf(u64),
    /// What the kernel makes of operand and word.
    Combine(&'a Kernel),
}

/// [`Near::change`] for a width.
macro_rules! step {
    ($atomic:ty, $word:ty, $float:ty, $place:expr, $act:expr, $operand:expr) => {{
        let (word, operand) = (<$atomic>::from_ptr($place.cast()), $operand as $word);
        let before = match $act {
            Act::Add => word.fetch_add(operand, Ordering::SeqCst),
            Act::AddFloat => {
                let sum = |before| (<$float>::from_bits(operand) + <$float>::from_bits(before)).to_bits();
                let mut before = word.load(Ordering::Relaxed);
                loop {
                    match word.compare_exchange_weak(before, sum(before), Ordering::SeqCst, Ordering::Relaxed)
                    {
                        Ok(_) => break before,
                        Err(is) => before = is,
                    }
                }
            }
            Act::Replace => word.swap(operand, Ordering::SeqCst),
            Act::Keep => word.load(Ordering::SeqCst),
            Act::ReplaceIf(expected) => {
                match word.compare_exchange(expected as $word, operand, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(before) | Err(before) => before,
                }
            }
            Act::Combine(kernel) => {
                let mut before = word.load(Ordering::Relaxed);
                loop {
                    let mut after = before.to_ne_bytes();
                    kernel(&operand.to_ne_bytes(), &mut after);
                    let after = <$word>::from_ne_bytes(after);
                    match word.compare_exchange_weak(before, after, Ordering::SeqCst, Ordering::Relaxed) {
                        Ok(_) => break before,
                        Err(now) => before = now,
                    }
                }
            }
        };
        before as u64
    }};
}
use step;

/// What transfers may have to wait for.
pub(crate) type Settle<'a> = dyn FnMut(Ticket) -> Result<(), PortalError> + 'a;

impl Place {
    /// Stores bytes as those from `from` on of the packed form of elements that lie here.
    pub fn store(
        &self,
        (fabric, settle): (&dyn Fabric, &mut Settle<'_>),
        datatype: &Datatype,
        from: u64,
        bytes: &[u8],
    ) -> Result<(), PortalError> {
        let (node, key, offset) = match self {
            Place::Near(near) => {
                let elements = (from + bytes.len() as u64).div_ceil(datatype.size().max(1));
                near.region(elements, datatype).to_receive().unpack(from, bytes);
                return Ok(());
            }
            Place::Far(node, key, offset) => (*node, key, *offset),
            Place::Asked(..) => return Err(PortalError::Unreachable),
        };
        each_shape(datatype, from, bytes.len() as u64, offset, &mut |local, remote| {
            let delivery = Delivery { mover: mover(fabric, node, local), notice: None };
            // SAFETY: the shape is one of bytes of the slice, which outlives the transfer: it is waited for.
            let ticket = unsafe { fabric.put(node, bytes.as_ptr(), local, key, remote, &delivery)? };
            settle(ticket)
        })?;
        // The data is there for everybody, not only for letters to the member.
        settle(fabric.flush(node)?)
    }

    /// Loads the bytes from `from` on of the packed form of elements that lie here.
    pub fn load(
        &self,
        (fabric, settle): (&dyn Fabric, &mut Settle<'_>),
        datatype: &Datatype,
        from: u64,
        bytes: &mut [u8],
    ) -> Result<(), PortalError> {
        let (node, key, offset) = match self {
            Place::Near(near) => {
                let elements = (from + bytes.len() as u64).div_ceil(datatype.size().max(1));
                near.region(elements, datatype).to_send().pack(from, bytes);
                return Ok(());
            }
            Place::Far(node, key, offset) => (*node, key, *offset),
            Place::Asked(..) => return Err(PortalError::Unreachable),
        };
        let (base, len) = (bytes.as_mut_ptr(), bytes.len() as u64);
        each_shape(datatype, from, len, offset, &mut |local, remote| {
            // SAFETY: as above, for writing.
            let ticket = unsafe { fabric.get(node, base, local, key, remote, mover(fabric, node, local))? };
            settle(ticket)
        })
    }
}

/// Who moves the bytes of a shape.
pub(crate) fn mover(fabric: &dyn Fabric, node: Node, shape: &Shape) -> Mover {
    let by_dma = fabric.caps().dma && shape.bytes() >= fabric.route(node).thresholds.dma_min;
    if by_dma { Mover::Dma } else { Mover::Core }
}

/// The number that a word of 4 or 8 bytes is.
#[inline]
pub(crate) fn word_of(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// Makes a word of as many bytes of a number.
#[inline]
pub(crate) fn write_word(word: u64, into: &mut [u8]) {
    match into.len() {
        4 => into.copy_from_slice(&(word as u32).to_ne_bytes()),
        8 => into.copy_from_slice(&word.to_ne_bytes()),
        _ => {}
    }
}

/// Moves the bytes of one shape to or from those of the other: the first of the packed form, the second of a region.
type Move<'a> = dyn FnMut(&Shape, &Shape) -> Result<(), PortalError> + 'a;

/// The bytes of the packed form as shapes, of itself and of the region where they lie.
fn each_shape(
    datatype: &Datatype,
    from: u64,
    len: u64,
    offset: i64,
    act: &mut Move<'_>,
) -> Result<(), PortalError> {
    let mut result = Ok(());
    datatype.layout().pieces_apart(from, len, &mut |at, piece| {
        if result.is_ok() {
            result = each_shape_of(&piece, at as usize, offset, act);
        }
    });
    result
}

/// A run and its repetitions are one shape, so that a few calls move many rows of few runs; those of one long list are moved one by one.
fn each_shape_of(piece: &Piece<'_>, at: usize, offset: i64, act: &mut Move<'_>) -> Result<(), PortalError> {
    if piece.count > 1 && piece.stride < 0 {
        let mut at = at;
        let mut result = Ok(());
        piece.each_run(|origin, len| {
            if result.is_ok() {
                let (local, remote) = (at, (offset + origin) as usize);
                let shape = |at| Shape::contiguous(at, len as usize);
                result = act(&shape(local), &shape(remote));
                at += len as usize;
            }
        });
        return result;
    }
    let once = Piece { count: 1, ..*piece };
    let (mut each, mut before) = (0, 0);
    once.each_run(|_, len| each += len as usize);
    let (count, stride) = (piece.count as usize, piece.stride as usize);
    let mut result = Ok(());
    once.each_run(|origin, len| {
        if result.is_ok() {
            let len = len as usize;
            let local = Shape::rows(at + before, len, count, each);
            let remote = Shape::rows((offset + origin) as usize, len, count, stride);
            result = act(&local, &remote);
            before += len;
        }
    });
    result
}

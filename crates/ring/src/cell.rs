//! One cell of a ring: a control word, a header and a short payload.
//!
//! ```text
//! byte 0        8                 32            64                          128
//!      +--------+-----------------+-------------+---------------------------+
//!      | control| header (3 words)| payload 0-31| payload 32-95             |
//!      +--------+-----------------+-------------+---------------------------+
//!      |<------ first cache line -------------->|<- second line, if needed ->|
//!
//! control: | stamp : 16 | payload length : 24 | sender : 24 |
//! ```
//!
//! A letter of up to 32 bytes touches one cache line. A payload longer than [`INLINE_BYTES`] lies in a slot of the sender's
//! [pool](crate::pool), which the first eight payload bytes then name: the length alone says which.
//!
//! **Invariant:** the body is written only between a sender's claim of the position and its release store of the control
//! word, and read only between the receiver's acquire load of that word and its publication of a head past the position.
//! The receiver never writes to a cell, so the line travels once a letter.

use core::mem::MaybeUninit;

use fabric::{HEADER_BYTES, Header};
#[cfg(not(loom))]
use processor::hints;

use crate::pool::Slot;
use crate::sync::{AtomicU64, Ordering, UnsafeCell};

/// Bytes of a cell. Two cache lines, because x86 prefetches lines in pairs.
pub const CELL_BYTES: usize = 128;

/// Payload bytes that fit in a cell.
pub const INLINE_BYTES: usize = CELL_BYTES - 8 - HEADER_BYTES;

/// Most ranks that the control word can name.
pub const SENDERS_MAX: u32 = 1 << SENDER_BITS;

/// Longest payload that the control word can describe.
pub const LENGTH_MAX: usize = (1 << LENGTH_BITS) - 1;

const SENDER_BITS: u32 = 24;
const LENGTH_BITS: u32 = 24;

/// What a control word says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control(u64);

impl Control {
    /// Packs a control word.
    #[inline(always)]
    pub const fn new(stamp: u16, length: usize, sender: u32) -> Control {
        debug_assert!(length <= LENGTH_MAX && sender < SENDERS_MAX);
        Control(
            (stamp as u64) << (SENDER_BITS + LENGTH_BITS) | (length as u64) << SENDER_BITS | sender as u64,
        )
    }

    /// Which letter of the [ring](crate::ring) it is, as far as that fits.
    #[inline(always)]
    pub const fn stamp(self) -> u16 {
        (self.0 >> (SENDER_BITS + LENGTH_BITS)) as u16
    }

    /// Payload bytes of the letter.
    #[inline(always)]
    pub const fn length(self) -> usize {
        (self.0 >> SENDER_BITS) as usize & LENGTH_MAX
    }

    /// The rank that wrote the cell.
    #[inline(always)]
    pub const fn sender(self) -> u32 {
        self.0 as u32 & (SENDERS_MAX - 1)
    }
}

/// Header and payload of a cell.
#[repr(C)]
pub struct Body {
    /// The letter's header.
    pub header: Header,
    payload: [MaybeUninit<u8>; INLINE_BYTES],
}

impl Body {
    const fn empty() -> Body {
        Body { header: [0; 3], payload: [MaybeUninit::uninit(); INLINE_BYTES] }
    }

    /// The first `length` payload bytes.
    ///
    /// # Safety
    /// That many bytes must have been written by the sender of this letter.
    #[inline(always)]
    pub unsafe fn inline_payload(&self, length: usize) -> &[u8] {
        debug_assert!(length <= INLINE_BYTES);
        // SAFETY: the caller says that the bytes are initialised, and they lie inside the array.
        unsafe { core::slice::from_raw_parts(self.payload.as_ptr().cast(), length) }
    }

    /// The pool slot that holds the payload.
    ///
    /// # Safety
    /// The letter must have been written with [`Payload::Pooled`].
    #[inline(always)]
    pub unsafe fn slot(&self) -> Slot {
        // SAFETY: the sender wrote one there; the payload starts at a multiple of 8.
        unsafe { self.payload.as_ptr().cast::<Slot>().read() }
    }
}

/// Where the payload of a letter is when it is written into a cell.
#[derive(Clone, Copy)]
pub enum Payload<'p> {
    /// At most [`INLINE_BYTES`] bytes, to be copied into the cell.
    Inline(&'p [u8]),
    /// More than [`INLINE_BYTES`] bytes, already in a slot of the sender's pool.
    Pooled {
        /// Payload bytes.
        length: usize,
        /// The slot.
        slot: Slot,
    },
}

impl Payload<'_> {
    /// Payload bytes.
    #[inline(always)]
    pub fn length(&self) -> usize {
        match *self {
            Payload::Inline(bytes) => bytes.len(),
            Payload::Pooled { length, .. } => length,
        }
    }
}

/// One cell of a ring.
#[repr(C, align(128))]
pub struct Cell {
    control: AtomicU64,
    body: UnsafeCell<Body>,
}

// SAFETY: the body is plain bytes, and the ring's protocol (see the module's invariant) gives one side at a time access.
unsafe impl Sync for Cell {}
// SAFETY: nothing in a cell belongs to a thread.
unsafe impl Send for Cell {}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Cell>() == CELL_BYTES && align_of::<Cell>() == CELL_BYTES);
    assert!(core::mem::offset_of!(Cell, body) == 8);
    assert!(INLINE_BYTES == 96);
};

impl Cell {
    /// A cell that was never written; the same as zeroed memory.
    pub fn new() -> Cell {
        Cell { control: AtomicU64::new(0), body: UnsafeCell::new(Body::empty()) }
    }

    /// Writes a letter and hands it to the receiver with one release store.
    ///
    /// # Safety
    /// The caller must have claimed this cell for the letter of this stamp, and the receiver must be done with the one before.
    #[inline(always)]
    pub unsafe fn publish(&self, stamp: u16, sender: u32, header: &Header, payload: Payload<'_>) {
        let length = self.body.with_mut(|body| {
            // SAFETY: the claim gives this sender the body alone until the store below; field places are derived by raw
            // pointer, so no reference to a body that others may read is made.
            unsafe {
                // Word by word: the caller has just written them so, and one wide load of them would have to wait until the
                // stores have left the store buffer. (Nor a loop, which not every level of optimisation unrolls.)
                let [first, second, third] = header;
                (&raw mut (*body).header[0]).write(core::ptr::read_volatile(first));
                (&raw mut (*body).header[1]).write(core::ptr::read_volatile(second));
                (&raw mut (*body).header[2]).write(core::ptr::read_volatile(third));
                let place = (&raw mut (*body).payload).cast::<u8>();
                match payload {
                    Payload::Inline(bytes) => {
                        debug_assert!(bytes.len() <= INLINE_BYTES);
                        copy_short(bytes, place);
                        bytes.len()
                    }
                    Payload::Pooled { length, slot } => {
                        debug_assert!(length > INLINE_BYTES);
                        place.cast::<Slot>().write(slot);
                        length
                    }
                }
            }
        });
        self.control.store(Control::new(stamp, length, sender).0, Ordering::Release);
    }

    /// After [`publish`](Cell::publish), where the receiver is on another core. It reads the letter next, soon if it is `awaited`; and this core writes one of about the same length to the cell behind.
    /// The first line of that is left alone: the receiver is looking at it. (Behind the last cell of a ring is none, and the hint is for nothing.)
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn hint(&self, length: usize, awaited: bool) {
        let begin = (&raw const *self).cast::<u8>();
        if lies_in_first_line(length) {
            if awaited {
                hints::hand_over(begin, CELL_BYTES / 2);
            }
            return;
        }
        if awaited {
            hints::hand_over(begin, CELL_BYTES);
        }
        hints::will_write(begin.wrapping_add(CELL_BYTES + CELL_BYTES / 2), CELL_BYTES / 2);
    }

    /// The control word, if the cell holds the letter of this stamp.
    #[inline(always)]
    pub fn ready(&self, stamp: u16) -> Option<Control> {
        let control = Control(self.control.load(Ordering::Acquire));
        (control.stamp() == stamp).then_some(control)
    }

    /// Calls `read` with the body.
    ///
    /// # Safety
    /// [`ready`](Cell::ready) must have answered for the letter that is expected, and the head must not be published past this cell
    /// before `read` returns.
    #[inline(always)]
    pub unsafe fn read<R>(&self, read: impl FnOnce(&Body) -> R) -> R {
        // SAFETY: the sender's release store, which `ready` acquired, ended its writes, and nobody writes the cell again
        // before the head moves past it.
        self.body.with(|body| read(unsafe { &*body }))
    }
}

/// Whether the first line of a cell is all that a payload of this length takes of it.
#[cfg(not(loom))]
#[inline(always)]
const fn lies_in_first_line(length: usize) -> bool {
    length <= CELL_BYTES / 2 - 8 - HEADER_BYTES || length > INLINE_BYTES
}

impl Default for Cell {
    fn default() -> Cell {
        Cell::new()
    }
}

/// Copies up to [`INLINE_BYTES`] bytes by a few moves: a call of `memcpy` with an unknown length takes longer than most such copies, and its caller would have to keep
/// what it knows on the stack.
///
/// # Safety
/// `place` must be valid for writes of `bytes.len()` bytes that do not overlap `bytes`.
#[inline(always)]
pub(crate) unsafe fn copy_short(bytes: &[u8], place: *mut u8) {
    let (from, length) = (bytes.as_ptr(), bytes.len());
    debug_assert!(length <= INLINE_BYTES);
    // SAFETY: every branch copies exactly `length` bytes, some of them twice.
    unsafe {
        // Apart, so that the most frequent lengths are looked for first.
        if length & !8 == 0 {
            if length != 0 {
                copy_one::<u64>(from, place, 0);
            }
            return;
        }
        match length {
            1 => copy_one::<u8>(from, place, 0),
            2..=3 => copy_ends::<u16>(from, place, length),
            4..=7 => copy_ends::<u32>(from, place, length),
            8..=16 => copy_ends::<u64>(from, place, length),
            17..=32 => copy_ends::<u128>(from, place, length),
            33..=64 => copy_ends::<[u128; 2]>(from, place, length),
            _ => {
                copy_one::<[u128; 4]>(from, place, 0);
                copy_one::<[u128; 2]>(from, place, length - 32);
            }
        }
    }
}

/// Copies one `T` at this offset.
///
/// # Safety
/// Both places must be valid for that.
#[inline(always)]
unsafe fn copy_one<T>(from: *const u8, place: *mut u8, at: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let value = from.add(at).cast::<T>().read_unaligned();
        place.add(at).cast::<T>().write_unaligned(value);
    }
}

/// Copies the first and the last `T` of `length` bytes.
///
/// # Safety
/// Both places must be valid for so many bytes, which must be one `T` or more.
#[inline(always)]
unsafe fn copy_ends<T>(from: *const u8, place: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        copy_one::<T>(from, place, 0);
        copy_one::<T>(from, place, length - size_of::<T>());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn control_word_keeps_the_largest_values_apart() {
        let control = Control::new(u16::MAX, LENGTH_MAX, 0);
        assert_eq!((control.stamp(), control.length(), control.sender()), (u16::MAX, LENGTH_MAX, 0));
        let control = Control::new(0, 0, SENDERS_MAX - 1);
        assert_eq!((control.stamp(), control.length(), control.sender()), (0, 0, SENDERS_MAX - 1));
    }

    #[test]
    fn short_copies_are_exact_at_every_length() {
        let from: [u8; INLINE_BYTES] = core::array::from_fn(|index| index as u8 + 1);
        for length in 0..=INLINE_BYTES {
            let mut to = [0; INLINE_BYTES + 1];
            // SAFETY: there is room for all of them.
            unsafe { copy_short(&from[..length], to.as_mut_ptr()) };
            assert_eq!(to[..length], from[..length]);
            assert!(to[length..].iter().all(|byte| *byte == 0), "{length}");
        }
    }

    #[test]
    fn a_zeroed_cell_holds_no_letter() {
        // SAFETY: zeroes are a valid cell: that is what this test is about.
        let cell: Cell = unsafe { core::mem::zeroed() };
        assert!(cell.ready(1).is_none());
    }
}

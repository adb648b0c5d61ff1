//! Cross memory attach: the kernel copies between this process and a peer.
//!
//! A transfer between shapes is a list of pieces on each side; the two lists need not be cut alike, since the kernel treats
//! each as one stream of bytes. They are handed over in batches, and a call that moved less than it was asked to is taken
//! up where it stopped.
//!
//! **Invariant:** both sides of a batch name the same number of bytes.

use std::io;
use std::mem::MaybeUninit;

use fabric::{PortalError, Shape};

use crate::together::{PIECES_MAX, Piece};

/// Which way the bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// From the peer to this process.
    Read,
    /// From this process to the peer.
    Write,
}

/// Moves `bytes` bytes between `local` and `remote`, two shapes with that many bytes each.
///
/// # Safety
/// `local` must be valid for the whole of its shape, for writes if the direction is [`Direction::Read`]. The kernel checks
/// the remote side.
pub(crate) unsafe fn transfer(
    direction: Direction,
    pid: libc::pid_t,
    (local, local_shape): (*mut u8, &Shape),
    (remote, remote_shape): (*mut u8, &Shape),
    bytes: usize,
) -> Result<(), PortalError> {
    if local_shape.is_contiguous() && remote_shape.is_contiguous() {
        let local = local.wrapping_add(local_shape.offset);
        let remote = remote.wrapping_add(remote_shape.offset);
        // SAFETY: the whole of the local shape, for which the caller vouches.
        return unsafe { transfer_piece(direction, pid, Piece { local, remote, bytes }) };
    }
    // SAFETY: the caller's promise.
    unsafe { transfer_pieces(direction, pid, (local, local_shape), (remote, remote_shape), bytes) }
}

/// One piece on either side, as most transfers are: nothing is laid out for it but its two ends.
///
/// # Safety
/// As for [`transfer`].
pub(crate) unsafe fn transfer_piece(
    direction: Direction,
    pid: libc::pid_t,
    Piece { local, remote, bytes }: Piece,
) -> Result<(), PortalError> {
    let mut done = 0;
    while done < bytes {
        let rest = |base: *mut u8| {
            [libc::iovec {
                iov_base: base.wrapping_add(done).cast(),
                iov_len: (bytes - done).min(CALL_BYTES),
            }]
        };
        // SAFETY: a part of the local piece, for which the caller vouches.
        done += match unsafe { call(direction, pid, &rest(local), &rest(remote)) } {
            Ok(moved) => moved,
            Err(PortalError::PeerMemory) => return Err(guilty(direction, pid, remote.wrapping_add(done))),
            Err(error) => return Err(error),
        };
    }
    Ok(())
}

/// Whole pieces, [`PIECES_MAX`] at most, by one call. False if it did not move them all: some of their bytes may have been.
///
/// # Safety
/// The local side of each must be valid for the direction.
pub(crate) unsafe fn transfer_several(direction: Direction, pid: libc::pid_t, pieces: &[Piece]) -> bool {
    let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    let (mut mine, mut theirs, mut bytes) = ([none; PIECES_MAX], [none; PIECES_MAX], 0);
    for ((piece, mine), theirs) in pieces.iter().zip(&mut mine).zip(&mut theirs) {
        *mine = libc::iovec { iov_base: piece.local.cast(), iov_len: piece.bytes };
        *theirs = libc::iovec { iov_base: piece.remote.cast(), iov_len: piece.bytes };
        bytes += piece.bytes;
    }
    // SAFETY: the caller's promise.
    unsafe { call(direction, pid, &mine[..pieces.len()], &theirs[..pieces.len()]) == Ok(bytes) }
}

/// Many pieces, in batches. Not inlined: its frame is large, and whoever moves one piece must not walk over it.
///
/// # Safety
/// As for [`transfer`].
#[inline(never)]
unsafe fn transfer_pieces(
    direction: Direction,
    pid: libc::pid_t,
    (local, local_shape): (*mut u8, &Shape),
    (remote, remote_shape): (*mut u8, &Shape),
    bytes: usize,
) -> Result<(), PortalError> {
    let mut mine = Pieces::new(local, local_shape);
    let mut theirs = Pieces::new(remote, remote_shape);
    let (mut mine_batch, mut theirs_batch) = (Batch::new(), Batch::new());
    let mut left = bytes;
    while left > 0 {
        let bytes = mine_batch.fill(mine.clone(), left.min(CALL_BYTES));
        let bytes = theirs_batch.fill(theirs.clone(), bytes);
        mine_batch.cut(bytes);
        // SAFETY: the local pieces lie in the local shape, for which the caller vouches.
        let moved = match unsafe { call(direction, pid, mine_batch.pieces(), theirs_batch.pieces()) } {
            Ok(moved) => moved,
            Err(PortalError::PeerMemory) => return Err(guilty(direction, pid, theirs.piece().0)),
            Err(error) => return Err(error),
        };
        mine.skip(moved);
        theirs.skip(moved);
        left -= moved;
    }
    Ok(())
}

/// Linux moves at most this much in one call (`MAX_RW_COUNT`).
const CALL_BYTES: usize = 0x7fff_f000;

/// Pieces a call: the kernel takes 1024, but keeps up to 8 on its stack and allocates beyond; the stack of a rank is the
/// limit here.
const BATCH: usize = 512;

/// The pieces of a shape from some byte on.
#[derive(Clone)]
struct Pieces<'s> {
    base: *mut u8,
    shape: &'s Shape,
    /// The shape is one piece of all its bytes.
    contiguous: bool,
    plane: usize,
    row: usize,
    /// Bytes of the current piece that are done.
    done: usize,
}

impl<'s> Pieces<'s> {
    fn new(base: *mut u8, shape: &'s Shape) -> Pieces<'s> {
        Pieces { base, shape, contiguous: shape.is_contiguous(), plane: 0, row: 0, done: 0 }
    }

    /// The rest of the current piece.
    fn piece(&self) -> (*mut u8, usize) {
        let shape = self.shape;
        let length = if self.contiguous { shape.bytes() } else { shape.row_bytes };
        let offset = shape.offset + self.plane * shape.plane_stride + self.row * shape.row_stride + self.done;
        // Wrapping, because remote addresses are not memory of this process.
        (self.base.wrapping_add(offset), length - self.done)
    }

    fn next_piece(&mut self) {
        self.done = 0;
        self.row += 1;
        if self.row == self.shape.rows {
            self.row = 0;
            self.plane += 1;
        }
    }

    fn skip(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let (_, length) = self.piece();
            if bytes < length {
                self.done += bytes;
                return;
            }
            bytes -= length;
            self.next_piece();
        }
    }
}

/// The pieces of one call. Only those that there are have been written.
struct Batch {
    pieces: [MaybeUninit<libc::iovec>; BATCH],
    count: usize,
}

impl Batch {
    fn new() -> Batch {
        Batch { pieces: [MaybeUninit::uninit(); BATCH], count: 0 }
    }

    fn pieces(&self) -> &[libc::iovec] {
        // SAFETY: `fill` has written the first `count`.
        unsafe { core::slice::from_raw_parts(self.pieces.as_ptr().cast(), self.count) }
    }

    /// Takes pieces worth up to `limit` bytes instead of those that it had; the shape must still have them. Returns how many bytes they are.
    fn fill(&mut self, mut from: Pieces<'_>, limit: usize) -> usize {
        self.count = 0;
        let mut bytes = 0;
        while bytes < limit && self.count < BATCH {
            let (base, length) = from.piece();
            let length = length.min(limit - bytes);
            self.pieces[self.count].write(libc::iovec { iov_base: base.cast(), iov_len: length });
            self.count += 1;
            bytes += length;
            from.next_piece();
        }
        bytes
    }

    /// Drops pieces from the end until `bytes` bytes are left.
    fn cut(&mut self, bytes: usize) {
        let mut before = 0;
        for index in 0..self.count {
            let piece = self.pieces()[index];
            if before + piece.iov_len >= bytes {
                self.pieces[index].write(libc::iovec { iov_len: bytes - before, ..piece });
                self.count = index + 1;
                return;
            }
            before += piece.iov_len;
        }
    }
}

/// False where the system has no cross memory attach, or a filter refuses its calls as such, whatever the process and the memory:
/// no pieces are read from and written to this very process, which touches nothing.
pub fn allowed() -> bool {
    let (own, none) = (std::process::id() as libc::pid_t, std::ptr::null());
    // SAFETY: no pieces on either side.
    unsafe {
        libc::process_vm_readv(own, none, 0, none, 0, 0) == 0
            && libc::process_vm_writev(own, none, 0, none, 0, 0) == 0
    }
}

/// Whose memory the kernel could not use, after it refused to move even the first byte: it does not say, but a byte that this
/// process is known to have moves, or does not move, in the same way.
#[cold]
fn guilty(direction: Direction, pid: libc::pid_t, theirs: *mut u8) -> PortalError {
    let mut byte = 0u8;
    let mut one = |direction| {
        let piece = |base: *mut u8| [libc::iovec { iov_base: base.cast(), iov_len: 1 }];
        // SAFETY: one byte of this function's; the kernel checks the other side.
        unsafe { call(direction, pid, &piece(&raw mut byte), &piece(theirs)) }
    };
    match one(Direction::Read) {
        Err(error) => error,
        Ok(_) if direction == Direction::Read => PortalError::LocalMemory,
        // Writing back what was just read could undo what the peer writes meanwhile: but it has exposed this memory for writing,
        // and leaves it alone until it is told.
        Ok(_) => one(Direction::Write).map_or_else(|error| error, |_| PortalError::LocalMemory),
    }
}

/// One call; returns how many bytes it moved, at least one.
///
/// # Safety
/// The local pieces must be valid for the direction.
unsafe fn call(
    direction: Direction,
    pid: libc::pid_t,
    mine: &[libc::iovec],
    theirs: &[libc::iovec],
) -> Result<usize, PortalError> {
    let (mine, mine_count) = (mine.as_ptr(), mine.len() as libc::c_ulong);
    let (theirs, theirs_count) = (theirs.as_ptr(), theirs.len() as libc::c_ulong);
    // SAFETY: the arrays hold the pieces they say; the local ones are valid by the caller's word, and the kernel checks the
    // remote ones.
    let moved = unsafe {
        match direction {
            Direction::Read => libc::process_vm_readv(pid, mine, mine_count, theirs, theirs_count, 0),
            Direction::Write => libc::process_vm_writev(pid, mine, mine_count, theirs, theirs_count, 0),
        }
    };
    if moved > 0 {
        return Ok(moved as usize);
    }
    Err(match io::Error::last_os_error().raw_os_error() {
        _ if moved == 0 => PortalError::Shape,
        Some(libc::ESRCH) => PortalError::PeerLost,
        Some(libc::EFAULT) => PortalError::PeerMemory,
        Some(libc::EINVAL) => PortalError::Shape,
        Some(libc::ENOMEM) => PortalError::Exhausted,
        _ => PortalError::Unreachable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transfer with this very process, which the kernel always allows where it has the call at all.
    fn copy(
        direction: Direction,
        local: &mut [u8],
        local_shape: &Shape,
        remote: &mut [u8],
        remote_shape: &Shape,
    ) {
        let sides = ((local.as_mut_ptr(), local_shape), (remote.as_mut_ptr(), remote_shape));
        // SAFETY: the shapes lie inside the slices.
        unsafe { transfer(direction, std::process::id() as i32, sides.0, sides.1, local_shape.bytes()) }
            .unwrap();
    }

    #[test]
    fn sides_that_are_cut_differently_exchange_one_stream_of_bytes() {
        // 3000 rows of 3 bytes (many batches) on one side, one piece on the other.
        let (rows, piece) = (Shape::rows(1, 3, 3000, 5), Shape::rows(2, 3, 3000, 3));
        let mut spread: Vec<u8> = (0..15_010).map(|index| (index % 251) as u8).collect();
        let mut dense = vec![0u8; 9010];
        copy(Direction::Read, &mut dense, &piece, &mut spread, &rows);
        for row in 0..3000 {
            assert_eq!(dense[2 + row * 3..][..3], spread[1 + row * 5..][..3]);
        }
        let mut back = vec![0u8; 15_010];
        copy(Direction::Write, &mut dense, &piece, &mut back, &rows);
        for row in 0..3000 {
            assert_eq!(back[1 + row * 5..][..3], spread[1 + row * 5..][..3]);
            assert_eq!(back[4 + row * 5..][..2], [0, 0]);
        }
    }

    #[test]
    fn pieces_resume_at_any_byte() {
        let shape = Shape { offset: 10, row_bytes: 4, rows: 2, row_stride: 6, planes: 2, plane_stride: 20 };
        let offsets = [10, 11, 12, 13, 16, 17, 18, 19, 30, 31, 32, 33, 36, 37, 38, 39];
        for (skipped, offset) in offsets.into_iter().enumerate() {
            let mut pieces = Pieces::new(std::ptr::null_mut(), &shape);
            pieces.skip(skipped);
            let (base, length) = pieces.piece();
            assert_eq!((base as usize, length), (offset, 4 - skipped % 4));
        }
    }

    #[test]
    fn a_process_that_does_not_exist_is_lost() {
        let (mut byte, shape) = (0u8, Shape::contiguous(0, 1));
        let place = &raw mut byte;
        // Above the largest process id that Linux gives.
        let pid = 1 << 30;
        // SAFETY: one byte on both sides.
        let result = unsafe { transfer(Direction::Read, pid, (place, &shape), (place, &shape), 1) };
        assert_eq!(result, Err(PortalError::PeerLost));
    }

    #[test]
    fn memory_that_is_not_there_is_refused() {
        let (mut byte, shape) = (0u8, Shape::contiguous(0, 1));
        let nowhere = std::ptr::without_provenance_mut(8);
        let pid = std::process::id() as i32;
        // SAFETY: the local byte is valid; the kernel must refuse the other.
        let result = unsafe { transfer(Direction::Read, pid, (&raw mut byte, &shape), (nowhere, &shape), 1) };
        assert_eq!(result, Err(PortalError::PeerMemory));
    }

    #[test]
    fn the_side_whose_memory_is_bad_is_named() {
        // SAFETY: a mapping of its own, which nothing else uses.
        let map = |protection| unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), 8192, protection, flags, -1, 0).cast::<u8>()
        };
        let (none, read_only) = (map(libc::PROT_NONE), map(libc::PROT_READ));
        let mut good = vec![1u8; 8192];
        let (good, shape, pid) = (good.as_mut_ptr(), Shape::contiguous(0, 8192), std::process::id() as i32);
        let cases = [
            (Direction::Read, none, good, Err(PortalError::LocalMemory)),
            (Direction::Read, read_only, good, Err(PortalError::LocalMemory)),
            (Direction::Read, good, none, Err(PortalError::PeerMemory)),
            (Direction::Read, good, read_only, Ok(())),
            (Direction::Write, none, good, Err(PortalError::LocalMemory)),
            (Direction::Write, good, none, Err(PortalError::PeerMemory)),
            (Direction::Write, good, read_only, Err(PortalError::PeerMemory)),
            (Direction::Write, read_only, good, Ok(())),
        ];
        for (direction, mine, theirs, expected) in cases {
            // SAFETY: the kernel checks both sides.
            let result = unsafe { transfer(direction, pid, (mine, &shape), (theirs, &shape), 8192) };
            assert_eq!(
                result, expected,
                "{direction:?} between {mine:?} and {theirs:?}, {read_only:?} read-only"
            );
        }
    }
}

//! Puts, gets and atomics where both sides are plain memory, and the checks that every portal of a host makes.
//!
//! **Invariant:** nothing is touched before both shapes have been checked against each other and against the region.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use fabric::{Atomic, AtomicOp, Key, PortalError, Shape, Width, Word};

/// The key of a region whose peers need only its address and length.
pub fn key_of(base: *mut u8, len: usize) -> Key {
    Key([base.expose_provenance() as u64, len as u64, 0, 0])
}

/// The start of the region that a [`key_of`] names, on the node that owns it.
pub fn base_of(key: &Key) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut(key.0[0] as usize)
}

/// Checks that a transfer between two shapes is possible, the remote one inside the region `key`, and returns its bytes.
pub fn check(local: &Shape, key: &Key, remote: &Shape) -> Result<usize, PortalError> {
    let bytes = local.row_bytes.checked_mul(local.rows).and_then(|bytes| bytes.checked_mul(local.planes));
    let bytes = bytes.filter(|&bytes| bytes <= isize::MAX as usize).ok_or(PortalError::Shape)?;
    if !local.same_counts(remote) || local.end().is_none() {
        return Err(PortalError::Shape);
    }
    match remote.end() {
        Some(end) if end as u64 <= key.0[1] => Ok(bytes),
        _ => Err(PortalError::Shape),
    }
}

/// Copies the bytes of `from_shape` at `from` to `to_shape` at `to`.
///
/// # Safety
/// The shapes must have equal counts (see [`check`]); `from` must be valid for reads of its shape and `to` for writes of
/// its own. The two may overlap; with more than one row the result is then unspecified.
pub unsafe fn copy(from: *const u8, from_shape: &Shape, to: *mut u8, to_shape: &Shape) {
    let row_bytes = from_shape.row_bytes;
    if from_shape.is_contiguous() && to_shape.is_contiguous() {
        // SAFETY: both shapes are one piece of `bytes()` bytes from their offset on, which may overlap.
        unsafe {
            processor::copy_overlapping(
                from.add(from_shape.offset),
                to.add(to_shape.offset),
                from_shape.bytes(),
            );
        }
        return;
    }
    for plane in 0..from_shape.planes {
        for row in 0..from_shape.rows {
            // SAFETY: the offset of a row of each shape, which the caller vouches for.
            unsafe {
                processor::copy_overlapping(
                    from.add(row_offset(from_shape, plane, row)),
                    to.add(row_offset(to_shape, plane, row)),
                    row_bytes,
                );
            }
        }
    }
}

/// Checks that `count` words from `first` on lie in a region of `len` bytes that begins at `base`, each at a multiple of its width.
pub fn check_words(base: *mut u8, len: u64, first: Word, count: usize) -> Result<*mut u8, PortalError> {
    let bytes = count.checked_mul(first.width.bytes()).ok_or(PortalError::Shape)?;
    let end = first.offset.checked_add(bytes).ok_or(PortalError::Shape)?;
    let place = base.wrapping_add(first.offset);
    if end as u64 > len || !place.addr().is_multiple_of(first.width.bytes()) {
        return Err(PortalError::Shape);
    }
    Ok(place)
}

/// Does an atomic on a word of this address space; what was there before.
///
/// # Safety
/// `place` must be valid for reads and writes of the width, a multiple of it, and others must use the word atomically only.
pub unsafe fn atomic(place: *mut u8, width: Width, act: Atomic) -> u64 {
    const ORDER: Ordering = Ordering::SeqCst;
    macro_rules! on {
        ($word:ty, $number:ty, $signed:ty) => {{
            // SAFETY: the caller's promise.
            let word = unsafe { <$word>::from_ptr(place.cast::<$number>()) };
            let before = match act {
                Atomic::CompareSwap { expected, desired } => word
                    .compare_exchange(expected as $number, desired as $number, ORDER, ORDER)
                    .unwrap_or_else(|before| before),
                Atomic::Fetch { op, operand } => {
                    let operand = operand as $number;
                    let signed = |pick: fn($signed, $signed) -> $signed| {
                        let next = |now: $number| Some(pick(now as $signed, operand as $signed) as $number);
                        word.fetch_update(ORDER, ORDER, next).unwrap_or_else(|before| before)
                    };
                    match op {
                        AtomicOp::Sum => word.fetch_add(operand, ORDER),
                        AtomicOp::And => word.fetch_and(operand, ORDER),
                        AtomicOp::Or => word.fetch_or(operand, ORDER),
                        AtomicOp::Xor => word.fetch_xor(operand, ORDER),
                        AtomicOp::Min => signed(Ord::min),
                        AtomicOp::Max => signed(Ord::max),
                        AtomicOp::MinUnsigned => word.fetch_min(operand, ORDER),
                        AtomicOp::MaxUnsigned => word.fetch_max(operand, ORDER),
                        AtomicOp::Replace => word.swap(operand, ORDER),
                        AtomicOp::Read => word.load(ORDER),
                    }
                }
            };
            u64::from(before)
        }};
    }
    match width {
        Width::Four => on!(AtomicU32, u32, i32),
        Width::Eight => on!(AtomicU64, u64, i64),
    }
}

/// Does an atomic on each of `count` words from `place` on, with operands that lie one after the other.
///
/// # Safety
/// As for [`atomic`], for each word; `operands` must be valid for reads of as many, at any address.
pub unsafe fn atomic_array(place: *mut u8, width: Width, op: AtomicOp, operands: *const u8, count: usize) {
    for at in (0..count).map(|index| index * width.bytes()) {
        // SAFETY: the caller's promise.
        unsafe {
            let operand = match width {
                Width::Four => u64::from(operands.add(at).cast::<u32>().read_unaligned()),
                Width::Eight => operands.add(at).cast::<u64>().read_unaligned(),
            };
            atomic(place.add(at), width, Atomic::Fetch { op, operand });
        }
    }
}

fn row_offset(shape: &Shape, plane: usize, row: usize) -> usize {
    shape.offset + plane * shape.plane_stride + row * shape.row_stride
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_differ_or_leave_the_region_are_refused() {
        let key = Key([0, 100, 0, 0]);
        let row = Shape::contiguous(0, 50);
        assert_eq!(check(&row, &key, &Shape::contiguous(50, 50)), Ok(50));
        assert_eq!(check(&row, &key, &Shape::contiguous(51, 50)), Err(PortalError::Shape));
        assert_eq!(check(&row, &key, &Shape::contiguous(0, 49)), Err(PortalError::Shape));
        assert_eq!(check(&row, &key, &Shape::rows(0, 25, 2, 25)), Err(PortalError::Shape));
    }

    #[test]
    fn shapes_whose_size_overflows_are_refused() {
        let endless = Shape { row_stride: 0, plane_stride: 0, ..Shape::rows(0, 1, usize::MAX, 0) };
        let endless = Shape { planes: 2, ..endless };
        assert_eq!(check(&endless, &Key([0, 100, 0, 0]), &endless), Err(PortalError::Shape));
    }

    #[test]
    fn atomics_combine_words_of_both_widths_as_numbers_with_and_without_a_sign() {
        let cases = [
            (AtomicOp::Sum, 1),
            (AtomicOp::And, 2),
            (AtomicOp::Or, -1i32 as u32),
            (AtomicOp::Xor, -3i32 as u32),
            (AtomicOp::Min, -5i32 as u32),
            (AtomicOp::Max, 6),
            (AtomicOp::MinUnsigned, 6),
            (AtomicOp::MaxUnsigned, -5i32 as u32),
            (AtomicOp::Replace, 6),
            (AtomicOp::Read, -5i32 as u32),
        ];
        for (op, expected) in cases {
            let (mut four, mut eight) = (-5i32, -5i64);
            let (narrow, wide) = ((&raw mut four).cast(), (&raw mut eight).cast());
            // SAFETY: two words of this function's, aligned as their types are.
            let before = unsafe {
                let act = Atomic::Fetch { op, operand: 6 };
                (atomic(narrow, Width::Four, act), atomic(wide, Width::Eight, act))
            };
            assert_eq!(before, (u64::from(-5i32 as u32), -5i64 as u64), "{op:?}");
            assert_eq!((four as u32, eight), (expected, i64::from(expected as i32)), "{op:?}");
        }
    }

    #[test]
    fn words_that_are_not_aligned_or_leave_the_region_are_refused() {
        let base = core::ptr::without_provenance_mut(64);
        let word = |offset, width| Word { offset, width };
        assert_eq!(check_words(base, 16, word(8, Width::Eight), 1).map(|place| place.addr()), Ok(72));
        for (first, count) in [
            (word(4, Width::Eight), 1),
            (word(2, Width::Four), 1),
            (word(16, Width::Four), 1),
            (word(0, Width::Four), 5),
            (word(usize::MAX - 7, Width::Eight), 1),
            (word(0, Width::Eight), usize::MAX / 4),
        ] {
            assert_eq!(check_words(base, 16, first, count), Err(PortalError::Shape), "{first:?} {count}");
        }
    }

    #[test]
    fn planes_and_rows_land_where_their_strides_say() {
        let from: [u8; 24] = core::array::from_fn(|index| index as u8);
        let mut to = [0xffu8; 64];
        let from_shape =
            Shape { offset: 1, row_bytes: 2, rows: 2, row_stride: 4, planes: 2, plane_stride: 10 };
        let to_shape = Shape { offset: 3, row_bytes: 2, rows: 2, row_stride: 7, planes: 2, plane_stride: 30 };
        // SAFETY: both shapes end inside their arrays.
        unsafe { copy(from.as_ptr(), &from_shape, to.as_mut_ptr(), &to_shape) };
        let mut expected = [0xffu8; 64];
        for (at, value) in [(3, 1), (10, 5), (33, 11), (40, 15)] {
            expected[at] = value;
            expected[at + 1] = value + 1;
        }
        assert_eq!(to, expected);
    }
}

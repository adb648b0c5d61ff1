//! Puts and gets where both sides are plain memory, and the checks that every portal of a host makes.
//!
//! **Invariant:** nothing is touched before both shapes have been checked against each other and against the region.

use fabric::{Key, PortalError, Shape};

/// The key of a region whose peers need only its address and length.
pub fn key_of(base: *mut u8, len: usize) -> Key {
    Key([base.expose_provenance() as u64, len as u64])
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
        // SAFETY: both shapes are one piece of `bytes()` bytes from their offset on. `copy` allows overlap.
        unsafe { core::ptr::copy(from.add(from_shape.offset), to.add(to_shape.offset), from_shape.bytes()) };
        return;
    }
    for plane in 0..from_shape.planes {
        for row in 0..from_shape.rows {
            // SAFETY: the offset of a row of each shape, which the caller vouches for.
            unsafe {
                core::ptr::copy(
                    from.add(row_offset(from_shape, plane, row)),
                    to.add(row_offset(to_shape, plane, row)),
                    row_bytes,
                );
            }
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
        let key = Key([0, 100]);
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
        assert_eq!(check(&endless, &Key([0, 100]), &endless), Err(PortalError::Shape));
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

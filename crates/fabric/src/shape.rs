//! The form of data in a region: what a transfer reads and where it writes.

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

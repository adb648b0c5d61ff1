//! The basic types, by what they are in memory: every predefined MPI type of any language maps to one of these.

use core::fmt;

use super::layout::{Block, Layout};

/// A basic type. The C library maps MPI_INT, MPI_INTEGER, MPI_INT32_T, … to these by size and kind; what differs between
/// two of them is the set of reductions that they allow (MPI section 6.9.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Basic {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    /// C `long` and `unsigned long`: as `I64` and `U64` in memory, but four bytes in the external representation.
    Long,
    UnsignedLong,
    F32,
    F64,
    /// C `long double`: 80-bit extended in 16 bytes on x86-64, IEEE quadruple on AArch64.
    LongDouble,
    ComplexF32,
    ComplexF64,
    ComplexLongDouble,
    /// C and C++ `bool`, one byte.
    Bool,
    /// Fortran LOGICAL of 1, 2, 4, 8 or 16 bytes: any non-zero value is true.
    Logical {
        bytes: u8,
    },
    /// Uninterpreted bytes: bitwise reductions only.
    Byte,
    /// Packed data: moved, never reduced.
    Packed,
    /// A character: moved, never reduced (MPI_CHAR, MPI_CHARACTER, MPI_WCHAR by its width).
    Char {
        bytes: u8,
    },
    /// A 16-byte integer or another type that is moved but not reduced.
    Opaque {
        bytes: u8,
    },
    /// Value and index pairs for MINLOC and MAXLOC.
    PairF32I32,
    PairF64I32,
    PairI64I32,
    PairI32I32,
    PairI16I32,
    PairLongDoubleI32,
    /// Fortran pairs.
    PairF32F32,
    PairF64F64,
}

impl Basic {
    /// Bytes of data.
    pub const fn size(self) -> u64 {
        match self {
            Basic::I8 | Basic::U8 | Basic::Bool | Basic::Byte | Basic::Packed => 1,
            Basic::I16 | Basic::U16 => 2,
            Basic::I32 | Basic::U32 | Basic::F32 => 4,
            Basic::I64 | Basic::U64 | Basic::Long | Basic::UnsignedLong => 8,
            Basic::F64 | Basic::ComplexF32 => 8,
            Basic::LongDouble | Basic::ComplexF64 => 16,
            Basic::ComplexLongDouble => 32,
            Basic::Logical { bytes } | Basic::Char { bytes } | Basic::Opaque { bytes } => bytes as u64,
            Basic::PairF32I32 | Basic::PairI32I32 | Basic::PairF32F32 => 8,
            Basic::PairF64I32 | Basic::PairI64I32 => 12,
            Basic::PairI16I32 => 6,
            Basic::PairLongDoubleI32 => 20,
            Basic::PairF64F64 => 16,
        }
    }

    /// Bytes from one element of a C array to the next.
    pub const fn extent(self) -> u64 {
        match self {
            Basic::PairF64I32 | Basic::PairI64I32 => 16,
            Basic::PairI16I32 => 8,
            Basic::PairLongDoubleI32 => 32,
            other => other.size(),
        }
    }

    /// Where the index of a pair lies, for the pair types.
    pub const fn index_offset(self) -> Option<u64> {
        match self {
            Basic::PairF32I32 | Basic::PairI32I32 | Basic::PairI16I32 | Basic::PairF32F32 => Some(4),
            Basic::PairF64I32 | Basic::PairI64I32 | Basic::PairF64F64 => Some(8),
            Basic::PairLongDoubleI32 => Some(16),
            _ => None,
        }
    }

    /// The two values that a pair consists of, for the pair types.
    pub const fn halves(self) -> Option<[Basic; 2]> {
        match self {
            Basic::PairF32I32 => Some([Basic::F32, Basic::I32]),
            Basic::PairF64I32 => Some([Basic::F64, Basic::I32]),
            Basic::PairI64I32 => Some([Basic::Long, Basic::I32]),
            Basic::PairI32I32 => Some([Basic::I32, Basic::I32]),
            Basic::PairI16I32 => Some([Basic::I16, Basic::I32]),
            Basic::PairLongDoubleI32 => Some([Basic::LongDouble, Basic::I32]),
            Basic::PairF32F32 => Some([Basic::F32, Basic::F32]),
            Basic::PairF64F64 => Some([Basic::F64, Basic::F64]),
            _ => None,
        }
    }

    /// How a C compiler aligns it in a structure.
    pub const fn alignment(self) -> u64 {
        match self {
            Basic::ComplexF32 | Basic::PairF32I32 | Basic::PairI32I32 | Basic::PairI16I32 => 4,
            Basic::PairF32F32 => 4,
            Basic::ComplexF64 | Basic::PairF64I32 | Basic::PairI64I32 | Basic::PairF64F64 => 8,
            Basic::ComplexLongDouble | Basic::PairLongDoubleI32 => 16,
            other if other.size() > 16 => 16,
            other => other.size(),
        }
    }

    /// The layout of one element.
    pub fn layout(self) -> Layout {
        match self {
            // A short, two bytes of padding, an int.
            Basic::PairI16I32 => {
                Layout::new([Block { offset: 0, len: 2 }, Block { offset: 4, len: 4 }], 0, 8)
            }
            other => Layout::new([Block { offset: 0, len: other.size() }], 0, other.extent() as i64),
        }
    }
}

impl fmt::Display for Basic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Basic::I8 => "8-bit integers",
            Basic::I16 => "16-bit integers",
            Basic::I32 => "32-bit integers",
            Basic::I64 | Basic::Long => "64-bit integers",
            Basic::U8 => "unsigned 8-bit integers",
            Basic::U16 => "unsigned 16-bit integers",
            Basic::U32 => "unsigned 32-bit integers",
            Basic::U64 | Basic::UnsignedLong => "unsigned 64-bit integers",
            Basic::F32 => "floats",
            Basic::F64 => "doubles",
            Basic::LongDouble => "long doubles",
            Basic::ComplexF32 | Basic::ComplexF64 | Basic::ComplexLongDouble => "complex numbers",
            Basic::Bool | Basic::Logical { .. } => "logical values",
            Basic::Byte => "bytes",
            Basic::Packed => "packed data",
            Basic::Char { .. } => "characters",
            Basic::Opaque { .. } => "this type",
            _ => "value and index pairs",
        };
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_of_short_and_int_has_a_hole_that_does_not_travel() {
        let layout = Basic::PairI16I32.layout();
        assert_eq!((layout.size(), layout.extent()), (6, 8));
        assert_eq!(layout.runs(), 2);
    }

    #[test]
    fn a_pair_of_double_and_int_has_padding_at_its_end() {
        let layout = Basic::PairF64I32.layout();
        assert_eq!((layout.size(), layout.extent(), layout.runs()), (12, 16, 1));
        assert!(!layout.is_contiguous());
    }
}

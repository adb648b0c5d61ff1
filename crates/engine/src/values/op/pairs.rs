//! MINLOC and MAXLOC (MPI section 6.9.4): the extreme value, and the lowest index that has it.
//!
//! As with MAX and MIN, a NaN in `input` is skipped and one in `inout` stays.

use super::kernels::each;
use crate::values::datatype::Basic;
use crate::values::memory::{Kernel, long_double};

pub(super) fn max_loc(basic: Basic) -> Option<Kernel> {
    pick!(basic, |a, b| a > b, |a, b| long_double::compare(a, b).0)
}

pub(super) fn min_loc(basic: Basic) -> Option<Kernel> {
    pick!(basic, |a, b| a < b, |a, b| long_double::compare(b, a).0)
}

/// The kernel for a pair type; `$beats` says whether the first value wins over the second.
macro_rules! pick {
    ($basic:expr, |$a:ident, $b:ident| $beats:expr, $extended:expr) => {
        match $basic {
            Basic::PairF32I32 => pair!(f32, i32, 4, 8, |$a, $b| $beats),
            Basic::PairF64I32 => pair!(f64, i32, 8, 16, |$a, $b| $beats),
            Basic::PairI64I32 => pair!(i64, i32, 8, 16, |$a, $b| $beats),
            Basic::PairI32I32 => pair!(i32, i32, 4, 8, |$a, $b| $beats),
            Basic::PairI16I32 => pair!(i16, i32, 4, 8, |$a, $b| $beats),
            Basic::PairF32F32 => pair!(f32, f32, 4, 8, |$a, $b| $beats),
            Basic::PairF64F64 => pair!(f64, f64, 8, 16, |$a, $b| $beats),
            Basic::PairLongDoubleI32 if long_double::SUPPORTED => Some(|input, inout| {
                each::<32>(input, inout, |a, b| {
                    let beats: fn(&long_double::Bytes, &long_double::Bytes) -> bool = $extended;
                    let (x, y) = (head::<16, 32>(&a, 0), head::<16, 32>(&b, 0));
                    let earlier = i32::from_ne_bytes(head(&a, 16)) < i32::from_ne_bytes(head(&b, 16));
                    if beats(&x, &y) || (long_double::compare(&x, &y).1 && earlier) { a } else { b }
                })
            }),
            _ => None,
        }
    };
}

macro_rules! pair {
    ($value:ty, $index:ty, $at:literal, $extent:literal, |$a:ident, $b:ident| $beats:expr) => {
        Some(|input, inout| {
            each::<$extent>(input, inout, |a, b| {
                let ($a, $b) = (<$value>::from_ne_bytes(head(&a, 0)), <$value>::from_ne_bytes(head(&b, 0)));
                let earlier = <$index>::from_ne_bytes(head(&a, $at)) < <$index>::from_ne_bytes(head(&b, $at));
                if $beats || ($a == $b && earlier) { a } else { b }
            })
        })
    };
}

use {pair, pick};

/// The N bytes from `at` on.
#[inline(always)]
fn head<const N: usize, const M: usize>(bytes: &[u8; M], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

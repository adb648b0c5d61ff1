//! The predefined operations on the basic types: loops over bytes, many at a time where that is said ([`wide`]).
//!
//! A kernel computes `inout[i] = input[i] op inout[i]` over two slices of whole elements of equal length. Which operation exists
//! on which type is exactly MPI section 6.9.2: [`find`] answers `None` for the rest.

use super::Builtin::{self, *};
use super::pairs;
use crate::values::datatype::Basic;
#[cfg(target_arch = "x86_64")]
use crate::values::memory::wide;
use crate::values::memory::{Kernel, long_double};

/// The kernel of an operation on a type, if the standard defines it.
pub(crate) fn find(op: Builtin, basic: Basic) -> Option<Kernel> {
    match op {
        Replace => return Some(replace),
        NoOp => return Some(keep),
        MinLoc => return pairs::min_loc(basic),
        MaxLoc => return pairs::max_loc(basic),
        _ => {}
    }
    match basic {
        Basic::I8 => integer!(i8, op),
        Basic::I16 => integer!(i16, op),
        Basic::I32 => integer!(i32, op),
        Basic::I64 | Basic::Long => integer!(i64, op),
        Basic::U8 => integer!(u8, op),
        Basic::U16 => integer!(u16, op),
        Basic::U32 => integer!(u32, op),
        Basic::U64 | Basic::UnsignedLong => integer!(u64, op),
        Basic::F32 => single(op),
        Basic::F64 => double(op),
        Basic::LongDouble => extended(op),
        Basic::ComplexF32 => match op {
            Sum => single(Sum),
            Prod => Some(|input, inout| each::<8>(input, inout, complex_product!(f32))),
            _ => None,
        },
        Basic::ComplexF64 => match op {
            Sum => double(Sum),
            Prod => Some(|input, inout| each::<16>(input, inout, complex_product!(f64))),
            _ => None,
        },
        Basic::ComplexLongDouble => match op {
            Sum => extended(Sum),
            Prod if long_double::SUPPORTED => {
                Some(|input, inout| each::<32>(input, inout, complex_extended_product))
            }
            _ => None,
        },
        Basic::Bool => logical(op, 1),
        Basic::Logical { bytes } => logical(op, bytes),
        Basic::Byte => bitwise(op),
        _ => None,
    }
}

/// What makes no difference between numbers with a sign and without, of so many bytes.
fn unsigned(op: Builtin, bytes: u8) -> Option<Kernel> {
    match (op, bytes) {
        (Sum, 1) => on!(u8, |a, b| a.wrapping_add(b), Sum8),
        (Sum, 2) => on!(u16, |a, b| a.wrapping_add(b), Sum16),
        (Sum, 4) => on!(u32, |a, b| a.wrapping_add(b), Sum32),
        (Sum, 8) => on!(u64, |a, b| a.wrapping_add(b), Sum64),
        (Prod, 1) => on!(u8, |a, b| a.wrapping_mul(b)),
        (Prod, 2) => on!(u16, |a, b| a.wrapping_mul(b)),
        (Prod, 4) => on!(u32, |a, b| a.wrapping_mul(b)),
        (Prod, 8) => on!(u64, |a, b| a.wrapping_mul(b)),
        (Land | Lor | Lxor, _) => logical(op, bytes),
        _ => bitwise(op),
    }
}

fn logical(op: Builtin, bytes: u8) -> Option<Kernel> {
    match bytes {
        1 => truth!(u8, op),
        2 => truth!(u16, op),
        4 => truth!(u32, op),
        8 => truth!(u64, op),
        16 => truth!(u128, op),
        _ => None,
    }
}

/// The bits of numbers of any length: eight bytes at a time, then one.
fn bitwise(op: Builtin) -> Option<Kernel> {
    match op {
        Band => bits!(|a, b| a & b, And),
        Bor => bits!(|a, b| a | b, Or),
        Bxor => bits!(|a, b| a ^ b, Xor),
        _ => None,
    }
}

fn single(op: Builtin) -> Option<Kernel> {
    float!(f32, op, MaxF32, MinF32, SumF32, ProductF32)
}

fn double(op: Builtin) -> Option<Kernel> {
    float!(f64, op, MaxF64, MinF64, SumF64, ProductF64)
}

/// Runs `combine` over all elements of N bytes.
#[inline(always)]
pub(super) fn each<const N: usize>(
    input: &[u8],
    inout: &mut [u8],
    combine: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    let (input, _) = input.as_chunks::<N>();
    let (inout, _) = inout.as_chunks_mut::<N>();
    for (b, a) in inout.iter_mut().zip(input) {
        *b = combine(*a, *b);
    }
}

fn replace(input: &[u8], inout: &mut [u8]) {
    inout.copy_from_slice(input);
}

fn keep(_: &[u8], _: &mut [u8]) {}

/// A kernel from an expression on two numbers of a primitive type.
macro_rules! on {
    ($type:ty, $expression:expr) => {
        Some(|input, inout| {
            each::<{ size_of::<$type>() }>(input, inout, |a, b| {
                let combine: fn($type, $type) -> $type = $expression;
                combine(<$type>::from_ne_bytes(a), <$type>::from_ne_bytes(b)).to_ne_bytes()
            })
        })
    };
    ($type:ty, $expression:expr, $wide:ident) => {
        Some(|input, inout| {
            #[cfg(target_arch = "x86_64")]
            let done = wide::each::<wide::$wide>(input, inout);
            #[cfg(not(target_arch = "x86_64"))]
            let done = 0;
            each::<{ size_of::<$type>() }>(&input[done..], &mut inout[done..], |a, b| {
                let combine: fn($type, $type) -> $type = $expression;
                combine(<$type>::from_ne_bytes(a), <$type>::from_ne_bytes(b)).to_ne_bytes()
            })
        })
    };
}

macro_rules! integer {
    ($type:ty, $op:expr) => {
        match $op {
            Max => on!($type, |a, b| if a > b { a } else { b }),
            Min => on!($type, |a, b| if a < b { a } else { b }),
            _ => unsigned($op, size_of::<$type>() as u8),
        }
    };
}

macro_rules! truth {
    ($type:ty, $op:expr) => {
        match $op {
            Land => on!($type, |a, b| ((a != 0) & (b != 0)) as $type),
            Lor => on!($type, |a, b| ((a != 0) | (b != 0)) as $type),
            Lxor => on!($type, |a, b| ((a != 0) ^ (b != 0)) as $type),
            _ => None,
        }
    };
}

macro_rules! bits {
    (|$a:ident, $b:ident| $combined:expr, $wide:ident) => {
        Some(|input, inout| {
            #[cfg(target_arch = "x86_64")]
            let done = wide::each::<wide::$wide>(input, inout);
            #[cfg(not(target_arch = "x86_64"))]
            let done = 0;
            let whole = input.len() / 8 * 8;
            each::<8>(&input[done..whole], &mut inout[done..whole], |a, b| {
                let ($a, $b) = (u64::from_ne_bytes(a), u64::from_ne_bytes(b));
                ($combined).to_ne_bytes()
            });
            each::<1>(&input[whole..], &mut inout[whole..], |[$a], [$b]| [$combined]);
        })
    };
}

macro_rules! float {
    ($type:ty, $op:expr, $max:ident, $min:ident, $sum:ident, $product:ident) => {
        match $op {
            Max => on!($type, |a, b| if a > b { a } else { b }, $max),
            Min => on!($type, |a, b| if a < b { a } else { b }, $min),
            Sum => on!($type, |a, b| a + b, $sum),
            Prod => on!($type, |a, b| a * b, $product),
            _ => None,
        }
    };
}

/// The product of two complex numbers of two primitive ones each, by the textbook formula.
macro_rules! complex_product {
    ($type:ty) => {
        |a, b| {
            const HALF: usize = size_of::<$type>();
            let part = |bytes: &[u8; 2 * HALF], at: usize| {
                let mut number = [0; HALF];
                number.copy_from_slice(&bytes[at..at + HALF]);
                <$type>::from_ne_bytes(number)
            };
            let (a_re, a_im) = (part(&a, 0), part(&a, HALF));
            let (b_re, b_im) = (part(&b, 0), part(&b, HALF));
            let mut product = [0; 2 * HALF];
            product[..HALF].copy_from_slice(&(a_re * b_re - a_im * b_im).to_ne_bytes());
            product[HALF..].copy_from_slice(&(a_re * b_im + a_im * b_re).to_ne_bytes());
            product
        }
    };
}

use {bits, complex_product, float, integer, on, truth};

/// C `long double`.
fn extended(op: Builtin) -> Option<Kernel> {
    if !long_double::SUPPORTED {
        return None;
    }
    match op {
        Max => Some(|input, inout| {
            each::<16>(input, inout, |a, b| if long_double::compare(&a, &b).0 { a } else { b })
        }),
        Min => Some(|input, inout| {
            each::<16>(input, inout, |a, b| if long_double::compare(&b, &a).0 { a } else { b })
        }),
        Sum => Some(|input, inout| each::<16>(input, inout, |a, b| long_double::add(&a, &b))),
        Prod => Some(|input, inout| each::<16>(input, inout, |a, b| long_double::multiply(&a, &b))),
        _ => None,
    }
}

fn complex_extended_product(a: [u8; 32], b: [u8; 32]) -> [u8; 32] {
    use long_double::{add, multiply, subtract};
    let part = |bytes: &[u8; 32], at: usize| {
        let mut number = [0; 16];
        number.copy_from_slice(&bytes[at..at + 16]);
        number
    };
    let (a_re, a_im) = (part(&a, 0), part(&a, 16));
    let (b_re, b_im) = (part(&b, 0), part(&b, 16));
    let mut product = [0; 32];
    product[..16].copy_from_slice(&subtract(&multiply(&a_re, &b_re), &multiply(&a_im, &b_im)));
    product[16..].copy_from_slice(&add(&multiply(&a_re, &b_im), &multiply(&a_im, &b_re)));
    product
}

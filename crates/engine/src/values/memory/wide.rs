//! Sixteen bytes at a time, for the kernels of reductions.
//!
//! The shared library is put together at a level of optimisation that keeps it small, at which the compiler vectorises no loop, whatever crate it is of. So the
//! kernels that matter say themselves what the processor does to sixteen bytes, which every x86-64 can; elsewhere and for the rest the compiler does what it can.

use core::arch::x86_64::*;

/// `inout = wide(input, inout)` for as many whole sixteens as both slices have; returns how many bytes those are.
#[inline(always)]
pub(crate) fn each(input: &[u8], inout: &mut [u8], wide: impl Fn(__m128i, __m128i) -> __m128i) -> usize {
    let len = input.len().min(inout.len());
    let (from, into) = (input.as_ptr(), inout.as_mut_ptr());
    let step = |at: usize| {
        // SAFETY: sixteen bytes of both slices, as the loops below see to; the two do not overlap, and nothing has to be aligned.
        unsafe {
            let (from, into) = (from.add(at).cast(), into.add(at).cast());
            _mm_storeu_si128(into, wide(_mm_loadu_si128(from), _mm_loadu_si128(into)));
        }
    };
    let mut at = 0;
    while len - at >= 64 {
        step(at);
        step(at + 16);
        step(at + 32);
        step(at + 48);
        at += 64;
    }
    while len - at >= 16 {
        step(at);
        at += 16;
    }
    at
}

/// Operations on floating-point numbers, by the instructions' own types.
macro_rules! on_floats {
    ($($name:ident = $instruction:ident on $into:ident, $back:ident;)*) => {
        $(#[inline(always)]
        pub(crate) fn $name(a: __m128i, b: __m128i) -> __m128i {
            // SAFETY: every x86-64 has SSE2.
            unsafe { $back($instruction($into(a), $into(b))) }
        })*
    };
}

on_floats! {
    sum_f32 = _mm_add_ps on _mm_castsi128_ps, _mm_castps_si128;
    product_f32 = _mm_mul_ps on _mm_castsi128_ps, _mm_castps_si128;
    // The second if one of the two is no number: as `if a > b { a } else { b }`.
    max_f32 = _mm_max_ps on _mm_castsi128_ps, _mm_castps_si128;
    min_f32 = _mm_min_ps on _mm_castsi128_ps, _mm_castps_si128;
    sum_f64 = _mm_add_pd on _mm_castsi128_pd, _mm_castpd_si128;
    product_f64 = _mm_mul_pd on _mm_castsi128_pd, _mm_castpd_si128;
    max_f64 = _mm_max_pd on _mm_castsi128_pd, _mm_castpd_si128;
    min_f64 = _mm_min_pd on _mm_castsi128_pd, _mm_castpd_si128;
}

/// Operations on integers.
macro_rules! on_integers {
    ($($name:ident = $instruction:ident;)*) => {
        $(#[inline(always)]
        pub(crate) fn $name(a: __m128i, b: __m128i) -> __m128i {
            // SAFETY: as above.
            unsafe { $instruction(a, b) }
        })*
    };
}

on_integers! {
    sum_8 = _mm_add_epi8;
    sum_16 = _mm_add_epi16;
    sum_32 = _mm_add_epi32;
    sum_64 = _mm_add_epi64;
    and = _mm_and_si128;
    or = _mm_or_si128;
    xor = _mm_xor_si128;
}

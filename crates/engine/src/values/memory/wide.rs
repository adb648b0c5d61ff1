//! Many bytes at a time, for the kernels of reductions.
//!
//! The shared library is put together at a level of optimisation that keeps it small, at which the compiler vectorises no loop, whatever crate it is of. So the
//! kernels that matter say themselves what the processor does to sixteen bytes, which every x86-64 can, and to thirty-two and sixty-four, if it [has](processor::width)
//! such registers; elsewhere and for the rest the compiler does what it can.

use core::arch::x86_64::*;
use core::mem::transmute;

use processor::{Width, width};

/// What is done to the bytes of both sides, however many they are.
pub(crate) trait Wide {
    /// Programs do it often: worth the room for sixty-four bytes at a time.
    const OFTEN: bool;

    fn sixteen(a: __m128i, b: __m128i) -> __m128i;

    /// # Safety
    /// The processor has AVX2.
    unsafe fn thirty_two(a: __m256i, b: __m256i) -> __m256i;

    /// # Safety
    /// The processor has AVX-512 with bytes and words.
    unsafe fn sixty_four(a: __m512i, b: __m512i) -> __m512i;
}

/// `inout = wide(input, inout)` for as many whole sixteens as both slices have; returns how many bytes those are.
#[inline(always)]
pub(crate) fn each<W: Wide>(input: &[u8], inout: &mut [u8]) -> usize {
    let len = input.len().min(inout.len());
    let (from, into) = (input.as_ptr(), inout.as_mut_ptr());
    let mut at = 0;
    if len >= LONG {
        let width = width();
        if W::OFTEN && len >= LONGER && width == Width::SixtyFour {
            at = len / 256 * 256;
            // SAFETY: the processor has what it takes, and both slices have so many bytes. They do not overlap.
            unsafe { by_sixty_four::<W>(from, into, at) };
        }
        if width >= Width::ThirtyTwo {
            let rest = (len - at) / 128 * 128;
            // SAFETY: as above.
            unsafe { by_thirty_two::<W>(from.add(at), into.add(at), rest) };
            at += rest;
        }
    }
    while len - at >= 16 {
        // SAFETY: sixteen bytes of both slices, which do not overlap; nothing has to be aligned.
        unsafe {
            let (from, into) = (from.add(at).cast(), into.add(at).cast());
            _mm_storeu_si128(into, W::sixteen(_mm_loadu_si128(from), _mm_loadu_si128(into)));
        }
        at += 16;
    }
    at
}

/// Bytes below which the wider instructions win nothing, and the widest nothing more.
const LONG: usize = 256;
const LONGER: usize = 2048;

/// # Safety
/// The processor has AVX2; both sides have `len` bytes, which are a multiple of 128, and do not overlap.
#[target_feature(enable = "avx2")]
unsafe fn by_thirty_two<W: Wide>(from: *const u8, into: *mut u8, len: usize) {
    for at in (0..len).step_by(128) {
        // SAFETY: the caller's promise. What is read is read before anything is written, or the processor would have to find out that it is something else.
        unsafe {
            let (from, into) = (from.add(at).cast::<__m256i>(), into.add(at).cast::<__m256i>());
            let step = |n| W::thirty_two(_mm256_loadu_si256(from.add(n)), _mm256_loadu_si256(into.add(n)));
            for (n, sum) in [step(0), step(1), step(2), step(3)].into_iter().enumerate() {
                _mm256_storeu_si256(into.add(n), sum);
            }
        }
    }
}

/// # Safety
/// The processor has AVX-512 with bytes and words; both sides have `len` bytes, which are a multiple of 256, and do not overlap.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn by_sixty_four<W: Wide>(from: *const u8, into: *mut u8, len: usize) {
    for at in (0..len).step_by(256) {
        // SAFETY: as above.
        unsafe {
            let (from, into) = (from.add(at).cast::<__m512i>(), into.add(at).cast::<__m512i>());
            let step = |n| W::sixty_four(_mm512_loadu_si512(from.add(n)), _mm512_loadu_si512(into.add(n)));
            for (n, sum) in [step(0), step(1), step(2), step(3)].into_iter().enumerate() {
                _mm512_storeu_si512(into.add(n), sum);
            }
        }
    }
}

/// Operations by their instructions, whose types are other names for the same bits.
macro_rules! operations {
    ($($name:ident, $often:literal: $narrow:ident, $wide:ident, $widest:ident;)*) => {
        $(pub(crate) struct $name;

        #[allow(clippy::useless_transmute, clippy::missing_transmute_annotations, reason = "integers have the type already")]
        impl Wide for $name {
            const OFTEN: bool = $often;

            #[inline(always)]
            fn sixteen(a: __m128i, b: __m128i) -> __m128i {
                // SAFETY: every x86-64 has SSE2; the types are as long as each other, and any bits are one.
                unsafe { transmute($narrow(transmute(a), transmute(b))) }
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            unsafe fn thirty_two(a: __m256i, b: __m256i) -> __m256i {
                // SAFETY: as above.
                unsafe { transmute($wide(transmute(a), transmute(b))) }
            }

            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            unsafe fn sixty_four(a: __m512i, b: __m512i) -> __m512i {
                // SAFETY: as above.
                unsafe { transmute($widest(transmute(a), transmute(b))) }
            }
        })*
    };
}

operations! {
    SumF32, true: _mm_add_ps, _mm256_add_ps, _mm512_add_ps;
    ProductF32, false: _mm_mul_ps, _mm256_mul_ps, _mm512_mul_ps;
    // The second if one of the two is no number: as `if a > b { a } else { b }`.
    MaxF32, false: _mm_max_ps, _mm256_max_ps, _mm512_max_ps;
    MinF32, false: _mm_min_ps, _mm256_min_ps, _mm512_min_ps;
    SumF64, true: _mm_add_pd, _mm256_add_pd, _mm512_add_pd;
    ProductF64, false: _mm_mul_pd, _mm256_mul_pd, _mm512_mul_pd;
    MaxF64, true: _mm_max_pd, _mm256_max_pd, _mm512_max_pd;
    MinF64, true: _mm_min_pd, _mm256_min_pd, _mm512_min_pd;
    Sum8, false: _mm_add_epi8, _mm256_add_epi8, _mm512_add_epi8;
    Sum16, false: _mm_add_epi16, _mm256_add_epi16, _mm512_add_epi16;
    Sum32, true: _mm_add_epi32, _mm256_add_epi32, _mm512_add_epi32;
    Sum64, true: _mm_add_epi64, _mm256_add_epi64, _mm512_add_epi64;
    And, false: _mm_and_si128, _mm256_and_si256, _mm512_and_si512;
    Or, false: _mm_or_si128, _mm256_or_si256, _mm512_or_si512;
    Xor, false: _mm_xor_si128, _mm256_xor_si256, _mm512_xor_si512;
}

//! Many bytes at a time, for the kernels of reductions.
//!
//! The shared library is put together at a level of optimisation that keeps it small, at which the compiler vectorises no loop, whatever crate it is of. So the
//! kernels that matter say themselves what the processor does to sixteen bytes, which every x86-64 can, and to thirty-two, which is asked for when the first kernel
//! runs; elsewhere and for the rest the compiler does what it can.

use core::arch::x86_64::*;
use core::mem::transmute;
use core::sync::atomic::{AtomicU8, Ordering};

/// What is done to the bytes of both sides, which makes no difference between sixteen and thirty-two.
pub(crate) trait Wide {
    fn sixteen(a: __m128i, b: __m128i) -> __m128i;

    /// # Safety
    /// The processor has AVX2.
    unsafe fn thirty_two(a: __m256i, b: __m256i) -> __m256i;
}

/// `inout = wide(input, inout)` for as many whole sixteens as both slices have; returns how many bytes those are.
#[inline(always)]
pub(crate) fn each<W: Wide>(input: &[u8], inout: &mut [u8]) -> usize {
    let len = input.len().min(inout.len());
    let (from, into) = (input.as_ptr(), inout.as_mut_ptr());
    let mut at = 0;
    if len >= LONG && has_avx2() {
        at = len / 128 * 128;
        // SAFETY: the processor has what it takes, and both slices have so many bytes. They do not overlap.
        unsafe { by_thirty_two::<W>(from, into, at) };
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

/// Bytes below which the wider instructions win nothing.
const LONG: usize = 256;

/// # Safety
/// The processor has AVX2; both sides have `len` bytes, which are a multiple of 128, and do not overlap.
#[target_feature(enable = "avx2")]
unsafe fn by_thirty_two<W: Wide>(from: *const u8, into: *mut u8, len: usize) {
    // SAFETY: the caller's promise, for each step.
    let step = |at: usize| unsafe {
        let (from, into) = (from.add(at).cast(), into.add(at).cast());
        _mm256_storeu_si256(into, W::thirty_two(_mm256_loadu_si256(from), _mm256_loadu_si256(into)));
    };
    for at in (0..len).step_by(128) {
        step(at);
        step(at + 32);
        step(at + 64);
        step(at + 96);
    }
}

/// Whether the processor has AVX2 and the system keeps its registers; asked once.
#[inline(always)]
fn has_avx2() -> bool {
    match KNOWN.load(Ordering::Relaxed) {
        0 => ask_for_avx2(),
        known => known == 2,
    }
}

/// 0 until it was asked, then 1 for no and 2 for yes.
static KNOWN: AtomicU8 = AtomicU8::new(0);

#[cold]
fn ask_for_avx2() -> bool {
    let features = __cpuid(1).ecx;
    let (saves_registers, avx) = (features >> 27 & 1 != 0, features >> 28 & 1 != 0);
    let avx2 = __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ebx >> 5 & 1 != 0;
    // SAFETY: the instruction is there, as the first of the bits says.
    let has = saves_registers && avx && avx2 && unsafe { _xgetbv(0) } & 6 == 6;
    KNOWN.store(if has { 2 } else { 1 }, Ordering::Relaxed);
    has
}

/// Operations by their instructions, whose types are other names for the same bits.
macro_rules! operations {
    ($($name:ident: $narrow:ident, $wide:ident;)*) => {
        $(pub(crate) struct $name;

        #[allow(clippy::useless_transmute, clippy::missing_transmute_annotations, reason = "integers have the type already")]
        impl Wide for $name {
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
        })*
    };
}

operations! {
    SumF32: _mm_add_ps, _mm256_add_ps;
    ProductF32: _mm_mul_ps, _mm256_mul_ps;
    // The second if one of the two is no number: as `if a > b { a } else { b }`.
    MaxF32: _mm_max_ps, _mm256_max_ps;
    MinF32: _mm_min_ps, _mm256_min_ps;
    SumF64: _mm_add_pd, _mm256_add_pd;
    ProductF64: _mm_mul_pd, _mm256_mul_pd;
    MaxF64: _mm_max_pd, _mm256_max_pd;
    MinF64: _mm_min_pd, _mm256_min_pd;
    Sum8: _mm_add_epi8, _mm256_add_epi8;
    Sum16: _mm_add_epi16, _mm256_add_epi16;
    Sum32: _mm_add_epi32, _mm256_add_epi32;
    Sum64: _mm_add_epi64, _mm256_add_epi64;
    And: _mm_and_si128, _mm256_and_si256;
    Or: _mm_or_si128, _mm256_or_si256;
    Xor: _mm_xor_si128, _mm256_xor_si256;
}

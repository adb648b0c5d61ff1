//! Many bytes at a time, for the kernels of reductions, and for copies of a few pages.
//!
//! The shared library is put together at a level of optimisation that keeps it small, at which the compiler vectorises no loop, whatever crate it is of. So the
//! kernels that matter say themselves what the processor does to sixteen bytes, which every x86-64 can, and to thirty-two and sixty-four, which is asked for when the
//! first kernel runs; elsewhere and for the rest the compiler does what it can.

use core::arch::x86_64::*;
use core::mem::transmute;
use core::sync::atomic::{AtomicU8, Ordering};

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
        let widest = widest();
        if W::OFTEN && len >= LONGER && widest == SIXTY_FOUR {
            at = len / 256 * 256;
            // SAFETY: the processor has what it takes, and both slices have so many bytes. They do not overlap.
            unsafe { by_sixty_four::<W>(from, into, at) };
        }
        if widest >= THIRTY_TWO {
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

/// Bytes of a copy that [`copy`] is quicker for than the system's. That takes the processor's own instruction for strings then, which needs a while to begin, and some times as
/// long where the bytes begin at a line and their copy does not. Longer copies are as quick as the memory is.
pub(crate) const COPIED: core::ops::RangeInclusive<usize> = 2048..=16384;

/// Copies so many bytes, if the processor takes sixty-four at a time and they do not overlap with their copy; false, and nothing is copied, otherwise.
///
/// # Safety
/// The bytes can be read, and written where they are copied to.
#[inline(never)]
pub(crate) unsafe fn copy(from: *const u8, into: *mut u8, len: usize) -> bool {
    let can = widest() == SIXTY_FOUR && len >= 64 && from.addr().abs_diff(into.addr()) >= len;
    if can {
        // SAFETY: the processor has what it takes; the rest is the caller's promise and was looked at.
        unsafe { copy_by_sixty_four(from, into, len) };
    }
    can
}

/// # Safety
/// The processor has AVX-512; there are `len` bytes on both sides, at least 64, which do not overlap.
#[target_feature(enable = "avx512f")]
unsafe fn copy_by_sixty_four(from: *const u8, into: *mut u8, len: usize) {
    // SAFETY: the caller's promise: every step lies within the bytes, the first and the last of which may overlap with those between them.
    unsafe {
        let load = |at: usize| _mm512_loadu_si512(from.add(at).cast());
        let store = |at: usize, bytes| _mm512_storeu_si512(into.add(at).cast(), bytes);
        let last = load(len - 64);
        store(0, load(0));
        // From a line on: a store across two lines costs as much as two.
        let mut at = 64 - (into.addr() & 63);
        while at + 256 <= len {
            let (a, b, c, d) = (load(at), load(at + 64), load(at + 128), load(at + 192));
            store(at, a);
            store(at + 64, b);
            store(at + 128, c);
            store(at + 192, d);
            at += 256;
        }
        while at + 64 <= len {
            store(at, load(at));
            at += 64;
        }
        store(len - 64, last);
    }
}

/// Copies so many bytes, a line of each quarter of them in turn. A processor asks for lines ahead of those that are read, or written, page by page: with several pages under way it asks for more at a
/// time, which pays where each has to come from the cache of another core.
///
/// # Safety
/// As of [`core::ptr::copy_nonoverlapping`].
#[inline(never)]
pub(crate) unsafe fn copy_in_turn(from: *const u8, into: *mut u8, len: usize) {
    // From a line on: stores across two lines would take back all that is gained.
    let head = (into.addr().wrapping_neg() & 63).min(len);
    let quarter = if widest() >= THIRTY_TWO { (len - head) / 256 * 64 } else { 0 };
    let done = head + 4 * quarter;
    // SAFETY: the caller's promise, for parts that are all of the bytes; there are quarters only if the processor has what they take.
    unsafe {
        core::ptr::copy_nonoverlapping(from, into, head);
        if quarter > 0 {
            copy_quarters(from.add(head), into.add(head), quarter);
        }
        core::ptr::copy_nonoverlapping(from.add(done), into.add(done), len - done);
    }
}

/// # Safety
/// The processor has AVX2; there are four times `quarter` bytes on both sides, which is a multiple of 64, and they do not overlap.
#[target_feature(enable = "avx2")]
unsafe fn copy_quarters(from: *const u8, into: *mut u8, quarter: usize) {
    for line in (0..quarter).step_by(64) {
        for part in 0..4 {
            let at = part * quarter + line;
            // SAFETY: the caller's promise.
            unsafe {
                let (from, into) = (from.add(at).cast::<__m256i>(), into.add(at).cast::<__m256i>());
                let (first, second) = (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1)));
                _mm256_storeu_si256(into, first);
                _mm256_storeu_si256(into.add(1), second);
            }
        }
    }
}

/// How many bytes the processor takes at a time, if the system keeps the registers; asked once.
#[inline(always)]
fn widest() -> u8 {
    match KNOWN.load(Ordering::Relaxed) {
        0 => ask(),
        known => known,
    }
}

/// 0 until it was asked.
static KNOWN: AtomicU8 = AtomicU8::new(0);

const SIXTEEN: u8 = 1;
const THIRTY_TWO: u8 = 2;
const SIXTY_FOUR: u8 = 3;

#[cold]
fn ask() -> u8 {
    let features = __cpuid(1).ecx;
    let (saves_registers, avx) = (features >> 27 & 1 != 0, features >> 28 & 1 != 0);
    let widest = if saves_registers && avx && __cpuid(0).eax >= 7 {
        let more = __cpuid_count(7, 0);
        // SAFETY: the instruction is there, as the first of the bits says.
        let kept = unsafe { _xgetbv(0) };
        let has = |bit: u32| more.ebx >> bit & 1 != 0;
        let (avx2, avx512) = (has(5), has(16) && has(30));
        // The first processors with AVX-512 slow down for it, and stay slow for a while. Those that have VBMI2, too, do not.
        let at_full_speed = more.ecx >> 6 & 1 != 0;
        if avx2 && avx512 && at_full_speed && kept & 0xe6 == 0xe6 {
            SIXTY_FOUR
        } else if avx2 && kept & 0x6 == 0x6 {
            THIRTY_TWO
        } else {
            SIXTEEN
        }
    } else {
        SIXTEEN
    };
    KNOWN.store(widest, Ordering::Relaxed);
    widest
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

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::copy_in_turn;

    proptest! {
        #[test]
        fn bytes_that_are_copied_in_turn_are_all_copied_and_nothing_else_is_changed(
            len in 0_usize..20_000,
            before in 0_usize..130,
            ahead in 0_usize..130,
        ) {
            let bytes: Vec<u8> = (0..ahead + len).map(|at| (at * 7 + at / 251) as u8).collect();
            let mut found = alloc::vec![255; before + len + 64];
            // SAFETY: both have room for so many bytes from there on.
            unsafe { copy_in_turn(bytes.as_ptr().add(ahead), found.as_mut_ptr().add(before), len) };
            prop_assert_eq!(&found[before..before + len], &bytes[ahead..]);
            prop_assert!(found[..before].iter().chain(&found[before + len..]).all(|byte| *byte == 255));
        }
    }
}

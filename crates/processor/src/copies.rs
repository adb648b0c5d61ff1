//! Copies of a few pages and more.
//!
//! The C library takes the processor's own instruction for strings (`rep movs`) from some kilobytes on. On a processor of 2019 that takes up to twice as long as a loop of ordinary loads and stores that asks for lines ahead on both sides,
//! where these come from another core or from the cache that all cores share; of four and eight kilobytes it is quicker (decision 64). Processors whose widest registers are at full speed were measured
//! before: they keep their own instruction, but for what fits into the nearest cache.

use core::ptr;

#[cfg(target_arch = "x86_64")]
use self::x86_64 as machine;
#[cfg(target_arch = "x86_64")]
use crate::registers::{Width, width};

/// From so many bytes on a loop of our own is quicker than a call of the C library, if at all.
const LONG: usize = 16 << 10;

/// The same of what is in the nearest caches, or in another core's.
const SHORT: usize = 2 << 10;

/// Copies bytes.
///
/// # Safety
/// As of [`ptr::copy_nonoverlapping`].
#[inline(always)]
pub unsafe fn copy(from: *const u8, into: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if len >= LONG && machine::copy(from, into, len) {
            return;
        }
        ptr::copy_nonoverlapping(from, into, len);
    }
}

/// As [`copy`], while another core copies as much the other way, into memory that this one has read last and will read next. A loop of our own has both cores ask for each other's lines at the same time; the C library's copies
/// take lines for writing without their contents.
///
/// # Safety
/// As of [`ptr::copy_nonoverlapping`].
#[inline(always)]
pub unsafe fn copy_in_bulk(from: *const u8, into: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { ptr::copy_nonoverlapping(from, into, len) };
}

/// Copies bytes, which may overlap with their copy.
///
/// # Safety
/// As of [`ptr::copy`].
#[inline(always)]
pub unsafe fn copy_overlapping(from: *const u8, into: *mut u8, len: usize) {
    // SAFETY: the caller's promise, and that they do not overlap where that is asked for.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if len >= LONG && are_apart(from, into, len) && machine::copy(from, into, len) {
            return;
        }
        ptr::copy(from, into, len);
    }
}

/// As [`copy_overlapping`], of bytes that are in the nearest caches if they are few.
///
/// # Safety
/// As of [`ptr::copy`].
#[inline(always)]
pub unsafe fn copy_short(from: *const u8, into: *mut u8, len: usize) {
    // SAFETY: as above.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if len >= SHORT && are_apart(from, into, len) && machine::copy_short(from, into, len) {
            return;
        }
        ptr::copy(from, into, len);
    }
}

/// Copies many bytes, of which either side is in the cache of another core: what it has just written, or where it has just read.
///
/// # Safety
/// As of [`ptr::copy_nonoverlapping`].
#[inline]
pub unsafe fn copy_across(from: *const u8, into: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if len >= SHORT && machine::copy_across(from, into, len) {
            return;
        }
        ptr::copy_nonoverlapping(from, into, len);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn are_apart(from: *const u8, into: *mut u8, len: usize) -> bool {
    from.addr().abs_diff(into.addr()) >= len
}

/// Each answers whether it has copied the bytes: not every processor has what it takes.
#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use core::arch::x86_64::*;

    use super::{LONG, Width, width};
    #[cfg(test)]
    use super::{SHORT, ptr};
    use crate::hints::{self, LINE};

    /// Up to so many bytes. Of more, neither side stays in the second cache, and the processor's own instruction, which takes lines for writing without their contents, is quicker again.
    const LONGEST: usize = 512 << 10;

    /// How far ahead lines are asked for: far enough for one of another core, and over the end of the page, where the processor itself stops to ask.
    const AHEAD: usize = 1 << 10;

    /// # Safety
    /// As of [`core::ptr::copy_nonoverlapping`]; there are [`LONG`] bytes.
    #[inline(never)]
    pub(super) unsafe fn copy(from: *const u8, into: *mut u8, len: usize) -> bool {
        let can = len <= LONGEST && width() == Width::ThirtyTwo;
        if can {
            // SAFETY: the processor has what it takes; the rest is the caller's promise.
            unsafe { by_lines(from, into, len) };
        }
        can
    }

    /// # Safety
    /// As of [`core::ptr::copy_nonoverlapping`]; there are [`SHORT`](super::SHORT) bytes.
    #[inline(never)]
    pub(super) unsafe fn copy_short(from: *const u8, into: *mut u8, len: usize) -> bool {
        let (short, wide) = (len <= LONG, width() == Width::SixtyFour);
        match (short, wide) {
            // SAFETY: the processor has what it takes; the rest is the caller's promise.
            (true, true) => unsafe { by_wide_lines(from, into, len) },
            (true, false) => {}
            // SAFETY: the caller's promise.
            (false, _) => return unsafe { copy(from, into, len) },
        }
        wide
    }

    /// A processor asks for lines ahead of those that are read, or written, page by page: with a line of each of four quarters in turn it asks for more at a time.
    ///
    /// # Safety
    /// As of [`copy_short`].
    #[inline(never)]
    pub(super) unsafe fn copy_across(from: *const u8, into: *mut u8, len: usize) -> bool {
        // SAFETY: the processor has what it takes; the rest is the caller's promise.
        unsafe {
            match width() {
                Width::Sixteen => return false,
                Width::ThirtyTwo => by_lines(from, into, len),
                Width::SixtyFour => by_quarters(from, into, len),
            }
        }
        true
    }

    /// # Safety
    /// The processor has AVX2; the rest as of [`copy_short`].
    #[target_feature(enable = "avx2")]
    unsafe fn by_lines(from: *const u8, into: *mut u8, len: usize) {
        // SAFETY: the caller's promise: every line lies within the bytes, the first and the last of which may overlap with those between them.
        unsafe {
            line(from, into);
            // From a line of the destination on: a store across two lines costs as much as two.
            let mut at = LINE - (into.addr() & (LINE - 1));
            // What lies behind the bytes is not asked for: another core may be about to use it.
            while at + AHEAD + LINE <= len {
                hints::will_read(from.add(at + AHEAD), LINE);
                hints::will_write(into.add(at + AHEAD), LINE);
                line(from.add(at), into.add(at));
                at += LINE;
            }
            while at + LINE <= len {
                line(from.add(at), into.add(at));
                at += LINE;
            }
            line(from.add(len - LINE), into.add(len - LINE));
        }
    }

    /// # Safety
    /// The processor has AVX2; there are 64 bytes on both sides, which do not overlap.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn line(from: *const u8, into: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            let (from, into) = (from.cast::<__m256i>(), into.cast::<__m256i>());
            let (first, second) = (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1)));
            _mm256_storeu_si256(into, first);
            _mm256_storeu_si256(into.add(1), second);
        }
    }

    /// # Safety
    /// The processor has AVX2; the rest as of [`copy_short`].
    #[target_feature(enable = "avx2")]
    unsafe fn by_quarters(from: *const u8, into: *mut u8, len: usize) {
        let head = LINE - (into.addr() & (LINE - 1));
        let quarter = (len - head) / (4 * LINE) * LINE;
        // SAFETY: as in `by_lines`.
        unsafe {
            line(from, into);
            for within in (head..head + quarter).step_by(LINE) {
                for part in 0..4 {
                    let at = part * quarter + within;
                    line(from.add(at), into.add(at));
                }
            }
            for at in (head + 4 * quarter..len - LINE).step_by(LINE) {
                line(from.add(at), into.add(at));
            }
            line(from.add(len - LINE), into.add(len - LINE));
        }
    }

    /// # Safety
    /// The processor has AVX-512; the rest as of [`copy_short`].
    #[target_feature(enable = "avx512f")]
    unsafe fn by_wide_lines(from: *const u8, into: *mut u8, len: usize) {
        // SAFETY: as in `by_lines`.
        unsafe {
            let load = |at: usize| _mm512_loadu_si512(from.add(at).cast());
            let store = |at: usize, bytes| _mm512_storeu_si512(into.add(at).cast(), bytes);
            store(0, load(0));
            let mut at = LINE - (into.addr() & (LINE - 1));
            while at + 4 * LINE <= len {
                let (a, b, c, d) = (load(at), load(at + LINE), load(at + 2 * LINE), load(at + 3 * LINE));
                store(at, a);
                store(at + LINE, b);
                store(at + 2 * LINE, c);
                store(at + 3 * LINE, d);
                at += 4 * LINE;
            }
            while at + LINE <= len {
                store(at, load(at));
                at += LINE;
            }
            store(len - LINE, load(len - LINE));
        }
    }

    /// What the processor can do, whether it would or not.
    #[cfg(test)]
    pub(super) fn ways() -> std::vec::Vec<(&'static str, super::tests::Copy)> {
        macro_rules! way {
            ($way:expr) => {{
                unsafe fn way(from: *const u8, into: *mut u8, len: usize) {
                    // SAFETY: the processor was asked, and there are as many bytes as it takes.
                    unsafe {
                        match len >= SHORT {
                            true => $way(from, into, len),
                            false => ptr::copy_nonoverlapping(from, into, len),
                        }
                    }
                }
                (stringify!($way), way as super::tests::Copy)
            }};
        }
        let mut ways = std::vec::Vec::new();
        if std::is_x86_feature_detected!("avx2") {
            ways.extend([way!(by_lines), way!(by_quarters)]);
        }
        if std::is_x86_feature_detected!("avx512f") {
            ways.push(way!(by_wide_lines));
        }
        ways
    }
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    pub(super) type Copy = unsafe fn(*const u8, *mut u8, usize);

    /// Every way that this processor has: those that others take are tried as far as it can.
    fn ways() -> Vec<(&'static str, Copy)> {
        let mut ways: Vec<(&'static str, Copy)> = vec![
            ("copy", copy),
            ("copy_overlapping", copy_overlapping),
            ("copy_short", copy_short),
            ("copy_across", copy_across),
        ];
        #[cfg(target_arch = "x86_64")]
        ways.extend(x86_64::ways());
        ways
    }

    /// Lengths around those from which on something else is done.
    #[test]
    fn copies_of_any_length_may_overlap_with_what_they_are_of() {
        const ROOM: usize = 40_000;
        let numbers: Vec<u8> = (0..ROOM).map(|at| (at * 7 + at / 251) as u8).collect();
        for len in [0, 1, 64, 2047, 2048, 2049, 2111, 4096, 4100, 8191, 16383, 16384, 16385, 17472, 19999] {
            for (from, into) in [0, 1, 16, 63]
                .into_iter()
                .flat_map(|a| [(a, a), (a, a + 7), (a + 7, a), (a, 20_000), (20_001, a)])
            {
                for way in [copy_overlapping, copy_short] {
                    let mut bytes = numbers.clone();
                    let mut expected = numbers.clone();
                    expected.copy_within(from..from + len, into);
                    // SAFETY: both lie within these bytes.
                    unsafe { way(bytes.as_ptr().add(from), bytes.as_mut_ptr().add(into), len) };
                    assert!(bytes == expected, "{len} bytes from {from} to {into}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn all_bytes_are_copied_and_nothing_else_is_changed(
            len in prop_oneof![0_usize..300, 1_900_usize..2_200, 2_048_usize..40_000],
            before in 0_usize..130,
            ahead in 0_usize..130,
        ) {
            let bytes: Vec<u8> = (0..ahead + len).map(|at| (at * 7 + at / 251) as u8).collect();
            for (name, way) in ways() {
                let mut found = vec![255; before + len + 64];
                // SAFETY: both have room for so many bytes from there on.
                unsafe { way(bytes.as_ptr().add(ahead), found.as_mut_ptr().add(before), len) };
                prop_assert_eq!(&found[before..before + len], &bytes[ahead..], "{}", name);
                prop_assert!(found[..before].iter().chain(&found[before + len..]).all(|byte| *byte == 255), "{}", name);
            }
        }

        #[test]
        fn bytes_that_overlap_with_their_copy_are_copied(
            len in prop_oneof![0_usize..300, 2_048_usize..40_000],
            from in 0_usize..5_000,
            into in 0_usize..5_000,
        ) {
            let bytes: Vec<u8> = (0..5_000 + len).map(|at| (at * 7 + at / 251) as u8).collect();
            for way in [copy_overlapping, copy_short] {
                let mut found = bytes.clone();
                // SAFETY: both lie within these bytes.
                unsafe { way(found.as_ptr().add(from), found.as_mut_ptr().add(into), len) };
                prop_assert_eq!(&found[into..into + len], &bytes[from..from + len]);
            }
        }
    }
}

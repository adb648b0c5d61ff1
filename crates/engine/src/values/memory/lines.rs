//! Hints to the caches, which change no value. To fetch a line that is not there, or that another core has written, or the right to write one that another has read, takes long, and many can be on their way
//! at a time.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Fewer bytes are on their way soon enough.
const BYTES_LEAST: usize = 1 << 10;

/// More would drive each other out of the first cache.
const BYTES_MOST: usize = 16 << 10;

/// These bytes will be read soon, which another core has written.
pub(super) fn will_read(begin: *mut u8, bytes: usize) {
    each_line(begin, bytes, fetch);
}

/// These bytes will be written soon, which another core has read.
pub(super) fn will_write(begin: *mut u8, bytes: usize) {
    each_line(begin, bytes, claim);
}

#[inline(always)]
fn each_line(begin: *mut u8, bytes: usize, hint: impl Fn(*mut u8)) {
    if bytes >= BYTES_LEAST {
        for offset in (0..bytes.min(BYTES_MOST)).step_by(LINE) {
            hint(begin.wrapping_add(offset));
        }
    }
}

/// Brings the line of an address into the cache. Any address will do, also one that is nobody's.
#[inline(always)]
pub(super) fn fetch(place: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which never faults.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// The same for a line that will be written.
#[inline(always)]
fn claim(place: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as above; where `prefetchw` is unknown it does nothing. The compiler knows of it on some processors alone.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

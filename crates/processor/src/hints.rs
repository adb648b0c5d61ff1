//! Hints to the caches. They change no value and fault at no address, also at one that is nobody's; a processor that does not know one does nothing.
//!
//! To fetch a line that another core has written, or the right to write one that another has read, takes a round trip between them, and many can be on their way at a time.

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// These bytes will be read by this core soon.
#[inline(always)]
pub fn will_read(begin: *const u8, bytes: usize) {
    each_line(begin, bytes, |line| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint; see the head of this file.
        unsafe {
            core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(line.cast());
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            core::arch::asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, preserves_flags));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = line;
    });
}

/// Whether it is worth [asking](will_read) for all that a copy reads just before that begins. On a processor of 2019 it only keeps the copy from beginning: its loads, or its instruction for strings, ask for as many lines at a time (decision 64).
#[inline]
pub fn are_worth_it_before_copies() -> bool {
    #[cfg(target_arch = "x86_64")]
    return crate::width() != crate::Width::ThirtyTwo;
    #[cfg(not(target_arch = "x86_64"))]
    true
}

/// These bytes will be written by this core soon.
#[inline(always)]
pub fn will_write(begin: *const u8, bytes: usize) {
    each_line(begin, bytes, |line| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above. (By its name, since the compiler knows of the instruction on some processors alone.)
        unsafe {
            core::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            core::arch::asm!("prfm pstl1keep, [{}]", in(reg) line, options(nostack, preserves_flags));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = line;
    });
}

/// What this core has written to these bytes will be read by another one next: they go to the cache that all cores share.
#[inline(always)]
pub fn hand_over(begin: *const u8, bytes: usize) {
    each_line(begin, bytes, |line| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above, of `cldemote`.
        unsafe {
            core::arch::asm!("cldemote [{}]", in(reg) line, options(nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    });
}

#[inline(always)]
fn each_line(begin: *const u8, bytes: usize, hint: impl Fn(*const u8)) {
    for offset in (0..bytes).step_by(LINE) {
        hint(begin.wrapping_add(offset));
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    #[test]
    fn hints_change_nothing_and_may_be_given_of_any_address() {
        let bytes = vec![7_u8; 10_000];
        for hint in [super::will_read, super::will_write, super::hand_over] {
            hint(bytes.as_ptr(), bytes.len());
            hint(core::ptr::null(), 100);
            hint(core::ptr::without_provenance(usize::MAX - 10), 200);
        }
        assert!(bytes.iter().all(|byte| *byte == 7));
    }
}

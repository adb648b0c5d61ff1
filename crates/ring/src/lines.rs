//! Hints to the caches of sender and receiver, for ranks that have a core each.
//!
//! A line that one core has written is fetched by another at the price of a round trip between them, and so is the right to write a line
//! that the other has read. Both can begin before they are needed: the sender hands over what it has written to the cache that all
//! cores share ([`hand_over`]), and asks for the lines that it will write next while it has nothing else to do ([`expect`]).
//!
//! Hints change no value. Where ranks take turns on a core they would only cost time, and nobody asks for them.

/// Bytes of a cache line.
const LINE: usize = 64;

/// What was written to these bytes will be read by another core next.
#[inline(always)]
pub(crate) fn hand_over(begin: *const u8, bytes: usize) {
    each_line(begin, bytes, |line| {
        #[cfg(all(target_arch = "x86_64", not(loom)))]
        // SAFETY: `cldemote`, which touches no architectural state and faults at no address; where it is unknown it is a no-op.
        unsafe {
            core::arch::asm!("cldemote [{}]", in(reg) line, options(nostack, preserves_flags));
        }
        #[cfg(not(all(target_arch = "x86_64", not(loom))))]
        let _ = line;
    });
}

/// These bytes will be written by this core soon.
#[inline(always)]
pub(crate) fn expect(begin: *const u8, bytes: usize) {
    each_line(begin, bytes, |line| {
        #[cfg(all(target_arch = "x86_64", not(loom)))]
        // SAFETY: `prefetchw` changes no value and faults at no address; where it is unknown it is a no-op.
        unsafe {
            core::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
        }
        #[cfg(all(target_arch = "aarch64", not(loom)))]
        // SAFETY: a prefetch for a store changes no value and faults at no address.
        unsafe {
            core::arch::asm!("prfm pstl1keep, [{}]", in(reg) line, options(nostack, preserves_flags));
        }
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(loom))))]
        let _ = line;
    });
}

#[inline(always)]
fn each_line(begin: *const u8, bytes: usize, hint: impl Fn(*const u8)) {
    for offset in (0..bytes).step_by(LINE) {
        hint(begin.wrapping_add(offset));
    }
}

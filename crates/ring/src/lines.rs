//! Hints to the caches of sender and receiver, for ranks that have a core each.
//!
//! A line that one core has written is fetched by another at the price of a round trip between them, and so is the right to write a line
//! that the other has read. Both can begin before they are needed: the sender hands over what it has written to the cache that all
//! cores share ([`hand_over`]), and asks for the lines that it will write next while it has nothing else to do ([`expect`]).
//!
//! To hand over takes time, too: a line waits until it has been written, and nothing behind it is. A stream of letters of 64 bytes is half as fast with it, and one of 4 KiB a third. So only what
//! somebody waits for is handed over, and most of a long letter [later](Later), when its sender waits itself.
//!
//! Hints change no value. Where ranks take turns on a core they would only cost time, and nobody asks for them.

use core::cell::Cell;
use core::ops::Range;
use core::ptr;

/// Bytes of a cache line.
const LINE: usize = 64;

/// What was written to these bytes will be read by another core next.
#[inline(always)]
pub(crate) fn hand_over(begin: *const u8, bytes: usize) {
    each_line(begin, bytes, |line| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `cldemote`, which touches no architectural state and faults at no address; where it is unknown it is a no-op.
        unsafe {
            core::arch::asm!("cldemote [{}]", in(reg) line, options(nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    });
}

/// These bytes will be written by this core soon.
#[inline(always)]
pub(crate) fn expect(begin: *const u8, bytes: usize) {
    each_line(begin, bytes, |line| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `prefetchw` changes no value and faults at no address; where it is unknown it is a no-op.
        unsafe {
            core::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: a prefetch for a store changes no value and faults at no address.
        unsafe {
            core::arch::asm!("prfm pstl1keep, [{}]", in(reg) line, options(nostack, preserves_flags));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = line;
    });
}

/// Lines for which a hint was put off.
#[derive(Debug)]
pub(crate) struct Later {
    next: Cell<*const u8>,
    bytes: Cell<usize>,
}

impl Default for Later {
    fn default() -> Later {
        Later { next: Cell::new(ptr::null()), bytes: Cell::new(0) }
    }
}

impl Later {
    /// The bytes of this range from `begin` on, in place of those from before.
    #[inline(always)]
    pub(crate) fn set(&self, begin: *const u8, range: Range<usize>) {
        self.next.set(begin.wrapping_add(range.start));
        self.bytes.set(range.end - range.start);
    }

    /// They go without.
    #[inline(always)]
    pub(crate) fn forget(&self) {
        self.bytes.set(0);
    }

    /// Takes a few of them, if there are any: as many as may be hinted at between two looks at something else.
    #[inline(always)]
    pub(crate) fn take_some(&self) -> Option<(*const u8, usize)> {
        let (next, bytes) = (self.next.get(), self.bytes.get());
        let some = bytes.min(8 * LINE);
        self.set(next, some..bytes);
        (some > 0).then_some((next, some))
    }
}

/// Between two looks at a line that another core is about to write: the second begins when the first has ended. A processor that has begun several must take them all back when the line changes, and
/// begin again.
#[inline(always)]
pub(crate) fn look_again() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this kind has the instruction; it touches no memory.
    unsafe {
        core::arch::x86_64::_mm_lfence();
    }
}

#[inline(always)]
fn each_line(begin: *const u8, bytes: usize, hint: impl Fn(*const u8)) {
    for offset in (0..bytes).step_by(LINE) {
        hint(begin.wrapping_add(offset));
    }
}

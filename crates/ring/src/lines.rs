//! Hints to the caches of sender and receiver, for ranks that have a core each.
//!
//! A line that one core has written is fetched by another at the price of a round trip between them, and so is the right to write a line
//! that the other has read. Both can begin before they are needed: the sender hands over what it has written to the cache that all
//! cores share ([`hand_over`](processor::hints::hand_over)), and asks for the lines that it will write next while it has nothing else to do.
//! The receiver of many letters asks for the beginning of the next one before it copies one.
//!
//! To hand over takes time, too: a line waits until it has been written, and nothing behind it is. A stream of letters of 64 bytes is half as fast with it, and one of 4 KiB a third. So only what
//! somebody waits for is handed over, and most of a long letter [later](Later), when its sender waits itself.
//!
//! Hints change no value. Where ranks take turns on a core they would only cost time, and nobody asks for them.

use core::cell::Cell;
use core::ops::Range;
use core::ptr;

use processor::hints::LINE;

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

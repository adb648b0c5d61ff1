//! A file mapped shared as 64-bit words: the one unsafe corner of this crate.
//!
//! Words are atomics because another process (the launcher that merges) may read while the rank still writes. No file
//! that is mapped here shrinks: whoever creates it is the only one who sets its length.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, ProtFlags};

pub(crate) struct Mapping {
    address: *mut core::ffi::c_void,
    words: usize,
}

impl Mapping {
    /// Maps the first `words` words of a file that is at least that long.
    pub(crate) fn of(file: &File, words: usize) -> io::Result<Mapping> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that exists.
        let address = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                words * 8,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )?
        };
        Ok(Mapping { address, words })
    }
}

impl Mapping {
    /// Brings the first `words` words into memory. A system that cannot does so when they are touched.
    pub(crate) fn populate(&self, words: usize) {
        let bytes = words.min(self.words) * 8;
        // SAFETY: the range lies within the mapping, and its contents stay as they are.
        let _ = unsafe { rustix::mm::madvise(self.address, bytes, rustix::mm::Advice::LinuxPopulateWrite) };
    }

    /// Has the processor fetch the line of a word that will be written soon.
    #[inline(always)]
    pub(crate) fn fetch(&self, word: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a hint, which faults at no address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.address.cast::<i8>().wrapping_add(word * 8)) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = word;
    }
}

impl Deref for Mapping {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is `words` words long, page-aligned, and lives as long as `self`; atomics may be shared.
        unsafe { std::slice::from_raw_parts(self.address.cast(), self.words) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `of` mapped; every reference to it borrowed `self`.
        let _ = unsafe { rustix::mm::munmap(self.address, self.words * 8) };
    }
}

// SAFETY: the memory belongs to no thread.
unsafe impl Send for Mapping {}
// SAFETY: it is only reached through atomics.
unsafe impl Sync for Mapping {}

//! How many bytes the processor takes at a time; asked once.

use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use core::sync::atomic::{AtomicU8, Ordering};

/// The widest registers that pay, and that the system keeps. Each has those before it, too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Width {
    /// SSE2, which every x86-64 has.
    Sixteen = 1,
    /// AVX2.
    ThirtyTwo = 2,
    /// AVX-512 with bytes and words, at full speed.
    SixtyFour = 3,
}

/// The width of this processor.
#[inline(always)]
pub fn width() -> Width {
    match KNOWN.load(Ordering::Relaxed) {
        0 => ask(),
        1 => Width::Sixteen,
        2 => Width::ThirtyTwo,
        _ => Width::SixtyFour,
    }
}

/// 0 until it was asked.
static KNOWN: AtomicU8 = AtomicU8::new(0);

#[cold]
fn ask() -> Width {
    let width = found();
    KNOWN.store(width as u8, Ordering::Relaxed);
    width
}

fn found() -> Width {
    let features = __cpuid(1).ecx;
    let (saves_registers, avx) = (features >> 27 & 1 != 0, features >> 28 & 1 != 0);
    if !saves_registers || !avx || __cpuid(0).eax < 7 {
        return Width::Sixteen;
    }
    let more = __cpuid_count(7, 0);
    // SAFETY: the instruction is there, as the first of the bits says.
    let kept = unsafe { _xgetbv(0) };
    let has = |bit: u32| more.ebx >> bit & 1 != 0;
    let (avx2, avx512) = (has(5), has(16) && has(30));
    // The first processors with AVX-512 slow down for it, and stay slow for a while. Those that have VBMI2, too, do not.
    let at_full_speed = more.ecx >> 6 & 1 != 0;
    if avx2 && avx512 && at_full_speed && kept & 0xe6 == 0xe6 {
        Width::SixtyFour
    } else if avx2 && kept & 0x6 == 0x6 {
        Width::ThirtyTwo
    } else {
        Width::Sixteen
    }
}

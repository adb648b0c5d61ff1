//! Falling asleep without losing a wake-up.
//!
//! ```text
//!  owner                                     poster
//!    1. word |= SLEEPING                       a. publish a letter or signal
//!    2. barrier                                b. barrier
//!    3. anything pending? then clear, return   c. word & SLEEPING? then word &= !SLEEPING and wake
//!    4. sleep while word is unchanged
//! ```
//!
//! **Invariant:** with a full barrier at 2 and at b, either the owner sees the letter at 3 or the poster sees SLEEPING at c
//! (Dekker's argument); whoever clears SLEEPING owes the owner a wake-up, so there is exactly one.
//!
//! The poster's barrier costs more than all the rest of a short post, and owners that spin hardly ever sleep. So an owner
//! may take the cost of both on itself: it sets [`LIGHT`] once, and from then on runs a *heavy* barrier at 2 that acts on
//! the poster's core too (Linux `membarrier`). A poster that sees LIGHT **and** has registered for that barrier keeps its
//! compiler, but not its core, from reordering a and c. Zero, the value of fresh memory, is the safe mode: a poster that
//! reads the word before the owner has joined uses a full fence. LIGHT is never taken back, so a stale read of it is true.

use crate::sync::{AtomicU32, Ordering, compiler_fence, fence};

/// The owner sleeps or is about to.
pub const SLEEPING: u32 = 1;

/// The owner runs a heavy barrier before it sleeps.
pub const LIGHT: u32 = 2;

/// One rank's doorbell: the word that it sleeps on, alone on its lines, and where it last waited.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Doorbell {
    word: AtomicU32,
    /// The number of a core and one, or zero: nobody knows.
    core: AtomicU32,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Doorbell>() == 128);

impl Doorbell {
    /// A doorbell whose owner is awake; the same as zeroed memory.
    pub fn new() -> Doorbell {
        Doorbell { word: AtomicU32::new(0), core: AtomicU32::new(0) }
    }

    /// **Owner:** promises to run a heavy barrier in every [`arm`](Doorbell::arm) from now on.
    pub fn promise_heavy_barrier(&self) {
        self.word.fetch_or(LIGHT, Ordering::SeqCst);
    }

    /// **Poster:** to be called after publishing. True if the owner sleeps and this caller must wake it (through
    /// [`word`](Doorbell::word)). `registered` says that the owner's heavy barrier reaches the calling thread.
    #[inline(always)]
    #[must_use = "the owner sleeps on until it is woken"]
    pub fn ring(&self, registered: bool) -> bool {
        self.finds_asleep(registered) && self.clear()
    }

    /// **Poster:** the first half of [`ring`](Doorbell::ring), for posters that have to do something before they take the
    /// announcement away with [`clear`](Doorbell::clear).
    #[inline(always)]
    pub fn finds_asleep(&self, registered: bool) -> bool {
        if registered {
            compiler_fence(Ordering::SeqCst);
            // Nearly always: the owner is awake, and sees to its barriers itself.
            if self.word.load(Ordering::Relaxed) & (LIGHT | SLEEPING) == LIGHT {
                return false;
            }
        }
        fence(Ordering::SeqCst);
        self.word.load(Ordering::Relaxed) & SLEEPING != 0
    }

    /// **Owner:** announces sleep, then runs `barrier`, which must be a `SeqCst` fence or, if
    /// [promised](Doorbell::promise_heavy_barrier), the heavy barrier. Returns the value to sleep on. The caller must then
    /// look for work once more, and either [`clear`](Doorbell::clear) or sleep while the word has that value.
    pub fn arm(&self, barrier: impl FnOnce()) -> u32 {
        let word = self.word.fetch_or(SLEEPING, Ordering::SeqCst) | SLEEPING;
        barrier();
        word
    }

    /// True while the announcement stands. Acquire: what the poster wrote before it cleared it is visible.
    pub fn is_armed(&self) -> bool {
        self.word.load(Ordering::Acquire) & SLEEPING != 0
    }

    /// The word to sleep on and to wake through.
    pub fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// **Owner:** notes on which core it waits. Posters read the line, so it is written only when that changes.
    pub fn note_core(&self, core: u32) {
        if !self.was_on(core) {
            self.core.store(core.wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// True if the owner last noted that core.
    pub fn was_on(&self, core: u32) -> bool {
        self.core.load(Ordering::Relaxed) == core.wrapping_add(1)
    }

    /// Takes the announcement away; true for the one caller that did. A poster then owes the owner a wake-up. The owner calls
    /// it when it has woken or found work after all; false then means that a poster wakes or has woken it.
    #[cold]
    pub fn clear(&self) -> bool {
        self.word.fetch_and(!SLEEPING, Ordering::AcqRel) & SLEEPING != 0
    }
}

impl Default for Doorbell {
    fn default() -> Doorbell {
        Doorbell::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_rings_owes_the_wake_up() {
        let bell = Doorbell::new();
        assert!(!bell.ring(false), "an owner that is awake needs no wake-up");
        assert_eq!(bell.arm(|| ()), SLEEPING);
        assert!(bell.ring(false));
        assert!(!bell.ring(false));
        assert!(!bell.clear(), "the poster has cleared it");
    }

    #[test]
    fn the_promise_survives_sleep_and_wake_up() {
        let bell = Doorbell::new();
        bell.promise_heavy_barrier();
        assert_eq!(bell.arm(|| ()), SLEEPING | LIGHT);
        assert!(bell.ring(true));
        assert_eq!(bell.arm(|| ()), SLEEPING | LIGHT);
        assert!(bell.clear());
        assert!(!bell.is_armed());
    }
}

//! A word that two ranks race for: whoever claims it first has it.
//!
//! ```text
//! word: | 0 : 31 | round : 32 | claimed : 1 |
//! ```
//!
//! Its owner opens it for a round and tells a peer; then both may claim it, once or more often, and one of them succeeds, once. A
//! claim for a round that is over fails, so the owner may open the word again without asking whether the peer still means to claim.
//!
//! **Invariant:** a round is opened at most once, and is not 0, so zeroed memory is a word that nobody has opened.

use crate::sync::{AtomicU64, Ordering};

/// One word.
#[derive(Debug)]
#[repr(transparent)]
pub struct Claim(AtomicU64);

impl Claim {
    /// A word that nobody has opened.
    #[cfg(loom)]
    #[allow(clippy::new_without_default, reason = "made by models only")]
    pub fn new() -> Claim {
        Claim(AtomicU64::new(0))
    }

    /// The owner begins a round.
    #[inline]
    pub fn open(&self, round: u32) {
        self.0.store(open(round), Ordering::Release);
    }

    /// True for the first who claims this round. What one side did before its claim, the other sees after its own.
    #[inline]
    pub fn claim(&self, round: u32) -> bool {
        let free = open(round);
        self.0.compare_exchange(free, free | 1, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// True if a claim of this round would have succeeded just now.
    #[inline]
    pub fn is_open(&self, round: u32) -> bool {
        self.0.load(Ordering::Acquire) == open(round)
    }
}

const fn open(round: u32) -> u64 {
    (round as u64) << 1
}

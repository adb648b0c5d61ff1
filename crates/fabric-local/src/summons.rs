//! Making the ranks of a job look up, from outside of the job.
//!
//! Ranks publish nothing while they run. Whoever wants to know what they wait for writes down the question where they will find it
//! and calls them: those that sleep wake once, those that wait look up, and each answers for itself.
//!
//! **Invariant:** a call changes nothing but the moment at which a rank looks for what it waits for anyway.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

/// The way to the ranks of one job; clones lead to the same.
#[derive(Clone, Default)]
pub struct Summons(Arc<OnceLock<Weak<dyn Roused>>>);

/// Ranks that can be made to look up.
pub(crate) trait Roused: Send + Sync {
    /// Every rank that waits looks up once, and until [`settle`](Roused::settle) whenever it parks.
    fn rouse(&self);
    /// Ranks need no longer look up.
    fn settle(&self);
}

impl Summons {
    /// Makes every rank that waits look up ([`Woke::Look`](fabric::Woke::Look)). Nothing before the job begins and after it has ended.
    /// A rank that falls asleep at this very moment may miss it: call again after a while.
    pub fn call(&self) {
        self.with(|job| job.rouse());
    }

    /// Ranks that have not looked up by now need not.
    pub fn end(&self) {
        self.with(|job| job.settle());
    }

    /// Leads to this job from now on. A summons serves one job.
    pub(crate) fn reach(&self, job: &Arc<impl Roused + 'static>) {
        let job: Weak<dyn Roused> = Arc::downgrade(job) as _;
        let _ = self.0.set(job);
    }

    fn with(&self, act: impl FnOnce(&dyn Roused)) {
        if let Some(job) = self.0.get().and_then(Weak::upgrade) {
            act(&*job);
        }
    }
}

impl fmt::Debug for Summons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Summons")
    }
}

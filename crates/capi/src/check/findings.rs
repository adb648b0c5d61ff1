//! What was found, said once a place: a loop that does the same thing wrong a million times is one finding and a number. Any thread may
//! find something.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::book::Book;
use crate::process::State;

/// A call of the program's: the function, and the address that it returns to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Origin {
    pub(super) function: &'static str,
    pub(super) site: u64,
}

/// What has been said.
#[derive(Default)]
pub(super) struct Findings {
    /// How often something was found, by what and where.
    seen: Mutex<Vec<(&'static str, Origin, u64)>>,
    /// Findings that were not said because there were too many.
    unsaid: AtomicU64,
    sites: Mutex<Book<u64, Arc<str>>>,
}

/// More than a person reads; and the launcher's socket must never be full.
const SAID_MAX: usize = 100;

impl Findings {
    /// Says that a check called `subject` found something in a call, unless it has said so.
    pub(super) fn report(
        &self,
        state: &State,
        subject: &'static str,
        origin: Origin,
        text: impl FnOnce() -> String,
    ) {
        let mut seen = locked(&self.seen);
        if let Some((_, _, times)) = seen.iter_mut().find(|said| (said.0, said.1) == (subject, origin)) {
            *times += 1;
        } else if seen.len() >= SAID_MAX {
            self.unsaid.fetch_add(1, Ordering::Relaxed);
        } else {
            seen.push((subject, origin, 1));
            drop(seen);
            state.note(&text());
        }
    }

    /// Says how often things were found that were said once.
    pub(super) fn sum_up(&self, state: &State) {
        for (subject, origin, times) in locked(&self.seen).iter().filter(|said| said.2 > 1) {
            state.note(&format!("{subject}: found {times} times in {}", self.place(*origin)));
        }
        let unsaid = self.unsaid.load(Ordering::Relaxed);
        if unsaid > 0 {
            state.note(&format!("{unsaid} more findings were not printed"));
        }
    }

    /// `MPI_Send in SITE`, the site between backquotes for the launcher to explain.
    pub(super) fn place(&self, origin: Origin) -> String {
        let Origin { function, site } = origin;
        if site == 0 {
            return function.to_owned();
        }
        let spot = self.spot(site);
        if spot.is_empty() { function.to_owned() } else { format!("{function} in `{spot}`") }
    }

    /// The call site as module and offset; looked up once.
    fn spot(&self, site: u64) -> Arc<str> {
        let mut sites = locked(&self.sites);
        let spot = sites.get_or_insert_with(site, || runtime::module::spot(site).unwrap_or_default().into());
        Arc::clone(spot)
    }
}

/// What a lock keeps, also after somebody has panicked with it: what was found is said all the same.
pub(super) fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

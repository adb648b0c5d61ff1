//! Poisoning a rank from outside (`progress::poison` says what that means).

use crate::rank::Rank;
use crate::values::error::Error;

impl Rank {
    /// Poisons the rank from outside: all its requests end now with this error, and whatever is begun later fails with it. The
    /// first cause stays.
    ///
    /// The caller vouches that no peer and no engine uses memory of the rank any more: for jobs that have come to rest for good.
    pub fn poison(&self, cause: Error) {
        let mut core = self.lane.core.borrow_mut();
        core.fault.get_or_insert(cause);
        core.end_requests(self.fabric(), |_| true);
        core.swept = true;
    }

    /// Why the rank is of no use any more, if so.
    pub fn poisoned(&self) -> Option<Error> {
        self.lane.core.borrow().fault.clone()
    }
}

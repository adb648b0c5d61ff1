//! Lets observers watch a rank: for traces and live displays.

use alloc::boxed::Box;

use crate::progress::tables::watch::{Begin, End, Observer, Watch};
use crate::rank::Rank;

impl Rank {
    /// Lets an observer watch this rank from now on; the one before, if any, goes.
    pub fn observe(&self, observer: Box<dyn Observer>) {
        self.lane.core.borrow_mut().watch = Some(Box::new(Watch::new(observer)));
    }

    /// Takes the observer's eyes off this rank until they are [turned back](Rank::resume_observer). False if nobody watches.
    pub fn pause_observer(&self) -> bool {
        let core = &mut *self.lane.core.borrow_mut();
        core.tell(self.fabric(), |observer, fabric| observer.begins(fabric, &Begin::Pause));
        core.paused_watch = core.watch.take().or(core.paused_watch.take());
        core.paused_watch.is_some()
    }

    /// Lets the observer go on that was [paused](Rank::pause_observer). False if none was.
    pub fn resume_observer(&self) -> bool {
        let core = &mut *self.lane.core.borrow_mut();
        let Some(mut watch) = core.paused_watch.take() else { return false };
        watch.resume(self.fabric());
        core.watch = Some(watch);
        true
    }

    /// True if an observer watches.
    #[inline]
    pub fn is_observed(&self) -> bool {
        self.lane.is_observed()
    }

    /// Tells the observer, if there is one, of a call of the program's.
    #[cold]
    pub fn enter(&self, function: &'static str, site: u64) {
        self.lane.begins(|| Begin::Call { function, site });
    }

    /// Tells the observer, if there is one, that the call returns.
    #[cold]
    pub fn leave(&self) {
        self.lane.ends(End::Call);
    }
}

//! Lets observers watch a rank: for traces and live displays, and for what the program itself wants counted.

use alloc::boxed::Box;

use crate::progress::core::Core;
use crate::progress::tables::watch::{Begin, End, Observer};
use crate::rank::Rank;

impl Rank {
    /// Lets an observer watch this rank from now on; the one before, if any, goes.
    pub fn observe(&self, observer: Box<dyn Observer>) {
        let core = &mut *self.lane.core.borrow_mut();
        let watch = core.watch.get_or_insert_default();
        watch.forget();
        (watch.observer, watch.paused) = (Some(observer), false);
    }

    /// Lets somebody count for the program besides any observer, or nobody any more.
    pub fn set_meter(&self, meter: Option<Box<dyn Observer>>) {
        let core = &mut *self.lane.core.borrow_mut();
        let mut watch = core.watch.take().or(core.paused_watch.take()).unwrap_or_default();
        if !watch.is_awake() {
            watch.forget();
        }
        watch.meter = meter;
        core.watch = Some(watch);
        core.rest_unwatched();
    }

    /// Takes the observer's eyes off this rank until they are [turned back](Rank::resume_observer). False if nobody watches.
    pub fn pause_observer(&self) -> bool {
        let core = &mut *self.lane.core.borrow_mut();
        let Some(watch) = &mut core.watch else { return core.paused_watch.is_some() };
        let Some(observer) = &mut watch.observer else { return false };
        if !core::mem::replace(&mut watch.paused, true) {
            observer.begins(self.fabric(), &Begin::Pause);
        }
        core.rest_unwatched();
        true
    }

    /// Lets the observer go on that was [paused](Rank::pause_observer). False if none was.
    pub fn resume_observer(&self) -> bool {
        let core = &mut *self.lane.core.borrow_mut();
        let Some(mut watch) = core.watch.take().or(core.paused_watch.take()) else { return false };
        let resumed = core::mem::take(&mut watch.paused);
        if resumed {
            watch.forget();
            if let Some(observer) = &mut watch.observer {
                observer.ends(self.fabric(), &End::Pause);
            }
        }
        core.watch = Some(watch);
        core.rest_unwatched();
        resumed
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

    /// Tells the observer, if there is one, that the program marks the begin or the end of a region.
    #[cold]
    pub fn mark_region(&self, number: u32, begins: bool) {
        if begins {
            self.lane.begins(|| Begin::Region(number));
        } else {
            self.lane.ends(End::Region(number));
        }
    }

    /// Tells the observer, if there is one, that the call returns.
    #[cold]
    pub fn leave(&self) {
        self.lane.ends(End::Call);
    }
}

impl Core {
    /// Puts the watch aside if nobody looks, so that every point is a test of a pointer again.
    fn rest_unwatched(&mut self) {
        if let Some(watch) = self.watch.take() {
            if watch.is_awake() {
                self.watch = Some(watch);
            } else if watch.observer.is_some() {
                self.paused_watch = Some(watch);
            }
        }
    }
}

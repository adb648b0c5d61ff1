//! Tells whoever watches of one-sided operations and epochs.
//!
//! While nobody watches each is a test of a pointer; what is told is put together behind it. An epoch's end is told before others can go on because of it, so that in
//! a trace what they waited for comes before that they go on.

use crate::progress::tables::watch::{Access, Begin, End, Epoch, EpochKind};
use crate::rank::Rank;
use crate::rank::window::epoch::Way;
use crate::rank::window::{Aim, Window};

impl Rank {
    /// An operation that may be done.
    #[inline]
    pub(super) fn tell_access(&self, window: &Window, aim: &Aim<'_>, kind: Access) {
        if self.lane.is_watched() {
            self.tell_of_access(window, aim, kind);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_access(&self, window: &Window, aim: &Aim<'_>, kind: Access) {
        let (target, bytes) = (window.comm.node(aim.target), aim.bytes());
        self.lane.begins(|| Begin::Access { kind, target, window: window.comm.context(), bytes });
    }

    /// An epoch with some members begins, or with all of them.
    #[inline]
    pub(super) fn tell_epoch(&self, window: &Window, kind: EpochKind, members: Option<&[u32]>) {
        if self.lane.is_watched() {
            epochs(window, kind, members, &mut |epoch| self.lane.begins(|| Begin::Epoch(epoch)));
        }
    }

    /// And ends.
    #[inline]
    pub(super) fn tell_end(&self, window: &Window, kind: EpochKind, members: Option<&[u32]>) {
        if self.lane.is_watched() {
            epochs(window, kind, members, &mut |epoch| self.lane.ends(End::Epoch(epoch)));
        }
    }
}

#[cold]
#[inline(never)]
fn epochs(window: &Window, kind: EpochKind, members: Option<&[u32]>, tell: &mut dyn FnMut(Epoch)) {
    let epoch = |peer| Epoch { kind, peer, window: window.comm.context() };
    match members {
        Some(members) => members.iter().for_each(|member| tell(epoch(Some(window.comm.node(*member))))),
        None => tell(epoch(None)),
    }
}

impl Way {
    /// The kind of epoch of a lock.
    pub(super) fn kind(self) -> EpochKind {
        if self == Way::Exclusive { EpochKind::ExclusiveLock } else { EpochKind::SharedLock }
    }
}

//! Passive targets (MPI section 12.5.3): locks and flushes. Locks are words in memory that all members share, taken by the origin's atomic operations alone.
//!
//! A lock of all members is one word of the window, and a look at those of the members; an exclusive lock is one word of the member, and a look at that of the window.
//! Whoever has to wait holds nothing meanwhile, so that nobody waits for somebody who only wants a lock.

use crate::progress::tables::watch::EpochKind;
use crate::rank::Rank;
use crate::rank::window::Window;
use crate::rank::window::epoch::{Access, Way};
use crate::values::error::{Error, Result};
use crate::values::memory::words;

/// Calls that complete something at a target between two turns of others: a turn costs about as much as some of them.
const TURN: u32 = 16;

impl Rank {
    /// Locks a member; without a lock in memory if the program says that nobody else has one.
    pub fn lock_window(
        &self,
        window: &Window,
        member: Option<u32>,
        exclusive: bool,
        unchecked: bool,
    ) -> Result<()> {
        let epochs = &window.epochs;
        let open = member.map(|member| &window.targets[member as usize].open);
        if epochs.access.get() != Access::Locked {
            epochs.may_begin()?;
            if member == Some(window.comm.rank()) {
                epochs.is_not_exposed()?;
            }
        } else if open.is_some_and(|open| open.way() != Way::Closed) {
            return Err(Error::Epoch {
                reason: "the target is locked by this rank, expected MPI_Win_unlock first",
            });
        }
        let way = match (unchecked, exclusive) {
            (true, _) => Way::Unchecked,
            (_, true) => Way::Exclusive,
            _ => Way::Shared,
        };
        if let Some(member) = member.filter(|_| !unchecked) {
            if let Some(ground) = &window.ground {
                let (word, all) = (&ground.control(member).lock, &ground.control(0).all);
                let mut attempt =
                    || if exclusive { words::take_exclusive(word, all) } else { words::take_shared(word) };
                if !attempt() {
                    self.lane.wait_for_memory(&mut attempt)?;
                }
            } else {
                self.lock_far(window, member, exclusive)?;
            }
        }
        if epochs.access.get() != Access::Locked {
            epochs.enter(Access::Locked);
        }
        if let Some(open) = open {
            open.set(way);
        }
        epochs.locks.set(epochs.locks.get() + 1);
        self.tell_epoch(window, way.kind(), Some(member.as_slice()));
        Ok(())
    }

    /// Gives a lock back.
    pub fn unlock_window(&self, window: &Window, member: Option<u32>) -> Result<()> {
        let epochs = &window.epochs;
        let open = member.map(|member| &window.targets[member as usize].open);
        let is_locked = open.is_none_or(|open| open.way() != Way::Closed);
        if epochs.access.get() != Access::Locked || !is_locked {
            return Err(Error::Epoch {
                reason: "the target is not locked, expected a call of MPI_Win_lock before",
            });
        }
        self.settle_blocks(window, member)?;
        if let (Some(member), Some(open)) = (member, open) {
            self.tell_end(window, open.way().kind(), Some(&[member]));
            match (open.way(), &window.ground) {
                (Way::Shared, Some(ground)) => words::give_shared(&ground.control(member).lock),
                (Way::Exclusive, Some(ground)) => words::give_exclusive(&ground.control(member).lock),
                (way @ (Way::Shared | Way::Exclusive), None) => {
                    self.unlock_far(window, member, way == Way::Exclusive)?;
                }
                _ => window.set_in_order(),
            }
            open.set(Way::Closed);
        }
        epochs.locks.set(epochs.locks.get() - 1);
        if epochs.locks.get() == 0 {
            epochs.enter(Access::Nothing);
        }
        self.let_others_run(window)
    }

    /// Locks a member that nobody has in the way, in a window that is not locked or by member; false, and nothing is done, otherwise.
    #[inline(always)]
    pub fn lock_at_once(&self, window: &Window, member: u32, exclusive: bool) -> bool {
        let (epochs, access) = (&window.epochs, window.epochs.access.get());
        let Some(open) = window.targets.get(member as usize).map(|target| &target.open) else { return false };
        let may_begin = matches!(access, Access::Nothing | Access::Locked) && open.way() == Way::Closed;
        if !may_begin || member == window.comm.rank() || self.lane.is_watched() {
            return false;
        }
        let Some(ground) = &window.ground else { return false };
        let word = &ground.control(member).lock;
        let (taken, way) = match exclusive {
            true => (words::take_exclusive(word, &ground.control(0).all), Way::Exclusive),
            false => (words::take_shared(word), Way::Shared),
        };
        if taken {
            if access == Access::Nothing {
                epochs.enter(Access::Locked);
            }
            open.set(way);
            epochs.locks.set(epochs.locks.get() + 1);
        }
        taken
    }

    /// Gives a lock of a member back, if nothing has to be waited for and nobody else's turn has come; false, and nothing is done, otherwise.
    #[inline(always)]
    pub fn unlock_at_once(&self, window: &Window, member: u32) -> bool {
        let epochs = &window.epochs;
        let Some(open) = window.targets.get(member as usize).map(|target| &target.open) else { return false };
        if epochs.access.get() != Access::Locked || window.has_under_way.get() || self.lane.is_watched() {
            return false;
        }
        let Some(ground) = &window.ground else { return false };
        let (word, way) = (&ground.control(member).lock, open.way());
        if !matches!(way, Way::Shared | Way::Exclusive) || !self.goes_on(window) {
            return false;
        }
        if way == Way::Shared {
            words::give_shared(word);
        } else {
            words::give_exclusive(word);
        }
        open.set(Way::Closed);
        epochs.locks.set(epochs.locks.get() - 1);
        if epochs.locks.get() == 0 {
            epochs.enter(Access::Nothing);
        }
        true
    }

    /// Locks all members, shared with others.
    pub fn lock_all(&self, window: &Window, unchecked: bool) -> Result<()> {
        window.epochs.may_begin()?;
        window.epochs.is_not_exposed()?;
        if !unchecked {
            if let Some(ground) = &window.ground {
                let members = || (0..window.comm.size()).map(|member| &ground.control(member).lock);
                let mut attempt = || words::take_all(&ground.control(0).all, members());
                if !attempt() {
                    self.lane.wait_for_memory(&mut attempt)?;
                }
            } else {
                self.lock_all_far(window)?;
            }
        }
        window.epochs.enter(Access::LockedAll { unchecked });
        self.tell_epoch(window, EpochKind::LockAll, None);
        Ok(())
    }

    /// Gives the lock of all members back.
    pub fn unlock_all(&self, window: &Window) -> Result<()> {
        let Access::LockedAll { unchecked } = window.epochs.access.get() else {
            return Err(Error::Epoch {
                reason: "the window is not locked as a whole, expected a call of MPI_Win_lock_all before",
            });
        };
        self.settle_blocks(window, None)?;
        self.tell_end(window, EpochKind::LockAll, None);
        if unchecked {
            window.set_in_order();
        } else if let Some(ground) = &window.ground {
            words::give_all(&ground.control(0).all);
        } else {
            self.unlock_all_far(window)?;
        }
        window.epochs.enter(Access::Nothing);
        self.let_others_run(window)
    }

    /// What was done at a member, or at all of them, is done there: as it was when the calls returned, so memory is set in order.
    #[inline]
    pub fn flush_window(&self, window: &Window, member: Option<u32>) -> Result<()> {
        window.epochs.is_passive()?;
        if let Some(member) = member {
            window.target(member)?;
        }
        self.settle_blocks(window, member)?;
        if window.stored.take() {
            window.set_in_order();
        }
        self.let_others_run(window)
    }

    /// The same for a member, if nothing has to be waited for and nobody else's turn has come; false, and nothing is done, otherwise.
    #[inline(always)]
    pub fn flush_at_once(&self, window: &Window, member: u32) -> bool {
        let Some(target) = window.targets.get(member as usize) else { return false };
        let is_open = window.epochs.is_passive().is_ok() && window.epochs.allows(&target.open);
        if !is_open || window.has_under_way.get() || !self.goes_on(window) {
            return false;
        }
        if window.stored.take() {
            window.set_in_order();
        }
        true
    }

    /// True unless it is the turn of others: then a form that can let them run is to do it.
    #[inline(always)]
    fn goes_on(&self, window: &Window) -> bool {
        if !self.lane.parks_first {
            return true;
        }
        let looks = window.looks.get().wrapping_add(1);
        let goes_on = !looks.is_multiple_of(TURN);
        if goes_on {
            window.looks.set(looks);
        }
        goes_on
    }

    /// A rank may look at memory again and again until another has changed it, by calls that never wait (MPI section 12.7.3). Where the other has no core of its own
    /// and nobody takes this one's away, it gets a turn now and then.
    #[inline]
    fn let_others_run(&self, window: &Window) -> Result<()> {
        if !self.lane.parks_first {
            return Ok(());
        }
        let looks = window.looks.get().wrapping_add(1);
        window.looks.set(looks);
        if looks.is_multiple_of(TURN) { self.poke() } else { Ok(()) }
    }

    /// An error unless an operation with a request may be started: the window is locked.
    pub fn may_request(&self, window: &Window) -> Result<()> {
        window.epochs.is_passive()
    }

    /// Memory is in order between what this rank has done and what it will do (MPI_Win_sync).
    pub fn synchronise_window(&self, window: &Window) -> Result<()> {
        window.set_in_order();
        self.let_others_run(window)
    }
}

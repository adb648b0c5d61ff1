//! Active targets (MPI sections 12.5.1 and 12.5.2): fences, and epochs of groups.
//!
//! What an origin does at a target is done when its call returns, so a fence is a barrier of the members. In an epoch of groups, a target tells each origin that it
//! may begin, and each origin tells the target that it is done.
//!
//! Where members share memory these are words there ([`Notices`](crate::values::memory::ground::Notices)): whoever waits for one looks at it for a while and then
//! sleeps, and whoever writes it wakes those that sleep. Elsewhere they are messages without data in the window's own communicator.

use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use crate::lane::signals;
use crate::lane::statement::{Interest, OperationKind};
use crate::progress::tables::matching::Pattern;
use crate::progress::tables::watch::EpochKind;
use crate::rank::Rank;
use crate::rank::window::Window;
use crate::rank::window::epoch::{Access, Exposure, Way};
use crate::schedule::Identity;
use crate::values::datatype::{Basic, Datatype};
use crate::values::error::{Error, Result};
use crate::values::group::Group;
use crate::values::ids::{Dest, Source, Tag, TagMatch};
use crate::values::memory::ground::{Ground, Row};
use crate::values::memory::words;
use crate::values::memory::{RecvBuffer, Region, SendBuffer};
use crate::values::mode::Mode;
use crate::values::request::RequestId;

/// From a target: its memory is exposed.
const POSTED: Tag = Tag::from_wire(1);
/// From an origin: it has done what it wanted.
const COMPLETE: Tag = Tag::from_wire(2);

impl Rank {
    /// Ends the epochs that the last fence has begun and begins new ones, unless nothing follows.
    pub fn fence(&self, window: &Window, nothing_follows: bool) -> Result<()> {
        let epochs = &window.epochs;
        if !matches!(epochs.access.get(), Access::Nothing | Access::Fenced) {
            epochs.may_begin()?;
        }
        epochs.is_not_exposed()?;
        self.settle_blocks(window, None)?;
        // Ranks that share cores had better sleep until they are woken once, not in every round (decision 35).
        match self.notices(window).filter(|_| window.own_cores) {
            Some(ground) => self.meet(window, ground)?,
            None => {
                window.set_in_order();
                if window.comm.size() > 1 {
                    self.barrier(&window.comm)?.wait()?;
                }
                window.set_in_order();
            }
        }
        epochs.enter(if nothing_follows { Access::Nothing } else { Access::Fenced });
        self.tell_end(window, EpochKind::Fence, None);
        if !nothing_follows {
            self.tell_epoch(window, EpochKind::Fence, None);
        }
        Ok(())
    }

    /// Returns when all members have come: a dissemination barrier, in round k of which each tells the member 2^k places ahead.
    fn meet(&self, window: &Window, ground: &Ground) -> Result<()> {
        let (me, p) = (u64::from(window.comm.rank()), u64::from(window.comm.size()));
        let fence = window.epochs.fences.get().wrapping_add(1);
        window.epochs.fences.set(fence);
        let waiting = Interest::Collective(Identity {
            name: "fence",
            context: window.comm.context(),
            number: -1,
            bytes: None,
        });
        let mine = ground.notices(me as u32);
        let mut round = 0;
        while 1 << round < p {
            let ahead = ((me + (1 << round)) % p) as u32;
            ground.notices(ahead).fences[round].swap(fence, Ordering::SeqCst);
            self.wake(window, ground, ahead)?;
            // Who told this one may have come to the next fence already.
            let mut is_told =
                || mine.fences[round].load(Ordering::Acquire).wrapping_sub(fence) <= u32::MAX / 2;
            if !is_told() {
                self.lane.wait_to_be_told(waiting, &mine.sleeps, &mut is_told)?;
            }
            round += 1;
        }
        Ok(())
    }

    /// The memory by which members tell each other something, if they can wake each other, too.
    #[inline]
    fn notices<'w>(&self, window: &'w Window) -> Option<&'w Ground> {
        window.ground.as_ref().filter(|_| self.fabric().caps().world_signals)
    }

    /// Wakes a member that was told something, if it may be asleep.
    #[inline]
    fn wake(&self, window: &Window, ground: &Ground, member: u32) -> Result<()> {
        if words::may_sleep(&ground.notices(member).sleeps) {
            signals::call_up(self.fabric(), window.comm.node(member))?;
        }
        Ok(())
    }

    /// Sets this rank's bit in a row of each of these members.
    fn tell(&self, window: &Window, ground: &Ground, row: Row, members: &[u32]) -> Result<()> {
        for member in members {
            let (word, bit) = ground.bit(*member, row, window.comm.rank());
            word.fetch_or(bit, Ordering::SeqCst);
            self.wake(window, ground, *member)?;
        }
        Ok(())
    }

    /// Waits for the bits of these members in a row of this rank's, and takes them back.
    fn hear(&self, window: &Window, ground: &Ground, row: Row, members: &[u32]) -> Result<()> {
        let me = window.comm.rank();
        let kind = match row {
            Row::Posted => OperationKind::Post,
            Row::Completed => OperationKind::Complete,
        };
        for member in members {
            let (word, bit) = ground.bit(me, row, *member);
            let mut is_told = || word.load(Ordering::Acquire) & bit != 0;
            if !is_told() {
                let from = Pattern { context: window.comm.context(), source: Some(*member), tag: None };
                let sleeps = &ground.notices(me).sleeps;
                self.lane.wait_to_be_told(Interest::Notice(kind, from), sleeps, &mut is_told)?;
            }
            word.fetch_and(!bit, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Exposes this rank's memory to the members of a group, who are told unless they need not be.
    pub fn post(&self, window: &Window, group: &Group, untold: bool) -> Result<()> {
        window.epochs.is_not_exposed()?;
        if window.epochs.access.get() == Access::Fenced {
            window.epochs.may_begin()?;
        }
        let members = members_of(window, group)?;
        window.set_in_order();
        self.tell_epoch(window, EpochKind::Exposure, Some(&members));
        let exposure = match self.notices(window) {
            Some(ground) => {
                if !untold {
                    self.tell(window, ground, Row::Posted, &members)?;
                }
                Exposure::Notices(members)
            }
            None => Exposure::Messages(self.post_by_messages(window, &members, untold)?),
        };
        *window.epochs.exposure.borrow_mut() = Some(exposure);
        Ok(())
    }

    fn post_by_messages(&self, window: &Window, members: &[u32], untold: bool) -> Result<Vec<RequestId>> {
        let mut awaited = Vec::with_capacity(members.len());
        for member in members {
            let source = Source::Rank(*member);
            awaited.push(self.irecv(&no_room(), source, TagMatch::Is(COMPLETE), &window.comm)?);
        }
        if !untold {
            for member in members {
                self.send(Mode::Standard, &nothing(), Dest::Rank(*member), POSTED, &window.comm)?;
            }
        }
        Ok(awaited)
    }

    /// Begins to access the members of a group, once they have exposed their memory, which they are taken to have if they need not say so.
    pub fn start_access(&self, window: &Window, group: &Group, untold: bool) -> Result<()> {
        window.epochs.may_begin()?;
        let members = members_of(window, group)?;
        if !untold {
            match self.notices(window) {
                Some(ground) => self.hear(window, ground, Row::Posted, &members)?,
                None => {
                    for member in &members {
                        let source = Source::Rank(*member);
                        self.recv(&no_room(), source, TagMatch::Is(POSTED), &window.comm)?;
                    }
                }
            }
        }
        members.iter().for_each(|member| window.targets[*member as usize].open.set(Way::Started));
        self.tell_epoch(window, EpochKind::Access, Some(&members));
        *window.epochs.started.borrow_mut() = members;
        window.epochs.enter(Access::Started);
        Ok(())
    }

    /// Ends the access that [`start_access`](Rank::start_access) has begun.
    pub fn complete_access(&self, window: &Window) -> Result<()> {
        if window.epochs.access.get() != Access::Started {
            return Err(Error::Epoch {
                reason: "no access has begun, expected a call of MPI_Win_start before",
            });
        }
        self.settle_blocks(window, None)?;
        let members = window.epochs.started.take();
        members.iter().for_each(|member| window.targets[*member as usize].open.set(Way::Closed));
        window.epochs.enter(Access::Nothing);
        self.tell_end(window, EpochKind::Access, Some(&members));
        if let Some(ground) = self.notices(window) {
            return self.tell(window, ground, Row::Completed, &members);
        }
        window.set_in_order();
        for member in members {
            self.send(Mode::Standard, &nothing(), Dest::Rank(member), COMPLETE, &window.comm)?;
        }
        Ok(())
    }

    /// Waits until those to whom this rank's memory was exposed are done.
    pub fn wait_for_access(&self, window: &Window) -> Result<()> {
        match window.epochs.exposure.take().ok_or_else(not_exposed)? {
            Exposure::Notices(members) => {
                let ground = window.ground.as_ref().ok_or_else(not_exposed)?;
                self.hear(window, ground, Row::Completed, &members)?;
            }
            Exposure::Messages(awaited) => {
                for request in awaited {
                    self.wait(request)?;
                }
            }
        }
        window.set_in_order();
        self.tell_end(window, EpochKind::Exposure, None);
        Ok(())
    }

    /// As [`wait_for_access`](Rank::wait_for_access) without waiting: true if the exposure has ended.
    pub fn test_access(&self, window: &Window) -> Result<bool> {
        let exposure = &window.epochs.exposure;
        if exposure.borrow().is_none() {
            return Err(not_exposed());
        }
        let is_told = |ground: &Ground, member: u32| {
            let (word, bit) = ground.bit(window.comm.rank(), Row::Completed, member);
            word.load(Ordering::Acquire) & bit != 0
        };
        let is_done = || match &*exposure.borrow() {
            Some(Exposure::Notices(members)) => {
                window.ground.as_ref().is_some_and(|ground| members.iter().all(|at| is_told(ground, *at)))
            }
            Some(Exposure::Messages(awaited)) => awaited.iter().all(|request| self.lane.is_settled(*request)),
            None => false,
        };
        if !is_done() {
            self.poke()?;
            if !is_done() {
                return Ok(false);
            }
        }
        self.wait_for_access(window)?;
        Ok(true)
    }
}

#[cold]
fn not_exposed() -> Error {
    Error::Epoch { reason: "no exposure has begun, expected a call of MPI_Win_post before" }
}

/// The ranks in the window of the members of a group.
fn members_of(window: &Window, group: &Group) -> Result<Vec<u32>> {
    let members: Option<Vec<u32>> = group.nodes().map(|node| window.comm.group().rank_of(node)).collect();
    members.ok_or(Error::Group { reason: "the group has a member that is not in the window" })
}

/// A message without data.
fn nothing() -> SendBuffer {
    Region::empty(&Datatype::basic(Basic::Byte)).to_send()
}

fn no_room() -> RecvBuffer {
    Region::empty(&Datatype::basic(Basic::Byte)).to_receive()
}

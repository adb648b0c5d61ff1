//! Progress and waiting.

use core::sync::atomic::AtomicU32;

use fabric::{Fabric, Idle, Woke};

use crate::lane::statement::Interest;
use crate::lane::{Lane, signals};
use crate::progress::core::Core;
use crate::progress::tables::watch::Waits;
use crate::values::error::Result;
use crate::values::memory::words;

impl Lane {
    /// Handles letters and moves what waits; returns how much was done. Never waits.
    #[inline]
    pub fn progress(&self) -> usize {
        let done = self.progress_with(&mut self.core.borrow_mut());
        done + if self.schedules.live() > 0 { self.advance_schedules() } else { 0 }
    }

    /// The part of progress that calls no user code.
    #[inline]
    pub fn progress_with(&self, core: &mut Core) -> usize {
        let fabric = self.fabric();
        let limit = core.tuning.poll_limit;
        let mut done = 0;
        // One place where letters are handled, so that what most of them come to is part of this function.
        loop {
            done +=
                fabric.poll(limit, &mut |from, header, payload| core.deliver(fabric, from, header, payload));
            if !core.has_backlog() {
                break;
            }
            if !core.fetch_next(fabric) {
                done += core.push_backlog(fabric);
                break;
            }
            // What was fetched may be what another thread waits for.
            done += 1;
        }
        if done > 0 {
            self.stir();
        }
        done
    }

    /// Ends a collective. One that went by shared memory may have taken no packets in, and a program
    /// may call nothing else: they would pile up, here and at their senders.
    #[inline(always)]
    pub fn takes_in(&self) {
        match self.takes_in_after.get() {
            0 => self.take_in(),
            left => self.takes_in_after.set(left - 1),
        }
    }

    /// Takes packets in until there are none, within a bound. Calls no user code.
    #[cold]
    #[inline(never)]
    fn take_in(&self) {
        /// Polls of one collective at most.
        const POLLS: u32 = 64;
        /// Collectives without a look, where the last look found nothing. Chosen, not measured: a
        /// look costs a small part of a short collective, and this makes it a small part of many.
        const UNSEEN: u32 = 15;
        // Where a look takes time that is told, collectives go by packets.
        let polls = if self.fabric().virtual_time().is_some() { 0 } else { POLLS };
        let took = |_: &u32| self.progress_with(&mut self.core.borrow_mut()) > 0;
        let took_some = (0..polls).take_while(took).count() > 0;
        self.takes_in_after.set(if took_some { 0 } else { UNSEEN });
    }

    /// What a rank does that waits and found nothing: the collectives under way take a step, then the core is given away.
    #[inline]
    pub fn rest(&self, rounds: u32, idle: Idle) -> Woke {
        if self.schedules.live() > 0 && self.advance_schedules() > 0 {
            return Woke::Again;
        }
        if rounds > 0 {
            // A fabric does not put a rank to sleep while a signal is unread.
            signals::acknowledge(self.fabric());
        }
        self.park(rounds, idle)
    }

    /// Makes progress until `done` holds. Fails if the rank is poisoned; after [`Error::Stalled`](crate::Error::Stalled) it must not be used any more. One loop for all who
    /// wait for something rare.
    #[inline(never)]
    pub fn wait_until(&self, done: &mut dyn FnMut(&Lane) -> bool) -> Result<()> {
        self.wait_about(Interest::Open, done)
    }

    /// As [`wait_until`](Lane::wait_until), for what is said.
    #[inline]
    pub fn wait_about(&self, interest: Interest<'_>, done: impl FnMut(&Lane) -> bool) -> Result<()> {
        self.wait_unless(interest, 0, done, |core, fabric| core.check_fault(fabric))
    }

    /// Makes progress until `done` holds, which is a matter of memory that others write, as long as it is worth staying awake for that: the rounds that this took, for
    /// [`wait_asleep`](Lane::wait_asleep). None if it holds. Where cores are shared, it only yields, for so many rounds.
    #[inline]
    pub fn wait_awake(
        &self,
        interest: Interest<'_>,
        yields: u32,
        done: &mut dyn FnMut() -> bool,
    ) -> Result<Option<u32>> {
        let own_core = self.fabric().caps().own_cores;
        let (mut rounds, mut stretch) = (0_u32, 0);
        loop {
            if done() {
                return Ok(None);
            }
            self.progress();
            self.core.borrow_mut().check_fault(self.fabric())?;
            let woke = if own_core {
                self.bide(rounds)
            } else {
                (rounds < yields).then(|| self.park(rounds, Idle::Briefly))
            };
            match woke {
                None => return Ok(Some(rounds)),
                Some(Woke::Again) => {}
                Some(woke) => stretch = self.look_up(woke, stretch, interest)?,
            }
            rounds = rounds.wrapping_add(1);
        }
    }

    /// As [`wait_about`](Lane::wait_about), for a rank that has waited for so many rounds.
    #[inline]
    pub fn wait_asleep(
        &self,
        interest: Interest<'_>,
        rounds: u32,
        done: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        self.wait_unless(interest, rounds, |_| done(), |core, fabric| core.check_fault(fabric))
    }

    /// Makes progress until requests are complete, as `done` tells: those of a poisoned rank end, and until then they are waited for.
    /// Fails only with [`Error::Stalled`](crate::Error::Stalled).
    #[inline]
    pub fn wait_for_requests(&self, interest: Interest<'_>, done: impl FnMut(&Lane) -> bool) -> Result<()> {
        self.wait_unless(interest, 0, done, |core, fabric| {
            core.sweep(fabric);
            Ok(())
        })
    }

    #[inline]
    fn wait_unless(
        &self,
        interest: Interest<'_>,
        mut rounds: u32,
        mut done: impl FnMut(&Lane) -> bool,
        check: impl Fn(&mut Core, &dyn Fabric) -> Result<()>,
    ) -> Result<()> {
        let mut stretch = 0;
        let mut shown = false;
        loop {
            if self.progress() > 0 {
                (rounds, stretch) = (0, 0);
            }
            if rounds > 0 {
                // Before `done` looks, so that no signal is lost between the look and the sleep.
                signals::acknowledge(self.fabric());
            }
            if done(self) {
                if shown {
                    self.core.borrow_mut().goes_on(self.fabric());
                }
                return Ok(());
            }
            let idle = {
                let mut core = self.core.borrow_mut();
                if core.fault.is_some() {
                    let ended = core.swept;
                    if let Err(fault) = check(&mut core, self.fabric()) {
                        if shown {
                            core.goes_on(self.fabric());
                        }
                        return Err(fault);
                    }
                    if !ended {
                        // Look again: what is waited for may have ended just now.
                        continue;
                    }
                }
                core.waits(self.fabric(), &mut shown, Waits::ForOthers);
                core.idle()
            };
            let woke = self.park(rounds, idle);
            if woke != Woke::Again {
                stretch = self.look_up(woke, stretch, interest)?;
            }
            rounds = rounds.wrapping_add(1);
        }
    }

    /// Makes progress until `done` holds, which is a matter of memory that others write: nobody wakes this rank for it, so it does not sleep.
    #[inline(never)]
    pub fn wait_for_memory(&self, done: &mut dyn FnMut() -> bool) -> Result<()> {
        let mut rounds = 0_u32;
        while !done() {
            if self.progress() > 0 {
                rounds = 0;
            }
            self.core.borrow_mut().check_fault(self.fabric())?;
            let woke = self.park(rounds, Idle::Briefly);
            if woke != Woke::Again {
                self.look_up_polling(woke, rounds, Interest::Open)?;
            }
            rounds = rounds.saturating_add(1);
        }
        Ok(())
    }

    /// Makes progress until so many ticks have passed: for a rank that will ask again for what nobody tells it of.
    pub fn pause(&self, ticks: u64) -> Result<()> {
        let fabric = self.fabric();
        let until = fabric.now().saturating_add(ticks);
        let mut rounds = 0_u32;
        loop {
            self.progress();
            self.core.borrow_mut().check_fault(fabric)?;
            if fabric.now() >= until {
                return Ok(());
            }
            signals::acknowledge(fabric);
            let woke = self.rest_until(rounds, until);
            if woke != Woke::Again {
                self.look_up_polling(woke, rounds, Interest::Open)?;
            }
            rounds = rounds.saturating_add(1);
        }
    }

    /// Makes progress until `done` holds, which is a matter of memory that others write: they wake this rank if `sleeps` says that it may be asleep
    /// ([`call_up`](signals::call_up)). That is said only when it has looked for a while, since it costs them something.
    #[inline(never)]
    pub fn wait_to_be_told(
        &self,
        interest: Interest<'_>,
        sleeps: &AtomicU32,
        done: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let Some(rounds) = self.wait_awake(interest, 0, done)? else { return Ok(()) };
        words::lie_down(sleeps);
        let waited = self.wait_asleep(interest, rounds, done);
        words::get_up(sleeps);
        waited
    }

    /// Makes progress once, for tests and probes. One that finds nothing lets others run, so that a loop of them cannot
    /// starve the rank that it waits for.
    pub fn poke_about(&self, interest: Interest<'_>) -> Result<()> {
        self.poke_requests(interest)?;
        self.core.borrow_mut().check_fault(self.fabric())
    }

    /// As [`poke_about`](Lane::poke_about), for tests of requests: a fault that poisons the rank is the outcome of those that it ends.
    pub fn poke_requests(&self, interest: Interest<'_>) -> Result<()> {
        if self.progress() > 0 {
            self.fruitless.set(0);
        } else {
            let rounds = self.fruitless.get();
            let woke = self.park(rounds, Idle::Briefly);
            if woke != Woke::Again {
                self.look_up_polling(woke, rounds, interest)?;
            }
            self.fruitless.set(rounds.saturating_add(1));
            self.progress();
        }
        self.core.borrow_mut().sweep(self.fabric());
        Ok(())
    }
}

//! Waiting in the direct receive (see `progress::direct`): the loop of the shortest messages.

use fabric::{Idle, Woke};

use crate::lane::Lane;
use crate::lane::statement::Interest;
use crate::progress::tables::slot::Stage;
use crate::progress::tables::watch::{Waits, Wanted};
use crate::values::comm::Comm;
use crate::values::envelope::{Envelope, Kind};
use crate::values::error::{Error, Result};
use crate::values::ids::{Source, Tag, TagMatch};
use crate::values::memory::RecvBuffer;
use crate::values::request::Status;

impl Lane {
    /// Begins a receive that stays out of the tables, if that is possible now; [`wait_for_direct`](Lane::wait_for_direct)
    /// must follow.
    #[inline]
    pub(crate) fn begin_direct(
        &self,
        buffer: &RecvBuffer,
        source: Source,
        tag: TagMatch,
        comm: &Comm,
    ) -> bool {
        let source = match source {
            Source::Null => return false,
            Source::Any => None,
            Source::Rank(rank) => Some(rank),
        };
        let mut core = self.core.borrow_mut();
        let begun = core.begin_direct(buffer, comm.context(), source, tag.value());
        if begun {
            core.receive_begins(self.fabric(), true, || Wanted {
                from: source.map(|rank| comm.node(rank)),
                tag: tag.value(),
                context: comm.context(),
                bytes: buffer.bytes(),
            });
        }
        begun
    }

    /// Receives a short message of one source and tag that is the next to come, and here or about to be: it goes from the mailbox into the buffer, and nothing is begun or
    /// ended. Its bytes; `None`, and nothing was received, if it is not so.
    #[inline(always)]
    pub(crate) fn receive_at_once(&self, room: &mut [u8], source: u32, tag: Tag, comm: &Comm) -> Option<u64> {
        let core = &mut *self.core.borrow_mut();
        if room.len() as u64 >= self.at_once_below
            || !core.is_quiet()
            || self.schedules.live() > 0
            || source >= comm.peers().size()
        {
            return None;
        }
        let [first, second, _] =
            Envelope { context: comm.context(), source, tag: tag.value() }.header(Kind::Eager, 0);
        let (from, bytes) = self.fabric().take_next(first, second, room, self.looks.get()).letter()?;
        core.peers.see(from);
        Some(u64::from(bytes))
    }

    /// As [`wait_about`](Lane::wait_about), with the core borrowed once a round: this is the loop of the shortest messages.
    pub(crate) fn wait_for_direct(&self) -> Result<Status> {
        let mut rounds = 0_u32;
        let mut stretch = 0;
        let mut shown = false;
        if self.parks_first {
            let idle = {
                let mut core = self.core.borrow_mut();
                core.waits(self.fabric(), &mut shown, Waits::ForDirect);
                // Nothing may come any more for a rank that is poisoned.
                core.fault.is_none().then(|| core.idle())
            };
            if let Some(idle) = idle {
                stretch = self.rest_in_direct(0, idle, stretch)?;
            }
        }
        loop {
            let idle = {
                let mut core = self.core.borrow_mut();
                if self.progress_with(&mut core) > 0 {
                    (rounds, stretch) = (0, 0);
                }
                if shown && core.direct.stage != Stage::Waiting {
                    core.goes_on(self.fabric());
                }
                match core.direct.stage {
                    Stage::Waiting => {}
                    Stage::Received => {
                        core.direct.end();
                        let received = Envelope::of(&[0, core.direct.received, 0]);
                        return Ok(Status::received(&received, core.direct.bytes));
                    }
                    _ => {
                        drop(core);
                        return self.end_direct();
                    }
                }
                if let Err(error) = core.check_fault(self.fabric()) {
                    core.goes_on(self.fabric());
                    core.direct.end();
                    return Err(error);
                }
                core.waits(self.fabric(), &mut shown, Waits::ForDirect);
                core.idle()
            };
            stretch = self.rest_in_direct(rounds, idle, stretch)?;
            rounds = rounds.wrapping_add(1);
        }
    }

    /// As [`rest`](Lane::rest), within a stretch of waiting; a receive that ends here lets go of its buffer.
    #[inline]
    fn rest_in_direct(&self, rounds: u32, idle: Idle, stretch: u64) -> Result<u64> {
        match self.rest(rounds, idle) {
            Woke::Again => Ok(stretch),
            woke => self
                .look_up(woke, stretch, Interest::Open)
                .inspect_err(|_| self.core.borrow_mut().direct.end()),
        }
    }

    /// The result of a direct receive that did not simply get its message.
    #[cold]
    fn end_direct(&self) -> Result<Status> {
        let (request, error) = {
            let direct = &mut self.core.borrow_mut().direct;
            direct.end();
            (direct.request.take(), direct.error.take())
        };
        match (request, error) {
            (Some(id), _) => self.wait(id),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::Internal { reason: "a receive ended without its message" }),
        }
    }
}

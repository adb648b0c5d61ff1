//! Persistent operations: described once, started many times (MPI sections 3.9 and 6.13).
//!
//! Their buffers are borrowed for the scope, and reached through the request: it lends them out while nothing is under way, which is when the
//! engine keeps its hands off them. A round that nobody has waited for is completed first.

use std::marker::PhantomData;
use std::ptr::NonNull;

use engine::{Comm, Mode, RecvBuffer, SendBuffer, State};

use super::collective::{Lent, Planned};
use super::elements::{Buffer, BufferMut, Exclusive, Shared};
use super::flight::cancel;
use super::scope::{Life, Pending, Ticket};
use super::{Data, Datatype};
use crate::activity::Activity;
use crate::address::{Inward, Outward};
use crate::error::{Error, Result};
use crate::request::Started;
use crate::selection::Selection;

/// A send, receive or collective that can be started again and again. `Out` is what is sent from and `In` what is received into; `()` if there is
/// nothing.
///
/// Dropping or forgetting it does no harm: what is under way is completed at the end of the scope, at the latest.
pub struct Persistent<'scope, Out: ?Sized, In: ?Sized> {
    kept: Kept<'scope>,
    outgoing: *mut Out,
    incoming: *mut In,
    _borrow: PhantomData<(&'scope mut Out, &'scope mut In)>,
}

/// A request that can be started again and again.
pub(super) struct Kept<'scope>(pub Ticket<'scope>);

impl Kept<'_> {
    /// Makes sure that nothing is under way.
    #[track_caller]
    pub fn rest(&self) -> Result<()> {
        let slot = self.0.started();
        let process = self.0.process();
        if let Life::Held(released) = &slot.life {
            released.set(true);
        }
        if process.rank().state(slot.id)? != State::Inactive {
            let outcome = self.0.settle();
            process.resume_panic();
            outcome?;
        }
        Ok(())
    }

    /// Starts it. Nothing is under way.
    pub fn start(&self) -> Result<()> {
        let id = self.0.id();
        self.0.process().call(|rank| rank.start(id))
    }

    /// Another name of the round that was started.
    pub fn round(&mut self) -> Ticket<'_> {
        Ticket { pending: self.0.pending, slot: self.0.slot }
    }
}

impl Drop for Kept<'_> {
    /// Frees it, unless it is under way: then the end of the scope does.
    fn drop(&mut self) {
        let (process, slot) = (self.0.process(), self.0.started());
        let rank = process.rank();
        if matches!(rank.state(slot.id), Ok(State::Inactive)) {
            process.free(slot.id);
            self.0.pending.clear(self.0.slot);
        }
    }
}

impl<Out: ?Sized, In: ?Sized> Persistent<'_, Out, In> {
    /// Starts it (MPI_Start). The buffers are out of reach until the round is waited for; if it was lost, until it is complete, which this waits for.
    #[track_caller]
    pub fn start(&mut self) -> Result<Started<'_>> {
        self.kept.rest()?;
        self.kept.start()?;
        Ok(Started(self.kept.round()))
    }

    /// What is sent from. Waits for a round that was lost.
    #[track_caller]
    pub fn outgoing(&mut self) -> Result<&mut Out> {
        self.kept.rest()?;
        // SAFETY: made from an exclusive borrow for longer than this, and nothing is under way; nothing can be started while this is
        // used.
        Ok(unsafe { &mut *self.outgoing })
    }

    /// What is received into. Waits for a round that was lost.
    #[track_caller]
    pub fn incoming(&mut self) -> Result<&mut In> {
        self.kept.rest()?;
        // SAFETY: as in `outgoing`.
        Ok(unsafe { &mut *self.incoming })
    }
}

/// A place for what is not there.
fn nothing() -> *mut () {
    NonNull::dangling().as_ptr()
}

impl<'p> Pending<'p> {
    /// Describes a send.
    pub fn keep_send<'scope, B: Buffer + ?Sized>(
        &'scope self,
        mode: Mode,
        data: &'scope mut B,
        to: Outward,
        comm: &Comm,
    ) -> Result<Persistent<'scope, B, ()>> {
        let outgoing: *mut B = data;
        // SAFETY: borrowed for `'scope`, before whose end it is complete; `Persistent` lends it out between rounds only.
        let buffer = unsafe { B::outgoing(outgoing, self.process()) };
        let kept = self.keep_sending(mode, &buffer, to, comm)?;
        Ok(Persistent { kept, outgoing, incoming: nothing(), _borrow: PhantomData })
    }

    /// Describes a receive.
    pub fn keep_receive<'scope, B: BufferMut + ?Sized>(
        &'scope self,
        target: &'scope mut B,
        from: Inward,
        comm: &Comm,
    ) -> Result<Persistent<'scope, (), B>> {
        let incoming: *mut B = target;
        // SAFETY: as in `keep_send`.
        let buffer = unsafe { B::incoming(incoming, self.process()) };
        let kept = self.keep_receiving(&buffer, from, comm)?;
        Ok(Persistent { kept, outgoing: nothing(), incoming, _borrow: PhantomData })
    }

    /// Describes a collective without buffers.
    pub fn keep_bare<'scope>(
        &'scope self,
        lent: Lent<'scope, impl Planned>,
    ) -> Result<Persistent<'scope, (), ()>> {
        let kept = self.keep_lent(lent)?;
        Ok(Persistent { kept, outgoing: nothing(), incoming: nothing(), _borrow: PhantomData })
    }

    /// Describes a collective with one buffer, which is sent from at some members and received into at others.
    pub fn keep_one<'scope, B: ?Sized, F: Planned>(
        &'scope self,
        data: &'scope mut B,
        describe: impl FnOnce(Exclusive<'scope, B>) -> Result<Lent<'scope, F>>,
    ) -> Result<Persistent<'scope, (), B>> {
        let incoming: *mut B = data;
        // SAFETY: made from an exclusive borrow for `'scope`, which `Persistent` lends out between rounds only.
        let kept = self.keep_lent(describe(unsafe { Exclusive::of(incoming) })?)?;
        Ok(Persistent { kept, outgoing: nothing(), incoming, _borrow: PhantomData })
    }

    /// Describes a collective with a buffer to send from and one to receive into.
    pub fn keep_two<'scope, Out: Data + ?Sized, In: Data + ?Sized, F: Planned>(
        &'scope self,
        data: &'scope mut Out,
        result: &'scope mut In,
        describe: impl FnOnce(
            Shared<'scope, [Out::Item]>,
            Exclusive<'scope, [In::Item]>,
        ) -> Result<Lent<'scope, F>>,
    ) -> Result<Persistent<'scope, Out, In>> {
        let (outgoing, incoming): (*mut Out, *mut In) = (data, result);
        // SAFETY: as in `keep_one`, for both.
        let lent = unsafe { describe(Shared::of(Out::place(outgoing)), Exclusive::of(In::place(incoming)))? };
        let kept = self.keep_lent(lent)?;
        Ok(Persistent { kept, outgoing, incoming, _borrow: PhantomData })
    }

    /// Describes exchanges from and into parts of a slice.
    pub fn exchange<'scope, T: Datatype>(
        &'scope self,
        items: &'scope mut [T],
        comm: &'scope Comm,
    ) -> Exchange<'scope, T> {
        let claims = vec![Claim::None; items.len()];
        Exchange { pending: self, comm, items, claims, requests: Vec::new(), _borrow: PhantomData }
    }

    fn keep_lent<'scope>(&'scope self, lent: Lent<'scope, impl Planned>) -> Result<Kept<'scope>> {
        let activity = Activity::Collective(lent.which);
        // SAFETY: lent for `'scope`, before whose end everything that is active is completed; between rounds nobody minds.
        let id = unsafe { lent.keep(self.process()) }?;
        Ok(Kept(self.add(id, activity, Life::Kept)))
    }

    fn keep_sending(&self, mode: Mode, buffer: &SendBuffer, to: Outward, comm: &Comm) -> Result<Kept<'_>> {
        let id = self.process().call(|rank| rank.send_init(mode, buffer, to.dest, to.tag, comm))?;
        Ok(Kept(self.add(id, to.activity(), Life::Kept)))
    }

    fn keep_receiving(&self, buffer: &RecvBuffer, from: Inward, comm: &Comm) -> Result<Kept<'_>> {
        let id = self.process().call(|rank| rank.recv_init(buffer, from.source, from.tag, comm))?;
        Ok(Kept(self.add(id, from.activity(), Life::Kept)))
    }
}

/// Persistent sends from and receives into parts of one slice, which are started together: as for the edges and the rim of a grid. See
/// [`Scope::exchange`](crate::Scope::exchange).
///
/// The parts to receive into have no element in common with any other part, so that the slice can be reached as a whole between rounds.
pub struct Exchange<'scope, T> {
    pending: &'scope Pending<'scope>,
    comm: &'scope Comm,
    items: *mut [T],
    claims: Vec<Claim>,
    requests: Vec<Kept<'scope>>,
    _borrow: PhantomData<&'scope mut [T]>,
}

/// What an element is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claim {
    None,
    Sent,
    Received,
}

/// An [`Exchange`] under way. Dropping it does no harm: the slice is out of reach until all is complete.
#[must_use = "the slice can be reached once this was waited for"]
pub struct Round<'r> {
    requests: &'r [Kept<'r>],
}

impl<'scope, T: Datatype> Exchange<'scope, T> {
    /// The slice. Waits for a round that was lost.
    #[track_caller]
    pub fn items(&mut self) -> Result<&mut [T]> {
        self.rest()?;
        // SAFETY: made from an exclusive borrow for longer than this, and nothing is under way; nothing can be started while this is
        // used.
        Ok(unsafe { &mut *self.items })
    }

    /// Starts everything that was added, in that order (MPI_Startall).
    #[track_caller]
    pub fn start(&mut self) -> Result<Round<'_>> {
        self.rest()?;
        for request in &self.requests {
            if let Err(error) = request.start() {
                // All or nothing: what was started is ended.
                self.requests.iter().for_each(|request| cancel(self.pending.process(), request.0.id()));
                let _ = self.rest();
                return Err(error);
            }
        }
        Ok(Round { requests: &self.requests })
    }

    pub(crate) fn add_send(&mut self, selection: &Selection, to: Outward) -> Result<()> {
        let datatype = self.claim(selection, Claim::Sent)?;
        // SAFETY: a part of a slice that is borrowed for `'scope`, before whose end it is complete; the slice is lent out between rounds only,
        // and none of this part is received into.
        let buffer = unsafe { SendBuffer::new(self.items.cast(), 1, &datatype) };
        let kept = self.pending.keep_sending(Mode::Standard, &buffer, to, self.comm)?;
        self.requests.push(kept);
        Ok(())
    }

    pub(crate) fn add_receive(&mut self, selection: &Selection, from: Inward) -> Result<()> {
        selection.check_distinct()?;
        let datatype = self.claim(selection, Claim::Received)?;
        // SAFETY: as for sends; no other part has an element of this one.
        let buffer = unsafe { RecvBuffer::new(self.items.cast(), 1, &datatype) };
        let kept = self.pending.keep_receiving(&buffer, from, self.comm)?;
        self.requests.push(kept);
        Ok(())
    }

    pub(crate) fn comm(&self) -> &'scope Comm {
        self.comm
    }

    /// Books elements for a use that none of them has another for; nothing may be under way, as the engine would learn of it too late.
    fn claim(&mut self, selection: &Selection, claim: Claim) -> Result<engine::Datatype> {
        selection.check(self.claims.len())?;
        self.rest()?;
        let fits = |other: Claim| other == Claim::None || (other == claim && claim == Claim::Sent);
        let mut clash = None;
        selection.each_piece(|start, length| {
            if let Some(at) = self.claims[start..start + length].iter().position(|other| !fits(*other)) {
                clash.get_or_insert(start + at);
            }
        });
        if let Some(at) = clash {
            return Err(Error::length(format!(
                "element {at} is selected, which is received into and used besides, expected parts that share no such element"
            )));
        }
        let datatype = selection.lower(&T::SHAPE.lower())?;
        selection.each_piece(|start, length| self.claims[start..start + length].fill(claim));
        Ok(datatype)
    }

    #[track_caller]
    fn rest(&self) -> Result<()> {
        complete(&self.requests)
    }
}

impl Round<'_> {
    /// True once everything is complete; makes progress if it is not.
    pub fn test(&mut self) -> Result<bool> {
        for request in self.requests {
            if !request.0.test()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits for everything; the first error, if there are some.
    #[track_caller]
    pub fn wait(self) -> Result<()> {
        complete(self.requests)
    }
}

#[track_caller]
fn complete(requests: &[Kept<'_>]) -> Result<()> {
    let mut result = Ok(());
    // Not by a closure: it would be the caller whose line is told of a wait in vain.
    for request in requests {
        result = result.and(request.rest());
    }
    result
}

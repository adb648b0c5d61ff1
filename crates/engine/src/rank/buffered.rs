//! Buffered sends and the attached buffer (MPI section 3.6).
//!
//! The message is copied into library memory and sent from there; the attached buffer is the account that this is booked
//! on, so a program finds out at the same message as elsewhere that its buffer is too small. A communicator may have an account of its own,
//! which then takes all its messages, and a session one
//! for the communicators that come from it; the others share that of the process.

use alloc::vec::Vec;
use core::mem;

use crate::progress::protocol::{Completion, Manner, Meanwhile};
use crate::rank::Rank;
use crate::rank::accounts::{Attached, Holder, InFlight, Of};
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::ids::Tag;
use crate::values::memory::SendBuffer;
use crate::values::request::RequestId;

/// Bytes that a buffered message needs besides its data (MPI_BSEND_OVERHEAD in the standard ABI is larger).
const OVERHEAD: u64 = 64;

/// What the budget calls buffered messages.
const BUFFERED: &str = "buffered sends";

impl Rank {
    /// Attaches a buffer of `bytes` bytes at `address`, which [`detach_buffer`](Rank::detach_buffer) returns.
    pub fn attach_buffer(&self, of: Holder<'_>, address: usize, bytes: u64) -> Result<()> {
        let of = Of::from(of);
        let mut accounts = self.attached.lock();
        if accounts.at(of).is_some() {
            return Err(Error::BufferAttached);
        }
        accounts.0.push(Attached { of, address, bytes, in_flight: Vec::new() });
        Ok(())
    }

    /// Waits until all messages of a buffer are sent, and gives back its address and size.
    pub fn detach_buffer(&self, of: Holder<'_>) -> Result<(usize, u64)> {
        self.flush_buffer(of)?;
        let of = Of::from(of);
        let mut accounts = self.attached.lock();
        let place = accounts.0.iter().position(|attached| attached.of == of);
        let place = place.ok_or(Error::BufferExhausted { needed: 0, free: 0, attached: 0 })?;
        let Attached { address, bytes, .. } = accounts.0.remove(place);
        Ok((address, bytes))
    }

    /// Waits until all messages of a buffer are sent.
    pub fn flush_buffer(&self, of: Holder<'_>) -> Result<()> {
        loop {
            let mut accounts = self.attached.lock();
            let next = accounts.at(Of::from(of)).and_then(|attached| attached.pop(self.number));
            drop(accounts);
            match next {
                Some(id) => self.wait(id)?,
                None => return Ok(()),
            };
        }
    }

    /// Waits until all buffered messages are sent.
    pub(super) fn flush_all_buffers(&self) -> Result<()> {
        loop {
            let mut accounts = self.attached.lock();
            let next = accounts.0.iter_mut().find_map(|attached| attached.pop(self.number));
            drop(accounts);
            match next {
                Some(id) => self.wait(id)?,
                None => return Ok(()),
            };
        }
    }

    /// As [`flush_buffer`](Rank::flush_buffer) without waiting, and for all lanes.
    pub fn iflush_buffer(&self, of: Holder<'_>) -> Result<RequestId> {
        let of = Of::from(of);
        let (own, others): (Vec<InFlight>, Vec<InFlight>) = {
            let mut accounts = self.attached.lock();
            let taken =
                accounts.at(of).map(|attached| mem::take(&mut attached.in_flight)).unwrap_or_default();
            let (own, others): (Vec<InFlight>, Vec<InFlight>) =
                taken.into_iter().partition(|message| message.lane == self.number);
            if let Some(attached) = accounts.at(of) {
                attached.in_flight.clone_from(&others);
            }
            (own, others)
        };
        let ids: Vec<RequestId> = own.into_iter().map(|message| message.id).collect();
        if others.is_empty() {
            return self.lane.join("flush", &ids, None);
        }
        // Those of other lanes are taken off the account there.
        let accounts = self.attached.clone();
        self.lane.join_until("flush", &ids, move || {
            let mut accounts = accounts.lock();
            let left = accounts.at(of).map_or(&[][..], |attached| &attached.in_flight);
            !others.iter().any(|message| left.contains(message))
        })
    }

    pub(super) fn send_buffered(
        &self,
        buffer: &SendBuffer,
        to: u32,
        tag: Tag,
        comm: &Comm,
    ) -> Result<RequestId> {
        buffer.check()?;
        self.reap_buffered()?;
        let needed = buffer.bytes() + OVERHEAD;
        {
            let mut accounts = self.attached.lock();
            let attached = accounts.for_message(comm);
            let (size, used) = attached.map_or((0, 0), |attached| (attached.bytes, attached.used()));
            let free = size.saturating_sub(used);
            if needed > free {
                return Err(Error::BufferExhausted { needed, free, attached: size });
            }
        }
        let bytes = buffer.bytes() as usize;
        self.fabric().budget().reserve(BUFFERED, bytes)?;
        let copy = SendBuffer::owned(buffer.packed());
        let booked = Some((BUFFERED, bytes));
        let manner = Manner { completion: Completion::Local, booked, meanwhile: Meanwhile::Anything };
        let sent = self.lane.begin_send(comm.context(), &copy, to, tag, comm, manner)?;
        if sent != RequestId::SENT
            && let Some(attached) = self.attached.lock().for_message(comm)
        {
            attached.in_flight.push(InFlight { lane: self.number, id: sent, bytes: needed });
        }
        Ok(RequestId::SENT)
    }

    /// Forgets the messages of this lane that have been sent meanwhile.
    pub(super) fn reap_buffered(&self) -> Result<()> {
        let is_own = |message: &InFlight| message.lane == self.number;
        if !self.attached.lock().0.iter().any(|attached| attached.in_flight.iter().any(is_own)) {
            return Ok(());
        }
        self.progress();
        let mut failed = Ok(());
        for attached in &mut self.attached.lock().0 {
            attached.in_flight.retain(|message| {
                let under_way = !is_own(message)
                    || matches!(self.lane.state(message.id), Ok(crate::lane::complete::State::Active));
                if !under_way && let Err(error) = self.take(message.id) {
                    failed = Err(error);
                }
                under_way
            });
        }
        failed
    }
}

//! Buffered sends and the attached buffer (MPI section 3.6).
//!
//! The message is copied into library memory and sent from there; the attached buffer is the account that this is booked
//! on, so a program finds out at the same message as elsewhere that its buffer is too small.

use fabric::Node;

use crate::envelope::Envelope;
use crate::error::{Error, Result};
use crate::memory::SendBuffer;
use crate::protocol::{Completion, Manner};
use crate::rank::Rank;
use crate::request::RequestId;

/// Bytes that a buffered message needs besides its data (MPI_BSEND_OVERHEAD in the standard ABI is larger).
const OVERHEAD: u64 = 64;

/// What the budget calls buffered messages.
const BUFFERED: &str = "buffered sends";

/// The attached buffer, and the messages that are booked on it.
#[derive(Debug, Default)]
pub(crate) struct Attached {
    buffer: Option<(usize, u64)>,
    in_flight: alloc::vec::Vec<(RequestId, u64)>,
}

impl Attached {
    fn used(&self) -> u64 {
        self.in_flight.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl Rank {
    /// Attaches a buffer of `bytes` bytes at `address`, which [`detach_buffer`](Rank::detach_buffer) returns.
    pub fn attach_buffer(&self, address: usize, bytes: u64) -> Result<()> {
        let mut attached = self.attached.borrow_mut();
        if attached.buffer.is_some() {
            return Err(Error::BufferAttached);
        }
        attached.buffer = Some((address, bytes));
        Ok(())
    }

    /// Waits until all buffered messages are sent, and gives back the address and size of the buffer.
    pub fn detach_buffer(&self) -> Result<(usize, u64)> {
        self.flush_buffer()?;
        let buffer = self.attached.borrow_mut().buffer.take();
        buffer.ok_or(Error::BufferExhausted { needed: 0, free: 0, attached: 0 })
    }

    /// Waits until all buffered messages are sent.
    pub fn flush_buffer(&self) -> Result<()> {
        loop {
            let next = self.attached.borrow_mut().in_flight.pop();
            match next {
                Some((id, _)) => self.wait(id)?,
                None => return Ok(()),
            };
        }
    }

    pub(crate) fn send_buffered(
        &self,
        buffer: &SendBuffer,
        to: Node,
        envelope: Envelope,
    ) -> Result<RequestId> {
        self.reap_buffered()?;
        let needed = buffer.bytes() + OVERHEAD;
        {
            let attached = self.attached.borrow();
            let (_, size) = attached.buffer.unwrap_or((0, 0));
            let free = size.saturating_sub(attached.used());
            if needed > free {
                return Err(Error::BufferExhausted { needed, free, attached: size });
            }
        }
        let bytes = buffer.bytes() as usize;
        self.fabric().budget().reserve(BUFFERED, bytes)?;
        let copy = SendBuffer::owned(buffer.packed());
        let booked = Some((BUFFERED, bytes));
        let manner = Manner { completion: Completion::Local, booked, waiting: false };
        let sent = self.core.borrow_mut().start_send(self.fabric(), &copy, to, envelope, manner)?;
        if sent != RequestId::SENT {
            self.attached.borrow_mut().in_flight.push((sent, needed));
        }
        Ok(RequestId::SENT)
    }

    /// Forgets the messages that have been sent meanwhile.
    fn reap_buffered(&self) -> Result<()> {
        if self.attached.borrow().in_flight.is_empty() {
            return Ok(());
        }
        self.progress();
        let in_flight = core::mem::take(&mut self.attached.borrow_mut().in_flight);
        for (id, bytes) in in_flight {
            if self.state(id)? == crate::complete::State::Active {
                self.attached.borrow_mut().in_flight.push((id, bytes));
            } else {
                self.take(id)?;
            }
        }
        Ok(())
    }
}

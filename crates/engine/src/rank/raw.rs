//! Raw mailbox and portal: the fabric's own calls for programs that do without MPI's matching (the Nanvix IPC of LWMPI's paper).
//!
//! * A rank has one mailbox for raw messages. Each is one letter: 8 bytes of header, up to [`Rank::MAILBOX_MAX`] of data. They are
//!   read in the order of arrival; what has come and is not read yet counts against the budget.
//! * A portal moves one block: the reader allows a writer and reads, the writer writes. Both name the same number of bytes, as the
//!   hardware wants it; otherwise both calls fail. The data goes by the granted rendezvous, or in letters where no portal reaches.
//!
//! Peers are ranks of [`Rank::local`].

use fabric::{Node, PortStep};

use crate::progress::tables::mailroom::{LONGEST, Message, Raw, UNREAD, encode};
use crate::rank::Rank;
use crate::values::error::{Error, Result};
use crate::values::memory::{RecvBuffer, SendBuffer};

/// Calls that open a port and close it again: a program that does without MPI does so for every message.
const OPEN_AND_CLOSE: u32 = 2;
/// The call that asks for the own node's number, which a port is opened with.
const NODE_NUMBER: u32 = 1;

impl Rank {
    /// Longest raw message in bytes.
    pub const MAILBOX_MAX: usize = LONGEST;

    /// Sends a raw message; returns when the fabric has taken it.
    pub fn mailbox_write(&self, to: u32, message: &SendBuffer) -> Result<()> {
        let to = self.peer("destination", to)?;
        let length = message.bytes();
        if length > Rank::MAILBOX_MAX as u64 {
            let reason = "a mailbox message has at most 112 bytes";
            return Err(Error::Argument { reason, given: length as i64 });
        }
        let mut bytes = [0; Rank::MAILBOX_MAX];
        let bytes = &mut bytes[..length as usize];
        message.pack(0, bytes);
        self.fabric().port(PortStep::Raw(OPEN_AND_CLOSE));
        let (header, payload) = encode(bytes);
        self.lane.core.borrow_mut().post_control(self.fabric(), to, header, payload);
        self.lane
            .wait_until(&mut |lane| lane.core.borrow().peers.get(to).is_none_or(|peer| peer.lets_pass(None)))
    }

    /// Waits for a raw message and stores it; its sender and length.
    pub fn mailbox_read(&self, into: &RecvBuffer) -> Result<(u32, u64)> {
        self.fabric().port(PortStep::Raw(0));
        self.lane.wait_until(&mut |lane| {
            let Raw { unread, lost, .. } = &*lane.core.borrow().raw;
            !unread.is_empty() || lost.is_some()
        })?;
        let (message, lost) = {
            let raw = &mut self.lane.core.borrow_mut().raw;
            let message = raw.unread.pop_front();
            let lost = if message.is_none() { raw.lost.take() } else { None };
            (message, lost)
        };
        let Some((from, Message { bytes, length })) = message else {
            return Err(lost.unwrap_or(Error::Internal { reason: "a mailbox message vanished" }));
        };
        self.fabric().budget().release(UNREAD, size_of::<Message>());
        let (received, capacity) = (length as u64, into.bytes());
        if received > capacity {
            return Err(Error::Truncated { source: from.0, tag: 0, received, capacity });
        }
        into.unpack(0, &bytes[..length]);
        Ok((from.0, received))
    }

    /// Allows `from` one write into this rank's portal.
    pub fn portal_allow(&self, from: u32) -> Result<()> {
        let from = self.peer("source", from)?;
        self.fabric().port(PortStep::Raw(NODE_NUMBER));
        self.lane.core.borrow_mut().raw.allowed.push(from);
        Ok(())
    }

    /// Waits for the block that `from`, which must have been allowed, writes.
    pub fn portal_read(&self, buffer: &RecvBuffer, from: u32) -> Result<()> {
        let from = self.peer("source", from)?;
        let id = self.lane.core.borrow_mut().want(self.fabric(), buffer, from)?;
        self.wait(id).map(|_| ())
    }

    /// Writes a block into the portal of `to`, once it reads.
    pub fn portal_write(&self, to: u32, buffer: &SendBuffer) -> Result<()> {
        let to = self.peer("destination", to)?;
        self.fabric().port(PortStep::Raw(OPEN_AND_CLOSE + NODE_NUMBER));
        let mut wanted = None;
        self.lane.wait_until(&mut |lane| {
            wanted = lane.core.borrow_mut().raw.take_wanted(to);
            wanted.is_some()
        })?;
        let Some(wanted) = wanted else {
            return Err(Error::Internal { reason: "a read of the portal vanished" });
        };
        let id = self.lane.core.borrow_mut().supply(self.fabric(), buffer, wanted)?;
        self.wait(id).map(|_| ())
    }

    fn peer(&self, role: &'static str, rank: u32) -> Result<Node> {
        let (given, size) = (rank.into(), self.local().size());
        if rank < size { Ok(self.local().node(rank)) } else { Err(Error::Rank { role, given, size }) }
    }
}

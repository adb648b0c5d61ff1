//! Granted rendezvous (MPPA-MPI): RTS, the receiver exposes its buffer and grants it (CTS with a portal key), the sender puts, FIN.
//!
//! For portals that write but do not read. Cost: RTS and CTS, one transfer by core or DMA engine, and a FIN, which the portal's own
//! end-of-transfer event replaces where there is one. Scattered data is packed first at the sender and put into staging memory at
//! the receiver.
//!
//! Invariant: a send is *non-started* ([`SendStage::Offered`]) until its grant is handled, and *started* ([`SendStage::Putting`])
//! from then on. Whoever polls the grant starts the transfer, the rank in an MPI call or the agent while the rank computes; both
//! work on the same state one at a time, so exactly one of them does.
//!
//! LWMPI's path between clusters is the same with two letters more: CONFIRM before the grant tells which rank of the cluster answers,
//! and the sender completes only when the receiver has acknowledged the data (DONE). RTS, CONFIRM, grant (ALLOW), data, DONE (ACK).

use fabric::{Delivery, Fabric, Header, Node, PortStep};

use super::{copied, stream};
use crate::progress::core::{Core, UNEXPECTED};
use crate::progress::tables::portions::Portions;
use crate::progress::tables::receive::ReceiveStage;
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::SendStage;
use crate::values::envelope::{Envelope, Grant, Kind, plain_header};
use crate::values::error::{Error, Result};
use crate::values::memory::Staging;
use crate::values::request::Status;
use crate::values::slab::Key;

/// Says that the data is in the memory of this request of the receiver's. Without payload, so that a portal's event can carry it.
pub(crate) fn fin(receiver: Key, length: u64) -> Header {
    plain_header(Kind::Fin, receiver, length)
}

impl Core {
    /// Lets the sender of an RTS write into a matched receive.
    pub(super) fn grant(
        &mut self,
        fabric: &dyn Fabric,
        key: Key,
        from: Node,
        (envelope, length): (Envelope, u64),
        sender: Key,
        confirmed: bool,
    ) {
        let Some(receive) = self.requests.receive_mut(key) else { return };
        let (exposed, staging) = if receive.buffer.is_contiguous() {
            (receive.buffer.expose(fabric, from), None)
        } else {
            if let Err(exceeded) = fabric.budget().reserve(UNEXPECTED, length as usize) {
                // The sender is let go: its message cannot be taken.
                self.finish(fabric, key, Err(exceeded.into()));
                return self.post_control(fabric, from, plain_header(Kind::Done, 0, sender), &[]);
            }
            let mut staging = Staging::new(length as usize);
            (staging.expose(fabric, from), Some(staging))
        };
        let Ok(exposed) = exposed else {
            // No region to be had: the mailbox has room again sooner or later.
            if let Some(staging) = staging {
                fabric.budget().release(UNEXPECTED, staging.bytes().len());
            }
            return self.ask_for_stream(fabric, key, from, (envelope, length), sender);
        };
        let acknowledge = confirmed.then_some(sender);
        receive.stage = ReceiveStage::Granted { envelope, from, length, exposed, staging, acknowledge };
        let header = plain_header(Kind::Grant, u64::from(confirmed), 0);
        if confirmed {
            fabric.port(PortStep::Confirm(from, header));
            self.post_control(fabric, from, plain_header(Kind::Confirm, key, sender), &[]);
        }
        let grant = Grant { sender, receiver: key, key: exposed };
        self.post_control(fabric, from, header, &grant.encode());
    }

    /// Asks for the data of an RTS in letters.
    pub(super) fn ask_for_stream(
        &mut self,
        fabric: &dyn Fabric,
        key: Key,
        from: Node,
        (envelope, length): (Envelope, u64),
        sender: Key,
    ) {
        let Some(receive) = self.requests.receive_mut(key) else { return };
        receive.stage = ReceiveStage::Filling { envelope, from, length, filled: 0 };
        if length == 0 {
            self.finish(fabric, key, Ok(Status::received(&envelope, 0)));
            return self.post_control(fabric, from, plain_header(Kind::Done, 0, sender), &[]);
        }
        let payload = stream::cts(sender, key);
        self.post_control(fabric, from, plain_header(Kind::Cts, 0, 0), &payload);
    }

    /// A receiver that shares its cluster with others says which rank it is.
    pub(super) fn confirmed(&mut self, from: Node, sender: Key) {
        if !self.requests.get(sender).is_some_and(|request| request.is_offered_to(from)) {
            self.malformed(from, "a CONFIRM for a send that is not offered");
        }
    }

    /// The receiver has granted its buffer: start the transfer.
    pub(crate) fn granted(&mut self, fabric: &dyn Fabric, from: Node, grant: Grant, acknowledged: bool) {
        let offered = self.requests.get(grant.sender).filter(|request| request.is_offered_to(from));
        let Some(Request { work: Work::Send(send), .. }) = offered else {
            return self.malformed(from, "a grant for a send that is not offered");
        };
        if !fabric.route(from).put || send.buffer.contiguous().is_none() {
            return self.malformed(from, "a grant to a send that cannot put");
        }
        let (to, length) = (send.to, send.buffer.bytes());
        let delivery = self.choice.delivery(fabric, to, length, fin(grant.receiver, length));
        self.start_granted(fabric, grant, delivery, acknowledged);
    }

    /// Puts the data of an offered send into the receiver's memory.
    pub(super) fn start_granted(
        &mut self,
        fabric: &dyn Fabric,
        grant: Grant,
        delivery: Delivery,
        acknowledged: bool,
    ) {
        let Some(send) = self.requests.send_mut(grant.sender) else {
            return;
        };
        let (to, length) = (send.to, send.buffer.bytes());
        send.stage = SendStage::Putting {
            receiver: grant.receiver,
            portions: Portions::with(None),
            noticed: delivery.notice.is_some(),
            acknowledged,
            sequence: 0,
        };
        match send.buffer.put(fabric, to, &grant.key, 0..length, &delivery) {
            Ok(ticket) => self.transfer_started(fabric, grant.sender, ticket),
            Err(error) => self.copy_failed(fabric, grant.sender, to, grant.receiver, error),
        }
    }

    /// A FIN instead of letters: the writer of a portal had something else than what its reader waits for, or nothing.
    pub(super) fn stream_ended(&mut self, fabric: &dyn Fabric, from: Node, key: Key, sent: u64) {
        let Some(receive) = self.requests.receive(key) else { return };
        let ReceiveStage::Filling { envelope, length, .. } = &receive.stage else { return };
        if sent == *length && sent > 0 {
            return self.malformed(from, "a FIN for data that has not come");
        }
        let outcome = complete(envelope, *length, sent);
        self.finish(fabric, key, outcome);
    }

    /// The data of a granted receive is in place.
    pub(super) fn granted_arrived(&mut self, fabric: &dyn Fabric, key: Key, sent: u64) {
        let Some(receive) = self.requests.receive_mut(key) else { return };
        let ReceiveStage::Granted { envelope, from, length, exposed, staging, acknowledge } = &receive.stage
        else {
            return;
        };
        let (from, acknowledge) = (*from, *acknowledge);
        fabric.withdraw(*exposed);
        if let Some(staging) = staging {
            receive.buffer.unpack(0, staging.bytes());
            fabric.budget().release(UNEXPECTED, staging.bytes().len());
            copied(fabric, *length);
        }
        let outcome = complete(envelope, *length, sent);
        self.finish(fabric, key, outcome);
        if let Some(sender) = acknowledge {
            self.post_control(fabric, from, plain_header(Kind::Done, 0, sender), &[]);
            fabric.port(PortStep::Acknowledged(from));
        }
    }
}

/// The outcome of a receive of `length` bytes that was sent `sent` of them.
fn complete(envelope: &Envelope, length: u64, sent: u64) -> Result<Status> {
    if sent == length {
        return Ok(Status::received(envelope, length));
    }
    let Envelope { source, tag, .. } = *envelope;
    Err(Error::Truncated { source, tag, received: sent, capacity: length })
}

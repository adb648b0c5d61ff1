//! One message to several nodes by the network's own multicast. Each receiver sees an ordinary one.
//!
//! | form | when | what it costs |
//! | --- | --- | --- |
//! | in letters | short | the letters of one eager message, for all receivers together |
//! | put | longer | a word of each receiver, which names its memory (`grant_put`), and one put with a notice for each |
//!
//! The receiver of a put grants its memory without having been asked: it knows from its collective who will write there, and how much. So its request begins where
//! that of a granted rendezvous is after its grant, and a FIN ends both. Puts are numbered as those into announced receives are.
//!
//! What finds no room goes on to each receiver alone, and what the network cannot reach by multicast is put to each.

use alloc::vec::Vec;

use fabric::{Delivery, Fabric, Header, Landing, Multicast, Node};
use smallvec::SmallVec;

use super::eager::carried_eagerly;
use super::{Completion, Manner, Meanwhile, granted, piece};
use crate::progress::core::Core;
use crate::progress::observe::Which;
use crate::progress::tables::peers::Outgoing;
use crate::progress::tables::receive::{ReceiveStage, ReceiveWork};
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::progress::tables::watch::{Begin, Carried, Transit, Wanted, numbered, sequence_of};
use crate::values::envelope::{CONTROL_MAX, Envelope, Kind, Share, plain_header};
use crate::values::error::{Error, Result};
use crate::values::memory::{RecvBuffer, SendBuffer};
use crate::values::request::RequestId;

/// What is still under way of a message to several nodes.
pub(crate) type UnderWay = SmallVec<[RequestId; 2]>;

impl Core {
    /// Sends a message in letters that all nodes get alike.
    pub fn multicast_eagerly(
        &mut self,
        fabric: &dyn Fabric,
        multicast: &dyn Multicast,
        buffer: &SendBuffer,
        to: &[Node],
        envelope: Envelope,
    ) -> Result<UnderWay> {
        for node in to {
            self.send_copies_first(fabric, *node);
        }
        let length = buffer.bytes();
        let mut next = 0;
        let mut rest = true;
        if to.iter().all(|node| self.peers.at(*node).lets_pass(Some(envelope))) {
            self.tell(fabric, |observer, fabric| observer.begins(fabric, &Begin::Letter));
            let route = fabric.route(to[0]);
            while rest {
                let size = (length - next).min(route.letter_max as u64);
                let header = match next {
                    0 => envelope.header(Kind::Eager, length),
                    _ => plain_header(Kind::EagerMore, 0, size),
                };
                let bytes = piece(fabric, buffer, next..next + size, &mut self.scratch);
                if multicast.try_post(to, &header, bytes).is_err() {
                    break;
                }
                next += size;
                rest = next < length || size as usize + route.letter_spare > route.letter_max;
            }
        }
        let mut under_way = UnderWay::new();
        for &node in to {
            let id = match (next, rest) {
                (0, _) => {
                    let manner = Manner {
                        completion: Completion::Local,
                        booked: None,
                        meanwhile: Meanwhile::Anything,
                    };
                    self.start_send(fabric, buffer, node, envelope, manner)?
                }
                (_, false) => {
                    self.peers.at(node).count_plain();
                    self.send_begins(fabric, (Which::CountedLast, None), |_| {
                        Transit::of(node, &envelope, length, Carried::Multicast)
                    });
                    RequestId::SENT
                }
                (_, true) => self.send_rest(fabric, buffer, node, envelope, next)?,
            };
            if id != RequestId::SENT {
                under_way.push(id);
            }
        }
        Ok(under_way)
    }

    /// Sends the bytes from `next` on of a message that has begun by multicast to one of its nodes alone.
    fn send_rest(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &SendBuffer,
        to: Node,
        envelope: Envelope,
        next: u64,
    ) -> Result<RequestId> {
        let work = SendWork { buffer: buffer.clone(), to, envelope, stage: SendStage::Outbox, booked: None };
        let id = self.add_request(fabric, Request::new(Work::Send(work)))?;
        self.peers.at(to).count_plain();
        self.send_begins(fabric, (Which::CountedLast, Some(id.key())), |_| {
            Transit::of(to, &envelope, buffer.bytes(), carried_eagerly(fabric, to, buffer.bytes()))
        });
        self.queue_eager(fabric, to, Outgoing::Eager { request: id.key(), next, envelope, bulk: false });
        Ok(id)
    }

    /// Lets a node put a message into contiguous memory; the word that tells it so.
    pub fn grant_put(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &RecvBuffer,
        from: Node,
        envelope: Envelope,
    ) -> Result<(RequestId, [u8; CONTROL_MAX])> {
        let length = buffer.bytes();
        let exposed = buffer.expose(fabric, from);
        let key =
            exposed.map_err(|_| Error::Buffer { reason: "the memory cannot be exposed to the network" })?;
        self.receive_begins(fabric, false, || Wanted {
            from: Some(from),
            tag: Some(envelope.tag),
            context: envelope.context,
            bytes: length,
        });
        let stage =
            ReceiveStage::Granted { envelope, from, length, exposed: key, staging: None, acknowledge: None };
        let work = Work::Receive(ReceiveWork { buffer: buffer.clone(), stage });
        let id = self.add_request(fabric, Request::new(work)).inspect_err(|_| fabric.withdraw(key))?;
        self.receive_is_posted(id.key());
        Ok((id, Share { request: id.key(), key, length }.encode()))
    }

    /// Puts a message into the memories that nodes have granted. Who has granted another length is told of the message's, and gets nothing.
    pub fn multicast_put(
        &mut self,
        fabric: &dyn Fabric,
        multicast: &dyn Multicast,
        buffer: &SendBuffer,
        grants: &[(Node, Share)],
        envelope: Envelope,
    ) -> Result<UnderWay> {
        let length = buffer.bytes();
        let mut landings: Vec<Landing> = Vec::with_capacity(grants.len());
        let id = self.add_request(fabric, Request::new(Work::External))?;
        for &(node, Share { request, key, length: room }) in grants {
            if room != length {
                self.post_control(fabric, node, granted::fin(request, length), &[]);
                continue;
            }
            let peer = self.peers.at(node);
            peer.sent += 1;
            peer.puts_sent += 1;
            let sequence = peer.puts_sent;
            // All of them end as one, with the first.
            let ends = landings.is_empty().then_some(id.key());
            self.send_begins(fabric, (Which::Put(sequence), ends), |_| {
                Transit::of(node, &envelope, length, Carried::Multicast)
            });
            landings.push(Landing { node, key, notice: numbered(granted::fin(request, length), sequence) });
        }
        let mut under_way = UnderWay::from_slice(&[id]);
        let mover = self.choice.mover(length);
        let most = multicast.laws().most;
        let ticket = match landings.len() {
            0 => Ok(fabric::Ticket::DONE),
            count if count <= most => buffer.multicast(multicast, &landings, mover),
            _ => Err(fabric::PortalError::Exhausted),
        };
        if let Ok(ticket) = ticket {
            self.transfer_started(fabric, id.key(), ticket);
            return Ok(under_way);
        }
        self.transfer_started(fabric, id.key(), fabric::Ticket::DONE);
        for Landing { node, key, notice } in landings {
            let id = self.add_request(fabric, Request::new(Work::External))?;
            let delivery = Delivery { mover, notice: Some(notice) };
            match buffer.put(fabric, node, &key, 0..length, &delivery) {
                Ok(ticket) => self.transfer_started(fabric, id.key(), ticket),
                Err(error) => {
                    self.post_control(fabric, node, granted::fin(notice[1], 0), &[]);
                    self.transfer_failed(fabric, id.key(), error);
                }
            }
            under_way.push(id);
        }
        Ok(under_way)
    }

    /// Counts a put into memory that was granted without an RTS: the others are not numbered.
    pub(super) fn multicast_arrived(&mut self, fabric: &dyn Fabric, from: Node, header: &Header) {
        let (sequence, key) = (sequence_of(header), header[1]);
        let Some(ReceiveWork { stage: ReceiveStage::Granted { envelope, .. }, .. }) =
            self.requests.receive(key)
        else {
            return;
        };
        if sequence > 0 {
            let envelope = *envelope;
            let peer = self.peers.at(from);
            peer.seen += 1;
            peer.puts_seen += 1;
            self.matches(fabric, (Which::Put(sequence), Some(key)), |_| {
                Transit::of(from, &envelope, header[2], Carried::Multicast)
            });
        }
    }

    /// Tells nodes that have granted memory that nothing comes.
    #[cold]
    pub fn decline_grants(&mut self, fabric: &dyn Fabric, grants: &[(Node, Share)]) {
        for (node, Share { request, .. }) in grants {
            self.post_control(fabric, *node, granted::fin(*request, 0), &[]);
        }
    }
}

//! What letters of the raw mailbox and portal do, and how a block is moved.

use fabric::{Fabric, Header, Key as PortalKey, Node};

use crate::progress::core::Core;
use crate::progress::protocol::fin;
use crate::progress::tables::mailroom::{Message, UNREAD, WANTED_MAX, Wanted, decode};
use crate::progress::tables::receive::{ReceiveStage, ReceiveWork};
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::values::envelope::{Envelope, Grant, Kind, plain_header, unwords, words};
use crate::values::error::{Error, Result};
use crate::values::memory::{RecvBuffer, SendBuffer};
use crate::values::request::{RequestId, Status};

impl Core {
    /// A raw message has come.
    pub(crate) fn raw_arrived(&mut self, fabric: &dyn Fabric, from: Node, header: &Header, payload: &[u8]) {
        let Some(message) = decode(header, payload) else {
            return self.malformed(from, "a mailbox message of the wrong length");
        };
        match fabric.budget().reserve(UNREAD, size_of::<Message>()) {
            Ok(()) => self.raw.unread.push_back((from, message)),
            Err(exceeded) => {
                self.raw.lost.get_or_insert(exceeded.into());
            }
        }
    }

    /// A peer waits in a read of its portal.
    pub(crate) fn want_arrived(&mut self, from: Node, header: &Header, payload: &[u8]) {
        let key = unwords(payload).map(PortalKey);
        if key.is_none() && !payload.is_empty() {
            return self.malformed(from, "a read of the portal with a key of the wrong length");
        }
        if self.raw.wanted.iter().filter(|wanted| wanted.by == from).count() >= WANTED_MAX {
            return self.malformed(from, "more reads of the portal than it can wait in");
        }
        self.raw.wanted.push_back(Wanted { by: from, request: header[1], bytes: header[2], key });
    }

    pub fn want(&mut self, fabric: &dyn Fabric, buffer: &RecvBuffer, from: Node) -> Result<RequestId> {
        let Some(at) = self.raw.allowed.iter().position(|allowed| *allowed == from) else {
            let reason = "the source of a portal's read was not allowed to write before";
            return Err(Error::Argument { reason, given: from.0.into() });
        };
        let bytes = buffer.bytes();
        let envelope = Envelope { source: from.0, ..Envelope::default() };
        let exposed = if fabric.route(from).put { buffer.expose(fabric, from).ok() } else { None };
        let stage = match exposed {
            Some(exposed) => ReceiveStage::Granted {
                envelope,
                from,
                length: bytes,
                exposed,
                staging: None,
                acknowledge: None,
            },
            None => ReceiveStage::Filling { envelope, from, length: bytes, filled: 0 },
        };
        let work = Work::Receive(ReceiveWork { buffer: buffer.clone(), stage });
        let id = self.add_request(fabric, Request::new(work))?;
        self.raw.allowed.swap_remove(at);
        let header = plain_header(Kind::Want, id.key(), bytes);
        match exposed {
            Some(PortalKey(key)) => self.post_control(fabric, from, header, &words::<4, 32>(key)),
            None => self.post_control(fabric, from, header, &[]),
        }
        Ok(id)
    }

    /// Moves a block to a read that waits for it. Reads of another length, and those of nothing that no portal reaches, are told
    /// so with a FIN.
    pub fn supply(&mut self, fabric: &dyn Fabric, buffer: &SendBuffer, wanted: Wanted) -> Result<RequestId> {
        let Wanted { by, request, bytes, key } = wanted;
        let given = buffer.bytes();
        if given != bytes || key.is_none() && given == 0 {
            self.post_control(fabric, by, fin(request, given), &[]);
            let outcome = if given == bytes {
                Ok(Status::EMPTY)
            } else {
                Err(Error::Truncated { source: fabric.me().0, tag: 0, received: given, capacity: bytes })
            };
            return self.add_request(fabric, Request::complete(outcome));
        }
        let work = SendWork {
            buffer: buffer.clone(),
            to: by,
            envelope: Envelope::default(),
            stage: SendStage::Offered { key: None, helps: None, revocable: false },
            booked: None,
        };
        let id = self.add_request(fabric, Request::new(Work::Send(work)))?;
        match key {
            Some(key) => self.granted(fabric, by, Grant { sender: id.key(), receiver: request, key }, false),
            None => self.begin_stream(fabric, by, id.key(), request),
        }
        Ok(id)
    }
}

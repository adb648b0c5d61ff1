//! Memory of windows that no portal reaches: others ask for it in letters, and this rank's progress serves them. A target that does not come into the library
//! keeps them waiting; where there is a portal, nobody asks.
//!
//! What is asked for is streamed as the data of a message is: a LOAD is answered by a send of this rank's into the asker's request, a STORE by a receive
//! that the asker is cleared to send to. Letters of a peer come in order, so that a LOAD behind the data of a STORE is answered when that is in place.

use fabric::{Fabric, Header, Node};

use crate::progress::core::Core;
use crate::progress::protocol::failed;
use crate::progress::tables::portions::Bad;
use crate::progress::tables::receive::{ReceiveStage, ReceiveWork};
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::values::envelope::{Envelope, Kind, plain_header, unwords, words};
use crate::values::error::Result;
use crate::values::ids::ContextId;
use crate::values::memory::{Exposed, RecvBuffer, SendBuffer};
use crate::values::request::RequestId;

impl Core {
    /// Lets others ask for memory, for a window of this context.
    pub fn lend(&mut self, context: ContextId, memory: Exposed) {
        self.lent.push((context, memory));
    }

    /// No longer: for one region, or for all of the window.
    pub fn take_back(&mut self, context: ContextId, memory: Option<&Exposed>) {
        let is_meant = |other: &Exposed| {
            memory.is_none_or(|memory| (memory.base(), memory.bytes()) == (other.base(), other.bytes()))
        };
        self.lent.retain(|(of, other)| *of != context || !is_meant(other));
    }

    /// Asks for bytes that a peer has lent, from an address on.
    pub fn ask_to_load(
        &mut self,
        fabric: &dyn Fabric,
        into: &RecvBuffer,
        (from, address): (Node, u64),
    ) -> Result<RequestId> {
        let work = Work::Receive(filling(into, from));
        let id = self.add_request(fabric, Request::new(work))?;
        let asked = words::<2, 16>([address, into.bytes()]);
        self.post_control(fabric, from, plain_header(Kind::Load, id.key(), 0), &asked);
        Ok(id)
    }

    /// Asks to be let write bytes into what a peer has lent. Complete when they have left.
    pub fn ask_to_store(
        &mut self,
        fabric: &dyn Fabric,
        bytes: &SendBuffer,
        (to, address): (Node, u64),
    ) -> Result<RequestId> {
        let id = self.add_request(fabric, Request::new(Work::Send(offered(bytes, to))))?;
        let asked = words::<2, 16>([address, bytes.bytes()]);
        self.post_control(fabric, to, plain_header(Kind::Store, id.key(), 0), &asked);
        Ok(id)
    }

    /// A peer asks for bytes, or to write some.
    #[cold]
    pub(super) fn asked(&mut self, fabric: &dyn Fabric, from: Node, header: &Header, payload: &[u8]) {
        let (stores, theirs) = (header[0] as u8 == Kind::Store as u8, header[1]);
        let Some([address, bytes]) = unwords(payload).filter(|[_, bytes]| *bytes > 0) else {
            return self.malformed(from, "a question for memory of a window of the wrong length");
        };
        let part = self.lent.iter().find_map(|(_, memory)| memory.part(address, bytes));
        let Some(part) = part else {
            return self.post_control(fabric, from, failed(Bad::Mine, theirs), &[]);
        };
        let work = if stores {
            Work::Receive(filling(&part.to_receive(), from))
        } else {
            Work::Send(offered(&part.to_send(), from))
        };
        // Nobody waits for it here.
        let request = Request { orphan: true, ..Request::new(work) };
        match self.add_request(fabric, request) {
            Ok(id) if stores => {
                self.orphans += 1;
                let clear = words::<2, 16>([theirs, id.key()]);
                self.post_control(fabric, from, plain_header(Kind::Cts, 0, 0), &clear);
            }
            Ok(id) => {
                self.orphans += 1;
                self.begin_stream(fabric, from, id.key(), theirs);
            }
            Err(_) => self.post_control(fabric, from, failed(Bad::Mine, theirs), &[]),
        }
    }
}

fn filling(buffer: &RecvBuffer, from: Node) -> ReceiveWork {
    let envelope = Envelope { source: from.0, ..Envelope::default() };
    let stage = ReceiveStage::Filling { envelope, from, length: buffer.bytes(), filled: 0 };
    ReceiveWork { buffer: buffer.clone(), stage }
}

fn offered(buffer: &SendBuffer, to: Node) -> SendWork {
    let stage = SendStage::Offered { key: None, helps: None, revocable: false };
    SendWork { buffer: buffer.clone(), to, envelope: Envelope::default(), stage, booked: None }
}

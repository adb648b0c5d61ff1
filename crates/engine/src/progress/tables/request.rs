//! Operations in flight (MPI section 3.7): the table that users' requests name. Sends and receives are entries of their own kinds, found by kind; what
//! they go through is drawn in `send` and `receive`.

use alloc::boxed::Box;

use fabric::Node;

use crate::progress::tables::awaited::Mark;
use crate::progress::tables::matching::{Place, Posted};
use crate::progress::tables::receive::{ReceiveStage, ReceiveWork};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::progress::tables::template::Template;
use crate::values::envelope::Envelope;
use crate::values::error::{Error, Result};
use crate::values::ids::ContextId;
use crate::values::memory::RecvBuffer;
use crate::values::request::Status;
use crate::values::slab::{Key, Slab};

/// One entry of the request table.
#[derive(Debug)]
pub(crate) struct Request {
    pub work: Work,
    /// The result, once complete.
    pub outcome: Option<Result<Status>>,
    /// The user freed the request: its entry goes when it completes.
    pub orphan: bool,
    /// Its place in a list that is waited for.
    pub mark: Mark,
}

impl Request {
    pub fn new(work: Work) -> Request {
        Request { work, outcome: None, orphan: false, mark: Mark::default() }
    }

    /// A receive that waits at a place of the posted index.
    #[inline(always)]
    pub fn posted(buffer: &RecvBuffer, place: Place) -> Request {
        let stage = ReceiveStage::Posted { place, offered: None };
        let work = Work::Receive(ReceiveWork { buffer: buffer.clone(), stage });
        Request { work, outcome: None, orphan: false, mark: Mark::default() }
    }

    pub fn complete(status: Result<Status>) -> Request {
        Request { outcome: Some(status), ..Request::new(Work::External) }
    }

    /// A whole message for a posted receive that has not been announced, and whose buffer is as most are. For any other nothing is done, and the answer is no.
    #[inline]
    pub fn fill_at_once(&mut self, envelope: &Envelope, message: &[u8]) -> bool {
        let Work::Receive(ReceiveWork { buffer, stage: ReceiveStage::Posted { offered: None, .. } }) =
            &self.work
        else {
            return false;
        };
        if self.orphan || message.len() as u64 > buffer.bytes() || !buffer.is_plain() {
            return false;
        }
        buffer.unpack(0, message);
        // Nothing in either would have to be dropped, so that nobody need look whether.
        core::mem::forget(core::mem::replace(&mut self.work, Work::External));
        let outcome = Ok(Status::received(envelope, message.len() as u64));
        core::mem::forget(self.outcome.replace(outcome));
        true
    }

    /// True for a send or a matched receive in this context that has not ended.
    pub fn is_under_way(&self, context: ContextId) -> bool {
        let envelope = match &self.work {
            Work::Send(send) => &send.envelope,
            Work::Receive(receive) => match &receive.stage {
                ReceiveStage::Posted { .. } => return false,
                ReceiveStage::Filling { envelope, .. }
                | ReceiveStage::Matched { envelope, .. }
                | ReceiveStage::Getting { envelope, .. }
                | ReceiveStage::Granted { envelope, .. }
                | ReceiveStage::Sharing { envelope, .. } => envelope,
            },
            Work::External | Work::Persistent(_) => return false,
        };
        self.outcome.is_none() && envelope.context == context
    }

    /// The context of a message that is not complete.
    pub fn open_context(&self, posted: &Posted) -> Option<ContextId> {
        match &self.work {
            Work::Send(send) => Some(send.envelope.context),
            Work::Receive(receive) => Some(match &receive.stage {
                ReceiveStage::Posted { place, .. } => posted.pattern(*place).context,
                ReceiveStage::Filling { envelope, .. }
                | ReceiveStage::Matched { envelope, .. }
                | ReceiveStage::Getting { envelope, .. }
                | ReceiveStage::Granted { envelope, .. }
                | ReceiveStage::Sharing { envelope, .. } => envelope.context,
            }),
            Work::External | Work::Persistent(_) => None,
        }
    }

    /// True for a send that has sent its RTS and waits for the answer.
    pub fn is_offered(&self) -> bool {
        matches!(self.work, Work::Send(SendWork { stage: SendStage::Offered { .. }, .. }))
    }

    /// True for a send to `peer` that waits for its answer, of which no part is under way.
    pub fn is_offered_to(&self, peer: Node) -> bool {
        matches!(&self.work, Work::Send(SendWork { stage: SendStage::Offered { helps: None, .. }, to, .. }) if *to == peer)
    }
}

/// What a request does.
#[derive(Debug)]
pub(crate) enum Work {
    Send(SendWork),
    Receive(ReceiveWork),
    /// Completed by somebody else: a collective's schedule, a generalised request.
    External,
    /// A persistent operation: started again and again.
    Persistent(Box<Template>),
}

/// The table, asked for one kind of work.
impl Slab<Request> {
    /// What is wrong with a key that no request has.
    #[cold]
    pub fn unknown(&self, key: Key) -> Error {
        let reason = if self.was_removed(key) {
            "request was completed or freed before, expected one that was not"
        } else {
            "request names no operation that was ever begun, expected one that was"
        };
        Error::Request { reason }
    }

    #[inline]
    pub fn send(&self, key: Key) -> Option<&SendWork> {
        if let Work::Send(send) = &self.get(key)?.work { Some(send) } else { None }
    }

    #[inline]
    pub fn send_mut(&mut self, key: Key) -> Option<&mut SendWork> {
        if let Work::Send(send) = &mut self.get_mut(key)?.work { Some(send) } else { None }
    }

    #[inline]
    pub fn receive(&self, key: Key) -> Option<&ReceiveWork> {
        if let Work::Receive(receive) = &self.get(key)?.work { Some(receive) } else { None }
    }

    /// Removes a request that has ended well and is no persistent one, and tells its result. False, and it stays, for any other.
    #[inline]
    pub fn take_ended(&mut self, key: Key, tell: impl FnOnce(&Status)) -> bool {
        let taken = self.take_out_of(key, |request| match request {
            Request { work: Work::External, outcome: Some(Ok(status)), .. } => {
                tell(status);
                Some(())
            }
            _ => None,
        });
        taken.is_some()
    }

    #[inline]
    pub fn receive_mut(&mut self, key: Key) -> Option<&mut ReceiveWork> {
        if let Work::Receive(receive) = &mut self.get_mut(key)?.work { Some(receive) } else { None }
    }
}

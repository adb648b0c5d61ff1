//! Operations in flight (MPI section 3.7).

use alloc::boxed::Box;
use alloc::vec::Vec;

use fabric::{Fabric, Key as PortalKey, Node, PortalError};

use crate::progress::tables::matching::{Place, Posted};
use crate::progress::tables::template::Template;
use crate::values::envelope::{Envelope, Rts};
use crate::values::error::{Error, Result};
use crate::values::ids::ContextId;
use crate::values::memory::{RecvBuffer, SendBuffer, Staging};
use crate::values::request::Status;
use crate::values::slab;

/// One entry of the request table.
#[derive(Debug)]
pub(crate) struct Request {
    pub work: Work,
    /// The result, once complete.
    pub outcome: Option<Result<Status>>,
    /// The user freed the request: its entry goes when it completes.
    pub orphan: bool,
}

impl Request {
    pub fn new(work: Work) -> Request {
        Request { work, outcome: None, orphan: false }
    }

    pub fn complete(status: Result<Status>) -> Request {
        Request { work: Work::External, outcome: Some(status), orphan: false }
    }

    /// True for a send or a matched receive in this context that has not ended.
    pub fn is_under_way(&self, context: ContextId) -> bool {
        let envelope = match &self.work {
            Work::Send(send) => &send.envelope,
            Work::Receive(receive) => match &receive.stage {
                ReceiveStage::Posted { .. } => return false,
                ReceiveStage::Filling { envelope, .. }
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

/// A send that is not complete.
#[derive(Debug)]
pub(crate) struct SendWork {
    pub buffer: SendBuffer,
    pub to: Node,
    pub envelope: Envelope,
    pub stage: SendStage,
    /// Bytes booked on the budget for a packed copy or a buffered send, and for which purpose.
    pub booked: Option<(&'static str, usize)>,
}

#[derive(Debug)]
pub(crate) enum SendStage {
    /// Eager, not yet (wholly) posted: the outbox of the peer names it.
    Outbox,
    /// RTS sent; waits for DONE, CTS or a grant.
    Offered {
        key: Option<PortalKey>,
        /// While the receiver lets this rank copy a half: the receiver's request.
        helps: Option<u64>,
        /// Its receiver claims it before it matches it.
        revocable: bool,
    },
    /// Being put into the memory of this request of the receiver's, which may copy a part itself.
    Putting {
        receiver: u64,
        portions: Portions,
        /// The portal itself tells the receiver.
        noticed: bool,
        /// Complete only when the receiver has said DONE.
        acknowledged: bool,
        /// Which of the puts into announced receives of the peer it is, for those who watch; 0 for others.
        sequence: u64,
    },
    /// Being sent in letters: the next byte, and the receiver's request.
    Streaming { next: u64, receiver: u64 },
}

/// A receive that is not complete.
#[derive(Debug)]
pub(crate) struct ReceiveWork {
    pub buffer: RecvBuffer,
    pub stage: ReceiveStage,
}

#[derive(Debug)]
pub(crate) enum ReceiveStage {
    /// Waits in the posted index; the peer may have been offered the buffer.
    Posted { place: Place, offered: Option<Offer> },
    /// Matched; pieces of an eager message, or of a stream, come in.
    Filling { envelope: Envelope, from: Node, length: u64, filled: u64 },
    /// Matched; a get is under way, into the buffer or into staging memory.
    Getting {
        envelope: Envelope,
        from: Node,
        length: u64,
        sender: u64,
        staging: Option<Staging>,
        portions: Portions,
    },
    /// Matched; the sender puts into the exposed buffer or staging memory. `acknowledge` names its request if it waits for a DONE.
    Granted {
        envelope: Envelope,
        from: Node,
        length: u64,
        exposed: PortalKey,
        staging: Option<Staging>,
        acknowledge: Option<u64>,
    },
    /// Announced and used: the sender puts a part and this rank gets the other.
    Sharing { envelope: Envelope, from: Node, length: u64, sender: u64, portions: Portions },
}

/// What is still missing of a message that is copied by one rank or by both.
#[derive(Debug)]
pub(crate) struct Portions {
    mine: bool,
    theirs: bool,
    /// This rank's exposure for the other's part.
    exposed: Option<PortalKey>,
    /// Why a part could not be copied.
    pub failed: Option<Bad>,
}

/// Who copies a part of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Mine,
    Theirs,
}

/// Whose fault it is that a copy failed, as this rank sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Bad {
    /// The memory that this rank's program gave.
    Mine = 1,
    /// The memory that the peer's program gave.
    Theirs = 2,
    /// The peer's own: it is gone.
    Lost = 3,
    /// The fabric's.
    Way = 4,
}

impl Bad {
    pub fn as_seen_by_peer(self) -> Bad {
        match self {
            Bad::Mine => Bad::Theirs,
            Bad::Theirs => Bad::Mine,
            other => other,
        }
    }

    pub fn of_code(code: u64) -> Option<Bad> {
        [Bad::Mine, Bad::Theirs, Bad::Lost, Bad::Way].into_iter().find(|bad| *bad as u64 == code)
    }
}

impl From<PortalError> for Bad {
    fn from(error: PortalError) -> Bad {
        match error {
            PortalError::LocalMemory => Bad::Mine,
            PortalError::PeerMemory => Bad::Theirs,
            PortalError::PeerLost => Bad::Lost,
            PortalError::Unreachable | PortalError::Shape | PortalError::Exhausted | PortalError::Kind => {
                Bad::Way
            }
        }
    }
}

impl Portions {
    /// One rank copies everything; or both, if this rank has exposed its buffer for the other.
    pub fn with(exposed: Option<PortalKey>) -> Portions {
        Portions { mine: true, theirs: exposed.is_some(), exposed, failed: None }
    }

    /// True if the peer still copies its part, and may say so when it has.
    pub fn awaits_peer(&self) -> bool {
        self.theirs
    }

    /// Counts a part; true when it was the last, and nobody uses the exposure any more.
    pub fn copied(&mut self, fabric: &dyn Fabric, part: Part) -> bool {
        match part {
            Part::Mine => self.mine = false,
            Part::Theirs => self.theirs = false,
        }
        let complete = !self.mine && !self.theirs;
        if complete && let Some(exposed) = self.exposed.take() {
            fabric.withdraw(exposed);
        }
        complete
    }
}

/// An exposure that was announced to a peer by an RTR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub peer: Node,
    pub key: PortalKey,
    /// The message that it waits for.
    pub envelope: Envelope,
    /// Messages of the peer that had been seen when it was announced.
    pub seen: u64,
    /// The data is in place, but not the RTS that it answers.
    pub landed: bool,
    /// The peer claims it before it uses it.
    pub revocable: bool,
    /// The receive is being cancelled and waits for the peer's word.
    pub cancelling: bool,
}

/// A message that has arrived, or announced itself, before its receive.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub envelope: Envelope,
    pub from: Node,
    pub length: u64,
    pub body: Body,
    /// A receive that matched it and waits for the rest of its pieces.
    pub claimed_by: Option<slab::Key>,
}

impl Arrived {
    /// True if its sender has cancelled it: it is to be dropped, and nobody told of it.
    pub fn is_cancelled(&self, fabric: &dyn Fabric) -> bool {
        matches!(&self.body, Body::Offered(rts) if rts.claim().is_some_and(|name| !fabric.is_open(self.from, name)))
    }
}

#[derive(Debug)]
pub(crate) enum Body {
    /// The bytes that have come so far.
    Data(Vec<u8>),
    /// Waits at its sender.
    Offered(Rts),
    /// It came and could not be kept: the outcome of its receive.
    Lost(Error),
}

//! The state of a rank behind its `RefCell`: tables, and the few things that all protocols do with them.
//!
//! Nothing here calls user code or waits. A fault that strikes while a letter is handled is the outcome of the request that it
//! strikes; one that strikes none is kept in `fault` (see `poison`).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use fabric::{Fabric, Header, Idle, Node, PostError, Ticket};

use crate::progress::tables::arrived::{Arrived, Body, Short};
use crate::progress::tables::awaited::Awaited;
use crate::progress::tables::mailroom::Raw;
use crate::progress::tables::matching::{Posted, Unexpected};
use crate::progress::tables::peers::{Outgoing, Peers};
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::slot::Direct;
use crate::progress::tables::spares::Spares;
use crate::progress::tables::watch::Watch;
use crate::values::choice::Choice;
use crate::values::envelope::{Envelope, message_of};
use crate::values::error::{Error, Result};
use crate::values::ids::ContextId;
use crate::values::memory::Exposed;
use crate::values::request::{RequestId, Status};
use crate::values::slab::{Key, Slab};
use crate::values::tuning::Tuning;

/// What the budget calls the request table.
const REQUESTS: &str = "requests";
/// What the budget calls messages that came before their receive.
pub(crate) const UNEXPECTED: &str = "unexpected messages";
/// What a message that came before its receive costs besides its data: its entry and its place in the matching index.
pub(crate) const ENTRY_BYTES: usize = Slab::<Arrived>::SLOT_BYTES + Unexpected::ENTRY_BYTES;
/// What the budget calls packed copies of scattered data.
pub(crate) const PACKED: &str = "packed messages";

pub(crate) struct Core {
    pub tuning: Tuning,
    pub choice: Choice,
    pub peers: Peers,
    pub posted: Posted,
    pub unexpected: Unexpected,
    /// The blocking receive that the rank waits in, if it stays out of the tables.
    pub direct: Direct,
    /// Messages and reads of the raw mailbox and portal. Elsewhere, because few use it and ranks have this on their stacks.
    pub raw: Box<Raw>,
    pub messages: Slab<Arrived>,
    /// Memory for the next of them.
    pub spares: Spares,
    pub requests: Slab<Request>,
    /// Which of them somebody waits for.
    pub awaited: Awaited,
    /// Peers whose outbox is not empty.
    pub blocked: Vec<Node>,
    /// Sends that stream their data in letters.
    pub streams: Vec<Key>,
    /// Transfers that a DMA engine is busy with.
    pub transfers: Vec<Transfer>,
    /// Memory of windows that others may ask for, and of which.
    pub lent: Vec<(ContextId, Exposed)>,
    /// Copies that the agent has yet to send.
    pub lazies: VecDeque<(Node, Key)>,
    /// The agent acts for the rank.
    pub agent_acts: bool,
    /// What has poisoned the rank.
    pub fault: Option<Error>,
    /// The requests that the fault found under way have ended.
    pub swept: bool,
    /// Where scattered data is packed before it goes into a letter.
    pub scratch: Vec<u8>,
    /// Orphaned sends that are not complete: finalisation waits for them.
    pub orphans: usize,
    /// Messages that came before their receives.
    pub early: u64,
    /// Messages that came, or were offered, and might have gone either way (see `fresh`).
    pub long_seen: u32,
    /// Whoever watches this rank.
    pub watch: Option<Box<Watch>>,
    /// Whoever has watched and will again.
    pub paused_watch: Option<Box<Watch>>,
}

/// A put or get under way for a request.
pub(crate) struct Transfer {
    pub ticket: Ticket,
    pub request: Key,
}

impl Transfer {
    /// The ticket of one that is yet to begin: of a receive that was [matched](crate::progress::tables::receive::ReceiveStage::Matched). There are none when no letters are looked at.
    pub const TO_BEGIN: Ticket = Ticket(u64::MAX);
}

impl Core {
    pub fn new(fabric: &dyn Fabric, tuning: Tuning) -> Core {
        let nodes = fabric.nodes();
        // Those with memories of their own, among which are some that are yet to come, keep nothing together.
        let keep_together = if fabric.caps().maps_shared { 1 } else { nodes };
        Core {
            choice: Choice::new(&tuning, fabric.caps()),
            tuning,
            peers: Peers::new(nodes),
            posted: Posted::default(),
            unexpected: Unexpected::default(),
            direct: Direct::default(),
            raw: Box::default(),
            messages: Slab::new(),
            spares: Spares::of_one_of(keep_together, fabric.budget().limit()),
            requests: Slab::new(),
            awaited: Awaited::default(),
            blocked: Vec::new(),
            streams: Vec::new(),
            transfers: Vec::new(),
            lent: Vec::new(),
            lazies: VecDeque::new(),
            agent_acts: false,
            fault: None,
            swept: false,
            scratch: Vec::new(),
            orphans: 0,
            early: 0,
            long_seen: 0,
            watch: None,
            paused_watch: None,
        }
    }

    /// Adds a request to the table, which counts against the budget as it grows.
    pub fn add_request(&mut self, fabric: &dyn Fabric, request: Request) -> Result<RequestId> {
        self.make_room_for_request(fabric)?;
        Ok(RequestId::from_bits(self.requests.insert(request)))
    }

    /// Has room for one more request, or says why there can be none.
    #[inline]
    pub fn make_room_for_request(&mut self, fabric: &dyn Fabric) -> Result<()> {
        self.check_fault(fabric)?;
        if self.requests.is_full() {
            fabric.budget().reserve(REQUESTS, Slab::<Request>::SLOT_BYTES)?;
        }
        Ok(())
    }

    /// Books an entry for a message that comes before its receive, so that a flood of empty messages ends like one of full ones. Where not even that can be had, the
    /// message is lost without a trace and the rank poisoned.
    pub fn book_entry(&mut self, fabric: &dyn Fabric) -> bool {
        match fabric.budget().reserve(UNEXPECTED, ENTRY_BYTES) {
            Ok(()) => true,
            Err(exceeded) => {
                self.fault.get_or_insert(exceeded.into());
                false
            }
        }
    }

    /// Keeps a message that came before its receive, whose entry and [bytes](Arrived::held) are booked: a short one, which is all of `message`, or another `body`.
    #[inline(never)]
    pub fn keep_message(
        &mut self,
        fabric: &dyn Fabric,
        from: Node,
        envelope: Envelope,
        length: u64,
        message: &[u8],
        body: Option<Body>,
    ) -> Key {
        self.early += 1;
        let message = self.messages.insert_with(|| {
            let body = Body::Short(Short::of(if body.is_none() { message } else { &[] }));
            Arrived { envelope, from, length, body, claimed_by: None }
        });
        if let (Some(body), Some(arrived)) = (body, self.messages.get_mut(message)) {
            arrived.body = body;
        }
        self.arrives_early(fabric, from, message);
        self.unexpected.push(&envelope, message);
        message
    }

    /// Takes a message out of the table, and gives back what was booked for it.
    pub fn take_message(&mut self, fabric: &dyn Fabric, message: Key) -> Option<Arrived> {
        let held = self.messages.get(message)?.held();
        fabric.budget().release(UNEXPECTED, ENTRY_BYTES + held);
        self.messages.remove(message)
    }

    /// Records the result of a request; drops the entry if nobody will ask for it.
    pub fn finish(&mut self, fabric: &dyn Fabric, key: Key, outcome: Result<Status>) {
        self.ends(fabric, key);
        let Some(request) = self.requests.get_mut(key) else { return };
        if let Work::Send(send) = &mut request.work
            && let Some((purpose, bytes)) = send.booked.take()
        {
            fabric.budget().release(purpose, bytes);
        }
        // The work goes now: it may hold memory of the library's, and clones of the user's buffer must not outlive this.
        request.work = Work::External;
        if request.orphan {
            self.orphans -= 1;
            self.requests.remove(key);
            if let Err(error) = outcome {
                // Nobody can be told of it any more, so it is fatal (MPI section 3.7.3).
                self.fault.get_or_insert(error);
            }
        } else {
            request.outcome = Some(outcome);
            self.awaited.completed(request.mark);
        }
    }

    /// Sends a control letter, behind those that already wait for the peer. If the peer is lost, that shows when its outbox is looked at next.
    pub fn post_control(&mut self, fabric: &dyn Fabric, to: Node, header: Header, payload: &[u8]) {
        self.post_with(to, header, payload, || fabric.try_post(to, &header, payload));
    }

    /// As [`post_control`](Core::post_control) without payload, to a peer that may share this rank's memory.
    pub fn post_flag(&mut self, fabric: &dyn Fabric, to: Node, header: Header) {
        if fabric.route(to).same_memory {
            self.post_with(to, header, &[], || fabric.try_flag(to, &header));
        } else {
            self.post_control(fabric, to, header, &[]);
        }
    }

    fn post_with(
        &mut self,
        to: Node,
        header: Header,
        payload: &[u8],
        post: impl FnOnce() -> core::result::Result<(), PostError>,
    ) {
        let peer = self.peers.at(to);
        if (peer.outbox.is_empty() || peer.lets_pass(message_of(&header))) && post().is_ok() {
            return;
        }
        if peer.outbox.is_empty() {
            self.blocked.push(to);
        }
        peer.outbox.push_back(Outgoing::Control(header, payload.into()));
    }

    /// The contexts of all messages in the tables, each once or more.
    pub fn open_contexts(&self, fabric: &dyn Fabric) -> impl Iterator<Item = ContextId> {
        let requests = self.requests.iter().filter_map(|request| request.open_context(&self.posted));
        let messages = self.messages.iter().filter(|message| !message.is_cancelled(fabric));
        requests.chain(messages.map(|message| message.envelope.context))
    }

    /// True while there is something to do that no letter will announce: the rank must not sleep.
    #[inline]
    pub fn has_backlog(&self) -> bool {
        self.backlog() != 0
    }

    /// Zero if there is none. The bits of all lengths in one word, because that is asked for every message.
    #[inline(always)]
    pub fn backlog(&self) -> usize {
        self.blocked.len() | self.streams.len() | self.transfers.len() | self.lazies.len()
    }

    /// How a rank may wait that found nothing to do.
    #[inline]
    pub fn idle(&self) -> Idle {
        if self.has_backlog() { Idle::Briefly } else { Idle::UntilWoken }
    }

    /// A letter that no Corelace engine writes: its sender's memory is damaged, or somebody else wrote it.
    #[cold]
    pub fn malformed(&mut self, from: Node, reason: &'static str) {
        self.fault.get_or_insert(Error::Malformed { node: from.0, reason });
    }

    /// A state that no letter can have caused.
    #[cold]
    pub fn inconsistent(&mut self, reason: &'static str) {
        self.fault.get_or_insert(Error::Internal { reason });
    }
}

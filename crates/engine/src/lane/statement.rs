//! What a rank waits for: for reports of deadlocks, and for people who look at a running job.
//!
//! A rank publishes nothing while it runs. When a wait has become long, or somebody asks, its fabric says so
//! ([`Woke`](fabric::Woke)), and the wait loop calls the rank's [`Lookout`] with a [`Wait`]: what is needed to put the wait into
//! words, if anybody wants to hear them. Everything here is off the path of messages.

use alloc::vec::Vec;
use core::cell::RefCell;

use fabric::Fabric;

use crate::progress::core::Core;
use crate::progress::tables::matching::Pattern;
use crate::progress::tables::receive::ReceiveStage;
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::SendStage;
use crate::progress::tables::template::Operation as Prepared;
use crate::schedule::{Identity, Schedules};
use crate::values::contexts::Contexts;
use crate::values::envelope::Envelope;
use crate::values::group::Group;
use crate::values::ids::{ContextId, Dest};
use crate::values::request::{List, RequestId};

/// At most so many operations of a kind are listed; a rank may have thousands open.
pub const LISTED: usize = 16;

/// Whoever answers for a rank that waits.
pub trait Lookout {
    /// The rank has waited for a while, or is asked, or waits in vain. Called on the rank's own stack, with no borrow of its state
    /// held; must not use the rank but to ask for its [statement](Wait::statement).
    fn look(&self, wait: &Wait<'_>);
}

/// A wait under way.
pub struct Wait<'a> {
    pub(crate) of: View<'a>,
    pub(crate) interest: Interest<'a>,
    /// Numbers the quiet stretches of this rank: as long as it stays the same, nothing has come or gone for the rank.
    pub stretch: u64,
    /// Nobody is left who could end the wait.
    pub in_vain: bool,
    /// The rank does not wait but asks again and again (MPI_Test, MPI_Iprobe).
    pub polls: bool,
}

/// What a wait loop waits for, in the terms of its caller.
#[derive(Clone, Copy)]
pub(crate) enum Interest<'a> {
    /// Whatever is open.
    Open,
    /// One request.
    Request(RequestId),
    /// The first of several.
    First(&'a dyn List),
    /// All of several.
    All(&'a [Option<RequestId>]),
    /// A message that is not to be received yet.
    Probe(Pattern),
    /// A call of another's in an epoch of a window: which, and whose.
    Notice(OperationKind, Pattern),
    /// The messages of a collective.
    Collective(Identity),
    /// Its own messages to be gone, at the end.
    Leaving,
}

/// What a rank waits for, as data.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Statement {
    /// The collective that the rank is in, if it is in one.
    pub collective: Option<Collective>,
    /// The collective that it has been through last, without its members.
    pub passed: Option<Collective>,
    /// The first of [`awaited`](Statement::awaited) suffices.
    pub first_suffices: bool,
    /// The rank waits for its own messages to be gone, at the end.
    pub leaving: bool,
    /// What it waits for.
    pub awaited: Listed,
    /// Messages that have come and that no receive has been posted for, oldest first.
    pub held: Listed,
    /// Other sends that no receive has matched.
    pub offered: Listed,
}

/// The first of many operations, and how many there are besides.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listed {
    /// At most [`LISTED`].
    pub operations: Vec<Operation>,
    /// Those left out.
    pub more: usize,
}

/// A collective that a rank is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collective {
    /// The engine's name for it: "allreduce".
    pub name: &'static str,
    /// The number of its communicator.
    pub context: u32,
    /// Its place among the collectives of its communicator, the same at all members; as far as such are counted.
    pub number: i32,
    /// The bytes that all members must agree on, as this one has them; `None` if there are no such.
    pub bytes: Option<u64>,
    /// The nodes of its communicator, in order; none if the communicator is gone.
    pub members: Vec<u32>,
}

/// A receive, probe or send that is not complete, or a message that waits for its receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Which.
    pub kind: OperationKind,
    /// The number of its communicator.
    pub context: u32,
    /// It belongs to a collective.
    pub collective: bool,
    /// The other's node; `None` for any, or if the communicator is gone.
    pub peer: Option<u32>,
    /// The other's rank in the communicator, as far as this side knows; `None` for any.
    pub peer_rank: Option<u32>,
    /// `None` for any.
    pub tag: Option<i32>,
    /// Bytes of the message, or that the receive has room for.
    pub bytes: u64,
}

/// What an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationKind {
    /// A receive that no message has matched.
    Receive,
    /// A probe that no message has matched.
    Probe,
    /// A send that no receive has matched.
    Send,
    /// A message that has arrived, or announced itself, before its receive.
    Message,
    /// A receive or send that has matched; the data is under way.
    Transfer,
    /// The other has not exposed its memory of a window.
    Post,
    /// The other has not ended its access to this rank's memory of a window.
    Complete,
    /// A persistent send that is not active.
    Unstarted,
}

impl Wait<'_> {
    /// What the rank waits for and what it holds.
    pub fn statement(&self) -> Statement {
        let (of, core) = (self.of, self.of.core.borrow());
        let mut statement =
            Statement { leaving: matches!(self.interest, Interest::Leaving), ..Statement::default() };
        let look = Look { of, core: &core };
        match self.interest {
            Interest::Open | Interest::Leaving => look.all(|_| true, &mut statement.awaited),
            Interest::Request(id) => _ = look.request(id, &mut statement),
            Interest::First(list) => {
                let ids = (0..list.len()).filter_map(|place| list.get(place));
                let open = ids.filter(|id| look.request(*id, &mut statement)).count();
                statement.first_suffices = open > 1;
            }
            Interest::All(ids) => {
                ids.iter().flatten().for_each(|id| _ = look.request(*id, &mut statement));
            }
            Interest::Probe(pattern) => {
                statement.awaited.add(look.wanted(OperationKind::Probe, &pattern, 0));
            }
            Interest::Notice(kind, pattern) => statement.awaited.add(look.wanted(kind, &pattern, 0)),
            Interest::Collective(identity) => look.collective(identity, &mut statement),
        }
        statement.passed = of.schedules.passed().map(|passed| described(&passed, Vec::new()));
        let awaited = |operation: &Operation| statement.awaited.operations.contains(operation);
        look.all(
            |operation| operation.kind == OperationKind::Send && !awaited(operation),
            &mut statement.offered,
        );
        look.unstarted(&mut statement.offered);
        for message in core.unexpected.in_arrival_order() {
            if let Some(arrived) = core.messages.get(message)
                && !arrived.envelope.context.is_companion()
                && !arrived.is_cancelled(of.fabric)
            {
                let from = Some(arrived.from.0);
                statement.held.add(of_envelope(
                    OperationKind::Message,
                    &arrived.envelope,
                    from,
                    arrived.length,
                ));
            }
        }
        statement
    }
}

/// The parts of a lane that can be asked what it waits for.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub core: &'a RefCell<Core>,
    pub schedules: &'a Schedules,
    pub contexts: &'a Contexts,
    pub fabric: &'a dyn Fabric,
}

/// A lane whose state is looked at.
struct Look<'a> {
    of: View<'a>,
    core: &'a Core,
}

impl Look<'_> {
    /// Lists every open operation that is wanted.
    fn all(&self, wanted: impl Fn(&Operation) -> bool, into: &mut Listed) {
        let direct = self
            .core
            .direct_pattern()
            .map(|pattern| self.wanted(OperationKind::Receive, &pattern, self.core.direct_bytes()));
        let requests = self.core.requests.iter().filter_map(|request| self.operation(request));
        direct.into_iter().chain(requests).filter(wanted).for_each(|operation| into.add(operation));
    }

    /// Lists the persistent sends that are not active.
    fn unstarted(&self, into: &mut Listed) {
        for request in self.core.requests.iter() {
            if let Work::Persistent(template) = &request.work
                && template.active.is_none()
                && let Prepared::Send { buffer, dest: Dest::Rank(to), tag, comm, .. } = &template.operation
            {
                into.add(Operation {
                    kind: OperationKind::Unstarted,
                    context: comm.context().to_bits(),
                    collective: false,
                    peer: comm.peers().node(*to).map(|node| node.0),
                    peer_rank: Some(*to),
                    tag: Some(tag.value()),
                    bytes: buffer.bytes(),
                });
            }
        }
    }

    /// Lists what a request waits for; false if that is nothing.
    fn request(&self, id: RequestId, statement: &mut Statement) -> bool {
        let request =
            |id: RequestId| self.core.requests.get(id.key()).filter(|request| request.outcome.is_none());
        let active = match request(id).map(|request| &request.work) {
            Some(Work::Persistent(template)) => template.active.unwrap_or(id),
            _ => id,
        };
        match request(active) {
            Some(Request { work: Work::External, .. }) => {
                if let Some(identity) = self.of.schedules.collective_of(active) {
                    self.collective(identity, statement);
                }
            }
            Some(request) => self.operation(request).into_iter().for_each(|open| statement.awaited.add(open)),
            None => return false,
        }
        true
    }

    fn collective(&self, identity: Identity, statement: &mut Statement) {
        let base = base(&identity);
        self.all(|open| open.collective && open.context == base.0, &mut statement.awaited);
        let comm = self.of.contexts.comm_of(base);
        let members = comm.map(|comm| comm.union().group().nodes().map(|node| node.0).collect());
        statement.collective = Some(described(&identity, members.unwrap_or_default()));
    }

    fn operation(&self, request: &Request) -> Option<Operation> {
        use OperationKind::{Receive, Send, Transfer};
        if request.outcome.is_some() {
            return None;
        }
        match &request.work {
            Work::Send(send) => {
                let kind = match send.stage {
                    SendStage::Outbox | SendStage::Offered { .. } => Send,
                    SendStage::Putting { .. } | SendStage::Streaming { .. } => Transfer,
                };
                let mut operation = of_envelope(kind, &send.envelope, Some(send.to.0), send.buffer.bytes());
                // The envelope names this rank; a report names the other.
                let peers = self.peers_of(ContextId(operation.context), operation.collective);
                operation.peer_rank = peers.and_then(|peers| peers.rank_of(send.to));
                Some(operation)
            }
            Work::Receive(receive) => Some(match &receive.stage {
                ReceiveStage::Posted { place, .. } => {
                    self.wanted(Receive, &self.core.posted.pattern(*place), receive.buffer.bytes())
                }
                ReceiveStage::Filling { envelope, length, .. } => {
                    of_envelope(Transfer, envelope, None, *length)
                }
                ReceiveStage::Matched { envelope, from, length, .. }
                | ReceiveStage::Getting { envelope, from, length, .. }
                | ReceiveStage::Granted { envelope, from, length, .. }
                | ReceiveStage::Sharing { envelope, from, length, .. } => {
                    of_envelope(Transfer, envelope, Some(from.0), *length)
                }
            }),
            Work::External | Work::Persistent(_) => None,
        }
    }

    /// Whom the ranks in messages of a communicator name.
    fn peers_of(&self, base: ContextId, collective: bool) -> Option<Group> {
        let comm = self.of.contexts.comm_of(base)?;
        Some(if collective { comm.union().group().clone() } else { comm.peers().clone() })
    }

    fn wanted(&self, kind: OperationKind, pattern: &Pattern, bytes: u64) -> Operation {
        let (base, collective) = pattern.context.subject();
        let node = |rank| self.peers_of(base, collective).and_then(|peers| peers.node(rank));
        Operation {
            kind,
            context: base.0,
            collective,
            peer: pattern.source.and_then(node).map(|node| node.0),
            peer_rank: pattern.source,
            tag: pattern.tag,
            bytes,
        }
    }
}

fn of_envelope(kind: OperationKind, envelope: &Envelope, peer: Option<u32>, bytes: u64) -> Operation {
    let (base, collective) = envelope.context.subject();
    Operation {
        kind,
        context: base.0,
        collective,
        peer,
        peer_rank: Some(envelope.source),
        tag: Some(envelope.tag),
        bytes,
    }
}

/// The context of the communicator whose collective it is.
fn base(of: &Identity) -> ContextId {
    ContextId(of.context.0 & !1)
}

fn described(of: &Identity, members: Vec<u32>) -> Collective {
    let Identity { name, number, bytes, .. } = *of;
    Collective { name, context: base(of).0, number, bytes, members }
}

impl Listed {
    fn add(&mut self, operation: Operation) {
        if self.operations.len() < LISTED {
            self.operations.push(operation);
        } else {
            self.more += 1;
        }
    }
}

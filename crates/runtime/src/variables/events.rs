//! Events: what happens in a rank that a program can be told of by a callback.

use super::{Audience, Bind, Topic};

/// A kind of event.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What users call it.
    pub name: &'static str,
    /// What happens.
    pub what: &'static str,
    /// What it is about.
    pub bind: Bind,
    /// What the engine tells of it.
    pub happening: Happening,
    /// What is known of each.
    pub elements: &'static [Element],
    /// For whom.
    pub audience: Audience,
    /// Where it belongs.
    pub topic: Topic,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happening {
    /// A message comes before its receive.
    Early,
    /// A message is offered: its data waits for the receiver.
    Offered,
    /// A send begins.
    Sent,
    /// A message finds its receive.
    Received,
    /// A wait begins.
    WaitBegins,
    /// It ends.
    WaitEnds,
}

/// Something that is known of an event: an `int`, or a number of 64 bits without sign. Its place is that of a C struct.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    /// A rank of MPI_COMM_WORLD, or of the communicator that the event is about.
    Peer,
    /// A tag; one of the library's own in messages of collectives.
    Tag,
    /// Bytes of the message.
    Bytes,
    /// Waits since the event was asked for, this one included.
    Ordinal,
    /// Nanoseconds that it took.
    Nanoseconds,
}

impl Element {
    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Element::Peer => "peer",
            Element::Tag => "tag",
            Element::Bytes => "bytes",
            Element::Ordinal => "ordinal",
            Element::Nanoseconds => "nanoseconds",
        }
    }

    /// Whether it is an `int`.
    pub fn is_int(self) -> bool {
        matches!(self, Element::Peer | Element::Tag)
    }

    /// How many bytes it takes.
    pub fn size(self) -> usize {
        if self.is_int() { 4 } else { 8 }
    }
}

const MESSAGE: &[Element] = &[Element::Peer, Element::Tag, Element::Bytes];

const fn message(
    name: &'static str,
    what: &'static str,
    bind: Bind,
    happening: Happening,
    topic: Topic,
) -> Event {
    Event { name, what, bind, happening, elements: MESSAGE, audience: Audience::User, topic }
}

const fn wait(
    name: &'static str,
    what: &'static str,
    happening: Happening,
    elements: &'static [Element],
) -> Event {
    Event {
        name,
        what,
        bind: Bind::Process,
        happening,
        elements,
        audience: Audience::User,
        topic: Topic::Waiting,
    }
}

/// All kinds of events.
#[rustfmt::skip]
pub const EVENTS: &[Event] = &[
    message("unexpected_message", "a message has come before its receive", Bind::Process, Happening::Early, Topic::Matching),
    message("rendezvous_begins", "a message is offered to its receiver, its data waits", Bind::Process, Happening::Offered, Topic::Protocols),
    message("send_begins", "the send of a message begins", Bind::Process, Happening::Sent, Topic::Messages),
    message("receive_matches", "a message has found its receive", Bind::Process, Happening::Received, Topic::Messages),
    message("comm_send_begins", "the send of a message on the communicator begins", Bind::Comm, Happening::Sent, Topic::Messages),
    message("comm_receive_matches", "a message on the communicator has found its receive", Bind::Comm, Happening::Received, Topic::Messages),
    wait("wait_begins", "the rank has nothing to do but to wait", Happening::WaitBegins, &[Element::Ordinal]),
    wait("wait_ends", "the rank goes on", Happening::WaitEnds, &[Element::Nanoseconds]),
];

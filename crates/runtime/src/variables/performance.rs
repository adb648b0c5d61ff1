//! Performance variables: what a rank can tell of itself while it runs.
//!
//! Those that are *always there* are told by the tables that the engine keeps anyway. All others are counted while a handle is started, and only then: a rank that nobody measures
//! counts nothing.

use engine::observe::Carried;

use super::{Audience, Bind, Topic};

/// A performance variable.
#[derive(Clone, Copy, Debug)]
pub struct Performance {
    /// What users call it.
    pub name: &'static str,
    /// What it tells.
    pub what: &'static str,
    /// How it behaves.
    pub class: Class,
    /// What it is about; bound to a communicator, it has a value for each member (of the remote group, if there are two).
    pub bind: Bind,
    /// What is measured.
    pub measure: Measure,
    /// For whom.
    pub audience: Audience,
    /// Where it belongs.
    pub topic: Topic,
}

/// How a performance variable behaves (MPI section 15.3.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// One of several states.
    State,
    /// How much there is now.
    Level,
    /// How much there can be.
    Size,
    /// A share, from 0 to 1.
    Percentage,
    /// The most there was.
    Highest,
    /// The least there was.
    Lowest,
    /// How often.
    Counter,
    /// How much in all.
    Aggregate,
    /// How long, in seconds.
    Timer,
}

/// What a performance variable measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Where the process is in its life.
    Phase,
    /// Messages sent, of the engine's tables.
    Sent,
    /// Messages that have come.
    Received,
    /// Those that came before their receives.
    Early,
    /// The share of those among all.
    EarlyShare,
    /// Messages that wait for their receives.
    Unexpected,
    /// Receives that wait for their messages.
    Posted,
    /// Requests in the table.
    Requests,
    /// Peers whose mailbox is full.
    Blocked,
    /// Memory in use.
    Memory,
    /// Memory that may be used.
    MemoryLimit,
    /// Messages sent to each process of the world.
    SentToEach,
    /// Messages that have come from each.
    ReceivedFromEach,
    /// Bytes sent, of messages whose sends begin.
    BytesSent,
    /// Bytes received, of messages that find their receives.
    BytesReceived,
    /// The same, for each process of the world.
    BytesToEach,
    /// The same, for each process of the world.
    BytesFromEach,
    /// Messages sent on a communicator, to each member.
    CommSent,
    /// Their bytes.
    CommBytesSent,
    /// Messages received on a communicator, from each member.
    CommReceived,
    /// Their bytes.
    CommBytesReceived,
    /// Messages sent this way.
    SentBy(Carried),
    /// Messages received this way.
    ReceivedBy(Carried),
    /// How many messages waited for their receives.
    UnexpectedMark,
    /// Operations that have begun and not ended.
    UnderWayMark,
    /// Waits.
    Waits,
    /// How long they took.
    WaitTime,
    /// Rounds of collectives.
    Rounds,
    /// One-sided operations.
    Accesses,
    /// Their bytes.
    AccessBytes,
}

impl Performance {
    /// Told by what there is anyway: it cannot be started or stopped.
    pub fn is_always_there(&self) -> bool {
        use Measure::*;
        matches!(
            self.measure,
            Phase
                | Sent
                | Received
                | Early
                | EarlyShare
                | Unexpected
                | Posted
                | Requests
                | Blocked
                | Memory
                | MemoryLimit
                | SentToEach
                | ReceivedFromEach
        )
    }

    /// Not to be set or reset.
    pub fn is_read_only(&self) -> bool {
        matches!(self.class, Class::State | Class::Level | Class::Size | Class::Percentage)
    }

    /// A value for each process of the world.
    pub fn is_of_each(&self) -> bool {
        use Measure::*;
        matches!(self.measure, SentToEach | ReceivedFromEach | BytesToEach | BytesFromEach)
    }
}

/// The states of [`Measure::Phase`].
pub const PHASES: [&str; 3] = ["before MPI_Init", "active", "after MPI_Finalize"];

const fn of_process(
    name: &'static str,
    what: &'static str,
    class: Class,
    measure: Measure,
    topic: Topic,
    audience: Audience,
) -> Performance {
    Performance { name, what, class, bind: Bind::Process, measure, audience, topic }
}

const fn of_comm(name: &'static str, what: &'static str, class: Class, measure: Measure) -> Performance {
    Performance {
        name,
        what,
        class,
        bind: Bind::Comm,
        measure,
        audience: Audience::User,
        topic: Topic::Messages,
    }
}

const fn sent_by(name: &'static str, what: &'static str, carried: Carried) -> Performance {
    of_process(name, what, Class::Counter, Measure::SentBy(carried), Topic::Protocols, Audience::Tuner)
}

const fn received_by(name: &'static str, what: &'static str, carried: Carried) -> Performance {
    of_process(name, what, Class::Counter, Measure::ReceivedBy(carried), Topic::Protocols, Audience::Tuner)
}

/// All performance variables.
#[rustfmt::skip]
pub const PERFORMANCE: &[Performance] = &[
    of_process("phase", "where the process is in its life", Class::State, Measure::Phase, Topic::Process, Audience::User),
    of_process("messages_sent", "messages sent, those of collectives included", Class::Counter, Measure::Sent, Topic::Messages, Audience::User),
    of_process("messages_received", "messages that have come, those of collectives included", Class::Counter, Measure::Received, Topic::Messages, Audience::User),
    of_process("messages_sent_to_each", "messages sent to each process of MPI_COMM_WORLD", Class::Counter, Measure::SentToEach, Topic::Messages, Audience::User),
    of_process("messages_received_from_each", "messages that have come from each process of MPI_COMM_WORLD", Class::Counter, Measure::ReceivedFromEach, Topic::Messages, Audience::User),
    of_process("bytes_sent", "bytes of messages whose sends have begun", Class::Aggregate, Measure::BytesSent, Topic::Messages, Audience::User),
    of_process("bytes_received", "bytes of messages that have found their receives", Class::Aggregate, Measure::BytesReceived, Topic::Messages, Audience::User),
    of_process("bytes_sent_to_each", "bytes sent to each process of MPI_COMM_WORLD", Class::Aggregate, Measure::BytesToEach, Topic::Messages, Audience::User),
    of_process("bytes_received_from_each", "bytes received from each process of MPI_COMM_WORLD", Class::Aggregate, Measure::BytesFromEach, Topic::Messages, Audience::User),
    of_comm("comm_messages_sent", "messages sent on the communicator, to each member", Class::Counter, Measure::CommSent),
    of_comm("comm_bytes_sent", "bytes sent on the communicator, to each member", Class::Aggregate, Measure::CommBytesSent),
    of_comm("comm_messages_received", "messages received on the communicator, from each member", Class::Counter, Measure::CommReceived),
    of_comm("comm_bytes_received", "bytes received on the communicator, from each member", Class::Aggregate, Measure::CommBytesReceived),
    of_process("unexpected_messages", "messages that came before their receives", Class::Counter, Measure::Early, Topic::Matching, Audience::User),
    of_process("unexpected_share", "the share of messages that came before their receives", Class::Percentage, Measure::EarlyShare, Topic::Matching, Audience::User),
    of_process("unexpected_depth", "messages that wait for their receives now", Class::Level, Measure::Unexpected, Topic::Matching, Audience::User),
    of_process("unexpected_depth_high", "the most messages that waited for their receives", Class::Highest, Measure::UnexpectedMark, Topic::Matching, Audience::User),
    of_process("unexpected_depth_low", "the fewest messages that waited for their receives", Class::Lowest, Measure::UnexpectedMark, Topic::Matching, Audience::Tuner),
    of_process("posted_depth", "receives that wait for their messages now", Class::Level, Measure::Posted, Topic::Matching, Audience::User),
    of_process("sent_eager", "messages sent inside a letter", Class::Counter, Measure::SentBy(Carried::Eager), Topic::Protocols, Audience::Tuner),
    sent_by("sent_in_pieces", "messages sent inside several letters", Carried::EagerPieces),
    sent_by("sent_lazily", "messages copied at the sender, then offered", Carried::Lazy),
    sent_by("sent_by_rendezvous", "messages offered to their receivers, who say how the data goes", Carried::Offered),
    sent_by("sent_into_announced", "messages put into receives that were announced before", Carried::Announced),
    sent_by("sent_shared", "messages that sender and receiver copy half each", Carried::Shared),
    received_by("received_eager", "messages received inside a letter", Carried::Eager),
    received_by("received_in_pieces", "messages received inside several letters", Carried::EagerPieces),
    received_by("received_by_get", "messages that the receiver has fetched out of the sender's memory", Carried::Fetched),
    received_by("received_by_put", "messages that the sender was let put into the receiver's memory", Carried::Granted),
    received_by("received_by_crossing", "messages whose offer has crossed the announcement of their receive", Carried::Crossed),
    received_by("received_into_announced", "messages that came into receives that were announced before", Carried::Announced),
    received_by("received_shared", "messages that sender and receiver copied half each", Carried::Shared),
    received_by("received_streamed", "messages offered whose data then came in letters", Carried::Streamed),
    of_process("peers_blocked", "peers whose mailbox is full now", Class::Level, Measure::Blocked, Topic::Protocols, Audience::Developer),
    of_process("collective_rounds", "rounds of collectives that have begun", Class::Counter, Measure::Rounds, Topic::Collectives, Audience::Tuner),
    of_process("accesses", "one-sided operations that have begun", Class::Counter, Measure::Accesses, Topic::OneSided, Audience::User),
    of_process("access_bytes", "bytes that one-sided operations move", Class::Aggregate, Measure::AccessBytes, Topic::OneSided, Audience::User),
    of_process("waits", "waits in which the rank found nothing to do", Class::Counter, Measure::Waits, Topic::Waiting, Audience::User),
    of_process("wait_time", "seconds in such waits", Class::Timer, Measure::WaitTime, Topic::Waiting, Audience::User),
    of_process("requests", "requests in the table now", Class::Level, Measure::Requests, Topic::Process, Audience::User),
    of_process("under_way_high", "the most operations under way at once, of those begun while it was measured", Class::Highest, Measure::UnderWayMark, Topic::Process, Audience::Tuner),
    of_process("under_way_low", "the fewest operations under way at once, of those begun while it was measured", Class::Lowest, Measure::UnderWayMark, Topic::Process, Audience::Tuner),
    of_process("memory", "bytes of memory that the library has reserved now", Class::Level, Measure::Memory, Topic::Process, Audience::User),
    of_process("memory_limit", "bytes of memory that the library may reserve", Class::Size, Measure::MemoryLimit, Topic::Process, Audience::User),
];

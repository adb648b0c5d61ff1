//! What can go wrong, as values that know their numbers.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use fabric::BudgetExceeded;

use crate::values::datatype::Basic;

/// The result of an engine operation.
pub type Result<T> = core::result::Result<T, Error>;

/// Why an operation failed. The C library maps each to an MPI error class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// A message was longer than the buffer of the receive that it matched (MPI_ERR_TRUNCATE).
    Truncated {
        /// Rank of the sender in the communicator.
        source: u32,
        /// The message's tag.
        tag: i32,
        /// Its length in bytes.
        received: u64,
        /// Bytes that the receive buffer holds.
        capacity: u64,
    },
    /// A member of a collective sent less than this rank expects of it (MPI_ERR_ARG).
    Short {
        /// Rank of the sender in the communicator.
        source: u32,
        /// The bytes that came.
        received: u64,
        /// The bytes that this rank expects.
        expected: u64,
    },
    /// A rank outside the communicator or group (MPI_ERR_RANK).
    Rank {
        /// What the rank was for: "destination", "source", ….
        role: &'static str,
        /// The value given.
        given: i64,
        /// Ranks that exist: 0 to `size - 1`.
        size: u32,
    },
    /// A root outside the communicator (MPI_ERR_ROOT).
    Root {
        /// The value given.
        given: i64,
        /// Ranks that exist.
        size: u32,
    },
    /// A tag below zero or above the limit (MPI_ERR_TAG).
    Tag {
        /// The value given.
        given: i64,
    },
    /// A count below zero or too large (MPI_ERR_COUNT).
    Count {
        /// The value given.
        given: i64,
    },
    /// More bytes than there are addresses (MPI_ERR_COUNT).
    Size {
        /// Elements.
        count: u64,
        /// Bytes of each.
        size: u64,
    },
    /// An operation that is not defined on this type (MPI_ERR_OP).
    Op {
        /// The operation's name.
        op: &'static str,
        /// The type.
        datatype: Basic,
    },
    /// An operation that needs a predefined type was given a derived one (MPI_ERR_OP).
    OpOnDerived {
        /// The operation's name.
        op: &'static str,
    },
    /// Buffers that must be distinct overlap, or MPI_IN_PLACE stands where it may not (MPI_ERR_BUFFER).
    Buffer {
        /// What is wrong.
        reason: &'static str,
    },
    /// A buffered send found no attached buffer, or too little room in it (MPI_ERR_BUFFER).
    BufferExhausted {
        /// Bytes that the message needs, overhead included.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes attached in all.
        attached: u64,
    },
    /// A buffer is attached already (MPI_ERR_BUFFER).
    BufferAttached,
    /// A request that does not exist, or is in the wrong state for this operation (MPI_ERR_REQUEST).
    Request {
        /// What is wrong.
        reason: &'static str,
    },
    /// A communicator without the topology that a function needs (MPI_ERR_TOPOLOGY).
    Topology {
        /// What it should have.
        expected: &'static str,
    },
    /// An argument that makes no sense (MPI_ERR_ARG).
    Argument {
        /// What is wrong.
        reason: &'static str,
        /// The value given.
        given: i64,
    },
    /// Work for more cores than there are for the rank, or for none (MPI_ERR_ARG).
    Cores {
        /// The value given.
        given: u32,
        /// The most that there are.
        most: u32,
    },
    /// A group operation on unsuitable groups (MPI_ERR_GROUP).
    Group {
        /// What is wrong.
        reason: &'static str,
    },
    /// A communicator that cannot be used so (MPI_ERR_COMM).
    Comm {
        /// What is wrong.
        reason: &'static str,
    },
    /// A datatype that cannot be used so (MPI_ERR_TYPE).
    Datatype {
        /// What is wrong.
        reason: &'static str,
    },
    /// A one-sided call outside of the epoch that it needs, or that would begin one inside of another (MPI_ERR_RMA_SYNC).
    Epoch {
        /// What was expected.
        reason: &'static str,
    },
    /// A displacement before the beginning of a window (MPI_ERR_DISP).
    Displacement {
        /// The value given.
        given: i64,
    },
    /// Data that does not lie in the target's part of the window (MPI_ERR_RMA_RANGE).
    WindowRange {
        /// The target's rank in the window.
        target: u32,
        /// The first byte of the data, from the beginning of that part, or its address where memory is attached.
        first: i64,
        /// Its end.
        end: i64,
        /// Bytes of the target's part; `None` where memory is attached.
        size: Option<u64>,
    },
    /// The origin's data does not fit into that of the target, or the other way round (MPI_ERR_TRUNCATE).
    WindowLength {
        /// Bytes that are to be moved.
        moved: u64,
        /// Bytes that there is room for, where they are moved to.
        room: u64,
    },
    /// A member of a window has no memory left for it (MPI_ERR_NO_MEM).
    WindowMemory {
        /// Its rank in the window.
        target: u32,
        /// Bytes of it.
        bytes: u64,
    },
    /// The memory of a member cannot be reached (MPI_ERR_RMA_SHARED).
    WindowReach {
        /// Its rank in the window.
        target: u32,
        /// What is missing.
        reason: &'static str,
    },
    /// More regions are attached to a window than it can have (MPI_ERR_RMA_ATTACH).
    Attachments {
        /// The most that it can have.
        most: usize,
    },
    /// The memory budget is used up (MPI_ERR_NO_MEM).
    Memory(Box<BudgetExceeded>),
    /// The memory that this rank's program gave to send from cannot be read (MPI_ERR_BUFFER).
    SendMemory {
        /// Where it begins.
        address: u64,
        /// Its length.
        bytes: u64,
    },
    /// The memory that this rank's program gave to receive into cannot be written (MPI_ERR_BUFFER).
    ReceiveMemory {
        /// Where it begins.
        address: u64,
        /// Its length.
        bytes: u64,
    },
    /// The memory that the peer's program gave cannot be used: it is told, too (MPI_ERR_OTHER).
    PeerMemory {
        /// Its rank in the job.
        node: u32,
        /// What the memory was for: "send" or "receive".
        role: &'static str,
    },
    /// The peer is gone (MPI_ERR_PROC_FAILED where that exists, else MPI_ERR_OTHER).
    PeerLost {
        /// Its rank in the job.
        node: u32,
    },
    /// All ranks of the job that have not ended wait for each other: nothing will ever come (MPI_ERR_OTHER). What was under way is
    /// given up as it is; the rank must not be used any more, because memory that it or a peer has lent may be gone.
    Stalled,
    /// A letter was overwritten on its way (MPI_ERR_OTHER): by its sender, or by whoever writes where it should not.
    Damaged {
        /// The sender's rank in the job, if the letter still tells.
        node: Option<u32>,
    },
    /// A peer has sent a letter that contradicts what is known of it (MPI_ERR_INTERN).
    Malformed {
        /// Its rank in the job.
        node: u32,
        /// What was in the letter.
        reason: &'static str,
    },
    /// Whoever completed a request that is not the engine's own work says that it failed.
    Outside(Box<Outside>),
    /// The engine met something that it cannot have caused (MPI_ERR_INTERN).
    Internal {
        /// What.
        reason: &'static str,
    },
}

/// Why work beside the engine has failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside {
    /// What kind of failure it is, as a number that means something to whoever did the work.
    pub kind: u32,
    /// A sentence.
    pub text: String,
}

/// Most bytes that a buffer can have: addresses are signed, in datatypes and in pointers' differences.
pub(crate) const MOST_BYTES: u64 = i64::MAX as u64;

impl From<BudgetExceeded> for Error {
    fn from(exceeded: BudgetExceeded) -> Error {
        Error::Memory(Box::new(exceeded))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated { source, tag, received, capacity } => write!(
                f,
                "the message from rank {source} with tag {tag} has {received} bytes, but the receive buffer holds {capacity}"
            ),
            Error::Short { source, received, expected } => write!(
                f,
                "rank {source} of the collective sent {received} bytes where this rank expects {expected}: their counts or types \
                 differ, or it has failed"
            ),
            Error::Rank { role, given, size: 0 } => write!(f, "{role} is {given}, but the group is empty"),
            Error::Rank { role, given, size } => {
                write!(f, "{role} is {given}, expected a rank from 0 to {}", size - 1)
            }
            Error::Root { given, size } => {
                write!(f, "root is {given}, expected a rank from 0 to {}", size.saturating_sub(1))
            }
            Error::Tag { given } => write!(f, "tag is {given}, expected 0 to {}", crate::Tag::MAX),
            Error::Count { given } => write!(f, "count is {given}, expected zero or more"),
            Error::Size { count, size } => {
                write!(f, "count is {count}, expected at most {} elements of {size} bytes", MOST_BYTES / size)
            }
            Error::Op { op, datatype } => {
                write!(f, "op is {op}, expected an operation that is defined on {datatype}")
            }
            Error::OpOnDerived { op } => {
                write!(f, "op is {op}, expected one of the program's own: the datatype is derived")
            }
            Error::BufferExhausted { needed, free, attached } => write!(
                f,
                "the buffered send needs {needed} bytes, but {free} of the {attached} attached bytes are free"
            ),
            Error::BufferAttached => f.write_str("a buffer is attached already; detach it first"),
            Error::Topology { expected } => {
                write!(f, "the communicator has no such topology, expected {expected}")
            }
            Error::Cores { given, most: 1 } => {
                write!(f, "cores is {given}, expected 1: this rank has no other")
            }
            Error::Cores { given, most } => {
                write!(f, "cores is {given}, expected 1 to {most}, which is this rank's share of its place")
            }
            Error::Argument { reason, given } => write!(f, "{reason} (given: {given})"),
            Error::Buffer { reason }
            | Error::Request { reason }
            | Error::Group { reason }
            | Error::Comm { reason }
            | Error::Datatype { reason } => f.write_str(reason),
            Error::Epoch { reason } => f.write_str(reason),
            Error::Displacement { given } => write!(f, "target_disp is {given}, expected zero or more"),
            Error::WindowRange { target, first, end, size: Some(size) } => write!(
                f,
                "the data lies at bytes {first} to {} of the window of rank {target}, expected a part of its {size} bytes",
                end - 1
            ),
            Error::WindowRange { target, first, end, size: None } => write!(
                f,
                "the data lies at {first:#x} to {:#x}, expected memory that rank {target} has attached to the window",
                end - 1
            ),
            Error::WindowLength { moved, room } => {
                write!(
                    f,
                    "{moved} bytes are to be moved to where there is room for {room}, expected at most as many"
                )
            }
            Error::WindowMemory { target, bytes } => {
                write!(f, "rank {target} of the window has no memory of {bytes} bytes left for it")
            }
            Error::WindowReach { target, reason } => {
                write!(f, "the memory of rank {target} of the window cannot be reached: {reason}")
            }
            Error::Attachments { most } => {
                write!(f, "{most} regions are attached to the window already, expected fewer")
            }
            Error::Memory(exceeded) => exceeded.fmt(f),
            Error::SendMemory { address, bytes } => {
                write!(f, "the send buffer of {bytes} bytes at {address:#x} has memory that cannot be read")
            }
            Error::ReceiveMemory { address, bytes } => {
                write!(
                    f,
                    "the receive buffer of {bytes} bytes at {address:#x} has memory that cannot be written"
                )
            }
            Error::PeerMemory { node, role } => write!(
                f,
                "the {role} buffer of rank {node} of MPI_COMM_WORLD has memory that cannot be used; the message did not arrive"
            ),
            Error::PeerLost { node } => write!(f, "rank {node} of MPI_COMM_WORLD is gone"),
            Error::Stalled => {
                f.write_str("the job has stalled: all of its ranks that have not ended wait in vain")
            }
            Error::Damaged { node: Some(node) } => write!(
                f,
                "a message from rank {node} of MPI_COMM_WORLD is damaged: that rank, or one that writes where it should not, has \
                 overwritten memory of the library"
            ),
            Error::Damaged { node: None } => f.write_str(
                "a message that names no sender is damaged: a rank has overwritten memory of the library",
            ),
            Error::Malformed { node, reason } => {
                write!(f, "rank {node} of MPI_COMM_WORLD has sent a damaged letter: {reason}")
            }
            Error::Outside(outside) => f.write_str(&outside.text),
            Error::Internal { reason } => write!(f, "internal error: {reason}"),
        }
    }
}

impl core::error::Error for Error {}

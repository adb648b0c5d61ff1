//! The events that a trace is made of. Times are ticks of the job's clock (`Job::ticks_per_second`): nanoseconds on a
//! host, cycles on a chip.

/// An interned string of the stream that the event belongs to. `Name::NONE` is the empty string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub u32);

impl Name {
    /// No name.
    pub const NONE: Name = Name(0);
}

/// The source of a receive that takes a message from anyone.
pub const ANY_SOURCE: u32 = u32::MAX;
/// The tag of a receive that takes a message of any tag.
pub const ANY_TAG: i32 = i32::MIN;

/// A message, the same on both sides: the sender's world rank and a number that it never uses twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u64);

impl MessageId {
    const SEQUENCE_BITS: u32 = 40;

    /// The `sequence`-th message of `sender`.
    pub const fn new(sender: u32, sequence: u64) -> MessageId {
        MessageId((sender as u64) << Self::SEQUENCE_BITS | sequence & ((1 << Self::SEQUENCE_BITS) - 1))
    }

    /// The world rank of the sender.
    pub const fn sender(self) -> u32 {
        (self.0 >> Self::SEQUENCE_BITS) as u32
    }

    /// The sender's number of the message.
    pub const fn sequence(self) -> u64 {
        self.0 & ((1 << Self::SEQUENCE_BITS) - 1)
    }
}

/// How a message travelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Protocol {
    /// Not known where the event was recorded.
    #[default]
    Unknown = 0,
    /// The payload inside the letter.
    Eager = 1,
    /// The payload in several letters.
    EagerPieces = 2,
    /// Copied at the sender, sent later by the agent.
    Lazy = 3,
    /// The receiver gets from the sender's buffer.
    RendezvousGet = 4,
    /// The sender puts into the receiver's buffer.
    RendezvousPut = 5,
    /// One address space: one copy from buffer to buffer.
    Local = 6,
    /// A rank to itself.
    SelfCopy = 7,
    /// A portal used directly by the program.
    Raw = 8,
    /// Sent once to several receivers, for whom the network copies it.
    Multicast = 9,
}

impl Protocol {
    /// All protocols, in the order of their numbers.
    pub const ALL: [Protocol; 10] = [
        Protocol::Unknown,
        Protocol::Eager,
        Protocol::EagerPieces,
        Protocol::Lazy,
        Protocol::RendezvousGet,
        Protocol::RendezvousPut,
        Protocol::Local,
        Protocol::SelfCopy,
        Protocol::Raw,
        Protocol::Multicast,
    ];

    /// The protocol of that number; one that a later version added is unknown to this one.
    pub fn from_number(number: u8) -> Protocol {
        Self::ALL.get(usize::from(number)).copied().unwrap_or_default()
    }

    /// What people read.
    pub const fn label(self) -> &'static str {
        match self {
            Protocol::Unknown => "unknown",
            Protocol::Eager => "eager",
            Protocol::EagerPieces => "eager in pieces",
            Protocol::Lazy => "lazy",
            Protocol::RendezvousGet => "rendezvous (get)",
            Protocol::RendezvousPut => "rendezvous (put)",
            Protocol::Local => "local copy",
            Protocol::SelfCopy => "to itself",
            Protocol::Raw => "raw portal",
            Protocol::Multicast => "multicast",
        }
    }
}

/// What a one-sided operation does at its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum AccessKind {
    /// Added by a later version.
    #[default]
    Unknown = 0,
    /// Writes.
    Put = 1,
    /// Reads.
    Get = 2,
    /// Combines.
    Accumulate = 3,
    /// Combines, and reads what was there.
    Fetch = 4,
    /// Replaces if it is as expected.
    Swap = 5,
}

impl AccessKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [AccessKind; 6] = [
        AccessKind::Unknown,
        AccessKind::Put,
        AccessKind::Get,
        AccessKind::Accumulate,
        AccessKind::Fetch,
        AccessKind::Swap,
    ];

    /// The kind of that number.
    pub fn from_number(number: u8) -> AccessKind {
        Self::ALL.get(usize::from(number)).copied().unwrap_or_default()
    }

    /// What people read.
    pub const fn label(self) -> &'static str {
        match self {
            AccessKind::Unknown => "access",
            AccessKind::Put => "put",
            AccessKind::Get => "get",
            AccessKind::Accumulate => "accumulate",
            AccessKind::Fetch => "fetch and accumulate",
            AccessKind::Swap => "compare and swap",
        }
    }
}

/// What kind of epoch a window is in (MPI section 12.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum EpochKind {
    /// Added by a later version.
    #[default]
    Unknown = 0,
    /// From fence to fence.
    Fence = 1,
    /// From start to complete: this rank accesses a peer.
    Access = 2,
    /// From post to wait: a peer accesses this rank.
    Exposure = 3,
    /// A peer is locked, shared with others.
    SharedLock = 4,
    /// A peer is locked by this rank alone.
    ExclusiveLock = 5,
    /// All are locked, shared with others.
    LockAll = 6,
}

impl EpochKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [EpochKind; 7] = [
        EpochKind::Unknown,
        EpochKind::Fence,
        EpochKind::Access,
        EpochKind::Exposure,
        EpochKind::SharedLock,
        EpochKind::ExclusiveLock,
        EpochKind::LockAll,
    ];

    /// The kind of that number.
    pub fn from_number(number: u8) -> EpochKind {
        Self::ALL.get(usize::from(number)).copied().unwrap_or_default()
    }

    /// What people read.
    pub const fn label(self) -> &'static str {
        match self {
            EpochKind::Unknown => "epoch",
            EpochKind::Fence => "fence",
            EpochKind::Access => "access",
            EpochKind::Exposure => "exposure",
            EpochKind::SharedLock => "shared lock",
            EpochKind::ExclusiveLock => "exclusive lock",
            EpochKind::LockAll => "lock of all",
        }
    }
}

/// Who at a place serves one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ServerKind {
    /// Added by a later version.
    #[default]
    Unknown = 0,
    /// The resource manager, which handles letters.
    Agent = 1,
    /// The core of the system, which serves calls.
    Kernel = 2,
}

impl ServerKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [ServerKind; 3] = [ServerKind::Unknown, ServerKind::Agent, ServerKind::Kernel];

    /// The kind of that number.
    pub fn from_number(number: u8) -> ServerKind {
        Self::ALL.get(usize::from(number)).copied().unwrap_or_default()
    }

    /// What people read.
    pub const fn label(self) -> &'static str {
        match self {
            ServerKind::Unknown => "server",
            ServerKind::Agent => "resource manager",
            ServerKind::Kernel => "system core",
        }
    }
}

/// The root of a collective that has none.
pub const NO_ROOT: u32 = u32::MAX;

/// The peer of an epoch that is about all members of its window.
pub const ALL_MEMBERS: u32 = u32::MAX;

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields say what they are; the variants say what happened")]
pub enum Event {
    /// The rank enters an MPI function.
    Enter { time: u64, function: Name, site: Name },
    /// It leaves the function that it entered last.
    Leave { time: u64 },
    /// A message is handed to the engine. If it is `done` its buffer is free at once, and no [`Event::SendEnd`] follows.
    SendStart {
        time: u64,
        message: MessageId,
        to: u32,
        tag: i32,
        comm: u32,
        bytes: u64,
        protocol: Protocol,
        done: bool,
    },
    /// The sender's buffer is its own again.
    SendEnd { time: u64, message: MessageId },
    /// A receive is posted. `from` may be [`ANY_SOURCE`], `tag` [`ANY_TAG`].
    RecvPost { time: u64, request: u64, from: u32, tag: i32, comm: u32, bytes: u64 },
    /// A message and a receive have found each other. `request` is that of the [`Event::RecvPost`], 0 if there was none. If it is
    /// `done` the payload is in place at once, and no [`Event::RecvEnd`] follows. The rank has waited so long until then, which is no
    /// [`Event::Wait`] of its own.
    RecvMatch {
        time: u64,
        message: MessageId,
        request: u64,
        from: u32,
        tag: i32,
        bytes: u64,
        protocol: Protocol,
        done: bool,
        waited: u64,
    },
    /// The payload is in the receiver's buffer.
    RecvEnd { time: u64, message: MessageId },
    /// The rank had nothing to do and waited (spinning, yielding or asleep).
    Wait { begin: u64, end: u64 },
    /// The rank computed and said so.
    Compute { begin: u64, end: u64 },
    /// A collective's schedule begins a round.
    Phase { time: u64, collective: Name, round: u32 },
    /// The rank takes part in a collective, as the program asked for it. `number` is the tag of its messages, negative if it sends none; `root` is a member's
    /// number in the communicator or [`NO_ROOT`]; `bytes` are those of the buffer, or of one member's block where there is one for each.
    Collective { time: u64, which: Name, comm: u32, number: i32, root: u32, bytes: u64 },
    /// The members of a communicator, before the first collective on it: their world ranks in order, as `0-3,8`.
    Members { time: u64, comm: u32, members: Name },
    /// A one-sided operation at another rank, or at this one.
    Access { time: u64, kind: AccessKind, target: u32, window: u32, bytes: u64 },
    /// An epoch of a window begins, which the rank asked for at `asked`. `peer` may be [`ALL_MEMBERS`].
    EpochBegin { asked: u64, time: u64, kind: EpochKind, peer: u32, window: u32 },
    /// It ends, and the rank wanted that from `asked` on. [`ALL_MEMBERS`] ends those of that kind with every peer. Told before
    /// others can go on because of it, except a fence, whose end every member tells of.
    EpochEnd { asked: u64, time: u64, kind: EpochKind, peer: u32, window: u32 },
    /// A region that the program marks begins or ends (`MPI_Pcontrol`).
    Region { time: u64, number: u32, begins: bool },
    /// A quantity has a new value.
    Counter { time: u64, which: Name, value: u64 },
    /// Chip: flits that crossed a link within a window of time. `link` is an index into `Chip::links` and, behind these, `Chip::control_links`.
    LinkUse { begin: u64, end: u64, link: u32, flits: u32 },
    /// Chip: the power drawn from now on.
    Power { time: u64, microwatts: u64 },
    /// Chip: bytes held of a place's memory from now on. `place` is an index into `Chip::places`.
    Memory { time: u64, place: u32, bytes: u64 },
    /// Chip: transfers queued at a place's DMA engines from now on.
    DmaQueue { time: u64, place: u32, depth: u32 },
    /// Chip: transfers queued at a DDR controller from now on.
    DdrQueue { time: u64, controller: u32, depth: u32 },
    /// Chip: ticks that a server of a place worked within a window of time.
    ServerUse { begin: u64, end: u64, server: ServerKind, place: u32, busy: u64 },
}

impl Event {
    /// When it happened; the end of what lasted, so that a stream's times ascend as they are recorded.
    pub fn time(&self) -> u64 {
        match *self {
            Event::Enter { time, .. }
            | Event::Leave { time }
            | Event::SendStart { time, .. }
            | Event::SendEnd { time, .. }
            | Event::RecvPost { time, .. }
            | Event::RecvMatch { time, .. }
            | Event::RecvEnd { time, .. }
            | Event::Phase { time, .. }
            | Event::Collective { time, .. }
            | Event::Members { time, .. }
            | Event::Access { time, .. }
            | Event::EpochBegin { time, .. }
            | Event::EpochEnd { time, .. }
            | Event::Region { time, .. }
            | Event::Counter { time, .. }
            | Event::Power { time, .. }
            | Event::Memory { time, .. }
            | Event::DmaQueue { time, .. }
            | Event::DdrQueue { time, .. } => time,
            Event::Wait { end, .. }
            | Event::Compute { end, .. }
            | Event::LinkUse { end, .. }
            | Event::ServerUse { end, .. } => end,
        }
    }
}

//! Small letters between nodes.

use crate::Node;

/// Bytes of a [`Header`].
pub const HEADER_BYTES: usize = 24;

/// The fixed part of a letter. Its meaning belongs to the layer above; a fabric carries it unread. Three words, because the
/// control messages of the MPPA-256 are 120 bytes: 24 of header and 96 of payload.
pub type Header = [u64; 3];

/// The header of what [`poll`](Mailbox::poll) hands out, without payload, in place of a letter that somebody has overwritten on its way.
/// A fabric over memory that others write can meet such letters; no letter of the layer above has this header.
pub const DAMAGED: Header = [u64::MAX; 3];

/// Stands for the sender of a [damaged](DAMAGED) letter that does not even name a node.
pub const NO_NODE: Node = Node(u32::MAX);

/// Why a letter was not taken. Nothing was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PostError {
    /// The receiver's box, or the sender's buffers, have no room now.
    Full,
    /// The receiver is gone for good: nothing will reach it, ever again. Fabrics that cannot tell say [`Full`](PostError::Full).
    Lost,
}

/// The peer is gone for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost;

/// What a look at the next letter has found, in one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Next(u64);

impl Next {
    /// No letter waits.
    pub const NOTHING: Next = Next(u64::MAX);

    /// Another letter waits, or the fabric does not look: [`poll`](Mailbox::poll) tells.
    pub const ANOTHER: Next = Next(u64::MAX - 1);

    /// A letter of this node with so many bytes of payload was taken.
    #[inline(always)]
    pub const fn taken(from: Node, bytes: u32) -> Next {
        Next((bytes as u64) << 32 | from.0 as u64)
    }

    /// Sender and bytes of the letter that was taken, if one was.
    #[inline(always)]
    pub const fn letter(self) -> Option<(Node, u32)> {
        if self.0 >= Next::ANOTHER.0 { None } else { Some((Node(self.0 as u32), (self.0 >> 32) as u32)) }
    }
}

/// A step of a message through ports of an operating system, which are opened for it and closed after it (LWMPI on Nanvix).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortStep {
    /// A send to another cluster, or as to one, begins; it is told to its receiver next.
    SendFar,
    /// It is over.
    SentFar,
    /// A send inside the cluster, through one of its slots, begins; it is told to its receiver next.
    SendNear,
    /// It is over: the slot is free.
    SentNear,
    /// A receive from another cluster, or as from one, answers its sender next. The letter with this header grants its buffer.
    Confirm(Node, Header),
    /// It has acknowledged the data.
    Acknowledged(Node),
    /// A program that uses ports by hand makes so many calls besides those that carry something.
    Raw(u32),
}

/// Sends and receives letters: a [`Header`] and up to [`Route::letter_max`](crate::Route::letter_max) bytes.
pub trait Mailbox {
    /// Sends one letter to `to`, which may be this node itself.
    ///
    /// * **Blocks:** never. When there is no room it returns [`Full`](PostError::Full) and the caller tries again after it has polled its
    ///   own mailbox (two nodes that only post would otherwise wait for each other for ever).
    /// * **Buffer:** `payload` has been copied when the call returns; the caller may reuse it at once.
    /// * **Order:** letters from one sender to one receiver are polled in the order in which they were posted. Nothing
    ///   is said about letters of different senders.
    /// * **Lost:** noticed at the latest when the peer's box, which nobody empties any more, is full and stays so; never while the peer lives.
    /// * **Wakes:** a receiver that is parked, or about to park, is woken.
    /// * **Reentrant:** may be called from inside the sink of [`poll`](Mailbox::poll).
    ///
    /// # Panics
    /// If `payload` is longer than the route's `letter_max` or `to` is not a node of the job.
    fn try_post(&self, to: Node, header: &Header, payload: &[u8]) -> Result<(), PostError>;

    /// As [`try_post`](Mailbox::try_post) of a letter without payload, to a node that shares this one's memory
    /// ([`Route::same_memory`](crate::Route::same_memory)). Where a kernel carries letters, a flag in the shared memory tells the
    /// same without it. Polled as any letter, in order with them. By default it is one.
    fn try_flag(&self, to: Node, header: &Header) -> Result<(), PostError> {
        self.try_post(to, header, &[])
    }

    /// Says that a message makes a step through ports. False if it cannot: there is no slot for a send inside the cluster. Nothing, and true, where
    /// letters need no ports.
    fn port(&self, _step: PortStep) -> bool {
        true
    }

    /// Hands waiting letters to `sink` as (sender, header, payload), at most `limit` of them, and returns how many: fewer than wait, if the fabric finds that the receiver had better look whether it has what it wants.
    ///
    /// * **Blocks:** never; returns 0 when there is nothing.
    /// * **Buffer:** the payload slice lives in the mailbox and is valid only during the call of the sink.
    /// * **Progress:** a letter counts as taken when the sink returns. Room is given back to senders in steps, at the latest
    ///   when a quarter of the box is free.
    /// * **Damage:** a letter that makes no sense to the fabric is handed out as [`DAMAGED`], with its sender if it names one.
    /// * **Reentrant:** the sink may post, but not poll or park.
    fn poll(&self, limit: usize, sink: &mut dyn FnMut(Node, &Header, &[u8])) -> usize;

    /// Looks for a letter, up to `looks` times until there is one, and takes it, as [`poll`](Mailbox::poll) would, if the words of its header are `first`, `second` and the bytes of its payload, and these fit into `room`: they are
    /// stored there. Any other letter stays. For receivers that know what comes next. Where a park is [cheap](crate::Caps::cheap_park)
    /// it may take one before the last look, if there is any: whatever that would have said, the next one says. By default nothing is looked at.
    fn take_next(&self, _first: u64, _second: u64, _room: &mut [u8], _looks: u32) -> Next {
        Next::ANOTHER
    }

    /// The letter that was posted last crosses the one that is looked for next, which is here soon: nothing is to be done meanwhile for the sake of the first. By default nothing is.
    fn crosses(&self) {}

    /// From now on, or no longer, letters belong to messages that are so long, or that as long ones come for at the same time, that it counts how their payloads pass the caches: they may be as long as [`Route::letter_bulk`](crate::Route::letter_bulk). By default all letters are alike.
    fn in_bulk(&self, _is: bool) {}
}

//! One sender, several receivers at once: what a network does that copies on the way.

use crate::{CostLaw, Header, Key, Lane, Mover, Node, PortalError, PostError, Ticket};

/// The multicast of a network ([`Fabric::multicast`](crate::Fabric::multicast)).
///
/// Receivers are told apart by nothing: each polls the letter, sees the counter or gets the notice as if it were alone. In every call they are of different
/// [clusters](crate::Route::cluster), none of them this node's, at least one and at most [`most`](MulticastLaws::most).
pub trait Multicast {
    /// What it costs, the same on every node.
    fn laws(&self) -> &MulticastLaws;

    /// As [`Mailbox::try_post`](crate::Mailbox::try_post) to each, but to all of them or to none: [`Full`](PostError::Full) if one has no room.
    fn try_post(&self, to: &[Node], header: &Header, payload: &[u8]) -> Result<(), PostError>;

    /// As [`Signal::raise`](crate::Signal::raise) at each.
    fn raise(&self, to: &[Node], lane: Lane);

    /// As [`Portal::put`](crate::Portal::put) of `bytes` contiguous bytes to the begin of each region. The ticket is done when they are in place everywhere.
    /// Refused with [`PortalError::Unreachable`] where only puts to each work: the caller makes those then.
    ///
    /// # Safety
    /// As for `Portal::put`, with each region.
    unsafe fn put(
        &self,
        to: &[Landing],
        local: *const u8,
        bytes: usize,
        mover: Mover,
    ) -> Result<Ticket, PortalError>;
}

/// Where a multicast put ends at one receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Landing {
    /// The receiver.
    pub node: Node,
    /// The region that it exposes to this node.
    pub key: Key,
    /// What tells it that the bytes are in place ([`Delivery::notice`](crate::Delivery::notice)).
    pub notice: Header,
}

/// What multicast costs, beside what the routes say, for those who choose between it and messages to each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MulticastLaws {
    /// Most receivers of one call.
    pub most: usize,
    /// Ticks of a letter to all of them, until they have it.
    pub letter: u64,
    /// A put to all of them.
    pub put: CostLaw,
    /// Ticks between two letters that many nodes send to one at the same time: who has to hear from all before it puts waits that long for each.
    pub hearing: u64,
}

//! Sends that are not complete, and their life line.
//!
//! ```text
//!                    short: everything fits into the mailbox
//!   started ───────────────────────────────────────────────────────────────► complete, without ever being in the table
//!      │   short, no room
//!      ├──────────────────► Outbox ──── all letters are posted ────────────► complete
//!      │                       │  held up for long: offered instead
//!      │                       ▼
//!      ├── RTS ────────────► Offered ── DONE: the receiver has got it ─────► complete
//!      │                       │ ├───── CTS ────► Streaming ─ last letter ─► complete
//!      │                       │ └───── grant, or an announcement crossed it
//!      │                       │                     ▼
//!      └── the receive had announced itself ────► Putting ── FIN is sent ──► complete (DONE, if it is acknowledged)
//! ```
//!
//! A send that is offered and revocable may be cancelled until its receiver claims it. Whatever the stage: a peer that is lost ends it with an error.

use fabric::{Key as PortalKey, Node};

use crate::progress::tables::portions::Portions;
use crate::values::envelope::Envelope;
use crate::values::memory::SendBuffer;

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

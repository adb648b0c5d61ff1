//! Receives that are not complete, and their life line.
//!
//! ```text
//!   started: the message was here already ───────────────────────────────────────► complete, or as below from where it is
//!      │
//!      ▼          eager, whole
//!    Posted ─────────────────────────────────────────────────────────────────────► complete
//!      │  │       eager, its first piece; or CTS
//!      │  ├──────────────────────────────────────► Filling ─── the last piece ───► complete
//!      │  │       RTS that names memory
//!      │  ├──────────────────────────────────────► Getting ─── DONE is sent ─────► complete
//!      │  │       RTS, and the portal only puts: a grant, or the announcement that the RTS crossed
//!      │  ├──────────────────────────────────────► Granted ─── FIN ──────────────► complete
//!      │  │       announced, and the sender wants a half of the copying done here
//!      │  └──────────────────────────────────────► Sharing ─── both halves ──────► complete
//!      │          announced: the sender has put
//!      └─────────────────────────────────────────────────────── FIN ─────────────► complete
//! ```
//!
//! Only a posted receive can be cancelled; one that was announced asks its peer first.

use fabric::{Key as PortalKey, Node};

use crate::progress::tables::matching::Place;
use crate::progress::tables::portions::Portions;
use crate::values::envelope::{Envelope, Rts};
use crate::values::memory::{RecvBuffer, Staging};

/// A receive that is not complete.
///
/// In this order: the buffer is copied to its place as it is then. Behind a stage of which most bytes mean nothing while it is posted, compilers copy both as one, in
/// pieces that fit neither, and a processor waits until what was just written so can be read so.
#[derive(Debug)]
#[repr(C)]
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
    /// Matched by an offer; its data is fetched together with that of others, when the letters behind it have been looked at.
    Matched { envelope: Envelope, from: Node, length: u64, rts: Rts },
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

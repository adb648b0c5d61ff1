//! Messages that came before their receives.

use alloc::vec::Vec;

use fabric::{Fabric, Node};

use crate::values::envelope::{Envelope, Rts};
use crate::values::error::Error;
use crate::values::slab;

/// A message that has arrived, or announced itself, before its receive.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub envelope: Envelope,
    pub from: Node,
    pub length: u64,
    pub body: Body,
    /// A receive that matched it and waits for the rest of its pieces.
    pub claimed_by: Option<slab::Key>,
}

impl Arrived {
    /// True if its sender has cancelled it: it is to be dropped, and nobody told of it.
    pub fn is_cancelled(&self, fabric: &dyn Fabric) -> bool {
        matches!(&self.body, Body::Offered(rts) if rts.claim().is_some_and(|name| !fabric.is_open(self.from, name)))
    }
}

#[derive(Debug)]
pub(crate) enum Body {
    /// The bytes that have come so far.
    Data(Vec<u8>),
    /// Waits at its sender.
    Offered(Rts),
    /// It came and could not be kept: the outcome of its receive.
    Lost(Error),
}

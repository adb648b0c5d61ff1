//! The attached buffers of a rank, as accounts of bytes (see `buffered`).

use alloc::vec::Vec;

use crate::values::ids::ContextId;
use crate::values::request::RequestId;

/// The attached buffers.
#[derive(Debug, Default)]
pub(crate) struct Accounts(pub Vec<Attached>);

/// An attached buffer, and the messages that are booked on it.
#[derive(Debug)]
pub(crate) struct Attached {
    /// The communicator whose it is; the process's if none.
    pub of: Option<ContextId>,
    pub address: usize,
    pub bytes: u64,
    pub in_flight: Vec<(RequestId, u64)>,
}

impl Attached {
    pub fn used(&self) -> u64 {
        self.in_flight.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl Accounts {
    pub fn at(&mut self, of: Option<ContextId>) -> Option<&mut Attached> {
        self.0.iter_mut().find(|attached| attached.of == of)
    }

    /// The one that a message is booked on.
    pub fn for_message(&mut self, context: ContextId) -> Option<&mut Attached> {
        let own = self.0.iter().any(|attached| attached.of == Some(context));
        self.at(own.then_some(context))
    }
}

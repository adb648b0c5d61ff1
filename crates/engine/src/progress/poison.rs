//! Faults without an addressee: a poisoned rank.
//!
//! A fault belongs to the request that it strikes, and is its outcome. One that strikes none (a letter that no engine writes, a
//! failure of a request that was freed, which section 3.7.3 calls fatal, memory that ran out under a message that cannot even be
//! noted) leaves a rank that cannot keep its promises any more: it is *poisoned*. From then on every operation that is begun and
//! every wait fails with the first such fault, for good. The shortest sends do not ask.
//!
//! Requests that were under way end with that fault too, so that nobody waits in vain. Invariant: a request is not reported
//! complete while its memory is *lent*, that is, while a peer or a DMA engine may still use it: it goes on and ends as it would have.

use fabric::Fabric;

use crate::progress::core::Core;
use crate::progress::tables::receive::{ReceiveStage, ReceiveWork};
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::values::error::Result;

impl Core {
    /// The fault that has poisoned the rank, if there is one.
    #[inline]
    pub fn check_fault(&mut self, fabric: &dyn Fabric) -> Result<()> {
        if self.fault.is_none() { Ok(()) } else { self.fail(fabric) }
    }

    #[cold]
    fn fail(&mut self, fabric: &dyn Fabric) -> Result<()> {
        self.sweep(fabric);
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// After a fault: ends the requests whose memory nobody uses, once. Later ones are not begun.
    #[cold]
    pub fn sweep(&mut self, fabric: &dyn Fabric) {
        if self.fault.is_none() || core::mem::replace(&mut self.swept, true) {
            return;
        }
        for key in self.requests.keys() {
            // A peer that holds the address of a receive is asked to forget it.
            self.cancel(fabric, key);
        }
        self.end_requests(fabric, |request| !is_lent(request));
    }

    pub fn end_requests(&mut self, fabric: &dyn Fabric, which: impl Fn(&Request) -> bool) {
        let Some(fault) = self.fault.clone() else { return };
        for key in self.requests.keys() {
            let Some(request) = self.requests.get(key) else { continue };
            if request.outcome.is_some()
                || !matches!(request.work, Work::Send(_) | Work::Receive(_))
                || !which(request)
            {
                continue;
            }
            if let Work::Receive(ReceiveWork { stage: ReceiveStage::Posted { place, .. }, .. }) = request.work
            {
                self.posted.remove(place);
            }
            self.withdraw_announcement(fabric, key);
            self.withdraw_offer(fabric, key);
            self.transfers.retain(|transfer| transfer.request != key);
            self.finish(fabric, key, Err(fault.clone()));
        }
    }
}

/// True if somebody else than this rank's own core may use the memory of a request.
fn is_lent(request: &Request) -> bool {
    match &request.work {
        Work::Send(SendWork { stage, .. }) => match stage {
            SendStage::Outbox | SendStage::Streaming { .. } => false,
            SendStage::Offered { key, helps, .. } => key.is_some() || helps.is_some(),
            SendStage::Putting { .. } => true,
        },
        Work::Receive(ReceiveWork { stage, .. }) => match stage {
            ReceiveStage::Posted { offered, .. } => offered.is_some(),
            ReceiveStage::Filling { .. } | ReceiveStage::Matched { .. } => false,
            ReceiveStage::Getting { .. } | ReceiveStage::Granted { .. } | ReceiveStage::Sharing { .. } => {
                true
            }
        },
        _ => false,
    }
}

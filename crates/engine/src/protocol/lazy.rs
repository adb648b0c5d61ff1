//! Lazy (MPPA-MPI): a message of medium size is copied at its sender, which returns at once; the data leaves later.
//!
//! Cost: one copy at the sender, then a rendezvous that nobody waits for, run by the agent where there is one and by later calls of
//! the rank otherwise. The copies are booked on the budget as "lazy buffer"; a message that does not fit any more goes by an
//! ordinary rendezvous, which holds its sender back until the receiver has made room.

use fabric::{Fabric, Node};

use super::{Manner, copied};
use crate::core::Core;
use crate::envelope::Envelope;
use crate::memory::SendBuffer;
use crate::request::{Request, RequestId, SendStage, SendWork, Work};

/// What the budget calls copies that wait to be sent.
const LAZY: &str = "lazy buffer";

impl Core {
    /// Copies a message and sends it on its own account; `None` if the copy does not fit.
    pub(super) fn send_lazily(
        &mut self,
        fabric: &dyn Fabric,
        buffer: &SendBuffer,
        to: Node,
        envelope: Envelope,
    ) -> Option<RequestId> {
        let bytes = buffer.bytes();
        let budget = fabric.budget();
        if bytes > self.choice.lazy_buffer.saturating_sub(budget.held(LAZY) as u64) {
            return None;
        }
        budget.reserve(LAZY, bytes as usize).ok()?;
        let work = SendWork {
            buffer: SendBuffer::owned(buffer.packed()),
            to,
            envelope,
            stage: SendStage::Outbox,
            booked: Some((LAZY, bytes as usize)),
        };
        // Orphaned from the start: the sender has its buffer back and asks no more.
        let Ok(id) = self.add_request(fabric, Request { orphan: true, ..Request::new(Work::Send(work)) })
        else {
            budget.release(LAZY, bytes as usize);
            return None;
        };
        self.orphans += 1;
        copied(fabric, bytes);
        self.with_agent(fabric, |core| core.begin_rendezvous(fabric, id.key(), false)).ok()?;
        Some(RequestId::SENT)
    }

    /// True if this send may be copied first.
    #[inline]
    pub(super) fn is_lazy(&self, bytes: u64, manner: &Manner) -> bool {
        bytes < self.choice.lazy_below
            && manner.completion == super::Completion::Local
            && manner.booked.is_none()
    }

    /// Does something on the helper core's account, where there is one.
    fn with_agent<T>(&mut self, fabric: &dyn Fabric, act: impl FnOnce(&mut Core) -> T) -> T {
        let agent = fabric.caps().agent;
        if agent {
            fabric.as_agent(true);
        }
        let result = act(self);
        if agent {
            fabric.as_agent(false);
        }
        result
    }
}

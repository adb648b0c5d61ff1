//! Lazy (MPPA-MPI): a message of medium size is copied at its sender, which returns at once; the data leaves later.
//!
//! Cost: one copy at the sender, then a rendezvous that nobody waits for. Where there is an agent it begins that too, when the
//! rank waits or computes; a message to the same peer that cannot wait as long has it begun before. The copies are booked on the budget as "lazy buffer"; a message that does not fit any more goes by an
//! ordinary rendezvous, which holds its sender back until the receiver has made room.

use fabric::{Fabric, Node};

use super::{Manner, copied};
use crate::progress::core::Core;
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::values::envelope::Envelope;
use crate::values::memory::SendBuffer;
use crate::values::request::RequestId;

/// What the budget calls copies that wait to be sent.
const LAZY: &str = "lazy buffer";

/// True if a send is a copy of the sender's data.
pub(super) fn is_copy(send: &SendWork) -> bool {
    send.booked.is_some_and(|(purpose, _)| purpose == LAZY)
}

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
        self.lazies.push_back((to, id.key()));
        if !fabric.caps().agent {
            self.send_copies(fabric);
        }
        Some(RequestId::SENT)
    }

    /// Begins the rendezvous of all copies, on the agent's account where there is one; returns how many.
    pub(super) fn send_copies(&mut self, fabric: &dyn Fabric) -> usize {
        let copies = core::mem::take(&mut self.lazies);
        if !copies.is_empty() {
            self.with_agent(fabric, |core| {
                for (_, key) in &copies {
                    if let Err(error) = core.begin_rendezvous(fabric, *key, false) {
                        core.fault.get_or_insert(error);
                    }
                }
            });
        }
        copies.len()
    }

    /// Keeps the order of messages to a peer: sends the copies before a message to it that is none.
    #[cold]
    pub(super) fn send_copies_first(&mut self, fabric: &dyn Fabric, to: Node) {
        if self.lazies.iter().any(|(node, _)| *node == to) {
            self.send_copies(fabric);
        }
    }

    /// True if this send may be copied first.
    #[inline]
    pub(super) fn is_lazy(&self, bytes: u64, manner: &Manner) -> bool {
        bytes < self.choice.lazy_below
            && manner.completion == super::Completion::Local
            && manner.booked.is_none()
    }

    /// Does something on the helper core's account, where there is one.
    pub(crate) fn with_agent(&mut self, fabric: &dyn Fabric, act: impl FnOnce(&mut Core)) {
        if !fabric.caps().agent || self.agent_acts {
            return act(self);
        }
        self.agent_acts = true;
        let time = fabric.virtual_time();
        time.inspect(|time| time.as_agent(true));
        act(self);
        time.inspect(|time| time.as_agent(false));
        self.agent_acts = false;
    }
}

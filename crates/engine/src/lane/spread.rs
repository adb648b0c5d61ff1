//! Steps of a schedule that go by the network's multicast: a member grants its memory to the root of a broadcast, and the root sends to several members at once.

use alloc::vec::Vec;

use crate::lane::Lane;
use crate::schedule::{Pending, Schedule, Step};
use crate::values::envelope::{CONTROL_MAX, Envelope, Share};
use crate::values::error::{Error, Result};
use crate::values::memory::SendBuffer;
use crate::values::request::RequestId;

use super::run::nothing;

impl Lane {
    /// Grants memory to the member that is named by the next step, and tells it. A schedule that has failed tells it so, by a word without bytes.
    pub(super) fn start_grant(&self, plan: &mut Schedule) -> Result<()> {
        let (Some(comm), Step::Grant { to, region }) = (&plan.comm, &plan.steps[plan.next]) else {
            return Err(Error::Internal { reason: "a step taken for a grant" });
        };
        let mut word = nothing();
        let mut granted = None;
        if plan.failed.is_none() {
            let envelope = Envelope { context: plan.context, source: *to, tag: plan.tag.value() };
            let buffer = region.to_receive();
            buffer.check()?;
            let mut core = self.core.borrow_mut();
            let (id, bytes) = core.grant_put(self.fabric(), &buffer, comm.node(*to), envelope)?;
            word = SendBuffer::owned(bytes.to_vec());
            granted = Some(Pending { id, expected: Some(region.bytes()), reported: false });
        }
        let told = self.isend_in(plan.context, &word, *to, plan.tag, comm);
        plan.next += 1;
        plan.pending.extend(granted);
        push(plan, told?);
        Ok(())
    }

    /// Sends to the members that are named by the next step. A schedule that has failed sends nothing to those who wait for it.
    pub(super) fn start_multicast(&self, plan: &mut Schedule) -> Result<()> {
        let (Some(comm), Step::Multicast(spread)) = (&plan.comm, &plan.steps[plan.next]) else {
            return Err(Error::Internal { reason: "a step taken for a multicast" });
        };
        let fabric = self.fabric();
        let Some(multicast) = fabric.multicast() else {
            return Err(Error::Internal { reason: "a multicast where there is none" });
        };
        let envelope = Envelope { context: plan.context, source: comm.rank(), tag: plan.tag.value() };
        let nodes: Vec<_> = spread.to.iter().map(|member| comm.node(*member)).collect();
        let buffer = spread.region.to_send();
        let mut ids = SmallIds::new();
        match &spread.grants {
            None if plan.failed.is_some() => {
                for member in &spread.to {
                    ids.push(self.isend_in(plan.context, &nothing(), *member, plan.tag, comm)?);
                }
            }
            None => {
                let mut core = self.core.borrow_mut();
                ids = core.multicast_eagerly(fabric, multicast, &buffer, &nodes, envelope)?;
            }
            Some(words) => {
                let mut bytes = alloc::vec![0; words.bytes() as usize];
                words.load(&mut bytes);
                // Those that have not come are zero, and must not be taken for those of the next time.
                words.store(&alloc::vec![0; bytes.len()]);
                let word = bytes.chunks(CONTROL_MAX).map(Share::decode);
                let granted = nodes.iter().copied().zip(word).filter_map(|(node, word)| Some((node, word?)));
                let granted: Vec<_> = granted.filter(|(_, word)| word.length > 0).collect();
                let mut core = self.core.borrow_mut();
                if plan.failed.is_some() {
                    core.decline_grants(fabric, &granted);
                } else {
                    ids = core.multicast_put(fabric, multicast, &buffer, &granted, envelope)?;
                }
            }
        }
        plan.next += 1;
        ids.into_iter().for_each(|id| push(plan, id));
        Ok(())
    }
}

type SmallIds = crate::progress::protocol::UnderWay;

fn push(plan: &mut Schedule, id: RequestId) {
    if id != RequestId::SENT {
        plan.pending.push(Pending { id, expected: None, reported: false });
    }
}

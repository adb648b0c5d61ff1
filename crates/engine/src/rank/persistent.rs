//! Persistent operations (MPI section 3.9): described once, started many times.

use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::template::Operation;
use crate::rank::Rank;
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::ids::{Dest, Source, Tag, TagMatch};
use crate::values::memory::{RecvBuffer, SendBuffer};
use crate::values::mode::Mode;
use crate::values::request::RequestId;

impl Rank {
    /// Describes a send. The buffer's contract holds for every activity of the request.
    pub fn send_init(
        &self,
        mode: Mode,
        buffer: &SendBuffer,
        dest: Dest,
        tag: Tag,
        comm: &Comm,
    ) -> Result<RequestId> {
        self.lane.persistent(Operation::Send { mode, buffer: buffer.clone(), dest, tag, comm: comm.clone() })
    }

    /// Describes a receive.
    pub fn recv_init(
        &self,
        buffer: &RecvBuffer,
        source: Source,
        tag: TagMatch,
        comm: &Comm,
    ) -> Result<RequestId> {
        self.lane.persistent(Operation::Receive { buffer: buffer.clone(), source, tag, comm: comm.clone() })
    }

    /// Starts an inactive persistent request.
    pub fn start(&self, id: RequestId) -> Result<()> {
        let operation = {
            let core = self.lane.core.borrow();
            match core.requests.get(id.key()) {
                Some(Request { work: Work::Persistent(template), .. }) if template.active.is_none() => {
                    template.operation.clone()
                }
                Some(Request { work: Work::Persistent(_), .. }) => {
                    return Err(Error::Request { reason: "the persistent request is active already" });
                }
                Some(_) => return Err(Error::Request { reason: "only persistent requests can be started" }),
                None => return Err(core.requests.unknown(id.key())),
            }
        };
        let active = match &operation {
            Operation::Send { mode, buffer, dest, tag, comm } => {
                self.isend(*mode, buffer, *dest, *tag, comm)?
            }
            Operation::Receive { buffer, source, tag, comm } => self.irecv(buffer, *source, *tag, comm)?,
            Operation::Collective(home) => {
                let plan = home.leave();
                let busy = Error::Request { reason: "the persistent collective is active already" };
                self.lane.launch(plan.ok_or(busy)?)?
            }
        };
        let core = &mut *self.lane.core.borrow_mut();
        if let Some(Request { work: Work::Persistent(template), mark, .. }) = core.requests.get_mut(id.key())
        {
            template.active = Some(active);
            core.awaited.forget(*mark);
        }
        Ok(())
    }

    /// True if the request is a persistent one.
    pub fn is_persistent(&self, id: RequestId) -> bool {
        matches!(
            self.lane.core.borrow().requests.get(id.key()),
            Some(Request { work: Work::Persistent(_), .. })
        )
    }
}

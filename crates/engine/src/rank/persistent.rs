//! Persistent operations (MPI section 3.9): described once, started many times.

use alloc::rc::Rc;

use crate::progress::request::{Request, RequestId, Work, unknown_request};
use crate::rank::Rank;
use crate::rank::p2p::Mode;
use crate::schedule::Home;
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::ids::{Dest, Source, Tag, TagMatch};
use crate::values::memory::{RecvBuffer, SendBuffer};

/// The description of a persistent operation, and its current activity.
#[derive(Debug)]
pub(crate) struct Template {
    operation: Operation,
    pub active: Option<RequestId>,
}

#[derive(Clone, Debug)]
enum Operation {
    Send { mode: Mode, buffer: SendBuffer, dest: Dest, tag: Tag, comm: Comm },
    Receive { buffer: RecvBuffer, source: Source, tag: TagMatch, comm: Comm },
    Collective(Rc<Home>),
}

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
        self.persistent(Operation::Send { mode, buffer: buffer.clone(), dest, tag, comm: comm.clone() })
    }

    /// Describes a receive.
    pub fn recv_init(
        &self,
        buffer: &RecvBuffer,
        source: Source,
        tag: TagMatch,
        comm: &Comm,
    ) -> Result<RequestId> {
        self.persistent(Operation::Receive { buffer: buffer.clone(), source, tag, comm: comm.clone() })
    }

    /// Starts an inactive persistent request.
    pub fn start(&self, id: RequestId) -> Result<()> {
        let operation = {
            let core = self.core.borrow();
            match core.requests.get(id.key()) {
                Some(Request { work: Work::Persistent(template), .. }) if template.active.is_none() => {
                    template.operation.clone()
                }
                Some(Request { work: Work::Persistent(_), .. }) => {
                    return Err(Error::Request { reason: "the persistent request is active already" });
                }
                Some(_) => return Err(Error::Request { reason: "only persistent requests can be started" }),
                None => return Err(unknown_request()),
            }
        };
        let active = match &operation {
            Operation::Send { mode, buffer, dest, tag, comm } => {
                self.isend(*mode, buffer, *dest, *tag, comm)?
            }
            Operation::Receive { buffer, source, tag, comm } => self.irecv(buffer, *source, *tag, comm)?,
            Operation::Collective(home) => self.start_kept(home)?,
        };
        if let Some(Request { work: Work::Persistent(template), .. }) =
            self.core.borrow_mut().requests.get_mut(id.key())
        {
            template.active = Some(active);
        }
        Ok(())
    }

    /// True if the request is a persistent one.
    pub fn is_persistent(&self, id: RequestId) -> bool {
        matches!(self.core.borrow().requests.get(id.key()), Some(Request { work: Work::Persistent(_), .. }))
    }

    /// A persistent request of a collective whose schedule is at home.
    pub(crate) fn persistent_collective(&self, home: Rc<Home>) -> Result<RequestId> {
        self.persistent(Operation::Collective(home))
    }

    fn persistent(&self, operation: Operation) -> Result<RequestId> {
        let template = Template { operation, active: None };
        let request = Request::new(Work::Persistent(alloc::boxed::Box::new(template)));
        self.core.borrow_mut().add_request(self.fabric(), request)
    }
}

//! What a persistent request describes.

use alloc::rc::Rc;

use crate::schedule::Home;
use crate::values::comm::Comm;
use crate::values::ids::{Dest, Source, Tag, TagMatch};
use crate::values::memory::{RecvBuffer, SendBuffer};
use crate::values::mode::Mode;
use crate::values::request::RequestId;

/// The description of a persistent operation, and its current activity.
#[derive(Debug)]
pub(crate) struct Template {
    pub operation: Operation,
    pub active: Option<RequestId>,
}

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Send { mode: Mode, buffer: SendBuffer, dest: Dest, tag: Tag, comm: Comm },
    Receive { buffer: RecvBuffer, source: Source, tag: TagMatch, comm: Comm },
    Collective(Rc<Home>),
}

//! The slot of the direct receive (see `progress::direct`).

use crate::values::error::Error;
use crate::values::memory::RecvBuffer;
use crate::values::request::RequestId;

/// The slot. Plain numbers rather than nested values: they are written and read back within a few nanoseconds, and a copy of a
/// struct by wide moves right after its fields were written stalls for longer than everything else here takes.
#[derive(Debug, Default)]
pub(crate) struct Direct {
    pub stage: Stage,
    /// What it waits for.
    pub context: u32,
    pub source: Option<u32>,
    pub tag: Option<i32>,
    /// Where it goes; there while the slot is in use.
    pub buffer: Option<RecvBuffer>,
    /// Source and tag of what came, as one word: meaningful in [`Stage::Received`].
    pub received: u64,
    pub bytes: u64,
    /// Meaningful in [`Stage::Failed`].
    pub error: Option<Error>,
    /// Meaningful in [`Stage::Posted`].
    pub request: Option<RequestId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Stage {
    #[default]
    Unused,
    Waiting,
    /// The message is in the buffer.
    Received,
    /// It was too long.
    Failed,
    /// The receive went on as a posted one.
    Posted,
}

impl Direct {
    #[inline]
    pub fn end(&mut self) {
        self.stage = Stage::Unused;
        self.buffer = None;
    }
}

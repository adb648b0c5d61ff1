//! Messages that nobody has received, for those who check a program at its end.

use alloc::vec::Vec;

use crate::rank::Rank;
use crate::values::ids::ContextId;

/// A message that has come, or announced itself, and that no receive has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leftover {
    /// The context of its communicator.
    pub context: ContextId,
    /// The sender's rank there.
    pub source: u32,
    /// Its tag.
    pub tag: i32,
    /// Its length.
    pub bytes: u64,
}

impl Rank {
    /// The messages of programs that wait for a receive, oldest first. Those that a matched probe has taken are not among them.
    pub fn leftovers(&self) -> Vec<Leftover> {
        let core = self.lane.core.borrow();
        let waiting = core.unexpected.in_arrival_order().filter_map(|key| core.messages.get(key));
        waiting
            .filter(|message| {
                message.envelope.context.is_point_to_point() && !message.is_cancelled(self.fabric())
            })
            .map(|message| Leftover {
                context: message.envelope.context,
                source: message.envelope.source,
                tag: message.envelope.tag,
                bytes: message.length,
            })
            .collect()
    }
}

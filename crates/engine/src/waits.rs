//! What a rank waits for, in words: for reports of deadlocks.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ids::ContextId;
use crate::matching::Pattern;
use crate::rank::Rank;
use crate::request::{Request, SendStage, SendWork, Work};

/// At most so many operations are named; a rank may have thousands open.
const NAMED: usize = 3;

impl Rank {
    /// The open receives and unmatched sends of this rank as a phrase ("a message from rank 1 with tag 5"), or `None` if it has
    /// none. Ranks are those of the operation's communicator.
    pub fn waits_for(&self) -> Option<String> {
        let core = self.core.borrow();
        let mut phrases: Vec<String> = core.direct_pattern().iter().map(receive).collect();
        phrases.extend(core.posted.patterns().map(|pattern| receive(&pattern)));
        for request in core.requests.iter() {
            if let Request { work: Work::Send(SendWork { to, envelope, stage, .. }), .. } = request
                && let SendStage::Offered { .. } = stage
            {
                phrases.push(format!("rank {} of MPI_COMM_WORLD to receive tag {}", to.0, envelope.tag));
            }
        }
        let more = phrases.len().saturating_sub(NAMED);
        phrases.truncate(NAMED);
        match (phrases.is_empty(), more) {
            (true, _) => None,
            (false, 0) => Some(phrases.join(" and ")),
            (false, more) => Some(format!("{} and {more} more", phrases.join(", "))),
        }
    }
}

fn receive(pattern: &Pattern) -> String {
    let source = match pattern.source {
        Some(rank) => format!("rank {rank}"),
        None => "any rank".into(),
    };
    if pattern.context == ContextId(pattern.context.0 & !1).collective() {
        return format!("{source} in a collective");
    }
    match pattern.tag {
        Some(tag) => format!("a message from {source} with tag {tag}"),
        None => format!("a message from {source} with any tag"),
    }
}

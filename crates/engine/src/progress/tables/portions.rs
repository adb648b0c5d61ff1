//! Who copies which part of a message, and what becomes of a copy that failed.

use fabric::{Fabric, Key as PortalKey, PortalError};

/// What is still missing of a message that is copied by one rank or by both.
#[derive(Debug)]
pub(crate) struct Portions {
    mine: bool,
    theirs: bool,
    /// This rank's exposure for the other's part.
    exposed: Option<PortalKey>,
    /// Why a part could not be copied.
    pub failed: Option<Bad>,
}

/// Who copies a part of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Mine,
    Theirs,
}

/// Whose fault it is that a copy failed, as this rank sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Bad {
    /// The memory that this rank's program gave.
    Mine = 1,
    /// The memory that the peer's program gave.
    Theirs = 2,
    /// The peer's own: it is gone.
    Lost = 3,
    /// The fabric's.
    Way = 4,
}

impl Bad {
    pub fn as_seen_by_peer(self) -> Bad {
        match self {
            Bad::Mine => Bad::Theirs,
            Bad::Theirs => Bad::Mine,
            other => other,
        }
    }

    pub fn of_code(code: u64) -> Option<Bad> {
        [Bad::Mine, Bad::Theirs, Bad::Lost, Bad::Way].into_iter().find(|bad| *bad as u64 == code)
    }
}

impl From<PortalError> for Bad {
    fn from(error: PortalError) -> Bad {
        match error {
            PortalError::LocalMemory => Bad::Mine,
            PortalError::PeerMemory => Bad::Theirs,
            PortalError::PeerLost => Bad::Lost,
            PortalError::Unreachable | PortalError::Shape | PortalError::Exhausted | PortalError::Kind => {
                Bad::Way
            }
        }
    }
}

impl Portions {
    /// One rank copies everything; or both, if this rank has exposed its buffer for the other.
    pub fn with(exposed: Option<PortalKey>) -> Portions {
        Portions { mine: true, theirs: exposed.is_some(), exposed, failed: None }
    }

    /// True if the peer still copies its part, and may say so when it has.
    pub fn awaits_peer(&self) -> bool {
        self.theirs
    }

    /// Counts a part; true when it was the last, and nobody uses the exposure any more.
    pub fn copied(&mut self, fabric: &dyn Fabric, part: Part) -> bool {
        match part {
            Part::Mine => self.mine = false,
            Part::Theirs => self.theirs = false,
        }
        let complete = !self.mine && !self.theirs;
        if complete && let Some(exposed) = self.exposed.take() {
            fabric.withdraw(exposed);
        }
        complete
    }
}

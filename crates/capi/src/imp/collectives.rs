//! Chapter 6: collective operations.

use crate::errors::Outcome;
use crate::state::State;

/// Waits for all processes of the job, before this one leaves.
pub(crate) fn synchronise(_state: &State) -> Outcome {
    Ok(())
}

//! Cancelling (MPI section 3.8.4; `progress::cancel` says how).

use crate::rank::Rank;
use crate::values::error::Result;
use crate::values::request::RequestId;

impl Rank {
    /// Asks for a send or receive to be cancelled; its status tells whether that succeeded.
    pub fn cancel(&self, id: RequestId) -> Result<()> {
        self.lane.cancel(id)
    }
}

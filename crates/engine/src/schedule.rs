//! schedule
use crate::error::Result;
use crate::rank::Rank;
use crate::request::RequestId;
use alloc::boxed::Box;
pub(crate) type Plan = Box<Schedule>;
pub(crate) struct Schedule {}
impl Rank {
    pub(crate) fn run(&self, _plan: Plan) -> Result<()> {
        unimplemented!()
    }
    pub(crate) fn launch(&self, _plan: Plan) -> Result<RequestId> {
        unimplemented!()
    }
}

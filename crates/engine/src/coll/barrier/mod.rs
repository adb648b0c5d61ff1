//! MPI_Barrier and MPI_Ibarrier (sections 6.3 and 6.12.1).

mod dissemination;
pub(crate) mod signals;

use super::prelude::*;

pub(crate) fn plan(rank: &Rank, comm: &Comm) -> Result<Plan> {
    let mut b = Builder::new(rank, comm);
    dissemination::build(&mut b);
    Ok(b.finish())
}

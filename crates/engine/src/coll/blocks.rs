//! A block of each member, all of which are at the root: what a gather collects, and what a scatter deals out.

use super::arguments::{check_root, in_place_off_root, missing_at_root};
use super::prelude::*;
use super::select::Offer;

/// What their algorithms are given.
pub(crate) struct Blocks {
    /// This member's block; at the root its place in `all` for MPI_IN_PLACE.
    pub own: Region,
    /// At the root: one block, from which [`Region::block`] gives the others.
    pub all: Option<Region>,
    pub root: u32,
}

/// Writes the schedule.
pub(super) type Build = fn(&mut Builder<'_>, &Blocks) -> Result<()>;

impl Blocks {
    /// What a member gives: at the root `own` may be missing, for MPI_IN_PLACE, elsewhere `all`.
    #[inline]
    pub fn of(own: Option<Region>, all: Option<Region>, root: u32, comm: &Comm) -> Result<Blocks> {
        check_root(root, comm)?;
        if comm.rank() != root {
            return Ok(Blocks { own: own.ok_or_else(in_place_off_root)?, all: None, root });
        }
        let all = all.ok_or_else(missing_at_root)?;
        Ok(Blocks { own: own.unwrap_or_else(|| all.block(root)), all: Some(all), root })
    }

    /// A schedule by the table of a collective; `mismatch` is what is wrong with the root's own block.
    pub(super) fn plan(
        &self,
        shop: Workshop<'_>,
        comm: &Comm,
        (name, rules): (&'static str, &'static [Rule<Build>]),
        mismatch: Option<Error>,
    ) -> Result<Steps> {
        let bytes = self.own.bytes();
        let mut b = Builder::new(shop, comm, name);
        b.fail(mismatch);
        b.all_agree_on(bytes);
        choose(shop, name, rules, Offer::data(bytes, comm.size()))(&mut b, self)?;
        Ok(b.finish())
    }
}

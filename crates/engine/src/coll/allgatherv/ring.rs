//! Ring: parts go around, each where it belongs.
//!
//! Cost: p - 1 rounds, all parts but one sent, to one neighbour only. For large parts. No restrictions, no scratch.

use super::Places;
use crate::coll::prelude::*;

pub(super) fn build(b: &mut Builder<'_>, places: &Places) -> Result<()> {
    crate::coll::ring::pass_around(b, b.me, |place| place, |place| places[place as usize].clone());
    Ok(())
}

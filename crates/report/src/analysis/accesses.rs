//! One-sided operations: how many of each kind there were, how much they moved, and between whom.

use std::collections::BTreeMap;

use trace::AccessKind;

use crate::run::Run;

/// The one-sided operations of a run.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    /// Operations and bytes by kind.
    pub kinds: [(u64, u64); AccessKind::ALL.len()],
    /// Operations and bytes of each origin and target.
    pub pairs: BTreeMap<(u32, u32), (u64, u64)>,
}

impl Accesses {
    pub(super) fn of(run: &Run) -> Accesses {
        let mut accesses = Accesses::default();
        for access in &run.accesses {
            let pair = accesses.pairs.entry((access.from, access.to)).or_default();
            for sum in [pair, &mut accesses.kinds[access.kind as usize]] {
                *sum = (sum.0 + 1, sum.1.saturating_add(access.bytes));
            }
        }
        accesses
    }

    /// Operations and bytes altogether.
    pub fn total(&self) -> (u64, u64) {
        self.kinds.iter().fold((0, 0), |sum, kind| (sum.0 + kind.0, sum.1.saturating_add(kind.1)))
    }

    /// The pair with most bytes: origin, target, operations, bytes.
    pub fn busiest_pair(&self) -> Option<(u32, u32, u64, u64)> {
        let (&(from, to), &(operations, bytes)) = self.pairs.iter().max_by_key(|(_, (_, bytes))| *bytes)?;
        Some((from, to, operations, bytes))
    }
}

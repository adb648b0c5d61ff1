//! The epochs of a window at one rank (MPI section 12.5), as its calls have opened and closed them. What is allowed in them is the library's to say: this is for the
//! words in which a person is told of them.

use super::findings::{Findings, Origin};

/// What is open.
#[derive(Default)]
pub(super) struct Epochs {
    pub(super) access: Open,
    /// While memory of this rank is exposed to a group.
    pub(super) exposure: Option<Exposure>,
    /// The call that ended the last epoch of access.
    pub(super) ended: Option<Origin>,
}

/// What this rank may access.
#[derive(Default)]
pub(super) enum Open {
    #[default]
    Nothing,
    Fence(Begun),
    Group(Begun, Vec<u32>),
    Locks(Vec<Held>),
    All(Held),
}

/// The call that began an epoch, when that was, and what it asserted.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    pub(super) by: Origin,
    pub(super) time: u64,
    pub(super) assert: i64,
}

/// A lock.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) begun: Begun,
    /// `None` for all members, or for nobody.
    pub(super) target: Option<u32>,
    pub(super) is_exclusive: bool,
}

pub(super) struct Exposure {
    pub(super) begun: Begun,
    pub(super) members: Vec<u32>,
}

impl Epochs {
    pub(super) fn lock(&mut self, held: Held) {
        match &mut self.access {
            Open::Locks(locks) => locks.push(held),
            other => *other = Open::Locks(vec![held]),
        }
    }

    /// The lock of a target, which is given back.
    pub(super) fn unlock(&mut self, target: Option<u32>, by: Origin) -> Option<Held> {
        let Open::Locks(locks) = &mut self.access else { return None };
        let at = locks.iter().position(|held| held.target == target)?;
        let held = locks.swap_remove(at);
        if locks.is_empty() {
            self.end(by);
        }
        Some(held)
    }

    /// Nothing may be accessed any more; what could be until now.
    pub(super) fn end(&mut self, by: Origin) -> Open {
        self.ended = Some(by);
        std::mem::take(&mut self.access)
    }

    /// Operations are complete one by one, and not only when all of the epoch ends.
    pub(super) fn is_passive(&self) -> bool {
        matches!(self.access, Open::Locks(_) | Open::All(_))
    }

    /// How things stand.
    pub(super) fn words(&self, findings: &Findings) -> String {
        let place = |begun: &Begun| findings.place(begun.by);
        let access = match &self.access {
            Open::Nothing => match self.ended {
                Some(ended) => format!("no epoch is open, {} ended the last one", findings.place(ended)),
                None => "no epoch was opened yet".to_owned(),
            },
            Open::Fence(begun) => format!("the epoch of {} is open", place(begun)),
            Open::Group(begun, members) => {
                format!("the epoch of {} with {} is open", place(begun), ranks(members))
            }
            Open::Locks(locks) => {
                let lock = |held: &Held| match held.target {
                    Some(target) => format!("rank {target} is locked by {}", place(&held.begun)),
                    None => format!("MPI_PROC_NULL is locked by {}", place(&held.begun)),
                };
                let more = locks.len().saturating_sub(LISTED);
                let mut said: Vec<String> = locks.iter().take(LISTED).map(lock).collect();
                said.extend((more > 0).then(|| format!("{more} more are locked")));
                said.join(", ")
            }
            Open::All(held) => format!("all ranks are locked by {}", place(&held.begun)),
        };
        match &self.exposure {
            Some(exposure) => format!(
                "{access}, and memory is exposed to {} since {}",
                ranks(&exposure.members),
                place(&exposure.begun)
            ),
            None => access,
        }
    }
}

/// Ranks and locks that are named.
const LISTED: usize = 8;

fn ranks(members: &[u32]) -> String {
    let named: Vec<String> = members.iter().take(LISTED).map(u32::to_string).collect();
    match members {
        [] => "nobody".into(),
        [one] => format!("rank {one}"),
        _ if members.len() > LISTED => format!("ranks {} and others", named.join(", ")),
        _ => format!("ranks {}", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(function: &'static str) -> Begun {
        Begun { by: Origin { function, site: 0 }, time: 0, assert: 0 }
    }

    #[test]
    fn what_is_open_is_told_by_the_calls_that_opened_it() {
        let findings = Findings::default();
        let mut epochs = Epochs::default();
        assert_eq!(epochs.words(&findings), "no epoch was opened yet");
        for target in [2, 0] {
            let held = Held { begun: begun("MPI_Win_lock"), target: Some(target), is_exclusive: false };
            epochs.lock(held);
        }
        assert!(epochs.is_passive());
        assert_eq!(
            epochs.words(&findings),
            "rank 2 is locked by MPI_Win_lock, rank 0 is locked by MPI_Win_lock"
        );
        let by = Origin { function: "MPI_Win_unlock", site: 0 };
        assert!(epochs.unlock(Some(1), by).is_none());
        assert!(epochs.unlock(Some(2), by).is_some() && epochs.unlock(Some(0), by).is_some());
        assert_eq!(epochs.words(&findings), "no epoch is open, MPI_Win_unlock ended the last one");
        epochs.access = Open::Group(begun("MPI_Win_start"), vec![1, 3]);
        epochs.exposure = Some(Exposure { begun: begun("MPI_Win_post"), members: vec![4] });
        assert_eq!(
            epochs.words(&findings),
            "the epoch of MPI_Win_start with ranks 1, 3 is open, and memory is exposed to rank 4 since MPI_Win_post"
        );
    }
}

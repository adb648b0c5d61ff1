//! Wait states: all waits of the run summed up by their pattern, with what usually mends it.

use std::collections::BTreeMap;

use super::{Cause, Waits};
use crate::run::{Collective, Run};

/// What kind of waiting it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// A receive was there before its send.
    LateSender,
    /// A send was there before its receive.
    LateReceiver,
    /// In a collective, for its other members.
    Collective(Collective),
    /// For a rank that had the lock.
    Lock,
    /// For a target that had not exposed its memory.
    LatePost,
    /// For an origin that had not completed its accesses.
    LateComplete,
    /// For messages on their way.
    OnItsWay,
    /// Nothing that was recorded explains it.
    Unknown,
}

/// The waits of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternSum {
    /// Which.
    pub pattern: Pattern,
    /// How long, on all ranks together.
    pub ticks: u64,
    /// How often.
    pub times: u64,
    /// Where, longest first.
    pub sites: Vec<PatternSite>,
}

/// The waits of a pattern at a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternSite {
    /// Index of the function's name.
    pub function: u32,
    /// Index of the call site's name.
    pub site: u32,
    /// How long.
    pub ticks: u64,
}

impl PatternSum {
    /// Those that occur, longest first.
    pub(super) fn all(run: &Run, waits: &Waits) -> Vec<PatternSum> {
        let collective: Vec<Option<Collective>> = run.names.iter().map(|name| Collective::of(name)).collect();
        let mut places: BTreeMap<(Pattern, u32, u32), (u64, u64)> = BTreeMap::new();
        for group in &waits.groups {
            let pattern = Pattern::of(group.cause, collective[group.function as usize]);
            let sum = places.entry((pattern, group.function, group.site)).or_default();
            *sum = (sum.0.saturating_add(group.ticks), sum.1 + group.times);
        }
        let mut sums: Vec<PatternSum> = Vec::new();
        for ((pattern, function, site), (ticks, times)) in places {
            if sums.last().is_none_or(|last| last.pattern != pattern) {
                sums.push(PatternSum { pattern, ticks: 0, times: 0, sites: Vec::new() });
            }
            let Some(sum) = sums.last_mut() else { continue };
            sum.ticks = sum.ticks.saturating_add(ticks);
            sum.times += times;
            sum.sites.push(PatternSite { function, site, ticks });
        }
        for sum in &mut sums {
            sum.sites.sort_by_key(|site| (std::cmp::Reverse(site.ticks), site.function, site.site));
        }
        sums.sort_by_key(|sum| (std::cmp::Reverse(sum.ticks), sum.pattern));
        sums
    }
}

impl Pattern {
    /// That of a wait with this cause, in this collective if it was in one.
    fn of(cause: Cause, collective: Option<Collective>) -> Pattern {
        match (cause, collective) {
            (Cause::Locked, _) => Pattern::Lock,
            (Cause::LateToPost, _) => Pattern::LatePost,
            (Cause::LateToComplete, _) => Pattern::LateComplete,
            (Cause::OnItsWay, _) => Pattern::OnItsWay,
            (Cause::Unknown, _) => Pattern::Unknown,
            (_, Some(collective)) => Pattern::Collective(collective),
            (Cause::LateToArrive, None) => Pattern::Collective(Collective::Fence),
            (Cause::LateSender, None) => Pattern::LateSender,
            (Cause::LateReceiver, None) => Pattern::LateReceiver,
        }
    }

    /// What people read.
    pub fn title(self, run: &Run) -> &'static str {
        match self {
            Pattern::LateSender => "late sender",
            Pattern::LateReceiver => "late receiver",
            Pattern::Collective(Collective::Barrier) => "waiting at a barrier",
            Pattern::Collective(Collective::NToN) => "waiting in an n-to-n collective",
            Pattern::Collective(Collective::OneToN) => "waiting for the root",
            Pattern::Collective(Collective::NToOne) => "root waiting for members",
            Pattern::Collective(Collective::Prefix) => "waiting in a scan",
            Pattern::Collective(Collective::Making) => "making communicators and windows",
            Pattern::Collective(Collective::End) => "waiting at the end of the job",
            Pattern::Collective(Collective::Fence) => "waiting at a fence",
            Pattern::Lock => "waiting for a lock",
            Pattern::LatePost => "late post",
            Pattern::LateComplete => "late complete",
            Pattern::OnItsWay if run.crowded().is_some() => "for a core, or for messages on their way",
            Pattern::OnItsWay => "messages on their way",
            Pattern::Unknown => "not explained",
        }
    }

    /// What usually mends it.
    pub fn advice(self, run: &Run) -> &'static str {
        match self {
            Pattern::LateSender => {
                "Send earlier, or give the sender less work before it; or receive by MPI_Irecv and work until MPI_Wait."
            }
            Pattern::LateReceiver => {
                "Post the receive earlier by MPI_Irecv; or send by MPI_Isend and work until MPI_Wait."
            }
            Pattern::Collective(Collective::Barrier) => {
                "Leave the barrier out if messages already order the ranks; else balance the work before it."
            }
            Pattern::Collective(Collective::NToN) => {
                "Balance the work before it; or start it without blocking (MPI_Iallreduce, MPI_Ialltoall) and work meanwhile."
            }
            Pattern::Collective(Collective::OneToN) => {
                "The root comes last: give it less work before, or use MPI_Ibcast or MPI_Iscatter."
            }
            Pattern::Collective(Collective::NToOne) => {
                "The root comes first: give the members less work before, or use MPI_Ireduce or MPI_Igather."
            }
            Pattern::Collective(Collective::Prefix) => {
                "Balance the work before it; lower ranks should come first."
            }
            Pattern::Collective(Collective::Making) => {
                "Make communicators and windows once, before the loop that uses them."
            }
            Pattern::Collective(Collective::End) => {
                "Ranks end at different times: balance the work of the whole run."
            }
            Pattern::Collective(Collective::Fence) => {
                "Balance the work between fences; or use MPI_Win_post and MPI_Win_start, which wait for neighbours only."
            }
            Pattern::Lock => {
                "Hold locks for a shorter time, use shared locks, or spread the data over more targets."
            }
            Pattern::LatePost => {
                "Call MPI_Win_post earlier at the target, or do other work before MPI_Win_start."
            }
            Pattern::LateComplete => {
                "Call MPI_Win_complete earlier at the origin, or do other work before MPI_Win_wait."
            }
            Pattern::OnItsWay if run.crowded().is_some() => {
                "Start no more ranks than cores, and look again: a missing core looks like a slow message."
            }
            Pattern::OnItsWay => {
                "Send fewer and larger messages, or begin them earlier (MPI_Isend, MPI_Irecv) and work meanwhile."
            }
            Pattern::Unknown => {
                "Nothing that was recorded says for whom: a whole trace (a higher --trace-limit) may tell more."
            }
        }
    }
}

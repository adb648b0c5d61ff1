//! Who waited for whom, and why: a receiver for a sender that began late, a sender for a receiver that posted late.

use std::collections::HashMap;

use crate::run::{HeldBy, Run, Side, State, Wait};

/// Why a rank waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The receive was there before its send.
    LateSender,
    /// The send was there before its receive.
    LateReceiver,
    /// Others were in the collective before the last rank came.
    LateToArrive,
    /// Another rank had locked what this one wanted to lock.
    Locked,
    /// The target had not exposed its memory yet.
    LateToPost,
    /// An origin had not completed its accesses yet.
    LateToComplete,
    /// Both were there: the message was on its way.
    OnItsWay,
    /// No message ended the wait.
    Unknown,
}

impl Cause {
    /// Whether the peer could have come earlier.
    pub fn blames(self) -> bool {
        !matches!(self, Cause::OnItsWay | Cause::Unknown)
    }

    /// What people read. Where ranks share cores, a message on its way and a missing core look alike.
    pub fn label(self, run: &Run) -> &'static str {
        match self {
            Cause::LateSender => "late sender",
            Cause::LateReceiver => "late receiver",
            Cause::LateToArrive => "came last",
            Cause::Locked => "had the lock",
            Cause::LateToPost => "late to post",
            Cause::LateToComplete => "late to complete",
            Cause::OnItsWay if run.crowded().is_some() => "on its way, or no core free",
            Cause::OnItsWay => "on its way",
            Cause::Unknown => "not recorded",
        }
    }
}

/// All waits of one rank for another at one call site for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitGroup {
    /// Who waited.
    pub rank: u32,
    /// For whom, if known.
    pub peer: Option<u32>,
    /// Why.
    pub cause: Cause,
    /// Index of the function's name.
    pub function: u32,
    /// Index of the call site's name.
    pub site: u32,
    /// How often.
    pub times: u64,
    /// How long altogether.
    pub ticks: u64,
    /// How much of that the peer spent computing.
    pub peer_computing: u64,
    /// How much of that the peer itself spent waiting.
    pub peer_waiting: u64,
}

/// The waits of a run.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Longest first.
    pub groups: Vec<WaitGroup>,
    /// For each rank, ticks that others waited because of it.
    pub caused: Vec<u64>,
}

impl Waits {
    pub(super) fn of(run: &Run) -> Waits {
        let mut groups: HashMap<(u32, Option<u32>, Cause, u32, u32), WaitGroup> = HashMap::new();
        let mut caused = vec![0u64; run.ranks.len()];
        for (number, rank) in run.ranks.iter().enumerate() {
            for wait in &rank.waits {
                let (function, site) = wait.call.map_or((0, 0), |call| {
                    (rank.calls[call as usize].function, rank.calls[call as usize].site)
                });
                for (begin, end, peer, cause) in reasons(run, wait) {
                    let key = (number as u32, peer, cause, function, site);
                    let group = groups.entry(key).or_insert(WaitGroup {
                        rank: number as u32,
                        peer,
                        cause,
                        function,
                        site,
                        times: 0,
                        ticks: 0,
                        peer_computing: 0,
                        peer_waiting: 0,
                    });
                    group.times += 1;
                    group.ticks += end - begin;
                    let Some(peer) = peer.map(|peer| peer as usize) else { continue };
                    group.peer_computing += run.ranks[peer].ticks_in(State::Compute, begin, end);
                    group.peer_waiting += run.ranks[peer].ticks_in(State::Wait, begin, end);
                    if cause.blames() {
                        caused[peer] = caused[peer].saturating_add(end - begin);
                    }
                }
            }
        }
        let mut groups: Vec<WaitGroup> = groups.into_values().collect();
        groups.sort_by_key(|group| {
            (std::cmp::Reverse(group.ticks), group.rank, group.peer, group.cause, group.function, group.site)
        });
        Waits { groups, caused }
    }

    /// Groups with someone to blame, longest first.
    pub fn worst(&self) -> impl Iterator<Item = &WaitGroup> {
        self.groups.iter().filter(|group| group.cause.blames())
    }

    /// The rank for which the others waited longest, and how long.
    pub fn most_waited_for(&self) -> Option<(u32, u64)> {
        let (rank, &ticks) =
            self.caused.iter().enumerate().max_by_key(|&(rank, ticks)| (ticks, usize::MAX - rank))?;
        (ticks > 0).then_some((rank as u32, ticks))
    }
}

/// A wait, cut at the moment at which the peer came: before it the peer was late, after it the message was on its way.
fn reasons(run: &Run, wait: &Wait) -> Vec<(u64, u64, Option<u32>, Cause)> {
    if let Some(held) = wait.held {
        let cause = match held.how {
            HeldBy::Lock => Cause::Locked,
            HeldBy::Post => Cause::LateToPost,
            HeldBy::Complete => Cause::LateToComplete,
            HeldBy::Fence => Cause::LateToArrive,
        };
        let after = if wait.ended_by.is_some() { Cause::OnItsWay } else { Cause::Unknown };
        return cut(wait, held.until, Some(held.by), cause, after);
    }
    let Some((index, side)) = wait.ended_by else {
        return match wait.last_to_arrive {
            // Once the last one has come, what is left is its word on the way to the others.
            Some((rank, came)) => cut(wait, came, Some(rank), Cause::LateToArrive, Cause::OnItsWay),
            None => vec![(wait.begin, wait.end, None, Cause::Unknown)],
        };
    };
    let message = &run.messages[index as usize];
    let (peer, came, late) = match side {
        Side::Receiver => (message.from, message.send_start, Cause::LateSender),
        Side::Sender => (message.to, message.posted, Cause::LateReceiver),
    };
    cut(wait, came.unwrap_or(wait.begin), Some(peer), late, Cause::OnItsWay)
}

fn cut(
    wait: &Wait,
    came: u64,
    peer: Option<u32>,
    before: Cause,
    after: Cause,
) -> Vec<(u64, u64, Option<u32>, Cause)> {
    let came = came.clamp(wait.begin, wait.end);
    [(wait.begin, came, peer, before), (came, wait.end, peer, after)]
        .into_iter()
        .filter(|(begin, end, ..)| begin < end)
        .collect()
}

//! Who waits for whom.
//!
//! An edge leads from a rank to one without which it cannot go on. A receive from any rank gives none: there is no single rank that it
//! needs. A rank for which the first of several operations suffices has edges only if none of them can come to pass, whatever the other
//! ranks do that still may do something.

use std::collections::VecDeque;

use pmi::Kind;

use crate::findings::collective_id;
use crate::{Job, State};

/// Of so many missing members of a collective each waiting one gets an edge to; more would add nothing but time.
const MISSING: usize = 8;

/// Why one rank needs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// For a message from it.
    Receive,
    /// For it to take a message.
    Send,
    /// For the rest of a message.
    Transfer,
    /// To come to a collective.
    Collective,
    /// To begin or end an epoch of a window.
    Epoch,
}

/// The ranks that each rank needs, and why.
pub(crate) fn edges(job: &Job) -> Vec<Vec<(u32, Reason)>> {
    let mut edges = needs(job);
    let live = live(job, &edges);
    for (rank, statement) in job.waiting() {
        if statement.first_suffices && live[rank as usize] {
            edges[rank as usize].clear();
        }
    }
    edges
}

/// The ranks that can go on some day: those that do not wait, and those that get what they need from such.
fn live(job: &Job, needs: &[Vec<(u32, Reason)>]) -> Vec<bool> {
    let acts = |state: &State| match state {
        // It may have other things to do.
        State::Waiting(statement) => statement.polls,
        state => !has_left(state),
    };
    let mut live: Vec<bool> = job.ranks.iter().map(acts).collect();
    loop {
        let mut changed = false;
        for (rank, statement) in job.waiting() {
            let mut needed = needs[rank as usize].iter().map(|(to, _)| live[*to as usize]);
            let known = statement.awaited_more == 0
                && statement.awaited.iter().all(|open| open.peer.is_some() || open.collective);
            let goes_on = match statement.first_suffices {
                true => !known || needed.any(|live| live),
                // Somebody's message may have set out already.
                false => needed.all(|live| live),
            };
            if goes_on && !live[rank as usize] {
                (live[rank as usize], changed) = (true, true);
            }
        }
        if !changed {
            return live;
        }
    }
}

/// The ranks that each rank wants something of, and what.
fn needs(job: &Job) -> Vec<Vec<(u32, Reason)>> {
    let mut edges = vec![Vec::new(); job.ranks.len()];
    for (rank, statement) in job.waiting() {
        let from: &mut Vec<(u32, Reason)> = &mut edges[rank as usize];
        if let Some(collective) = &statement.collective {
            let id = collective_id(statement);
            let elsewhere = |member: &u32| job.statement(*member).and_then(collective_id) != id;
            let missing =
                job.members(collective).into_iter().filter(|member| *member != rank).filter(elsewhere);
            from.extend(missing.take(MISSING).map(|member| (member, Reason::Collective)));
        }
        // The messages of a collective come when its members do.
        for operation in
            statement.awaited.iter().filter(|open| statement.collective.is_none() || !open.collective)
        {
            let reason = match operation.kind {
                Kind::Receive | Kind::Probe => Reason::Receive,
                Kind::Send => Reason::Send,
                Kind::Transfer => Reason::Transfer,
                Kind::Post | Kind::Complete => Reason::Epoch,
                Kind::Message | Kind::Unstarted => continue,
            };
            let known = operation.peer.filter(|peer| (*peer as usize) < job.ranks.len());
            if let Some(peer) = known.filter(|peer| from.iter().all(|(to, _)| to != peer)) {
                from.push((peer, reason));
            }
        }
    }
    edges
}

/// The shortest cycle of ranks each of which needs the next, and the last the first; empty if there is none. Begins with its lowest rank.
pub fn cycle(job: &Job) -> Vec<u32> {
    shortest_cycle(&edges(job))
}

pub(crate) fn shortest_cycle(edges: &[Vec<(u32, Reason)>]) -> Vec<u32> {
    let mut best: Vec<u32> = Vec::new();
    for start in (0..edges.len() as u32).filter(|rank| !edges[*rank as usize].is_empty()) {
        if let Some(found) = back_to(start, edges)
            && (best.is_empty() || found.len() < best.len())
        {
            best = found;
        }
        // Nothing is shorter than waiting for oneself, and most cycles are of two.
        if best.len() == 1 {
            break;
        }
    }
    let lowest = best.iter().enumerate().min_by_key(|(_, rank)| **rank).map_or(0, |(at, _)| at);
    best.rotate_left(lowest);
    best
}

/// The shortest way from a rank back to itself.
fn back_to(start: u32, edges: &[Vec<(u32, Reason)>]) -> Option<Vec<u32>> {
    let mut before = vec![u32::MAX; edges.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(rank) = queue.pop_front() {
        for (next, _) in &edges[rank as usize] {
            if *next == start {
                let mut way = vec![rank];
                while way.last() != Some(&start) {
                    way.push(before[*way.last()? as usize]);
                }
                way.reverse();
                return Some(way);
            }
            if before[*next as usize] == u32::MAX {
                before[*next as usize] = rank;
                queue.push_back(*next);
            }
        }
    }
    None
}

/// True for a rank that will never do anything for another again.
pub(crate) fn has_left(state: &State) -> bool {
    matches!(state, State::Finalized | State::Ended)
}

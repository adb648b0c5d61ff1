//! One rank's state, an operation, a set of ranks, in words.

use pmi::{Kind, Operation, Statement};

use crate::{Job, State};

/// Operations of one rank that are named; the others are counted.
const NAMED: usize = 4;

/// Sorted ranks: "rank 3", "ranks 0-2 and 5".
pub(crate) fn ranks(numbers: &[u32]) -> String {
    /// Runs that are named; a set with more holes is counted.
    const RUNS: usize = 6;
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let left: usize = runs.iter().skip(RUNS).map(|(first, last)| (last - first) as usize + 1).sum();
    let mut parts: Vec<String> = Vec::new();
    for (first, last) in runs.iter().take(RUNS) {
        match last - first {
            0 => parts.push(first.to_string()),
            1 => parts.extend([first.to_string(), last.to_string()]),
            _ => parts.push(format!("{first}-{last}")),
        }
    }
    if left > 0 {
        parts.push(format!("{left} more"));
    }
    let word = if numbers.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", and(&parts))
}

/// "a", "a and b", "a, b and c".
pub(crate) fn and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The verb for one or for many.
pub(crate) fn verb<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// What a rank does, as the rest of a sentence that begins with its name. `near` leaves out which rank it deals with.
pub(crate) fn doing(job: &Job, rank: u32, near: bool) -> String {
    let Some(state) = job.ranks.get(rank as usize) else { return "is not of this job".into() };
    match state {
        State::Early => "has not called MPI_Init".into(),
        State::Computing => "computes: it does not wait in MPI".into(),
        State::Stopped => "is stopped, by a signal or a debugger".into(),
        State::Finalized => "has left MPI_Finalize".into(),
        State::Ended => "has ended".into(),
        State::Waiting(statement) => waiting(job, statement, near),
    }
}

fn waiting(job: &Job, statement: &Statement, near: bool) -> String {
    let what = what(job, statement, near);
    let call = statement.call.as_str();
    match (&statement.collective, call) {
        (Some(_), "") => format!("is in {what}"),
        (Some(_), call) if completes(call) => format!("is in {call} for {what}"),
        (Some(_), _) => format!("is in {what}"),
        (None, _) if statement.leaving && call.is_empty() => {
            format!("is about to leave and waits for {what}")
        }
        (None, "") if statement.polls => format!("asks again and again for {what}"),
        (None, "") => format!("waits for {what}"),
        (None, call) if statement.polls => format!("asks again and again by {call} for {what}"),
        (None, call) => format!("is in {call} and waits for {what}"),
    }
}

/// What a rank waits for.
fn what(job: &Job, statement: &Statement, near: bool) -> String {
    if statement.collective.is_none() && statement.awaited.is_empty() {
        return if statement.leaving { "its last messages to be taken".into() } else { "something".into() };
    }
    let mut parts: Vec<String> = statement.collective.iter().map(|_| collective(job, statement)).collect();
    let in_collective = statement.collective.is_some();
    for operation in statement.awaited.iter().filter(|operation| !in_collective || !operation.collective) {
        let part = operation_words(job, operation, near);
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let more =
        parts.len().saturating_sub(NAMED) + if in_collective { 0 } else { statement.awaited_more as usize };
    parts.truncate(NAMED);
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    if statement.first_suffices { format!("the first of: {}", parts.join(", ")) } else { and(&parts) }
}

/// A collective with its communicator: "MPI_Barrier on MPI_COMM_WORLD".
pub(crate) fn collective(job: &Job, statement: &Statement) -> String {
    let Some(collective) = &statement.collective else { return String::new() };
    let comm = job.comm_name(collective.comm);
    match statement.call.as_str() {
        "" => format!("{} on {comm}", collective.name),
        call if completes(call) => format!("a non-blocking {} on {comm}", collective.name),
        call => format!("{call} on {comm}"),
    }
}

/// True for the calls that complete operations of others.
pub(crate) fn completes(call: &str) -> bool {
    ["MPI_Wait", "MPI_Test", "MPI_Request"].iter().any(|family| call.starts_with(family))
}

/// An operation: "a message from rank 1 with tag 5".
pub(crate) fn operation_words(job: &Job, operation: &Operation, near: bool) -> String {
    let peer = |any: &str| match (near, operation.peer_rank, operation.peer) {
        (true, ..) => "a rank".into(),
        (_, None, None) => any.to_string(),
        _ => peer(operation),
    };
    let on = on(job, operation);
    match operation.kind {
        Kind::Receive | Kind::Probe => {
            format!("a message from {}{}{on}", peer("any rank"), tag(operation))
        }
        Kind::Send => {
            format!("{} to receive {} bytes{}{on}", peer("a rank"), operation.bytes, tag(operation))
        }
        Kind::Message => format!("{} bytes from {}{}{on}", operation.bytes, peer("a rank"), tag(operation)),
        Kind::Transfer => {
            format!("the rest of {} bytes between it and {}{on}", operation.bytes, peer("a rank"))
        }
        Kind::Post => format!("{} to call MPI_Win_post{on}", peer("a rank")),
        Kind::Complete => format!("{} to call MPI_Win_complete{on}", peer("a rank")),
        Kind::Unstarted => {
            format!("a send of {} bytes to {}{}{on}", operation.bytes, peer("a rank"), tag(operation))
        }
    }
}

/// The other rank of an operation, in the world where that is known.
pub(crate) fn peer(operation: &Operation) -> String {
    match (operation.peer, operation.peer_rank) {
        (Some(world), Some(own)) if operation.comm != 0 && own != world => {
            format!("rank {world} ({own} there)")
        }
        (Some(world), _) => format!("rank {world}"),
        (None, Some(own)) => format!("rank {own} of that communicator"),
        (None, None) => "any rank".into(),
    }
}

fn tag(operation: &Operation) -> String {
    match operation.tag {
        _ if operation.collective => " in a collective".into(),
        Some(tag) => format!(" with tag {tag}"),
        None => " with any tag".into(),
    }
}

fn on(job: &Job, operation: &Operation) -> String {
    if operation.comm == 0 { String::new() } else { format!(" on {}", job.comm_name(operation.comm)) }
}

/// For how long ranks have waited, the shortest and the longest: ", for 3 to 12 s"; empty if that is less than a second.
pub(crate) fn since(job: &Job, who: &[u32]) -> String {
    let seconds =
        || who.iter().filter_map(|rank| job.statement(*rank)).map(|statement| statement.quiet / 1000);
    match (seconds().min().unwrap_or(0), seconds().max().unwrap_or(0)) {
        (_, 0) => String::new(),
        (least, most) if least == most => format!(", for {most} s"),
        (least, most) => format!(", for {least} to {most} s"),
    }
}

/// Where a rank calls from: " at heat.c:42"; empty if unknown.
pub(crate) fn site(job: &Job, rank: u32) -> String {
    let site = job.statement(rank).map_or("", |statement| statement.site.as_str());
    // A site that nobody could explain is a file and an offset: its name is enough for people.
    let site = if site.starts_with('/') { site.rsplit('/').next().unwrap_or(site) } else { site };
    if site.is_empty() { String::new() } else { format!(" ({site})") }
}

//! The report for people, the table of a running job, and the forms for programs.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use crate::findings::{findings, plural};
use crate::graph::{Reason, edges, shortest_cycle};
use crate::words::{doing, ranks, since, site};
use crate::{Job, Operation, State};

/// Lines of ranks in a table.
const LINES: usize = 16;
/// More different states than this are told without saying which rank each deals with.
const DISTINCT: usize = 12;

/// The report of a job that hangs, line by line: what is wrong, then what each rank does.
pub fn report(job: &Job, heading: &str) -> String {
    let mut text = format!("{heading}\n");
    for finding in findings(job) {
        _ = writeln!(text, "  {finding}");
    }
    text + &table(job)
}

/// What each rank does, ranks that do the same on one line.
pub fn table(job: &Job) -> String {
    let numbers = 0..job.ranks.len() as u32;
    let grouped = |near: bool| {
        let mut groups: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for rank in numbers.clone() {
            groups.entry(doing(job, rank, near) + "\0" + &site(job, rank)).or_default().push(rank);
        }
        groups
    };
    let mut groups = grouped(false);
    if groups.len() > DISTINCT {
        groups = grouped(true);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, who)| who[0]);
    let mut text = String::new();
    for (phrase, who) in groups.iter().take(LINES) {
        let (phrase, site) = phrase.split_once('\0').unwrap_or((phrase, ""));
        _ = writeln!(text, "  {} {}{site}{}", ranks(who), plural(phrase, who.len()), since(job, who));
    }
    let left: usize = groups.iter().skip(LINES).map(|(_, who)| who.len()).sum();
    if left > 0 {
        _ = writeln!(text, "  and {left} more ranks do other things");
    }
    text
}

/// Everything for programs: one object.
pub fn json(job: &Job) -> String {
    let ranks: Vec<Value> = (0..).zip(&job.ranks).map(|(rank, state)| rank_json(job, rank, state)).collect();
    let cycle = shortest_cycle(&edges(job));
    json!({ "findings": findings(job), "cycle": cycle, "ranks": ranks }).to_string() + "\n"
}

fn rank_json(job: &Job, rank: u32, state: &State) -> Value {
    let name = match state {
        State::Early => "early",
        State::Computing => "computing",
        State::Stopped => "stopped",
        State::Waiting(statement) if statement.polls => "polling",
        State::Waiting(_) => "waiting",
        State::Finalized => "finalized",
        State::Ended => "ended",
    };
    let mut value = json!({ "rank": rank, "state": name, "words": doing(job, rank, false) });
    let State::Waiting(statement) = state else { return value };
    let list = |operations: &[Operation]| -> Vec<Value> {
        operations.iter().map(|open| operation_json(job, open)).collect()
    };
    let more = json!({
        "call": statement.call,
        "site": statement.site,
        "waiting_seconds": statement.quiet as f64 / 1000.0,
        "collective": statement.collective.as_ref().map(|in_| json!({ "name": in_.name, "comm": job.comm_name(in_.comm) })),
        "first_suffices": statement.first_suffices,
        "awaited": list(&statement.awaited),
        "awaited_more": statement.awaited_more,
        "held": list(&statement.held),
        "held_more": statement.held_more,
        "offered": list(&statement.offered),
        "offered_more": statement.offered_more,
    });
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}

fn operation_json(job: &Job, open: &Operation) -> Value {
    json!({
        "kind": format!("{:?}", open.kind).to_lowercase(),
        "comm": job.comm_name(open.comm),
        "context": open.comm,
        "collective": open.collective,
        "peer": open.peer,
        "peer_in_comm": open.peer_rank,
        "tag": open.tag,
        "bytes": open.bytes,
    })
}

/// Who waits for whom, for Graphviz; the cycle, if there is one, in red.
pub fn dot(job: &Job) -> String {
    let edges = edges(job);
    let cycle = shortest_cycle(&edges);
    let mut text = String::from("digraph waits {\n  node [shape=box];\n");
    for rank in 0..job.ranks.len() as u32 {
        let label = format!("rank {rank}\n{}{}", doing(job, rank, false), site(job, rank));
        let red = if cycle.contains(&rank) { ", color=red" } else { "" };
        // Debug writes line breaks and quotes as dot reads them.
        _ = writeln!(text, "  {rank} [label={label:?}{red}];");
    }
    for (from, to) in (0..).zip(&edges) {
        for (to, reason) in to {
            let follows = cycle.iter().position(|rank| *rank == from).map(|at| cycle[(at + 1) % cycle.len()]);
            let red = if follows == Some(*to) { ", color=red" } else { "" };
            let label = match reason {
                Reason::Receive => "receive",
                Reason::Send => "send",
                Reason::Transfer => "data",
                Reason::Collective => "collective",
                Reason::Epoch => "epoch",
            };
            _ = writeln!(text, "  {from} -> {to} [label=\"{label}\"{red}];");
        }
    }
    text + "}\n"
}

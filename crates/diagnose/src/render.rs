//! The report for people, the table of a running job, and the forms for programs.

use std::collections::BTreeMap;
use std::fmt::Write;

use json::Json;

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
    let ranks = (0..).zip(&job.ranks).map(|(rank, state)| rank_json(job, rank, state));
    let object = Json::object([
        ("findings", Json::list(findings(job))),
        ("cycle", Json::list(shortest_cycle(&edges(job)))),
        ("ranks", Json::list(ranks)),
    ]);
    format!("{object}\n")
}

fn rank_json(job: &Job, rank: u32, state: &State) -> Json {
    let name = match state {
        State::Early => "early",
        State::Computing => "computing",
        State::Stopped => "stopped",
        State::Waiting(statement) if statement.polls => "polling",
        State::Waiting(_) => "waiting",
        State::Finalized => "finalized",
        State::Ended => "ended",
    };
    let mut members: Vec<(&str, Json)> =
        vec![("rank", rank.into()), ("state", name.into()), ("words", doing(job, rank, false).into())];
    if let State::Waiting(statement) = state {
        let list =
            |operations: &[Operation]| Json::list(operations.iter().map(|open| operation_json(job, open)));
        let collective = statement.collective.as_ref();
        let collective = collective
            .map(|of| Json::object([("name", (*of.name).into()), ("comm", job.comm_name(of.comm).into())]));
        members.extend([
            ("call", (*statement.call).into()),
            ("site", (*statement.site).into()),
            ("waiting_seconds", (statement.quiet as f64 / 1000.0).into()),
            ("collective", collective.into()),
            ("first_suffices", statement.first_suffices.into()),
            ("awaited", list(&statement.awaited)),
            ("awaited_more", statement.awaited_more.into()),
            ("held", list(&statement.held)),
            ("held_more", statement.held_more.into()),
            ("offered", list(&statement.offered)),
            ("offered_more", statement.offered_more.into()),
        ]);
    }
    Json::object(members)
}

fn operation_json(job: &Job, open: &Operation) -> Json {
    Json::object([
        ("kind", format!("{:?}", open.kind).to_lowercase().into()),
        ("comm", job.comm_name(open.comm).into()),
        ("context", open.comm.into()),
        ("collective", open.collective.into()),
        ("peer", open.peer.into()),
        ("peer_in_comm", open.peer_rank.into()),
        ("tag", open.tag.into()),
        ("bytes", open.bytes.into()),
    ])
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

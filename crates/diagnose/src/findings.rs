//! What is wrong, as sentences, the most telling first.

use std::collections::{BTreeMap, BTreeSet};

use pmi::{Kind, Operation, Statement};

use crate::graph::{self, Reason, edges, has_left};
use crate::words::{collective, completes, doing, operation_words, peer, ranks, verb};
use crate::{Job, State};

/// Findings of one kind that are told; the others are counted.
const OF_A_KIND: usize = 4;
/// Ranks of a cycle that are named.
const CYCLE_NAMED: usize = 8;

/// Everything that explains why the job does not go on.
pub fn findings(job: &Job) -> Vec<String> {
    let edges = edges(job);
    let mut findings = Vec::new();
    findings.extend(cycle(&edges));
    add(&mut findings, disagreements(job), "collective whose members disagree");
    add(&mut findings, collectives(job), "collective that lacks members");
    add(&mut findings, departed(job, &edges), "rank that waits for one that has left");
    add(&mut findings, unstarted(job), "persistent send that is not started");
    let (misses, told) = near_misses(job);
    add(&mut findings, misses, "near miss");
    add(&mut findings, unreceived(job, &told), "rank with messages that nobody receives");
    add(&mut findings, polling(job), "rank that polls");
    findings
}

fn add(findings: &mut Vec<String>, mut of_a_kind: Vec<String>, name: &str) {
    let more = of_a_kind.len().saturating_sub(OF_A_KIND);
    of_a_kind.truncate(OF_A_KIND);
    findings.extend(of_a_kind);
    if more > 0 {
        findings.push(format!("and {more} more of the kind: {name}"));
    }
}

/// What tells one collective from another: the call where it is known and blocks, else the library's name; and the communicator.
pub(crate) fn collective_id(statement: &Statement) -> Option<(&str, u32)> {
    let collective = statement.collective.as_ref()?;
    let call = statement.call.as_str();
    let name = if call.is_empty() || completes(call) { collective.name.as_str() } else { call };
    Some((name, collective.comm))
}

fn cycle(edges: &[Vec<(u32, Reason)>]) -> Option<String> {
    let cycle = graph::shortest_cycle(edges);
    let reason = |at: usize| {
        let next = cycle[(at + 1) % cycle.len()];
        edges[cycle[at] as usize].iter().find(|(to, _)| *to == next).map(|(_, reason)| *reason)
    };
    let all = |wanted: Reason| (0..cycle.len()).all(|at| reason(at) == Some(wanted));
    let way = match cycle.as_slice() {
        [] => return None,
        [one] => format!("rank {one} waits for itself"),
        [one, two] => format!("ranks {one} and {two} wait for each other"),
        many => {
            let named: Vec<String> = many.iter().take(CYCLE_NAMED).map(u32::to_string).collect();
            let dots = if many.len() > CYCLE_NAMED { " -> ..." } else { "" };
            format!("{} ranks wait in a circle: {}{dots} -> {}", many.len(), named.join(" -> "), many[0])
        }
    };
    let why = if all(Reason::Send) {
        ": each sends before it receives, and their messages are too large to be buffered (MPI_Sendrecv, MPI_Isend, or one of \
         them receiving first, would do)"
    } else if all(Reason::Receive) && cycle.len() > 1 {
        ": each wants to receive before it sends"
    } else {
        ""
    };
    Some(format!("{way}{why}"))
}

/// The ranks in each collective, by communicator and name.
fn by_collective(job: &Job) -> BTreeMap<(u32, &str), Vec<u32>> {
    let mut by_id: BTreeMap<(u32, &str), Vec<u32>> = BTreeMap::new();
    for (rank, statement) in job.waiting() {
        if let Some((name, comm)) = collective_id(statement) {
            by_id.entry((comm, name)).or_default().push(rank);
        }
    }
    by_id
}

/// Collectives whose members have called them with different sizes, so that they wait for different messages.
fn disagreements(job: &Job) -> Vec<String> {
    let mut found = Vec::new();
    for inside in by_collective(job).values() {
        let by_bytes = sizes(job, inside);
        let Some(statement) = job.statement(inside[0]).filter(|_| by_bytes.len() > 1) else { continue };
        let mut groups: Vec<_> = by_bytes.into_iter().collect();
        groups.sort_by_key(|(_, who)| (std::cmp::Reverse(who.len()), who[0]));
        let more = groups.len().saturating_sub(OF_A_KIND);
        let mut parts: Vec<String> = Vec::new();
        for (bytes, who) in groups.iter().take(OF_A_KIND) {
            parts.push(format!("{} {} {bytes} bytes", ranks(who), verb(who.len(), "has", "have")));
        }
        if more > 0 {
            parts.push(format!("and {more} more sizes"));
        }
        found.push(format!(
            "the members of {} disagree about its size: {}",
            collective(job, statement),
            parts.join("; ")
        ));
    }
    found
}

/// The sizes with which a collective was called, by those inside and by those who have been through it.
fn sizes(job: &Job, inside: &[u32]) -> BTreeMap<u64, Vec<u32>> {
    let mut by_bytes: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    let this = job.statement(inside[0]).and_then(|statement| statement.collective.as_ref());
    for (rank, statement) in job.waiting() {
        let said = match &statement.collective {
            Some(collective) if inside.contains(&rank) => Some(collective),
            _ => statement.passed.as_ref().filter(|passed| {
                this.is_some_and(|this| {
                    (this.comm, this.number, &this.name) == (passed.comm, passed.number, &passed.name)
                })
            }),
        };
        if let Some(bytes) = said.and_then(|said| said.bytes) {
            by_bytes.entry(bytes).or_default().push(rank);
        }
    }
    by_bytes
}

/// Collectives that some members are not in.
fn collectives(job: &Job) -> Vec<String> {
    let by_id = by_collective(job);
    let mut found = Vec::new();
    let mut told: BTreeSet<u32> = BTreeSet::new();
    for ((comm, _), inside) in &by_id {
        let Some(statement) = job.statement(inside[0]) else { continue };
        let Some(collective_said) = &statement.collective else { continue };
        let members = job.members(collective_said);
        let missing: Vec<u32> = members.into_iter().filter(|member| !inside.contains(member)).collect();
        // Those who wait for the others at the end are not what is wrong. Two collectives on one communicator miss each other: that is
        // one finding.
        if missing.is_empty() || is_leaving(statement) || !told.insert(*comm) {
            continue;
        }
        let mut parts = Vec::new();
        for (what, who) in by_doing(job, &missing).into_iter().take(OF_A_KIND) {
            parts.push(format!("{} {}", ranks(&who), plural(&what, who.len())));
        }
        let elsewhere =
            by_id.keys().filter(|(other, _)| other == comm).count() > 1 && sizes(job, inside).len() < 2;
        let order =
            if elsewhere { " (members of a communicator call its collectives in one order)" } else { "" };
        found.push(format!(
            "{} {} in {}, but not all its members are: {}{order}",
            ranks(inside),
            verb(inside.len(), "is", "are"),
            collective(job, statement),
            parts.join("; "),
        ));
    }
    found
}

/// Ranks by what they do, those that most do first.
fn by_doing(job: &Job, who: &[u32]) -> Vec<(String, Vec<u32>)> {
    let mut groups: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for rank in who {
        groups.entry(doing(job, *rank, false)).or_default().push(*rank);
    }
    if groups.len() > OF_A_KIND {
        groups.clear();
        for rank in who {
            groups.entry(doing(job, *rank, true)).or_default().push(*rank);
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, who)| (std::cmp::Reverse(who.len()), who[0]));
    groups
}

/// A phrase about one rank made one about several.
pub(crate) fn plural(phrase: &str, count: usize) -> String {
    if count == 1 {
        return phrase.into();
    }
    let (first, rest) = phrase.split_once(' ').unwrap_or((phrase, ""));
    let first = match first {
        "is" => "are",
        "has" => "have",
        "waits" => "wait",
        "asks" => "ask",
        "computes:" => return "compute: they do not wait in MPI".into(),
        other => other,
    };
    format!("{first} {}", rest.replace(" and waits for", " and wait for"))
}

/// Waits for ranks that will never act again.
fn departed(job: &Job, edges: &[Vec<(u32, Reason)>]) -> Vec<String> {
    let mut by_cause: BTreeMap<(u32, u8), Vec<u32>> = BTreeMap::new();
    for (rank, _) in job.waiting().filter(|(_, statement)| statement.collective.is_none()) {
        for (to, reason) in &edges[rank as usize] {
            let state = &job.ranks[*to as usize];
            let leaving = matches!(state, State::Waiting(statement) if is_leaving(statement));
            if has_left(state) || leaving {
                by_cause.entry((*to, u8::from(*reason == Reason::Send))).or_default().push(rank);
            }
        }
    }
    let mut found = Vec::new();
    for ((gone, sends), who) in by_cause {
        let how = match &job.ranks[gone as usize] {
            State::Waiting(_) => "is in MPI_Finalize",
            State::Finalized => "has left MPI_Finalize",
            _ => "has ended",
        };
        let wait = verb(who.len(), "waits", "wait");
        let what = if sends == 1 { "to receive their messages" } else { "to send something" };
        let what = if who.len() == 1 { what.replace("their messages", "its message") } else { what.into() };
        found.push(format!("{} {wait} for rank {gone} {what}, but rank {gone} {how}", ranks(&who)));
    }
    found
}

/// Receives whose message a persistent request would send, which is not active.
fn unstarted(job: &Job) -> Vec<String> {
    let sends = |statement: &Statement| {
        let sends = statement.offered.iter().filter(|send| send.kind == Kind::Unstarted);
        sends.copied().collect::<Vec<Operation>>()
    };
    let idle: Vec<(u32, Vec<Operation>)> = job
        .waiting()
        .map(|(sender, statement)| (sender, sends(statement)))
        .filter(|(_, sends)| !sends.is_empty())
        .collect();
    let mut found = Vec::new();
    for (rank, statement) in job.waiting().filter(|_| !idle.is_empty()) {
        let wanted = statement.awaited.iter().filter(|open| matches!(open.kind, Kind::Receive | Kind::Probe));
        for open in wanted.filter(|open| !open.collective) {
            let would_do = |send: &&Operation| {
                (send.comm, send.peer) == (open.comm, Some(rank))
                    && open.tag.is_none_or(|tag| send.tag == Some(tag))
            };
            let senders = idle.iter().filter(|(sender, _)| open.peer.is_none_or(|peer| peer == *sender));
            found.extend(senders.filter_map(|(sender, sends)| {
                Some(format!(
                    "rank {rank} waits for {}; rank {sender} has a persistent request for {} that is not started \
                     (MPI_Start)",
                    operation_words(job, open, false),
                    operation_words(job, sends.iter().find(would_do)?, false)
                ))
            }));
        }
    }
    found
}

fn is_leaving(statement: &Statement) -> bool {
    statement.leaving || statement.call == "MPI_Finalize"
}

/// Receives whose message has come, but for its tag, source or communicator; and the messages that are told of so.
fn near_misses(job: &Job) -> (Vec<String>, BTreeSet<(u32, Operation)>) {
    let (mut found, mut told) = (Vec::new(), BTreeSet::new());
    for (rank, statement) in job.waiting() {
        let wanted = statement.awaited.iter().filter(|open| matches!(open.kind, Kind::Receive | Kind::Probe));
        for open in wanted.filter(|open| !open.collective) {
            let messages = statement.held.iter().filter(|message| !message.collective);
            let nearest = messages
                .filter_map(|message| Some((differs(open, message)?, message)))
                .min_by_key(|(how, _)| *how);
            let Some((how, message)) = nearest else { continue };
            let wants = operation_words(job, open, false);
            let (by, bytes) = (peer(message), message.bytes);
            let tag = message.tag.unwrap_or_default();
            let has = match how {
                Differs::Tag => format!("{by} has sent {bytes} bytes with tag {tag}, which nobody receives"),
                Differs::Comm => format!(
                    "{by} has sent {bytes} bytes with tag {tag} on {}, which nobody receives there",
                    job.comm_name(message.comm)
                ),
                Differs::Source => {
                    format!("a message with tag {tag} has come from {by}, which nobody receives")
                }
            };
            let on = if how == Differs::Comm && open.comm == 0 {
                format!(" on {}", job.comm_name(0))
            } else {
                String::new()
            };
            found.push(format!("rank {rank} waits for {wants}{on}; {has}"));
            told.insert((rank, *message));
        }
    }
    (found, told)
}

/// The one thing in which a message differs from what is wanted, the likeliest slip first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Differs {
    Tag,
    Comm,
    Source,
}

fn differs(open: &Operation, message: &Operation) -> Option<Differs> {
    let source = match (open.peer, open.peer_rank) {
        (Some(wanted), _) => message.peer == Some(wanted),
        (None, Some(wanted)) => message.peer_rank == Some(wanted),
        (None, None) => true,
    };
    let tag = open.tag.is_none_or(|wanted| message.tag == Some(wanted));
    match (open.comm == message.comm, source, tag) {
        (true, true, false) => Some(Differs::Tag),
        (false, true, true) => Some(Differs::Comm),
        (true, false, true) => Some(Differs::Source),
        _ => None,
    }
}

/// Messages that nobody receives, rank by rank, but those that were told of.
fn unreceived(job: &Job, told: &BTreeSet<(u32, Operation)>) -> Vec<String> {
    let mut found = Vec::new();
    for (rank, statement) in job.waiting() {
        let messages = statement.held.iter().filter(|message| !message.collective);
        let messages: Vec<_> = messages.filter(|message| !told.contains(&(rank, **message))).collect();
        let Some(first) = messages.first() else { continue };
        let count = messages.len() + statement.held_more as usize;
        let words = operation_words(job, first, false);
        found.push(match count {
            1 => format!("rank {rank} has not received a message: {words}"),
            _ => format!("rank {rank} has not received {count} messages, the first of them {words}"),
        });
    }
    found
}

/// Ranks that keep asking: they may have other things to do, so nothing is certain.
fn polling(job: &Job) -> Vec<String> {
    let who: Vec<u32> =
        job.waiting().filter(|(_, statement)| statement.polls).map(|(rank, _)| rank).collect();
    if who.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "{} {} again and again whether something has come, so the job may go on by itself",
        ranks(&who),
        verb(who.len(), "asks", "ask")
    )]
}

//! Whether the job still goes on: asks the ranks what they wait for, notices when nobody does anything else, and says why.
//!
//! Ranks that wait answer an inquiry within about half a second; ranks that compute do not answer. A hang is when every rank
//! that has not left MPI answers, again and again, out of the same wait, and none has come or left meanwhile. So a job in which one rank computes for hours is never
//! called hung, and one that is stopped in a debugger neither: it does not answer. Time for which a
//! rank was ready to run but had no core does not count either.
//!
//! Invariant: at most one question is open in the socket of a process that runs one rank, so one that never looks costs nothing.

use std::time::{Duration, Instant};

use diagnose::{Format, State, Statement};
use pmi::Message;
use symbols::Symbols;

use crate::job::{Job, Mode, OnHang};
use crate::start::Member;
use crate::starved::Starved;
use crate::status::Visitors;

/// The shortest and the longest time between two inquiries. Longer than a rank sleeps between two looks: all must be able to answer one
/// before the next is put.
const PERIODS: [Duration; 2] = [Duration::from_millis(800), Duration::from_secs(5)];
/// How much longer, in limits, ranks are waited for that have no core: where there are more of them than
/// cores, and all poll, they always lack one.
const MOST_WITHOUT_CORE: u32 = 3;
/// How long an answer to a person may take: more than a rank sleeps between two looks.
const PATIENCE: Duration = Duration::from_millis(900);

/// For how long a rank in one of these processes had no core, since the last call.
type WithoutCore = Box<dyn FnMut(&[u32]) -> Duration>;

/// What the launcher knows of the waits of its ranks.
pub(crate) struct Hangs {
    on_hang: OnHang,
    /// For how long nothing may happen.
    limit: Duration,
    by_process: bool,
    ranks: Vec<Seen>,
    /// By member: a question is open that was not answered.
    open: Vec<bool>,
    inquiry: u32,
    /// When the ranks were last asked.
    asked: Option<Instant>,
    ask_at: Option<Instant>,
    /// When something last happened: a rank came, left, or got on in its wait.
    quiet_since: Option<Instant>,
    /// For how long ranks had no core meanwhile.
    without_core: Duration,
    /// Tells that time, since the last call, of ranks that run in these processes.
    starved: WithoutCore,
    /// This hang was told of.
    told: bool,
    /// A person wants to see the table, by then at the latest: on standard error, or through [`Visitors`].
    show_by: Option<Instant>,
    show_here: bool,
    pub(crate) visitors: Visitors,
    symbols: Option<Symbols>,
}

struct Seen {
    life: Life,
    pid: u32,
    /// The last that it said, and when it did.
    said: Option<(Box<Statement>, Instant)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Early,
    Joined,
    Finalized,
    Ended,
}

/// What the supervisor is to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Tell the user.
    Say(String),
    /// End the job with status 125, for this reason.
    End(String),
}

impl Hangs {
    pub(crate) fn new(job: &Job, members: &[Member]) -> Hangs {
        let by_process = job.mode == Mode::Process;
        let pid = |rank: u32| {
            members.get(if by_process { rank as usize } else { 0 }).map_or(0, |one| one.process.id())
        };
        let seen = |rank| Seen { life: Life::Early, pid: pid(rank), said: None };
        Hangs {
            // A chip that stands still is noticed at once, by the chip; one whose ranks all wait may be at work on its network.
            on_hang: if job.chip.is_some() { OnHang::Off } else { job.on_hang },
            limit: job.hang_timeout,
            by_process,
            ranks: (0..job.ranks()).map(seen).collect(),
            open: vec![false; members.len()],
            inquiry: 0,
            asked: None,
            ask_at: None,
            quiet_since: None,
            without_core: Duration::ZERO,
            starved: {
                let mut starved = Starved::default();
                Box::new(move |pids| starved.since_last(pids.iter().copied()))
            },
            told: false,
            show_by: None,
            show_here: false,
            visitors: Visitors::open(),
            symbols: None,
        }
    }

    /// A process has come later.
    pub(crate) fn add(&mut self, pid: u32, now: Instant) {
        self.ranks.push(Seen { life: Life::Early, pid, said: None });
        self.open.push(false);
        self.something_happened(now);
    }

    /// A message of the control channel.
    pub(crate) fn hear(&mut self, message: &Message, now: Instant) {
        let (Message::Hello { rank, .. }
        | Message::Finalized { rank }
        | Message::Exited { rank, .. }
        | Message::Abort { rank, .. }) = message
        else {
            if let Message::Statement(statement) = message {
                self.hear_statement(statement, now);
            }
            return;
        };
        self.something_happened(now);
        let Some(seen) = self.ranks.get_mut(*rank as usize) else { return };
        match message {
            Message::Hello { pid, .. } => {
                (seen.life, seen.pid) = (Life::Joined, *pid);
                if self.on_hang != OnHang::Off {
                    self.ask_at.get_or_insert(now + self.period());
                }
            }
            Message::Finalized { .. } => seen.life = Life::Finalized,
            Message::Exited { .. } => seen.life = Life::Ended,
            _ => {}
        }
    }

    fn hear_statement(&mut self, statement: &Statement, now: Instant) {
        let Some(seen) = self.ranks.get_mut(statement.rank as usize) else { return };
        if self.by_process {
            self.open[statement.rank as usize] = false;
        }
        let before = seen.said.replace((Box::new(statement.clone()), now));
        if before.is_none_or(|(before, _)| before.stretch != statement.stretch) {
            self.something_happened(now);
        }
    }

    /// If the job stops again, that is another hang.
    fn something_happened(&mut self, now: Instant) {
        (self.quiet_since, self.told) = (Some(now), false);
        self.without_core = Duration::ZERO;
    }

    /// The process of a rank, or of all ranks, has ended.
    pub(crate) fn ended(&mut self, member: usize, now: Instant) {
        self.something_happened(now);
        let ranks = if self.by_process { member..member + 1 } else { 0..self.ranks.len() };
        self.ranks[ranks].iter_mut().for_each(|seen| seen.life = Life::Ended);
    }

    /// Somebody wants to see what the ranks do: on standard error, or through the status socket.
    pub(crate) fn show(&mut self, here: bool, now: Instant) {
        self.show_here |= here;
        if self.show_by.is_none() {
            self.show_by = Some(now + PATIENCE);
            self.ask_at = Some(now);
        }
    }

    /// When there will be something to do.
    pub(crate) fn next(&self) -> Option<Instant> {
        [self.ask_at, self.show_by].into_iter().flatten().min()
    }

    /// Asks, judges and answers, if it is time.
    pub(crate) fn turn(&mut self, now: Instant, members: &[Member]) -> Vec<Act> {
        if self.ask_at.is_some_and(|at| now >= at) {
            self.ask(now, members);
        }
        let mut acts = Vec::new();
        acts.extend(self.judge(now));
        if self.show_by.is_some_and(|by| now >= by || self.all_have_answered()) {
            self.show_by = None;
            if std::mem::take(&mut self.show_here) {
                acts.push(Act::Say(self.text()));
            }
            if self.visitors.are_waiting() {
                let picture = self.picture();
                let text = self.text();
                self.visitors.answer(|format| match format {
                    Format::Text => format!("{text}\n"),
                    Format::Json => diagnose::json(&picture),
                    Format::Dot => diagnose::dot(&picture),
                });
            }
        }
        acts
    }

    fn ask(&mut self, now: Instant, members: &[Member]) {
        self.inquiry = self.inquiry.wrapping_add(1).max(1);
        self.asked = Some(now);
        if self.on_hang != OnHang::Off {
            let pids = self.pids(|life| life == Life::Joined);
            self.without_core += (self.starved)(&pids);
        }
        for (index, member) in members.iter().enumerate() {
            let in_mpi = if self.by_process {
                self.ranks[index].life == Life::Joined
            } else {
                self.ranks.iter().any(|seen| seen.life == Life::Joined)
            };
            if in_mpi && !self.open[index] {
                self.open[index] = member.inbox.ask(self.inquiry) && self.by_process;
            }
        }
        // While a person waits no other question is put: the answers to this one are what is shown.
        let after = if self.show_by.is_some() { PATIENCE.max(self.period()) } else { self.period() };
        self.ask_at = (self.on_hang != OnHang::Off).then_some(now + after);
    }

    /// The report, if there is a hang that was not told of.
    fn judge(&mut self, now: Instant) -> Option<Act> {
        // First what needs no look at every rank: this is asked at each event of the launcher.
        let limit = self.limit + self.without_core.min(MOST_WITHOUT_CORE * self.limit);
        let quiet = self.quiet_since.is_some_and(|since| now.duration_since(since) >= limit);
        if !quiet || self.told || self.on_hang == OnHang::Off {
            return None;
        }
        let early = self.ranks.iter().any(|seen| seen.life == Life::Early);
        let joined = || self.ranks.iter().filter(|seen| seen.life == Life::Joined);
        if early || joined().next().is_none() || !joined().all(|seen| self.is_current(seen)) {
            return None;
        }
        let polls = joined().any(|seen| seen.said.as_ref().is_some_and(|(said, _)| said.polls));
        self.told = true;
        let report = self.report("hang");
        Some(match self.on_hang {
            OnHang::Abort if !polls => Act::End(format!(
                "{report}\n  the job is ended (--on-hang abort, the default on a terminal; --on-hang report lets it go on)"
            )),
            OnHang::Abort => {
                Act::Say(format!("{report}\n  the job goes on: ranks that poll may have other things to do"))
            }
            _ => Act::Say(format!(
                "{report}\n  the job goes on (--on-hang abort would end it, --on-hang off say nothing)"
            )),
        })
    }

    /// The report of ranks that have said, as their last words, that nobody is left to end their wait.
    pub(crate) fn deadlock(&mut self) -> Option<String> {
        let in_vain = |seen: &Seen| seen.said.as_ref().is_some_and(|(said, _)| said.in_vain);
        if !self.ranks.iter().any(in_vain) {
            return None;
        }
        // They speak for the last time: what they say stays true although their process has ended.
        self.asked = None;
        self.ranks.iter_mut().filter(|seen| in_vain(seen)).for_each(|seen| seen.life = Life::Joined);
        Some(self.report("deadlock"))
    }

    fn report(&mut self, kind: &str) -> String {
        let stuck: Vec<u32> = (0..)
            .zip(&self.ranks)
            .filter(|(_, seen)| seen.life == Life::Joined)
            .map(|(rank, _)| rank)
            .collect();
        let who = match stuck.as_slice() {
            [one] => format!("rank {one}"),
            many if many.len() == self.ranks.len() => format!("all {} ranks", many.len()),
            many => format!("{} of {} ranks", many.len(), self.ranks.len()),
        };
        let one = stuck.len() == 1;
        let heading = match kind {
            "deadlock" => {
                format!("deadlock: {who} {} for what nobody will do", if one { "waits" } else { "wait" })
            }
            _ => {
                let (have, seconds) = (if one { "has" } else { "have" }, self.limit.as_secs_f64());
                format!("hang: {who} {have} waited for {seconds} s without progress (--hang-timeout)")
            }
        };
        let picture = self.picture();
        diagnose::report(&picture, &heading).trim_end().to_string()
    }

    /// What every rank does, for a person.
    fn text(&mut self) -> String {
        if self.told {
            return self.report("hang");
        }
        let picture = self.picture();
        let table = diagnose::table(&picture);
        format!("status of {} ranks:\n{}", self.ranks.len(), table.trim_end())
    }

    fn picture(&mut self) -> diagnose::Job {
        let symbols = self.symbols.get_or_insert_with(Symbols::new);
        let current = |seen: &Seen, asked: Option<Instant>| match &seen.said {
            Some((said, heard)) if asked.is_none_or(|asked| *heard >= asked) => Some(said.clone()),
            _ => None,
        };
        let state = |seen: &Seen| match (seen.life, current(seen, self.asked)) {
            (Life::Early, _) => State::Early,
            (Life::Finalized, _) => State::Finalized,
            (Life::Ended, _) => State::Ended,
            (Life::Joined, Some(said)) => State::Waiting(said),
            (Life::Joined, None) if is_stopped(seen.pid) => State::Stopped,
            (Life::Joined, None) => State::Computing,
        };
        let mut ranks: Vec<State> = self.ranks.iter().map(state).collect();
        for state in &mut ranks {
            if let State::Waiting(said) = state {
                said.site = symbols.explain(&said.site);
                for (_, name) in &mut said.names {
                    *name = symbols.explain_within(name);
                }
            }
        }
        diagnose::Job { ranks }
    }

    /// Whether the rank has answered the last inquiry.
    fn is_current(&self, seen: &Seen) -> bool {
        seen.said.as_ref().is_some_and(|(_, heard)| self.asked.is_some_and(|asked| *heard >= asked))
    }

    fn all_have_answered(&self) -> bool {
        self.asked.is_some()
            && self.ranks.iter().all(|seen| seen.life != Life::Joined || self.is_current(seen))
    }

    fn period(&self) -> Duration {
        (self.limit / 2).clamp(PERIODS[0], PERIODS[1])
    }

    /// The processes of ranks that catch this signal.
    pub(crate) fn catchers(&self, signal: i32) -> Vec<u32> {
        let mut pids = self.pids(|life| life != Life::Ended);
        pids.retain(|pid| catches(*pid, signal));
        pids
    }

    /// The processes that ranks of such lives run in.
    fn pids(&self, of: impl Fn(Life) -> bool) -> Vec<u32> {
        let mut pids: Vec<u32> =
            self.ranks.iter().filter(|seen| of(seen.life)).map(|seen| seen.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }
}

/// Whether a process is stopped, by a signal or a debugger.
fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before may hold anything, spaces and brackets included.
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['T', 't']))
}

/// Whether a process handles a signal itself.
fn catches(pid: u32, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

#[cfg(test)]
#[path = "hangs_tests.rs"]
mod tests;

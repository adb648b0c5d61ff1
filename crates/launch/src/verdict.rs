//! What an exit, a signal or a message of one rank means for the whole job. No system calls: a pure machine.
//!
//! ```text
//!                       +----Hello: another session---+
//!                       v                             |
//! Started --Hello--> Joined --Finalized--> Finalized--+
//!    |                  |                      |
//!    | exit 0: fine     | any exit: error      | any status: fine, counts for the job's status
//!    | else: ends job   | ends the job         |
//!    +------------------+----------------------+--> Gone          killed by a signal: ends the job, in every state
//! ```
//!
//! A rank of a spawned job that cannot come any more is *dismissed*: its end, and what it still says,
//! mean nothing.
//!
//! Invariant: the first event that ends the job decides its status and its message; what the other ranks do while they are
//! being ended changes nothing.

use pmi::{Crash, Message, StackCopy};

use crate::signals;

/// The status of a job that ended well but for what `--check` found.
pub(crate) const FINDINGS_STATUS: u8 = 3;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Status(i32),
    Signal(i32),
}

/// The decision to end the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The job's exit status.
    pub status: u8,
    /// What to tell the user, without the prefix; empty for nothing.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Started,
    Joined,
    Finalized,
    /// It is being ended because others of its spawned job never came.
    Dismissed,
    Gone,
}

#[derive(Debug)]
pub(crate) struct Verdict {
    lives: Vec<Life>,
    /// How to call each rank: `rank 3 (pid 1234, ring)`.
    names: Vec<String>,
    /// How each rank ended, as far as it is known.
    exits: Vec<Option<Exit>>,
    /// Ranks of the job that the user has started.
    first: usize,
    running: usize,
    status: u8,
    decided: bool,
    /// What a host said of the signal that is about to end it.
    crash: Option<Crash>,
    stack: Option<Box<StackCopy>>,
    /// What `--check` has found.
    findings: usize,
}

impl Verdict {
    pub(crate) fn new(names: Vec<String>) -> Verdict {
        Verdict {
            lives: vec![Life::Started; names.len()],
            exits: vec![None; names.len()],
            running: names.len(),
            first: names.len(),
            names,
            status: 0,
            decided: false,
            crash: None,
            stack: None,
            findings: 0,
        }
    }

    /// Ranks have come later, which are called so.
    pub(crate) fn add(&mut self, names: &[String]) {
        self.lives.extend(names.iter().map(|_| Life::Started));
        self.exits.extend(names.iter().map(|_| None));
        self.running += names.len();
        self.names.extend_from_slice(names);
    }

    /// The job's exit status as far as it is known.
    pub(crate) fn status(&self) -> u8 {
        if self.status == 0 && self.findings > 0 { FINDINGS_STATUS } else { self.status }
    }

    /// How much `--check` has found.
    pub(crate) fn findings(&self) -> usize {
        self.findings
    }

    /// A sentence about the end of each rank.
    pub(crate) fn exits(&self) -> impl Iterator<Item = String> {
        self.names.iter().zip(&self.exits).map(|(who, exit)| match exit {
            None => format!("{who} ended with its process"),
            Some(Exit::Status(status)) => format!("{who} exited with status {status}"),
            Some(Exit::Signal(number)) => {
                format!("{who} was killed by signal {number} ({})", signals::name(*number))
            }
        })
    }

    /// Ranks that have not ended.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// Ends the job for a reason that is not a rank's: a signal to the launcher, a timeout.
    pub(crate) fn end(&mut self, status: u8, message: String) -> Option<End> {
        if self.decided {
            return None;
        }
        self.decided = true;
        self.status = status;
        Some(End { status, message })
    }

    /// A message of the control channel.
    pub(crate) fn message(&mut self, message: Message) -> Option<End> {
        if self.lives.get(message.rank() as usize) == Some(&Life::Dismissed) {
            return None;
        }
        match message {
            Message::Hello { version, rank, .. } => {
                if version != pmi::PROTOCOL {
                    let who = self.name(rank);
                    let ours = pmi::PROTOCOL;
                    return self.end(
                        1,
                        format!("{who} speaks bootstrap protocol {version}, expected {ours}: its libmpi_abi is of another version"),
                    );
                }
                self.advance(rank, Life::Started, Life::Joined);
                // Another session after the last one has ended.
                self.advance(rank, Life::Finalized, Life::Joined);
                None
            }
            Message::Finalized { rank } => {
                self.advance(rank, Life::Joined, Life::Finalized);
                None
            }
            Message::Exited { rank, status } => self.exited(rank, Exit::Status(status)),
            Message::Statement(_) | Message::Request { .. } => None,
            Message::Note { .. } => {
                self.findings += 1;
                None
            }
            Message::Abort { rank, code, message } => {
                let others = self.others(rank);
                // A number alone is a rank of the job that the user has started.
                let who = if (rank as usize) < self.first { format!("rank {rank}") } else { self.name(rank) };
                let text = match message.as_str() {
                    "" => format!("{who} called MPI_Abort with code {code}{others}"),
                    why => format!("{who} ended the job with code {code}: {why}{others}"),
                };
                // As if main had returned the code (MPI 5.0, 9.7): the low eight bits.
                self.end(code as u8, text)
            }
            Message::Crashed(crash) => {
                self.crash.get_or_insert(crash);
                None
            }
            Message::Stack(copy) => {
                self.stack.get_or_insert(copy);
                None
            }
        }
    }

    /// What a host's rank said of its crash.
    pub(crate) fn crash(&self) -> Option<Crash> {
        self.crash
    }

    /// What lay on the stack of a host's rank when it crashed.
    pub(crate) fn stack(&self) -> Option<&StackCopy> {
        self.stack.as_deref()
    }

    /// Whether a rank has not called MPI_Init.
    pub(crate) fn is_early(&self, rank: u32) -> bool {
        self.lives.get(rank as usize) == Some(&Life::Started)
    }

    /// Lets a rank that is in MPI_Init be ended without an end of the job; false for any other.
    pub(crate) fn dismiss(&mut self, rank: u32) -> bool {
        let joined = self.lives.get_mut(rank as usize).filter(|life| **life == Life::Joined);
        joined.map(|life| *life = Life::Dismissed).is_some()
    }

    /// A rank has ended.
    pub(crate) fn exited(&mut self, rank: u32, exit: Exit) -> Option<End> {
        let life = std::mem::replace(self.lives.get_mut(rank as usize)?, Life::Gone);
        if life == Life::Gone {
            return None;
        }
        self.running -= 1;
        self.exits[rank as usize] = Some(exit);
        if life == Life::Dismissed {
            return None;
        }
        let (who, others) = (self.name(rank), self.others(rank));
        match exit {
            Exit::Signal(number) => {
                let name = signals::name(number);
                self.end(
                    (128 + number) as u8,
                    format!("{who} was killed by signal {number} ({name}){others}"),
                )
            }
            Exit::Status(0) if life == Life::Joined => {
                self.end(1, format!("{who} exited without having called MPI_Finalize{others}"))
            }
            Exit::Status(0) => None,
            // Its peers need it no more, and may be about to say something themselves.
            Exit::Status(status) if life == Life::Finalized => {
                if self.status == 0 && !self.decided {
                    self.status = byte(status);
                }
                None
            }
            Exit::Status(status) if life == Life::Joined => self
                .end(byte(status), format!("{who} exited with status {status} before MPI_Finalize{others}")),
            // Not a word about a program that runs alone and never meant to be MPI.
            Exit::Status(status) if self.running == 0 && self.status == 0 => {
                self.end(byte(status), String::new())
            }
            Exit::Status(status) => {
                self.end(byte(status), format!("{who} exited with status {status}{others}"))
            }
        }
    }

    /// The process of all ranks (threads or fibers, as `carrier` says) has ended.
    pub(crate) fn host_exited(&mut self, who: &str, carrier: &str, exit: Exit) -> Option<End> {
        let crash = self.crash.filter(|crash| exit == Exit::Signal(crash.signal as i32));
        let crashed = crash.map(|crash| (self.crashed(&crash, carrier), self.others(crash.rank)));
        let left = std::mem::take(&mut self.running);
        self.lives.fill(Life::Gone);
        match exit {
            Exit::Signal(number) => {
                let name = signals::name(number);
                let (who, why, others) = match crashed {
                    Some(((who, why), others)) => (who, why, others),
                    None => (who.to_string(), String::new(), String::new()),
                };
                self.end(
                    (128 + number) as u8,
                    format!("{who} was killed by signal {number} ({name}){why}{others}"),
                )
            }
            // It has said itself what was wrong.
            Exit::Status(status) if left > 0 && status != 0 => self.end(byte(status), String::new()),
            Exit::Status(_) if left > 0 => self.end(1, format!("{who} ended before {left} of its ranks")),
            Exit::Status(status) => {
                if status != 0 && self.status == 0 && !self.decided {
                    self.status = byte(status);
                }
                None
            }
        }
    }

    /// Who crashed, and what is known of it.
    fn crashed(&self, crash: &Crash, carrier: &str) -> (String, String) {
        let who = self.name(crash.rank).replacen('(', &format!("({carrier}, "), 1);
        let why = match crash.overflowed {
            0 => String::new(),
            bytes => format!(": its stack of {} overflowed (see --stack)", size(bytes)),
        };
        (who, why)
    }

    fn advance(&mut self, rank: u32, from: Life, to: Life) {
        if let Some(life) = self.lives.get_mut(rank as usize).filter(|life| **life == from) {
            *life = to;
        }
    }

    fn name(&self, rank: u32) -> String {
        self.names.get(rank as usize).cloned().unwrap_or_else(|| format!("rank {rank}"))
    }

    /// What happens to the ranks other than these that still run.
    pub(crate) fn others_of(&self, ranks: std::ops::Range<u32>) -> String {
        let own = ranks.filter(|rank| self.lives.get(*rank as usize).is_some_and(|life| *life != Life::Gone));
        Verdict::ended(self.running - own.count())
    }

    /// What happens to the ranks other than `rank` that still run.
    fn others(&self, rank: u32) -> String {
        self.others_of(rank..rank.saturating_add(1))
    }

    fn ended(others: usize) -> String {
        match others {
            0 => String::new(),
            1 => "; the other rank was ended".into(),
            n => format!("; the other {n} ranks were ended"),
        }
    }
}

/// A number of bytes for people.
fn size(bytes: u64) -> String {
    match bytes >> 10 {
        kib if kib % 1024 == 0 => format!("{} MiB", kib / 1024),
        kib => format!("{kib} KiB"),
    }
}

/// A status as the shell sees it; a failure never becomes 0.
fn byte(status: i32) -> u8 {
    match status as u8 {
        0 => 1,
        byte => byte,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(ranks: u32) -> Verdict {
        Verdict::new((0..ranks).map(|rank| format!("rank {rank} (pid {}, ring)", 1000 + rank)).collect())
    }

    fn joined(ranks: u32) -> Verdict {
        let mut verdict = job(ranks);
        for rank in 0..ranks {
            assert_eq!(verdict.message(Message::Hello { version: pmi::PROTOCOL, rank, pid: 1 }), None);
        }
        verdict
    }

    fn ends(status: u8, message: &str) -> Option<End> {
        Some(End { status, message: message.into() })
    }

    #[test]
    fn a_host_that_told_who_crashed_is_not_what_is_named() {
        let crash = |overflowed| Crash { rank: 1, signal: 11, overflowed, address: 8, instruction: 0 };
        let end = |said: Crash, number| {
            let mut verdict = job(3);
            assert_eq!(verdict.message(Message::Crashed(said)), None);
            verdict.host_exited("the host", "fiber, pid 9", Exit::Signal(number))
        };
        let who = "rank 1 (fiber, pid 9, pid 1001, ring) was killed by signal 11 (SIGSEGV)";
        let others = "; the other 2 ranks were ended";
        assert_eq!(end(crash(0), 11), ends(139, &format!("{who}{others}")));
        let stack = ": its stack of 8 MiB overflowed (see --stack)";
        assert_eq!(end(crash(8 << 20), 11), ends(139, &format!("{who}{stack}{others}")));
        // Killed by something else after all: what was said before does not explain it.
        assert_eq!(end(crash(0), 9), ends(137, "the host was killed by signal 9 (SIGKILL)"));
    }

    #[test]
    fn findings_count_for_the_status_unless_something_else_went_wrong() {
        let note = || Message::Note { rank: 0, text: "a leak".into() };
        let mut verdict = Verdict::new(vec!["rank 0".into()]);
        assert_eq!((verdict.message(note()), verdict.status()), (None, FINDINGS_STATUS));
        _ = verdict.exited(0, Exit::Status(7));
        assert_eq!((verdict.status(), verdict.findings()), (7, 1));
    }

    #[test]
    fn programs_that_never_join_may_just_end() {
        let mut verdict = job(2);
        assert_eq!(verdict.exited(0, Exit::Status(0)), None);
        assert_eq!(verdict.exited(1, Exit::Status(0)), None);
        assert_eq!((verdict.status(), verdict.running()), (0, 0));
    }

    #[test]
    fn a_killed_rank_ends_the_others_and_gives_128_plus_the_signal() {
        let expected =
            "rank 3 (pid 1003, ring) was killed by signal 9 (SIGKILL); the other 7 ranks were ended";
        assert_eq!(joined(8).exited(3, Exit::Signal(9)), ends(137, expected));
    }

    #[test]
    fn a_rank_that_leaves_before_finalize_ends_the_job_whatever_its_status() {
        let text =
            "rank 0 (pid 1000, ring) exited without having called MPI_Finalize; the other rank was ended";
        assert_eq!(joined(2).exited(0, Exit::Status(0)), ends(1, text));
        let text =
            "rank 1 (pid 1001, ring) exited with status 5 before MPI_Finalize; the other rank was ended";
        assert_eq!(joined(2).exited(1, Exit::Status(5)), ends(5, text));
    }

    #[test]
    fn statuses_after_finalize_count_but_end_nobody_and_the_first_one_wins() {
        let mut verdict = joined(3);
        for rank in 0..3 {
            assert_eq!(verdict.message(Message::Finalized { rank }), None);
        }
        for (rank, status) in [(2, 0), (1, 7), (0, 9)] {
            assert_eq!(verdict.exited(rank, Exit::Status(status)), None);
        }
        assert_eq!(verdict.status(), 7);
    }

    #[test]
    fn a_rank_that_joins_again_must_finish_again() {
        let mut verdict = joined(1);
        assert_eq!(verdict.message(Message::Finalized { rank: 0 }), None);
        assert_eq!(verdict.message(Message::Hello { version: pmi::PROTOCOL, rank: 0, pid: 1000 }), None);
        let text = "rank 0 (pid 1000, ring) exited without having called MPI_Finalize";
        assert_eq!(verdict.exited(0, Exit::Status(0)), ends(1, text));
    }

    #[test]
    fn abort_gives_its_code_and_what_follows_changes_nothing() {
        let mut verdict = joined(3);
        let abort = Message::Abort { rank: 1, code: 42, message: String::new() };
        let text = "rank 1 called MPI_Abort with code 42; the other 2 ranks were ended";
        assert_eq!(verdict.message(abort), ends(42, text));
        assert_eq!(verdict.exited(1, Exit::Status(1)), None);
        assert_eq!(verdict.exited(0, Exit::Signal(15)), None);
        assert_eq!(verdict.end(124, "late".into()), None);
        assert_eq!(verdict.status(), 42);
    }

    #[test]
    fn a_rank_that_ends_the_job_may_say_why() {
        let end = Message::Abort { rank: 0, code: 3, message: "no input".into() };
        assert_eq!(
            joined(2).message(end),
            ends(3, "rank 0 ended the job with code 3: no input; the other rank was ended")
        );
    }

    #[test]
    fn a_program_that_runs_alone_fails_in_silence() {
        assert_eq!(job(1).exited(0, Exit::Status(3)), ends(3, ""));
        assert!(
            job(2)
                .exited(0, Exit::Status(3))
                .unwrap()
                .message
                .contains("exited with status 3; the other rank")
        );
    }

    #[test]
    fn a_failure_whose_low_bits_are_zero_is_still_a_failure() {
        assert_eq!(joined(1).exited(0, Exit::Status(256)).unwrap().status, 1);
    }

    #[test]
    fn another_protocol_is_named() {
        let end = job(1).message(Message::Hello { version: 9, rank: 0, pid: 1 }).unwrap();
        assert!(end.message.contains("speaks bootstrap protocol 9, expected 3"));
    }

    #[test]
    fn a_host_that_leaves_ranks_behind_is_an_error() {
        let mut verdict = job(3);
        verdict.message(Message::Exited { rank: 0, status: 0 });
        assert_eq!(
            verdict.host_exited("the host", "fiber, pid 9", Exit::Status(0)),
            ends(1, "the host ended before 2 of its ranks")
        );
        let mut verdict = job(1);
        verdict.message(Message::Exited { rank: 0, status: 0 });
        assert_eq!(
            (verdict.host_exited("the host", "fiber, pid 9", Exit::Status(0)), verdict.status()),
            (None, 0)
        );
        let crashed = job(3).host_exited("the host", "fiber, pid 9", Exit::Signal(11));
        assert_eq!(crashed, ends(139, "the host was killed by signal 11 (SIGSEGV)"));
    }

    #[test]
    fn a_message_about_a_rank_that_does_not_exist_is_ignored() {
        let mut verdict = job(2);
        assert_eq!(verdict.message(Message::Finalized { rank: 9 }), None);
        assert_eq!(verdict.message(Message::Exited { rank: 9, status: 1 }), None);
        assert_eq!(verdict.running(), 2);
    }

    #[test]
    fn the_end_of_a_dismissed_rank_and_what_it_still_says_end_nothing() {
        let mut verdict = joined(2);
        assert!(verdict.dismiss(1));
        let gives_up = Message::Abort { rank: 1, code: 58, message: "its peer is gone".into() };
        assert_eq!(verdict.message(gives_up), None);
        assert_eq!(verdict.exited(1, Exit::Signal(9)), None);
        assert_eq!((verdict.running(), verdict.status()), (1, 0));
        assert!(!job(1).dismiss(0), "it may still go on without MPI");
    }
}

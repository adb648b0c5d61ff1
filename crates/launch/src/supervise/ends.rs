//! How ranks end, what is said of it, and how the job ends with them.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, epoll};
use rustix::process::{Signal, WaitId, WaitIdOptions, WaitIdStatus};

use super::{Supervisor, ranks_of};
use crate::backtrace;
use crate::held::{Remains, is_dying};
use crate::job::Mode;
use crate::verdict::{End, Exit};

/// How long ranks may take to end after a polite signal, when another rank failed.
const GRACE_AFTER_FAILURE: Duration = Duration::from_millis(500);
/// Whether a process has ended, without collecting it and without waiting.
const LOOK: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::NOWAIT).union(WaitIdOptions::NOHANG);
/// How long a process that is dead, or was killed, may take to be gone before the user is told what it waits for.
const UNEXPLAINED: Duration = Duration::from_secs(1);
/// Turns of an inbox that are read of a rank that has ended: more than a socket holds.
const LAST_TURNS: usize = 64;

impl Supervisor<'_> {
    /// A rank that is killed makes others give up, and those may be heard of first: a process is dead for its peers as soon as it has
    /// no memory, and for its parent only when all of it is gone. Whoever was killed is the cause, so it is looked at first.
    /// If `told` says that a peer is gone (the rank that says so, `by`, gives up for that reason), the peer's end is waited for.
    pub(super) fn look_for_the_killed(&mut self, by: usize, told: bool) {
        let patience = Timespec { tv_sec: UNEXPLAINED.as_secs() as i64, tv_nsec: 0 };
        for index in 0..self.ended.len() {
            if self.ended[index] || !is_dying(self.started.members[index].process.id()) {
                continue;
            }
            if let Some(pidfd) = &self.pidfds[index] {
                _ = rustix::event::poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&patience));
            }
            if self.was_killed(index) {
                self.look_at_exit(index);
                return;
            }
        }
        if told {
            self.await_the_killed(by);
        }
    }

    /// Waits for the end of a rank that was killed, as long as a death may take to be told.
    fn await_the_killed(&mut self, by: usize) {
        let deadline = Instant::now() + UNEXPLAINED;
        let mut others: Vec<usize> =
            (0..self.ended.len()).filter(|index| *index != by && !self.ended[*index]).collect();
        while let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|_| !others.is_empty())
        {
            let pidfds = others.iter().filter_map(|index| self.pidfds[*index].as_ref());
            let mut deaths: Vec<PollFd<'_>> = pidfds.map(|pidfd| PollFd::new(pidfd, PollFlags::IN)).collect();
            let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            if !matches!(rustix::event::poll(&mut deaths, Some(&left)), Ok(1..)) {
                return;
            }
            let ended: Vec<usize> = others
                .iter()
                .zip(&deaths)
                .filter(|(_, death)| !death.revents().is_empty())
                .map(|(index, _)| *index)
                .collect();
            if let Some(killed) = ended.iter().find(|index| self.was_killed(**index)) {
                return self.look_at_exit(*killed);
            }
            // Those have given up, too.
            others.retain(|index| !ended.contains(index));
        }
    }

    fn was_killed(&self, index: usize) -> bool {
        matches!(self.exit_of(index), Some(Ok(Some(status))) if status.terminating_signal().is_some())
    }

    /// Whether and how a member has ended; nothing of one that was forgotten.
    fn exit_of(&self, index: usize) -> Option<rustix::io::Result<Option<WaitIdStatus>>> {
        let pidfd = self.pidfds[index].as_ref()?;
        Some(rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), LOOK))
    }

    pub(super) fn look_at_exit(&mut self, index: usize) {
        let status = match self.exit_of(index) {
            Some(Ok(Some(status))) => Some(status),
            // Dead, but a debugger has not let go of it; there will be another event.
            Some(Ok(None)) => return self.expect_explanation(),
            // Somebody else has collected it, and its status with it.
            Some(Err(_)) => None,
            None => return,
        };
        if let Some(pidfd) = &self.pidfds[index] {
            _ = epoll::delete(&self.epoll, pidfd);
        }
        self.ended[index] = true;
        // Bounded, because what the rank has started may go on writing.
        for _ in 0..LAST_TURNS {
            if !self.read_inbox(index) {
                break;
            }
        }
        if let Some(report) = self.hangs.deadlock() {
            self.drain_outputs();
            self.outlets.say(&report);
        }
        self.hangs.ended(index, Instant::now());
        let exit = match status.map(|status| (status.exit_status(), status.terminating_signal())) {
            Some((Some(code), _)) => Exit::Status(code),
            Some((None, Some(number))) => Exit::Signal(number),
            Some((None, None)) | None => Exit::Status(1),
        };
        let end = match self.job.mode {
            Mode::Process => {
                if exit == Exit::Status(0) && self.verdict.is_early(index as u32) {
                    self.ended_early(index as u32);
                }
                let end = self.verdict.exited(index as u32, exit);
                self.with_last_call(index as u32, exit, end)
            }
            Mode::Thread | Mode::Fiber => {
                let who = self.member_name(index);
                let kind = if self.job.mode == Mode::Thread { "thread" } else { "fiber" };
                let carrier = format!("{kind}, pid {}", self.started.members[index].process.id());
                let end = self.verdict.host_exited(&who, &carrier, exit);
                self.with_place_of_crash(end)
            }
        };
        self.end_after_failure(end);
        self.forget(index);
    }

    /// Adds to what is said of a rank's end which function it called last, and where it was if it left a core file.
    fn with_last_call(&self, rank: u32, exit: Exit, end: Option<End>) -> Option<End> {
        let mut end = end?;
        if let Some(sentence) = self.started.sheets.as_ref().and_then(|sheets| sheets.sentence(rank)) {
            end.message.push_str(&format!("\n{sentence}"));
        }
        if let Exit::Signal(_) = exit
            && let Some((_, context)) = self.job.context_of_ranks().nth(rank as usize)
        {
            let pid = self.started.members[rank as usize].process.id();
            for line in backtrace::of_core(context, rank, pid) {
                end.message.push_str(&format!("\n{line}"));
            }
        }
        Some(end)
    }

    /// Adds to what is said of a crash where in the program it was.
    fn with_place_of_crash(&self, end: Option<End>) -> Option<End> {
        let mut end = end?;
        if let Some(crash) = self.verdict.crash()
            && let Some((_, context)) = self.job.context_of_ranks().nth(crash.rank as usize)
            && let Ok(program) = std::path::absolute(&context.program)
        {
            let stack = self.verdict.stack().filter(|copy| copy.rank == crash.rank);
            for line in backtrace::lines(&program, &crash, stack) {
                end.message.push_str(&format!("\n{line}"));
            }
        }
        Some(end)
    }

    pub(super) fn end_after_failure(&mut self, end: Option<End>) {
        if let Some(end) = end {
            self.end_job(&end, Signal::TERM, GRACE_AFTER_FAILURE);
        }
    }

    /// Says why, asks all ranks to end, and remembers when to stop asking.
    pub(super) fn end_job(&mut self, end: &End, polite: Signal, grace: Duration) {
        // Before anything is explained: reading a large program's debug information may take a while.
        self.signal_all(polite);
        // A stopped rank does not see a polite signal.
        self.signal_all(Signal::CONT);
        if !end.message.is_empty() {
            // What the ranks printed before comes before the explanation.
            self.drain_outputs();
            let message = symbols::Symbols::new().explain_within(&end.message);
            self.outlets.say(&message);
        }
        self.kill_at = Some(Instant::now() + grace);
    }

    /// Something that should be gone is not: the user is told why, once, if that stays so.
    pub(super) fn expect_explanation(&mut self) {
        if !self.explained {
            self.explain_at = Some(Instant::now() + UNEXPLAINED);
        }
    }

    pub(super) fn explain_what_remains(&mut self) {
        let running = |ended: &[bool]| (0..ended.len()).filter(|index| !ended[*index]).collect::<Vec<_>>();
        // Some may have ended since events were last handled, which a slow terminal can make long ago.
        for index in running(&self.ended) {
            self.look_at_exit(index);
        }
        let mut left = running(&self.ended).into_iter().filter_map(|index| {
            let remains = Remains::of(self.started.members[index].process.id())?;
            (self.killed || remains.dead()).then_some((index, remains))
        });
        let Some((first, remains)) = left.next() else { return };
        let others = match left.count() {
            0 => String::new(),
            1 => " (and 1 other process is still there)".into(),
            n => format!(" (and {n} other processes are still there)"),
        };
        let explanation = remains.explain(&self.member_name(first));
        self.outlets.say(&format!("{explanation}{others}"));
        self.explained = true;
    }

    pub(super) fn member_name(&self, index: usize) -> String {
        match self.job.mode {
            Mode::Process => self.started.names[index].clone(),
            Mode::Thread | Mode::Fiber => {
                format!(
                    "the process of {} (pid {})",
                    ranks_of(self.started.names.len()),
                    self.started.members[index].process.id()
                )
            }
        }
    }
}

//! The one event loop: output, messages, exits, signals and the clock of a running job.
//!
//! Order matters in three places. When a rank has ended, its messages are read before its exit is judged (a rank that
//! finalizes and exits must not look like one that only exits). The exit of a rank is looked at but not collected until the
//! job is over: a zombie keeps the number of its process group from being given to a stranger, so that ending the group is
//! safe at any time. And the output is read to its end after the last rank, for a moment at least.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group};
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::{Handle, SignalDelivery};
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::forward::{Pumped, write_whole};
use crate::guard::Guard;
use crate::held::{Remains, is_dying};
use crate::job::{Job, Mode};
use crate::notes::{self, Notes};
use crate::progress::Display;
use crate::start::{Output, Started, start};
use crate::verdict::{End, Exit, Verdict};
use crate::{Attempt, Error, signals};

/// How long ranks may take to end after a polite signal, when another rank failed.
const GRACE_AFTER_FAILURE: Duration = Duration::from_millis(500);
/// The same, when the user (or a timeout) ends a healthy job: time for a checkpoint handler.
const GRACE_AFTER_REQUEST: Duration = Duration::from_secs(2);
/// How long what ranks left behind may go on writing after the last rank has ended.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// Whether a process has ended, without collecting it and without waiting.
const LOOK: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::NOWAIT).union(WaitIdOptions::NOHANG);
/// How long a process that is dead, or was killed, may take to be gone before the user is told what it waits for.
const UNEXPLAINED: Duration = Duration::from_secs(1);
/// How long the beginning of a line of rank 0 waits for its end when a person sits at the terminal.
const PROMPT_AFTER: Duration = Duration::from_millis(50);
/// The index of rank 0's standard output among the streams.
const PROMPTING: usize = 0;
/// How much is read at once from one rank.
const CHUNK: usize = 64 * 1024;
/// The largest size that a pipe has by default (`/proc/sys/fs/pipe-max-size`).
const PIPE_MAX: usize = 1024 * 1024;

/// What a key of the epoll set stands for; the index is in the low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Signals,
    Terminal,
    Exit(usize),
    Inbox(usize),
    Output(usize),
}

impl Source {
    fn key(self) -> EventData {
        let (kind, index) = match self {
            Source::Signals => (0, 0),
            Source::Terminal => (1, 0),
            Source::Exit(index) => (2, index),
            Source::Inbox(index) => (3, index),
            Source::Output(index) => (4, index),
        };
        EventData::new_u64((kind << 32) | index as u64)
    }

    fn from_key(key: EventData) -> Source {
        let index = (key.u64() & 0xffff_ffff) as usize;
        match key.u64() >> 32 {
            0 => Source::Signals,
            1 => Source::Terminal,
            2 => Source::Exit(index),
            3 => Source::Inbox(index),
            _ => Source::Output(index),
        }
    }
}

pub(crate) fn run(job: &Job) -> Result<u8, Error> {
    // Before the first rank: a Ctrl-C while ranks are being started must end those that exist.
    let mut requests = Requests::listen()?;
    // A job without its guard is still a job: the ranks themselves notice a dead launcher in MPI calls.
    let mut guard = job.helper.as_deref().and_then(|helper| Guard::start(helper).ok());
    let began = Instant::now();
    let clock = job.progress.map(|ticks_per_second| Some(ticks_per_second).filter(|ticks| *ticks > 0));
    let display = clock.map(|clock| Display::new(job.ranks(), clock)).transpose()?;
    let started = start(job, display.as_ref().map(Display::board), &mut guard);
    let status = started.and_then(|started| {
        Supervisor::new(job, started, (began, display), &requests)?.supervise(&mut requests)
    });
    if let Some(guard) = guard {
        guard.dismiss();
    }
    status
}

struct Supervisor<'a> {
    job: &'a Job,
    started: Started,
    verdict: Verdict,
    epoll: OwnedFd,
    pidfds: Vec<OwnedFd>,
    /// Which members have ended (looked at, not collected).
    ended: Vec<bool>,
    /// Streams that can still deliver, by index.
    open: Vec<bool>,
    room: Vec<u8>,
    display: Option<Display>,
    timeout: Option<Instant>,
    /// When the ranks were asked to end: the moment at which they are no longer asked.
    kill_at: Option<Instant>,
    /// The ranks were killed: what still runs does so against our will.
    killed: bool,
    /// When the user is told why processes that should be gone are still there.
    explain_at: Option<Instant>,
    /// The user was told.
    explained: bool,
    /// When the unfinished line of rank 0, on a terminal, is shown as a prompt.
    prompt_at: Option<Instant>,
    /// The prompt that is on the terminal now has not been continued.
    prompt_open: bool,
    /// Set while the terminal must not be read because the launcher is in the background.
    terminal_again_at: Option<Instant>,
    /// Shows what `--check` finds.
    notes: Notes,
}

impl<'a> Supervisor<'a> {
    fn new(
        job: &'a Job,
        started: Started,
        (began, display): (Instant, Option<Display>),
        requests: &Requests,
    ) -> Result<Supervisor<'a>, Error> {
        let mut supervisor = Supervisor {
            job,
            verdict: Verdict::new(started.names.clone()),
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).attempt("epoll_create")?,
            pidfds: Vec::new(),
            ended: vec![false; started.members.len()],
            open: vec![true; started.outputs.len()],
            room: vec![0; CHUNK],
            display,
            timeout: job.timeout.map(|limit| began + limit),
            kill_at: None,
            killed: false,
            explain_at: None,
            explained: false,
            prompt_at: None,
            prompt_open: false,
            terminal_again_at: None,
            notes: Notes::default(),
            started,
        };
        let registered = supervisor.register(requests);
        if registered.is_err() {
            supervisor.signal_all(Signal::KILL);
            supervisor.collect();
        }
        registered.map(|()| supervisor)
    }

    fn register(&mut self, requests: &Requests) -> Result<(), Error> {
        for (index, member) in self.started.members.iter().enumerate() {
            let pidfd = rustix::process::pidfd_open(pid(&member.process), PidfdFlags::empty())
                .attempt("pidfd_open")?;
            // On edges: the descriptor of a dead process is readable also while a debugger holds what is left of it, and no look
            // at it changes that. Both moments that matter, the death and the debugger's letting go, are edges.
            self.add(&pidfd, Source::Exit(index), EventFlags::ET)?;
            self.pidfds.push(pidfd);
            self.add(&member.inbox, Source::Inbox(index), EventFlags::empty())?;
        }
        for (index, (stream, _)) in self.started.outputs.iter().enumerate() {
            self.add(stream, Source::Output(index), EventFlags::empty())?;
        }
        if self.started.input.is_some() {
            self.add(&rustix::stdio::stdin(), Source::Terminal, EventFlags::empty())?;
        }
        self.add(requests.readable(), Source::Signals, EventFlags::empty())
    }

    fn add(&self, source: &impl AsFd, key: Source, how: EventFlags) -> Result<(), Error> {
        epoll::add(&self.epoll, source, key.key(), EventFlags::IN | how).attempt("epoll_ctl")
    }

    fn supervise(&mut self, requests: &mut Requests) -> Result<u8, Error> {
        let mut last_words_until = None;
        loop {
            if !self.ended.contains(&false) {
                let until = *last_words_until.get_or_insert_with(|| Instant::now() + LAST_WORDS);
                if !self.open.contains(&true) || Instant::now() >= until {
                    break;
                }
            }
            let wait =
                self.next_deadline(last_words_until).map(|at| at.saturating_duration_since(Instant::now()));
            for source in self.wait_for_events(wait)? {
                self.handle(source, requests);
            }
            self.look_at_the_clock();
        }
        if let Some(display) = &mut self.display {
            display.erase();
        }
        // What the ranks started themselves and left behind.
        self.signal_all(Signal::KILL);
        self.drain_outputs();
        for (index, (stream, output)) in self.started.outputs.iter_mut().enumerate() {
            match output {
                Output::Stdout if self.open[index] => stream.close(&rustix::stdio::stdout()),
                Output::Stderr if self.open[index] => stream.close(&rustix::stdio::stderr()),
                _ => {}
            }
        }
        self.collect();
        if let Some(summary) = notes::summary(self.verdict.findings()) {
            say(&summary);
        }
        Ok(self.verdict.status())
    }

    fn wait_for_events(&mut self, wait: Option<Duration>) -> Result<Vec<Source>, Error> {
        let mut events = Vec::with_capacity(256);
        let timeout = wait
            .map(|wait| Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) });
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).attempt("epoll_wait"),
        }
        Ok(events.iter().map(|event| Source::from_key(event.data)).collect())
    }

    fn handle(&mut self, source: Source, requests: &mut Requests) {
        match source {
            Source::Signals => {
                for number in requests.pending() {
                    self.request(number);
                }
            }
            Source::Terminal => self.read_terminal(),
            Source::Exit(index) => self.look_at_exit(index),
            Source::Inbox(index) => self.read_inbox(index),
            Source::Output(index) => {
                self.pump(index);
            }
        }
    }

    /// A signal to the launcher.
    fn request(&mut self, number: i32) {
        match number {
            SIGTSTP => {
                // The ranks are in groups of their own, which the terminal does not stop.
                self.signal_all(Signal::STOP);
                _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
                self.signal_all(Signal::CONT);
            }
            SIGCONT => self.signal_all(Signal::CONT),
            SIGUSR1 => self.signal_all(Signal::USR1),
            SIGUSR2 => self.signal_all(Signal::USR2),
            _ => {
                let again = self.kill_at.is_some();
                let name = signals::name(number);
                let message = format!("{name}: {} ended", ranks(self.verdict.running()));
                if let Some(end) = self.verdict.end((128 + number) as u8, message) {
                    let polite = signals::from_number(number).unwrap_or(Signal::TERM);
                    self.end_job(&end, polite, GRACE_AFTER_REQUEST);
                } else if again {
                    // Asked twice: no more patience.
                    self.kill_at = Some(Instant::now());
                }
            }
        }
    }

    fn read_inbox(&mut self, index: usize) {
        let mut messages = Vec::new();
        let inbox = &mut self.started.members[index].inbox;
        let result = inbox.drain(|message| messages.push(message));
        if !inbox.is_open() {
            _ = epoll::delete(&self.epoll, &*inbox);
        }
        for message in messages {
            if matches!(message, pmi::Message::Abort { .. }) {
                self.look_for_the_killed();
            }
            if let pmi::Message::Note { rank, text } = &message {
                say(&self.notes.line(*rank, text));
            }
            let end = self.verdict.message(message);
            self.end_after_failure(end);
        }
        if let Err(error) = result {
            let end = self.verdict.end(1, format!("{}: {error}", self.member_name(index)));
            self.end_after_failure(end);
        }
    }

    /// A rank that is killed makes others give up, and those may be heard of first: a process is dead for its peers as soon as it has
    /// no memory, and for its parent only when all of it is gone. Whoever was killed is the cause, so it is looked at first.
    fn look_for_the_killed(&mut self) {
        let patience = Timespec { tv_sec: UNEXPLAINED.as_secs() as i64, tv_nsec: 0 };
        for index in 0..self.ended.len() {
            if self.ended[index] || !is_dying(self.started.members[index].process.id()) {
                continue;
            }
            let mut death = [PollFd::new(&self.pidfds[index], PollFlags::IN)];
            _ = rustix::event::poll(&mut death, Some(&patience));
            let exit = rustix::process::waitid(WaitId::PidFd(self.pidfds[index].as_fd()), LOOK);
            if matches!(exit, Ok(Some(status)) if status.terminating_signal().is_some()) {
                self.look_at_exit(index);
            }
        }
    }

    fn look_at_exit(&mut self, index: usize) {
        let status = match rustix::process::waitid(WaitId::PidFd(self.pidfds[index].as_fd()), LOOK) {
            Ok(Some(status)) => Some(status),
            // Dead, but a debugger has not let go of it; there will be another event.
            Ok(None) => return self.expect_explanation(),
            // Somebody else has collected it, and its status with it.
            Err(_) => None,
        };
        _ = epoll::delete(&self.epoll, &self.pidfds[index]);
        self.ended[index] = true;
        self.read_inbox(index);
        let exit = match status.map(|status| (status.exit_status(), status.terminating_signal())) {
            Some((Some(code), _)) => Exit::Status(code),
            Some((None, Some(number))) => Exit::Signal(number),
            Some((None, None)) | None => Exit::Status(1),
        };
        let end = match self.job.mode {
            Mode::Process => self.verdict.exited(index as u32, exit),
            Mode::Thread | Mode::Fiber => {
                let who = self.member_name(index);
                self.verdict.host_exited(&who, exit)
            }
        };
        self.end_after_failure(end);
    }

    fn end_after_failure(&mut self, end: Option<End>) {
        if let Some(end) = end {
            self.end_job(&end, Signal::TERM, GRACE_AFTER_FAILURE);
        }
    }

    /// Says why, asks all ranks to end, and remembers when to stop asking.
    fn end_job(&mut self, end: &End, polite: Signal, grace: Duration) {
        if !end.message.is_empty() {
            // What the ranks printed before comes before the explanation.
            self.drain_outputs();
            say(&end.message);
        }
        self.signal_running(polite);
        // A stopped rank does not see a polite signal.
        self.signal_running(Signal::CONT);
        self.kill_at = Some(Instant::now() + grace);
    }

    fn look_at_the_clock(&mut self) {
        let now = Instant::now();
        if self.timeout.is_some_and(|at| now >= at) {
            self.timeout = None;
            let seconds = self.job.timeout.unwrap_or_default().as_secs_f64();
            let message = format!(
                "the job did not end within {seconds} s (--timeout); {} ended",
                ranks(self.verdict.running())
            );
            if let Some(end) = self.verdict.end(124, message) {
                self.end_job(&end, Signal::TERM, GRACE_AFTER_REQUEST);
            }
        }
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill_at = None;
            self.signal_running(Signal::KILL);
            self.killed = true;
            self.expect_explanation();
        }
        if self.explain_at.is_some_and(|at| now >= at) {
            self.explain_what_remains();
            self.explain_at = None;
        }
        if self.prompt_at.is_some_and(|at| now >= at) {
            self.prompt_at = None;
            self.started.outputs[PROMPTING].0.show_pending(&rustix::stdio::stdout());
            self.prompt_open = true;
        }
        if let Some(display) = &mut self.display {
            let by_process = self.job.mode == Mode::Process;
            display.show(now, |rank| by_process && self.ended[rank as usize]);
        }
        if self.terminal_again_at.is_some_and(|at| now >= at) {
            self.terminal_again_at = None;
            _ = self.add(&rustix::stdio::stdin(), Source::Terminal, EventFlags::empty());
        }
    }

    /// Something that should be gone is not: the user is told why, once, if that stays so.
    fn expect_explanation(&mut self) {
        if !self.explained {
            self.explain_at = Some(Instant::now() + UNEXPLAINED);
        }
    }

    fn explain_what_remains(&mut self) {
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
        say(&format!("{}{others}", remains.explain(&self.member_name(first))));
        self.explained = true;
    }

    fn next_deadline(&self, last_words_until: Option<Instant>) -> Option<Instant> {
        let show = self.display.as_ref().map(Display::next);
        let own = [self.timeout, self.kill_at, self.explain_at, self.prompt_at, self.terminal_again_at];
        own.into_iter().chain([last_words_until, show]).flatten().min()
    }

    /// Hands one piece of terminal input to rank 0.
    fn read_terminal(&mut self) {
        let terminal = rustix::stdio::stdin();
        let Some(pipe) = &self.started.input else { return };
        let foreground =
            rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp());
        if !foreground {
            // Reading now would stop the launcher; it may come to the foreground later.
            _ = epoll::delete(&self.epoll, terminal);
            self.terminal_again_at = Some(Instant::now() + Duration::from_millis(200));
            return;
        }
        // At most a line: what a pipe always takes without blocking as long as rank 0 reads.
        let read = rustix::io::read(terminal, &mut self.room[..4096]).unwrap_or(0);
        if read > 0 && self.room[read - 1] == b'\n' && std::mem::take(&mut self.prompt_open) {
            self.started.outputs[PROMPTING].0.answered();
        }
        if read == 0 || !write_whole(pipe, &self.room[..read]) {
            _ = epoll::delete(&self.epoll, terminal);
            self.started.input = None;
        }
    }

    /// Reads one stream once; true if there may be more.
    fn pump(&mut self, index: usize) -> bool {
        if !self.open[index] {
            return false;
        }
        if std::mem::take(&mut self.prompt_open) && index != PROMPTING {
            write_whole(&rustix::stdio::stdout(), b"\n");
        }
        let (stream, output) = &mut self.started.outputs[index];
        let pumped = match output {
            Output::Stdout => stream.pump(&mut self.room, &rustix::stdio::stdout()),
            Output::Stderr => stream.pump(&mut self.room, &rustix::stdio::stderr()),
        };
        if index == PROMPTING && self.started.input.is_some() {
            self.prompt_at = stream.has_pending().then(|| Instant::now() + PROMPT_AFTER);
        }
        if pumped == Pumped::Open {
            return true;
        }
        _ = epoll::delete(&self.epoll, &self.started.outputs[index].0);
        self.open[index] = false;
        if pumped == Pumped::Refused {
            // As a program in a pipeline dies of SIGPIPE, in silence.
            if let Some(end) = self.verdict.end(128 + 13, String::new()) {
                self.end_job(&end, Signal::TERM, GRACE_AFTER_FAILURE);
            }
        }
        false
    }

    /// Reads what is in the pipes now: at most what the largest pipe holds, for a rank may never stop writing.
    fn drain_outputs(&mut self) {
        use rustix::event::{PollFd, PollFlags, poll};
        for index in 0..self.open.len() {
            for _ in 0..PIPE_MAX / CHUNK {
                if !self.open[index] {
                    break;
                }
                let mut ready = [PollFd::new(&self.started.outputs[index].0, PollFlags::IN)];
                let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
                if !poll(&mut ready, Some(&at_once)).is_ok_and(|n| n > 0) || !self.pump(index) {
                    break;
                }
            }
        }
    }

    fn signal_running(&self, signal: Signal) {
        for (member, _) in self.started.members.iter().zip(&self.ended).filter(|(_, ended)| !**ended) {
            _ = kill_process_group(pid(&member.process), signal);
        }
    }

    fn signal_all(&self, signal: Signal) {
        for member in &self.started.members {
            _ = kill_process_group(pid(&member.process), signal);
        }
    }

    fn collect(&mut self) {
        for member in &mut self.started.members {
            _ = member.process.wait();
        }
    }

    fn member_name(&self, index: usize) -> String {
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

/// Tells the user something that no rank has said.
fn say(message: &str) {
    write_whole(&rustix::stdio::stderr(), format!("corelace: {message}\n").as_bytes());
}

fn ranks(count: usize) -> String {
    if count == 1 { "1 rank was".into() } else { format!("{count} ranks were") }
}

fn ranks_of(count: usize) -> String {
    if count == 1 { "rank 0".into() } else { format!("ranks 0 to {}", count - 1) }
}

fn pid(process: &std::process::Child) -> Pid {
    Pid::from_child(process)
}

/// Signals to the launcher, readable from a descriptor. Ends listening when dropped.
struct Requests {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    handle: Handle,
}

impl Requests {
    fn listen() -> Result<Requests, Error> {
        let (read, write) = UnixStream::pair().attempt("a socket for signals")?;
        if signals::not_ignored(&[SIGCHLD]).is_empty() {
            // Inherited from whoever started us. The kernel would collect our ranks itself and throw their statuses away.
            signal_hook::flag::register(SIGCHLD, Arc::default()).attempt("listening to signals")?;
        }
        let wanted = signals::not_ignored(&[SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1, SIGUSR2]);
        let delivery =
            SignalDelivery::with_pipe(read, write, SignalOnly, wanted).attempt("listening to signals")?;
        let handle = delivery.handle();
        Ok(Requests { delivery, handle })
    }

    fn readable(&self) -> &UnixStream {
        self.delivery.get_read()
    }

    fn pending(&mut self) -> Vec<i32> {
        self.delivery.pending().collect()
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.handle.close();
    }
}

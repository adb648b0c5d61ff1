//! The one event loop: output, messages, exits, signals and the clock of a running job.
//!
//! Nothing in it waits for anybody: not for a reader of the output ([`Outlets`]), not for a rank that reads no input ([`Input`]), and
//! what one rank sends is taken in bounded portions. A signal to the launcher and `--timeout` therefore always work.
//!
//! Order matters in three places. When a rank has ended, its messages are read before its exit is judged (a rank that
//! finalizes and exits must not look like one that only exits). The exit of a rank is looked at but not collected until the
//! job is over: a zombie keeps its number from being given to a stranger, so that signalling it is
//! safe at any time. And the output is read to its end after the last rank, for a moment at least.

mod ends;
mod requests;
mod streams;

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group};
use signal_hook::consts::{SIGTSTP, SIGUSR1};

use crate::guard::Guard;
use crate::hangs::{Act, Hangs};
use crate::job::{Job, Mode};
use crate::notes::{self, Notes};
use crate::orphans::Orphans;
use crate::outlet::Outlets;
use crate::progress::Display;
use crate::signals::{self, Request, Requests};
use crate::start::{Started, start};
use crate::stream::Pumped;
use crate::verdict::Verdict;
use crate::{Attempt, Error};

/// How long ranks may take to end when the user (or a timeout) ends a healthy job: time for a checkpoint handler.
const GRACE_AFTER_REQUEST: Duration = Duration::from_secs(2);
/// How long what ranks left behind may go on writing after the last rank has ended, and how long a job that the user has ended waits for
/// a reader of its output.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// The index of the stream of rank 0's standard output, which is the first to speak there.
const PROMPTING: usize = 0;
/// How much is read at once from one rank.
const CHUNK: usize = 64 * 1024;
/// How often orphans of the ranks are collected at most.
const REAP_EVERY: Duration = Duration::from_millis(100);

/// The status of a job that was ended because it hung, and of a host whose ranks wait for ever.
const HUNG: u8 = 125;

/// What a key of the epoll set stands for; the index is in the low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Signals,
    Input,
    Exit(usize),
    Inbox(usize),
    Output(usize),
    Visitors,
    Outlet(usize),
    Sink(usize),
}

impl Source {
    fn key(self) -> EventData {
        let (kind, index) = match self {
            Source::Signals => (0, 0),
            Source::Input => (1, 0),
            Source::Exit(index) => (2, index),
            Source::Inbox(index) => (3, index),
            Source::Output(index) => (4, index),
            Source::Visitors => (15, 0),
            Source::Outlet(index) => (5, index),
            Source::Sink(index) => (6, index),
        };
        EventData::new_u64((kind << 32) | index as u64)
    }

    fn from_key(key: EventData) -> Source {
        let index = (key.u64() & 0xffff_ffff) as usize;
        match key.u64() >> 32 {
            0 => Source::Signals,
            1 => Source::Input,
            2 => Source::Exit(index),
            3 => Source::Inbox(index),
            4 => Source::Output(index),
            5 => Source::Outlet(index),
            15 => Source::Visitors,
            _ => Source::Sink(index),
        }
    }
}

pub(crate) fn run(job: &Job) -> Result<u8, Error> {
    // Before the first rank: a Ctrl-C while ranks are being started must end those that exist.
    let mut requests = Requests::listen()?;
    let orphans = Orphans::expect();
    let mark = crate::start::mark();
    // A job without its guard is still a job: MPI programs ask the kernel to be killed with their launcher.
    let mut guard = job.helper.as_deref().and_then(|helper| Guard::start(helper, &mark).ok());
    let began = Instant::now();
    let clock = job.progress.map(|ticks_per_second| Some(ticks_per_second).filter(|ticks| *ticks > 0));
    let display = clock.map(|clock| Display::new(job.ranks(), clock)).transpose()?;
    let group = guard.as_mut().and_then(|guard| guard.is_ready().then(|| guard.group()));
    let started = start(job, display.as_ref().map(Display::board), group, &mark);
    let aside = guard.as_ref().map(Guard::group);
    let status = match started {
        Ok(started) => Supervisor::new(job, started, (began, display), (orphans, aside), &requests)
            .and_then(|mut supervisor| supervisor.supervise(&mut requests)),
        Err(error) => {
            orphans.end(&aside.into_iter().collect());
            Err(error)
        }
    };
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
    /// By member; none of one that came later and has ended.
    pidfds: Vec<Option<OwnedFd>>,
    /// Which members have ended (looked at, not collected).
    ended: Vec<bool>,
    /// Streams that can still deliver, by index.
    open: Vec<bool>,
    /// Streams that are not read because nobody reads their outlet.
    paused: Vec<bool>,
    outlets: Outlets,
    /// Outlets whose being writable is waited for.
    watched: Vec<bool>,
    /// How long the output may wait for a reader after the last rank: for ever, until the user has asked for an end.
    patience: Option<Duration>,
    /// When everything that the ranks had left behind was ended.
    swept: Option<Instant>,
    orphans: Orphans,
    /// The processes that are collected by name: members and the guard.
    known: HashSet<Pid>,
    guard: Option<Pid>,
    reap_at: Option<Instant>,
    /// The input is a file, which is always ready.
    input_is_ready: bool,
    input_is_watched: bool,
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
    /// Set while the terminal must not be read because the launcher is in the background.
    terminal_again_at: Option<Instant>,
    hangs: Hangs,
    /// Shows what `--check` finds.
    notes: Notes,
    published: requests::Names,
    /// Jobs that ranks have started, in the order of their ranks.
    spawned: Vec<requests::Spawned>,
}

/// MPI_ERR_PROC_ABORTED: the code with which ranks give up whose peer is gone.
const PEER_IS_GONE: i32 = 58;

impl<'a> Supervisor<'a> {
    fn new(
        job: &'a Job,
        started: Started,
        (began, display): (Instant, Option<Display>),
        (orphans, guard): (Orphans, Option<Pid>),
        requests: &Requests,
    ) -> Result<Supervisor<'a>, Error> {
        let outlets = Outlets::of_this_process();
        let known = started.members.iter().map(|member| pid(&member.process)).chain(guard).collect();
        let mut supervisor = Supervisor {
            job,
            verdict: Verdict::new(started.names.clone()),
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).attempt("epoll_create")?,
            pidfds: Vec::new(),
            ended: vec![false; started.members.len()],
            open: vec![true; started.outputs.len()],
            paused: vec![false; started.outputs.len()],
            watched: vec![false; outlets.len()],
            outlets,
            patience: None,
            swept: None,
            orphans,
            known,
            guard,
            reap_at: None,
            input_is_ready: false,
            input_is_watched: false,
            room: vec![0; CHUNK],
            display,
            timeout: job.timeout.map(|limit| began + limit),
            kill_at: None,
            killed: false,
            explain_at: None,
            explained: false,
            prompt_at: None,
            terminal_again_at: None,
            hangs: Hangs::new(job, &started.members),
            notes: Notes::default(),
            published: requests::Names::new(),
            spawned: Vec::new(),
            started,
        };
        if let Some(complaint) = supervisor.hangs.visitors.complaint() {
            supervisor.outlets.say(&complaint);
        }
        let registered = supervisor.register(requests);
        if registered.is_err() {
            supervisor.signal_all(Signal::KILL);
            supervisor.sweep();
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
            self.pidfds.push(Some(pidfd));
            if let Some(inbox) = member.inbox.descriptor() {
                self.add(&inbox, Source::Inbox(index), EventFlags::empty())?;
            }
        }
        for (index, (stream, _)) in self.started.outputs.iter().enumerate() {
            if let Some(pipe) = stream.pipe() {
                self.add(&pipe, Source::Output(index), EventFlags::empty())?;
            }
        }
        if let Some(door) = self.hangs.visitors.door() {
            self.add(&door, Source::Visitors, EventFlags::empty())?;
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
                if self.swept.is_none() && (!self.open.contains(&true) || Instant::now() >= until) {
                    if let Some(display) = &mut self.display {
                        let stderr = self.outlets.stderr();
                        self.outlets[stderr].overlay(display.erase().as_bytes());
                    }
                    self.sweep();
                    if self.job.report_exits {
                        self.verdict.exits().for_each(|exit| self.outlets.say(&exit));
                    }
                    if let Some(summary) = notes::summary(self.verdict.findings()) {
                        self.outlets.say(&summary);
                    }
                }
                if self.is_over() {
                    break;
                }
            }
            self.watch();
            let last_words_until = last_words_until.filter(|_| self.swept.is_none());
            let wait =
                self.next_deadline(last_words_until).map(|at| at.saturating_duration_since(Instant::now()));
            for source in self.wait_for_events(wait)? {
                self.handle(source, requests);
            }
            self.look_at_the_clock();
        }
        Ok(self.verdict.status())
    }

    /// Ends what the ranks started themselves and left behind, and collects everybody.
    fn sweep(&mut self) {
        self.signal_all(Signal::KILL);
        self.orphans.end(&self.known);
        for member in &mut self.started.members {
            _ = member.process.wait();
        }
        self.swept = Some(Instant::now());
    }

    /// After the sweep: whether everything that was said has found a reader, or nobody is waited for.
    fn is_over(&mut self) -> bool {
        let Some(swept) = self.swept else { return false };
        for index in 0..self.open.len() {
            // Nobody is left who could write: what is dry has ended.
            while self.open[index] && !self.outlets[self.outlet_of(index)].is_full() {
                if self.pump(index) == Pumped::Dry {
                    self.close(index);
                }
            }
        }
        let waiting = (0..self.outlets.len()).any(|index| self.outlets[index].is_waiting());
        !waiting || self.patience.is_some_and(|patience| swept.elapsed() >= patience)
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
            Source::Input => self.read_input(),
            Source::Exit(index) => self.look_at_exit(index),
            Source::Inbox(index) => _ = self.read_inbox(index),
            Source::Output(index) => _ = self.pump(index),
            Source::Outlet(index) => self.outlets[index].flush(),
            Source::Sink(index) => {
                if let Some(pipe) = self.started.input.pipe(index) {
                    _ = epoll::delete(&self.epoll, pipe);
                }
                self.started.input.hand_on();
                self.watch_full_sinks();
            }
            Source::Visitors => {
                if self.hangs.visitors.admit() {
                    self.hangs.show(false, Instant::now());
                }
            }
        }
    }

    /// A signal to the launcher.
    fn request(&mut self, number: i32) {
        let signal = signals::from_number(number);
        match (signals::request(number), signal) {
            (Request::Stop, _) => {
                // The ranks are in a group of their own, which the terminal does not stop. The guard must not sleep.
                self.signal_all(Signal::STOP);
                if let Some(guard) = self.guard {
                    _ = kill_process(guard, Signal::CONT);
                }
                _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
                self.signal_all(Signal::CONT);
            }
            (Request::Show, _) => self.show_ranks(),
            (Request::Forward, Some(signal)) => self.signal_all(signal),
            (Request::Reap, _) => _ = self.reap_at.get_or_insert(Instant::now() + REAP_EVERY),
            _ => {
                let again = self.patience.replace(LAST_WORDS).is_some();
                let name = signals::name(number);
                let message = match self.verdict.running() {
                    0 => format!("{name}: output that nobody read was dropped"),
                    running => format!("{name}: {} ended", ranks(running)),
                };
                if let Some(end) = self.verdict.end((128 + number) as u8, message) {
                    self.end_job(&end, signal.unwrap_or(Signal::TERM), GRACE_AFTER_REQUEST);
                } else if again {
                    // Asked twice: no more patience.
                    self.kill_at = Some(Instant::now());
                    self.patience = Some(Duration::ZERO);
                }
            }
        }
    }

    /// Reads a bounded number of messages; true if there may be more.
    fn read_inbox(&mut self, index: usize) -> bool {
        let mut messages = Vec::new();
        let inbox = &mut self.started.members[index].inbox;
        let result = inbox.drain(|message| messages.push(message));
        for message in messages {
            if let Err(lie) = self.check_speaker(index, &message) {
                self.started.members[index].inbox.close();
                let end = self.verdict.end(1, lie);
                self.end_after_failure(end);
                return false;
            }
            self.hangs.hear(&message, Instant::now());
            if let pmi::Message::Abort { code, .. } = &message {
                self.look_for_the_killed(index, *code == PEER_IS_GONE);
            }
            if let pmi::Message::Note { rank, text } = &message {
                self.outlets.say(&self.notes.line(*rank, text));
            }
            if let pmi::Message::Request { rank, pid, reply, request } = message {
                self.answer(rank, pid, reply, request);
                continue;
            }
            let joined = matches!(message, pmi::Message::Hello { .. }).then(|| message.rank());
            let end = self.verdict.message(message);
            self.end_after_failure(end);
            joined.into_iter().for_each(|rank| self.end_if_in_vain(rank));
        }
        match result {
            Ok(more) => more,
            Err(error) => {
                let others = self.verdict.others_of(self.ranks_of_member(index));
                let end = self.verdict.end(1, format!("{}: {error}{others}", self.member_name(index)));
                self.end_after_failure(end);
                false
            }
        }
    }

    /// Who speaks is known from the socket; what a message claims must agree. Only a host tells of exits: of a process the kernel does.
    fn check_speaker(&self, index: usize, message: &pmi::Message) -> Result<(), String> {
        let own = self.ranks_of_member(index);
        let exits = matches!(message, pmi::Message::Exited { .. }) && self.job.mode == Mode::Process;
        if own.contains(&message.rank()) && !exits {
            return Ok(());
        }
        let what = if exits { "the exit of a rank" } else { "another rank" };
        let (name, claimed) = (self.member_name(index), message.rank());
        let others = self.verdict.others_of(own);
        Err(format!(
            "{name} sent a control message about {what} ({claimed}), expected only about itself{others}"
        ))
    }

    /// The ranks that a member may speak for.
    fn ranks_of_member(&self, index: usize) -> std::ops::Range<u32> {
        match self.job.mode {
            Mode::Process => index as u32..index as u32 + 1,
            Mode::Thread | Mode::Fiber => 0..self.job.ranks(),
        }
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
            self.patience = Some(LAST_WORDS);
            if let Some(end) = self.verdict.end(124, message) {
                self.end_job(&end, Signal::TERM, GRACE_AFTER_REQUEST);
            }
        }
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill_at = None;
            self.signal_all(Signal::KILL);
            self.killed = true;
            self.expect_explanation();
        }
        if self.explain_at.is_some_and(|at| now >= at) {
            self.explain_what_remains();
            self.explain_at = None;
        }
        if self.prompt_at.is_some_and(|at| now >= at) {
            self.prompt_at = None;
            let stdout = self.outlets.stdout();
            self.started.outputs[PROMPTING].0.show_prompt(&mut self.outlets[stdout]);
        }
        self.look_at_the_ranks(now);
        if let Some(display) = &mut self.display {
            let by_process = self.job.mode == Mode::Process;
            if let Some(text) = display.show(now, |rank| by_process && self.ended[rank as usize]) {
                let stderr = self.outlets.stderr();
                self.outlets[stderr].overlay(text.as_bytes());
            }
        }
        if self.terminal_again_at.is_some_and(|at| now >= at) {
            self.terminal_again_at = None;
        }
        if self.reap_at.is_some_and(|at| now >= at) {
            self.reap_at = None;
            self.orphans.reap(&self.known);
        }
        if self.input_is_ready && self.started.input.is_hungry() {
            self.read_input();
        }
    }

    /// SIGUSR1 to the launcher: a table of what the ranks do, and the signal to those of them that would not die of it.
    fn show_ranks(&mut self) {
        self.hangs.show(true, Instant::now());
        for pid in self.hangs.catchers(SIGUSR1) {
            if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                _ = kill_process(pid, Signal::USR1);
            }
        }
    }

    /// Asks the ranks whether they get on, and says so if they don't.
    fn look_at_the_ranks(&mut self, now: Instant) {
        for act in self.hangs.turn(now, &self.started.members) {
            self.drain_outputs();
            match act {
                Act::Say(text) => self.outlets.say(&text),
                Act::End(text) => {
                    let end = self.verdict.end(HUNG, text);
                    self.end_after_failure(end);
                }
            }
        }
    }

    fn next_deadline(&self, last_words_until: Option<Instant>) -> Option<Instant> {
        let show = self.display.as_ref().filter(|_| self.swept.is_none()).map(Display::next);
        let own = [
            self.timeout,
            self.kill_at,
            self.explain_at,
            self.prompt_at,
            self.terminal_again_at,
            self.reap_at,
        ];
        let dropped = self.swept.zip(self.patience).map(|(swept, patience)| swept + patience);
        let ready = (self.input_is_ready && self.started.input.is_hungry()).then(Instant::now);
        own.into_iter().chain([last_words_until, show, dropped, ready, self.hangs.next()]).flatten().min()
    }

    /// Signals everybody in the job's group, and ranks that have left it.
    fn signal_all(&self, signal: Signal) {
        if self.swept.is_some() {
            return;
        }
        if let Some(group) = self.started.group {
            _ = kill_process_group(group, signal);
        }
        for (member, _) in self.started.members.iter().zip(&self.ended).filter(|(_, ended)| !**ended) {
            let member = pid(&member.process);
            match rustix::process::getpgid(Some(member)) {
                Ok(group) if Some(group) == self.started.group => {}
                Ok(group) if group == member => _ = kill_process_group(member, signal),
                _ => _ = kill_process(member, signal),
            }
        }
    }
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

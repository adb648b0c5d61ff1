//! One rank of a recorded run, event by event, as steps to do again.

use std::collections::HashMap;

use trace::{ALL_MEMBERS, AccessKind, EpochKind, Event, MessageId, NO_ROOT, Protocol, Stream};

use super::script::{NO_REQUEST, Part, Step, What};
use super::whole::{Comms, Whole, is_kept_for_later, window_comm};

/// How long a rank's run took where it was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub all: u64,
    pub computing: u64,
}

/// What a script holds, and what it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub messages: u64,
    pub bytes: u64,
    /// Counted at every member.
    pub collectives: u64,
    pub accesses: u64,
    /// Messages of which only one side was recorded, and those beside MPI.
    pub left_out: u64,
}

/// What a call does with requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// It returns before what it began has ended.
    Starts,
    /// It takes one request.
    TakesOne,
    /// It takes all that have ended.
    TakesAll,
    /// What it began has ended when it returns.
    Ends,
}

impl Habit {
    pub fn of(function: &str) -> Habit {
        let name = function.strip_prefix("MPI_").unwrap_or(function).to_ascii_lowercase();
        match name.trim_end_matches("_c") {
            "wait" | "waitany" | "test" | "testany" | "wait_any" => Habit::TakesOne,
            "waitall" | "waitsome" | "testall" | "testsome" => Habit::TakesAll,
            "start" | "startall" | "bsend" | "iprobe" | "improbe" => Habit::Starts,
            name if name.starts_with("pready") => Habit::Starts,
            name if function.starts_with("MPI_I") && !name.starts_with("in") => Habit::Starts,
            _ => Habit::Ends,
        }
    }
}

/// Something under way, whose end nobody has waited for yet.
#[derive(Clone, Copy)]
struct Open {
    request: u32,
    end: Ends,
    has_ended: bool,
    /// Of a collective that is played by its messages.
    in_rounds: bool,
    /// The call that began it has not returned.
    is_new: bool,
}

/// What its end is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Send(MessageId),
    Receive(MessageId),
    /// Not told of: as early as anybody can wait for it.
    Collective,
}

/// One rank.
pub struct Reader<'a> {
    whole: &'a Whole,
    stream: &'a Stream,
    tally: &'a mut Tally,
    part: Part,
    open: Vec<Open>,
    free: Vec<u32>,
    comms: Comms,
    /// The message of each receive.
    messages: HashMap<u64, MessageId>,
    habit: Habit,
    function: &'a str,
    depth: u32,
    /// What ended last in the call under way.
    ended_last: Option<Ends>,
    /// The step of the epochs that the call under way begins, and their peers.
    group: Option<(usize, Vec<u32>)>,
    /// Windows with a lock.
    locked: Vec<u32>,
    began: Option<u64>,
    /// Until when everything is in the script.
    until: u64,
    last: u64,
    finished: bool,
    times: Times,
}

impl<'a> Reader<'a> {
    pub fn new(whole: &'a Whole, stream: &'a Stream, tally: &'a mut Tally) -> Reader<'a> {
        let matches = stream.events().filter_map(|event| match event {
            Event::RecvMatch { message, request, .. } if request != 0 => Some((request, message)),
            _ => None,
        });
        Reader {
            whole,
            stream,
            tally,
            part: Part::default(),
            open: Vec::new(),
            free: Vec::new(),
            comms: Comms::new(),
            messages: matches.collect(),
            habit: Habit::Ends,
            function: "",
            depth: 0,
            ended_last: None,
            group: None,
            locked: Vec::new(),
            began: None,
            until: 0,
            last: 0,
            finished: false,
            times: Times::default(),
        }
    }

    pub fn read(&mut self, event: &Event) {
        let time = event.time();
        if self.began.is_none() {
            (self.began, self.until) = (Some(time), time);
        }
        if self.finished {
            return;
        }
        self.last = self.last.max(time);
        match *event {
            Event::Enter { function, .. } => self.enter(time, function),
            Event::Leave { .. } => self.leave(time),
            Event::SendStart { message, protocol, done, .. } => {
                self.outside_of_calls(time);
                self.send(message, protocol, done);
            }
            Event::RecvPost { request, .. } => {
                self.outside_of_calls(time);
                if let Some(message) = self.messages.get(&request) {
                    self.receive(*message, false);
                }
            }
            Event::RecvMatch { message, request, done, .. } => {
                if request == 0 {
                    self.receive(message, done);
                } else if done {
                    self.ends(Ends::Receive(message));
                }
            }
            Event::SendEnd { message, .. } => self.ends(Ends::Send(message)),
            Event::RecvEnd { message, .. } => self.ends(Ends::Receive(message)),
            Event::Compute { begin, end } => {
                self.compute(end - begin);
                self.until = self.until.max(end);
            }
            Event::Phase { round, .. } if round > 0 => {
                self.wait_for(|open| open.in_rounds && open.has_ended);
            }
            Event::Collective { which, comm, number, root, bytes, .. } => {
                self.outside_of_calls(time);
                self.collective(self.stream.name(which), (comm, number), root, bytes);
            }
            Event::Members { comm, members, .. } => {
                if let Some(place) = self.whole.find(comm, self.stream.name(members)) {
                    self.comms.insert(comm, place);
                }
            }
            Event::Access { kind, target, window, bytes, .. } => self.access(kind, target, window, bytes),
            Event::EpochBegin { kind, peer, window, .. } => self.epoch_begins(kind, peer, window),
            Event::EpochEnd { kind, peer, window, .. } => self.epoch_ends(kind, peer, window),
            _ => {}
        }
    }

    fn enter(&mut self, time: u64, function: trace::Name) {
        self.depth += 1;
        if self.depth > 1 {
            return;
        }
        self.function = self.stream.name(function);
        self.habit = Habit::of(self.function);
        self.ended_last = None;
        self.compute(time - self.until);
        self.until = time;
        match self.function {
            "MPI_Init" | "MPI_Init_thread" => {
                (self.part, self.times) = (Part::default(), Times::default());
            }
            "MPI_Finalize" | "finalize" => self.finished = true,
            _ => {}
        }
    }

    fn leave(&mut self, time: u64) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 {
            return;
        }
        self.until = time;
        self.group_is_whole();
        if self.function.starts_with("MPI_Win_flush") {
            for window in self.locked.clone() {
                self.push(Step { object: window, ..Step::of(What::Flush, 0) });
            }
        }
        match self.habit {
            Habit::Starts => {}
            Habit::TakesAll => self.wait_for(|open| open.has_ended),
            Habit::TakesOne => self.wait_for_one(),
            Habit::Ends if self.open.iter().any(|open| open.is_new) => {
                self.wait_for(|open| open.is_new && open.has_ended);
            }
            // A wait of the Rust interface is told of as what it waits for.
            Habit::Ends => self.wait_for_what_ended_here(),
        }
        for open in &mut self.open {
            open.is_new = false;
        }
        if matches!(self.function, "MPI_Init" | "MPI_Init_thread") {
            self.began = Some(time);
        }
    }

    /// The Rust interface starts things without telling of a call.
    fn outside_of_calls(&mut self, time: u64) {
        if self.depth == 0 {
            self.compute(time - self.until.min(time));
            self.until = time;
        }
    }

    fn compute(&mut self, ticks: u64) {
        self.times.computing += ticks;
        match self.part.steps.last_mut() {
            _ if ticks == 0 => {}
            Some(step) if step.what == What::Compute => step.amount += ticks,
            _ => self.push(Step::of(What::Compute, ticks)),
        }
    }

    fn push(&mut self, step: Step) {
        self.part.steps.push(step);
    }

    fn needs(&mut self, bytes: u64) {
        self.part.memory = self.part.memory.max(bytes);
    }

    /// A place for a request.
    fn request(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.part.requests += 1;
            self.part.requests - 1
        })
    }

    fn begin(&mut self, step: Step, end: Ends, has_ended: bool, in_rounds: bool) {
        let request = self.request();
        self.push(Step { request, ..step });
        self.open.push(Open { request, end, has_ended, in_rounds, is_new: self.depth > 0 });
    }

    fn send(&mut self, id: MessageId, protocol: Protocol, done: bool) {
        let Some(message) = self.whole.messages.get(&id).filter(|message| !message.skipped) else { return };
        self.tally.messages += 1;
        self.tally.bytes += message.bytes;
        self.needs(message.bytes);
        let step = Step { peer: message.to, tag: message.tag, ..Step::of(What::Send, message.bytes) };
        // A copy of a message that was sent before has left now: nobody waits for it.
        let done = done && protocol != Protocol::Lazy;
        self.begin(step, Ends::Send(id), done, message.in_rounds);
    }

    fn receive(&mut self, id: MessageId, done: bool) {
        let Some(message) = self.whole.messages.get(&id).filter(|message| !message.skipped) else { return };
        self.needs(message.bytes);
        let step = Step { peer: id.sender(), tag: message.tag, ..Step::of(What::Receive, message.bytes) };
        self.begin(step, Ends::Receive(id), done, message.in_rounds);
    }

    fn ends(&mut self, end: Ends) {
        if let Some(open) = self.open.iter_mut().find(|open| open.end == end) {
            open.has_ended = true;
            self.ended_last = Some(end);
        }
    }

    fn collective(&mut self, which: &str, (comm, number): (u32, i32), root: u32, bytes: u64) {
        let meeting = (self.comms.get(&comm).copied(), number);
        let (Some(comm), true) = (meeting.0, number < 0 || self.whole.again.contains(&meeting)) else {
            return;
        };
        if is_kept_for_later(self.function) {
            return;
        }
        let members = &self.whole.comms[comm as usize];
        let all = members.len() as u64 * bytes;
        let is_root = root != NO_ROOT && members.get(root as usize) == Some(&self.stream.rank);
        let (what, memory) = match which {
            "barrier" => (What::Barrier, 0),
            "bcast" => (What::Broadcast, bytes),
            "reduce" => (What::Reduce, 2 * bytes),
            "allreduce" => (What::Allreduce, 2 * bytes),
            "gather" => (What::Gather, bytes + if is_root { all } else { 0 }),
            "scatter" => (What::Scatter, bytes + if is_root { all } else { 0 }),
            "allgather" => (What::Allgather, bytes + all),
            "alltoall" => (What::Alltoall, bytes + 2 * all),
            "scan" => (What::Scan, 2 * bytes),
            "exscan" => (What::Exscan, 2 * bytes),
            "reduce_scatter_block" => (What::ReduceScatterBlock, bytes + all),
            _ => return,
        };
        self.tally.collectives += 1;
        self.needs(memory);
        let peer = if root == NO_ROOT { 0 } else { root };
        let step = Step { object: comm, peer, ..Step::of(what, bytes) };
        if self.habit == Habit::Starts {
            self.begin(step, Ends::Collective, true, false);
        } else {
            self.push(step);
        }
    }

    /// Waits for what is under way and fits.
    fn wait_for(&mut self, fits: impl Fn(&Open) -> bool) {
        let (taken, left): (Vec<Open>, Vec<Open>) = self.open.iter().partition(|open| fits(open));
        self.open = left;
        self.free.extend(taken.iter().rev().map(|open| open.request));
        match taken[..] {
            [] => {}
            [one] => self.wait(one.request),
            _ => {
                self.push(Step::of(What::WaitAll, taken.len() as u64));
                for open in &taken {
                    self.push(Step { request: open.request, ..Step::of(What::Wait, 0) });
                }
            }
        }
    }

    /// A message that is waited for as soon as it was begun is a blocking one.
    fn wait(&mut self, request: u32) {
        match self.part.steps.last_mut() {
            Some(step) if matches!(step.what, What::Send | What::Receive) && step.request == request => {
                step.request = NO_REQUEST;
            }
            _ => self.push(Step { request, ..Step::of(What::Wait, 0) }),
        }
    }

    fn wait_for_one(&mut self) {
        let rounds = |open: &Open| open.in_rounds && open.has_ended;
        if self.open.iter().any(rounds) {
            return self.wait_for(rounds);
        }
        let inside = self.open.iter().find(|open| Some(open.end) == self.ended_last);
        if let Some(open) = inside.or(self.open.iter().find(|open| open.has_ended)) {
            let request = open.request;
            self.wait_for(|open| open.request == request);
        }
    }

    fn wait_for_what_ended_here(&mut self) {
        if self.ended_last.is_some() {
            self.wait_for_one();
        }
    }

    fn window(&self, number: u32) -> Option<u32> {
        let comm = window_comm(&self.comms, number)?;
        self.whole.window_of.get(&(number, comm)).copied()
    }

    fn access(&mut self, kind: AccessKind, target: u32, window: u32, bytes: u64) {
        let what = match kind {
            AccessKind::Put => What::Put,
            AccessKind::Get => What::Get,
            AccessKind::Accumulate => What::Accumulate,
            AccessKind::Swap if bytes == 4 || bytes == 8 => What::Swap,
            AccessKind::Fetch | AccessKind::Swap => What::Fetch,
            AccessKind::Unknown => return,
        };
        let Some(window) = self.window(window) else { return };
        let Some(peer) = self.whole.in_window(window, target) else { return };
        self.tally.accesses += 1;
        self.needs(2 * bytes);
        self.push(Step { object: window, peer, ..Step::of(what, bytes) });
    }

    fn epoch_begins(&mut self, kind: EpochKind, peer: u32, window: u32) {
        let Some(window) = self.window(window) else { return };
        let lock = |what, peer, amount| Step { object: window, peer, ..Step::of(what, amount) };
        let member = self.whole.in_window(window, peer);
        match (kind, member) {
            (EpochKind::SharedLock, Some(peer)) => self.push(lock(What::Lock, peer, 0)),
            (EpochKind::ExclusiveLock, Some(peer)) => self.push(lock(What::Lock, peer, 1)),
            (EpochKind::LockAll, _) => self.push(lock(What::LockAll, 0, 0)),
            (EpochKind::Access | EpochKind::Exposure, Some(peer)) => {
                let what = if kind == EpochKind::Access { What::Start } else { What::Post };
                match &mut self.group {
                    Some((_, peers)) => peers.push(peer),
                    None => {
                        self.group = Some((self.part.steps.len(), vec![peer]));
                        self.push(lock(what, 0, 0));
                    }
                }
                return;
            }
            _ => return,
        }
        self.locked.push(window);
    }

    /// The peers of `MPI_Win_start` or `MPI_Win_post` follow the step.
    fn group_is_whole(&mut self) {
        if let Some((place, peers)) = self.group.take() {
            self.part.steps[place].amount = peers.len() as u64;
            let peers = peers.into_iter().map(|peer| Step { peer, ..Step::of(What::Peer, 0) });
            self.part.steps.splice(place + 1..place + 1, peers);
        }
    }

    fn epoch_ends(&mut self, kind: EpochKind, peer: u32, window: u32) {
        let Some(window) = self.window(window) else { return };
        let step = |what, peer| Step { object: window, peer, ..Step::of(what, 0) };
        let member = self.whole.in_window(window, peer);
        let next = match (kind, member) {
            (EpochKind::Fence, _) => step(What::Fence, 0),
            (EpochKind::SharedLock | EpochKind::ExclusiveLock, Some(peer)) => step(What::Unlock, peer),
            (EpochKind::LockAll, _) => step(What::UnlockAll, 0),
            (EpochKind::Access, _) => step(What::Complete, 0),
            (EpochKind::Exposure, _) => step(What::WaitForAccesses, 0),
            _ => return,
        };
        if matches!(next.what, What::Unlock | What::UnlockAll)
            && let Some(place) = self.locked.iter().position(|locked| *locked == window)
        {
            self.locked.remove(place);
        }
        // The end of an epoch with several peers is told of for each.
        let is_told_again = matches!(next.what, What::Complete | What::WaitForAccesses)
            && peer != ALL_MEMBERS
            && self.part.steps.last() == Some(&next);
        if !is_told_again {
            self.push(next);
        }
    }

    /// Whatever is still under way is waited for at the end.
    pub fn end(mut self) -> Result<(Part, Times), String> {
        if !self.finished {
            self.compute(self.last - self.until.min(self.last));
        }
        self.wait_for(|_| true);
        self.times.all = self.last - self.began.unwrap_or(self.last);
        match self.part.requests < NO_REQUEST {
            true => Ok((self.part, self.times)),
            false => Err(format!("rank {}: {} requests at a time", self.stream.rank, self.part.requests)),
        }
    }
}

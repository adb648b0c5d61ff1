//! From a trace to the script of the same run: which messages, collectives and one-sided operations every rank did, what it waited for, and how long it computed in
//! between.
//!
//! - What a call began and what had ended when it returned is waited for there. A call that waits for requests (`MPI_Wait` and its kin) takes those that had ended when it
//!   returned: the one that ended inside of it, else the oldest, where it takes one; all of them where it takes several.
//! - A receive asks for the message that it got, also where the program would have taken any: every message has a tag that no other between its two ranks has.
//! - A collective is asked for again, and goes the way of the other machine. Those that traces tell only the messages of are played message by message, each round after the
//!   one before.
//! - A run is what lies between `MPI_Init` and `MPI_Finalize`.

use std::collections::{HashMap, HashSet};

use trace::{ALL_MEMBERS, AccessKind, EpochKind, Event, MessageId, NO_ROOT, Protocol, Stream, Trace};

use super::script::{NO_REQUEST, Part, Script, Step, What};

/// Tags of messages; the player uses the one above them itself.
const TAGS: u32 = 32_767;

/// A run that can be played.
pub struct Recorded {
    pub script: Script,
    /// By rank, in ticks.
    pub times: Vec<Times>,
    pub tally: Tally,
}

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

impl Recorded {
    /// Reads the trace.
    pub fn of(trace: &Trace) -> Result<Recorded, String> {
        let streams = ranks(trace)?;
        let whole = Whole::of(&streams)?;
        let mut recorded = Recorded {
            script: Script {
                comms: whole.comms.clone(),
                windows: whole.sized_windows(),
                ..Script::default()
            },
            times: Vec::new(),
            tally: Tally { left_out: whole.left_out, ..Tally::default() },
        };
        for stream in streams {
            let mut reader = Reader::new(&whole, stream, &mut recorded.tally);
            stream.events().for_each(|event| reader.read(&event));
            let (part, times) = reader.end()?;
            recorded.script.parts.push(part);
            recorded.times.push(times);
        }
        Ok(recorded)
    }
}

/// The streams of all ranks, in order and whole.
fn ranks(trace: &Trace) -> Result<Vec<&Stream>, String> {
    let mut streams: Vec<&Stream> = trace.streams.iter().filter(|stream| !stream.is_chip()).collect();
    streams.sort_by_key(|stream| stream.rank);
    if streams.is_empty() || !streams.iter().zip(0..).all(|(stream, rank)| stream.rank == rank) {
        return Err("the trace does not hold the events of every rank, expected one of mpirun --trace".into());
    }
    if streams.len() != trace.job.ranks as usize {
        return Err(format!(
            "the trace has {} ranks in its world and {} in all: a run with an I/O rank cannot be replayed",
            trace.job.ranks,
            streams.len()
        ));
    }
    match streams.iter().find(|stream| stream.dropped > 0) {
        Some(stream) => Err(format!(
            "rank {} has recorded {} events more than there was room for: record again with a larger --trace-limit",
            stream.rank, stream.dropped
        )),
        None => Ok(streams),
    }
}

/// What is known of all ranks together.
#[derive(Default)]
struct Whole {
    messages: HashMap<MessageId, Message>,
    comms: Vec<Vec<u32>>,
    /// The number that the trace gives a communicator, which those without a common member may share, and its members.
    known: HashMap<(u32, Vec<u32>), u32>,
    windows: Vec<Window>,
    /// By the number that the trace gives a window, and its communicator.
    window_of: HashMap<(u32, u32), u32>,
    /// Collectives that are asked for again.
    again: HashSet<Meeting>,
    left_out: u64,
}

/// The communicators of a rank by the numbers that it gives them, which may be given again when one has gone.
type Comms = HashMap<u32, u32>;

struct Window {
    comm: u32,
    /// A bound of what is moved from and to it.
    bytes: u64,
}

/// A collective: its communicator, if the trace tells of that, and the tag of its messages.
type Meeting = (Option<u32>, i32);

#[derive(Clone, Copy)]
struct Message {
    to: u32,
    bytes: u64,
    tag: u32,
    /// It is one of a collective that is asked for again, or has no other side.
    skipped: bool,
    /// The number that the trace gives its communicator.
    comm: u32,
    /// It is one of a collective.
    in_rounds: bool,
    /// Which one.
    of: Meeting,
}

impl Whole {
    fn of(streams: &[&Stream]) -> Result<Whole, String> {
        let world = (0..streams.len() as u32).collect();
        let mut whole = Whole { comms: vec![world], ..Whole::default() };
        let mut arrived = HashSet::new();
        let mut meetings: HashMap<Meeting, usize> = HashMap::new();
        for stream in streams {
            whole.gather(stream, &mut arrived, &mut meetings)?;
        }
        let all_came = |(comm, number): &Meeting, count: &usize| {
            let members = comm.map(|comm| whole.comms[comm as usize].len());
            *number >= 0 && members.is_some_and(|members| count.is_multiple_of(members))
        };
        let met = meetings.iter().filter(|(meeting, count)| all_came(meeting, count));
        whole.again = met.map(|(meeting, _)| *meeting).collect();
        for (id, message) in &mut whole.messages {
            // Where memory is not shared, windows are reached by messages.
            let of_a_window =
                message.of.0.is_some_and(|comm| whole.window_of.contains_key(&(message.comm & !1, comm)));
            let inside = of_a_window || whole.again.contains(&message.of);
            message.skipped = inside || !arrived.contains(id);
            whole.left_out += u64::from(message.skipped && !inside);
        }
        whole.left_out += arrived.iter().filter(|id| !whole.messages.contains_key(id)).count() as u64;
        Ok(whole)
    }

    fn gather(
        &mut self,
        stream: &Stream,
        arrived: &mut HashSet<MessageId>,
        meetings: &mut HashMap<Meeting, usize>,
    ) -> Result<(), String> {
        let mut sent: HashMap<u32, u32> = HashMap::new();
        let (mut function, mut comms) = ("", Comms::new());
        for event in stream.events() {
            match event {
                Event::Enter { function: name, .. } => function = stream.name(name),
                Event::SendStart { message, to, tag, comm, bytes, protocol, .. }
                    if protocol != Protocol::Raw =>
                {
                    let count = sent.entry(to).or_default();
                    let in_rounds = comm & 1 == 1;
                    let of = (comms.get(&comm).copied(), tag);
                    let tag = *count % TAGS;
                    self.messages
                        .insert(message, Message { to, bytes, tag, skipped: false, comm, in_rounds, of });
                    *count += 1;
                }
                Event::RecvMatch { message, .. } => _ = arrived.insert(message),
                Event::Members { comm, members, .. } => {
                    let members = members_of(stream.name(members), self.comms[0].len())?;
                    comms.insert(comm, self.place(comm, members));
                }
                Event::Collective { comm, number, .. } if !is_kept_for_later(function) => {
                    *meetings.entry((comms.get(&comm).copied(), number)).or_default() += 1;
                }
                Event::Access { window, bytes, .. } => self.window(&comms, window)?.bytes |= bytes,
                Event::EpochBegin { window, .. } | Event::EpochEnd { window, .. } => {
                    self.window(&comms, window)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The place of a communicator among all. The world keeps its own.
    fn place(&mut self, number: u32, members: Vec<u32>) -> u32 {
        if number <= 1 && members == self.comms[0] {
            return 0;
        }
        let comms = &mut self.comms;
        *self.known.entry((number, members)).or_insert_with_key(|(_, members)| {
            comms.push(members.clone());
            comms.len() as u32 - 1
        })
    }

    /// The place of one that was [placed](Whole::place).
    fn find(&self, number: u32, members: &str) -> Option<u32> {
        let members = members_of(members, self.comms[0].len()).ok()?;
        if number <= 1 && members == self.comms[0] {
            Some(0)
        } else {
            self.known.get(&(number, members)).copied()
        }
    }

    /// A window that a rank with these communicators uses.
    fn window(&mut self, comms: &Comms, number: u32) -> Result<&mut Window, String> {
        let comm = window_comm(comms, number).ok_or_else(|| {
            format!("the members of window {number} are not told, expected their event before its use")
        })?;
        let windows = &mut self.windows;
        let place = *self.window_of.entry((number, comm)).or_insert_with(|| {
            windows.push(Window { comm, bytes: 8 });
            windows.len() as u32 - 1
        });
        Ok(&mut windows[place as usize])
    }

    /// Windows as large as their longest access, rounded up.
    fn sized_windows(&self) -> Vec<(u32, u64)> {
        self.windows.iter().map(|window| (window.comm, window.bytes.next_power_of_two())).collect()
    }

    /// A world rank's number in a window.
    fn in_window(&self, window: u32, rank: u32) -> Option<u32> {
        let members = &self.comms[self.windows[window as usize].comm as usize];
        members.iter().position(|member| *member == rank).map(|place| place as u32)
    }
}

/// The communicator of a window: its collectives have the number after that of its accesses.
fn window_comm(comms: &Comms, number: u32) -> Option<u32> {
    comms.get(&(number | 1)).copied()
}

/// World ranks from `0-3,8`.
fn members_of(text: &str, world: usize) -> Result<Vec<u32>, String> {
    let wrong =
        || format!("the members \"{text}\" of a communicator, expected ranks below {world} as in 0-3,8");
    let number =
        |word: &str| word.parse::<u32>().ok().filter(|rank| (*rank as usize) < world).ok_or_else(wrong);
    let mut members = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        members.extend(number(first)?..=number(last)?);
    }
    Ok(members)
}

/// Its collective begins later, and perhaps again and again.
fn is_kept_for_later(function: &str) -> bool {
    function.ends_with("_init") || function.ends_with("_init_c")
}

/// What a call does with requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Habit {
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
    fn of(function: &str) -> Habit {
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
struct Reader<'a> {
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
    fn new(whole: &'a Whole, stream: &'a Stream, tally: &'a mut Tally) -> Reader<'a> {
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

    fn read(&mut self, event: &Event) {
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
    fn end(mut self) -> Result<(Part, Times), String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{ANY_SOURCE, ANY_TAG, Job, Recording};

    /// The script of what two ranks record.
    fn script_of(record: [&dyn Fn(&mut Recording); 2]) -> Recorded {
        let directory = tempfile::tempdir().unwrap();
        let paths = [0, 1].map(|rank: u32| {
            let path = directory.path().join(rank.to_string());
            let mut recording = Recording::create(&path, rank, 1 << 20, 1_000_000_000).unwrap();
            record[rank as usize](&mut recording);
            path
        });
        let job = Job { ranks: 2, ticks_per_second: 1_000_000_000, ..Job::default() };
        let file = directory.path().join("job.trace");
        trace::merge(&paths, &job, &file, &mut str::to_owned).unwrap();
        Recorded::of(&Trace::open(&file).unwrap()).unwrap()
    }

    fn call(recording: &mut Recording, times: [u64; 2], function: &str, inside: &[Event]) {
        let function = recording.intern(function);
        recording.record(Event::Enter { time: times[0], function, site: trace::Name::NONE });
        inside.iter().for_each(|event| recording.record(*event));
        recording.record(Event::Leave { time: times[1] });
    }

    fn sends(time: u64, message: u64, bytes: u64) -> Event {
        let message = MessageId::new(1, message);
        Event::SendStart {
            time,
            message,
            to: 0,
            tag: 5,
            comm: 0,
            bytes,
            protocol: Protocol::Eager,
            done: true,
        }
    }

    fn posts(time: u64, request: u64) -> Event {
        Event::RecvPost { time, request, from: ANY_SOURCE, tag: ANY_TAG, comm: 0, bytes: 100 }
    }

    fn matches(time: u64, message: u64, request: u64) -> Event {
        let (message, protocol) = (MessageId::new(1, message), Protocol::Eager);
        Event::RecvMatch {
            time,
            message,
            request,
            from: 1,
            tag: 5,
            bytes: 0,
            protocol,
            done: true,
            waited: 0,
        }
    }

    fn kinds(part: &Part) -> Vec<(What, u32, u64)> {
        part.steps.iter().map(|step| (step.what, step.tag, step.amount)).collect()
    }

    #[test]
    fn receives_ask_for_what_they_got_and_waits_take_what_ended_in_them() {
        let recorded = script_of([
            &|recording| {
                call(recording, [10, 11], "MPI_Irecv", &[posts(10, 1)]);
                call(recording, [15, 16], "MPI_Irecv", &[posts(15, 2)]);
                // The second request is complete first, and is waited for first.
                call(recording, [40, 60], "MPI_Wait", &[matches(50, 7, 2)]);
                call(recording, [60, 90], "MPI_Wait", &[matches(80, 8, 1)]);
            },
            &|recording| {
                call(recording, [10, 20], "MPI_Send", &[sends(10, 7, 30)]);
                call(recording, [25, 40], "MPI_Send", &[sends(25, 8, 40)]);
            },
        ]);
        let (receive, wait) = (What::Receive, What::Wait);
        let receiver = &recorded.script.parts[0];
        assert_eq!(
            kinds(receiver),
            [
                (receive, 1, 40),
                (What::Compute, 0, 4),
                (receive, 0, 30),
                (What::Compute, 0, 24),
                (wait, 0, 0),
                (wait, 0, 0)
            ]
        );
        assert_eq!(receiver.steps[4].request, receiver.steps[2].request);
        assert_eq!(receiver.requests, 2);
        let sender = &recorded.script.parts[1];
        assert_eq!(kinds(sender), [(What::Send, 0, 30), (What::Compute, 0, 5), (What::Send, 1, 40)]);
        assert!(sender.steps.iter().all(|step| step.request == NO_REQUEST), "blocking sends stay so");
        assert_eq!(recorded.times[1], Times { all: 30, computing: 5 });
        assert_eq!(recorded.tally, Tally { messages: 2, bytes: 70, ..Tally::default() });
    }

    #[test]
    fn a_message_without_its_other_side_is_left_out_and_counted() {
        let recorded =
            script_of([&|recording| call(recording, [10, 11], "MPI_Barrier", &[]), &|recording| {
                call(recording, [10, 20], "MPI_Send", &[sends(10, 7, 30)])
            }]);
        assert_eq!(recorded.tally, Tally { left_out: 1, ..Tally::default() });
        assert_eq!(recorded.script.parts[1].steps, []);
    }

    #[test]
    fn members_are_ranges_and_single_ranks_below_the_size_of_the_world() {
        assert_eq!(members_of("0-2,5,4", 6), Ok(vec![0, 1, 2, 5, 4]));
        assert!(members_of("0-6", 6).unwrap_err().contains("below 6"));
        assert!(members_of("", 6).is_err());
    }

    #[test]
    fn calls_are_known_by_what_they_do_with_requests() {
        let is = |habit: Habit, names: &[&str]| names.iter().all(|name| Habit::of(name) == habit);
        assert!(is(
            Habit::Starts,
            &["MPI_Isend", "MPI_Irecv_c", "MPI_Ialltoall", "MPI_Start", "MPI_Pready_list"]
        ));
        assert!(is(Habit::TakesOne, &["MPI_Wait", "MPI_Testany", "wait_any"]));
        assert!(is(Habit::TakesAll, &["MPI_Waitall", "MPI_Testsome"]));
        assert!(is(
            Habit::Ends,
            &["MPI_Send", "MPI_Intercomm_create", "MPI_Info_create", "MPI_Sendrecv_c", "recv"]
        ));
    }
}

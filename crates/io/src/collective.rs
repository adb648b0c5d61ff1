//! An access to a file as a machine of small steps, none of which waits (MPI sections 14.4.2 to 14.4.5).
//!
//! An independent access is one transfer, by a thread if the program does not wait for it. A collective one begins with a meeting, in which each rank says what
//! it wants. If what they want lies in each other in short runs, the access has two phases: the ranks that stand for parts of the file (`domains`)
//! hold a window of it at a time, whose bytes come from, or go to, all ranks in messages, straight between the program's memory and the window; and
//! the window is written or read in one go.
//!
//! ```text
//!  Order -> Meet -> Alone
//!               \-> Lists -> Rounds -> Agree
//! ```
//!
//! *Order* is for accesses in the order of ranks (MPI_File_read_ordered): it finds out where each rank's part begins. In *Lists* each rank tells those
//! who stand for domains which runs it wants there. *Agree* makes an error of one rank that of all.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use engine::datatype::{Basic, Member};
use engine::{
    Comm, Datatype, Dest, Mode as SendMode, Rank, RequestId, SendBuffer, Source as From, State, Tag, TagMatch,
};

use crate::domains::{Domains, are_interleaved};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::hints::{Hints, Switch};
use crate::meeting::{Meeting, Words, judge, verdict};
use crate::memory::{Lent, Room, Sink, Source};
use crate::pattern::Pattern;
use crate::pointer::SharedPointer;
use crate::runs::{Run, Runs, Stripe, merged};
use crate::transfer::{self, Found, Sieve};
use crate::work::{Bell, Ticket};

/// What the accesses of a file have in common.
pub(crate) struct Common {
    pub rank: &'static Rank,
    /// The members, in a communicator that nobody else speaks through.
    pub comm: Comm,
    pub handle: Arc<Handle>,
    pub bell: Option<Bell>,
}

/// The program's memory, and the direction.
pub(crate) enum Data {
    Write(Source),
    Read(Sink),
}

impl Data {
    pub fn bytes(&self) -> u64 {
        match self {
            Data::Write(source) => source.bytes(),
            Data::Read(sink) => sink.bytes(),
        }
    }

    pub fn writes(&self) -> bool {
        matches!(self, Data::Write(_))
    }
}

/// What is to be moved, and how.
pub(crate) struct Order {
    pub common: Rc<Common>,
    pub data: Data,
    pub pattern: Pattern,
    /// Where in the stream of the view.
    pub start: u64,
    /// Some of the view's bytes lie on others.
    pub overlaps: bool,
    pub hints: Hints,
    pub atomic: bool,
    /// A number that this collective access has at all ranks.
    pub number: u32,
    /// The program does not wait for it: threads may do it.
    pub by_threads: bool,
}

/// Bytes of the program's memory that are packed at a time.
const PACKED: usize = 4 << 20;
/// Messages under way between two ranks, and windows that a rank holds.
const AHEAD: usize = 2;
/// Runs of so many bytes and more are not collected: each rank moves its own.
const LONG_RUN: u64 = 64 << 10;

impl Order {
    fn range(&self) -> Range<u64> {
        self.start..self.start + self.data.bytes()
    }

    fn sieve(&self) -> Sieve {
        match self.data {
            Data::Write(_) => Sieve::to_write(&self.hints, self.atomic),
            Data::Read(_) => Sieve::to_read(&self.hints, self.atomic),
        }
    }

    fn bell(&self) -> Option<&Bell> {
        self.common.bell.as_ref().filter(|_| self.by_threads)
    }

    /// Moves everything now; how many bytes of the stream.
    fn run_now(&mut self) -> Result<u64> {
        let (sieve, start) = (self.sieve(), self.start);
        let (handle, pattern) = (&self.common.handle, &self.pattern);
        match &mut self.data {
            Data::Write(source) => {
                source.pieces(PACKED, |at, bytes| {
                    let range = start + at..start + at + bytes.len() as u64;
                    transfer::write(handle, pattern, range, bytes, sieve).map(drop)
                })?;
                Ok(source.bytes())
            }
            Data::Read(sink) => sink.pieces(PACKED, |at, room| {
                let range = start + at..start + at + room.len() as u64;
                transfer::read(handle, pattern, range, room, sieve).map(|found| found.bytes)
            }),
        }
    }

    /// Moves everything by itself.
    pub fn now(mut self) -> Result<u64> {
        let moved = self.run_now()?;
        self.finish(moved)
    }

    /// So many bytes of the stream were moved; how many these are in the program's memory.
    fn finish(self, moved: u64) -> Result<u64> {
        match self.data {
            Data::Write(source) => Ok(source.native_bytes(moved)),
            Data::Read(sink) => sink.finish(moved),
        }
    }

    /// Has a thread move everything, if there is one for it.
    fn alone(&mut self) -> Stage {
        let Some(bell) = self.bell().cloned() else {
            return Stage::Ended(self.run_now());
        };
        let (sieve, range) = (self.sieve(), self.range());
        let (handle, pattern) = (Arc::clone(&self.common.handle), self.pattern.clone());
        let is_write = self.data.writes();
        let mut memory = match &mut self.data {
            Data::Write(source) => source.lent(),
            Data::Read(sink) => sink.lent(),
        };
        Stage::Alone(Ticket::begin(Some(&bell), move || {
            let moved = if is_write {
                transfer::write(&handle, &pattern, range, memory.as_bytes(), sieve)
            } else {
                transfer::read(&handle, &pattern, range, memory.bytes(), sieve).map(|found| found.bytes)
            };
            (moved, memory)
        }))
    }

    /// The tag of what is said at a place of this access.
    fn tag(&self, place: u64) -> Tag {
        Tag::new(i64::from(self.number % 1024) << 20 | place as i64).unwrap_or(Tag::own(0))
    }

    fn tag_of_round(&self, round: u64) -> Tag {
        self.tag(round % ORDER)
    }

    fn meeting(&self, place: u64, mine: Words) -> Result<Meeting> {
        Meeting::begin(self.common.rank, &self.common.comm, self.tag(place), mine)
    }
}

/// The places among the tags of an access that its meetings and lists have, behind those of its rounds.
const ORDER: u64 = (1 << 20) - 4;
const MEET: u64 = ORDER + 1;
const LISTS: u64 = ORDER + 2;
const AGREE: u64 = ORDER + 3;

/// An access that is under way.
pub(crate) struct Access {
    /// Gone when it has ended.
    order: Option<Order>,
    stage: Stage,
    steps: u64,
}

enum Stage {
    Order(Rc<SharedPointer>, u64, Meeting),
    Meet(Meeting),
    Alone(Ticket<(Result<u64>, Lent)>),
    Lists(Box<Lists>),
    Rounds(Box<Rounds>),
    Agree(Meeting, Result<u64>),
    Ended(Result<u64>),
}

impl Access {
    /// An access of this rank's own.
    pub fn independent(mut order: Order) -> Access {
        let stage = order.alone();
        Access { order: Some(order), stage, steps: 0 }
    }

    /// An access of all ranks of the file.
    pub fn collective(order: Order) -> Result<Access> {
        let stage = Stage::Meet(order.meeting(MEET, wanted(&order))?);
        Ok(Access { order: Some(order), stage, steps: 0 })
    }

    /// As [`collective`](Access::collective), each rank's part behind that of the rank before it, from the shared pointer on; that is counted in units of so many bytes.
    pub fn ordered(order: Order, pointer: &Rc<SharedPointer>, unit: u64) -> Result<Access> {
        let before = if order.common.comm.rank() == 0 { pointer.value()? } else { 0 };
        let mine = [order.data.bytes() / unit, before as u64, 0, 0, 0, 0, 0, 0];
        let meeting = order.meeting(ORDER, mine)?;
        Ok(Access { stage: Stage::Order(Rc::clone(pointer), unit, meeting), order: Some(order), steps: 0 })
    }

    /// How far it has come: more after each step.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether it waits for a thread.
    pub fn awaits_outside(&self) -> bool {
        match &self.stage {
            Stage::Alone(ticket) => ticket.is_pending(),
            Stage::Rounds(rounds) => rounds
                .windows
                .iter()
                .any(|window| matches!(&window.state, Hold::Moving { ticket, .. } if ticket.is_pending())),
            _ => false,
        }
    }

    /// Goes on as far as it can without waiting. When it has ended: how many bytes of the program's memory were moved.
    pub fn advance(&mut self) -> Option<Result<u64>> {
        loop {
            match self.step() {
                Ok(true) => self.steps += 1,
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
            if let Stage::Ended(_) = self.stage {
                let Stage::Ended(outcome) = std::mem::replace(&mut self.stage, Stage::Ended(Ok(0))) else {
                    return None;
                };
                let order = self.order.take()?;
                return Some(outcome.and_then(|moved| order.finish(moved)));
            }
        }
    }

    /// Takes a step, if it can.
    fn step(&mut self) -> Result<bool> {
        let Some(order) = &mut self.order else { return Ok(false) };
        let common = Rc::clone(&order.common);
        let (rank, comm) = (common.rank, &common.comm);
        let next = match &mut self.stage {
            Stage::Order(pointer, unit, meeting) => {
                let Some(said) = meeting.poll(rank, comm)? else { return Ok(false) };
                let before: u64 = said[..comm.rank() as usize].iter().map(|words| words[0]).sum();
                order.start = (said[0][1] + before) * *unit;
                if comm.rank() == 0 {
                    // Before the next meeting, so that whoever has come out of that finds it changed.
                    pointer.add(said.iter().map(|words| words[0] as i64).sum())?;
                }
                Stage::Meet(order.meeting(MEET, wanted(order))?)
            }
            Stage::Meet(meeting) => {
                let Some(said) = meeting.poll(rank, comm)? else { return Ok(false) };
                match division(&said, comm.size()) {
                    None => order.alone(),
                    Some(domains) => Stage::Lists(Box::new(Lists::begin(order, domains)?)),
                }
            }
            Stage::Alone(ticket) => {
                let Some((moved, memory)) = ticket.take() else { return Ok(false) };
                if let (Data::Read(sink), Lent::Ours(bytes), Ok(found)) = (&mut order.data, &memory, &moved) {
                    sink.store(0, &bytes[..*found as usize]);
                }
                Stage::Ended(moved)
            }
            Stage::Lists(lists) => {
                if !lists.advance(order)? {
                    return Ok(false);
                }
                Stage::Rounds(Box::new(lists.rounds(order)))
            }
            Stage::Rounds(rounds) => {
                let went_on = rounds.advance(order)?;
                if !rounds.has_ended() {
                    return Ok(went_on);
                }
                let outcome = rounds.outcome();
                Stage::Agree(order.meeting(AGREE, verdict(&outcome))?, outcome)
            }
            Stage::Agree(meeting, outcome) => {
                let Some(said) = meeting.poll(rank, comm)? else { return Ok(false) };
                let mine = std::mem::replace(outcome, Ok(0));
                let what = format!("a collective access to file \"{}\"", common.handle.name());
                Stage::Ended(judge(&what, mine, &said))
            }
            Stage::Ended(_) => return Ok(true),
        };
        self.stage = next;
        Ok(true)
    }
}

/// What this rank says it wants: from where to where, how many bytes in how many runs, and what may be done; and, for all, how.
fn wanted(order: &Order) -> Words {
    let bytes = order.data.bytes();
    let reach =
        if bytes == 0 || order.pattern.is_empty() { 0..0 } else { order.pattern.reach(&order.range()) };
    let switch = if order.data.writes() { order.hints.collects_writes } else { order.hints.collects_reads };
    let way = match switch {
        _ if order.overlaps || order.atomic => 2,
        Switch::Disable => 2,
        Switch::Enable => 1,
        Switch::Automatic => 0,
    };
    [
        reach.start,
        reach.end,
        bytes,
        order.pattern.runs_of(bytes),
        way,
        aggregators(&order.hints, order.common.comm.size()),
        order.hints.window,
        order.hints.alignment,
    ]
}

/// How many ranks stand for parts of a file: as many as there are cores for, if nothing else is said. More would only take turns.
pub(crate) fn aggregators(hints: &Hints, members: u32) -> u64 {
    let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let wanted = if hints.aggregators > 0 { hints.aggregators } else { cores() };
    wanted.clamp(1, u64::from(members))
}

/// How the file is divided, if its ranks access it together. The first rank's hints are those of all.
fn division(said: &[Words], members: u32) -> Option<Domains> {
    let [.., aggregators, window, alignment] = *said.first()?;
    if members == 1 || said.iter().any(|words| words[4] == 2) {
        return None;
    }
    let parts = || said.iter().map(|words| words[0]..words[1]);
    let start = parts().filter(|part| !part.is_empty()).map(|part| part.start).min()?;
    let end = parts().map(|part| part.end).max()?;
    let (bytes, runs) = said.iter().fold((0_u64, 0_u64), |(bytes, runs), words| {
        (bytes.saturating_add(words[2]), runs.saturating_add(if words[2] == 0 { 0 } else { words[3] }))
    });
    let is_worth_it = bytes / runs.max(1) < LONG_RUN && are_interleaved(parts().collect());
    (said[0][4] == 1 || is_worth_it)
        .then(|| Domains::new(start..end, aggregators, u64::from(members), (alignment, window)))
}

/// The ranks tell each other which runs they want.
struct Lists {
    domains: Domains,
    /// Of this rank, by domains, and where in its stream they begin.
    own: Vec<(Runs, u64)>,
    sends: Vec<RequestId>,
    /// Of all ranks, if this one stands for a domain.
    members: Vec<Listed>,
}

/// A list that comes.
enum Listed {
    Awaited,
    Coming(RequestId, Room),
    Come(Runs),
}

impl Lists {
    fn begin(order: &Order, domains: Domains) -> Result<Lists> {
        let mut own: Vec<(Runs, u64)> = Vec::new();
        own.resize_with(domains.count() as usize, || (Runs::default(), 0));
        order.pattern.walk(order.range(), |mut offset, mut at, mut len| {
            while len > 0 {
                let (domain, end) = domains.at(offset);
                let part = len.min(end - offset);
                let (runs, start) = &mut own[domain as usize];
                if runs.is_empty() {
                    *start = at;
                }
                runs.push(Run { offset, len: part });
                (offset, at, len) = (offset + part, at + part, len - part);
            }
        });
        let Common { rank, comm, .. } = &*order.common;
        let mut sends = Vec::new();
        for (domain, (runs, _)) in own.iter().enumerate() {
            let buffer = SendBuffer::owned(runs.encode());
            let to = Dest::Rank(domains.rank_of(domain as u64));
            sends.push(rank.isend(SendMode::Standard, &buffer, to, order.tag(LISTS), comm)?);
        }
        let is_member = domains.of_rank(comm.rank()).is_some();
        let members = (0..if is_member { comm.size() } else { 0 }).map(|_| Listed::Awaited).collect();
        Ok(Lists { domains, own, sends, members })
    }

    /// True once all lists that this rank needs are here, and its own have gone.
    fn advance(&mut self, order: &Order) -> Result<bool> {
        let Common { rank, comm, .. } = &*order.common;
        let mut complete = settle(rank, &mut self.sends)?;
        for (member, listed) in self.members.iter_mut().enumerate() {
            if let Listed::Awaited = listed {
                let (from, tag) = (From::Rank(member as u32), TagMatch::Is(order.tag(LISTS)));
                if rank.has_arrived(from, tag, comm)
                    && let Some((message, status)) = rank.improbe(from, tag, comm)?
                {
                    let mut room = Room::new(status.bytes as usize);
                    let into = room.receive(0, status.bytes, &Datatype::basic(Basic::Byte));
                    *listed = Listed::Coming(rank.imrecv(&into, message)?, room);
                }
            }
            if let Listed::Coming(request, room) = listed
                && rank.state(*request)? != State::Active
            {
                rank.take(*request)?;
                let damaged = engine::Error::Internal { reason: "a list of runs is damaged" };
                *listed = Listed::Come(Runs::decode(room.bytes()).ok_or(damaged)?);
            }
            complete &= matches!(listed, Listed::Come(_));
        }
        Ok(complete)
    }

    fn rounds(&mut self, order: &Order) -> Rounds {
        let lanes =
            self.own.drain(..).map(|(runs, position)| Lane { runs, position, round: 0, ahead: Vec::new() });
        let lists = self.members.drain(..).map(|listed| match listed {
            Listed::Come(runs) => runs,
            _ => Runs::default(),
        });
        let lists: Vec<Runs> = lists.collect();
        let windows = if lists.is_empty() { 0 } else { AHEAD };
        Rounds {
            domain: self.domains.of_rank(order.common.comm.rank()).unwrap_or(0),
            lanes: lanes.collect(),
            round: if lists.is_empty() { self.domains.rounds() } else { 0 },
            lists,
            windows: (0..windows).map(|_| Window { room: None, state: Hold::Nothing }).collect(),
            domains: self.domains.clone(),
            moved: 0,
            failed: None,
        }
    }
}

/// Takes the results of requests that have ended; true if all have.
fn settle(rank: &Rank, requests: &mut Vec<RequestId>) -> Result<bool> {
    let mut failed = Ok(());
    requests.retain(|request| match rank.state(*request) {
        Ok(State::Active) => true,
        _ => {
            if let Err(error) = rank.take(*request) {
                failed = Err(error);
            }
            false
        }
    });
    failed?;
    Ok(requests.is_empty())
}

/// The windows go by.
struct Rounds {
    domains: Domains,
    /// To those who stand for domains.
    lanes: Vec<Lane>,
    /// What the ranks want of this one.
    lists: Vec<Runs>,
    domain: u64,
    /// The next window that this rank holds.
    round: u64,
    windows: Vec<Window>,
    /// Bytes of this rank's stream.
    moved: u64,
    failed: Option<Error>,
}

/// What goes between this rank and one that stands for a domain.
struct Lane {
    runs: Runs,
    /// Where in the stream its next part begins.
    position: u64,
    round: u64,
    ahead: Vec<Part>,
}

/// A part of the stream under way.
struct Part {
    request: RequestId,
    position: u64,
    bytes: u64,
    /// Where it comes to, if the program's memory is not in one piece.
    room: Option<Room>,
}

/// A window that this rank holds.
struct Window {
    room: Option<Room>,
    state: Hold,
}

enum Hold {
    Nothing,
    /// Bytes come from the ranks, to be written as these runs.
    Filling {
        requests: Vec<RequestId>,
        all: Vec<Run>,
        origin: u64,
    },
    /// It is written, or read in this round.
    Moving {
        ticket: Ticket<(Result<Found>, Vec<u8>)>,
        read: Option<u64>,
    },
    /// Bytes go to the ranks.
    Sending(Vec<RequestId>),
}

impl Rounds {
    fn has_ended(&self) -> bool {
        let rounds = self.domains.rounds();
        self.lanes.iter().all(|lane| lane.round == rounds && lane.ahead.is_empty())
            && self.round >= rounds
            && self.windows.iter().all(|window| matches!(window.state, Hold::Nothing))
    }

    fn outcome(&mut self) -> Result<u64> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(self.moved),
        }
    }

    /// Goes on as far as it can; whether it went on at all.
    fn advance(&mut self, order: &mut Order) -> Result<bool> {
        let mut went_on = false;
        for index in 0..self.lanes.len() {
            went_on |= self.advance_lane(order, index)?;
        }
        for index in 0..self.windows.len() {
            went_on |= self.advance_window(order, index)?;
        }
        Ok(went_on)
    }

    fn advance_lane(&mut self, order: &mut Order, index: usize) -> Result<bool> {
        let (rounds, to) = (self.domains.rounds(), self.domains.rank_of(index as u64));
        let common = Rc::clone(&order.common);
        let (rank, comm) = (common.rank, &common.comm);
        let lane = &mut self.lanes[index];
        let mut went_on = false;
        let mut under_way = Vec::with_capacity(AHEAD);
        for part in lane.ahead.drain(..) {
            if rank.state(part.request)? == State::Active {
                under_way.push(part);
                continue;
            }
            went_on = true;
            let status = rank.take(part.request)?;
            match &mut order.data {
                Data::Write(_) => self.moved += part.bytes,
                Data::Read(sink) => {
                    if let Some(room) = &part.room {
                        sink.store(part.position, &room.bytes()[..status.bytes as usize]);
                    }
                    self.moved += status.bytes;
                }
            }
        }
        lane.ahead = under_way;
        while lane.round < rounds && lane.ahead.len() < AHEAD {
            let bytes = lane.runs.bytes_in(&self.domains.window(index as u64, lane.round));
            let tag = order.tag_of_round(lane.round);
            lane.round += 1;
            went_on = true;
            if bytes == 0 {
                continue;
            }
            let position = lane.position;
            lane.position += bytes;
            let (request, room) = match &mut order.data {
                Data::Write(source) => {
                    let part = source.part(position, bytes);
                    (rank.isend(SendMode::Standard, &part, Dest::Rank(to), tag, comm)?, None)
                }
                Data::Read(sink) => {
                    let byte = Datatype::basic(Basic::Byte);
                    let (into, room) = match sink.part(position, bytes) {
                        Some(into) => (into, None),
                        None => {
                            let mut room = Room::new(bytes as usize);
                            (room.receive(0, bytes, &byte), Some(room))
                        }
                    };
                    (rank.irecv(&into, From::Rank(to), TagMatch::Is(tag), comm)?, room)
                }
            };
            lane.ahead.push(Part { request, position, bytes, room });
        }
        Ok(went_on)
    }

    /// The ranks that want something in a window, with what.
    fn wanting<'a>(&'a self, window: &'a Range<u64>) -> impl Iterator<Item = (u32, &'a Runs)> {
        (0..).zip(&self.lists).filter(|(_, runs)| runs.bytes_in(window) > 0)
    }

    fn advance_window(&mut self, order: &Order, index: usize) -> Result<bool> {
        let rank = order.common.rank;
        let (next, went_on) = match std::mem::replace(&mut self.windows[index].state, Hold::Nothing) {
            Hold::Nothing if self.round >= self.domains.rounds() => (Hold::Nothing, false),
            Hold::Nothing => (self.hold(order, index)?, true),
            Hold::Filling { mut requests, all, origin } => {
                if settle(rank, &mut requests)? {
                    (self.write(order, index, all, origin), true)
                } else {
                    (Hold::Filling { requests, all, origin }, false)
                }
            }
            Hold::Moving { mut ticket, read } => match ticket.take() {
                None => (Hold::Moving { ticket, read }, false),
                Some((found, bytes)) => {
                    self.windows[index].room = Some(Room::of(bytes));
                    let found = found.unwrap_or_else(|error| {
                        self.failed.get_or_insert(error);
                        // The others get nothing, and learn of it in the end.
                        Found { bytes: 0, end: Some(0) }
                    });
                    match read {
                        None => (Hold::Nothing, true),
                        Some(round) => (self.hand_out(order, index, round, found)?, true),
                    }
                }
            },
            Hold::Sending(mut requests) => {
                if settle(rank, &mut requests)? {
                    (Hold::Nothing, true)
                } else {
                    (Hold::Sending(requests), false)
                }
            }
        };
        self.windows[index].state = next;
        Ok(went_on)
    }

    /// Takes up the next window.
    fn hold(&mut self, order: &Order, index: usize) -> Result<Hold> {
        let Common { rank, comm, handle, .. } = &*order.common;
        let (round, window) = (self.round, self.domains.window(self.domain, self.round));
        self.round += 1;
        let all = merged(self.lists.iter().map(|runs| runs.in_range(&window)).collect());
        if all.is_empty() {
            return Ok(Hold::Nothing);
        }
        let room = self.windows[index].room.take();
        let mut room = room.unwrap_or_else(|| Room::new(self.domains.window_bytes() as usize));
        let origin = window.start;
        if order.data.writes() {
            let mut requests = Vec::new();
            for (member, runs) in self.wanting(&window) {
                let (at, datatype) = placed(runs, &window, origin)?;
                let (from, tag) = (From::Rank(member), TagMatch::Is(order.tag_of_round(round)));
                requests.push(rank.irecv(&room.receive(at, 1, &datatype), from, tag, comm)?);
            }
            self.windows[index].room = Some(room);
            return Ok(Hold::Filling { requests, all, origin });
        }
        let (handle, sieve, mut bytes) = (Arc::clone(handle), order.sieve(), room.into_bytes());
        let ticket = Ticket::begin(order.bell(), move || {
            let found = transfer::read_runs(&handle, &all, origin, &mut bytes, sieve);
            (found, bytes)
        });
        Ok(Hold::Moving { ticket, read: Some(round) })
    }

    /// Writes a window that has come.
    fn write(&mut self, order: &Order, index: usize, all: Vec<Run>, origin: u64) -> Hold {
        let (handle, sieve) = (Arc::clone(&order.common.handle), order.sieve());
        let bytes = self.windows[index].room.take().map_or_else(Vec::new, Room::into_bytes);
        let ticket = Ticket::begin(order.bell(), move || {
            let written = transfer::write_runs(&handle, &all, origin, &bytes, sieve);
            (written.map(|()| Found::default()), bytes)
        });
        Hold::Moving { ticket, read: None }
    }

    /// Hands a window that was read out to the ranks: to each as much of what it wants as the file has.
    fn hand_out(&mut self, order: &Order, index: usize, round: u64, found: Found) -> Result<Hold> {
        let Common { rank, comm, .. } = &*order.common;
        let window = self.domains.window(self.domain, round);
        let there = window.start..window.end.min(found.end.unwrap_or(u64::MAX)).max(window.start);
        let Some(room) = &self.windows[index].room else { return Ok(Hold::Nothing) };
        let mut requests = Vec::new();
        for (member, runs) in self.wanting(&window) {
            let (at, datatype) = placed(runs, &there, window.start)?;
            let (to, tag) = (Dest::Rank(member), order.tag_of_round(round));
            requests.push(rank.isend(SendMode::Standard, &room.send(at, 1, &datatype), to, tag, comm)?);
        }
        Ok(Hold::Sending(requests))
    }
}

/// What of a rank's runs lies in a part of the file, as a datatype; and how far behind the origin it begins.
fn placed(runs: &Runs, part: &Range<u64>, origin: u64) -> Result<(usize, Datatype)> {
    let byte = Datatype::basic(Basic::Byte);
    let stripes = runs.stripes_in(part);
    let first = stripes.first().map_or(origin, |stripe| stripe.offset);
    let of_stripe = |stripe: &Stripe| {
        let datatype = Datatype::strided(stripe.count, stripe.len, stripe.stride as i64, &byte)?;
        Some(((stripe.offset - first) as i64, datatype))
    };
    let types: Option<Vec<(i64, Datatype)>> = stripes.iter().map(of_stripe).collect();
    let members = |types: Vec<(i64, Datatype)>| {
        let members: Vec<Member<'_>> =
            types.iter().map(|(at, of)| Member { at: *at, copies: 1, of }).collect();
        Datatype::structure(&members)
    };
    let whole = types.and_then(members).ok_or(engine::Error::Internal { reason: "a window has no type" })?;
    Ok(((first - origin) as usize, whole))
}

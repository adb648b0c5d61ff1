//! The two phases of a collective access: lists, in which each rank tells those who stand for domains which runs it wants there, and rounds, in each of which
//! these hold a window of their domain, whose bytes come from the ranks or go to them.
//!
//! A message of a round is one piece of the rank's stream, since runs ascend in both; at the window its bytes are scattered as the list says. Where memory can be
//! reached, what is to be written is fetched instead (`pull`), and the lists tell where it is: then only those who stand for domains have work in the rounds.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use engine::datatype::{Basic, Member};
use engine::{
    Datatype, Dest, Mode as SendMode, Rank, RequestId, SendBuffer, Source as From, State, TagMatch,
};

use crate::collective::{Common, Data, LISTS, Order};
use crate::domains::Domains;
use crate::error::{Error, Result};
use crate::memory::Room;
use crate::pull::Origin;
use crate::runs::{Run, Runs, Stripe, union};
use crate::transfer::{self, Found};
use crate::work::Ticket;

/// Messages under way between two ranks, and windows that a rank holds.
const AHEAD: usize = 2;

/// How ranks access a file together: all have the same.
#[derive(Clone)]
pub(crate) struct Division {
    pub domains: Domains,
    /// What is written is fetched out of the ranks' memory.
    pub pulls: bool,
}

/// The ranks tell each other which runs they want.
pub(crate) struct Lists {
    domains: Domains,
    /// What is written is fetched: each list begins with where from.
    pulls: bool,
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
    Come(Runs, Option<Origin>),
}

impl Lists {
    pub fn begin(order: &mut Order, Division { domains, pulls }: Division) -> Result<Lists> {
        let mut own: Vec<(Runs, u64)> = Vec::new();
        own.resize_with(domains.count() as usize, || (Runs::default(), 0));
        order.pattern.walk_stripes(order.range(), |stripe, at| {
            let mut add = |stripe: Stripe, at| {
                let (runs, start) = &mut own[domains.at(stripe.offset).0 as usize];
                if runs.is_empty() {
                    *start = at;
                }
                runs.push_stripe(stripe);
            };
            if stripe.end() <= domains.at(stripe.offset).1 {
                return add(stripe, at);
            }
            for index in 0..stripe.count {
                let (Run { mut offset, mut len }, mut at) = (stripe.run(index), at + index * stripe.len);
                while len > 0 {
                    let part = len.min(domains.at(offset).1 - offset);
                    add(Stripe { offset, len: part, stride: 0, count: 1 }, at);
                    (offset, at, len) = (offset + part, at + part, len - part);
                }
            }
        });
        let key = if pulls { Some(order.expose()?) } else { None };
        let Common { rank, comm, .. } = &*order.common;
        let mut sends = Vec::new();
        for (domain, (runs, start)) in own.iter().enumerate() {
            let origin = key.map_or_else(Vec::new, |key| Origin::encode(&key, *start));
            let buffer = SendBuffer::owned([origin, runs.encode()].concat());
            let to = Dest::Rank(domains.rank_of(domain as u64));
            sends.push(rank.isend(SendMode::Standard, &buffer, to, order.tag(LISTS), comm)?);
        }
        let is_member = domains.of_rank(comm.rank()).is_some();
        let members = (0..if is_member { comm.size() } else { 0 }).map(|_| Listed::Awaited).collect();
        Ok(Lists { domains, pulls, own, sends, members })
    }

    /// True once all lists that this rank needs are here, and its own have gone.
    pub fn advance(&mut self, order: &Order) -> Result<bool> {
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
                let node = comm.group().node(member as u32);
                let pulls = self.pulls;
                let come = || {
                    let head = if pulls { Origin::BYTES } else { 0 };
                    let (origin, runs) = room.bytes().split_at_checked(head)?;
                    let origin =
                        if pulls { Some(Origin::decode(rank.fabric(), node?, origin)?) } else { None };
                    Some(Listed::Come(Runs::decode(runs)?, origin))
                };
                *listed = come().ok_or(damaged)?;
            }
            complete &= matches!(listed, Listed::Come(..));
        }
        Ok(complete)
    }

    pub fn rounds(&mut self, order: &Order) -> Rounds {
        let own = if self.pulls { Vec::new() } else { std::mem::take(&mut self.own) };
        let lanes =
            own.into_iter().map(|(runs, position)| Lane { runs, position, round: 0, ahead: Vec::new() });
        let lists = self.members.drain(..).map(|listed| match listed {
            Listed::Come(runs, origin) => (runs, origin),
            _ => (Runs::default(), None),
        });
        let (lists, origins): (Vec<Runs>, Vec<Option<Origin>>) = lists.unzip();
        let windows = if lists.is_empty() { 0 } else { AHEAD };
        Rounds {
            domain: self.domains.of_rank(order.common.comm.rank()).unwrap_or(0),
            lanes: lanes.collect(),
            round: if lists.is_empty() { self.domains.rounds() } else { 0 },
            lists,
            origins: origins.into_iter().flatten().collect(),
            windows: (0..windows)
                .map(|_| Window { room: None, staging: Room::new(0), state: Hold::Nothing })
                .collect(),
            domains: self.domains.clone(),
            moved: if self.pulls { order.data.bytes() } else { 0 },
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
pub(crate) struct Rounds {
    domains: Domains,
    /// To those who stand for domains.
    lanes: Vec<Lane>,
    /// What the ranks want of this one.
    lists: Vec<Runs>,
    /// Where what they write is fetched from; empty if they send it.
    origins: Vec<Origin>,
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
    /// Where the parts of ranks lie that are scattered in the window, each in one piece, as they travel. Kept from round to round: memory that is new costs more than
    /// the copy.
    staging: Room,
    state: Hold,
}

enum Hold {
    Nothing,
    /// Bytes come from the ranks, to be written as these runs.
    Filling {
        parts: Vec<Coming>,
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

/// A part of a window that comes from a rank.
struct Coming {
    request: RequestId,
    /// Where it lies in the staging memory, and where it belongs.
    staged: Option<(usize, usize, Datatype)>,
}

impl Rounds {
    pub fn has_ended(&self) -> bool {
        let rounds = self.domains.rounds();
        self.lanes.iter().all(|lane| lane.round == rounds && lane.ahead.is_empty())
            && self.round >= rounds
            && self.windows.iter().all(|window| matches!(window.state, Hold::Nothing))
    }

    /// Whether windows are fetched: then a step is a piece of work, after which others may want something of this rank.
    pub fn pulls(&self) -> bool {
        !self.origins.is_empty()
    }

    /// Whether a window waits for a thread.
    pub fn awaits_outside(&self) -> bool {
        let waits =
            |window: &Window| matches!(&window.state, Hold::Moving { ticket, .. } if ticket.is_pending());
        self.windows.iter().any(waits)
    }

    pub fn outcome(&mut self) -> Result<u64> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(self.moved),
        }
    }

    /// Goes on as far as it can; whether it went on at all.
    pub fn advance(&mut self, order: &mut Order) -> Result<bool> {
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
            went_on = true;
            lane.round = next_round(&self.domains, index as u64, lane.round, [&lane.runs].into_iter());
            if lane.round == rounds {
                break;
            }
            let bytes = lane.runs.bytes_in(&self.domains.window(index as u64, lane.round));
            let tag = order.tag_of_round(lane.round);
            lane.round += 1;
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

    /// Bytes that all ranks want in a window.
    fn bytes_in(&self, window: &Range<u64>) -> usize {
        self.lists.iter().map(|runs| runs.bytes_in(window) as usize).sum()
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
            Hold::Filling { parts, all, origin } => {
                let before = parts.len();
                let parts = self.take_up(rank, index, parts)?;
                match parts.len() {
                    0 => (self.write(order, index, all, origin), true),
                    left => (Hold::Filling { parts, all, origin }, left < before),
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
        let round = next_round(&self.domains, self.domain, self.round, self.lists.iter());
        self.round = round + 1;
        if round == self.domains.rounds() {
            return Ok(Hold::Nothing);
        }
        let window = self.domains.window(self.domain, round);
        let all = union(&self.lists, &window);
        let room = self.windows[index].room.take();
        let mut room = room.unwrap_or_else(|| Room::new(self.domains.window_bytes() as usize));
        let origin = window.start;
        if self.pulls() {
            let mut staging = self.windows[index].staging.take();
            let fetched = self.fetch(rank, &window, &mut room, &mut staging);
            (self.windows[index].room, self.windows[index].staging) = (Some(room), staging);
            return Ok(match fetched {
                Ok(()) => self.write(order, index, all, origin),
                Err(error) => {
                    // The others learn of it in the end.
                    self.failed.get_or_insert(error.into());
                    self.round = self.domains.rounds();
                    Hold::Nothing
                }
            });
        }
        if order.data.writes() {
            let (mut parts, mut used) = (Vec::new(), 0);
            let mut staging = self.windows[index].staging.take();
            staging.grow(self.bytes_in(&window));
            for (member, runs) in self.wanting(&window) {
                let (place, datatype) = placed(runs, &window, origin)?;
                let (from, tag) = (From::Rank(member), TagMatch::Is(order.tag_of_round(round)));
                let bytes = datatype.size();
                let (into, staged) = if datatype.layout().is_contiguous() {
                    (room.receive(place, 1, &datatype), None)
                } else {
                    let at = used;
                    used += bytes as usize;
                    (staging.receive(at, bytes, &Datatype::basic(Basic::Byte)), Some((at, place, datatype)))
                };
                parts.push(Coming { request: rank.irecv(&into, from, tag, comm)?, staged });
            }
            self.windows[index].room = Some(room);
            self.windows[index].staging = staging;
            return Ok(Hold::Filling { parts, all, origin });
        }
        let (handle, sieve, mut bytes) = (Arc::clone(handle), order.sieve(), room.into_bytes());
        let ticket = Ticket::begin(order.bell(), move || {
            let found = transfer::read_runs(&handle, &all, origin, &mut bytes, sieve);
            (found, bytes)
        });
        Ok(Hold::Moving { ticket, read: Some(round) })
    }

    /// Fetches what all ranks have for a window.
    fn fetch(
        &mut self,
        rank: &Rank,
        window: &Range<u64>,
        room: &mut Room,
        staging: &mut Room,
    ) -> engine::Result<()> {
        for (runs, origin) in self.lists.iter().zip(&mut self.origins) {
            origin.fetch(rank.fabric(), &runs.stripes_in(window), window.start, room, staging)?;
        }
        Ok(())
    }

    /// Puts parts that have come to where they belong; those that have not.
    fn take_up(&mut self, rank: &Rank, index: usize, parts: Vec<Coming>) -> Result<Vec<Coming>> {
        let Window { room, staging, .. } = &mut self.windows[index];
        let mut left = Vec::new();
        for part in parts {
            if rank.state(part.request)? == State::Active {
                left.push(part);
                continue;
            }
            rank.take(part.request)?;
            if let (Some((at, place, datatype)), Some(room)) = (part.staged, room.as_mut()) {
                let bytes = &staging.bytes()[at..at + datatype.size() as usize];
                room.receive(place, 1, &datatype).unpack(0, bytes);
            }
        }
        Ok(left)
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
        let mut staging = self.windows[index].staging.take();
        staging.grow(self.bytes_in(&window));
        let Some(room) = &self.windows[index].room else { return Ok(Hold::Nothing) };
        let (mut requests, mut used) = (Vec::new(), 0);
        for (member, runs) in self.wanting(&window) {
            let (place, datatype) = placed(runs, &there, window.start)?;
            let (to, tag) = (Dest::Rank(member), order.tag_of_round(round));
            let mut from = room.send(place, 1, &datatype);
            if !datatype.layout().is_contiguous() {
                let bytes = datatype.size();
                let at = used;
                used += bytes as usize;
                from.pack(0, staging.part(at, bytes as usize));
                from = staging.send(at, bytes, &Datatype::basic(Basic::Byte));
            }
            requests.push(rank.isend(SendMode::Standard, &from, to, tag, comm)?);
        }
        self.windows[index].staging = staging;
        Ok(Hold::Sending(requests))
    }
}

/// The first round from this one on in whose window of the domain there are bytes of some of the runs; all rounds, if there is none. Ranks may want little of a
/// long part of a file.
fn next_round<'a>(domains: &Domains, domain: u64, round: u64, lists: impl Iterator<Item = &'a Runs>) -> u64 {
    let from = domains.window(domain, round).start;
    let first = lists.filter_map(|runs| runs.first_from(from)).min();
    first.map_or(domains.rounds(), |first| domains.round_of(domain, first).max(round))
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

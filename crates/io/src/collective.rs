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

use engine::{Comm, Rank, Tag};
use fabric::Key;

use crate::domains::{Domains, are_interleaved};
use crate::error::Result;
use crate::handle::Handle;
use crate::hints::{Hints, Switch};
use crate::meeting::{Meeting, Words, judge, verdict};
use crate::memory::{Lent, Sink, Source};
use crate::pattern::Pattern;
use crate::pointer::SharedPointer;
use crate::pull;
use crate::transfer::{self, Sieve};
use crate::two_phase::{Division, Lists, Rounds};
use crate::work::{Bell, Ticket};

/// What the accesses of a file have in common.
pub(crate) struct Common {
    pub rank: &'static Rank,
    /// The members, in a communicator that nobody else speaks through.
    pub comm: Comm,
    pub handle: Arc<Handle>,
    pub bell: Option<Bell>,
    /// Cores that this process may use.
    pub cores: fn() -> usize,
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
    /// Ranks lock what they write.
    pub locks: bool,
    pub hints: Hints,
    pub atomic: bool,
    /// A number that this collective access has at all ranks.
    pub number: u32,
    /// The program does not wait for it: threads may do it.
    pub by_threads: bool,
    /// The others may get the program's memory.
    pub exposed: Option<Key>,
}

/// Bytes of the program's memory that are packed at a time.
const PACKED: usize = 4 << 20;
/// Runs of so many bytes and more are not sent to be collected: each rank moves its own.
const LONG_RUN: u64 = 64 << 10;

impl Order {
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + self.data.bytes()
    }

    pub fn sieve(&self) -> Sieve {
        match self.data {
            Data::Write(_) => Sieve::to_write(&self.hints, self.atomic, self.locks),
            Data::Read(_) => Sieve::to_read(&self.hints, self.atomic),
        }
    }

    pub fn bell(&self) -> Option<&Bell> {
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

    /// Lets the other ranks get what is written, until [`withdraw`](Order::withdraw).
    pub fn expose(&mut self) -> Result<Key> {
        let Data::Write(source) = &self.data else {
            return Err(engine::Error::Internal { reason: "what is read is not fetched" }.into());
        };
        let refused = engine::Error::Internal { reason: "memory cannot be exposed" };
        let key = source.expose(self.common.rank.fabric()).map_err(|_| refused)?;
        self.exposed = Some(key);
        Ok(key)
    }

    /// Nobody needs the program's memory any more.
    fn withdraw(&mut self) {
        if let Some(key) = self.exposed.take() {
            self.common.rank.fabric().withdraw(key);
        }
    }

    /// The tag of what is said at a place of this access.
    pub fn tag(&self, place: u64) -> Tag {
        Tag::new(i64::from(self.number % 1024) << 20 | place as i64).unwrap_or(Tag::own(0))
    }

    pub fn tag_of_round(&self, round: u64) -> Tag {
        self.tag(round % ORDER)
    }

    fn meeting(&self, place: u64, mine: Words) -> Result<Meeting> {
        Meeting::begin(self.common.rank, &self.common.comm, self.tag(place), mine)
    }
}

/// The places among the tags of an access that its meetings and lists have, behind those of its rounds.
const ORDER: u64 = (1 << 20) - 5;
const PLACE: u64 = ORDER + 1;
const MEET: u64 = ORDER + 2;
pub(crate) const LISTS: u64 = ORDER + 3;
const AGREE: u64 = ORDER + 4;

/// An access that is under way.
pub(crate) struct Access {
    /// Gone when it has ended.
    order: Option<Order>,
    stage: Stage,
    steps: u64,
}

enum Stage {
    Order(Rc<SharedPointer>, u64, Meeting),
    /// With the units of the ranks before this one, and the bytes of a unit.
    Place(u64, u64, Meeting),
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
        let meeting = order.meeting(ORDER, [order.data.bytes() / unit, 0, 0, 0, 0, 0, 0, 0])?;
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
            Stage::Rounds(rounds) => rounds.awaits_outside(),
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
            if matches!(&self.stage, Stage::Rounds(rounds) if rounds.pulls()) {
                return None;
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
                let units = |ranks: &[Words]| ranks.iter().map(|words| words[0]).sum::<u64>();
                // Only now has every rank come: until then one of them may still have moved the pointer by an access of its own.
                let from = if comm.rank() == 0 { pointer.add(units(&said) as i64)? } else { 0 };
                let meeting = order.meeting(PLACE, [from as u64, 0, 0, 0, 0, 0, 0, 0])?;
                Stage::Place(units(&said[..comm.rank() as usize]), *unit, meeting)
            }
            Stage::Place(before, unit, meeting) => {
                let Some(said) = meeting.poll(rank, comm)? else { return Ok(false) };
                order.start = (said[0][0] + *before) * *unit;
                Stage::Meet(order.meeting(MEET, wanted(order))?)
            }
            Stage::Meet(meeting) => {
                let Some(said) = meeting.poll(rank, comm)? else { return Ok(false) };
                match division(&said, comm.size()) {
                    None => order.alone(),
                    Some(division) => Stage::Lists(Box::new(Lists::begin(order, division)?)),
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
                order.withdraw();
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
    let (switch, maps, pulls) = match &order.data {
        Data::Write(source) => {
            (order.hints.collects_writes, false, source.is_in_one_piece() && reaches_all(order))
        }
        Data::Read(_) => (order.hints.collects_reads, is_mapped(order, &reach), false),
    };
    let way = match switch {
        _ if order.overlaps || order.atomic => ALONE,
        Switch::Disable => ALONE,
        Switch::Enable => TOGETHER,
        Switch::Automatic if maps => ALONE,
        Switch::Automatic => AS_IT_SEEMS,
    };
    let way = if pulls { way | PULLED } else { way };
    [
        reach.start,
        reach.end,
        bytes,
        order.pattern.runs_of(bytes),
        way,
        aggregators(&order.hints, &order.common),
        order.hints.window,
        order.hints.alignment,
    ]
}

/// How a rank wants a collective access to be done.
const AS_IT_SEEMS: u64 = 0;
const TOGETHER: u64 = 1;
const ALONE: u64 = 2;
/// Added to it: what it writes can be fetched from its memory, and it can do the same with the others'.
const PULLED: u64 = 4;
fn reaches_all(order: &Order) -> bool {
    pull::reaches_all(order.common.rank.fabric(), order.common.comm.group().nodes())
}

/// A byte that is wanted of so many that lie around it: more of them, and it costs less to map a page of the file at every rank that wants something of it than to
/// collect what they want and send it.
const SPARSE: u64 = 64;

/// Whether a rank takes what it wants straight out of a mapping of the file: one copy, and no message.
fn is_mapped(order: &Order, reach: &Range<u64>) -> bool {
    let maps = order.common.handle.can_map() && order.hints.sieves_reads == Switch::Automatic;
    let wanted = order.data.bytes();
    maps && wanted > 0 && (reach.end - reach.start) / wanted <= SPARSE
}

/// How many ranks stand for parts of a file: as many as there are cores for, if nothing else is said. More would only take turns.
pub(crate) fn aggregators(hints: &Hints, common: &Common) -> u64 {
    let wanted = if hints.aggregators > 0 { hints.aggregators } else { (common.cores)() as u64 };
    wanted.clamp(1, u64::from(common.comm.size()))
}

/// How the file is divided, if its ranks access it together. The first rank's hints are those of all.
fn division(said: &[Words], members: u32) -> Option<Division> {
    let [.., aggregators, window, alignment] = *said.first()?;
    let way = |words: &Words| words[4] & !PULLED;
    if members == 1 || said.iter().any(|words| way(words) == ALONE) {
        return None;
    }
    let parts = || said.iter().map(|words| words[0]..words[1]);
    let start = parts().filter(|part| !part.is_empty()).map(|part| part.start).min()?;
    let end = parts().map(|part| part.end).max()?;
    let (bytes, runs) = said.iter().fold((0_u64, 0_u64), |(bytes, runs), words| {
        (bytes.saturating_add(words[2]), runs.saturating_add(if words[2] == 0 { 0 } else { words[3] }))
    });
    let pulls = said.iter().all(|words| words[4] & PULLED != 0);
    let is_worth_it = (pulls || bytes / runs.max(1) < LONG_RUN) && are_interleaved(parts().collect());
    (way(&said[0]) == TOGETHER || is_worth_it).then(|| Division {
        domains: Domains::new(start..end, aggregators, u64::from(members), (alignment, window)),
        pulls,
    })
}

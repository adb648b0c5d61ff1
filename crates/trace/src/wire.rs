//! Events as 64-bit words.
//!
//! ```text
//!  63            32 31        16 15     8 7      0
//! +----------------+------------+--------+--------+
//! | ticks since    | flags,     | words  | kind   |   header word, then `words - 1` words of the kind
//! | the base (i32) | protocol   |        |        |
//! +----------------+------------+--------+--------+
//! ```
//!
//! Most events so need no full time. A record of kind `BASE` carries the time that those after it count from; every
//! chunk begins with one, so a stream can be read from any chunk on.

use crate::event::{AccessKind, EpochKind, Event, MessageId, Name, Protocol, ServerKind};

/// The longest record, in words.
pub(crate) const LONGEST: usize = 6;
/// Sets the base: the header, then the time.
pub(crate) const BASE: u8 = 0x01;
/// Words of a `BASE` record.
pub(crate) const BASE_WORDS: usize = 2;

const ENTER: u8 = 0x10;
const LEAVE: u8 = 0x11;
const SEND_START: u8 = 0x12;
const SEND_END: u8 = 0x13;
const RECV_POST: u8 = 0x14;
const RECV_MATCH: u8 = 0x15;
const RECV_END: u8 = 0x16;
const WAIT: u8 = 0x17;
const COMPUTE: u8 = 0x18;
const PHASE: u8 = 0x19;
const COUNTER: u8 = 0x1a;
const ACCESS: u8 = 0x1b;
const EPOCH_BEGIN: u8 = 0x1c;
const EPOCH_END: u8 = 0x1d;
const COLLECTIVE: u8 = 0x1e;
const MEMBERS: u8 = 0x1f;
const LINK_USE: u8 = 0x20;
const POWER: u8 = 0x21;
const MEMORY: u8 = 0x22;
const DMA_QUEUE: u8 = 0x23;
const DDR_QUEUE: u8 = 0x24;
const SERVER_USE: u8 = 0x25;
const REGION: u8 = 0x26;

/// The bit of a header that says that a send or a match is complete.
pub(crate) const DONE: u64 = 1 << 24;
/// The bit of a header that says that a region begins; without it, one ends.
const BEGINS: u64 = 1 << 16;
/// The bit of a header that says that the rank leaves its call right after this event.
pub(crate) const LEFT: u64 = 1 << 25;

/// Takes the words of a record, the first of which lacks its ticks since the base.
pub(crate) trait Sink {
    fn put<const N: usize>(&mut self, words: [u64; N]);
}

/// The header of a record of so many words.
#[inline(always)]
fn head(kind: u8, words: usize) -> u64 {
    u64::from(kind) | (words as u64) << 8
}

#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The header word of a record, completed by its ticks since the base.
#[inline(always)]
pub(crate) fn with_delta(header: u64, delta: i32) -> u64 {
    header | u64::from(delta as u32) << 32
}

/// The header of a send or a match: how the message travels, and whether it is complete.
#[inline(always)]
fn travels(kind: u8, words: usize, protocol: Protocol, done: bool) -> u64 {
    head(kind, words) | (protocol as u64) << 16 | if done { DONE } else { 0 }
}

/// The header of a record that has a kind of its own: of access, epoch or server.
#[inline(always)]
fn of_kind(kind: u8, words: usize, number: u8) -> u64 {
    head(kind, words) | u64::from(number) << 16
}

/// The record that sets the base to `time`.
#[inline(always)]
pub(crate) fn base(time: u64) -> [u64; BASE_WORDS] {
    [u64::from(BASE) | (BASE_WORDS as u64) << 8, time]
}

/// Writes an event. Inlined wherever it is called, because the kind of an event is known there.
#[inline(always)]
pub(crate) fn write(event: &Event, sink: &mut impl Sink) {
    match *event {
        Event::Enter { function, site, .. } => sink.put([head(ENTER, 2), pair(function.0, site.0)]),
        Event::Leave { .. } => sink.put([head(LEAVE, 1)]),
        Event::SendStart { message, to, tag, comm, bytes, protocol, done, .. } => {
            let header = travels(SEND_START, 5, protocol, done);
            sink.put([header, message.0, pair(to, tag as u32), bytes, pair(comm, 0)]);
        }
        Event::SendEnd { message, .. } => sink.put([head(SEND_END, 2), message.0]),
        Event::RecvPost { request, from, tag, comm, bytes, .. } => {
            sink.put([head(RECV_POST, 5), request, pair(from, tag as u32), bytes, pair(comm, 0)]);
        }
        Event::RecvMatch { message, request, from, tag, bytes, protocol, done, waited, .. } => {
            let [header, longer] = [5, 6].map(|words| travels(RECV_MATCH, words, protocol, done));
            let peer = pair(from, tag as u32);
            match waited {
                0 => sink.put([header, message.0, peer, bytes, request]),
                waited => sink.put([longer, message.0, peer, bytes, request, waited]),
            }
        }
        Event::RecvEnd { message, .. } => sink.put([head(RECV_END, 2), message.0]),
        Event::Wait { begin, end } => sink.put([head(WAIT, 2), end.wrapping_sub(begin)]),
        Event::Compute { begin, end } => sink.put([head(COMPUTE, 2), end.wrapping_sub(begin)]),
        Event::Phase { collective, round, .. } => sink.put([head(PHASE, 2), pair(collective.0, round)]),
        Event::Counter { which, value, .. } => sink.put([head(COUNTER, 3), pair(which.0, 0), value]),
        Event::Access { kind, target, window, bytes, .. } => {
            sink.put([of_kind(ACCESS, 3, kind as u8), pair(target, window), bytes]);
        }
        Event::EpochBegin { asked, time, kind, peer, window } => {
            let header = of_kind(EPOCH_BEGIN, 3, kind as u8);
            sink.put([header, pair(peer, window), time.wrapping_sub(asked)]);
        }
        Event::EpochEnd { asked, time, kind, peer, window } => {
            let header = of_kind(EPOCH_END, 3, kind as u8);
            sink.put([header, pair(peer, window), time.wrapping_sub(asked)]);
        }
        Event::Collective { which, comm, number, root, bytes, .. } => {
            sink.put([head(COLLECTIVE, 4), pair(which.0, comm), pair(number as u32, root), bytes]);
        }
        Event::Members { comm, members, .. } => sink.put([head(MEMBERS, 2), pair(comm, members.0)]),
        Event::Region { number, begins, .. } => {
            sink.put([of_kind(REGION, 2, begins as u8), pair(number, 0)]);
        }
        Event::LinkUse { begin, end, link, flits } => {
            sink.put([head(LINK_USE, 3), end.wrapping_sub(begin), pair(link, flits)]);
        }
        Event::Power { microwatts, .. } => sink.put([head(POWER, 2), microwatts]),
        Event::Memory { place, bytes, .. } => sink.put([head(MEMORY, 3), pair(place, 0), bytes]),
        Event::DmaQueue { place, depth, .. } => sink.put([head(DMA_QUEUE, 2), pair(place, depth)]),
        Event::DdrQueue { controller, depth, .. } => sink.put([head(DDR_QUEUE, 2), pair(controller, depth)]),
        Event::ServerUse { begin, end, server, place, busy } => {
            let header = of_kind(SERVER_USE, 4, server as u8);
            sink.put([header, end.wrapping_sub(begin), pair(place, 0), busy]);
        }
    }
}

/// One record read from words.
pub(crate) enum Decoded {
    /// The base is now this time.
    Base(u64),
    /// An event; and whether the rank leaves its call right after it.
    Event(Event, bool),
    /// A record of a kind that this version does not know.
    Unknown,
}

/// Reads the record at the beginning of `words`; its length, and what it says. `None` if it is cut short or of a length
/// that its kind does not have.
pub(crate) fn decode(words: &[u64], base: u64) -> Option<(usize, Decoded)> {
    let header = *words.first()?;
    let length = (header >> 8 & 0xff) as usize;
    let body = words.get(1..length)?;
    let time = base.wrapping_add_signed(i64::from((header >> 32) as u32 as i32));
    let event = match (header as u8, body) {
        (BASE, &[time]) => return Some((length, Decoded::Base(time))),
        (kind, body) => match event(kind, header, time, body) {
            Ok(event) => event,
            Err(NotAnEvent::UnknownKind) => return Some((length, Decoded::Unknown)),
            Err(NotAnEvent::WrongLength) => return None,
        },
    };
    Some((length, Decoded::Event(event, header & LEFT != 0)))
}

enum NotAnEvent {
    UnknownKind,
    WrongLength,
}

fn event(kind: u8, header: u64, time: u64, body: &[u64]) -> Result<Event, NotAnEvent> {
    let low = |word: u64| word as u32;
    let high = |word: u64| (word >> 32) as u32;
    let message = |word: u64| MessageId(word);
    let name = |word: u64| Name(word as u32);
    let protocol = Protocol::from_number((header >> 16) as u8);
    let done = header & DONE != 0;
    Ok(match (kind, body) {
        (ENTER, &[names]) => Event::Enter { time, function: name(names), site: Name(high(names)) },
        (LEAVE, &[]) => Event::Leave { time },
        (SEND_START, &[id, peer, bytes, comm]) => Event::SendStart {
            time,
            message: message(id),
            to: low(peer),
            tag: high(peer) as i32,
            comm: low(comm),
            bytes,
            protocol,
            done,
        },
        (SEND_END, &[id]) => Event::SendEnd { time, message: message(id) },
        (RECV_POST, &[request, peer, bytes, comm]) => {
            Event::RecvPost { time, request, from: low(peer), tag: high(peer) as i32, comm: low(comm), bytes }
        }
        (RECV_MATCH, &[id, peer, bytes, request, ref waited @ ..]) if waited.len() <= 1 => Event::RecvMatch {
            time,
            message: message(id),
            request,
            from: low(peer),
            tag: high(peer) as i32,
            bytes,
            protocol,
            done,
            waited: waited.first().copied().unwrap_or(0),
        },
        (RECV_END, &[id]) => Event::RecvEnd { time, message: message(id) },
        (WAIT, &[lasted]) => Event::Wait { begin: time.wrapping_sub(lasted), end: time },
        (COMPUTE, &[lasted]) => Event::Compute { begin: time.wrapping_sub(lasted), end: time },
        (PHASE, &[word]) => Event::Phase { time, collective: name(word), round: high(word) },
        (COUNTER, &[which, value]) => Event::Counter { time, which: name(which), value },
        (ACCESS, &[word, bytes]) => {
            let kind = AccessKind::from_number((header >> 16) as u8);
            Event::Access { time, kind, target: low(word), window: high(word), bytes }
        }
        (EPOCH_BEGIN | EPOCH_END, &[word, lasted]) => {
            let (peer, window, asked) = (low(word), high(word), time.wrapping_sub(lasted));
            let number = EpochKind::from_number((header >> 16) as u8);
            if kind == EPOCH_BEGIN {
                Event::EpochBegin { asked, time, kind: number, peer, window }
            } else {
                Event::EpochEnd { asked, time, kind: number, peer, window }
            }
        }
        (COLLECTIVE, &[word, place, bytes]) => Event::Collective {
            time,
            which: name(word),
            comm: high(word),
            number: low(place) as i32,
            root: high(place),
            bytes,
        },
        (MEMBERS, &[word]) => Event::Members { time, comm: low(word), members: Name(high(word)) },
        (LINK_USE, &[lasted, word]) => {
            Event::LinkUse { begin: time.wrapping_sub(lasted), end: time, link: low(word), flits: high(word) }
        }
        (POWER, &[microwatts]) => Event::Power { time, microwatts },
        (MEMORY, &[place, bytes]) => Event::Memory { time, place: low(place), bytes },
        (DMA_QUEUE, &[word]) => Event::DmaQueue { time, place: low(word), depth: high(word) },
        (DDR_QUEUE, &[word]) => Event::DdrQueue { time, controller: low(word), depth: high(word) },
        (SERVER_USE, &[lasted, place, busy]) => Event::ServerUse {
            begin: time.wrapping_sub(lasted),
            end: time,
            server: ServerKind::from_number((header >> 16) as u8),
            place: low(place),
            busy,
        },
        (REGION, &[word]) => Event::Region { time, number: low(word), begins: header & BEGINS != 0 },
        (ENTER..=REGION, _) => return Err(NotAnEvent::WrongLength),
        _ => return Err(NotAnEvent::UnknownKind),
    })
}

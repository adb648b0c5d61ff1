//! Events as 64-bit words.
//!
//! ```text
//!  63            32 31        16 15     8 7      0
//! +----------------+------------+--------+--------+
//! | ticks since    | protocol   | words  | kind   |   header word, then `words - 1` words of the kind
//! | the base (i32) | or 0       |        |        |
//! +----------------+------------+--------+--------+
//! ```
//!
//! Most events so need no full time. A record of kind `BASE` carries the time that those after it count from; every
//! chunk begins with one, so a stream can be read from any chunk on.

use crate::event::{Event, MessageId, Name, Protocol};

/// The longest record, in words.
pub(crate) const LONGEST: usize = 5;
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
const LINK_USE: u8 = 0x20;
const POWER: u8 = 0x21;
const MEMORY: u8 = 0x22;
const DMA_QUEUE: u8 = 0x23;
const DDR_QUEUE: u8 = 0x24;

/// A record without the time in its header: its length, and its words.
pub(crate) type Record = (usize, [u64; LONGEST]);

#[inline(always)]
fn record<const N: usize>(kind: u8, extra: u16, words: [u64; N]) -> Record {
    let mut all = [0; LONGEST];
    all[0] = u64::from(kind) | ((N + 1) as u64) << 8 | u64::from(extra) << 16;
    all[1..=N].copy_from_slice(&words);
    (N + 1, all)
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

/// The record that sets the base to `time`.
#[inline(always)]
pub(crate) fn base(time: u64) -> [u64; BASE_WORDS] {
    [u64::from(BASE) | (BASE_WORDS as u64) << 8, time]
}

/// What an event is recorded as.
#[inline(always)]
pub(crate) fn encode(event: &Event) -> Record {
    match *event {
        Event::Enter { function, site, .. } => record(ENTER, 0, [pair(function.0, site.0)]),
        Event::Leave { .. } => record(LEAVE, 0, []),
        Event::SendStart { message, to, tag, comm, bytes, protocol, .. } => {
            record(SEND_START, protocol as u16, [message.0, pair(to, tag as u32), bytes, pair(comm, 0)])
        }
        Event::SendEnd { message, .. } => record(SEND_END, 0, [message.0]),
        Event::RecvPost { request, from, tag, comm, bytes, .. } => {
            record(RECV_POST, 0, [request, pair(from, tag as u32), bytes, pair(comm, 0)])
        }
        Event::RecvMatch { message, request, from, tag, bytes, protocol, .. } => {
            record(RECV_MATCH, protocol as u16, [message.0, pair(from, tag as u32), bytes, request])
        }
        Event::RecvEnd { message, .. } => record(RECV_END, 0, [message.0]),
        Event::Wait { begin, end } => record(WAIT, 0, [end.wrapping_sub(begin)]),
        Event::Compute { begin, end } => record(COMPUTE, 0, [end.wrapping_sub(begin)]),
        Event::Phase { collective, round, .. } => record(PHASE, 0, [pair(collective.0, round)]),
        Event::Counter { which, value, .. } => record(COUNTER, 0, [pair(which.0, 0), value]),
        Event::LinkUse { begin, end, link, flits } => {
            record(LINK_USE, 0, [end.wrapping_sub(begin), pair(link, flits)])
        }
        Event::Power { microwatts, .. } => record(POWER, 0, [microwatts]),
        Event::Memory { place, bytes, .. } => record(MEMORY, 0, [pair(place, 0), bytes]),
        Event::DmaQueue { place, depth, .. } => record(DMA_QUEUE, 0, [pair(place, depth)]),
        Event::DdrQueue { controller, depth, .. } => record(DDR_QUEUE, 0, [pair(controller, depth)]),
    }
}

/// One record read from words.
pub(crate) enum Decoded {
    /// The base is now this time.
    Base(u64),
    /// An event.
    Event(Event),
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
        (kind, body) => match event(kind, (header >> 16) as u16, time, body) {
            Ok(event) => event,
            Err(NotAnEvent::UnknownKind) => return Some((length, Decoded::Unknown)),
            Err(NotAnEvent::WrongLength) => return None,
        },
    };
    Some((length, Decoded::Event(event)))
}

enum NotAnEvent {
    UnknownKind,
    WrongLength,
}

fn event(kind: u8, extra: u16, time: u64, body: &[u64]) -> Result<Event, NotAnEvent> {
    let low = |word: u64| word as u32;
    let high = |word: u64| (word >> 32) as u32;
    let message = |word: u64| MessageId(word);
    let name = |word: u64| Name(word as u32);
    let protocol = Protocol::from_number(extra);
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
        },
        (SEND_END, &[id]) => Event::SendEnd { time, message: message(id) },
        (RECV_POST, &[request, peer, bytes, comm]) => {
            Event::RecvPost { time, request, from: low(peer), tag: high(peer) as i32, comm: low(comm), bytes }
        }
        (RECV_MATCH, &[id, peer, bytes, request]) => Event::RecvMatch {
            time,
            message: message(id),
            request,
            from: low(peer),
            tag: high(peer) as i32,
            bytes,
            protocol,
        },
        (RECV_END, &[id]) => Event::RecvEnd { time, message: message(id) },
        (WAIT, &[lasted]) => Event::Wait { begin: time.wrapping_sub(lasted), end: time },
        (COMPUTE, &[lasted]) => Event::Compute { begin: time.wrapping_sub(lasted), end: time },
        (PHASE, &[word]) => Event::Phase { time, collective: name(word), round: high(word) },
        (COUNTER, &[which, value]) => Event::Counter { time, which: name(which), value },
        (LINK_USE, &[lasted, word]) => {
            Event::LinkUse { begin: time.wrapping_sub(lasted), end: time, link: low(word), flits: high(word) }
        }
        (POWER, &[microwatts]) => Event::Power { time, microwatts },
        (MEMORY, &[place, bytes]) => Event::Memory { time, place: low(place), bytes },
        (DMA_QUEUE, &[word]) => Event::DmaQueue { time, place: low(word), depth: high(word) },
        (DDR_QUEUE, &[word]) => Event::DdrQueue { time, controller: low(word), depth: high(word) },
        (ENTER..=COUNTER | LINK_USE..=DDR_QUEUE, _) => return Err(NotAnEvent::WrongLength),
        _ => return Err(NotAnEvent::UnknownKind),
    })
}

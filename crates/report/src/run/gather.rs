//! Events into calls, messages and waits.
//!
//! Ranks that spin for a short time may record no wait at all; for those, the time between posting a receive (within a
//! call that blocks on it) and the start of its send counts as a wait.

use std::collections::{BTreeMap, HashMap};

use trace::{Chip, Event, MessageId, Stream, Trace};

use super::reader::{Parts, Reader};
use super::segments::segments;
use super::windows;
use super::{Access, ChipRun, Message, Rank, Run, Side, Wait};

/// More ranks than any job has: a damaged file must not make us allocate what it says.
const RANKS_MAX: u32 = 1 << 16;

pub(super) fn gather(trace: &Trace) -> Run {
    let origin = origin(trace);
    let streams: Vec<&Stream> = trace.streams.iter().filter(|stream| stream.rank < RANKS_MAX).collect();
    let recorded = streams.iter().map(|stream| stream.rank + 1).max().unwrap_or(0);
    let count = recorded.max(trace.job.ranks.min(RANKS_MAX));
    let mut ranks: Vec<Rank> = (0..count).map(|_| Rank::default()).collect();
    let mut names = Names::default();
    let mut messages = Messages::default();
    let mut parts: Vec<Parts> = ranks.iter().map(|_| Parts::default()).collect();
    for stream in streams {
        let index = stream.rank as usize;
        (ranks[index], parts[index]) = Reader::new(stream, origin, &mut names, &mut messages).read();
    }
    let mut messages = messages.finish(count);
    let communicators = communicators(&parts, &mut messages);
    ranks.iter_mut().for_each(|rank| put_in_order(&mut rank.waits));
    let dropped = trace.streams.iter().fold(0, |sum: u64, stream| sum.saturating_add(stream.dropped));
    add_unrecorded_waits(&mut ranks, &messages);
    let marks: Vec<_> = parts.iter_mut().map(|parts| std::mem::take(&mut parts.marks)).collect();
    windows::explain(&mut ranks, &marks, dropped == 0);
    for (rank, parts) in ranks.iter_mut().zip(&parts) {
        rank.segments = segments(rank.begin, rank.end, &rank.calls, &rank.waits, &parts.computes);
    }
    let mut accesses: Vec<Access> = parts.into_iter().flat_map(|parts| parts.accesses).collect();
    accesses.retain(|access| access.to < count);
    accesses.sort_by_key(|access| access.begin);
    let chip = trace.job.chip.clone().zip(trace.chip()).map(|(plan, stream)| chip(plan, stream, origin));
    Run {
        duration: ranks.iter().map(|rank| rank.end).max().unwrap_or(0),
        job: trace.job.clone(),
        names: names.list,
        ranks,
        messages,
        communicators,
        accesses,
        chip,
        events: trace.streams.iter().map(|stream| stream.events().count() as u64).sum(),
        dropped,
    }
}

/// The communicators of messages and collectives. Messages of collectives have a number of their own, one above that of
/// the communicator's other messages; they get that of the communicator.
fn communicators(parts: &[Parts], messages: &mut [Message]) -> BTreeMap<u32, String> {
    let told = parts.iter().flat_map(|parts| &parts.members);
    let collective: BTreeMap<u32, &str> = told.map(|(comm, members)| (*comm, members.as_str())).collect();
    for message in messages.iter_mut().filter(|message| collective.contains_key(&message.comm)) {
        message.comm = message.comm.saturating_sub(1);
    }
    let of_messages = messages.iter().map(|message| (message.comm, String::new()));
    let with_members =
        collective.iter().map(|(comm, members)| (comm.saturating_sub(1), (*members).to_owned()));
    of_messages.chain(with_members).collect()
}

/// The first instant of any rank.
fn origin(trace: &Trace) -> u64 {
    let begins = trace.streams.iter().filter(|stream| !stream.is_chip()).flat_map(Stream::events);
    begins
        .map(|event| match event {
            Event::Wait { begin, .. } | Event::Compute { begin, .. } => begin,
            Event::EpochBegin { asked, .. } | Event::EpochEnd { asked, .. } => asked,
            other => other.time(),
        })
        .min()
        .unwrap_or(0)
}

/// Strings of all streams in one table.
pub(super) struct Names {
    list: Vec<String>,
    index: HashMap<String, u32>,
}

impl Default for Names {
    fn default() -> Names {
        Names { list: vec![String::new()], index: HashMap::from([(String::new(), 0)]) }
    }
}

impl Names {
    pub(super) fn intern(&mut self, text: &str) -> u32 {
        if let Some(&index) = self.index.get(text) {
            return index;
        }
        let index = self.list.len() as u32;
        self.list.push(text.to_owned());
        self.index.insert(text.to_owned(), index);
        index
    }
}

/// Messages by their numbers, whichever side is read first.
#[derive(Default)]
pub(super) struct Messages {
    list: Vec<Message>,
    index: HashMap<MessageId, u32>,
}

impl Messages {
    pub(super) fn of(&mut self, id: MessageId) -> (u32, &mut Message) {
        let next = self.list.len() as u32;
        let index = *self.index.entry(id).or_insert(next);
        if index == next {
            self.list.push(Message { from: id.sender(), to: u32::MAX, ..Message::default() });
        }
        (index, &mut self.list[index as usize])
    }

    /// All messages. One with a rank that left no stream keeps its place, since waits refer to it by index.
    fn finish(mut self, ranks: u32) -> Vec<Message> {
        for message in &mut self.list {
            if message.to >= ranks {
                message.to = message.from;
            }
            if message.from >= ranks {
                message.from = message.to;
            }
            if message.from >= ranks {
                *message = Message::default();
            }
        }
        self.list
    }
}

/// Sorts waits and cuts what overlaps the one before, as only those of damaged traces do.
fn put_in_order(waits: &mut Vec<Wait>) {
    waits.sort_by_key(|wait| wait.begin);
    let mut free_from = 0;
    waits.retain_mut(|wait| {
        wait.begin = wait.begin.max(free_from);
        free_from = free_from.max(wait.end);
        wait.begin < wait.end
    });
}

/// Waits of receivers that spun instead of recording one.
fn add_unrecorded_waits(ranks: &mut [Rank], messages: &[Message]) {
    let mut received: Vec<Vec<u32>> = vec![Vec::new(); ranks.len()];
    for (index, message) in messages.iter().enumerate() {
        if message.posted.is_some() && message.send_start.is_some() && message.arrived.is_some() {
            received[message.to as usize].push(index as u32);
        }
    }
    for (rank, mut received) in ranks.iter_mut().zip(received) {
        received.sort_unstable_by_key(|&index| messages[index as usize].arrived);
        let recorded = rank.waits.len();
        let mut free_from = 0;
        for index in received {
            let message = &messages[index as usize];
            let (Some(posted), Some(sent), Some(arrived)) =
                (message.posted, message.send_start, message.arrived)
            else {
                continue;
            };
            let Some(call) = outermost_at(rank, arrived) else { continue };
            let begin = posted.max(rank.calls[call as usize].begin).max(free_from);
            let end = sent.min(arrived);
            let first = rank.waits[..recorded].partition_point(|wait| wait.end <= begin);
            let overlaps = rank.waits[..recorded].get(first).is_some_and(|wait| wait.begin < end);
            if begin < end && !overlaps {
                let ended_by = Some((index, Side::Receiver));
                rank.waits.push(Wait {
                    begin,
                    end,
                    call: Some(call),
                    ended_by,
                    last_to_arrive: None,
                    held: None,
                });
                free_from = end;
            }
        }
        rank.waits.sort_by_key(|wait| wait.begin);
    }
}

/// The outermost call in which the rank was at an instant, its last one included.
fn outermost_at(rank: &Rank, time: u64) -> Option<u32> {
    let after = rank.calls.partition_point(|call| call.begin <= time);
    let index = rank.calls[..after].iter().rposition(|call| call.depth == 0)?;
    (time <= rank.calls[index].end).then_some(index as u32)
}

fn chip(plan: Chip, stream: &Stream, origin: u64) -> ChipRun {
    let at = |time: u64| super::ticks_since(origin, time);
    let (places, links) = (plan.places.len() as u32, plan.links.len() as u32);
    let control = plan.control_links.len() as u32;
    let mut chip = ChipRun {
        plan,
        links: vec![],
        control: vec![],
        servers: vec![],
        power: vec![],
        memory: vec![],
        dma: vec![],
        ddr: vec![],
    };
    for event in stream.events() {
        match event {
            Event::LinkUse { begin, end, link, flits } if link < links && begin <= end => {
                chip.links.push((at(begin), at(end), link, flits));
            }
            Event::LinkUse { begin, end, link, flits } if begin <= end => {
                if let Some(link) = link.checked_sub(links).filter(|link| *link < control) {
                    chip.control.push((at(begin), at(end), link, flits));
                }
            }
            Event::ServerUse { begin, end, server, place, busy } if place < places && begin <= end => {
                chip.servers.push((at(begin), at(end), (server, place), busy));
            }
            Event::Power { time, microwatts } => chip.power.push((at(time), microwatts)),
            Event::Memory { time, place, bytes } if place < places => {
                chip.memory.push((at(time), place, bytes));
            }
            Event::DmaQueue { time, place, depth } if place < places => {
                chip.dma.push((at(time), place, depth));
            }
            Event::DdrQueue { time, controller, depth } => chip.ddr.push((at(time), controller, depth)),
            _ => {}
        }
    }
    chip.power.sort_by_key(|sample| sample.0);
    chip.memory.sort_by_key(|sample| sample.0);
    chip
}

//! One rank's stream, event by event.
//!
//! A wait belongs to the message whose match, arrival or completion the same call recorded last before its end, or, if there
//! was none since its begin, records next: that is what ended it.

use std::collections::HashMap;

use trace::{Event, MessageId, Name, Stream};

use super::gather::{Messages, Names};
use super::windows::{self, Mark};
use super::{Access, Call, Phase, Rank, Region, Side, Wait};

/// What a rank's stream says besides.
#[derive(Default)]
pub(super) struct Parts {
    /// Times in which it said that it computed.
    pub(super) computes: Vec<(u64, u64)>,
    pub(super) accesses: Vec<Access>,
    pub(super) marks: Vec<Mark>,
    /// Members of communicators, by the number of their collectives' messages.
    pub(super) members: Vec<(u32, String)>,
}

pub(super) struct Reader<'a> {
    stream: &'a Stream,
    origin: u64,
    names: &'a mut Names,
    messages: &'a mut Messages,
    rank: Rank,
    computes: Vec<(u64, u64)>,
    accesses: Vec<Access>,
    marks: Vec<Mark>,
    members: Vec<(u32, String)>,
    /// Those from this index on are in the call under way.
    accesses_before: usize,
    /// Bytes of the collective that the call under way is.
    collective: Option<u64>,
    /// This stream's names in the common table.
    known: HashMap<Name, u32>,
    /// Calls entered and not left: indices.
    open: Vec<u32>,
    /// Regions that have begun and not ended: indices.
    regions: Vec<usize>,
    /// When receives were posted, by request.
    posted: HashMap<u64, u64>,
    /// The last match, arrival or completion in this call: when, and of which message.
    last_progress: Option<(u64, u32, Side)>,
    /// Waits from this index on are not yet explained.
    unexplained: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        stream: &'a Stream,
        origin: u64,
        names: &'a mut Names,
        messages: &'a mut Messages,
    ) -> Reader<'a> {
        Reader {
            stream,
            origin,
            names,
            messages,
            rank: Rank { begin: u64::MAX, ..Rank::default() },
            computes: Vec::new(),
            accesses: Vec::new(),
            marks: Vec::new(),
            members: Vec::new(),
            accesses_before: 0,
            collective: None,
            known: HashMap::new(),
            open: Vec::new(),
            regions: Vec::new(),
            posted: HashMap::new(),
            last_progress: None,
            unexplained: 0,
        }
    }

    /// The rank, and what is put together with that of others.
    pub(super) fn read(mut self) -> (Rank, Parts) {
        let stream = self.stream;
        stream.events().for_each(|event| self.take(event));
        // A rank that was killed is in its call until its last event.
        for index in self.open {
            self.rank.calls[index as usize].end = self.rank.end;
        }
        for index in self.regions {
            self.rank.regions[index].end = self.rank.end;
        }
        self.rank.begin = self.rank.begin.min(self.rank.end);
        self.rank.epochs = windows::epochs(&self.marks, self.rank.end);
        (
            self.rank,
            Parts {
                computes: self.computes,
                accesses: self.accesses,
                marks: self.marks,
                members: self.members,
            },
        )
    }

    fn take(&mut self, event: Event) {
        let time = self.at(event.time());
        self.rank.end = self.rank.end.max(time);
        self.rank.begin = self.rank.begin.min(time);
        match event {
            Event::Enter { function, site, .. } => {
                let (function, site) = (self.name(function), self.name(site));
                if self.open.is_empty() {
                    self.collective = None;
                }
                let depth = self.open.len().min(usize::from(u16::MAX)) as u16;
                self.open.push(self.rank.calls.len() as u32);
                self.rank.calls.push(Call { begin: time, end: time, function, site, depth, bytes: 0 });
            }
            Event::Leave { .. } => {
                if let Some(index) = self.open.pop() {
                    let call = &mut self.rank.calls[index as usize];
                    // Times ascend, unless the file is damaged.
                    call.end = time.max(call.begin);
                    if self.open.is_empty()
                        && let Some(bytes) = self.collective
                    {
                        call.bytes = bytes;
                    }
                }
                if self.open.is_empty() {
                    self.accesses[self.accesses_before..].iter_mut().for_each(|access| access.end = time);
                    self.accesses_before = self.accesses.len();
                    self.last_progress = None;
                    self.unexplained = self.rank.waits.len();
                }
            }
            Event::SendStart { message, to, tag, comm, bytes, protocol, done, .. } => {
                let (_, entry) = self.messages.of(message);
                (entry.to, entry.tag, entry.comm, entry.bytes) = (to, tag, comm, bytes);
                entry.protocol = entry.protocol.max(protocol);
                entry.send_start = Some(time);
                self.moves(bytes);
                if done {
                    self.send_ends(time, message);
                }
            }
            Event::SendEnd { message, .. } => self.send_ends(time, message),
            Event::RecvPost { request, .. } => _ = self.posted.insert(request, time),
            Event::RecvMatch { message, request, tag, bytes, protocol, done, waited, .. } => {
                let call = self.open.first().map(|&index| self.rank.calls[index as usize].begin);
                let posted = self.posted.remove(&request).or(call);
                let (_, entry) = self.messages.of(message);
                if entry.send_start.is_none() {
                    (entry.tag, entry.bytes) = (tag, bytes);
                }
                entry.to = self.stream.rank;
                entry.protocol = entry.protocol.max(protocol);
                entry.posted = posted;
                entry.matched = Some(time);
                if done {
                    entry.arrived = Some(time);
                }
                self.moves(bytes);
                self.explain(time, message, Side::Receiver);
                self.wait(event.time().saturating_sub(waited), event.time());
            }
            Event::RecvEnd { message, .. } => {
                let (_, entry) = self.messages.of(message);
                entry.to = self.stream.rank;
                entry.arrived = Some(time);
                self.explain(time, message, Side::Receiver);
            }
            Event::Wait { begin, end } => self.wait(begin, end),
            Event::Compute { begin, end } if begin < end => {
                let (begin, end) = (self.at(begin), self.at(end));
                self.rank.begin = self.rank.begin.min(begin);
                self.computes.push((begin, end));
            }
            Event::Access { kind, target: to, window, bytes, .. } => {
                let from = self.stream.rank;
                self.accesses.push(Access { from, to, begin: time, end: time, kind, window, bytes });
                self.moves(bytes);
            }
            Event::EpochBegin { asked, kind, peer, window, .. } => {
                let asked = self.at(asked).min(time);
                self.marks.push(Mark { begins: true, kind, peer, window, asked, time });
            }
            Event::EpochEnd { asked, kind, peer, window, .. } => {
                let asked = self.at(asked).min(time);
                self.marks.push(Mark { begins: false, kind, peer, window, asked, time });
            }
            Event::Collective { bytes, .. } => {
                self.collective = Some(self.collective.unwrap_or(0).saturating_add(bytes));
            }
            Event::Region { number, begins: true, .. } => {
                let depth = self.regions.len().min(usize::from(u16::MAX)) as u16;
                self.regions.push(self.rank.regions.len());
                self.rank.regions.push(Region { begin: time, end: time, number, depth });
            }
            Event::Region { number, begins: false, .. } => {
                let is_it = |&index: &usize| self.rank.regions[index].number == number;
                // An end without a beginning, which may have been overwritten, says nothing.
                if let Some(place) = self.regions.iter().rposition(is_it) {
                    let region = &mut self.rank.regions[self.regions.remove(place)];
                    region.end = time.max(region.begin);
                }
            }
            Event::Members { comm, members, .. } => {
                self.members.push((comm, self.stream.name(members).to_owned()));
            }
            Event::Phase { collective, round, .. } => {
                let collective = self.name(collective);
                self.rank.phases.push(Phase { time, collective, round });
            }
            _ => {}
        }
    }

    /// The call under way moves these bytes.
    fn moves(&mut self, bytes: u64) {
        if let Some(&index) = self.open.first() {
            let call = &mut self.rank.calls[index as usize];
            call.bytes = call.bytes.saturating_add(bytes);
        }
    }

    fn wait(&mut self, begin: u64, end: u64) {
        if begin >= end {
            return;
        }
        let (begin, end) = (self.at(begin), self.at(end));
        let call = self.open.first().copied();
        let progress = self.last_progress.filter(|progress| progress.0 > begin);
        let ended_by = progress.map(|(_, message, side)| (message, side));
        self.rank.waits.push(Wait { begin, end, call, ended_by, last_to_arrive: None, held: None });
    }

    fn send_ends(&mut self, time: u64, message: MessageId) {
        self.messages.of(message).1.send_end = Some(time);
        self.explain(time, message, Side::Sender);
    }

    fn explain(&mut self, time: u64, message: MessageId, side: Side) {
        let (index, _) = self.messages.of(message);
        for wait in &mut self.rank.waits[self.unexplained..] {
            wait.ended_by.get_or_insert((index, side));
        }
        self.last_progress = Some((time, index, side));
        self.unexplained = self.rank.waits.len();
    }

    fn at(&self, time: u64) -> u64 {
        super::ticks_since(self.origin, time)
    }

    fn name(&mut self, name: Name) -> u32 {
        let (stream, names) = (self.stream, &mut *self.names);
        *self.known.entry(name).or_insert_with(|| names.intern(stream.name(name)))
    }
}

//! The trace as an archive of the Open Trace Format 2, which Vampir, Scalasca and TraceCompass read: a location a rank, a
//! region a function and call site, a send and a receive a message, regions of the program around calls.
//!
//! The archive is a directory: `traces.otf2` says what there is, `traces.def` has all definitions, and `traces/R.evt` the
//! events of rank R. Collectives are regions with the role of their kind, without records of their own.

mod pack;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;

use crate::run::{Collective, Rank, Run};
use crate::text;
use pack::{Chunks, Record, anchor};

/// Bytes of a chunk of events, and of definitions.
const EVENT_CHUNK: usize = 1 << 20;
const DEFINITION_CHUNK: usize = 4 << 20;

/// Numbers of records.
mod kind {
    pub(super) const CLOCK: u8 = 5;
    pub(super) const STRING: u8 = 10;
    pub(super) const SYSTEM_NODE: u8 = 12;
    pub(super) const LOCATION_GROUP: u8 = 13;
    pub(super) const LOCATION: u8 = 14;
    pub(super) const REGION: u8 = 15;
    pub(super) const GROUP: u8 = 18;
    pub(super) const COMM: u8 = 22;
    pub(super) const ENTER: u8 = 12;
    pub(super) const LEAVE: u8 = 13;
    pub(super) const SEND: u8 = 14;
    pub(super) const RECEIVE: u8 = 18;
}

/// Values of the format's lists of words.
mod word {
    pub(super) const USER: u8 = 1;
    pub(super) const MPI: u8 = 4;
    pub(super) const PROCESS: u8 = 1;
    pub(super) const CPU_THREAD: u8 = 1;
    pub(super) const COMM_LOCATIONS: u8 = 4;
    pub(super) const COMM_GROUP: u8 = 5;
    pub(super) const FUNCTION: u8 = 1;
    pub(super) const CODE: u8 = 4;
    pub(super) const BARRIER: u8 = 15;
    pub(super) const ONE_TO_ALL: u8 = 23;
    pub(super) const ALL_TO_ONE: u8 = 24;
    pub(super) const ALL_TO_ALL: u8 = 25;
    pub(super) const COLLECTIVE: u8 = 26;
    pub(super) const POINT_TO_POINT: u8 = 28;
    pub(super) const ONE_SIDED: u8 = 29;
}

/// Writes the archive into a directory, which is made if it is not there.
pub fn otf2(run: &Run, directory: &Path) -> io::Result<()> {
    let events = directory.join("traces");
    fs::create_dir_all(&events)?;
    let mut definitions = Definitions::new(run);
    let messages = Messages::of(run);
    let mut counts = Vec::new();
    for (number, rank) in run.ranks.iter().enumerate() {
        let mut chunks = Chunks::of_events(EVENT_CHUNK);
        write_rank(run, rank, &messages.by_rank[number], &mut definitions, &mut chunks);
        counts.push(chunks.events());
        fs::write(events.join(format!("{number}.evt")), chunks.finish())?;
        fs::write(events.join(format!("{number}.def")), Chunks::of_definitions(DEFINITION_CHUNK).finish())?;
    }
    definitions.locations(&counts, &messages.comms);
    let records = definitions.chunks.events();
    let anchor =
        anchor([EVENT_CHUNK, DEFINITION_CHUNK], run.ranks.len(), records, &text::title(run), run.job.started);
    fs::write(directory.join("traces.def"), definitions.chunks.finish())?;
    fs::write(directory.join("traces.otf2"), anchor)
}

/// A function and call site, a region of the program, or the program itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Program,
    Region(u32),
    Call { function: u32, site: u32 },
}

/// The definitions, written as they are first needed. What they refer to stands before them.
struct Definitions<'a> {
    run: &'a Run,
    chunks: Chunks,
    strings: BTreeMap<String, u32>,
    places: BTreeMap<Place, u32>,
}

impl<'a> Definitions<'a> {
    fn new(run: &'a Run) -> Definitions<'a> {
        let mut definitions = Definitions {
            run,
            chunks: Chunks::of_definitions(DEFINITION_CHUNK),
            strings: BTreeMap::new(),
            places: BTreeMap::new(),
        };
        let clock = Record::new(kind::CLOCK)
            .number(run.job.ticks_per_second.max(1))
            .number(0)
            .number(run.duration)
            .number(run.job.started.saturating_mul(1_000_000_000));
        definitions.chunks.record(None, clock);
        definitions.string("");
        definitions
    }

    fn string(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.strings.get(text) {
            return number;
        }
        let number = self.strings.len() as u32;
        self.chunks.record(None, Record::new(kind::STRING).number(number.into()).text(text));
        self.strings.insert(text.to_owned(), number);
        number
    }

    /// The region of a place.
    fn place(&mut self, place: Place) -> u32 {
        if let Some(&number) = self.places.get(&place) {
            return number;
        }
        let run = self.run;
        let (name, site, role, paradigm) = match place {
            Place::Program => ("program".to_owned(), "", word::FUNCTION, word::USER),
            Place::Region(number) => (format!("region {number}"), "", word::CODE, word::USER),
            Place::Call { function, site } => {
                let name = run.name(function);
                let site = run.names.get(site as usize).map_or("", String::as_str);
                (name.to_owned(), site, role(name), word::MPI)
            }
        };
        let (file, line) = source(site);
        let (name, site) = (self.string(&name), self.string(site));
        let file = file.map(|file| self.string(file));
        let number = self.places.len() as u32;
        let region = Record::new(kind::REGION)
            .number(number.into())
            .number(name.into())
            .number(site.into())
            .byte(0)
            .optional(file)
            .number(line.into())
            .number(line.into())
            .number(name.into())
            .byte(role)
            .byte(paradigm)
            .number(0);
        self.chunks.record(None, region);
        self.places.insert(place, number);
        number
    }

    /// What is known once all events are written: the ranks with their numbers of events, and the communicators.
    fn locations(&mut self, counts: &[u64], comms: &[(String, Vec<u32>)]) {
        let node = self.string("machine");
        let class = self.string("");
        let root =
            Record::new(kind::SYSTEM_NODE).number(0).number(node.into()).number(class.into()).optional(None);
        self.chunks.record(None, root);
        for (rank, &events) in (0u32..).zip(counts) {
            let name = self.string(&format!("rank {rank}"));
            let process = Record::new(kind::LOCATION_GROUP)
                .number(rank.into())
                .number(name.into())
                .byte(word::PROCESS)
                .number(0)
                .optional(None);
            self.chunks.record(None, process);
            let location = Record::new(kind::LOCATION)
                .number(rank.into())
                .number(name.into())
                .byte(word::CPU_THREAD)
                .number(events)
                .number(rank.into());
            self.chunks.record(None, location);
        }
        let all: Vec<u32> = (0..counts.len() as u32).collect();
        let empty = self.string("");
        self.group(0, empty, [6, word::COMM_LOCATIONS], &all);
        for (number, (name, members)) in (0u32..).zip(comms) {
            let name = self.string(name);
            self.group(number + 1, name, [4, word::COMM_GROUP], members);
            let comm = Record::new(kind::COMM)
                .number(number.into())
                .number(name.into())
                .number(u64::from(number) + 1)
                .optional(None)
                .number(0);
            self.chunks.record(None, comm);
        }
    }

    /// A group of ranks; its type as older versions of the format number it, and as this one does.
    fn group(&mut self, number: u32, name: u32, [old_type, of_type]: [u8; 2], members: &[u32]) {
        let group = Record::new(kind::GROUP).number(number.into()).number(name.into()).byte(old_type);
        let group = group.number(members.len() as u64);
        let group = members.iter().fold(group, |group, &member| group.number(member.into()));
        self.chunks.record(None, group.byte(of_type).byte(word::MPI).number(0));
    }
}

/// File and line of a call site such as `solve at heat.c:42`.
fn source(site: &str) -> (Option<&str>, u32) {
    let place = site.rsplit_once(" at ").map_or(site, |(_, place)| place);
    let Some((file, line)) = place.rsplit_once(':') else { return (None, 0) };
    line.parse().map_or((None, 0), |line| (Some(file), line))
}

/// The role of a function.
fn role(function: &str) -> u8 {
    match Collective::of(function) {
        Some(Collective::Barrier) => word::BARRIER,
        Some(Collective::NToN) => word::ALL_TO_ALL,
        Some(Collective::OneToN) => word::ONE_TO_ALL,
        Some(Collective::NToOne) => word::ALL_TO_ONE,
        Some(Collective::Prefix | Collective::Fence) => word::COLLECTIVE,
        Some(Collective::Making | Collective::End) => word::FUNCTION,
        None => {
            let name = function.strip_prefix('P').unwrap_or(function).strip_prefix("MPI_").unwrap_or("");
            let holds = |words: &[&str]| words.iter().any(|word| name.contains(word));
            match () {
                () if holds(&[
                    "Win_",
                    "Put",
                    "Get",
                    "Rput",
                    "Rget",
                    "ccumulate",
                    "Fetch_and",
                    "Compare_and",
                ]) && !name.starts_with("Get_") =>
                {
                    word::ONE_SIDED
                }
                () if holds(&["send", "Send", "recv", "Recv", "Wait", "Test", "Probe", "probe"]) => {
                    word::POINT_TO_POINT
                }
                () => word::FUNCTION,
            }
        }
    }
}

/// The messages of which both sides are known, as each rank sends and receives them.
struct Messages {
    by_rank: Vec<Vec<Transfer>>,
    /// Name and members of each communicator; the first has all ranks.
    comms: Vec<(String, Vec<u32>)>,
}

/// One side of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Transfer {
    time: u64,
    kind: u8,
    /// The other rank, counted in the communicator.
    peer: u32,
    comm: u32,
    tag: u32,
    bytes: u64,
}

impl Messages {
    fn of(run: &Run) -> Messages {
        let ranks = run.ranks.len() as u32;
        let mut comms = vec![("all ranks".to_owned(), (0..ranks).collect::<Vec<u32>>())];
        let mut numbers: BTreeMap<u32, (u32, HashMap<u32, u32>)> = BTreeMap::new();
        for (&comm, members) in &run.communicators {
            if let Some(members) = members_of(members, ranks) {
                let places = members.iter().zip(0..).map(|(&member, place)| (member, place)).collect();
                numbers.insert(comm, (comms.len() as u32, places));
                comms.push((format!("communicator {comm}"), members));
            }
        }
        let mut by_rank = vec![Vec::new(); run.ranks.len()];
        for message in &run.messages {
            let (Some(sent), Some(arrived)) = (message.send_start, message.arrived.or(message.matched))
            else {
                continue;
            };
            // Communicators without a member in common may have the same number.
            let told = numbers.get(&message.comm).and_then(|(comm, places)| {
                Some((*comm, *places.get(&message.from)?, *places.get(&message.to)?))
            });
            let (comm, from, to) = told.unwrap_or((0, message.from, message.to));
            let (tag, bytes) = (message.tag as u32, message.bytes);
            by_rank[message.from as usize].push(Transfer {
                time: sent,
                kind: kind::SEND,
                peer: to,
                comm,
                tag,
                bytes,
            });
            let received = Transfer { time: arrived, kind: kind::RECEIVE, peer: from, comm, tag, bytes };
            by_rank[message.to as usize].push(received);
        }
        by_rank.iter_mut().for_each(|transfers: &mut Vec<Transfer>| transfers.sort_by_key(|one| one.time));
        Messages { by_rank, comms }
    }
}

/// The ranks of a text such as `0-3,8`; none if one of them does not exist.
fn members_of(text: &str, ranks: u32) -> Option<Vec<u32>> {
    let mut members = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || last >= ranks {
            return None;
        }
        members.extend(first..=last);
    }
    Some(members)
}

/// Writes the events of a rank: what it enters and leaves, and its messages, in the order of time.
fn write_rank(
    run: &Run,
    rank: &Rank,
    transfers: &[Transfer],
    definitions: &mut Definitions<'_>,
    chunks: &mut Chunks,
) {
    let mut transfers = transfers.iter().copied().peekable();
    let mut send = |until: u64, chunks: &mut Chunks, also: bool| {
        while let Some(one) = transfers.next_if(|one| one.time < until || (also && one.time == until)) {
            let record = Record::new(one.kind)
                .number(one.peer.into())
                .number(one.comm.into())
                .number(one.tag.into())
                .number(one.bytes);
            chunks.record(Some(one.time), record);
        }
    };
    // What is at the time of an entry comes after it, what is at that of a leave before it.
    for (time, enters, place) in nested(run, rank) {
        send(time, chunks, !enters);
        let region = definitions.place(place);
        let record = if enters { kind::ENTER } else { kind::LEAVE };
        chunks.short(time, record, region);
    }
    send(u64::MAX, chunks, true);
}

/// What a rank enters and leaves. Each is within one other: what crosses the end of the one around it ends there.
fn nested(run: &Run, rank: &Rank) -> Vec<(u64, bool, Place)> {
    let end = run.duration.max(rank.end);
    let mut spans = vec![(rank.begin, end, Place::Program)];
    spans.extend(rank.regions.iter().map(|region| (region.begin, region.end, Place::Region(region.number))));
    spans.extend(
        rank.calls
            .iter()
            .map(|call| (call.begin, call.end, Place::Call { function: call.function, site: call.site })),
    );
    // Of those that begin at one time the order is known: each list has its own, and regions are around calls.
    spans[1..].sort_by_key(|&(begin, ..)| begin);
    let mut events = Vec::new();
    let mut open: Vec<(u64, Place)> = Vec::new();
    for (begin, end, place) in spans {
        while let Some((until, place)) = open.pop_if(|(until, _)| *until <= begin) {
            events.push((until, false, place));
        }
        let end = open.last().map_or(end, |(until, _)| end.min(*until));
        events.push((begin, true, place));
        open.push((end, place));
    }
    events.extend(open.into_iter().rev().map(|(until, place)| (until, false, place)));
    events
}

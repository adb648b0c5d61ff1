//! A trace of a job that never ran: a stencil whose ranks exchange halos with their neighbours, in time that is computed.
//!
//! One rank may be slow, so that its neighbours wait for it; on a chip, halos cross links of a mesh of clusters.

use std::path::{Path, PathBuf};

use trace::{
    CHIP_STREAM, Chip, Event, Job, Link, MessageId, Place, PlaceKind, Protocol, Recording, ServerKind,
};

/// What to make.
pub struct Stencil {
    /// Ranks in a row.
    pub ranks: u32,
    /// Rounds of computing and exchanging.
    pub rounds: u64,
    /// The rank that computes twice as long.
    pub slow: Option<u32>,
    /// Clusters on a side of the chip's mesh; 0 without a chip.
    pub mesh: u32,
}

const COMPUTE: u64 = 40_000;
const LATENCY: u64 = 2_500;
const COPY: u64 = 600;

/// Of a recording: some times what the longest one of the tests takes.
/// All of it is read, also what is empty.
const ROOM: u64 = 8 << 20;

impl Stencil {
    /// Writes the trace; how many events it has.
    pub fn write(&self, file: &Path) -> u64 {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: String| directory.path().join(name);
        let mut paths: Vec<PathBuf> = (0..self.ranks).map(|rank| path(format!("{rank}"))).collect();
        let create =
            |path: &PathBuf, rank| Recording::create(path, rank, ROOM, 1_000_000_000).expect("a recording");
        let mut recordings: Vec<Recording> =
            paths.iter().enumerate().map(|(rank, path)| create(path, rank as u32)).collect();
        let mut now = vec![1_000_000u64; self.ranks as usize];
        for round in 0..self.rounds {
            self.round(round, &mut now, &mut recordings);
        }
        drop(recordings);
        let mut chip = None;
        if self.mesh > 0 {
            paths.push(path("chip".into()));
            let plan = self.plan();
            let end = now.into_iter().max().unwrap_or(0);
            self.chip(&plan, end, &mut create(paths.last().expect("just pushed"), CHIP_STREAM));
            chip = Some(plan);
        }
        let job = Job {
            ranks: self.ranks,
            command: format!("mpirun -n {} stencil --rounds {}", self.ranks, self.rounds),
            mode: if self.mesh > 0 { "chip" } else { "process" }.into(),
            started: 1_767_225_600,
            ticks_per_second: 1_000_000_000,
            places: (0..self.ranks).map(|rank| rank % (self.mesh * self.mesh).max(1)).collect(),
            cores: 0,
            failure: None,
            chip,
        };
        trace::merge(&paths, &job, file, &mut str::to_owned).expect("a trace").events
    }

    fn round(&self, round: u64, now: &mut [u64], recordings: &mut [Recording]) {
        let noise = |rank: usize| (rank as u64 * 7919 + round * 104_729) % 4_001;
        for (rank, recording) in recordings.iter_mut().enumerate() {
            let factor = if self.slow == Some(rank as u32) { 2 } else { 1 };
            let end = now[rank] + factor * COMPUTE + noise(rank);
            recording.record(Event::Compute { begin: now[rank], end });
            now[rank] = end;
        }
        let entered = now.to_vec();
        for (rank, recording) in recordings.iter_mut().enumerate() {
            now[rank] = self.exchange(rank, round, &entered, recording);
        }
    }

    /// A rank's call of `MPI_Neighbor_alltoall`; when it leaves.
    fn exchange(&self, rank: usize, round: u64, entered: &[u64], recording: &mut Recording) -> u64 {
        let neighbours = || [rank.checked_sub(1), (rank + 1 < self.ranks as usize).then_some(rank + 1)];
        let begin = entered[rank];
        let (function, site) = (recording.intern("MPI_Neighbor_alltoall"), recording.intern("stencil.c:88"));
        recording.record(Event::Enter { time: begin, function, site });
        let collective = recording.intern("neighbours at once");
        recording.record(Event::Phase { time: begin, collective, round: 0 });
        let message = |from: usize, to: usize| MessageId::new(from as u32, round * 2 + u64::from(to > from));
        let bytes = if round.is_multiple_of(16) { 65_536 } else { 2_048 };
        let protocol = if bytes > 4_096 { Protocol::RendezvousGet } else { Protocol::Eager };
        for to in neighbours().into_iter().flatten() {
            let sent = |time| Event::SendEnd { time, message: message(rank, to) };
            recording.record(Event::RecvPost {
                time: begin + 100,
                request: to as u64 + 1,
                from: to as u32,
                tag: 7,
                comm: 0,
                bytes,
            });
            recording.record(Event::SendStart {
                time: begin + 200,
                message: message(rank, to),
                to: to as u32,
                tag: 7,
                comm: 0,
                bytes,
                protocol,
                done: false,
            });
            recording.record(sent(begin + COPY));
        }
        let mut time = begin + COPY;
        for from in neighbours().into_iter().flatten() {
            let arrival = entered[from] + 200 + LATENCY;
            if arrival > time {
                recording.record(Event::Wait { begin: time, end: arrival });
                time = arrival;
            }
            let (id, peer) = (message(from, rank), from as u32);
            let request = from as u64 + 1;
            recording.record(Event::RecvMatch {
                time,
                message: id,
                request,
                from: peer,
                tag: 7,
                bytes,
                protocol,
                done: false,
                waited: 0,
            });
            time += COPY;
            recording.record(Event::RecvEnd { time, message: id });
        }
        recording.record(Event::Leave { time });
        time
    }

    fn plan(&self) -> Chip {
        let side = self.mesh;
        let place = |index: u32| Place {
            name: format!("C{index}"),
            kind: PlaceKind::Cluster,
            x: (index % side) as f32,
            y: (index / side) as f32,
            memory_bytes: 2 << 20,
        };
        let mut places: Vec<Place> = (0..side * side).map(place).collect();
        let mut links = Vec::new();
        let mut both = |from, to| links.extend([Link { from, to }, Link { from: to, to: from }]);
        for index in 0..side * side {
            if index % side + 1 < side {
                both(index, index + 1);
            }
            if index + side < side * side {
                both(index, index + side);
            }
        }
        let io = side * side;
        places.push(Place { name: "IO".into(), kind: PlaceKind::Io, x: -1.0, y: 0.0, memory_bytes: 0 });
        both(0, io);
        Chip {
            name: format!("mesh{}", side * side),
            places,
            control_links: links.clone(),
            links,
            flit_bytes: 4,
            flits_per_kilotick: 1000,
            control_flits_per_kilotick: 1000,
        }
    }

    fn chip(&self, plan: &Chip, end: u64, recording: &mut Recording) {
        const WINDOWS: u64 = 400;
        let begin = 1_000_000;
        let width = (end - begin) / WINDOWS;
        for window in 0..WINDOWS {
            let (from, to) = (begin + window * width, begin + (window + 1) * width);
            let wave = (window % 40).min(40 - window % 40);
            for link in 0..plan.links.len() as u32 {
                // The first link is the hot one: it fills up in waves.
                let share = if link == 0 { 50 + wave * 2 } else { (u64::from(link) * 13 + window) % 23 };
                recording.record(Event::LinkUse {
                    begin: from,
                    end: to,
                    link,
                    flits: (width * share / 100) as u32,
                });
            }
            // Letters go along the last link of the control network, from the resource manager of the first cluster.
            let last = (plan.links.len() + plan.control_links.len()) as u32 - 1;
            recording.record(Event::LinkUse { begin: from, end: to, link: last, flits: (width / 10) as u32 });
            for (place, server, share) in [(0, ServerKind::Agent, 60), (1, ServerKind::Kernel, wave)] {
                let busy = width * share / 100;
                recording.record(Event::ServerUse { begin: from, end: to, server, place, busy });
            }
            recording.record(Event::Power { time: from, microwatts: 6_000_000 + wave * 180_000 });
            for place in 0..self.mesh * self.mesh {
                let bytes = 400_000 + u64::from(place) * 60_000 + wave * 8_000;
                recording.record(Event::Memory { time: from, place, bytes });
                let depth = if place == 1 { wave as u32 / 2 } else { 0 };
                recording.record(Event::DmaQueue { time: from, place, depth });
            }
        }
    }
}

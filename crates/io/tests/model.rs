//! Views and accesses at random, against a file that is a vector of bytes.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use corelace_io as io;
use engine::datatype::{Basic, Block, Layout};
use engine::{Datatype, Rank, RecvBuffer, SendBuffer, Tuning};
use fabric::Fabric as _;
use fabric_local::{LocalFabric, NoHooks, Options, Outcome};
use io::{File, Hints, Mode, Representation, Sink, Source, Switch, View, Whence};
use proptest::prelude::*;

/// A file of one test, which is deleted with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("corelace-io-{}-{number}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }

    fn name(&self) -> &str {
        self.0.to_str().expect("a plain name")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs ranks as fibers.
fn run(ranks: u32, body: impl Fn(&'static Rank) + Sync) {
    let options = Options { workers: 2, ..Options::new(ranks) };
    let outcomes = fabric_local::run_fibers(&options, &NoHooks, &|local: LocalFabric| {
        let tuning = Tuning::for_route(local.route(local.me()));
        // A file keeps its rank for as long as the process lives.
        let rank: &'static Rank = Box::leak(Box::new(Rank::new(Box::new(local), tuning)));
        body(rank);
        rank.drain().expect("what was started can be finished");
    });
    for (rank, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Outcome::Ended(()) => {}
            Outcome::Panicked(cause) => std::panic::resume_unwind(cause),
            Outcome::Stalled => panic!("rank {rank} waits for ever"),
        }
    }
}

fn open(rank: &'static Rank, name: &str, hints: Hints) -> File {
    let mode = Mode { reads: true, writes: true, creates: true, ..Mode::default() };
    let own = rank.dup(rank.world()).expect("a communicator");
    File::open(rank, own, name, Ok(mode), hints, None, fabric_local::cores).expect("a file")
}

/// What is done in one case.
#[derive(Clone, Debug)]
struct Case {
    ranks: u32,
    /// The rank that each slot of a tile belongs to, if one does.
    slots: Vec<Option<u32>>,
    /// Bytes of a slot; bytes of the file before the first; bytes of the memory between two pieces of it.
    slot: u64,
    displacement: i64,
    /// The tile is this many times in the file type, with as many slots between two.
    copies: u64,
    gap: u64,
    /// For each rank: where it begins, and how many slots it writes.
    parts: Vec<(u64, u64)>,
    together: bool,
    with_requests: bool,
    /// Memory has gaps, too.
    scattered: bool,
    switches: [Switch; 4],
    buffers: [u64; 4],
}

/// Cases whose slots and buffers are so many times as long: long ones are mapped, and windows have many pages.
fn cases(scale: u64) -> impl Strategy<Value = Case> {
    let switch = || prop_oneof![Just(Switch::Automatic), Just(Switch::Enable), Just(Switch::Disable)];
    let switches = [switch().boxed(), switch().boxed(), switch().boxed(), switch().boxed()];
    (1_u32..5).prop_flat_map(move |ranks| {
        let shape = (
            prop::collection::vec(prop::option::weighted(0.8, 0..ranks), 1..12),
            1_u64..9,
            0_i64..50,
            1_u64..4,
            0_u64..5,
        );
        let parts = prop::collection::vec((0_u64..20, 0_u64..60), ranks as usize);
        let ways = (any::<bool>(), any::<bool>(), any::<bool>());
        let buffers = [1_u64..5, 1_u64..200, 1_u64..150, 1_u64..150];
        (shape, parts, ways, switches.clone(), buffers).prop_map(
            move |((slots, slot, displacement, copies, gap), parts, ways, switches, buffers)| {
                let (together, with_requests, scattered) = ways;
                Case {
                    ranks,
                    slots,
                    slot: slot * scale,
                    displacement,
                    copies,
                    gap,
                    parts,
                    together,
                    with_requests,
                    scattered,
                    switches,
                    buffers: [buffers[0], buffers[1] * scale, buffers[2] * scale, buffers[3] * scale],
                }
            },
        )
    })
}

impl Case {
    /// Slots from one tile to the next.
    fn stride(&self) -> u64 {
        self.slots.len() as u64 + self.gap
    }

    /// The file type of a rank: its slots of a tile, a few times.
    fn filetype(&self, rank: u32) -> Datatype {
        let own = (0_i64..).zip(&self.slots).filter(|(_, owner)| **owner == Some(rank));
        let blocks = own.map(|(index, _)| Block { offset: index * self.slot as i64, len: self.slot });
        let tile = Datatype::derived(Layout::new(blocks, 0, (self.stride() * self.slot) as i64), None);
        Datatype::contiguous(self.copies, &tile).expect("a small type")
    }

    /// Where the slots of a rank lie in the file, in the order of its stream.
    fn places(&self, rank: u32) -> impl Iterator<Item = u64> + '_ {
        (0..).flat_map(move |tile| {
            let own = (0_u64..).zip(&self.slots).filter(move |(_, owner)| **owner == Some(rank));
            let begin = self.displacement as u64 + tile * self.stride() * self.slot;
            own.map(move |(index, _)| begin + index * self.slot)
        })
    }

    /// What a rank writes.
    fn data(&self, rank: u32) -> Vec<u8> {
        let (from, slots) = self.parts[rank as usize];
        let slots = if self.slots.contains(&Some(rank)) { slots } else { 0 };
        (0..slots * self.slot).map(|at| (at * 7 + from + u64::from(rank) * 31 + 1) as u8).collect()
    }

    /// The file as it must be when all have written.
    fn model(&self) -> Vec<u8> {
        let mut file = Vec::new();
        for rank in 0..self.ranks {
            let data = self.data(rank);
            let from = self.parts[rank as usize].0 as usize;
            for (piece, place) in data.chunks(self.slot as usize).zip(self.places(rank).skip(from)) {
                let end = place as usize + piece.len();
                file.resize(file.len().max(end), 0);
                file[place as usize..end].copy_from_slice(piece);
            }
        }
        file
    }

    fn hints(&self) -> Hints {
        Hints {
            collects_reads: self.switches[0],
            collects_writes: self.switches[1],
            sieves_reads: self.switches[2],
            sieves_writes: self.switches[3],
            aggregators: self.buffers[0],
            window: self.buffers[1],
            read_sieve: self.buffers[2],
            write_sieve: self.buffers[3],
            alignment: 16,
        }
    }

    /// Each byte with a gap behind it, or all in one piece.
    fn memory_type(&self) -> Datatype {
        let extent = if self.scattered { 3 } else { 1 };
        Datatype::derived(Layout::new([Block { offset: 0, len: 1 }], 0, extent), Some(Basic::Byte))
    }

    fn check(&self, rank: &'static Rank, name: &str, model: &[u8]) {
        let me = rank.world().rank();
        let file = open(rank, name, self.hints());
        let slot = Datatype::derived(Layout::bytes(self.slot), None);
        let filetype = self.filetype(me);
        let view = View::new(self.displacement, &slot, &filetype, slot.extent(), Representation::Native);
        file.set_view(view).expect("a view");
        let data = self.data(me);
        let whence = Whence::At(self.parts[me as usize].0 as i64);
        let memory_type = self.memory_type();
        let step = memory_type.extent() as usize;
        let mut memory = vec![0xaa; data.len() * step];
        data.iter().enumerate().for_each(|(at, byte)| memory[at * step] = *byte);
        // SAFETY: the memory lives longer than the access, which is waited for, and is not touched meanwhile.
        let source =
            || Source::native(unsafe { SendBuffer::new(memory.as_ptr(), data.len() as u64, &memory_type) });
        let wait = |request| rank.wait(request).expect("an access").bytes;
        let written = match (self.together, self.with_requests) {
            (false, false) => file.write(source(), whence).expect("written"),
            (true, false) => file.write_all(source(), whence).expect("written"),
            (false, true) => wait(file.begin_write(source(), whence).expect("begun")),
            (true, true) => wait(file.begin_write_all(source(), whence).expect("begun")),
        };
        assert_eq!(written, data.len() as u64);
        rank.barrier(rank.world()).expect("a barrier").wait().expect("all come");
        assert_eq!(std::fs::read(name).expect("the file"), model, "rank {me}");

        // A read that reaches behind the end of the file.
        let wanted = data.len() as u64 + self.slot * 3;
        let mut memory = vec![0xbb; wanted as usize * step];
        // SAFETY: as above.
        let sink = Sink::native(unsafe { RecvBuffer::new(memory.as_mut_ptr(), wanted, &memory_type) });
        let found = match (self.together, self.with_requests) {
            (false, false) => file.read(sink, whence).expect("read"),
            (true, false) => file.read_all(sink, whence).expect("read"),
            (false, true) => wait(file.begin_read(sink, whence).expect("begun")),
            (true, true) => wait(file.begin_read_all(sink, whence).expect("begun")),
        };
        let expected: Vec<u8> = if self.slots.contains(&Some(me)) {
            let places = self.places(me).skip(self.parts[me as usize].0 as usize);
            let bytes = places.flat_map(|place| place..place + self.slot).take(wanted as usize);
            bytes.map_while(|at| model.get(at as usize).copied()).collect()
        } else {
            Vec::new()
        };
        assert_eq!(found, expected.len() as u64, "rank {me}");
        for (at, byte) in memory.iter().enumerate() {
            let wanted = if at % step == 0 { expected.get(at / step).copied().unwrap_or(0xbb) } else { 0xbb };
            assert_eq!(*byte, wanted, "rank {me}, byte {at} of memory");
        }
        file.close(None).expect("closed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_is_where_a_naive_file_has_it(case in cases(1)) {
        let (scratch, model) = (Scratch::new(), case.model());
        run(case.ranks, |rank| case.check(rank, scratch.name(), &model));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn long_runs_with_long_gaps_are_where_a_naive_file_has_them(case in cases(1021)) {
        let (scratch, model) = (Scratch::new(), case.model());
        run(case.ranks, |rank| case.check(rank, scratch.name(), &model));
    }
}

/// Each rank writes so many times by the shared pointer: no two have the same place, and no place is left out.
#[test]
fn the_shared_pointer_gives_every_place_once() {
    const RANKS: u32 = 5;
    const ROUNDS: usize = 40;
    let scratch = Scratch::new();
    run(RANKS, |rank| {
        let file = open(rank, scratch.name(), Hints::default());
        for _ in 0..ROUNDS {
            let bytes = vec![rank.world().rank() as u8; 3];
            file.write(Source::converted(bytes, 3), Whence::Shared).expect("written");
        }
        file.close(None).expect("closed");
    });
    let written = std::fs::read(&scratch.0).expect("the file");
    let (records, rest) = written.as_chunks::<3>();
    assert!(rest.is_empty() && records.iter().all(|[a, b, c]| a == b && b == c));
    for rank in 0..RANKS as u8 {
        assert_eq!(records.iter().filter(|record| record[0] == rank).count(), ROUNDS);
    }
}

/// In the order of ranks, whoever comes first.
#[test]
fn ordered_accesses_lie_in_the_order_of_ranks() {
    let (scratch, read) = (Scratch::new(), Mutex::new(Vec::new()));
    run(4, |rank| {
        let me = rank.world().rank();
        let file = open(rank, scratch.name(), Hints::default());
        for round in 0..3_u8 {
            let bytes = vec![round * 16 + me as u8; me as usize + 1];
            let native = bytes.len() as u64;
            file.write_all(Source::converted(bytes, native), Whence::Shared).expect("written");
        }
        file.seek_shared(Ok(0)).expect("moved");
        let mut memory = [0; 4];
        // SAFETY: the memory lives longer than the access, which is waited for.
        let buffer =
            unsafe { RecvBuffer::new(memory.as_mut_ptr(), u64::from(me) + 1, &Datatype::basic(Basic::Byte)) };
        file.read_all(Sink::native(buffer), Whence::Shared).expect("read");
        read.lock().expect("nobody panics with it").push((me, memory));
        file.close(None).expect("closed");
    });
    let round = |round: u8| [0, 1, 1, 2, 2, 2, 3, 3, 3, 3].map(|me| round * 16 + me);
    assert_eq!(std::fs::read(&scratch.0).expect("the file"), [round(0), round(1), round(2)].concat());
    let mut read = read.into_inner().expect("nobody panics with it");
    read.sort();
    assert_eq!(read, [(0, [0, 0, 0, 0]), (1, [1, 1, 0, 0]), (2, [2, 2, 2, 0]), (3, [3, 3, 3, 3])]);
}

//! Windows against a model: whatever epochs there are, and whatever is done in them, memory is in the end what a sequence of the operations makes of it.

use corelace_engine::datatype::Basic;
use corelace_engine::memory::{Exposed, RecvBuffer, SendBuffer};
use corelace_engine::{Aim, Backing, Builtin, Datatype, Error, Rank, Window};
use fabric_noc::Map;
use proptest::prelude::*;

use crate::support::{Habits, PLAIN, PortalHabit, run, run_on_chip};

/// Bytes of each member: a stripe for each origin to put into, then rows of numbers that all add to.
const STRIPE: usize = 24;
const MOST: usize = 5;
const ROWS: [(Basic, usize); 4] = [(Basic::I32, 4), (Basic::Long, 8), (Basic::F64, 8), (Basic::U8, 1)];
const ROW: usize = 32;
const BYTES: usize = MOST * STRIPE + ROWS.len() * ROW;

/// A small deterministic generator: all ranks draw the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % most
    }
}

/// Something that a rank does to a target.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// So many bytes, apart here and there by steps, at a place of the stripe.
    Put { at: usize, count: usize, here: usize, there: usize, first: u8 },
    /// Adds to as many numbers of a row, from one of them on.
    Add { row: usize, from: usize, count: usize, amount: u8 },
}

fn drawn(dice: &mut Dice) -> Act {
    if dice.below(2) == 0 {
        let there = 1 + dice.below(3);
        let count = 1 + dice.below((STRIPE / 2).div_ceil(there));
        let room = STRIPE - ((count - 1) * there + 1);
        let (at, here, first) = (dice.below(room + 1), 1 + dice.below(3), dice.below(256) as u8);
        return Act::Put { at, count, here, there, first };
    }
    let row = dice.below(ROWS.len());
    let numbers = ROW / ROWS[row].1;
    let from = dice.below(numbers);
    Act::Add { row, from, count: 1 + dice.below(numbers - from), amount: dice.below(9) as u8 }
}

/// What it makes of the target's memory.
fn apply(act: Act, origin: usize, memory: &mut [u8]) {
    match act {
        Act::Put { at, count, there, first, .. } => {
            for index in 0..count {
                memory[origin * STRIPE + at + index * there] = first.wrapping_add(index as u8);
            }
        }
        Act::Add { row, from, count, amount } => {
            let (basic, width) = ROWS[row];
            let begin = MOST * STRIPE + row * ROW;
            for number in memory[begin..begin + ROW].chunks_exact_mut(width).skip(from).take(count) {
                let bytes = number.to_vec();
                let sum = match basic {
                    Basic::I32 => (i32::from_ne_bytes(bytes.try_into().unwrap()) + i32::from(amount))
                        .to_ne_bytes()
                        .to_vec(),
                    Basic::Long => (i64::from_ne_bytes(bytes.try_into().unwrap()) + i64::from(amount))
                        .to_ne_bytes()
                        .to_vec(),
                    Basic::F64 => (f64::from_ne_bytes(bytes.try_into().unwrap()) + f64::from(amount))
                        .to_ne_bytes()
                        .to_vec(),
                    _ => vec![bytes[0].wrapping_add(amount)],
                };
                number.copy_from_slice(&sum);
            }
        }
    }
}

/// Bytes that lie a step apart.
fn apart(count: usize, step: usize) -> Datatype {
    Datatype::strided(count as u64, 1, step as i64, &Datatype::basic(Basic::Byte)).unwrap()
}

/// Does it.
fn perform(rank: &Rank, window: &Window, act: Act, target: u32, origin_of: i64) {
    let me = window.comm().rank() as usize;
    match act {
        Act::Put { at, count, here, there, first } => {
            let mut data = vec![0; count * here];
            (0..count).for_each(|index| data[index * here] = first.wrapping_add(index as u8));
            let displacement = origin_of + (me * STRIPE + at) as i64;
            let is_dense = here == 1 && there == 1;
            if is_dense && at % 2 == 0 && rank.put_at_once(window, &data, target, displacement) {
                return;
            }
            let (from, to) = (apart(count, here), apart(count, there));
            // SAFETY: the data outlives the call.
            let from = unsafe { SendBuffer::new(data.as_ptr(), 1, &from) };
            rank.put(window, &from, &Aim { target, displacement, count: 1, datatype: &to }).unwrap();
        }
        Act::Add { row, from, count, amount } => {
            let (basic, width) = ROWS[row];
            let one = match basic {
                Basic::I32 => i32::from(amount).to_ne_bytes().to_vec(),
                Basic::Long => i64::from(amount).to_ne_bytes().to_vec(),
                Basic::F64 => f64::from(amount).to_ne_bytes().to_vec(),
                _ => vec![amount],
            };
            let (data, datatype) = (one.repeat(count), Datatype::basic(basic));
            let displacement = origin_of + (MOST * STRIPE + row * ROW + from * width) as i64;
            let mut before = vec![0; data.len()];
            let (is_tried, aim) = (amount % 2 == 0, (target, displacement));
            let both = (&data[..], &mut before[..]);
            if is_tried
                && match (count, from % 2) {
                    (1, 0) => rank.fetch_and_op_at_once(window, both, &datatype, aim, Builtin::Sum),
                    _ => rank.accumulate_at_once(window, &data, &datatype, aim, Builtin::Sum),
                }
            {
                return;
            }
            // SAFETY: as above.
            let input = unsafe { SendBuffer::new(data.as_ptr(), count as u64, &datatype) };
            // SAFETY: as above.
            let fetched = unsafe { RecvBuffer::new(before.as_mut_ptr(), count as u64, &datatype) };
            let aim = Aim { target, displacement, count: count as u64, datatype: &datatype };
            match (count, from % 2) {
                (1, 0) => rank.fetch_and_op(window, Some(&input), &fetched, &aim, Builtin::Sum).unwrap(),
                (_, 0) => rank.accumulate(window, Some(&input), Some(&fetched), &aim, Builtin::Sum).unwrap(),
                _ => rank.accumulate(window, Some(&input), None, &aim, Builtin::Sum).unwrap(),
            }
        }
    }
}

/// By the short form, if that can be.
fn lock(rank: &Rank, window: &Window, member: u32, exclusive: bool) {
    if !rank.lock_at_once(window, member, exclusive) {
        rank.lock_window(window, Some(member), exclusive, false).unwrap();
    }
}

fn unlock(rank: &Rank, window: &Window, member: u32) {
    if !rank.unlock_at_once(window, member) {
        rank.unlock_window(window, Some(member)).unwrap();
    }
}

/// One epoch of some kind, in which every rank does what it is told.
fn epoch(rank: &Rank, window: &Window, kind: usize, mut act: impl FnMut(Option<u32>)) {
    let size = window.comm().size();
    match kind {
        0 => {
            rank.fence(window, false).unwrap();
            act(None);
            rank.fence(window, true).unwrap();
        }
        1 => {
            rank.lock_all(window, false).unwrap();
            act(None);
            rank.unlock_all(window).unwrap();
        }
        2 => {
            let group = window.comm().group().clone();
            rank.post(window, &group, false).unwrap();
            rank.start_access(window, &group, false).unwrap();
            act(None);
            rank.complete_access(window).unwrap();
            rank.wait_for_access(window).unwrap();
        }
        _ => {
            for member in 0..size {
                lock(rank, window, member, kind == 3);
                act(Some(member));
                unlock(rank, window, member);
            }
        }
    }
    rank.barrier(window.comm()).unwrap().wait().unwrap();
}

/// Ways to reach each other.
const WAYS: usize = 15;

/// Runs ranks that reach each other in one of them.
fn on_way(way: usize, ranks: u32, body: impl Fn(&Rank) + Sync) {
    let apart = Habits { apart: true, ..PLAIN };
    let nothing = Habits { shares_nothing: true, ..PLAIN };
    let habits = match way {
        0 => PLAIN,
        1 => Habits { workers: 2, ..PLAIN },
        2 => apart,
        3 => Habits { slow_transfers: 3, ..apart },
        4 => Habits { workers: 2, ..apart },
        5 => nothing,
        6 => Habits { apart: true, slow_transfers: 3, ..nothing },
        7 => Habits { apart: true, workers: 2, ..nothing },
        8 => Habits { own_cores: true, workers: 2, ..PLAIN },
        9 => Habits { own_cores: true, ..apart },
        10 => Habits { own_cores: true, workers: 2, ..apart },
        11 => Habits { portal: PortalHabit::Nothing, ..PLAIN },
        12 => return drop(run_on_chip("mppa256-andey", Map::Scatter, ranks, body)),
        13 => return drop(run_on_chip("mppa256-andey", Map::Compact, ranks, body)),
        _ => return drop(run_on_chip("mesh16", Map::Scatter, ranks, body)),
    };
    run(ranks, habits, body);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn memory_is_what_a_sequence_of_the_operations_makes_of_it(
        seed in any::<u64>(),
        ranks in 1..=MOST as u32,
        way in 0..WAYS,
        kind in 0_usize..3,
    ) {
        on_way(way, ranks, |rank| {
            let mut own = vec![0_u64; BYTES.div_ceil(8)];
            // SAFETY: the memory outlives the window.
            let memory = unsafe { Exposed::new(own.as_mut_ptr().cast(), BYTES) };
            let backing = match kind {
                0 => Backing::Given(memory),
                1 => Backing::Allocated { bytes: BYTES, contiguous: true },
                _ => Backing::Attached,
            };
            let comm = rank.dup(rank.world()).unwrap();
            let window = rank.create_window(comm, backing, 1, None).unwrap();
            let me = window.comm().rank() as usize;
            let base = if kind == 1 { window.memory_of(me as u32).unwrap().0 } else { own.as_mut_ptr().cast() };
            let mut origins = vec![0_i64; ranks as usize];
            if kind == 2 {
                rank.attach_memory(&window, memory).unwrap();
                let mine = (base.expose_provenance() as i64).to_ne_bytes();
                let mut all = vec![0; 8 * ranks as usize];
                let byte = Datatype::basic(Basic::Byte);
                // SAFETY: as long as the call.
                let room = unsafe { RecvBuffer::new(all.as_mut_ptr(), 8, &byte) };
                let told = SendBuffer::owned(mine.to_vec());
                rank.allgather(Some(&told), &room, rank.world()).unwrap().wait().unwrap();
                let words = all.chunks_exact(8).map(|word| i64::from_ne_bytes(word.try_into().unwrap()));
                origins = words.collect();
            }
            let mut model = vec![vec![0_u8; BYTES]; ranks as usize];
            let mut dice = Dice(seed);
            for _ in 0..6 {
                let how = dice.below(5);
                // Those of each rank, in its order, for whom they are.
                let acts: Vec<Vec<(Act, u32)>> = (0..ranks)
                    .map(|_| {
                        (0..dice.below(5)).map(|_| (drawn(&mut dice), dice.below(ranks as usize) as u32)).collect()
                    })
                    .collect();
                epoch(rank, &window, how, |member| {
                    for (act, target) in &acts[me] {
                        if member.is_none_or(|member| member == *target) {
                            perform(rank, &window, *act, *target, origins[*target as usize]);
                        }
                    }
                });
                for (origin, acts) in acts.iter().enumerate() {
                    for (act, target) in acts {
                        apply(*act, origin, &mut model[*target as usize]);
                    }
                }
                // SAFETY: nobody writes until the barrier below.
                assert_eq!(unsafe { std::slice::from_raw_parts(base, BYTES) }, model[me], "memory of rank {me}");
                let looked_at = dice.below(ranks as usize) as u32;
                let mut seen = vec![0; BYTES];
                let byte = Datatype::basic(Basic::Byte);
                // SAFETY: as long as the call.
                let into = unsafe { RecvBuffer::new(seen.as_mut_ptr(), BYTES as u64, &byte) };
                rank.lock_window(&window, Some(looked_at), false, false).unwrap();
                let displacement = origins[looked_at as usize];
                let aim = Aim { target: looked_at, displacement, count: BYTES as u64, datatype: &byte };
                rank.get(&window, &into, &aim).unwrap();
                rank.unlock_window(&window, Some(looked_at)).unwrap();
                assert_eq!(seen, model[looked_at as usize], "memory of rank {looked_at} as rank {me} gets it");
                rank.barrier(window.comm()).unwrap().wait().unwrap();
            }
            rank.may_free_window(&window).unwrap();
            rank.close_window(&window);
            rank.barrier(window.comm()).unwrap().wait().unwrap();
            rank.free_window(&window, None);
        });
    }
}

#[test]
fn counts_of_eight_ranks_lose_nothing_near_and_far() {
    const TIMES: i64 = 200;
    for way in 0..WAYS {
        on_way(way, 8, |rank| {
            let mut own = [0_i64; 2];
            // SAFETY: the memory outlives the window.
            let memory = unsafe { Exposed::new(own.as_mut_ptr().cast(), 16) };
            let comm = rank.dup(rank.world()).unwrap();
            let window = rank.create_window(comm, Backing::Given(memory), 8, None).unwrap();
            let (long, one, mut before) = (Datatype::basic(Basic::Long), 1_i64.to_ne_bytes(), [0; 8]);
            // SAFETY: as long as the calls.
            let (input, fetched) = unsafe {
                (SendBuffer::new(one.as_ptr(), 1, &long), RecvBuffer::new(before.as_mut_ptr(), 1, &long))
            };
            rank.lock_all(&window, false).unwrap();
            for _ in 0..TIMES {
                let aim = Aim { target: 3, displacement: 1, count: 1, datatype: &long };
                rank.fetch_and_op(&window, Some(&input), &fetched, &aim, Builtin::Sum).unwrap();
                rank.flush_window(&window, Some(3)).unwrap();
                rank.poke().unwrap();
            }
            rank.unlock_all(&window).unwrap();
            rank.close_window(&window);
            rank.barrier(window.comm()).unwrap().wait().unwrap();
            let expected = if rank.world().rank() == 3 { 8 * TIMES } else { 0 };
            // SAFETY: this rank's own memory, after all are done.
            assert_eq!(unsafe { std::ptr::read_volatile(&raw const own[1]) }, expected);
            rank.free_window(&window, None);
        });
    }
}

/// Numbers of a row that are changed one by one by some while others change all of them, where ranks run at the same time and where they take turns.
#[test]
fn words_and_rows_that_meet_lose_nothing() {
    const NUMBERS: usize = 80;
    const TIMES: usize = 2000;
    for way in [0, 1, 8] {
        on_way(way, 8, |rank| {
            let comm = rank.dup(rank.world()).unwrap();
            let backing = Backing::Allocated { bytes: 8 * NUMBERS, contiguous: false };
            let window = rank.create_window(comm, backing, 8, None).unwrap();
            let long = Datatype::basic(Basic::Long);
            let ones = 1_i64.to_ne_bytes().repeat(NUMBERS);
            let add = |first: usize, count: usize| {
                let (data, displacement) = (&ones[..8 * count], first as i64);
                if rank.accumulate_at_once(&window, data, &long, (3, displacement), Builtin::Sum) {
                    return;
                }
                // SAFETY: the numbers outlive the call.
                let input = unsafe { SendBuffer::new(data.as_ptr(), count as u64, &long) };
                let aim = Aim { target: 3, displacement, count: count as u64, datatype: &long };
                rank.accumulate(&window, Some(&input), None, &aim, Builtin::Sum).unwrap();
            };
            rank.lock_all(&window, false).unwrap();
            for time in 0..TIMES {
                add(0, NUMBERS);
                add(time % NUMBERS, 1);
                if !rank.flush_at_once(&window, 3) {
                    rank.flush_window(&window, Some(3)).unwrap();
                }
            }
            rank.unlock_all(&window).unwrap();
            rank.barrier(window.comm()).unwrap().wait().unwrap();
            if window.comm().rank() == 3 {
                let (base, ..) = window.memory_of(3).unwrap();
                // SAFETY: this rank's own memory, after all are done.
                let found = unsafe { std::slice::from_raw_parts(base.cast::<i64>(), NUMBERS) };
                let singles = |number: usize| (0..TIMES).filter(|time| time % NUMBERS == number).count();
                let expected: Vec<i64> =
                    (0..NUMBERS).map(|number| 8 * (TIMES + singles(number)) as i64).collect();
                assert_eq!(found, expected, "way {way}");
            }
            rank.close_window(&window);
            rank.barrier(window.comm()).unwrap().wait().unwrap();
            rank.free_window(&window, None);
        });
    }
}

/// Rows that share a line with the state of a desk, that have lines of their own there, and that do not fit, for a target that waits in the library.
#[test]
fn rows_of_any_length_are_moved_and_added_up_by_a_target_that_waits() {
    const MOST: usize = 300_000;
    for way in [0, 5, 9, 10] {
        on_way(way, 2, |rank| {
            let mut own = vec![0_u64; MOST / 8];
            let comm = rank.dup(rank.world()).unwrap();
            // SAFETY: the memory outlives the window.
            let memory = unsafe { Exposed::new(own.as_mut_ptr().cast(), MOST) };
            let window = rank.create_window(comm, Backing::Given(memory), 1, None).unwrap();
            let (byte, long) = (Datatype::basic(Basic::Byte), Datatype::basic(Basic::U64));
            let short = [1, 8, 16, 24, 31, 32, 33, 40, 64, 65, 1000, 4064, 4095, 4096, 4097, 10_000];
            // From 48 KiB on the origin does a part of an accumulate.
            let long_ones = [49_151, 49_152, 49_168, 65_536, 70_000, 98_304, 100_000, 196_608, MOST];
            for len in short.into_iter().chain(long_ones) {
                if window.comm().rank() == 0 {
                    let given: Vec<u8> = (0..len).map(|at| (at * 7 + len) as u8).collect();
                    let get = || {
                        let mut taken = vec![0_u8; len];
                        // SAFETY: as long as the call.
                        let into = unsafe { RecvBuffer::new(taken.as_mut_ptr(), len as u64, &byte) };
                        let aim = Aim { target: 1, displacement: 0, count: len as u64, datatype: &byte };
                        rank.get(&window, &into, &aim).unwrap();
                        taken
                    };
                    rank.lock_window(&window, Some(1), false, false).unwrap();
                    // SAFETY: as above.
                    let from = unsafe { SendBuffer::new(given.as_ptr(), len as u64, &byte) };
                    let aim = Aim { target: 1, displacement: 0, count: len as u64, datatype: &byte };
                    rank.put(&window, &from, &aim).unwrap();
                    assert_eq!(get(), given, "{len} bytes put, way {way}");
                    let count = len as u64 / 8;
                    // SAFETY: as above.
                    let from = unsafe { SendBuffer::new(given.as_ptr(), count, &long) };
                    let aim = Aim { target: 1, displacement: 0, count, datatype: &long };
                    rank.accumulate(&window, Some(&from), None, &aim, Builtin::Sum).unwrap();
                    let mut twice = given.clone();
                    for word in twice.chunks_exact_mut(8) {
                        let number = u64::from_ne_bytes(word.try_into().unwrap());
                        word.copy_from_slice(&number.wrapping_mul(2).to_ne_bytes());
                    }
                    assert_eq!(get(), twice, "{count} numbers added, way {way}");
                    rank.unlock_window(&window, Some(1)).unwrap();
                }
                rank.barrier(window.comm()).unwrap().wait().unwrap();
            }
            rank.close_window(&window);
            rank.barrier(window.comm()).unwrap().wait().unwrap();
            rank.free_window(&window, None);
        });
    }
}

/// Of such a row the target does a part, if it is there: one of them only waits, by turns, and the others are away now and then to add up rows of their own.
#[test]
fn long_rows_that_several_add_up_at_once_lose_nothing() {
    const NUMBERS: usize = 40_000;
    const TIMES: usize = 12;
    let first_of = |time: usize, origin: usize| 1000 * time + origin;
    for (way, ranks) in [0, 2, 3, 5, 9, 10].into_iter().flat_map(|way| [(way, 2), (way, 3)]) {
        on_way(way, ranks as u32, |rank| {
            let mut own = vec![0_i64; NUMBERS];
            let comm = rank.dup(rank.world()).unwrap();
            // SAFETY: the memory outlives the window.
            let memory = unsafe { Exposed::new(own.as_mut_ptr().cast(), 8 * NUMBERS) };
            let window = rank.create_window(comm, Backing::Given(memory), 8, None).unwrap();
            let (me, long) = (window.comm().rank() as usize, Datatype::basic(Basic::Long));
            let waits = |time: usize, rank: usize| time % ranks == rank;
            let row = vec![1 + me as i64; NUMBERS];
            for time in 0..TIMES {
                let first = first_of(time, me);
                let count = (NUMBERS - first) as u64;
                // SAFETY: the row outlives the calls.
                let from = unsafe { SendBuffer::new(row.as_ptr().cast(), count, &long) };
                for target in (0..ranks as u32).filter(|_| !waits(time, me)) {
                    rank.lock_window(&window, Some(target), false, false).unwrap();
                    let aim = Aim { target, displacement: first as i64, count, datatype: &long };
                    rank.accumulate(&window, Some(&from), None, &aim, Builtin::Sum).unwrap();
                    rank.unlock_window(&window, Some(target)).unwrap();
                }
                rank.barrier(window.comm()).unwrap().wait().unwrap();
            }
            rank.close_window(&window);
            rank.barrier(window.comm()).unwrap().wait().unwrap();
            rank.free_window(&window, None);
            let reached = |number: usize, origin: usize| {
                let is_added = |time: &usize| !waits(*time, origin) && first_of(*time, origin) <= number;
                (0..TIMES).filter(is_added).count() * (1 + origin)
            };
            for (number, found) in own.iter().enumerate() {
                let expected = (0..ranks).map(|origin| reached(number, origin)).sum::<usize>();
                assert_eq!(*found, expected as i64, "number {number} of rank {me} of {ranks}, way {way}");
            }
        });
    }
}

#[test]
fn what_is_near_and_in_one_piece_is_done_at_once_and_what_is_wrong_is_left_to_others() {
    on_way(0, 2, |rank| {
        let comm = rank.dup(rank.world()).unwrap();
        let backing = Backing::Allocated { bytes: 64, contiguous: false };
        let window = rank.create_window(comm, backing, 1, None).unwrap();
        let long = Datatype::basic(Basic::Long);
        let (word, sum) = (7_i64.to_ne_bytes(), Builtin::Sum);
        let put = |target, at| rank.put_at_once(&window, &word, target, at);
        let get = |target, at| {
            let mut into = [0; 8];
            rank.get_at_once(&window, &mut into, target, at).then(|| i64::from_ne_bytes(into))
        };
        let add = |target, at, numbers: usize, op| {
            rank.accumulate_at_once(&window, &word.repeat(numbers), &long, (target, at), op)
        };
        let fetch = |target, at, op| {
            let mut before = [0; 8];
            let done = rank.fetch_and_op_at_once(&window, (&word, &mut before), &long, (target, at), op);
            done.then(|| i64::from_ne_bytes(before))
        };
        let swap = |target, at, expected: i64| {
            let (expected, mut before) = (expected.to_ne_bytes(), [0; 8]);
            let elements = (&word[..], &expected[..], &mut before[..]);
            let done = rank.compare_and_swap_at_once(&window, elements, &long, (target, at));
            done.then(|| i64::from_ne_bytes(before))
        };
        let flush = |target| rank.flush_at_once(&window, target);
        let nothing_is_done = |target, at| {
            assert!(swap(target, at, 0).is_none());
            assert!(!put(target, at) && get(target, at).is_none());
            assert!(!add(target, at, 1, sum) && !add(target, at, 3, sum) && fetch(target, at, sum).is_none());
        };
        nothing_is_done(1, 0);
        assert!(!flush(1), "no epoch is open");
        if window.comm().rank() == 0 {
            rank.lock_window(&window, Some(1), false, false).unwrap();
            nothing_is_done(0, 0);
            nothing_is_done(2, 0);
            nothing_is_done(u32::MAX, 0);
            for outside in [57, 64, -1, i64::MIN, i64::MAX] {
                nothing_is_done(1, outside);
            }
            assert!(!flush(0) && !flush(2), "only the other is locked");
            assert!(put(1, 56) && get(1, 56) == Some(7), "the last that there are");
            assert!(put(1, 1) && get(1, 1) == Some(7), "bytes lie anywhere");
            assert!(!add(1, 1, 1, sum) && fetch(1, 1, sum).is_none(), "words do not");
            assert!(put(1, 0) && add(1, 0, 1, sum) && add(1, 0, 3, sum) && get(1, 0) == Some(21));
            assert!(!add(1, 0, 1, Builtin::NoOp) && !add(1, 0, 3, Builtin::NoOp) && !add(1, 0, 0, sum));
            assert!(fetch(1, 0, Builtin::NoOp) == Some(21) && fetch(1, 0, sum) == Some(21));
            assert!(get(1, 0) == Some(28));
            assert!(swap(1, 1, 28).is_none(), "words are aligned");
            assert!(swap(1, 0, 27) == Some(28) && swap(1, 0, 28) == Some(28) && swap(1, 0, 28) == Some(7));
            let double = Datatype::basic(Basic::F64);
            let elements = (&word[..], &word[..], &mut [0; 8][..]);
            let done = rank.compare_and_swap_at_once(&window, elements, &double, (1, 0));
            assert!(!done, "it is not defined on floating-point numbers");
            assert!(add(1, 8, 2, Builtin::Replace) && get(1, 16) == Some(7));
            assert!(flush(1));
            rank.unlock_window(&window, Some(1)).unwrap();
            nothing_is_done(1, 0);
        }
        rank.fence(&window, false).unwrap();
        assert!(put(1, 24) && !flush(1), "a fence is no epoch to flush in");
        rank.fence(&window, true).unwrap();
        rank.close_window(&window);
        rank.barrier(window.comm()).unwrap().wait().unwrap();
        rank.free_window(&window, None);
    });
}

#[test]
fn a_lock_that_is_free_is_taken_at_once_and_any_other_case_is_left_to_others() {
    on_way(0, 3, |rank| {
        let comm = rank.dup(rank.world()).unwrap();
        let backing = Backing::Allocated { bytes: 8, contiguous: false };
        let window = rank.create_window(comm, backing, 1, None).unwrap();
        let meet = || rank.barrier(window.comm()).unwrap().wait().unwrap();
        let lock = |member, exclusive| rank.lock_at_once(&window, member, exclusive);
        let unlock = |member| rank.unlock_at_once(&window, member);
        match window.comm().rank() {
            0 => {
                assert!(!lock(0, true), "its own memory may be exposed");
                assert!(!lock(3, true) && !lock(u32::MAX, false), "there is no such member");
                assert!(!unlock(1), "it is not locked");
                rank.lock_all(&window, false).unwrap();
                assert!(!lock(1, false) && !unlock(1), "all are locked, and not one by one");
                rank.unlock_all(&window).unwrap();
                assert!(lock(1, false) && lock(2, true));
                assert!(!lock(1, false) && !lock(2, true), "they are locked already");
                assert!(rank.lock_all(&window, false).is_err(), "an epoch is open");
                assert!(rank.put_at_once(&window, &[7], 1, 0) && rank.put_at_once(&window, &[7], 2, 0));
                meet();
                meet();
                assert!(unlock(1) && !unlock(1) && unlock(2));
                assert!(!rank.put_at_once(&window, &[7], 1, 0), "the epoch is over");
                rank.lock_all(&window, false).unwrap();
                meet();
                meet();
                rank.unlock_all(&window).unwrap();
                rank.lock_window(&window, Some(1), false, true).unwrap();
                assert!(!unlock(1), "it has no lock");
                rank.unlock_window(&window, Some(1)).unwrap();
                meet();
                meet();
            }
            1 => {
                meet();
                assert!(!lock(2, true) && !lock(2, false), "it is locked alone");
                meet();
                meet();
                assert!(!lock(2, true), "all are locked");
                assert!(!lock(2, true), "all are locked");
                assert!(lock(2, false), "all are locked, and shared");
                assert!(unlock(2));
                meet();
                meet();
                assert!(lock(2, true) && unlock(2), "whoever locked and failed has given back what it had");
                meet();
            }
            _ => (0..6).for_each(|_| meet()),
        }
        rank.close_window(&window);
        meet();
        rank.free_window(&window, None);
    });
}

/// A number that all add to by reading and writing, while they have its lock alone.
#[test]
fn what_is_done_under_a_lock_taken_at_once_is_seen_by_the_next() {
    const TIMES: i64 = 500;
    for way in [0, 1, 8] {
        on_way(way, 6, |rank| {
            let comm = rank.dup(rank.world()).unwrap();
            let backing = Backing::Allocated { bytes: 8, contiguous: false };
            let window = rank.create_window(comm, backing, 8, None).unwrap();
            let look = || {
                let mut number = [0; 8];
                assert!(rank.get_at_once(&window, &mut number, 3, 0));
                i64::from_ne_bytes(number)
            };
            for time in 0..TIMES {
                lock(rank, &window, 3, true);
                assert!(rank.put_at_once(&window, &(look() + 1).to_ne_bytes(), 3, 0));
                unlock(rank, &window, 3);
                if time % 8 == 0 {
                    lock(rank, &window, 3, false);
                    let seen = look();
                    rank.poke().unwrap();
                    assert_eq!(look(), seen, "nobody writes while others share the lock");
                    unlock(rank, &window, 3);
                }
            }
            rank.barrier(window.comm()).unwrap().wait().unwrap();
            lock(rank, &window, 3, false);
            if rank.world().rank() != 3 {
                assert_eq!(look(), 6 * TIMES, "way {way}");
            }
            unlock(rank, &window, 3);
            rank.close_window(&window);
            rank.barrier(window.comm()).unwrap().wait().unwrap();
            rank.free_window(&window, None);
        });
    }
}

#[test]
fn what_cannot_be_reached_is_refused_at_all_members_alike() {
    let habits = Habits { portal: PortalHabit::Nothing, shares_nothing: true, ..PLAIN };
    run(3, habits, |rank| {
        let comm = rank.dup(rank.world()).unwrap();
        let backing = Backing::Given(Exposed::nothing());
        let refused = rank.create_window(comm, backing, 1, None);
        assert!(matches!(refused, Err(Error::WindowReach { target: 0, .. })), "{refused:?}");
    });
}

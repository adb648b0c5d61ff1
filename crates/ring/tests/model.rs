//! An exchange against a naive model: queues of letters with the same rule for room.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::VecDeque;
use std::ptr::NonNull;

use corelace_ring as ring;
use fabric::{LANES, Lane, Node, PostError};
use proptest::prelude::*;
use ring::exchange::Exchange;
use ring::{Endpoint, Geometry, INLINE_BYTES};

/// Zeroed memory for an exchange, and the endpoints of all its ranks.
struct Job {
    endpoints: Vec<Endpoint>,
    memory: NonNull<u8>,
    layout: Layout,
}

impl Job {
    fn new(geometry: Geometry) -> Job {
        let layout = Layout::from_size_align(geometry.bytes(), 4096).unwrap();
        // SAFETY: the size is not zero.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).expect("memory for the test");
        // SAFETY: aligned, zeroed and as long as the geometry says; freed after the endpoints are gone.
        let exchange = unsafe { Exchange::new(memory, geometry) };
        // SAFETY: one endpoint a rank, dropped before the memory.
        let endpoints =
            (0..geometry.ranks()).map(|rank| unsafe { Endpoint::new(exchange, Node(rank)) }).collect();
        Job { endpoints, memory, layout }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.endpoints.clear();
        // SAFETY: allocated with the same layout in `new`; nothing refers to it any more.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// The bytes of letter `number`, so that every byte is checked.
fn content(number: u64, length: usize) -> Vec<u8> {
    (0..length).map(|index| (number as usize * 31 + index * 7) as u8).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Post { from: usize, to: usize, length: usize },
    Poll { rank: usize, limit: usize },
    Raise { from: usize, to: usize, lane: u8 },
    Raised { rank: usize, lane: u8 },
}

fn step(ranks: usize, letter_max: usize) -> impl Strategy<Value = Step> {
    let length = prop_oneof![0..=INLINE_BYTES, INLINE_BYTES - 1..=INLINE_BYTES + 2, 0..=letter_max];
    prop_oneof![
        6 => (0..ranks, 0..ranks, length).prop_map(|(from, to, length)| Step::Post { from, to, length }),
        3 => (0..ranks, 0..12usize).prop_map(|(rank, limit)| Step::Poll { rank, limit }),
        1 => (0..ranks, 0..ranks, 0..LANES as u8).prop_map(|(from, to, lane)| Step::Raise { from, to, lane }),
        1 => (0..ranks, 0..LANES as u8).prop_map(|(rank, lane)| Step::Raised { rank, lane }),
    ]
}

/// What the exchange should do, with one queue a rank and the pools as counts.
struct Naive {
    boxes: Vec<VecDeque<(u32, u64, usize)>>,
    taken: Vec<u64>,
    posted: Vec<u64>,
    pooled: Vec<u32>,
    raised: Vec<[u64; LANES]>,
    reported: Vec<[u64; LANES]>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 3000 }))]

    #[test]
    fn an_exchange_behaves_like_queues_and_counters(
        (cells, slots, own_cores) in (prop_oneof![Just(4u32), Just(8), Just(16)], 1u32..6, any::<bool>()),
        steps in prop::collection::vec(step(3, 256), 1..400),
    ) {
        const RANKS: usize = 3;
        let job = Job::new(Geometry::new(RANKS as u32, cells, slots, 256));
        if own_cores {
            job.endpoints.iter().for_each(Endpoint::expect_own_cores);
        }
        let mut naive = Naive {
            boxes: vec![VecDeque::new(); RANKS],
            taken: vec![0; RANKS],
            posted: vec![0; RANKS],
            pooled: vec![0; RANKS],
            raised: vec![[0; LANES]; RANKS],
            reported: vec![[0; LANES]; RANKS],
        };
        let mut number = 0;
        for step in steps {
            match step {
                Step::Post { from, to, length } => {
                    number += 1;
                    let quarter = u64::from(cells / 4);
                    let published = naive.taken[to] / quarter * quarter;
                    let pooled = length > INLINE_BYTES;
                    let room = naive.posted[to] - published < u64::from(cells);
                    // With cores of their own ranks keep slots of each other: how many of this one's is not modelled, but half of them are left to it.
                    let (least, most) =
                        if own_cores { (slots - slots / 2, RANKS as u32 * slots) } else { (slots, slots) };
                    let header = [number, !number, length as u64];
                    let posted = job.endpoints[from].try_post(Node(to as u32), &header, &content(number, length));
                    if !room || pooled && naive.pooled[from] >= most {
                        prop_assert_eq!(posted, Err(PostError::Full));
                    } else if !pooled || naive.pooled[from] < least {
                        prop_assert_eq!(posted, Ok(()));
                    }
                    if posted.is_ok() {
                        naive.boxes[to].push_back((from as u32, number, length));
                        naive.posted[to] += 1;
                        naive.pooled[from] += u32::from(pooled);
                    }
                }
                Step::Poll { rank, limit } => {
                    let mut wrong = None;
                    let waiting = naive.boxes[rank].len();
                    let count = job.endpoints[rank].poll(limit, &mut |from, header, payload| {
                        let expected = naive.boxes[rank].pop_front();
                        let (sender, number, length) = expected.unwrap_or((u32::MAX, 0, 0));
                        if from != Node(sender)
                            || *header != [number, !number, length as u64]
                            || payload != content(number, length)
                        {
                            wrong.get_or_insert((from, *header, expected));
                        }
                        naive.pooled[sender as usize] -= u32::from(length > INLINE_BYTES);
                        naive.taken[rank] += 1;
                    });
                    prop_assert_eq!(wrong, None);
                    prop_assert_eq!(count, waiting.min(limit));
                }
                Step::Raise { from, to, lane } => {
                    job.endpoints[from].raise(Node(to as u32), Lane(lane));
                    naive.raised[to][lane as usize] += 1;
                }
                Step::Raised { rank, lane } => {
                    let count = job.endpoints[rank].raised(Lane(lane));
                    prop_assert_eq!(count, naive.raised[rank][lane as usize]);
                    naive.reported[rank][lane as usize] = count;
                }
            }
            for rank in 0..RANKS {
                let pending = !naive.boxes[rank].is_empty() || naive.raised[rank] != naive.reported[rank];
                prop_assert_eq!(job.endpoints[rank].pending(), pending);
            }
        }
    }
}

/// An endpoint that moves to the thread of its rank.
struct Moved(Endpoint);
// SAFETY: an endpoint is used by one thread at a time, and the exchange behind it is shared through atomics.
unsafe impl Send for Moved {}

#[test]
fn threads_exchange_letters_of_all_lengths_in_order() {
    exchange_letters(false);
}

#[test]
fn threads_that_keep_slots_of_each_other_exchange_letters_in_order() {
    exchange_letters(true);
}

/// Three threads send and receive letters of 0 to 256 bytes from each to each, with fewer slots than are in flight.
fn exchange_letters(own_cores: bool) {
    const RANKS: u32 = 3;
    const LETTERS: u64 = if cfg!(debug_assertions) { 3_000 } else { 30_000 };
    let mut job = Job::new(Geometry::new(RANKS, 8, 3, 256));
    if own_cores {
        job.endpoints.iter().for_each(Endpoint::expect_own_cores);
    }
    let endpoints: Vec<_> = job.endpoints.drain(..).map(Moved).collect();
    std::thread::scope(|scope| {
        for endpoint in endpoints {
            scope.spawn(move || {
                let Moved(endpoint) = { endpoint };
                let mut sent = [0u64; RANKS as usize];
                let mut next = [0u64; RANKS as usize];
                while sent.iter().chain(&next).any(|&count| count < LETTERS) {
                    for to in 0..RANKS {
                        let number = sent[to as usize];
                        let payload = content(number, (number % 257) as usize);
                        if number < LETTERS
                            && endpoint.try_post(Node(to), &[number, u64::from(to), 0], &payload).is_ok()
                        {
                            sent[to as usize] += 1;
                        }
                    }
                    let taken = endpoint.poll(8, &mut |from, header, payload| {
                        let number = next[from.0 as usize];
                        assert_eq!(*header, [number, u64::from(endpoint.me().0), 0]);
                        assert_eq!(payload, content(number, (number % 257) as usize));
                        next[from.0 as usize] += 1;
                    });
                    if taken == 0 {
                        std::thread::yield_now();
                    }
                }
            });
        }
    });
}

/// The letters that successive polls take, of these lengths.
fn polls(endpoints: &[Endpoint], lengths: &[usize]) -> Vec<usize> {
    let [receiver, sender] = endpoints else { panic!("two ranks") };
    for length in lengths {
        sender.try_post(Node(0), &[0; 3], &content(1, *length)).unwrap();
    }
    let polls = std::iter::from_fn(|| Some(receiver.poll(8, &mut |_, _, _| ())));
    polls.take_while(|taken| *taken > 0).collect()
}

#[test]
fn a_poll_ends_after_a_long_letter_and_sooner_where_the_receiver_sends_such_too() {
    let job = Job::new(Geometry::new(2, 16, 8, 16 << 10));
    let lengths = [0, 8 << 10, (8 << 10) + 1, 16 << 10, 97, 3];
    assert_eq!(polls(&job.endpoints, &lengths), [3, 1, 2]);
    for _ in 0..4 {
        job.endpoints[0].try_post(Node(1), &[0; 3], &content(2, 1 << 10)).unwrap();
    }
    assert_eq!(polls(&job.endpoints, &[1 << 10, (1 << 10) + 1, 2 << 10, 3]), [2, 1, 1]);
}

#[test]
#[should_panic(expected = "polled from inside the sink")]
fn polling_inside_a_sink_is_refused() {
    let job = Job::new(Geometry::new(1, 4, 1, 128));
    let me = &job.endpoints[0];
    me.try_post(Node(0), &[0; 3], &[]).unwrap();
    me.poll(1, &mut |_, _, _| {
        me.poll(1, &mut |_, _, _| {});
    });
}

#[test]
fn a_sink_that_panics_leaves_its_letter_in_the_box() {
    let job = Job::new(Geometry::new(1, 4, 1, 128));
    let me = &job.endpoints[0];
    me.try_post(Node(0), &[7, 0, 0], &[]).unwrap();
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        me.poll(1, &mut |_, _, _| std::panic::resume_unwind(Box::new("refused")))
    }));
    assert!(refused.is_err());
    let mut seen = Vec::new();
    assert_eq!(me.poll(1, &mut |_, header, _| seen.push(header[0])), 1);
    assert_eq!(seen, [7]);
}

//! Model checks of the ring, the pool, the doorbell and claims: every interleaving that loom's bound allows.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p corelace-ring --release --test ring`

use std::cell::Cell as PrivateCell;

use corelace_ring as ring;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering, fence};
use loom::thread;
use ring::cell::{Body, Payload};
use ring::pool::{Lent, Slot};
use ring::ring::{Company, Head, Tail};
use ring::sync::UnsafeCell;
use ring::{Cell, Claim, Consumer, Doorbell, Pool, Ring};

/// The shared parts of one ring, as loom objects.
struct Parts {
    tail: Tail,
    head: Head,
    cells: Vec<Cell>,
}

impl Parts {
    fn new(cells: usize) -> Arc<Parts> {
        Arc::new(Parts {
            tail: Tail::new(),
            head: Head::new(),
            cells: (0..cells).map(|_| Cell::new()).collect(),
        })
    }

    fn ring(&self) -> Ring<'_> {
        Ring::new(&self.tail, &self.head, &self.cells)
    }
}

fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

/// Sends `count` letters numbered from zero, trying again when full.
fn send(parts: &Parts, sender: u32, count: u64) {
    let known_head = PrivateCell::new(0);
    for number in 0..count {
        let header = [u64::from(sender), number, 0];
        while parts
            .ring()
            .push(Company::Anywhere, &known_head, sender, &header, Payload::Inline(&number.to_le_bytes()))
            .is_err()
        {
            thread::yield_now();
        }
    }
}

/// Receives until `next[s]` letters of every sender `s` have come, checking order and content.
fn receive(parts: &Parts, expected: &[u64]) {
    // SAFETY: each model makes one consumer a ring.
    let consumer = unsafe { Consumer::new(parts.ring()) };
    let mut next = vec![0; expected.len()];
    while next != expected {
        let taken = consumer.take(8, |control, body| {
            let sender = control.sender() as usize;
            assert_eq!(body.header, [sender as u64, next[sender], 0]);
            // SAFETY: the letters of these models are inline.
            assert_eq!(unsafe { body.inline_payload(control.length()) }, next[sender].to_le_bytes());
            next[sender] += 1;
        });
        if taken == 0 {
            thread::yield_now();
        }
    }
    assert!(consumer.is_empty());
}

/// No sender or receiver waits in a loop here: with three threads loom would explore endless turns of waiting.
#[test]
fn two_senders_lose_and_reorder_nothing_across_a_wraparound() {
    model(3, || {
        let parts = Parts::new(4);
        // SAFETY: the only consumer of this ring.
        let consumer = unsafe { Consumer::new(parts.ring()) };
        // Two letters from the end of the first lap, so that the three letters below cross it; one of them is still unread,
        // so that the ring is full when all have arrived.
        send(&parts, 2, 2);
        assert_eq!(consumer.take(1, |_, _| ()), 1);
        let senders: Vec<_> = [2u64, 1]
            .into_iter()
            .enumerate()
            .map(|(sender, count)| {
                let parts = parts.clone();
                thread::spawn(move || send(&parts, sender as u32, count))
            })
            .collect();
        let mut seen = [Vec::new(), Vec::new(), Vec::new()];
        let mut take = || {
            consumer.take(8, |control, body| {
                // SAFETY: the letters of this model are inline.
                let payload = unsafe { body.inline_payload(control.length()) };
                assert_eq!(payload, body.header[1].to_le_bytes());
                seen[control.sender() as usize].push(body.header[1]);
            });
        };
        take();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        take();
        assert_eq!(seen, [vec![0, 1], vec![0], vec![1]]);
    });
}

#[test]
fn one_sender_waits_for_room_over_two_laps() {
    model(3, || {
        let parts = Parts::new(2);
        let sender = {
            let parts = parts.clone();
            thread::spawn(move || send(&parts, 0, 5))
        };
        receive(&parts, &[5]);
        sender.join().unwrap();
    });
}

#[test]
fn a_letter_that_is_left_is_there_at_the_next_look() {
    model(3, || {
        let parts = Parts::new(2);
        let sender = {
            let parts = parts.clone();
            thread::spawn(move || send(&parts, 0, 3))
        };
        // SAFETY: the only consumer of this ring.
        let consumer = unsafe { Consumer::new(parts.ring()) };
        let (mut next, mut seen) = (0, false);
        while next < 3 {
            let look = consumer.take_next(|_, body| {
                assert_eq!(body.header, [0, next, 0]);
                let seen_before = seen;
                seen = !seen;
                (seen_before, seen_before)
            });
            match look {
                None => thread::yield_now(),
                Some((taken, _)) => next += u64::from(taken),
            }
        }
        sender.join().unwrap();
        assert!(consumer.is_empty());
    });
}

#[test]
fn a_full_ring_refuses_and_accepts_after_the_receiver_published() {
    model(3, || {
        let parts = Parts::new(2);
        send(&parts, 0, 2);
        let sender = {
            let parts = parts.clone();
            thread::spawn(move || {
                let known_head = PrivateCell::new(0);
                parts
                    .ring()
                    .push(Company::Anywhere, &known_head, 0, &[0, 2, 0], Payload::Inline(&2u64.to_le_bytes()))
                    .is_ok()
            })
        };
        // SAFETY: the only consumer of this ring.
        let consumer = unsafe { Consumer::new(parts.ring()) };
        let mut seen = Vec::new();
        consumer.take(1, |_, body| seen.push(body.header[1]));
        let accepted = sender.join().unwrap();
        consumer.take(8, |_, body| seen.push(body.header[1]));
        let expected: &[u64] = if accepted { &[0, 1, 2] } else { &[0, 1] };
        assert_eq!(seen, expected);
    });
}

/// The slots and mailboxes of two ranks.
struct Pooled {
    boxes: [Arc<Parts>; 2],
    lines: [Vec<Lent>; 2],
    slots: [Vec<UnsafeCell<u64>>; 2],
}

// SAFETY: the slots are what the models check; loom reports any concurrent access.
unsafe impl Sync for Pooled {}
// SAFETY: as above.
unsafe impl Send for Pooled {}

impl Pooled {
    fn new(slots: [usize; 2]) -> Arc<Pooled> {
        Arc::new(Pooled {
            boxes: [Parts::new(4), Parts::new(4)],
            lines: slots.map(|slots| (0..slots).map(|_| Lent::new()).collect()),
            slots: slots.map(|slots| (0..slots).map(|_| UnsafeCell::new(0)).collect()),
        })
    }

    fn line(&self, slot: Slot) -> &Lent {
        &self.lines[slot.home as usize][slot.number as usize]
    }

    fn place(&self, slot: Slot) -> &UnsafeCell<u64> {
        &self.slots[slot.home as usize][slot.number as usize]
    }

    /// Writes `number` into a slot of the pool and sends it to `to`.
    fn send(&self, pool: &Pool, known_head: &PrivateCell<u64>, to: usize, number: u64) {
        let slot = loop {
            match pool.take(|slot| self.line(slot)) {
                Some(slot) => break slot,
                None => thread::yield_now(),
            }
        };
        // SAFETY: the pool handed the slot out.
        self.place(slot).with_mut(|place| unsafe { *place = number });
        let payload = Payload::Pooled { length: 1000, slot };
        self.boxes[to].ring().push(Company::Anywhere, known_head, 0, &[number, 0, 0], payload).unwrap();
    }

    /// Reads the next letter, and is done with its slot.
    fn receive(&self, consumer: &Consumer<'_>, pool: &Pool, keeps: bool) -> u64 {
        let mut number = 0;
        let mut read = |_, body: &Body| {
            // SAFETY: the letters of this model are pooled.
            let slot = unsafe { body.slot() };
            // SAFETY: the letter lends the slot to this reader.
            number = self.place(slot).with(|place| unsafe { *place });
            assert_eq!(number, body.header[0]);
            pool.read(slot, keeps, |slot| self.line(slot));
        };
        while consumer.take(1, &mut read) == 0 {
            thread::yield_now();
        }
        number
    }
}

#[test]
fn a_slot_is_not_rewritten_before_its_reader_is_done() {
    model(3, || {
        let shared = Pooled::new([1, 0]);
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (pool, known_head) = (Pool::new(0, 1), PrivateCell::new(0));
                for number in 1..=2 {
                    shared.send(&pool, &known_head, 1, number);
                }
            })
        };
        // SAFETY: the only consumer of this ring.
        let consumer = unsafe { Consumer::new(shared.boxes[1].ring()) };
        let pool = Pool::new(1, 1);
        for number in 1..=2 {
            assert_eq!(shared.receive(&consumer, &pool, false), number);
        }
        sender.join().unwrap();
    });
}

/// Both send a letter in a slot of their own, and then another one in the slot that they have read. Rank 0 sends two at first: the slot of the second may not be kept, and comes back by its line.
#[test]
fn a_slot_that_goes_to_and_fro_is_never_written_while_it_is_read() {
    model(2, || {
        let shared = Pooled::new([2, 2]);
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                // SAFETY: the only consumer of this ring.
                let consumer = unsafe { Consumer::new(shared.boxes[1].ring()) };
                let (pool, known_head) = (Pool::new(1, 2), PrivateCell::new(0));
                shared.send(&pool, &known_head, 0, 10);
                let numbers = [0; 2].map(|_| shared.receive(&consumer, &pool, true));
                assert_eq!(pool.next(), Some(Slot { home: 0, number: 0 }), "it keeps the first");
                shared.send(&pool, &known_head, 0, 11);
                numbers
            })
        };
        // SAFETY: the only consumer of this ring.
        let consumer = unsafe { Consumer::new(shared.boxes[0].ring()) };
        let (pool, known_head) = (Pool::new(0, 2), PrivateCell::new(0));
        shared.send(&pool, &known_head, 1, 1);
        shared.send(&pool, &known_head, 1, 2);
        assert_eq!(shared.receive(&consumer, &pool, true), 10);
        assert_eq!(pool.next(), Some(Slot { home: 1, number: 0 }), "it keeps what it has read");
        assert_eq!(shared.receive(&consumer, &pool, true), 11);
        assert_eq!(pool.next(), Some(Slot { home: 0, number: 0 }), "its own one has come home");
        shared.send(&pool, &known_head, 1, 3);
        assert_eq!(other.join().unwrap(), [1, 2]);
    });
}

/// A futex that loom understands: `wait` blocks on a condition variable while the doorbell stands armed.
struct Futex {
    lock: loom::sync::Mutex<()>,
    condition: loom::sync::Condvar,
}

#[test]
fn a_post_to_an_owner_about_to_sleep_always_wakes_it() {
    model(3, || sleep_until_two_have_posted(false, [false, false]));
}

/// The owner runs the heavy barrier; posters that it reaches pay no fence of their own, others do.
#[test]
fn a_light_post_to_an_owner_with_a_heavy_barrier_always_wakes_it() {
    model(3, || sleep_until_two_have_posted(true, [true, true]));
    model(3, || sleep_until_two_have_posted(true, [true, false]));
}

/// Posters that are registered before the owner has promised anything must not rely on it.
#[test]
fn a_registered_poster_wakes_an_owner_that_has_promised_nothing() {
    model(3, || sleep_until_two_have_posted(false, [true, true]));
}

fn sleep_until_two_have_posted(promises: bool, registered: [bool; 2]) {
    ring::sync::model_heavy_barriers(promises);
    struct Shared {
        bell: Doorbell,
        letters: AtomicU32,
        futex: Futex,
    }
    let shared = Arc::new(Shared {
        bell: Doorbell::new(),
        letters: AtomicU32::new(0),
        futex: Futex { lock: loom::sync::Mutex::new(()), condition: loom::sync::Condvar::new() },
    });
    if promises {
        shared.bell.promise_heavy_barrier();
    }
    let posters = registered.map(|registered| {
        let shared = shared.clone();
        thread::spawn(move || {
            shared.letters.fetch_add(1, Ordering::Release);
            if shared.bell.ring(registered) {
                let _guard = shared.futex.lock.lock().unwrap();
                shared.futex.condition.notify_one();
            }
        })
    });
    // A lost wake-up leaves this thread waiting for ever, which loom reports as a deadlock.
    loop {
        let seen = shared.letters.load(Ordering::Acquire);
        if seen == 2 {
            break;
        }
        shared.bell.arm(|| fence(Ordering::SeqCst));
        if shared.letters.load(Ordering::Acquire) != seen {
            shared.bell.clear();
            continue;
        }
        let mut guard = shared.futex.lock.lock().unwrap();
        while shared.bell.is_armed() {
            guard = shared.futex.condition.wait(guard).unwrap();
        }
    }
    posters.into_iter().for_each(|poster| poster.join().unwrap());
}

/// A sender that finds the ring full sleeps until it is told of room, with no limit here. A lost wake-up is a deadlock.
#[test]
fn a_sender_that_sleeps_until_there_is_room_is_always_woken() {
    model(3, || {
        ring::sync::model_heavy_barriers(true);
        struct Shared {
            parts: Arc<Parts>,
            bell: Doorbell,
            futex: Futex,
        }
        let shared = Arc::new(Shared {
            parts: Parts::new(2),
            bell: Doorbell::new(),
            futex: Futex { lock: loom::sync::Mutex::new(()), condition: loom::sync::Condvar::new() },
        });
        send(&shared.parts, 0, 2);
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                let known_head = PrivateCell::new(0);
                let ring = shared.parts.ring();
                while ring
                    .push(Company::Anywhere, &known_head, 0, &[0, 2, 0], Payload::Inline(&2u64.to_le_bytes()))
                    .is_err()
                {
                    assert!(ring.ask_for_room(0));
                    shared.bell.arm(|| fence(Ordering::SeqCst));
                    if ring.has_room(&known_head) {
                        shared.bell.clear();
                    } else {
                        let mut guard = shared.futex.lock.lock().unwrap();
                        while shared.bell.is_armed() {
                            guard = shared.futex.condition.wait(guard).unwrap();
                        }
                    }
                    ring.stop_asking(0);
                }
            })
        };
        // SAFETY: the only consumer of this ring.
        let consumer = unsafe { Consumer::new(shared.parts.ring()) };
        let tell = |_| {
            if shared.bell.ring(false) {
                let _guard = shared.futex.lock.lock().unwrap();
                shared.futex.condition.notify_one();
            }
        };
        assert_eq!(consumer.take_while(1, |_, _| true, |_, _| (), tell), 1);
        sender.join().unwrap();
        assert_eq!(consumer.take(8, |_, _| ()), 2);
    });
}

/// All senders on one thread, the receiver on another; and senders that hint at the cells they use. Over more than a lap.
#[test]
fn senders_of_one_thread_and_senders_across_cores_lose_nothing() {
    for company in [Company::OnMyThread, Company::OnOwnCores] {
        model(3, move || {
            let parts = Parts::new(2);
            let sender = {
                let parts = parts.clone();
                thread::spawn(move || {
                    let known_heads = [PrivateCell::new(0), PrivateCell::new(0)];
                    for (sender, number) in [(0, 0u64), (1, 0), (0, 1)] {
                        let (ring, known_head) = (parts.ring(), &known_heads[sender as usize]);
                        let (header, bytes) = ([u64::from(sender), number, 0], number.to_le_bytes());
                        let payload = Payload::Inline(&bytes);
                        while ring.push(company, known_head, sender, &header, payload).is_err() {
                            thread::yield_now();
                        }
                    }
                })
            };
            receive(&parts, &[2, 1]);
            sender.join().unwrap();
        });
    }
}

/// A letter whose sink panics is not taken: it is handed out again, its cell stays its own, and so do those behind it.
#[test]
fn a_sink_that_panics_loses_no_letter() {
    model(3, || {
        let parts = Parts::new(2);
        let sender = {
            let parts = parts.clone();
            thread::spawn(move || send(&parts, 0, 3))
        };
        // SAFETY: the only consumer of this ring.
        let consumer = unsafe { Consumer::new(parts.ring()) };
        let (mut seen, mut panics) = (Vec::new(), 0);
        while seen.len() < 3 {
            let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                consumer.take(8, |_, body| {
                    if panics == seen.len() {
                        panics += 1;
                        std::panic::resume_unwind(Box::new(()));
                    }
                    seen.push(body.header[1]);
                })
            }));
            if taken.is_ok_and(|taken| taken == 0) {
                thread::yield_now();
            }
        }
        sender.join().unwrap();
        assert_eq!((seen, panics), (vec![0, 1, 2], 3), "each is handed out twice, and taken once");
    });
}

/// A send that is taken back while its receiver matches it, and a second one that uses the same word: each message is received or
/// cancelled, never both and never neither, and a claim for the first that comes late does nothing to the second. The buffer is
/// touched by the winner alone.
#[test]
fn a_claimed_word_has_one_winner_and_a_late_claim_spoils_no_later_round() {
    struct Shared {
        word: Claim,
        /// The name of the round that was told by a letter last.
        told: AtomicU32,
        buffers: [UnsafeCell<u32>; 2],
    }
    model(3, || {
        let shared = Arc::new(Shared {
            word: Claim::new(),
            told: AtomicU32::new(0),
            buffers: [UnsafeCell::new(0), UnsafeCell::new(0)],
        });
        let peer = {
            let shared = shared.clone();
            thread::spawn(move || {
                let told = shared.told.load(Ordering::Acquire);
                (1..=told).map(|round| shared.take(round)).collect::<Vec<_>>()
            })
        };
        let mine: Vec<bool> = (1..=2)
            .map(|round| {
                shared.word.open(round);
                shared.told.store(round, Ordering::Release);
                shared.take(round)
            })
            .collect();
        let theirs = peer.join().unwrap();
        for (round, mine) in mine.iter().enumerate() {
            let theirs = theirs.get(round).copied().unwrap_or(false);
            assert!(mine ^ theirs, "round {round}: mine {mine}, theirs {theirs}");
        }
    });

    impl Shared {
        fn take(&self, round: u32) -> bool {
            let won = self.word.claim(round);
            if won {
                // SAFETY: loom checks that nobody else does so at the same time.
                self.buffers[round as usize - 1].with_mut(|buffer| unsafe { *buffer += 1 });
            }
            won
        }
    }
}

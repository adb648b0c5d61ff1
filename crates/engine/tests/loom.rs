//! Model checks of the words that members of a window race for, and by which those of a communicator take turns at its board: every interleaving that loom's bound allows, of the very file that the engine uses.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p corelace-engine --release --test engine`

mod sync {
    pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    /// Loom knows no order of all operations but that of fences.
    pub fn write_in_order(word: &AtomicU32, value: u32) {
        word.store(value, Ordering::Release);
        in_order();
    }

    pub fn write_long_in_order(word: &AtomicU64, value: u64) {
        word.store(value, Ordering::Release);
        in_order();
    }

    pub fn in_order() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    /// Together with the other thread's barrier on all cores it orders as two fences do.
    pub fn light_fence() {
        in_order();
    }
}

#[allow(dead_code, reason = "each model uses a part of it")]
#[path = "../src/values/memory/words.rs"]
mod words;

#[allow(dead_code, reason = "each model uses a part of it")]
#[path = "../src/values/memory/groups.rs"]
mod groups;

#[allow(dead_code, reason = "each model uses a part of it")]
#[path = "../src/values/memory/turns.rs"]
mod turns;

use std::sync::atomic::AtomicU64 as Counter;
use std::sync::atomic::Ordering::Relaxed;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use loom::thread;

use sync::{AtomicU32, AtomicU64, Ordering};

fn model(body: impl Fn() + Sync + Send + 'static) {
    model_within(3, body);
}

fn model_within(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

/// A member's lock, the window's, and memory that loom lets nobody write while another uses it.
#[derive(Default)]
struct Locked {
    member: AtomicU64,
    all: AtomicU64,
    memory: UnsafeCell<u32>,
}

impl Locked {
    fn add(&self) {
        // SAFETY: loom checks that nobody else has it.
        self.memory.with_mut(|memory| unsafe { *memory += 1 });
    }

    fn read(&self) -> u32 {
        // SAFETY: loom checks that nobody writes it.
        self.memory.with(|memory| unsafe { *memory })
    }
}

fn until(mut attempt: impl FnMut() -> bool) {
    while !attempt() {
        thread::yield_now();
    }
}

#[test]
fn two_exclusive_locks_of_a_member_are_not_held_at_once_and_see_what_was_done_under_the_other() {
    model(|| {
        let locked = Arc::new(Locked::default());
        let other = {
            let locked = locked.clone();
            thread::spawn(move || {
                until(|| words::take_exclusive(&locked.member, &locked.all));
                locked.add();
                words::give_exclusive(&locked.member);
            })
        };
        until(|| words::take_exclusive(&locked.member, &locked.all));
        locked.add();
        words::give_exclusive(&locked.member);
        other.join().unwrap();
        until(|| words::take_shared(&locked.member));
        assert_eq!(locked.read(), 2);
    });
}

#[test]
fn a_shared_lock_and_an_exclusive_one_are_not_held_at_once() {
    model(|| {
        let locked = Arc::new(Locked::default());
        let writer = {
            let locked = locked.clone();
            thread::spawn(move || {
                until(|| words::take_exclusive(&locked.member, &locked.all));
                locked.add();
                words::give_exclusive(&locked.member);
            })
        };
        until(|| words::take_shared(&locked.member));
        locked.read();
        words::give_shared(&locked.member);
        writer.join().unwrap();
    });
}

#[test]
fn a_lock_of_all_members_and_an_exclusive_one_are_not_held_at_once() {
    model(|| {
        let locked = Arc::new(Locked::default());
        let writer = {
            let locked = locked.clone();
            thread::spawn(move || {
                until(|| words::take_exclusive(&locked.member, &locked.all));
                locked.add();
                words::give_exclusive(&locked.member);
            })
        };
        until(|| words::take_all(&locked.all, [&locked.member].into_iter()));
        locked.read();
        words::give_all(&locked.all);
        writer.join().unwrap();
    });
}

/// A word that is changed by atomic operations, or in bulk by loads and stores under a lock.
#[derive(Default)]
struct Accumulated {
    lock: AtomicU32,
    busy: AtomicU32,
    word: AtomicU32,
}

impl Accumulated {
    fn add_by_words(&self) {
        let came = words::come(&self.busy, &self.lock);
        if came {
            self.word.fetch_add(1, Ordering::Relaxed);
        }
        words::go(&self.busy);
        if !came {
            self.add_in_bulk();
        }
    }

    fn add_in_bulk(&self) {
        until(|| words::take_alone(&self.lock));
        until(|| words::is_gone(&self.busy));
        let before = self.word.load(Ordering::Relaxed);
        self.word.store(before + 1, Ordering::Relaxed);
        words::give_alone(&self.lock);
    }
}

#[test]
fn no_update_is_lost_between_atomic_operations_and_bulk() {
    model(|| {
        let at = Arc::new(Accumulated::default());
        let by_words = {
            let at = at.clone();
            thread::spawn(move || at.add_by_words())
        };
        at.add_in_bulk();
        by_words.join().unwrap();
        assert_eq!(at.word.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn whoever_sleeps_for_a_word_is_woken_by_who_writes_it() {
    model(|| {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false)));
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (word, sleeps, call) = &*shared;
                sync::write_in_order(word, 1);
                if words::may_sleep(sleeps) {
                    call.store(true, Ordering::Release);
                }
            })
        };
        let (word, sleeps, call) = &*shared;
        words::lie_down(sleeps);
        let was_told = word.load(Ordering::Acquire) == 1;
        writer.join().unwrap();
        assert!(was_told || call.load(Ordering::Acquire), "it sleeps, and nobody has called it");
        words::get_up(sleeps);
    });
}

/// A desk with data that loom lets nobody touch while another does, and how often the errand was done.
#[derive(Default)]
struct Errand {
    state: AtomicU32,
    data: UnsafeCell<u32>,
    done: AtomicU32,
}

#[test]
fn an_errand_is_done_once_by_the_member_or_by_who_asked() {
    model(|| {
        let desk = Arc::new(Errand::default());
        let member = {
            let desk = desk.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    if words::is_asked(&desk.state) && words::begin(&desk.state) {
                        // SAFETY: loom checks that nobody else has it.
                        desk.data.with_mut(|data| unsafe { *data += 1 });
                        desk.done.fetch_add(1, Ordering::Relaxed);
                        words::finish(&desk.state);
                    }
                    thread::yield_now();
                }
            })
        };
        assert!(words::take_desk(&desk.state));
        // SAFETY: as above.
        desk.data.with_mut(|data| unsafe { *data = 7 });
        words::ask(&desk.state);
        let mut withdrawn = false;
        until(|| {
            withdrawn = words::withdraw(&desk.state);
            withdrawn || words::is_done(&desk.state)
        });
        // SAFETY: as above.
        let data = desk.data.with(|data| unsafe { *data });
        if withdrawn {
            desk.done.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(data, if withdrawn { 7 } else { 8 });
        words::leave_desk(&desk.state);
        member.join().unwrap();
        assert_eq!(desk.done.load(Ordering::Relaxed), 1);
    });
}

/// Elements of a member's, of which its origin changes one, and has it change the other, under the member's lock for accumulates; loom lets nobody touch one while another does.
#[derive(Default)]
struct Halves {
    lock: AtomicU32,
    desk: AtomicU32,
    theirs: UnsafeCell<u32>,
    ours: UnsafeCell<u32>,
}

impl Halves {
    fn add(half: &UnsafeCell<u32>) {
        // SAFETY: loom checks that nobody else has it.
        half.with_mut(|half| unsafe { *half += 1 });
    }
}

#[test]
fn who_combines_under_the_lock_of_who_asked_is_as_alone_as_who_has_the_lock() {
    model(|| {
        let at = Arc::new(Halves::default());
        let member = {
            let at = at.clone();
            thread::spawn(move || {
                if words::is_asked(&at.desk) && words::begin(&at.desk) {
                    Halves::add(&at.theirs);
                    words::finish(&at.desk);
                }
            })
        };
        let other = {
            let at = at.clone();
            thread::spawn(move || {
                if words::take_alone(&at.lock) {
                    Halves::add(&at.theirs);
                    Halves::add(&at.ours);
                    words::give_alone(&at.lock);
                    return 1;
                }
                0
            })
        };
        until(|| words::take_alone(&at.lock));
        assert!(words::take_desk(&at.desk));
        words::ask(&at.desk);
        Halves::add(&at.ours);
        let mut withdrawn = false;
        until(|| {
            withdrawn = words::withdraw(&at.desk);
            withdrawn || words::is_done(&at.desk)
        });
        words::leave_desk(&at.desk);
        if withdrawn {
            Halves::add(&at.theirs);
        }
        words::give_alone(&at.lock);
        member.join().unwrap();
        let expected = 1 + other.join().unwrap();
        for half in [&at.theirs, &at.ours] {
            // SAFETY: as above.
            assert_eq!(half.with(|half| unsafe { *half }), expected);
        }
    });
}

/// A member's seat: a note with data that loom lets nobody write while another reads, and the turn that the member is done with.
#[derive(Default)]
struct Seat {
    mark: AtomicU64,
    done: AtomicU64,
    data: UnsafeCell<u64>,
}

impl Seat {
    fn lay_down(&self, turn: u64) {
        // SAFETY: loom checks that nobody else has it.
        self.data.with_mut(|data| unsafe { *data = 10 * turn });
        turns::publish(&self.mark, turn);
    }

    fn read(&self) -> u64 {
        // SAFETY: loom checks that nobody writes it.
        self.data.with(|data| unsafe { *data })
    }
}

#[test]
fn what_is_laid_down_under_a_mark_is_read_whole_and_not_overwritten_before_the_reader_is_done() {
    model(|| {
        let seats = Arc::new([Seat::default(), Seat::default()]);
        let writer = {
            let seats = seats.clone();
            thread::spawn(move || {
                for turn in 1..=2 {
                    // The one note of the seat was used in the turn before.
                    until(|| turns::reached(&seats[1].done) >= turn - 1);
                    seats[0].lay_down(turn);
                }
            })
        };
        for turn in 1..=2 {
            until(|| turns::shows(&seats[0].mark, turn));
            assert_eq!(seats[0].read(), 10 * turn);
            turns::publish_lightly(&seats[1].done, turn);
        }
        writer.join().unwrap();
    });
}

/// The mark of a value, and that of the prefix which takes its place.
const LAID: [u64; 2] = [1, 2];

#[test]
fn whoever_looks_back_reads_the_value_or_the_prefix_that_takes_its_place() {
    model(|| {
        // The prefix lies beside the value, under the same mark's word.
        let seats = Arc::new([Seat::default(), Seat::default()]);
        let before = {
            let seats = seats.clone();
            thread::spawn(move || {
                seats[0].lay_down(LAID[0]);
                // SAFETY: loom checks that nobody else has it.
                seats[1].data.with_mut(|data| unsafe { *data = 10 * LAID[1] });
                turns::publish(&seats[0].mark, LAID[1]);
            })
        };
        let mut laid = None;
        until(|| {
            laid = [1, 0].into_iter().find(|place| turns::shows(&seats[0].mark, LAID[*place]));
            laid.is_some()
        });
        let place = laid.unwrap();
        assert_eq!(seats[place].read(), 10 * LAID[place]);
        before.join().unwrap();
    });
}

#[test]
fn the_last_who_arrives_sees_what_all_wrote_and_lets_them_go_on() {
    model(|| {
        let shared = Arc::new(([Seat::default(), Seat::default()], Seat::default(), AtomicU64::new(0)));
        let member = |me: usize| {
            let shared = shared.clone();
            move || {
                let (seats, middle, arrivals) = &*shared;
                seats[me].lay_down(1);
                if turns::is_last(arrivals, 2) {
                    let sum = seats[0].read() + seats[1].read();
                    // SAFETY: loom checks that nobody else has it.
                    middle.data.with_mut(|data| unsafe { *data = sum });
                    turns::publish(&middle.mark, 1);
                } else {
                    until(|| turns::shows(&middle.mark, 1));
                }
                assert_eq!(middle.read(), 20);
            }
        };
        let other = thread::spawn(member(1));
        member(0)();
        other.join().unwrap();
    });
}

/// A seat with two notes, used in turn, for members who meet in groups.
#[derive(Default)]
struct Noted([Seat; 2]);

impl Noted {
    fn at(&self, turn: u64) -> &Seat {
        &self.0[turn as usize % 2]
    }
}

/// How often each member has come to the end, in all orders together.
type Count<const MEMBERS: usize> = [Counter; MEMBERS];

/// What a member lays down in a turn: its own value, or the sum of its group if it speaks for that.
fn value(member: u32, turn: u64) -> u64 {
    100 * turn + u64::from(member) + 1
}

/// Members meet in groups of two in so many turns, and add up their values: who speaks those of its group, and each the sums of the groups. Turn by turn the notes are used again without a look whether
/// the others are done, as a board does: who has met all others in a turn knows that they are done with the one before.
///
/// Several who wait without end would have no end of orders: so one that has looked twice in vain gives up. How many have come to the end is counted.
fn sum_in_groups(members: u32, rounds: u64, ended: &'static [Counter]) {
    let groups = groups::Groups::sized(members, 2);
    let seats: Arc<Vec<Noted>> = Arc::new((0..members).map(|_| Noted::default()).collect());
    let member = |me: u32| {
        let seats = seats.clone();
        move || {
            for turn in 1..=rounds {
                let seat = |member: u32| seats[member as usize].at(turn);
                // SAFETY: loom checks that nobody else has it.
                let lay = |sum: u64| seat(me).data.with_mut(|data| unsafe { *data = sum });
                lay(value(me, turn));
                if !groups.speaks(me) {
                    turns::publish_lightly(&seat(me).mark, turn);
                }
                let see = |(): &mut (), member: u32| -> Result<(), ()> {
                    let looks = || {
                        let shows = turns::shows(&seat(member).mark, turn);
                        if !shows {
                            thread::yield_now();
                        }
                        shows
                    };
                    if looks() || looks() { Ok(()) } else { Err(()) }
                };
                let speak = |(): &mut ()| {
                    let others: u64 = groups.led_by(me).skip(1).map(|member| seat(member).read()).sum();
                    lay(value(me, turn) + others);
                    turns::publish_lightly(&seat(me).mark, turn);
                };
                if groups.meet(me, &mut (), see, speak).is_err() {
                    return;
                }
                let speakers = (0..members).filter(|member| groups.speaks(*member));
                let sum: u64 = speakers.map(|speaker| seat(speaker).read()).sum();
                assert_eq!(sum, (0..members).map(|member| value(member, turn)).sum());
                // Those who do not speak are read by all in collectives that need each value.
                let quiet = (0..members).filter(|member| !groups.speaks(*member));
                quiet.for_each(|member| assert_eq!(seat(member).read(), value(member, turn)));
            }
            ended[me as usize].fetch_add(1, Relaxed);
        }
    };
    let others: Vec<_> = (1..members).map(|other| thread::spawn(member(other))).collect();
    member(0)();
    others.into_iter().for_each(|other| other.join().unwrap());
}

#[test]
fn members_in_groups_who_have_met_see_what_all_wrote_whether_they_speak_or_not() {
    // One group of two, and one that has but who speaks for it.
    static ENDED: Count<4> = [const { Counter::new(0) }; 4];
    model(|| sum_in_groups(3, 1, &ENDED));
    // Two groups of two.
    model_within(1, || sum_in_groups(4, 1, &ENDED));
    assert!(ENDED.iter().all(|ended| ended.load(Relaxed) > 0));
}

#[test]
fn members_in_groups_use_a_note_again_when_they_have_met_in_the_next_turn() {
    // The notes are used a second time in the third turn.
    static ENDED: Count<3> = [const { Counter::new(0) }; 3];
    model(|| sum_in_groups(2, 3, &ENDED));
    model_within(2, || sum_in_groups(3, 3, &ENDED));
    assert!(ENDED.iter().all(|ended| ended.load(Relaxed) > 0));
}

#[test]
fn of_two_who_meet_in_a_step_one_goes_on_with_what_both_left_and_the_other_leaves_more_only_after_it() {
    model(|| {
        let shared = Arc::new(([Seat::default(), Seat::default()], Seat::default(), AtomicU64::new(0)));
        let member = |me: usize| {
            let shared = shared.clone();
            move || {
                let (seats, middle, met) = &*shared;
                for step in 1..=2 {
                    // Whoever finds the other one there leaves nothing of its own.
                    let is_second = turns::has_met(met, step) || {
                        // SAFETY: loom checks that nobody else has it.
                        seats[me].data.with_mut(|data| unsafe { *data = 10 * step });
                        turns::meets(met, step)
                    };
                    if is_second {
                        let sum = 10 * step + seats[1 - me].read();
                        // SAFETY: as above.
                        middle.data.with_mut(|data| unsafe { *data = sum });
                        turns::publish(&middle.mark, step);
                    } else {
                        until(|| turns::reached(&middle.mark) >= step);
                    }
                    // The result is read before this one comes again, so whoever is second then may replace it.
                    assert_eq!(middle.read(), 20 * step);
                }
            }
        };
        let other = thread::spawn(member(1));
        member(0)();
        other.join().unwrap();
    });
}

#[test]
fn each_part_of_a_transfer_is_carried_once_and_seen_by_who_is_told_that_the_other_has_carried() {
    const CARRIED: [u64; 2] = [4, 8];
    model(|| {
        let (claims, parts) = (Arc::new(AtomicU64::new(0)), Arc::new([Locked::default(), Locked::default()]));
        let member = |me: usize| {
            let (claims, parts) = (claims.clone(), parts.clone());
            move || {
                let mine = [me, 1 - me].map(|part| {
                    let is_mine = turns::claim(&claims, 1 << part);
                    if is_mine {
                        parts[part].add();
                    }
                    is_mine
                });
                turns::claim(&claims, CARRIED[me]);
                if mine != [true, true] {
                    until(|| turns::reached(&claims) & CARRIED[1 - me] != 0);
                }
                assert_eq!([parts[0].read(), parts[1].read()], [1, 1]);
            }
        };
        let other = thread::spawn(member(1));
        member(0)();
        other.join().unwrap();
    });
}

#[test]
fn two_who_exchange_pieces_write_next_where_they_have_read_and_never_where_the_other_still_reads() {
    const LAPS: u64 = 3;
    for lightly in [false, true] {
        model(move || {
            // One room of each seat: which of them a member uses changes from lap to lap.
            let seats = Arc::new([Seat::default(), Seat::default()]);
            let member = |me: usize| {
                let seats = seats.clone();
                move || {
                    for lap in 1..=LAPS {
                        let (mine, theirs) = (me ^ (lap % 2) as usize, 1 - me ^ (lap % 2) as usize);
                        // SAFETY: loom checks that nobody else has it.
                        seats[mine].data.with_mut(|data| unsafe { *data = 10 * lap + me as u64 });
                        let laid = &seats[me].mark;
                        if lightly {
                            turns::publish_lightly(laid, lap)
                        } else {
                            turns::publish(laid, lap)
                        }
                        until(|| turns::reached(&seats[1 - me].mark) >= lap);
                        assert_eq!(seats[theirs].read(), 10 * lap + 1 - me as u64);
                    }
                }
            };
            let other = thread::spawn(member(1));
            member(0)();
            other.join().unwrap();
        });
    }
}

#[test]
fn a_member_that_lies_down_before_a_note_is_published_is_found_by_whoever_publishes_it() {
    for (light, nested) in [(false, false), (true, false), (false, true)] {
        model(move || {
            let shared =
                Arc::new((Seat::default(), AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false)));
            let writer = {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (seat, sleepers, asleep, call) = &*shared;
                    if light {
                        turns::publish_lightly(&seat.mark, 1);
                    } else {
                        turns::publish(&seat.mark, 1);
                    }
                    if turns::anybody_sleeps(sleepers) && turns::is_awaited(asleep, 5) {
                        call.store(true, Ordering::Release);
                    }
                })
            };
            let (seat, sleepers, asleep, call) = &*shared;
            let before = turns::lie_down(sleepers, asleep, 5);
            if nested {
                // It waits for anybody for a while, and then for the same one as before: there is no moment between.
                let before = turns::lie_down(sleepers, asleep, turns::ANYBODY);
                turns::get_up(sleepers, asleep, before);
            }
            let was_told = turns::shows(&seat.mark, 1);
            writer.join().unwrap();
            assert!(was_told || call.load(Ordering::Acquire), "it sleeps, and nobody has called it");
            turns::get_up(sleepers, asleep, before);
        });
    }
}

#[test]
fn memory_that_is_withdrawn_is_not_read_once_nobody_is_seen_to_read() {
    model(|| {
        let shared = Arc::new((Seat::default(), AtomicU32::new(0)));
        shared.0.lay_down(1);
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (seat, reading) = &*shared;
                turns::begin_reading(reading);
                if turns::shows(&seat.mark, 1) {
                    assert_eq!(seat.read(), 10);
                }
                turns::end_reading(reading);
            })
        };
        let (seat, reading) = &*shared;
        turns::withdraw(&seat.mark);
        until(|| !turns::reads(reading));
        // SAFETY: loom checks that nobody reads it.
        seat.data.with_mut(|data| unsafe { *data = 0 });
        reader.join().unwrap();
    });
}

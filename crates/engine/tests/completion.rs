//! Waiting for the first of many: what it costs, and that nothing is missed, whatever the program does with its array in between.

use std::cell::{Cell, RefCell};

use corelace_engine::datatype::Basic;
use corelace_engine::memory::{RecvBuffer, SendBuffer};
use corelace_engine::{Datatype, Dest, Found, List, Mode, Rank, RequestId, Source, State, Tag, TagMatch};
use proptest::prelude::*;

use crate::support::{PLAIN, run};

/// An array of requests that counts how often it is read, and how often compared.
struct Counted {
    requests: RefCell<Vec<Option<RequestId>>>,
    reads: Cell<usize>,
    comparisons: Cell<usize>,
}

impl Counted {
    fn new(places: usize) -> Counted {
        Counted { requests: RefCell::new(vec![None; places]), reads: Cell::new(0), comparisons: Cell::new(0) }
    }

    fn set(&self, place: usize, request: Option<RequestId>) {
        self.requests.borrow_mut()[place] = request;
    }
}

impl List for Counted {
    fn len(&self) -> usize {
        self.requests.borrow().len()
    }

    fn get(&self, place: usize) -> Option<RequestId> {
        self.reads.set(self.reads.get() + 1);
        self.requests.borrow()[place]
    }

    fn differs(&self, seen: &[u64], from: usize) -> Option<usize> {
        self.comparisons.set(self.comparisons.get() + 1);
        List::differs(&self.requests.borrow().as_slice(), seen, from)
    }
}

/// Starts to receive nothing, with this tag, from this very rank.
fn expect(rank: &Rank, tag: usize) -> RequestId {
    // SAFETY: no bytes are written.
    let nothing =
        unsafe { RecvBuffer::new(std::ptr::dangling_mut::<u8>(), 0, &Datatype::basic(Basic::Byte)) };
    let tag = TagMatch::Is(Tag::new(tag as i64).unwrap());
    rank.irecv(&nothing, Source::Rank(0), tag, rank.world()).unwrap()
}

fn send(rank: &Rank, tag: usize) {
    // SAFETY: no bytes are read.
    let nothing = unsafe { SendBuffer::new(std::ptr::dangling::<u8>(), 0, &Datatype::basic(Basic::Byte)) };
    rank.send(Mode::Standard, &nothing, Dest::Rank(0), Tag::new(tag as i64).unwrap(), rank.world()).unwrap();
}

#[test]
fn waiting_for_the_first_of_ten_thousand_costs_what_has_completed() {
    const MANY: usize = 10_000;
    run(1, PLAIN, |rank| {
        let list = Counted::new(MANY);
        (0..MANY).for_each(|place| list.set(place, Some(expect(rank, place))));
        for place in (0..MANY).rev() {
            assert_eq!(rank.test_any(&list), Ok(Found::Pending));
            send(rank, place);
            assert_eq!(rank.wait_any(&list), Ok(Some(place)));
            rank.take(list.requests.borrow()[place].unwrap()).unwrap();
            list.set(place, None);
        }
        assert_eq!(rank.wait_any(&list), Ok(None));
        // Each place is read when it is filled, when its request has completed, and a few times for
        // what is still active; a call compares the words of the array with those that it knows.
        let (reads, comparisons) = (list.reads.get(), list.comparisons.get());
        assert!(reads < 16 * MANY, "the places were read {reads} times");
        assert!(comparisons < 8 * MANY, "the list was compared {comparisons} times");
    });
}

#[test]
fn requests_that_take_the_places_of_others_are_found_when_they_are_first_asked_for() {
    const PLACES: usize = 6;
    run(1, PLAIN, |rank| {
        let list = Counted::new(PLACES);
        for round in 0..100 {
            let tag = |place| round * PLACES + place;
            (0..PLACES).for_each(|place| list.set(place, Some(expect(rank, tag(place)))));
            let ids = list.requests.borrow().clone();
            [1, 2, 4].into_iter().for_each(|place| send(rank, tag(place)));
            // Complete, as after any other call that made progress.
            while ids.iter().flatten().filter(|id| rank.state(**id) == Ok(State::Complete)).count() < 3 {
                rank.iprobe(Source::Rank(0), TagMatch::Is(Tag::new(30_000).unwrap()), rank.world()).unwrap();
            }
            for _ in 0..3 {
                let Ok(Found::Complete(place)) = rank.test_any(&list) else {
                    panic!("round {round}: a complete request was not found");
                };
                rank.take(ids[place].unwrap()).unwrap();
                list.set(place, None);
            }
            assert_eq!(rank.test_any(&list), Ok(Found::Pending));
            [0, 3, 5].into_iter().for_each(|place| send(rank, tag(place)));
            while let Some(place) = rank.wait_any(&list).unwrap() {
                rank.take(ids[place].unwrap()).unwrap();
                list.set(place, None);
            }
            assert_eq!(rank.test_any(&list), Ok(Found::NoneActive));
        }
    });
}

#[test]
fn persistent_requests_are_found_complete_each_time_that_they_were_started() {
    const PLACES: usize = 4;
    run(1, PLAIN, |rank| {
        let nothing =
            // SAFETY: no bytes are written.
            unsafe { RecvBuffer::new(std::ptr::dangling_mut::<u8>(), 0, &Datatype::basic(Basic::Byte)) };
        let list = Counted::new(PLACES);
        for place in 0..PLACES {
            let tag = TagMatch::Is(Tag::new(place as i64).unwrap());
            let id = rank.recv_init(&nothing, Source::Rank(0), tag, rank.world()).unwrap();
            list.set(place, Some(id));
        }
        let id = |place: usize| list.requests.borrow()[place].unwrap();
        for round in 0..50 {
            assert_eq!(rank.test_any(&list), Ok(Found::NoneActive));
            let place = round % PLACES;
            let other = (place + 1) % PLACES;
            rank.start(id(place)).unwrap();
            assert_eq!(rank.test_any(&list), Ok(Found::Pending));
            send(rank, place);
            assert_eq!(rank.wait_any(&list), Ok(Some(place)));
            // Asked for, but not taken: it is found again.
            assert_eq!(rank.test_any(&list), Ok(Found::Complete(place)));
            rank.start(id(other)).unwrap();
            rank.take(id(place)).unwrap();
            assert_eq!(rank.test_any(&list), Ok(Found::Pending));
            send(rank, other);
            assert_eq!(rank.wait_any(&list), Ok(Some(other)));
            rank.take(id(other)).unwrap();
        }
        assert_eq!(rank.test_any(&list), Ok(Found::NoneActive));
        for place in 0..PLACES {
            rank.free(id(place)).unwrap();
            assert!(rank.test_any(&list).is_err(), "a request that was freed is still in its place");
            list.set(place, None);
        }
    });
}

#[test]
fn a_place_that_names_no_request_is_an_error_whatever_was_there_before() {
    run(1, PLAIN, |rank| {
        let list = Counted::new(3);
        (0..3).for_each(|place| list.set(place, Some(expect(rank, place))));
        assert_eq!(rank.test_any(&list), Ok(Found::Pending));
        let kept = list.requests.borrow()[1].unwrap();
        for wrong in [0, 1, 7 << 40] {
            list.set(1, Some(RequestId::from_bits(wrong)));
            assert!(rank.test_any(&list).is_err(), "{wrong}");
            assert!(rank.wait_any(&list).is_err(), "{wrong}");
        }
        list.set(1, Some(kept));
        send(rank, 1);
        assert_eq!(rank.wait_any(&list), Ok(Some(1)));
        rank.take(kept).unwrap();
        assert!(rank.test_any(&list).is_err(), "the request was taken, and is still in its place");
        list.set(1, None);
        let freed = list.requests.borrow()[0].unwrap();
        rank.cancel(freed).unwrap();
        rank.free(freed).unwrap();
        assert!(rank.test_any(&list).is_err(), "the request was freed, and is still in its place");
        list.set(0, None);
        send(rank, 2);
        assert_eq!(rank.wait_any(&list), Ok(Some(2)));
        rank.take(list.requests.borrow()[2].unwrap()).unwrap();
    });
}

/// What a program does between two waits.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Fills a place of one of two arrays.
    Expect(bool, usize),
    /// Sends what a place waits for.
    Send(bool, usize),
    /// Completes a place by itself, if it is complete.
    Take(bool, usize),
    /// Swaps two places.
    Swap(bool, usize, usize),
    TestAny(bool),
}

const PLACES: usize = 12;

fn act() -> impl Strategy<Value = Act> {
    let place = 0..PLACES;
    prop_oneof![
        3 => (any::<bool>(), place.clone()).prop_map(|(which, place)| Act::Expect(which, place)),
        3 => (any::<bool>(), place.clone()).prop_map(|(which, place)| Act::Send(which, place)),
        1 => (any::<bool>(), place.clone()).prop_map(|(which, place)| Act::Take(which, place)),
        1 => (any::<bool>(), place.clone(), place).prop_map(|(which, one, two)| Act::Swap(which, one, two)),
        3 => any::<bool>().prop_map(Act::TestAny),
    ]
}

/// One place: what it waits for, and whether that was sent.
type Slot = Option<(usize, RequestId, bool)>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_becomes_of_the_array_what_is_told_is_complete_and_nothing_is_missed(
        acts in proptest::collection::vec(act(), 1..120),
    ) {
        run(1, PLAIN, |rank| {
            let lists = [Counted::new(PLACES), Counted::new(PLACES)];
            let mut slots: [[Slot; PLACES]; 2] = [[None; PLACES]; 2];
            let mut tag = 0;
            let told = |slots: &mut [[Slot; PLACES]; 2], which: usize, place: usize| {
                let (_, id, sent) = slots[which][place].take().expect("a request that is there");
                assert!(sent, "place {place} was told to be complete before its message was sent");
                rank.take(id).unwrap();
                lists[which].set(place, None);
            };
            for act in acts.iter().copied() {
                match act {
                    Act::Expect(which, place) => {
                        let which = usize::from(which);
                        if slots[which][place].is_none() {
                            tag += 1;
                            let id = expect(rank, tag);
                            slots[which][place] = Some((tag, id, false));
                            lists[which].set(place, Some(id));
                        }
                    }
                    Act::Send(which, place) => {
                        if let Some((tag, _, sent @ false)) = &mut slots[usize::from(which)][place] {
                            send(rank, *tag);
                            *sent = true;
                        }
                    }
                    Act::Take(which, place) => {
                        let which = usize::from(which);
                        if let Some((_, id, true)) = slots[which][place] {
                            rank.wait(id).unwrap();
                            slots[which][place] = None;
                            lists[which].set(place, None);
                        }
                    }
                    Act::Swap(which, one, two) => {
                        let which = usize::from(which);
                        slots[which].swap(one, two);
                        lists[which].requests.borrow_mut().swap(one, two);
                    }
                    Act::TestAny(which) => {
                        let which = usize::from(which);
                        let complete = |slot: &(usize, RequestId, bool)| {
                            rank.state(slot.1) == Ok(State::Complete)
                        };
                        let is_one_complete = slots[which].iter().flatten().any(complete);
                        let found = rank.test_any(&lists[which]).unwrap();
                        assert!(!is_one_complete || matches!(found, Found::Complete(_)));
                        match found {
                            Found::Complete(place) => told(&mut slots, which, place),
                            Found::NoneActive => assert!(slots[which].iter().all(Option::is_none)),
                            Found::Pending => assert!(slots[which].iter().any(Option::is_some)),
                        }
                    }
                }
            }
            for which in [0, 1] {
                for (tag, _, sent) in slots[which].iter_mut().flatten().filter(|(_, _, sent)| !sent) {
                    send(rank, *tag);
                    *sent = true;
                }
                while let Some(place) = rank.wait_any(&lists[which]).unwrap() {
                    told(&mut slots, which, place);
                }
                assert!(slots[which].iter().all(Option::is_none), "all were told");
            }
        });
    }
}

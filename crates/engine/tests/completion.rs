//! Waiting for the first of many: what it costs, and that nothing is missed, whatever the program does with its array in between.

use std::cell::{Cell, RefCell};

use corelace_engine::datatype::Basic;
use corelace_engine::memory::{RecvBuffer, SendBuffer};
use corelace_engine::{Datatype, Dest, Found, List, Mode, Rank, RequestId, Source, Tag, TagMatch};
use proptest::prelude::*;

use crate::support::{PLAIN, run};

/// An array of requests that counts how often it is read.
struct Counted {
    requests: RefCell<Vec<Option<RequestId>>>,
    reads: Cell<usize>,
}

impl Counted {
    fn new(places: usize) -> Counted {
        Counted { requests: RefCell::new(vec![None; places]), reads: Cell::new(0) }
    }

    fn set(&self, place: usize, request: Option<RequestId>) {
        self.requests.borrow_mut()[place] = request;
    }
}

impl List for Counted {
    fn address(&self) -> usize {
        self.requests.borrow().as_ptr().addr()
    }

    fn len(&self) -> usize {
        self.requests.borrow().len()
    }

    fn get(&self, place: usize) -> Option<RequestId> {
        self.reads.set(self.reads.get() + 1);
        self.requests.borrow()[place]
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
        // One look at the beginning, one at the end, and some between for what has no mark.
        let looks = list.reads.get() / MANY;
        assert!(looks < MANY / 8, "the list was looked through {looks} times");
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
                        match rank.test_any(&lists[which]).unwrap() {
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

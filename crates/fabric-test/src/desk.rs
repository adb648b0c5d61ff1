//! What the cases do all the time: post with patience, receive, wait, and meet at a barrier.
//!
//! **Invariant:** every wait polls the mailbox, so that no case can block a sender that waits for room.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use fabric::{Fabric, Header, Idle, Key, LANES, Lane, Node, PostError};

/// The lane that [`Desk::barrier`] uses; cases keep to the others.
pub const BARRIER_LANE: Lane = Lane(LANES as u8 - 1);

/// A letter taken from the mailbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Letter {
    pub from: Node,
    pub header: Header,
    pub payload: Vec<u8>,
}

/// One rank's place in a case.
pub struct Desk<'f> {
    pub fabric: &'f dyn Fabric,
    letters: RefCell<VecDeque<Letter>>,
    barriers: Cell<u64>,
}

impl<'f> Desk<'f> {
    pub fn new(fabric: &'f dyn Fabric) -> Desk<'f> {
        Desk { fabric, letters: RefCell::default(), barriers: Cell::new(0) }
    }

    pub fn me(&self) -> Node {
        self.fabric.me()
    }

    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.fabric.nodes()).map(Node)
    }

    pub fn others(&self) -> impl Iterator<Item = Node> + use<> {
        let me = self.me();
        self.nodes().filter(move |&node| node != me)
    }

    /// Posts, and while there is no room takes in own letters and lets others run.
    pub fn post(&self, to: Node, header: &Header, payload: &[u8]) {
        let mut rounds = 0;
        while let Err(error) = self.fabric.try_post(to, header, payload) {
            assert_eq!(error, PostError::Full, "{to:?} lives");
            if self.poll() == 0 {
                self.fabric.park(rounds, Idle::Briefly);
                rounds += 1;
            }
        }
    }

    /// Raises a counter of a peer that lives.
    pub fn raise(&self, to: Node, lane: Lane) {
        self.fabric.raise(to, lane).expect("a peer that lives");
    }

    /// Sends the name of a region to a peer.
    pub fn post_key(&self, to: Node, key: &Key) {
        self.post(to, &[0; 3], &key.to_bytes());
    }

    /// The name of a region that the next letter brings.
    pub fn receive_key(&self) -> Key {
        Key::from_bytes(&self.receive().payload).expect("a letter with a key")
    }

    /// Takes waiting letters in.
    pub fn poll(&self) -> usize {
        self.fabric.poll(usize::MAX, &mut |from, header, payload| {
            self.letters.borrow_mut().push_back(Letter { from, header: *header, payload: payload.to_vec() });
        })
    }

    /// The next letter, waiting for it.
    pub fn receive(&self) -> Letter {
        self.wait(|| self.letters.borrow_mut().pop_front())
    }

    /// Parks until `look` finds something.
    pub fn wait<T>(&self, look: impl Fn() -> Option<T>) -> T {
        self.wait_from(0, look)
    }

    /// As [`wait`](Desk::wait), but tells the fabric that it has waited long enough to sleep at once.
    pub fn wait_asleep<T>(&self, look: impl Fn() -> Option<T>) -> T {
        self.wait_from(u32::MAX, look)
    }

    fn wait_from<T>(&self, mut rounds: u32, look: impl Fn() -> Option<T>) -> T {
        loop {
            if let Some(found) = look() {
                return found;
            }
            if self.poll() == 0 {
                self.fabric.park(rounds, Idle::UntilWoken);
                rounds = rounds.saturating_add(1);
            }
        }
    }

    /// Waits until counter `lane` has been raised `count` times.
    pub fn wait_raised(&self, lane: Lane, count: u64) {
        self.wait(|| (self.fabric.raised(lane) >= count).then_some(()));
    }

    /// Waits for a transfer.
    pub fn finish(&self, ticket: fabric::Ticket) {
        let mut rounds = 0;
        while !self.fabric.done(ticket).expect("a transfer that was begun") {
            self.fabric.park(rounds, Idle::Briefly);
            rounds += 1;
        }
    }

    /// Returns when all nodes have called it: all signal to node 0, which signals to all.
    pub fn barrier(&self) {
        let epoch = self.barriers.get() + 1;
        self.barriers.set(epoch);
        let root = Node(0);
        if self.me() == root {
            self.wait_raised(BARRIER_LANE, epoch * u64::from(self.fabric.nodes() - 1));
            self.others().for_each(|node| self.raise(node, BARRIER_LANE));
        } else {
            self.raise(root, BARRIER_LANE);
            self.wait_raised(BARRIER_LANE, epoch);
        }
    }

    /// Ends a case: nobody has anything left for anybody.
    pub fn leave(self) {
        self.barrier();
        self.poll();
        assert_eq!(*self.letters.borrow(), VecDeque::new(), "letters came that nobody posted");
    }
}

/// Bytes that depend on `seed` and on the place, so that lost, swapped or shifted bytes show.
pub fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect()
}

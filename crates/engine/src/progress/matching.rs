//! Which receive gets which message (MPI section 3.5).
//!
//! Two indices: posted receives that wait for a message, and messages that wait for a receive. Both keep a queue per
//! (context, source, tag), so a fully specified look-up is one hash look-up however many entries wait. Wildcard receives have
//! queues of their own (source or tag or both "any"), looked at only while there are some. Waiting messages are also chained in
//! order of arrival, for wildcard receives to walk.
//!
//! Invariant: among the entries that fit, the oldest is taken: receives by the order in which they were posted, messages by
//! the order in which they arrived.

use alloc::vec::Vec;
use core::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;

use crate::values::envelope::Envelope;
use crate::values::ids::ContextId;
use crate::values::slab::Key;

/// What a receive or probe asks for; `None` is a wildcard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    pub context: ContextId,
    pub source: Option<u32>,
    pub tag: Option<i32>,
}

impl Pattern {
    pub fn is_wild(&self) -> bool {
        self.source.is_none() || self.tag.is_none()
    }

    fn bin(&self) -> Bin {
        Bin {
            context: self.context.0,
            source: self.source.unwrap_or(Bin::ANY_SOURCE),
            tag: self.tag.unwrap_or(Bin::ANY_TAG),
        }
    }

    #[inline]
    pub fn fits(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }
}

/// Where an entry stands, for removing it without a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place(u32);

/// Posted receives.
#[derive(Default)]
pub(crate) struct Posted {
    queues: Queues,
    /// Waiting receives with (any source, any tag, any both).
    wild: [usize; 3],
}

impl Posted {
    /// Files a receive.
    pub fn push(&mut self, pattern: Pattern, request: Key) -> Place {
        if let Some(class) = wild_class(&pattern) {
            self.wild[class] += 1;
        }
        self.queues.push(pattern.bin(), request)
    }

    /// Takes out the oldest receive that fits the message.
    #[inline]
    pub fn take(&mut self, message: &Envelope) -> Option<Key> {
        self.find(message).map(|place| self.remove(place))
    }

    /// The oldest receive that fits the message, left in place.
    #[inline]
    pub fn find(&self, message: &Envelope) -> Option<Place> {
        let exact = Bin::of(message);
        let mut best = self.queues.front(&exact);
        if self.wild != [0; 3] {
            let candidates = [
                Bin { source: Bin::ANY_SOURCE, ..exact },
                Bin { tag: Bin::ANY_TAG, ..exact },
                Bin { source: Bin::ANY_SOURCE, tag: Bin::ANY_TAG, ..exact },
            ];
            for (bin, waiting) in candidates.iter().zip(self.wild) {
                if waiting > 0
                    && let Some(found) = self.queues.front(bin)
                    && best.is_none_or(|best| self.queues.order(found) < self.queues.order(best))
                {
                    best = Some(found);
                }
            }
        }
        best
    }

    /// Takes out a receive whose place is known.
    pub fn remove(&mut self, place: Place) -> Key {
        let (bin, request) = self.queues.remove(place);
        match (bin.source == Bin::ANY_SOURCE, bin.tag == Bin::ANY_TAG) {
            (false, false) => {}
            (true, false) => self.wild[0] -= 1,
            (false, true) => self.wild[1] -= 1,
            (true, true) => self.wild[2] -= 1,
        }
        request
    }

    /// What a receive waits for whose place is known.
    pub fn pattern(&self, Place(index): Place) -> Pattern {
        let bin = self.queues.nodes[index as usize].bin;
        Pattern {
            context: ContextId(bin.context),
            source: (bin.source != Bin::ANY_SOURCE).then_some(bin.source),
            tag: (bin.tag != Bin::ANY_TAG).then_some(bin.tag),
        }
    }

    /// True if no receive waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// True if a message for this receive would go to no receive posted before it: none waits with the same source and tag, and
    /// none with a wildcard.
    pub fn is_next(&self, pattern: &Pattern) -> bool {
        self.wild == [0; 3] && self.queues.front(&pattern.bin()).is_none()
    }
}

fn wild_class(pattern: &Pattern) -> Option<usize> {
    match (pattern.source, pattern.tag) {
        (Some(_), Some(_)) => None,
        (None, Some(_)) => Some(0),
        (Some(_), None) => Some(1),
        (None, None) => Some(2),
    }
}

/// Messages that no receive has been posted for.
#[derive(Default)]
pub(crate) struct Unexpected {
    queues: Queues,
}

impl Unexpected {
    /// Bytes that an entry costs, for the budget: a node, and in the worst case a queue of its own.
    pub const ENTRY_BYTES: usize = size_of::<Node>() + size_of::<(Bin, Ends)>();

    /// Files a message.
    pub fn push(&mut self, envelope: &Envelope, message: Key) {
        self.queues.push_in_arrival_order(Bin::of(envelope), message);
    }

    /// The oldest message that fits, left in place.
    #[inline]
    pub fn find(&self, pattern: &Pattern) -> Option<(Place, Key)> {
        if self.queues.is_empty() {
            return None;
        }
        let place = if pattern.is_wild() {
            self.queues.first_in_arrival_order(|bin| pattern.fits(&bin.envelope()))
        } else {
            self.queues.front(&pattern.bin())
        }?;
        Some((place, self.queues.entry(place)))
    }

    /// Takes out the oldest message that fits.
    #[inline]
    pub fn take(&mut self, pattern: &Pattern) -> Option<Key> {
        let (place, message) = self.find(pattern)?;
        self.queues.remove(place);
        Some(message)
    }

    /// Takes out a message whose place is known.
    pub fn remove(&mut self, place: Place) -> Key {
        self.queues.remove(place).1
    }

    /// The place of the first message for which `wanted` holds.
    pub fn search(&self, wanted: impl FnMut(Key) -> bool) -> Option<Place> {
        self.queues.first_entry_in_arrival_order(wanted)
    }

    /// The messages, oldest first.
    pub fn in_arrival_order(&self) -> impl Iterator<Item = Key> + '_ {
        let node = |index: u32| self.queues.nodes.get(index as usize);
        let first = node(self.queues.arrivals.head);
        core::iter::successors(first, move |last| node(last.in_arrivals.next)).map(|node| node.entry)
    }

    /// True if no message waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }
}

/// True if a message can have this tag: it would not be taken for a wildcard, and only the library's own may be negative.
pub(crate) fn is_possible(message: &Envelope) -> bool {
    message.tag != Bin::ANY_TAG && (message.tag >= 0 || message.context.has_own_tags())
}

/// A queue's name. Tags are never negative and no communicator has `u32::MAX` ranks, so those mark wildcards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Bin {
    context: u32,
    source: u32,
    tag: i32,
}

impl Bin {
    const ANY_SOURCE: u32 = u32::MAX;
    /// No tag: users' are from 0 on, and those of group-wide creations below (see `schedule::builder`) leave this one out.
    const ANY_TAG: i32 = i32::MIN;

    fn of(envelope: &Envelope) -> Bin {
        Bin { context: envelope.context.0, source: envelope.source, tag: envelope.tag }
    }

    fn envelope(&self) -> Envelope {
        Envelope { context: ContextId(self.context), source: self.source, tag: self.tag }
    }
}

const NIL: u32 = u32::MAX;

/// First-in-first-out queues by bin, in one pool of linked nodes: no allocation once the pool has grown.
#[derive(Default)]
struct Queues {
    ends: HashMap<Bin, Ends, BuildHasherDefault<BinHasher>>,
    nodes: Vec<Node>,
    free: Vec<u32>,
    arrivals: Ends,
    next_order: u64,
}

#[derive(Clone, Copy)]
struct Ends {
    head: u32,
    tail: u32,
}

impl Default for Ends {
    fn default() -> Ends {
        Ends { head: NIL, tail: NIL }
    }
}

#[derive(Clone, Copy)]
struct Links {
    previous: u32,
    next: u32,
}

const UNLINKED: Links = Links { previous: NIL, next: NIL };

struct Node {
    bin: Bin,
    order: u64,
    entry: Key,
    in_queue: Links,
    in_arrivals: Links,
    arrived: bool,
}

impl Queues {
    fn push(&mut self, bin: Bin, entry: Key) -> Place {
        let order = self.next_order;
        self.next_order += 1;
        let node = Node { bin, order, entry, in_queue: UNLINKED, in_arrivals: UNLINKED, arrived: false };
        let index = match self.free.pop() {
            Some(index) => {
                self.nodes[index as usize] = node;
                index
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        let ends = self.ends.entry(bin).or_default();
        link_last(&mut self.nodes, ends, index, |node| &mut node.in_queue);
        Place(index)
    }

    fn push_in_arrival_order(&mut self, bin: Bin, entry: Key) {
        let Place(index) = self.push(bin, entry);
        self.nodes[index as usize].arrived = true;
        link_last(&mut self.nodes, &mut self.arrivals, index, |node| &mut node.in_arrivals);
    }

    fn remove(&mut self, Place(index): Place) -> (Bin, Key) {
        let Node { bin, entry, arrived, .. } = self.nodes[index as usize];
        let ends = self.ends.get_mut(&bin).expect("a linked node has a queue");
        unlink(&mut self.nodes, ends, index, |node| &mut node.in_queue);
        if ends.head == NIL {
            self.ends.remove(&bin);
        }
        if arrived {
            unlink(&mut self.nodes, &mut self.arrivals, index, |node| &mut node.in_arrivals);
        }
        self.free.push(index);
        (bin, entry)
    }

    #[inline]
    fn front(&self, bin: &Bin) -> Option<Place> {
        self.ends.get(bin).map(|ends| Place(ends.head))
    }

    fn order(&self, Place(index): Place) -> u64 {
        self.nodes[index as usize].order
    }

    fn entry(&self, Place(index): Place) -> Key {
        self.nodes[index as usize].entry
    }

    fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn first_in_arrival_order(&self, mut wanted: impl FnMut(&Bin) -> bool) -> Option<Place> {
        self.first_node(|node| wanted(&node.bin))
    }

    fn first_entry_in_arrival_order(&self, mut wanted: impl FnMut(Key) -> bool) -> Option<Place> {
        self.first_node(|node| wanted(node.entry))
    }

    fn first_node(&self, mut wanted: impl FnMut(&Node) -> bool) -> Option<Place> {
        let mut index = self.arrivals.head;
        while index != NIL {
            let node = &self.nodes[index as usize];
            if wanted(node) {
                return Some(Place(index));
            }
            index = node.in_arrivals.next;
        }
        None
    }
}

fn link_last(nodes: &mut [Node], ends: &mut Ends, index: u32, links: impl Fn(&mut Node) -> &mut Links) {
    *links(&mut nodes[index as usize]) = Links { previous: ends.tail, next: NIL };
    match ends.tail {
        NIL => ends.head = index,
        tail => links(&mut nodes[tail as usize]).next = index,
    }
    ends.tail = index;
}

fn unlink(nodes: &mut [Node], ends: &mut Ends, index: u32, links: impl Fn(&mut Node) -> &mut Links) {
    let Links { previous, next } = *links(&mut nodes[index as usize]);
    match previous {
        NIL => ends.head = next,
        previous => links(&mut nodes[previous as usize]).next = next,
    }
    match next {
        NIL => ends.tail = previous,
        next => links(&mut nodes[next as usize]).previous = previous,
    }
}

/// Multiply and fold: three words are too few to be worth a stronger hash, and ranks and tags are not adversaries.
#[derive(Default)]
struct BinHasher(u64);

impl Hasher for BinHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        let product = u128::from(self.0 ^ u64::from(word) ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    #[inline]
    fn write_i32(&mut self, word: i32) {
        self.write_u32(word as u32);
    }
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;

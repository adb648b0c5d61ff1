//! Queues by name.

use alloc::vec::Vec;
use core::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;

use crate::values::envelope::Envelope;
use crate::values::ids::ContextId;
use crate::values::slab::Key;

/// Where an entry stands, for removing it without a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place(pub(super) u32);

/// A queue's name. Tags are never negative and no communicator has `u32::MAX` ranks, so those mark wildcards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Bin {
    pub context: u32,
    pub source: u32,
    pub tag: i32,
}

impl Bin {
    pub const ANY_SOURCE: u32 = u32::MAX;
    /// No tag: users' are from 0 on, and those of group-wide creations below (see `schedule::builder`) leave this one out.
    pub const ANY_TAG: i32 = i32::MIN;

    #[inline]
    pub fn of(envelope: &Envelope) -> Bin {
        Bin { context: envelope.context.0, source: envelope.source, tag: envelope.tag }
    }

    pub fn envelope(&self) -> Envelope {
        Envelope { context: ContextId(self.context), source: self.source, tag: self.tag }
    }
}

const NIL: u32 = u32::MAX;

/// First and last entry of a queue.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    head: u32,
    tail: u32,
}

impl Default for Ends {
    fn default() -> Ends {
        Ends { head: NIL, tail: NIL }
    }
}

impl Ends {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }

    #[inline]
    pub fn front(&self) -> Option<Place> {
        (self.head != NIL).then_some(Place(self.head))
    }
}

/// What comes before and after each entry, in whichever queue it stands: an entry stands in one queue of a line.
#[derive(Default)]
pub(super) struct Line(Vec<Links>);

#[derive(Clone, Copy)]
struct Links {
    previous: u32,
    next: u32,
}

impl Line {
    /// Bytes that an entry costs.
    pub const ENTRY_BYTES: usize = size_of::<Links>();

    #[inline]
    pub fn append(&mut self, ends: &mut Ends, Place(index): Place) {
        let links = Links { previous: ends.tail, next: NIL };
        match self.0.get_mut(index as usize) {
            Some(place) => *place = links,
            None => self.grow(index, links),
        }
        match ends.tail {
            NIL => ends.head = index,
            tail => self.0[tail as usize].next = index,
        }
        ends.tail = index;
    }

    #[cold]
    fn grow(&mut self, index: u32, links: Links) {
        self.0.resize(index as usize, Links { previous: NIL, next: NIL });
        self.0.push(links);
    }

    #[inline]
    pub fn remove(&mut self, ends: &mut Ends, Place(index): Place) {
        let Links { previous, next } = self.0[index as usize];
        match previous {
            NIL => ends.head = next,
            previous => self.0[previous as usize].next = next,
        }
        match next {
            NIL => ends.tail = previous,
            next => self.0[next as usize].previous = previous,
        }
    }

    /// The entries of a queue, oldest first.
    pub fn walk(&self, ends: &Ends) -> impl Iterator<Item = Place> + '_ {
        core::iter::successors(ends.front(), |Place(index)| {
            let next = self.0[*index as usize].next;
            (next != NIL).then_some(Place(next))
        })
    }
}

/// The ends of queues by name.
pub(super) type Named = HashMap<Bin, Ends, BuildHasherDefault<BinHasher>>;

/// First-in-first-out queues by bin, in one pool of linked nodes: no allocation once the pool has grown.
#[derive(Default)]
pub(super) struct Queues {
    names: Names,
    line: Line,
    nodes: Vec<Node>,
    free: Vec<u32>,
    next_order: u64,
}

struct Node {
    bin: Bin,
    order: u64,
    entry: Key,
}

/// The ends of all queues that have entries.
///
/// Programs use one name many times in a row, so one queue lies beside the map and is found without a hash. When it is empty the next name that has
/// no queue gets its place. Invariant: the map has no queue of that name, and none that is empty.
#[derive(Default)]
struct Names {
    near: (Bin, Ends),
    far: Named,
}

impl Names {
    /// The queue of that name, for one more entry.
    #[inline(always)]
    fn of_next(&mut self, bin: Bin) -> &mut Ends {
        if self.near.0 == bin {
            return &mut self.near.1;
        }
        if self.near.1.is_empty() && (self.far.is_empty() || !self.far.contains_key(&bin)) {
            self.near.0 = bin;
            return &mut self.near.1;
        }
        self.far.entry(bin).or_default()
    }

    /// Takes an entry out of the line of that name, which has it.
    #[inline]
    fn remove(&mut self, bin: Bin, line: &mut Line, place: Place) {
        if self.near.0 == bin {
            line.remove(&mut self.near.1, place);
        } else {
            self.remove_far(bin, line, place);
        }
    }

    fn remove_far(&mut self, bin: Bin, line: &mut Line, place: Place) {
        let ends = self.far.get_mut(&bin).expect("an entry has a queue");
        line.remove(ends, place);
        if ends.is_empty() {
            self.far.remove(&bin);
        }
    }

    #[inline]
    fn front(&self, bin: &Bin) -> Option<Place> {
        if self.near.0 == *bin {
            return self.near.1.front();
        }
        if self.far.is_empty() { None } else { self.front_far(bin) }
    }

    #[inline(never)]
    fn front_far(&self, bin: &Bin) -> Option<Place> {
        self.far.get(bin).and_then(Ends::front)
    }
}

impl Queues {
    /// Bytes that an entry costs: a node with its links, and in the worst case a queue of its own.
    pub const ENTRY_BYTES: usize = size_of::<Node>() + Line::ENTRY_BYTES + size_of::<(Bin, Ends)>();

    #[inline(always)]
    pub fn push(&mut self, bin: Bin, entry: Key) -> Place {
        let Bin { context, source, tag } = bin;
        self.push_to(context, source, tag, entry)
    }

    /// By the parts of a bin, which go in registers: a whole one would be read from the stack as one word before its parts have been written there.
    #[inline(never)]
    fn push_to(&mut self, context: u32, source: u32, tag: i32, entry: Key) -> Place {
        let bin = Bin { context, source, tag };
        let order = self.next_order;
        self.next_order += 1;
        let index = match self.free.pop() {
            Some(index) => {
                // Part by part: a whole node would be made on the stack and be read from there before it has been written.
                let node = &mut self.nodes[index as usize];
                (node.bin, node.order, node.entry) = (bin, order, entry);
                index
            }
            None => self.add_node(bin, order, entry),
        };
        self.line.append(self.names.of_next(bin), Place(index));
        Place(index)
    }

    #[cold]
    fn add_node(&mut self, bin: Bin, order: u64, entry: Key) -> u32 {
        self.nodes.push(Node { bin, order, entry });
        self.nodes.len() as u32 - 1
    }

    #[inline]
    pub fn remove(&mut self, place: Place) -> (Bin, Key) {
        let Node { bin, entry, .. } = self.nodes[place.0 as usize];
        self.names.remove(bin, &mut self.line, place);
        self.free.push(place.0);
        (bin, entry)
    }

    #[inline]
    pub fn front(&self, bin: &Bin) -> Option<Place> {
        self.names.front(bin)
    }

    pub fn order(&self, Place(index): Place) -> u64 {
        self.nodes[index as usize].order
    }

    pub fn entry(&self, Place(index): Place) -> Key {
        self.nodes[index as usize].entry
    }

    pub fn bin(&self, Place(index): Place) -> Bin {
        self.nodes[index as usize].bin
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }
}

/// Multiply and fold: three words are too few to be worth a stronger hash, and ranks and tags are not adversaries.
#[derive(Default)]
pub(super) struct BinHasher(u64);

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

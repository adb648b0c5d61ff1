//! The ground of a window whose members share no memory (MPI chapter 12): each has a block of words of its own, which the others change by the fabric's
//! atomics, so that nobody's code is needed for a lock; a table of what it has attached, which they get; and the memory itself, where the library allocates
//! it. What a member has for a window is booked on its budget.
//!
//! ```text
//! at each member:  | lock | all | accumulating | version | attached | key of the table |
//!                                                                        | base, bytes, key | base, bytes, key | ...
//! ```
//!
//! **Invariant:** blocks, tables and memory stay where they are, and exposed, until all members have come to free the window. A table is read between two looks
//! at its version, which is odd while its owner changes it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU64, Ordering};

use fabric::{Atomic, AtomicOp, Fabric, Key, Mover, Node, PortalError, Shape, Width};

use crate::values::error::{Error, Result};
use crate::values::memory::far_words::{FarWords, Reach};
use crate::values::memory::ground::{ATTACHMENTS, Exposed};
use crate::values::memory::scratch::Scratch;

/// What the budget calls memory of windows.
pub(crate) const WINDOWS: &str = "windows";

/// The words of a block, by their places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(crate) enum At {
    /// The lock of the member's memory.
    Lock,
    /// At the first member, for all: how many have locked all members, and how many exclusive locks there are.
    All,
    /// Taken while somebody accumulates at this member by other means than atomics.
    Accumulating,
    /// Odd while the member changes its table.
    Version,
    /// Entries of the table in use, or that were.
    Attached,
    /// The first of four.
    Table,
}

/// Words that others change at a member: all zero at first.
#[repr(C, align(128))]
#[derive(Debug, Default)]
struct Block([AtomicU64; 16]);

/// Words of an entry of a table: where a region begins, its bytes (none: no entry), its key.
const ENTRY: usize = 6;
/// Entries of a first table.
const FEW: usize = 16;

/// A member, as this rank reaches it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub node: Node,
    pub block: Key,
    /// Its memory has addresses here.
    pub shares: bool,
}

/// What this member has, and how it reaches the others.
#[derive(Debug)]
pub(crate) struct FarGround {
    own: Box<Block>,
    members: Box<[Member]>,
    /// What the library has allocated here.
    memory: Vec<Scratch>,
    /// The last is in use; the others may still be read by those who have not seen it.
    tables: RefCell<Vec<Box<[AtomicU64]>>>,
    /// What the members were let reach.
    exposed: RefCell<Vec<Key>>,
    booked: Cell<usize>,
    /// The last table that was looked at, of whom, and its version.
    known: RefCell<(u32, u64, Vec<[u64; ENTRY]>)>,
}

impl FarGround {
    /// A member's part, before it knows the others.
    pub fn new(fabric: &dyn Fabric, members: usize) -> Result<FarGround> {
        let ground = FarGround {
            own: Box::default(),
            members: Box::default(),
            memory: Vec::new(),
            tables: RefCell::default(),
            exposed: RefCell::default(),
            booked: Cell::new(0),
            known: RefCell::new((u32::MAX, 0, Vec::new())),
        };
        ground.book(fabric, size_of::<Block>() + members * size_of::<Member>())?;
        Ok(ground)
    }

    fn book(&self, fabric: &dyn Fabric, bytes: usize) -> Result<()> {
        fabric.budget().reserve(WINDOWS, bytes)?;
        self.booked.set(self.booked.get() + bytes);
        Ok(())
    }

    /// Lets the others reach this member's block.
    pub fn expose_block(&self, fabric: &dyn Fabric) -> core::result::Result<Key, PortalError> {
        self.expose_words(fabric, &self.own.0)
    }

    fn expose_words(
        &self,
        fabric: &dyn Fabric,
        words: &[AtomicU64],
    ) -> core::result::Result<Key, PortalError> {
        // SAFETY: atomics of this ground, which stays until all members have come to free the window.
        let memory = unsafe { Exposed::new(words.as_ptr().cast_mut().cast(), size_of_val(words)) };
        self.expose(fabric, &memory)
    }

    /// Lets the others reach memory of the window, for as long as there is one.
    pub fn expose(&self, fabric: &dyn Fabric, memory: &Exposed) -> core::result::Result<Key, PortalError> {
        let key = memory.expose(fabric)?;
        self.exposed.borrow_mut().push(key);
        Ok(key)
    }

    /// As [`expose`](FarGround::expose), for memory that [`allocate`](FarGround::allocate) has given to this member or to one that it shares memory with, or that
    /// the program has given.
    pub fn expose_memory(
        &self,
        fabric: &dyn Fabric,
        base: *mut u8,
        bytes: usize,
    ) -> core::result::Result<Key, PortalError> {
        // SAFETY: as said; the memory stays until all members have come to free the window.
        let memory = unsafe { Exposed::new(base, bytes) };
        self.expose(fabric, &memory)
    }

    /// Memory for the window, of this member, all zero.
    pub fn allocate(&mut self, fabric: &dyn Fabric, me: u32, bytes: usize) -> Result<*mut u8> {
        self.book(fabric, bytes)?;
        let memory = Scratch::try_zeroed(bytes);
        let mut memory = memory.ok_or(Error::WindowMemory { target: me, bytes: bytes as u64 })?;
        let base = memory.base();
        self.memory.push(memory);
        Ok(base)
    }

    /// The members are known.
    pub fn meet(&mut self, members: Box<[Member]>) {
        self.members = members;
    }

    /// True if memory of a member has addresses here.
    pub fn shares(&self, member: u32) -> bool {
        self.members[member as usize].shares
    }

    /// Gives everything up, when nobody reaches for it any more.
    pub fn release(&self, fabric: &dyn Fabric) {
        for entry in self.tables.borrow().last().into_iter().flat_map(|table| table.chunks_exact(ENTRY)) {
            if entry[1].load(Ordering::Relaxed) > 0 {
                fabric.withdraw(key_of(entry));
            }
        }
        self.exposed.take().into_iter().for_each(|key| fabric.withdraw(key));
        fabric.budget().release(WINDOWS, self.booked.take());
    }

    /// A word of a member.
    pub fn word<'a>(&'a self, reach: Reach<'a>, member: u32, at: At) -> FarWord<'a> {
        let Member { node, block, .. } = &self.members[member as usize];
        let word = FarWords { node: *node, key: block, offset: at as usize * 8, width: Width::Eight };
        FarWord { reach, word }
    }

    /// Tells the members of a region that this one has attached.
    pub fn attach(&self, fabric: &dyn Fabric, memory: &Exposed) -> Result<()> {
        let refused = |_| Error::Attachments { most: ATTACHMENTS };
        let mut tables = self.tables.borrow_mut();
        let is_free = |entry: &[AtomicU64]| entry[1].load(Ordering::Relaxed) == 0;
        let entries = |table: &[AtomicU64]| table.len() / ENTRY;
        let found = tables.last().and_then(|table| table.chunks_exact(ENTRY).position(is_free));
        let place = match found {
            Some(place) => place,
            None => {
                let before = tables.last().map_or(0, |table| entries(table));
                let many = if before == 0 { FEW } else { 2 * before };
                if many > ATTACHMENTS {
                    return Err(Error::Attachments { most: before });
                }
                self.book(fabric, many * ENTRY * 8)?;
                let table: Box<[AtomicU64]> = (0..many * ENTRY).map(|_| AtomicU64::new(0)).collect();
                for (new, old) in table.iter().zip(tables.last().iter().flat_map(|table| table.iter())) {
                    new.store(old.load(Ordering::Relaxed), Ordering::Relaxed);
                }
                let Key(key) = self.expose_words(fabric, &table).map_err(refused)?;
                tables.push(table);
                self.change_table(|words| {
                    for (word, value) in words[At::Table as usize..].iter().zip(key) {
                        word.store(value, Ordering::Relaxed);
                    }
                });
                before
            }
        };
        let Key(key) = memory.expose(fabric).map_err(refused)?;
        let Some(table) = tables.last() else { return Ok(()) };
        let [base, bytes] = [memory.base().expose_provenance() as u64, memory.bytes() as u64];
        let values = [base, bytes].into_iter().chain(key);
        self.change_table(|words| {
            for (word, value) in table[place * ENTRY..].iter().zip(values) {
                word.store(value, Ordering::Relaxed);
            }
            words[At::Attached as usize].fetch_max(place as u64 + 1, Ordering::Relaxed);
        });
        Ok(())
    }

    /// The region that this member has told of is no more.
    pub fn detach(&self, fabric: &dyn Fabric, memory: &Exposed) {
        let tables = self.tables.borrow();
        let entry = tables.last().into_iter().flat_map(|table| table.chunks_exact(ENTRY)).find(|entry| {
            entry[0].load(Ordering::Relaxed) == memory.base().addr() as u64
                && entry[1].load(Ordering::Relaxed) == memory.bytes() as u64
        });
        if let Some(entry) = entry {
            self.change_table(|_| entry[1].store(0, Ordering::Relaxed));
            fabric.withdraw(key_of(entry));
        }
    }

    /// Changes what the others read between two looks at the version.
    fn change_table(&self, change: impl FnOnce(&[AtomicU64])) {
        let version = &self.own.0[At::Version as usize];
        version.fetch_add(1, Ordering::SeqCst);
        change(&self.own.0);
        version.fetch_add(1, Ordering::SeqCst);
    }

    /// The region of a member that holds the bytes between two addresses: where it begins, and its key. None while its table changes, too: then `settled` says
    /// no, and the caller asks again.
    pub fn attachment(
        &self,
        reach: Reach<'_>,
        member: u32,
        (first, end): (u64, u64),
        settled: &mut bool,
    ) -> core::result::Result<Option<(u64, Key)>, PortalError> {
        let version = self.word(reach, member, At::Version).read()?;
        let is_known = matches!(*self.known.borrow(), (of, at, _) if (of, at) == (member, version));
        *settled = is_known || self.look(reach, member, version)?;
        let known = self.known.borrow();
        let holds = |entry: &&[u64; ENTRY]| {
            let [base, bytes, ..] = **entry;
            bytes > 0 && base <= first && end - base <= bytes
        };
        let found = known.2.iter().filter(|_| *settled).find(holds);
        Ok(found.map(|[base, _, key @ ..]| (*base, Key(*key))))
    }

    /// Gets the table of a member; false if it was changed meanwhile.
    fn look(&self, reach: Reach<'_>, member: u32, version: u64) -> core::result::Result<bool, PortalError> {
        let Member { node, block, .. } = &self.members[member as usize];
        let mut words = alloc::vec![0; 16];
        get_words(reach, *node, block, &mut words)?;
        let (used, table) = (words[At::Attached as usize] as usize, At::Table as usize);
        let key = Key(core::array::from_fn(|word| words[table + word]));
        let is_whole = |now: u64| now == version && version.is_multiple_of(2) && used <= ATTACHMENTS;
        if !is_whole(words[At::Version as usize]) {
            return Ok(false);
        }
        let mut words = alloc::vec![0; used * ENTRY];
        if used > 0 {
            get_words(reach, *node, &key, &mut words)?;
        }
        if !is_whole(self.word(reach, member, At::Version).read()?) {
            return Ok(false);
        }
        *self.known.borrow_mut() = (member, version, words.as_chunks::<ENTRY>().0.to_vec());
        Ok(true)
    }
}

/// The key of an entry of a table.
fn key_of(entry: &[AtomicU64]) -> Key {
    Key(core::array::from_fn(|word| entry[2 + word].load(Ordering::Relaxed)))
}

/// The first words of a region.
fn get_words(
    reach: Reach<'_>,
    node: Node,
    key: &Key,
    words: &mut Vec<u64>,
) -> core::result::Result<(), PortalError> {
    let shape = Shape::contiguous(0, size_of_val(words.as_slice()));
    let place = words.as_mut_ptr().cast();
    // SAFETY: as many words as there are; what is not waited for to the end stays where it is.
    let ticket = unsafe { reach.fabric.get(node, place, &shape, key, &shape, Mover::Core)? };
    (reach.settle)(ticket).inspect_err(|_| core::mem::forget(core::mem::take(words)))
}

/// A word of a member's block.
pub(crate) struct FarWord<'a> {
    reach: Reach<'a>,
    word: FarWords<'a>,
}

impl FarWord<'_> {
    /// Changes it; what it was.
    pub fn change(&self, act: Atomic) -> core::result::Result<u64, PortalError> {
        self.word.change(self.reach, 0, act)
    }

    pub fn read(&self) -> core::result::Result<u64, PortalError> {
        self.change(Atomic::Fetch { op: AtomicOp::Read, operand: 0 })
    }

    /// Adds, wrapping.
    pub fn add(&self, amount: u64) -> core::result::Result<(), PortalError> {
        self.change(Atomic::Fetch { op: AtomicOp::Sum, operand: amount }).map(|_| ())
    }

    /// Makes it `desired` if it is `expected`; what it is, if it is something else.
    pub fn replace_if(
        &self,
        expected: u64,
        desired: u64,
    ) -> core::result::Result<core::result::Result<(), u64>, PortalError> {
        let found = self.change(Atomic::CompareSwap { expected, desired })?;
        Ok(if found == expected { Ok(()) } else { Err(found) })
    }

    pub fn set(&self, value: u64) -> core::result::Result<(), PortalError> {
        self.change(Atomic::Fetch { op: AtomicOp::Replace, operand: value }).map(|_| ())
    }
}

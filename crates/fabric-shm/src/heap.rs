//! Memory that all ranks of the job can map, allocated by one of them.
//!
//! Behind the exchange, the job's memfd goes on for a terabyte a rank: no page of it exists before it is written. Every rank owns one such
//! *slice* and keeps account of it alone, so allocating takes no lock and no word with anybody. A key names a part of an allocation and
//! where the whole lies, which a peer maps: until it gives it up, if it has attached it, or for a while, if it only copies. What is given back is punched out of the file. Every allocation has a number, so that a rank whose threads are in several
//! windows at once can attach a new one while it still has to give up an older one that lay in the same place.
//!
//! ```text
//! file:  | front, entries, exchanges | slice of rank 0 | slice of rank 1 | ... |
//! ```
//!
//! **Invariant:** the file has its full length from the start and is sealed, so a mapping inside of a slice never loses its pages to anybody.

use std::cell::{Cell, RefCell};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::{io, mem};

use fabric::{Key, PortalError, Shared};
use ring::linux::Mapping;

use crate::tuning::{PAGE_BYTES, SLICE_BYTES};

/// Marks the key of a shared allocation, in the uppermost byte of its third word; keys of other regions have zero there.
const TAG: u64 = 0x5a;

/// Mappings of what peers have allocated that are kept for their next message, unless somebody holds them: a copy from or to memory of a peer
/// needs one only while it lasts. Far more than a program has buffers in use with its neighbours.
const KEPT: usize = 64;

/// The job's file, as far as it is for shared allocations.
pub(crate) struct Heap {
    file: File,
    /// Where the first slice begins.
    begin: u64,
    /// Bytes of a slice.
    slice: u64,
    ranks: u32,
    me: u32,
    free: RefCell<FreeList>,
    /// Allocations that this rank has made.
    allocated: Cell<u64>,
    /// What this rank has allocated.
    own: RefCell<Own>,
    /// What it has attached, until that is given up.
    attached: RefCell<Vec<Attached>>,
    /// What it has mapped in passing; the one used last is the last.
    kept: RefCell<Vec<Mapped>>,
}

/// Allocations of this rank, in the order of their addresses: a message looks its buffer up there.
#[derive(Default)]
struct Own(Vec<Mapped>);

impl Own {
    fn insert(&mut self, mapped: Mapped) {
        let at = self.0.partition_point(|other| other.address() < mapped.address());
        self.0.insert(at, mapped);
    }

    fn remove(&mut self, whole: Whole) -> Option<Mapped> {
        let at = self.0.iter().position(|mapped| mapped.whole == whole)?;
        Some(self.0.remove(at))
    }

    fn of(&self, whole: Whole) -> Option<&Mapped> {
        self.0.iter().find(|mapped| mapped.whole == whole)
    }

    /// The last one that begins there or before.
    fn at(&self, address: usize) -> Option<&Mapped> {
        let after = self.0.partition_point(|mapped| mapped.address() <= address);
        self.0.get(after.checked_sub(1)?)
    }
}

/// What a peer has allocated, mapped here for as long as somebody holds it.
struct Attached {
    mapped: Mapped,
    holders: u32,
}

/// An allocation that this rank has mapped.
struct Mapped {
    whole: Whole,
    mapping: Mapping,
}

impl Mapped {
    fn address(&self) -> usize {
        self.mapping.base().as_ptr().addr()
    }

    /// The address of a place of the file.
    fn at(&self, offset: u64) -> *mut u8 {
        self.mapping.base().as_ptr().wrapping_add((offset - self.whole.offset) as usize)
    }

    /// The name of a part, by its address.
    fn name(&self, base: *mut u8, len: usize) -> Option<Place> {
        let offset = base.addr().checked_sub(self.address())? as u64;
        let is_inside = offset.checked_add(len as u64).is_some_and(|end| end <= self.whole.len);
        is_inside.then_some(Place { whole: self.whole, offset: self.whole.offset + offset, len: len as u64 })
    }
}

impl Heap {
    /// The heap of rank `me` in `file`, whose slices of `slice` bytes begin at `begin`.
    pub(crate) fn new(file: OwnedFd, begin: u64, slice: u64, ranks: u32, me: u32) -> io::Result<Heap> {
        Ok(Heap {
            file: File::keep(file)?,
            begin,
            slice,
            ranks,
            me,
            free: RefCell::new(FreeList(vec![(0, slice)])),
            allocated: Cell::new(0),
            own: RefCell::default(),
            attached: RefCell::default(),
            kept: RefCell::default(),
        })
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Result<Shared, PortalError> {
        let len = (bytes.max(1) as u64).checked_next_multiple_of(PAGE_BYTES).ok_or(PortalError::Exhausted)?;
        let place = self.free.borrow_mut().take(len).ok_or(PortalError::Exhausted)?;
        let number = self.allocated.get() + 1;
        let whole = Whole { number, offset: self.my_slice() + place, len };
        let Some(mapping) = self.file.map(whole.offset, len) else {
            self.free.borrow_mut().give(place, len);
            return Err(PortalError::Exhausted);
        };
        self.allocated.set(number);
        let base = mapping.base().as_ptr();
        self.own.borrow_mut().insert(Mapped { whole, mapping });
        Ok(Shared { base, len: len as usize, key: self.key_of(Place { whole, offset: whole.offset, len }) })
    }

    /// Another part of the file.
    pub(crate) fn map(&self, offset: u64, len: u64) -> Option<Mapping> {
        self.file.map(offset, len)
    }

    /// Where this rank has the memory of a key; maps it if it has not yet. To be given up as often as it was attached, but for memory of this rank's own.
    pub(crate) fn attach(&self, key: &Key) -> Result<*mut u8, PortalError> {
        let Place { whole, offset, .. } = self.place_of(key)?;
        if self.is_own(whole) {
            return self
                .own
                .borrow()
                .of(whole)
                .map(|mapped| mapped.at(offset))
                .ok_or(PortalError::PeerMemory);
        }
        let mut attached = self.attached.borrow_mut();
        if let Some(Attached { mapped, holders }) = attached.iter_mut().find(|one| one.mapped.whole == whole)
        {
            *holders += 1;
            return Ok(mapped.at(offset));
        }
        let mapped = self.mapped(whole)?;
        let base = mapped.at(offset);
        attached.push(Attached { mapped, holders: 1 });
        Ok(base)
    }

    /// Where this rank has the memory of a key during the call that asks: the mapping may be gone after the next.
    pub(crate) fn reach(&self, key: &Key) -> Result<*mut u8, PortalError> {
        let Place { whole, offset, .. } = self.place_of(key)?;
        if self.is_own(whole) {
            return self
                .own
                .borrow()
                .of(whole)
                .map(|mapped| mapped.at(offset))
                .ok_or(PortalError::PeerMemory);
        }
        if let Some(one) = self.attached.borrow().iter().find(|one| one.mapped.whole == whole) {
            return Ok(one.mapped.at(offset));
        }
        let mut kept = self.kept.borrow_mut();
        let mapped = match kept.iter().position(|mapped| mapped.whole == whole) {
            Some(at) => kept.remove(at),
            None => {
                // What lay there before is gone: its owner has allocated anew.
                kept.retain(|mapped| !mapped.whole.meets(whole));
                if kept.len() == KEPT {
                    kept.remove(0);
                }
                self.mapped(whole)?
            }
        };
        let base = mapped.at(offset);
        kept.push(mapped);
        Ok(base)
    }

    /// Gives a mapping up, and the memory, too, if this rank has allocated it: how much that was.
    pub(crate) fn release(&self, key: &Key) -> Option<usize> {
        let Place { whole, .. } = self.place_of(key).ok()?;
        if self.is_own(whole) {
            drop(self.own.borrow_mut().remove(whole)?);
            self.file.punch(whole.offset, whole.len);
            self.free.borrow_mut().give(whole.offset - self.my_slice(), whole.len);
            return Some(whole.len as usize);
        }
        let mut attached = self.attached.borrow_mut();
        let at = attached.iter().position(|one| one.mapped.whole == whole)?;
        attached[at].holders -= 1;
        if attached[at].holders == 0 {
            attached.swap_remove(at);
        }
        None
    }

    /// The key of a part of what this rank has allocated or attached, by its address.
    #[inline]
    pub(crate) fn name(&self, base: *mut u8, len: usize) -> Option<Key> {
        let own = self.own.borrow().at(base.addr()).and_then(|mapped| mapped.name(base, len));
        let attached = || self.attached.borrow().iter().find_map(|one| one.mapped.name(base, len));
        own.or_else(attached).map(|place| self.key_of(place))
    }

    fn mapped(&self, whole: Whole) -> Result<Mapped, PortalError> {
        let mapping = self.file.map(whole.offset, whole.len).ok_or(PortalError::Exhausted)?;
        Ok(Mapped { whole, mapping })
    }

    /// Where the slice of this rank begins.
    fn my_slice(&self) -> u64 {
        self.begin + u64::from(self.me) * self.slice
    }

    fn is_own(&self, whole: Whole) -> bool {
        (whole.offset - self.begin) / self.slice == u64::from(self.me)
    }

    /// A place as 32 bytes: where the part begins, its length, the pages of the allocation inside of the slice under the tag, and its number.
    fn key_of(&self, Place { whole, offset, len }: Place) -> Key {
        let first = (whole.offset - self.begin) % self.slice / PAGE_BYTES;
        let more = whole.len / PAGE_BYTES - 1;
        Key([offset, len, TAG << TAG_SHIFT | first << PAGE_BITS | more, whole.number])
    }

    /// The place of the file that a key names. Keys come by letters, so nothing in them is trusted.
    fn place_of(&self, key: &Key) -> Result<Place, PortalError> {
        let Key([offset, len, pages, number]) = *key;
        let read = || {
            let from_start =
                offset.checked_sub(self.begin).filter(|_| is_shared(key) && len > 0 && self.slice > 0)?;
            let slice = Some(from_start / self.slice).filter(|rank| *rank < u64::from(self.ranks))?;
            let first = (pages >> PAGE_BITS & PAGE_MASK) * PAGE_BYTES;
            let bytes = ((pages & PAGE_MASK) + 1) * PAGE_BYTES;
            let into = (from_start % self.slice).checked_sub(first)?;
            let fits = first + bytes <= self.slice && len <= bytes && into <= bytes - len;
            let whole = Whole { number, offset: self.begin + slice * self.slice + first, len: bytes };
            fits.then_some(Place { whole, offset, len })
        };
        read().ok_or(PortalError::PeerMemory)
    }
}

impl Drop for Heap {
    /// Memory that the program has not given back stays where it is: it may use it to its end.
    fn drop(&mut self) {
        for Mapped { mapping, .. } in mem::take(&mut self.own.get_mut().0) {
            mem::forget(mapping);
        }
    }
}

/// An allocation, as a part of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Whole {
    /// Which of its owner's.
    number: u64,
    offset: u64,
    len: u64,
}

impl Whole {
    fn meets(&self, other: Whole) -> bool {
        self.offset < other.offset + other.len && other.offset < self.offset + self.len
    }
}

/// What a key says: a part of an allocation.
#[derive(Clone, Copy)]
struct Place {
    whole: Whole,
    offset: u64,
    len: u64,
}

/// Bits of a number of pages in a key: those of the longest slice.
const PAGE_BITS: u32 = (SLICE_BYTES / PAGE_BYTES).trailing_zeros();
const PAGE_MASK: u64 = (1 << PAGE_BITS) - 1;
const TAG_SHIFT: u32 = 2 * PAGE_BITS;
const _: () = assert!(TAG_SHIFT + 8 <= u64::BITS && SLICE_BYTES.is_power_of_two());

/// True if the key names a shared allocation, or a part of one.
pub(crate) fn is_shared(key: &Key) -> bool {
    key.0[2] >> TAG_SHIFT == TAG
}

/// The job's file, kept open. A program may close descriptors that it does not know, and open others under the same number: so the file
/// is looked at again before it is used.
struct File {
    descriptor: OwnedFd,
    identity: (u64, u64),
}

/// Descriptors below are the program's to count on.
const ABOVE: libc::c_int = 64;

impl File {
    fn keep(descriptor: OwnedFd) -> io::Result<File> {
        // SAFETY: integers only; the result, if there is one, is a new descriptor that nobody else owns.
        let above = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD_CLOEXEC, ABOVE) };
        // Where so many are not allowed, a low one does.
        // SAFETY: as said.
        let descriptor = if above < 0 { descriptor } else { unsafe { OwnedFd::from_raw_fd(above) } };
        let identity = identity(&descriptor).ok_or_else(io::Error::last_os_error)?;
        Ok(File { descriptor, identity })
    }

    fn map(&self, offset: u64, len: u64) -> Option<Mapping> {
        let same = identity(&self.descriptor) == Some(self.identity);
        same.then(|| Mapping::shared_at(self.descriptor.as_raw_fd(), offset, len as usize))?
    }

    /// Gives pages back to the system; they read as zero from then on.
    fn punch(&self, offset: u64, len: u64) {
        if identity(&self.descriptor) == Some(self.identity) {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            let (descriptor, offset, len) =
                (self.descriptor.as_raw_fd(), offset as libc::off_t, len as libc::off_t);
            // SAFETY: integers only.
            unsafe { libc::fallocate(descriptor, mode, offset, len) };
        }
    }

    /// Pages that the file holds, in units of 512 bytes.
    #[cfg(test)]
    fn blocks(&self) -> i64 {
        status(&self.descriptor).unwrap().st_blocks
    }
}

fn identity(descriptor: &OwnedFd) -> Option<(u64, u64)> {
    status(descriptor).map(|status| (status.st_dev, status.st_ino))
}

pub(crate) fn status(descriptor: &OwnedFd) -> Option<libc::stat> {
    // SAFETY: the kernel fills `status`, which is valid zeroed.
    unsafe {
        let mut status: libc::stat = mem::zeroed();
        (libc::fstat(descriptor.as_raw_fd(), &mut status) == 0).then_some(status)
    }
}

/// The free parts of a slice, in order, none touching another.
struct FreeList(Vec<(u64, u64)>);

impl FreeList {
    fn take(&mut self, len: u64) -> Option<u64> {
        let at = self.0.iter().position(|(_, free)| *free >= len)?;
        let (place, free) = self.0[at];
        if free == len {
            self.0.remove(at);
        } else {
            self.0[at] = (place + len, free - len);
        }
        Some(place)
    }

    fn give(&mut self, place: u64, len: u64) {
        let at = self.0.partition_point(|(other, _)| *other < place);
        self.0.insert(at, (place, len));
        for at in [at + 1, at] {
            if at > 0
                && at < self.0.len()
                && let (before, after) = (self.0[at - 1], self.0[at])
                && before.0 + before.1 == after.0
            {
                self.0[at - 1].1 += after.1;
                self.0.remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::create_segment;

    fn heap(me: u32, file: &OwnedFd) -> Heap {
        let length = status(file).unwrap().st_size as u64;
        let begin = crate::segment::heap_begin(2);
        Heap::new(file.try_clone().unwrap(), begin, (length - begin) / 2, 2, me).unwrap()
    }

    #[test]
    fn what_is_given_back_joins_its_neighbours() {
        let mut list = FreeList(vec![(0, 100)]);
        let places: Vec<u64> = (0..5).map(|_| list.take(20).unwrap()).collect();
        assert_eq!((places, list.take(1)), (vec![0, 20, 40, 60, 80], None));
        for place in [20, 60, 0, 80, 40] {
            list.give(place, 20);
        }
        assert_eq!(list.0, [(0, 100)]);
    }

    #[test]
    fn memory_that_is_given_back_leaves_the_file_and_comes_again_as_zeros() {
        let file = create_segment(2).unwrap();
        let heap = heap(0, &file);
        let before = heap.file.blocks();
        for _ in 0..100 {
            let shared = heap.allocate(1 << 20).unwrap();
            // SAFETY: a fresh allocation of that length, which nobody else has heard of.
            let bytes = unsafe { std::slice::from_raw_parts_mut(shared.base, shared.len) };
            assert!(bytes.iter().all(|byte| *byte == 0));
            bytes.fill(0xff);
            assert_eq!(heap.release(&shared.key), Some(1 << 20));
        }
        assert_eq!(heap.file.blocks(), before);
        assert!(heap.own.borrow().0.is_empty());
        assert_eq!(heap.free.borrow().0.len(), 1);
    }

    #[test]
    fn ranks_allocate_apart_and_see_what_others_write() {
        let file = create_segment(2).unwrap();
        let (owner, peer) = (heap(0, &file), heap(1, &file));
        let (first, other) = (owner.allocate(5000).unwrap(), peer.allocate(5000).unwrap());
        assert_ne!(first.key, other.key);
        let seen = peer.attach(&first.key).unwrap();
        assert_ne!(seen, first.base, "another mapping of the same pages");
        // SAFETY: both are mapped, and nobody else uses them.
        unsafe {
            first.base.add(4999).write(7);
            assert_eq!(seen.add(4999).read(), 7);
        }
        let part = peer.name(seen.wrapping_add(100), 50).expect("a part of what is mapped");
        assert_eq!(owner.attach(&part).unwrap(), first.base.wrapping_add(100));
        assert_eq!(peer.name(seen.wrapping_add(8000), 400), None, "it leaves the allocation");
    }

    #[test]
    fn what_is_attached_stays_when_an_older_allocation_of_the_same_place_is_given_up() {
        let file = create_segment(2).unwrap();
        let (owner, peer) = (heap(0, &file), heap(1, &file));
        let old = owner.allocate(4096).unwrap();
        peer.attach(&old.key).unwrap();
        owner.release(&old.key);
        let new = owner.allocate(4096).unwrap();
        assert_eq!(old.key.0[..2], new.key.0[..2], "the place is used again");
        let seen = peer.attach(&new.key).unwrap();
        peer.release(&old.key);
        assert_eq!(peer.reach(&new.key), Ok(seen));
        assert_eq!(peer.attached.borrow().len(), 1);
        // SAFETY: both are mapped, and nobody else uses them.
        unsafe {
            new.base.write(7);
            assert_eq!(seen.read(), 7);
        }
    }

    #[test]
    fn what_two_hold_stays_until_both_have_given_it_up() {
        let file = create_segment(2).unwrap();
        let (owner, peer) = (heap(0, &file), heap(1, &file));
        let shared = owner.allocate(8192).unwrap();
        let part = owner.name(shared.base.wrapping_add(5000), 8).expect("a part of its own");
        let (first, second) = (peer.attach(&shared.key).unwrap(), peer.attach(&part).unwrap());
        assert_eq!(first.wrapping_add(5000), second, "one mapping of the whole");
        peer.release(&shared.key);
        assert_eq!(peer.reach(&part), Ok(second));
        assert!(peer.kept.borrow().is_empty());
        peer.release(&part);
        assert!(peer.attached.borrow().is_empty());
    }

    #[test]
    fn mappings_in_passing_are_few_and_none_is_of_memory_that_is_gone() {
        let file = create_segment(2).unwrap();
        let (owner, peer) = (heap(0, &file), heap(1, &file));
        for turn in 0..=u8::MAX {
            let shared = owner.allocate(4096).unwrap();
            // SAFETY: both are mapped, and nobody else uses them.
            unsafe {
                shared.base.write(turn);
                assert_eq!(peer.reach(&shared.key).unwrap().read(), turn);
            }
            assert_eq!(peer.kept.borrow().len(), 1, "the place is the same each time");
            owner.release(&shared.key);
        }
        let many: Vec<Shared> = (0..3 * KEPT).map(|_| owner.allocate(4096).unwrap()).collect();
        for shared in many.iter().chain(&many) {
            peer.reach(&shared.key).unwrap();
        }
        assert_eq!(peer.kept.borrow().len(), KEPT);
    }

    #[test]
    fn memory_outlives_the_job_that_it_was_allocated_for() {
        let file = create_segment(2).unwrap();
        let Shared { base, .. } = heap(0, &file).allocate(4096).unwrap();
        // SAFETY: it was not given back.
        unsafe {
            base.write(3);
            assert_eq!(base.read(), 3);
        }
    }

    #[test]
    fn keys_that_nobody_has_given_are_refused() {
        let file = create_segment(2).unwrap();
        let heap = heap(0, &file);
        heap.allocate(4096).unwrap();
        let Key([offset, len, tag, _]) = heap.allocate(4096).unwrap().key;
        let wrong = [
            [offset, len, 0, 0],
            [0, len, tag, 0],
            [offset, u64::MAX, tag, 0],
            [offset, 0, tag, 0],
            [u64::MAX - 1, len, tag, 0],
            [offset + 2 * heap.slice, len, tag, 0],
            [offset, len + 1, tag, 0],
            [offset + 1, len, tag, 0],
            [offset, len, tag | PAGE_MASK << PAGE_BITS | PAGE_MASK, 0],
        ];
        for words in wrong {
            assert_eq!(heap.attach(&Key(words)), Err(PortalError::PeerMemory), "{words:?}");
            assert_eq!(heap.release(&Key(words)), None);
        }
    }

    #[test]
    fn more_than_a_slice_is_refused() {
        let file = create_segment(2).unwrap();
        let heap = heap(1, &file);
        assert_eq!(heap.allocate(heap.slice as usize + 1).err(), Some(PortalError::Exhausted));
        assert_eq!(heap.allocate(usize::MAX).err(), Some(PortalError::Exhausted));
    }
}

//! Memory that all ranks of the job can map, allocated by one of them.
//!
//! Behind the exchange, the job's memfd goes on for a terabyte a rank: no page of it exists before it is written. Every rank owns one such
//! *slice* and keeps account of it alone, so allocating takes no lock and no word with anybody; a peer that learns offset and length
//! maps the same pages. What is given back is punched out of the file. Every allocation has a number, so that a rank whose threads are in several
//! windows at once can attach a new one while it still has to give up an older one that lay in the same place.
//!
//! ```text
//! file:  | front, entries, exchanges | slice of rank 0 | slice of rank 1 | ... |
//! ```
//!
//! **Invariant:** the file has its full length from the start and is sealed, so a mapping inside of a slice never loses its pages to anybody.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use fabric::{Key, PortalError, Shared};
use ring::linux::Mapping;

use crate::tuning::PAGE_BYTES;

/// Marks the key of a shared allocation, in its third word; keys of other regions have zero there.
const TAG: u64 = u64::from_le_bytes(*b"shared\0\0");

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
    mapped: RefCell<Vec<Mapped>>,
}

/// A piece of the file that this rank has mapped.
struct Mapped {
    /// The number of the allocation that it is of.
    number: u64,
    offset: u64,
    mapping: Mapping,
    /// Allocated here, rather than attached.
    own: bool,
}

impl Mapped {
    fn holds(&self, Place { number, offset, len }: Place) -> bool {
        let end = offset.checked_add(len);
        number == self.number
            && offset >= self.offset
            && end.is_some_and(|end| end <= self.offset + self.mapping.bytes() as u64)
    }

    /// The address of a place of the file.
    fn at(&self, offset: u64) -> *mut u8 {
        self.mapping.base().as_ptr().wrapping_add((offset - self.offset) as usize)
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
            mapped: RefCell::default(),
        })
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Result<Shared, PortalError> {
        let len = (bytes.max(1) as u64).checked_next_multiple_of(PAGE_BYTES).ok_or(PortalError::Exhausted)?;
        let place = self.free.borrow_mut().take(len).ok_or(PortalError::Exhausted)?;
        let offset = self.begin + u64::from(self.me) * self.slice + place;
        match self.file.map(offset, len) {
            Some(mapping) => {
                let base = mapping.base().as_ptr();
                let number = self.allocated.get() + 1;
                self.allocated.set(number);
                self.mapped.borrow_mut().push(Mapped { number, offset, mapping, own: true });
                Ok(Shared { base, len: len as usize, key: key_of(Place { number, offset, len }) })
            }
            None => {
                self.free.borrow_mut().give(place, len);
                Err(PortalError::Exhausted)
            }
        }
    }

    /// Another part of the file.
    pub(crate) fn map(&self, offset: u64, len: u64) -> Option<Mapping> {
        self.file.map(offset, len)
    }

    /// Where this rank has the memory of a key; maps it if it has not yet.
    pub(crate) fn attach(&self, key: &Key) -> Result<*mut u8, PortalError> {
        let place = self.place_of(key)?;
        let Place { number, offset, len } = place;
        if let Some(mapped) = self.mapped.borrow().iter().find(|mapped| mapped.holds(place)) {
            return Ok(mapped.at(offset));
        }
        let first = offset / PAGE_BYTES * PAGE_BYTES;
        let mapping = self.file.map(first, offset - first + len).ok_or(PortalError::Exhausted)?;
        let mapped = Mapped { number, offset: first, mapping, own: false };
        let base = mapped.at(offset);
        self.mapped.borrow_mut().push(mapped);
        Ok(base)
    }

    /// Gives a mapping up, and the memory, too, if this rank has allocated it.
    pub(crate) fn release(&self, key: &Key) -> Option<usize> {
        let place = self.place_of(key).ok()?;
        let mut mapped = self.mapped.borrow_mut();
        let at = mapped.iter().position(|mapped| mapped.holds(place))?;
        let Mapped { offset, mapping, own, .. } = mapped.swap_remove(at);
        let len = mapping.bytes() as u64;
        drop(mapping);
        own.then(|| {
            self.file.punch(offset, len);
            self.free.borrow_mut().give(offset - self.begin - u64::from(self.me) * self.slice, len);
            len as usize
        })
    }

    /// The key of a part of what this rank has mapped, by its address.
    pub(crate) fn name(&self, base: *mut u8, len: usize) -> Option<Key> {
        self.mapped.borrow().iter().find_map(|mapped| {
            let start = mapped.mapping.base().as_ptr().addr();
            let offset = mapped.offset + base.addr().checked_sub(start)? as u64;
            let place = Place { number: mapped.number, offset, len: len as u64 };
            mapped.holds(place).then(|| key_of(place))
        })
    }

    /// The place of the file that a key names. Keys come by letters, so nothing in them is trusted.
    fn place_of(&self, key: &Key) -> Result<Place, PortalError> {
        let Key([offset, len, tag, number]) = *key;
        let from_start = offset.checked_sub(self.begin).filter(|_| tag == TAG && len > 0 && self.slice > 0);
        let inside = from_start.is_some_and(|place| {
            place / self.slice < u64::from(self.ranks) && len <= self.slice - place % self.slice
        });
        if inside { Ok(Place { number, offset, len }) } else { Err(PortalError::PeerMemory) }
    }
}

/// What a key says: a part of the file, as memory of one allocation.
#[derive(Clone, Copy)]
struct Place {
    number: u64,
    offset: u64,
    len: u64,
}

fn key_of(Place { number, offset, len }: Place) -> Key {
    Key([offset, len, TAG, number])
}

/// True if the key names a shared allocation, or a part of one.
pub(crate) fn is_shared(key: &Key) -> bool {
    key.0[2] == TAG
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
        let mut status: libc::stat = std::mem::zeroed();
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
        assert!(heap.mapped.borrow().is_empty());
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
        assert_eq!(peer.attach(&new.key), Ok(seen));
        assert_eq!(peer.mapped.borrow().len(), 1);
        // SAFETY: both are mapped, and nobody else uses them.
        unsafe {
            new.base.write(7);
            assert_eq!(seen.read(), 7);
        }
    }

    #[test]
    fn keys_that_nobody_has_given_are_refused() {
        let file = create_segment(2).unwrap();
        let heap = heap(0, &file);
        let Key([offset, len, tag, _]) = heap.allocate(4096).unwrap().key;
        let wrong = [
            [offset, len, 0, 0],
            [0, len, tag, 0],
            [offset, u64::MAX, tag, 0],
            [offset, 0, tag, 0],
            [u64::MAX - 1, len, tag, 0],
            [offset + 2 * heap.slice, len, tag, 0],
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

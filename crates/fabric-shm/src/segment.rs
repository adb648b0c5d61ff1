//! The segment: a memfd that all ranks of a job map.
//!
//! ```text
//! 0                64           64 + 64 n            next page
//! +----------------+------------+--------------------+-------------------------+--------------------+---------------+
//! | format (u64)   | n entries of 64: pid, probe     | exchange of lane 0      | ... of lanes 1 to 7 | n heap slices |
//! +----------------+------------+--------------------+-------------------------+--------------------+---------------+
//!
//! format: | "clce" : 32 | version : 8 | lanes : 4 | ranks : 20 |
//! ```
//!
//! Every rank maps what is before lane 1. The exchange of another lane is mapped by a rank that has several threads (`ShmFabric::lane`); nobody posts there before
//! it has said that it does. Where the limit of file sizes leaves no room for them there is one lane.
//!
//! **Invariant:** [`create_segment`] is the one place where a segment is made. A fresh one is zero but for its format word, and has the
//! length that its number of ranks needs, for ever: seals keep everybody from shrinking or growing it, so no rank can pull memory away
//! under another. A rank that expects another length or word is refused. Slices of the heap (see `heap`) are mapped piece by piece, by
//! those who use them.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ring::Geometry;
use ring::exchange::Exchange;
use ring::linux::Mapping;

use crate::heap::{Heap, status};
use crate::tuning::{LANES, PAGE_BYTES, SLICE_BYTES, geometry};

/// Makes the segment of a job of `ranks` ranks: what the launcher does before it starts them. The descriptor closes on `exec`; the
/// launcher makes it inheritable for the ranks.
///
/// # Errors
/// If the system has no memfd, or does not allow a file of that length ([`segment_length`]).
pub fn create_segment(ranks: u32) -> io::Result<OwnedFd> {
    let lanes = lanes_that_fit(ranks);
    let bytes = lanes_end(&geometry(ranks), lanes) + heap_length(ranks, lanes);
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a C string; the call touches nothing else.
    let descriptor = unsafe { libc::memfd_create(c"corelace".as_ptr(), flags) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    let segment = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    let format = format_word(ranks, lanes).to_ne_bytes();
    // SAFETY: the descriptor is valid, and the buffer as long as it says.
    let made = unsafe {
        libc::ftruncate(segment.as_raw_fd(), bytes as libc::off_t) == 0
            && libc::pwrite(segment.as_raw_fd(), format.as_ptr().cast(), format.len(), 0) == 8
            && libc::fcntl(segment.as_raw_fd(), libc::F_ADD_SEALS, seals) == 0
    };
    if made { Ok(segment) } else { Err(io::Error::last_os_error()) }
}

/// The least length of the segment of a job of `ranks` ranks, in bytes: that of what every rank maps. Pages are taken from the system when they
/// are first written.
pub fn segment_length(ranks: u32) -> u64 {
    segment_bytes(&geometry(ranks)) as u64
}

/// Lanes for which the limit of file sizes (`ulimit -f`) leaves room: the system kills who exceeds it.
fn lanes_that_fit(ranks: u32) -> u32 {
    if lanes_end(&geometry(ranks), LANES) <= file_limit() { LANES } else { 1 }
}

/// The length of what follows, for shared allocations: as much as the limit leaves.
fn heap_length(ranks: u32, lanes: u32) -> u64 {
    let room = file_limit().saturating_sub(lanes_end(&geometry(ranks), lanes));
    let slice = (room / u64::from(ranks)).min(SLICE_BYTES) / PAGE_BYTES * PAGE_BYTES;
    slice * u64::from(ranks)
}

/// Where the heap of a fresh segment begins.
#[cfg(test)]
pub(crate) fn heap_begin(ranks: u32) -> u64 {
    lanes_end(&geometry(ranks), lanes_that_fit(ranks))
}

fn file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is ours to be written.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    if known { limit.rlim_cur } else { 0 }
}

/// Raised when the layout of anything in the segment changes, so that ranks of different builds refuse each other.
const VERSION: u64 = 7;

fn format_word(ranks: u32, lanes: u32) -> u64 {
    u64::from(u32::from_be_bytes(*b"clce")) << 32 | VERSION << 24 | u64::from(lanes) << 20 | u64::from(ranks)
}

/// The number of lanes in a format word.
fn lanes_of(format: u64) -> u32 {
    (format >> 20 & 0xf) as u32
}

/// The start of the segment.
#[repr(C, align(64))]
struct Front {
    format: AtomicU64,
}

/// What a rank tells its peers about itself.
#[repr(C, align(64))]
pub(crate) struct Entry {
    /// [`ABSENT`], [`GONE`] or the process id. Written last when joining.
    pid: AtomicU32,
    /// 1 from the moment on that a process took this rank, for ever.
    taken: AtomicU32,
    /// Address and value of a word in the rank's memory that peers read to find out whether they can.
    probe_address: AtomicU64,
    probe_value: AtomicU64,
    /// 1 from the moment on that threads of this rank sleep by `calls`, whatever lane they wait in.
    sleeps_by_calls: AtomicU32,
    /// Counts wake-ups of those.
    calls: AtomicU32,
}

const _: () = assert!(size_of::<Front>() == 64 && size_of::<Entry>() == 64);

const ABSENT: u32 = 0;
const GONE: u32 = u32::MAX;

/// Where a peer stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Presence {
    /// It has not joined yet.
    Absent,
    /// It has joined.
    Here(Peer),
    /// It has left.
    Gone,
}

/// What is needed to reach into a peer's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Peer {
    pub(crate) pid: libc::pid_t,
    pub(crate) probe_address: u64,
    pub(crate) probe_value: u64,
}

impl Entry {
    /// True for the first who asks. A rank has one endpoint in the life of the segment.
    pub(crate) fn take(&self) -> bool {
        self.taken.swap(1, Ordering::Relaxed) == 0
    }

    pub(crate) fn join(&self, peer: &Peer) {
        self.probe_address.store(peer.probe_address, Ordering::Relaxed);
        self.probe_value.store(peer.probe_value, Ordering::Relaxed);
        self.pid.store(peer.pid as u32, Ordering::Release);
    }

    pub(crate) fn leave(&self) {
        self.pid.store(GONE, Ordering::Release);
    }

    /// From now on threads of this rank sleep by [`calls`](Entry::calls). Before any of them announces sleep.
    pub(crate) fn sleep_by_calls(&self) {
        self.sleeps_by_calls.store(1, Ordering::SeqCst);
    }

    /// The word that they sleep on, if they do. Who has taken an announcement of theirs away knows.
    pub(crate) fn calls(&self) -> Option<&AtomicU32> {
        (self.sleeps_by_calls.load(Ordering::Acquire) != 0).then_some(&self.calls)
    }

    #[inline(always)]
    pub(crate) fn has_left(&self) -> bool {
        self.pid.load(Ordering::Relaxed) == GONE
    }

    pub(crate) fn presence(&self) -> Presence {
        match self.pid.load(Ordering::Acquire) {
            ABSENT => Presence::Absent,
            GONE => Presence::Gone,
            pid => Presence::Here(Peer {
                pid: pid as libc::pid_t,
                probe_address: self.probe_address.load(Ordering::Relaxed),
                probe_value: self.probe_value.load(Ordering::Relaxed),
            }),
        }
    }
}

/// A mapped segment.
pub(crate) struct Segment {
    mapping: Mapping,
    geometry: Geometry,
    lanes: u32,
}

/// What every rank of a job maps, and the rest of the file.
pub(crate) struct Joined {
    pub(crate) segment: Segment,
    pub(crate) heap: Heap,
}

impl Segment {
    /// Maps the segment behind `descriptor` for rank `me`.
    pub(crate) fn join(descriptor: OwnedFd, geometry: Geometry, me: u32) -> io::Result<Joined> {
        let (bytes, ranks) = (segment_bytes(&geometry), geometry.ranks());
        let found = status(&descriptor).ok_or_else(io::Error::last_os_error)?.st_size as u64;
        let length_of = |lanes| slice_length(found, lanes_end(&geometry, lanes), ranks);
        if found < bytes as u64 {
            length_of(1)?;
        }
        let mapping = Mapping::shared(descriptor.as_raw_fd(), bytes).ok_or_else(io::Error::last_os_error)?;
        mapping.leave_out_of_cores();
        let segment = Segment { mapping, geometry, lanes: 0 };
        let format = segment.front().format.load(Ordering::Relaxed);
        // A length that is wrong says more than a word that is.
        let lanes = lanes_of(format);
        let slice = length_of(if lanes == 1 { 1 } else { LANES })?;
        if format != format_word(ranks, lanes) || !(lanes == 1 || lanes == LANES) {
            return Err(foreign(format, ranks));
        }
        let heap = Heap::new(descriptor, lanes_end(&geometry, lanes), slice, ranks, me)?;
        Ok(Joined { segment: Segment { lanes, ..segment }, heap })
    }

    /// Memory of this process alone, for a job of one rank.
    pub(crate) fn private(geometry: Geometry) -> io::Result<Segment> {
        let mapping = Mapping::private(segment_bytes(&geometry)).ok_or_else(io::Error::last_os_error)?;
        Ok(Segment { mapping, geometry, lanes: LANES })
    }

    /// How many lanes there is room for.
    pub(crate) fn lanes(&self) -> u32 {
        self.lanes
    }

    /// The memory of the exchange of a lane but the first: of the heap's file, or of this process alone.
    ///
    /// # Errors
    /// If memory cannot be mapped.
    pub(crate) fn map_lane(&self, number: u32, heap: Option<&Heap>) -> io::Result<Mapping> {
        assert!(0 < number && number < self.lanes, "lane {number} of {}", self.lanes);
        let (bytes, begin) = (self.geometry.bytes(), lanes_end(&self.geometry, number));
        let mapping = match heap {
            Some(heap) => heap.map(begin, bytes as u64),
            None => Mapping::private(bytes),
        };
        let mapping = mapping.ok_or_else(io::Error::last_os_error)?;
        mapping.leave_out_of_cores();
        Ok(mapping)
    }

    /// The exchange in the memory of a lane.
    ///
    /// # Safety
    /// As [`exchange`](Segment::exchange), for the mapping.
    pub(crate) unsafe fn exchange_in(&self, lane: &Mapping) -> Exchange {
        // SAFETY: it begins on a page, is as long as the geometry says, and was zero at first.
        unsafe { Exchange::new(lane.base(), self.geometry) }
    }

    pub(crate) fn entry(&self, rank: u32) -> &Entry {
        assert!(
            rank < self.geometry.ranks(),
            "rank {rank} is not one of the {} of this job",
            self.geometry.ranks()
        );
        // SAFETY: the entries lie behind the front; the rank was checked; an entry is made of atomics and valid zeroed.
        unsafe { self.at(size_of::<Front>() + rank as usize * size_of::<Entry>()).cast::<Entry>().as_ref() }
    }

    /// The exchange in the segment.
    ///
    /// # Safety
    /// It must not be used after the segment is dropped.
    pub(crate) unsafe fn exchange(&self) -> Exchange {
        // SAFETY: it starts on a page, as long as the geometry says; a memfd is zero at first; the format word has made sure
        // that all ranks agree on the geometry.
        unsafe { Exchange::new(self.at(exchange_offset(&self.geometry)), self.geometry) }
    }

    fn front(&self) -> &Front {
        // SAFETY: the front lies at the start; it is an atomic and valid zeroed.
        unsafe { self.at(0).cast::<Front>().as_ref() }
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset < self.mapping.bytes());
        // SAFETY: callers ask for places inside the mapping.
        unsafe { self.mapping.base().add(offset) }
    }
}

fn exchange_offset(geometry: &Geometry) -> usize {
    (size_of::<Front>() + geometry.ranks() as usize * size_of::<Entry>()).next_multiple_of(4096)
}

fn segment_bytes(geometry: &Geometry) -> usize {
    exchange_offset(geometry) + geometry.bytes()
}

/// Where the exchanges of so many lanes end.
fn lanes_end(geometry: &Geometry, lanes: u32) -> u64 {
    exchange_offset(geometry) as u64 + u64::from(lanes) * geometry.bytes() as u64
}

/// Makes sure that a file of `found` bytes holds `bytes` bytes and equal slices for `ranks` ranks; the length of a slice.
fn slice_length(found: u64, bytes: u64, ranks: u32) -> io::Result<u64> {
    let slice = found.checked_sub(bytes).map(|rest| (rest / u64::from(ranks), rest % u64::from(ranks)));
    match slice {
        Some((slice, 0)) if slice <= SLICE_BYTES && slice.is_multiple_of(PAGE_BYTES) => Ok(slice),
        _ => {
            let expected = bytes + SLICE_BYTES * u64::from(ranks);
            let problem = format!(
                "the job's memory segment is {found} bytes long where this rank expects {expected}: it was made for another number \
                 of ranks or by another version"
            );
            Err(io::Error::new(io::ErrorKind::InvalidData, problem))
        }
    }
}

fn foreign(found: u64, ranks: u32) -> io::Error {
    let problem = if found >> 32 != format_word(0, 0) >> 32 {
        format!("the job's memory segment starts with {found:#x}: it is not one of Corelace's")
    } else {
        format!(
            "the job's memory segment has version {} for {} ranks, but this rank has version {VERSION} for {ranks} ranks",
            found >> 24 & 0xff,
            found & 0xf_ffff
        )
    };
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a call on the segment's descriptor that must fail fails with.
    fn refusal(result: libc::c_int) -> Option<i32> {
        (result != 0).then(|| io::Error::last_os_error().raw_os_error().unwrap())
    }

    #[test]
    fn nobody_can_change_the_length_of_a_segment_nor_take_the_seals_off() {
        let segment = create_segment(3).unwrap();
        let descriptor = segment.as_raw_fd();
        // SAFETY: integers only, of a descriptor that is open.
        unsafe {
            let length = status(&segment).unwrap().st_size;
            for other in [0, 1, length - 1, length + 1, 2 * length] {
                assert_eq!(refusal(libc::ftruncate(descriptor, other)), Some(libc::EPERM), "{other}");
            }
            let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
            assert_eq!(libc::fcntl(descriptor, libc::F_GET_SEALS), seals);
            let more = libc::fcntl(descriptor, libc::F_ADD_SEALS, libc::F_SEAL_WRITE);
            assert_eq!(refusal(more), Some(libc::EPERM));
        }
        assert!(Segment::join(segment, geometry(3), 0).is_ok());
    }

    #[test]
    fn a_segment_of_another_number_of_ranks_is_refused_with_both_lengths() {
        let segment = create_segment(2).unwrap();
        let found = status(&segment).unwrap().st_size;
        let error = Segment::join(segment, geometry(3), 0).err().unwrap().to_string();
        let expected = lanes_end(&geometry(3), LANES) + 3 * SLICE_BYTES;
        assert!(
            error.contains(&format!("is {found} bytes long where this rank expects {expected}")),
            "{error}"
        );
    }

    #[test]
    fn a_core_file_does_not_make_the_pages_that_nobody_has_touched() {
        let joined = Segment::join(create_segment(3).unwrap(), geometry(3), 0).unwrap();
        let begin = format!("{:x}-", joined.segment.mapping.base().as_ptr().addr());
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let own = maps.lines().skip_while(|line| !line.starts_with(&begin));
        let flags = own.into_iter().find_map(|line| line.strip_prefix("VmFlags:")).unwrap();
        assert!(flags.split_whitespace().any(|flag| flag == "dd"), "{flags}");
    }
}

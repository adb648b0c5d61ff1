//! The segment: a memfd that all ranks of a job map.
//!
//! ```text
//! 0                64           64 + 64 n            next page
//! +----------------+------------+--------------------+-------------------------+
//! | format (u64)   | n entries of 64: pid, probe     | exchange                |
//! +----------------+------------+--------------------+-------------------------+
//!
//! format: | "clace" : 32 | version : 8 | ranks : 24 |
//! ```
//!
//! **Invariant:** a fresh segment is empty and zero. Every rank grows it to the same size and stamps it with the same format
//! word, whoever comes first; a rank that computes another size or word is refused. It can never shrink (a seal), so no rank
//! can pull memory away under another.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ring::Geometry;
use ring::exchange::Exchange;
use ring::linux::Mapping;

/// Makes the segment of a job: what the launcher does before it starts the ranks. The descriptor closes on `exec`; the
/// launcher duplicates it for the ranks.
pub fn create_segment() -> io::Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a C string; the call touches nothing else.
    let descriptor = unsafe { libc::memfd_create(c"corelace".as_ptr(), flags) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    let segment = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: the descriptor is valid, the argument an integer.
    if unsafe { libc::fcntl(segment.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(segment)
}

/// Raised when the layout of anything in the segment changes, so that ranks of different builds refuse each other.
const VERSION: u64 = 2;

fn format_word(ranks: u32) -> u64 {
    u64::from(u32::from_be_bytes(*b"clce")) << 32 | VERSION << 24 | u64::from(ranks)
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
}

impl Segment {
    /// Sizes, maps and stamps the segment behind `descriptor`.
    pub(crate) fn map(descriptor: &OwnedFd, geometry: Geometry) -> io::Result<Segment> {
        let bytes = segment_bytes(&geometry);
        grow(descriptor, bytes)?;
        let mapping = Mapping::shared(descriptor.as_raw_fd(), bytes).ok_or_else(io::Error::last_os_error)?;
        Segment { mapping, geometry }.stamped()
    }

    /// Memory of this process alone, for a job of one rank.
    pub(crate) fn private(geometry: Geometry) -> io::Result<Segment> {
        let mapping = Mapping::private(segment_bytes(&geometry)).ok_or_else(io::Error::last_os_error)?;
        Segment { mapping, geometry }.stamped()
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

    fn stamped(self) -> io::Result<Segment> {
        // SAFETY: the front lies at the start; it is an atomic and valid zeroed.
        let front = unsafe { self.at(0).cast::<Front>().as_ref() };
        let expected = format_word(self.geometry.ranks());
        match front.format.compare_exchange(0, expected, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Ok(self),
            Err(found) if found == expected => Ok(self),
            Err(found) => Err(foreign(found, self.geometry.ranks())),
        }
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

/// Makes sure that the file is `bytes` long. Racing ranks all ask for the same length.
fn grow(descriptor: &OwnedFd, bytes: usize) -> io::Result<()> {
    // SAFETY: the descriptor is valid; the kernel fills `status`.
    let (found, status) = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::fstat(descriptor.as_raw_fd(), &mut status), status)
    };
    if found != 0 {
        return Err(io::Error::last_os_error());
    }
    if status.st_size != 0 && status.st_size != bytes as libc::off_t {
        let problem = format!(
            "the job's memory segment is {} bytes long where this rank expects {bytes}: it was made for another number of \
             ranks or by another version",
            status.st_size
        );
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    // SAFETY: the descriptor is valid.
    match unsafe { libc::ftruncate(descriptor.as_raw_fd(), bytes as libc::off_t) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn foreign(found: u64, ranks: u32) -> io::Error {
    let problem = if found >> 32 != format_word(0) >> 32 {
        format!("the job's memory segment starts with {found:#x}: it is not one of Corelace's")
    } else {
        format!(
            "the job's memory segment has version {} for {} ranks, but this rank has version {VERSION} for {ranks} ranks",
            found >> 24 & 0xff,
            found & 0xff_ffff
        )
    };
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

//! The system calls of a Linux host that the backends need.
//!
//! **Invariant:** every function either does what it says or reports that it could not; none is called on the path of a
//! message between ranks that are awake.

use core::ptr::{self, NonNull};

use crate::sync::{AtomicU32, Ordering, fence};

/// Who may share a futex word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// Threads of one process: the kernel looks the word up by address.
    Threads,
    /// Processes that map the same memory.
    Processes,
}

impl Sharing {
    fn flag(self) -> libc::c_int {
        match self {
            Sharing::Threads => libc::FUTEX_PRIVATE_FLAG,
            Sharing::Processes => 0,
        }
    }
}

/// Sleeps until the word is woken, unless it has another value than `expected`; for `limit_ns` nanoseconds at most, if there is a
/// limit. True if that has passed; otherwise it may return without cause.
pub fn futex_wait(word: &AtomicU32, expected: u32, sharing: Sharing, limit_ns: Option<u64>) -> bool {
    let limit = limit_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    });
    // SAFETY: the word and the limit are valid for the call; the kernel reads no other memory.
    let woken = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | sharing.flag(),
            expected,
            limit.as_ref().map_or(ptr::null(), ptr::from_ref),
        )
    };
    // SAFETY: the location is this thread's own.
    woken != 0 && unsafe { *libc::__errno_location() } == libc::ETIMEDOUT
}

/// Wakes one of those who sleep on the word: the owner of a doorbell is the only one.
pub fn futex_wake(word: &AtomicU32, sharing: Sharing) {
    wake(word, sharing, 1);
}

/// Wakes all who sleep on the word.
pub fn futex_wake_all(word: &AtomicU32, sharing: Sharing) {
    wake(word, sharing, libc::c_int::MAX);
}

fn wake(word: &AtomicU32, sharing: Sharing, sleepers: libc::c_int) {
    // SAFETY: waking reads no memory.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | sharing.flag(), sleepers) };
}

/// The heavy barrier of an asymmetric [doorbell](crate::doorbell): a full barrier on every core that runs a thread
/// which has registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeavyBarrier {
    command: libc::c_int,
}

impl HeavyBarrier {
    /// Registers this process for the barrier, or `None` if the kernel refuses (old, or a sandbox). Idempotent.
    pub fn register(sharing: Sharing) -> Option<HeavyBarrier> {
        let (register, command) = match sharing {
            Sharing::Threads => (REGISTER_PRIVATE_EXPEDITED, PRIVATE_EXPEDITED),
            Sharing::Processes => (REGISTER_GLOBAL_EXPEDITED, GLOBAL_EXPEDITED),
        };
        (membarrier(register) == 0 && membarrier(command) == 0).then_some(HeavyBarrier { command })
    }

    /// Runs it: one system call and an interrupt on every core that runs a registered thread.
    ///
    /// # Panics
    /// If the kernel, which has agreed to it at registration, refuses it now: posters already rely on it.
    pub fn run(self) {
        fence(Ordering::SeqCst);
        assert!(membarrier(self.command) == 0, "membarrier worked before and was refused now");
    }
}

// include/uapi/linux/membarrier.h; libc has them for Android only.
const GLOBAL_EXPEDITED: libc::c_int = 1 << 1;
const REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> libc::c_long {
    // SAFETY: the call takes two integers and touches no memory of the caller.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// Nanoseconds of the monotonic clock, which all processes of a machine share. No system call (vDSO).
#[inline]
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid for the write; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Lets another runnable thread have the core.
pub fn yield_core() {
    // SAFETY: no arguments, no memory.
    unsafe { libc::sched_yield() };
}

/// The number of the core that the calling thread runs on; it may be another by now. Cheap where the processor knows it.
pub fn current_core() -> u32 {
    // SAFETY: no arguments, no memory.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// How many threads the process has; 1 if that cannot be found out.
pub fn threads_of_process() -> u32 {
    let mut text = [0_u8; 512];
    // SAFETY: the path ends with a zero; the buffer is valid for its length; what was opened is closed.
    let read = unsafe {
        let file = libc::open(c"/proc/self/stat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return 1;
        }
        let read = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        read
    };
    let text = text.get(..usize::try_from(read).unwrap_or(0)).unwrap_or_default();
    // The second field is a name in parentheses, which may hold anything. The twentieth is the number.
    let after_name = text.iter().rposition(|byte| *byte == b')').map_or(text.len(), |at| at + 1);
    let mut fields = text[after_name..].split(|byte| *byte == b' ').skip(18);
    let number = fields.next().and_then(|field| str::from_utf8(field).ok()?.parse().ok());
    number.unwrap_or(1)
}

/// Mapped memory, zeroed and sparse at first, unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping is an address range of the process; it belongs to no thread.
unsafe impl Send for Mapping {}
// SAFETY: the mapping itself gives out only its address.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `bytes` bytes of this process alone; `None` if the kernel refuses.
    pub fn private(bytes: usize) -> Option<Mapping> {
        Mapping::new(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// The first `bytes` bytes of the file `descriptor`, shared with all who map it; `None` if the kernel refuses.
    pub fn shared(descriptor: libc::c_int, bytes: usize) -> Option<Mapping> {
        Mapping::new(bytes, libc::MAP_SHARED, descriptor)
    }

    /// Leaves it out of core files: the kernel would make every page of it that was never touched.
    pub fn leave_out_of_cores(&self) {
        // SAFETY: a mapping of our own; the advice does not change what is in it.
        unsafe { libc::madvise(self.base.as_ptr().cast(), self.bytes, libc::MADV_DONTDUMP) };
    }

    /// `bytes` bytes of the file `descriptor` from `offset` on, which is a multiple of the page size; as [`shared`](Mapping::shared).
    pub fn shared_at(descriptor: libc::c_int, offset: u64, bytes: usize) -> Option<Mapping> {
        Mapping::at(bytes, libc::MAP_SHARED, descriptor, offset)
    }

    /// Where it starts: at a page.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn new(bytes: usize, flags: libc::c_int, descriptor: libc::c_int) -> Option<Mapping> {
        Mapping::at(bytes, flags, descriptor, 0)
    }

    /// MAP_NORESERVE: most of the pages are never touched, so they must not count against the commit limit.
    fn at(bytes: usize, flags: libc::c_int, descriptor: libc::c_int, offset: u64) -> Option<Mapping> {
        let flags = flags | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no existing memory.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, descriptor, offset as libc::off_t) };
        if base == libc::MAP_FAILED {
            return None;
        }
        NonNull::new(base.cast()).map(|base| Mapping { base, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is exactly what `mmap` returned, and its users promised to be gone.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

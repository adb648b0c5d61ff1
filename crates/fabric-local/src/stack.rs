//! The stacks of ranks, each above a guard, and finding out whose stack an address belongs to.
//!
//! ```text
//!   one reservation:  | guard | stack of rank 0 | guard | stack of rank 1 | ...        a stack grows down, towards its guard
//! ```
//!
//! A guard is as large as the stack above it, at least 1 MiB: it costs address space and nothing else (no memory, no page tables, no
//! mapping beyond the one that any guard takes), and a frame that is too large for its stack then ends in the guard and not in
//! the stack of another rank, though compilers probe frames only if they are asked to. Where the address space is limited
//! (`ulimit -v`), guards of 1 MiB must do.
//!
//! A process may have some 65,000 mappings (`vm.max_map_count`), and each stack and each guard is one. More than ten thousand ranks therefore have one
//! mapping for all of their stacks, and below each a few pages that the kernel is told to refuse without a mapping (from Linux 6.13 on).
//!
//! **Invariant:** what lies directly below a stack is not accessible, unless [`Stacks::are_guarded`] says otherwise.

use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};

use libc::{MAP_ANONYMOUS, MAP_NORESERVE, MAP_PRIVATE, MAP_STACK, PROT_NONE, PROT_READ, PROT_WRITE};

/// Smallest guard that is a mapping.
const GUARD_MIN: usize = 1 << 20;

/// Guard within a mapping: its pages cost entries of page tables, and frames that are larger probe their pages.
const GUARD_WITHIN: usize = 64 << 10;

/// `MADV_GUARD_INSTALL` of `linux/mman.h`.
const MADV_GUARD_INSTALL: libc::c_int = 102;

/// Mappings that a process may have where the system does not say.
const MAPPINGS: usize = 65_530;

/// The stacks of a job's fibers, by rank.
pub struct Stacks {
    base: NonNull<libc::c_void>,
    span: Span,
    guarded: bool,
}

// SAFETY: the reservation belongs to no thread; giving out addresses of it changes nothing.
unsafe impl Sync for Stacks {}
// SAFETY: as above.
unsafe impl Send for Stacks {}

/// One stack: `limit` is its lowest address, `base` the address above its highest, a multiple of 16.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    pub(crate) limit: usize,
    pub(crate) base: usize,
}

/// Where stacks lie, one beside the other.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    guard_bytes: usize,
    stack_bytes: usize,
    first_rank: u32,
    ranks: u32,
}

const NOWHERE: Span = Span { start: 0, guard_bytes: 0, stack_bytes: 1, first_rank: 0, ranks: 0 };

thread_local! {
    /// The stacks of the ranks that this thread runs. Without a destructor and without lazy initialisation: a signal handler reads it.
    static HERE: Cell<Span> = const { Cell::new(NOWHERE) };
}

/// Whose stack the address is on, among the ranks that the calling thread runs; true if it is in the guard below that stack, where
/// only an overflow leads. Neither locks nor allocates: made for a handler of SIGSEGV, which runs on the thread that faulted.
pub fn rank_of_stack_address(address: usize) -> Option<(u32, bool)> {
    let Span { start, guard_bytes, stack_bytes, first_rank, ranks } = HERE.get();
    let offset = address.checked_sub(start)?;
    let stride = guard_bytes + stack_bytes;
    let index = offset / stride;
    (index < ranks as usize).then(|| (first_rank + index as u32, offset % stride < guard_bytes))
}

/// Where the stack of a rank lies that [`rank_of_stack_address`] finds on the calling thread, without its guard. May be called from a
/// signal handler.
pub fn stack_of_rank(rank: u32) -> Option<Range<usize>> {
    let Span { start, guard_bytes, stack_bytes, first_rank, ranks } = HERE.get();
    let index = rank.checked_sub(first_rank).filter(|index| *index < ranks)? as usize;
    let end = start + (index + 1) * (guard_bytes + stack_bytes);
    Some(end - stack_bytes..end)
}

impl Stack {
    /// Its lowest address; what lies below is its guard.
    pub fn lowest(&self) -> usize {
        self.limit
    }
}

impl Stacks {
    /// Stacks of at least `stack_bytes` bytes for `ranks` ranks.
    pub fn new(ranks: u32, stack_bytes: usize) -> io::Result<Stacks> {
        let stack_bytes = whole_pages(stack_bytes);
        if take_most_mappings(ranks) {
            return Stacks::in_one_mapping(ranks, stack_bytes);
        }
        Stacks::in_mappings(ranks, stack_bytes, guard_for(stack_bytes))
            .or_else(|_| Stacks::in_mappings(ranks, stack_bytes, GUARD_MIN))
    }

    fn in_mappings(ranks: u32, stack_bytes: usize, guard_bytes: usize) -> io::Result<Stacks> {
        let stacks = Stacks::reserve(ranks, stack_bytes, guard_bytes, PROT_NONE)?;
        for rank in 0..ranks {
            protect(stacks.of(rank).limit, stack_bytes, PROT_READ | PROT_WRITE)?;
        }
        Ok(stacks)
    }

    fn in_one_mapping(ranks: u32, stack_bytes: usize) -> io::Result<Stacks> {
        let mut stacks = Stacks::reserve(ranks, stack_bytes, GUARD_MIN, PROT_READ | PROT_WRITE)?;
        stacks.guarded = (0..ranks).all(|rank| {
            let guard = (stacks.of(rank).limit - GUARD_WITHIN) as *mut _;
            // SAFETY: pages of the reservation that belong to no stack. Kernels that do not know the word refuse it.
            unsafe { libc::madvise(guard, GUARD_WITHIN, MADV_GUARD_INSTALL) == 0 }
        });
        Ok(stacks)
    }

    /// Gives the reservation back if it is dropped, also half made.
    fn reserve(
        ranks: u32,
        stack_bytes: usize,
        guard_bytes: usize,
        access: libc::c_int,
    ) -> io::Result<Stacks> {
        let bytes = guard_bytes.checked_add(stack_bytes).and_then(|one| one.checked_mul(ranks as usize));
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        let base = map_nothing(bytes, access)?;
        let span = Span { start: base.as_ptr() as usize, guard_bytes, stack_bytes, first_rank: 0, ranks };
        Ok(Stacks { base, span, guarded: true })
    }

    /// Whether a stack that overflows is noticed. It is not where neither mappings nor the kernel suffice for guards.
    pub fn are_guarded(&self) -> bool {
        self.guarded
    }

    /// The stack of `rank`. It may be used as long as the reservation lives.
    pub fn of(&self, rank: u32) -> Stack {
        let Span { start, guard_bytes, stack_bytes, ranks, .. } = self.span;
        assert!(rank < ranks, "the stack of rank {rank} of {ranks}");
        let limit = start + rank as usize * (guard_bytes + stack_bytes) + guard_bytes;
        Stack { limit, base: limit + stack_bytes }
    }

    /// Gives the memory of the stack of `rank` back to the system.
    ///
    /// # Safety
    /// Nothing on the stack is used any more.
    pub unsafe fn clear(&self, rank: u32) {
        let stack = self.of(rank);
        // SAFETY: a range of this mapping, whose contents nobody needs. Should it fail, the memory is freed with the reservation.
        unsafe { libc::madvise(stack.limit as *mut _, stack.base - stack.limit, libc::MADV_DONTNEED) };
    }

    /// Lets [`rank_of_stack_address`] find these stacks on the calling thread, until the result is dropped.
    pub fn found_here(&self) -> Found {
        Found::new(self.span)
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let bytes = (self.span.guard_bytes + self.span.stack_bytes) * self.span.ranks as usize;
        // SAFETY: the range is exactly what `mmap` returned; who uses a stack keeps the reservation.
        unsafe { libc::munmap(self.base.as_ptr(), bytes) };
    }
}

/// While it lives, [`rank_of_stack_address`] finds the stacks of some ranks on the calling thread.
pub struct Found {
    before: Span,
}

impl Found {
    fn new(span: Span) -> Found {
        Found { before: HERE.replace(span) }
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        HERE.set(self.before);
    }
}

/// Bytes of stack that a thread needs to have `stack_bytes` above a guard like that of a fiber.
pub(crate) fn bytes_with_guard(stack_bytes: usize) -> usize {
    let stack_bytes = whole_pages(stack_bytes);
    stack_bytes.saturating_add(guard_for(stack_bytes))
}

/// The guard in the lower part of a thread's own stack.
pub(crate) struct ThreadGuard {
    start: usize,
    bytes: usize,
    _found: Found,
}

impl ThreadGuard {
    /// Makes the lower part of the calling thread's stack, which was made with [`bytes_with_guard`], inaccessible. `None` where the
    /// system does not say where the stack is; the guard of the system's threads remains.
    pub(crate) fn raise(rank: u32, stack_bytes: usize) -> Option<ThreadGuard> {
        let (low, high) = own_stack()?;
        let bytes = guard_for(whole_pages(stack_bytes));
        let stack_bytes = (high - low).checked_sub(bytes).filter(|left| *left > GUARD_MIN / 16)?;
        protect(low, bytes, PROT_NONE).ok()?;
        let span = Span { start: low, guard_bytes: bytes, stack_bytes, first_rank: rank, ranks: 1 };
        Some(ThreadGuard { start: low, bytes, _found: Found::new(span) })
    }
}

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        // The C library keeps the stacks of ended threads for new ones. A refusal leaves a stack that is too small for them; the
        // kernel has none for joining two ranges that it has split before.
        let _ = protect(self.start, self.bytes, PROT_READ | PROT_WRITE);
    }
}

/// The lowest address that the calling thread may use for its stack, and the one above the highest.
fn own_stack() -> Option<(usize, usize)> {
    // SAFETY: all-zero bytes are a valid attribute object to be filled in, and what is filled in is destroyed; all places are valid for
    // writes during the calls.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let (mut low, mut bytes, mut guard) = (ptr::null_mut(), 0, 0);
        let told = libc::pthread_attr_getstack(&attributes, &mut low, &mut bytes) == 0
            && libc::pthread_attr_getguardsize(&attributes, &mut guard) == 0;
        libc::pthread_attr_destroy(&mut attributes);
        // Whether the system's guard is part of it differs between C libraries: taken off either way.
        (told && guard < bytes).then(|| (whole_pages(low as usize + guard), low as usize + bytes))
    }
}

/// Fails if there is no room for as many threads at once, each with a stack of [`bytes_with_guard`].
pub(crate) fn look_for_room(threads: u32, stack_bytes: usize) -> io::Result<()> {
    let bytes =
        bytes_with_guard(stack_bytes).checked_mul(threads as usize).ok_or(io::ErrorKind::OutOfMemory)?;
    let room = map_nothing(bytes, PROT_NONE)?;
    // SAFETY: what was just mapped.
    unsafe { libc::munmap(room.as_ptr(), bytes) };
    Ok(())
}

/// A new mapping without memory behind it.
fn map_nothing(bytes: usize, access: libc::c_int) -> io::Result<NonNull<libc::c_void>> {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    // SAFETY: at an address of the kernel's choice it disturbs no existing memory.
    let base = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory.into())
}

/// Whether stacks and guards as mappings would leave the process too few for the rest, of which programs have as many.
fn take_most_mappings(ranks: u32) -> bool {
    /// So many always have room.
    const FEW: u32 = 1024;
    ranks > FEW && 2 * ranks as usize > most_mappings() / 8 * 3
}

/// How many mappings a process may have.
pub fn most_mappings() -> usize {
    let said = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    said.and_then(|text| text.trim().parse().ok()).unwrap_or(MAPPINGS)
}

fn guard_for(stack_bytes: usize) -> usize {
    stack_bytes.max(GUARD_MIN)
}

fn protect(start: usize, bytes: usize, access: libc::c_int) -> io::Result<()> {
    // SAFETY: callers name whole pages of a mapping of theirs that nobody uses yet, or any more.
    match unsafe { libc::mprotect(start as *mut _, bytes, access) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn whole_pages(bytes: usize) -> usize {
    // SAFETY: sysconf has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    bytes.max(1).checked_next_multiple_of(page).unwrap_or(usize::MAX / page * page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_a_reservation_belongs_to_a_stack_or_its_guard() {
        let stacks = Stacks::new(3, 100_000).unwrap();
        let inside = stacks.of(1);
        assert_eq!(rank_of_stack_address(inside.limit), None, "not announced on this thread");
        let found = stacks.found_here();
        assert_eq!(rank_of_stack_address(inside.limit), Some((1, false)));
        assert_eq!(rank_of_stack_address(inside.base - 1), Some((1, false)));
        assert_eq!(rank_of_stack_address(inside.limit - 1), Some((1, true)));
        assert_eq!(rank_of_stack_address(inside.limit - GUARD_MIN), Some((1, true)));
        assert_eq!(rank_of_stack_address(inside.base), Some((2, true)));
        assert_eq!(rank_of_stack_address(stacks.of(2).base), None);
        assert_eq!(stack_of_rank(1), Some(inside.limit..inside.base));
        assert_eq!(stack_of_rank(3), None);
        assert_eq!(rank_of_stack_address(stacks.of(0).limit - GUARD_MIN - 1), None);
        drop(found);
        assert_eq!(rank_of_stack_address(inside.limit), None);
    }

    #[test]
    fn a_guard_is_as_large_as_its_stack() {
        let stacks = Stacks::new(2, 8 << 20).unwrap();
        assert_eq!(stacks.of(1).limit - stacks.of(0).base, 8 << 20);
    }

    #[test]
    fn stacks_in_one_mapping_end_at_guards_without_mappings_or_say_that_they_have_none() {
        let mappings = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
        let before = mappings();
        let stacks = Stacks::in_one_mapping(500, 256 << 10).unwrap();
        // Other tests map as well, though less.
        assert!(mappings() < before + 100);
        let mut ends = [0; 2];
        // SAFETY: the two descriptors are written into the array.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        // The kernel reads the byte, and fails where it cannot.
        // SAFETY: nothing is read here.
        let can_be_read = |at: usize| unsafe { libc::write(ends[1], at as *const _, 1) } == 1;
        for rank in [0, 1, 499] {
            let stack = stacks.of(rank);
            assert!(can_be_read(stack.limit) && can_be_read(stack.base - 1));
            for below in [1, GUARD_WITHIN] {
                assert_eq!(can_be_read(stack.limit - below), !stacks.are_guarded(), "{below} below");
            }
            // SAFETY: nobody uses the stack.
            unsafe { stacks.clear(rank) };
            assert_eq!(can_be_read(stack.limit - 1), !stacks.are_guarded());
        }
    }

    #[test]
    fn few_ranks_have_mappings_of_their_own_and_very_many_have_not() {
        assert!(!take_most_mappings(1024));
        assert!(take_most_mappings(u32::MAX / 2));
    }

    #[test]
    fn stacks_for_which_there_is_no_address_space_are_refused() {
        assert!(Stacks::new(u32::MAX, usize::MAX / 2).is_err());
        assert!(Stacks::new(1000, 1 << 46).is_err());
        assert!(look_for_room(1000, 1 << 46).is_err());
        assert!(look_for_room(1000, 1 << 16).is_ok());
    }

    #[test]
    fn a_thread_guard_is_found_and_taken_back() {
        let bytes = 256 << 10;
        let thread = std::thread::Builder::new().stack_size(bytes_with_guard(bytes));
        let run = move || {
            let here = &raw const bytes as usize;
            for _ in 0..2 {
                let guard = ThreadGuard::raise(7, bytes).expect("this system tells");
                assert_eq!(rank_of_stack_address(here), Some((7, false)));
                assert_eq!(rank_of_stack_address(guard.start), Some((7, true)));
                assert!(here - (guard.start + guard.bytes) > bytes / 2, "most of the stack is left");
                let start = guard.start;
                drop(guard);
                // SAFETY: memory of this thread's stack that no frame uses.
                unsafe { (start as *mut u8).write_volatile(1) };
            }
        };
        thread.spawn(run).unwrap().join().unwrap();
    }
}

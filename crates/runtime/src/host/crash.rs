//! Which rank a deadly signal belongs to: told to the launcher before the process of all ranks ends.
//!
//! The kernel knows a process only. Each rank therefore leaves word of its stack when it begins; the handler of a signal looks
//! up whose stack was in use and writes one frame on the control socket. It runs on a stack of its own, since the rank's may be
//! what has ended, and then lets the signal have its usual effect: core files and exit statuses stay what they are.
//!
//! **Invariants.** The handler allocates nothing, takes no lock and calls `write`, `writev`, `process_vm_readv`, `getpid` and `raise` only. The table is never freed.
//! A program that installs a handler of its own replaces this one.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::{MaybeUninit, zeroed};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use pmi::{Control, Crash, StackCopy};

/// How far below its stack an access of a rank still is taken for an overflow, at least; otherwise as far as the stack is large.
const GUARD_BYTES: usize = 1 << 20;

/// Pages by which the end of a guard may be off.
const GUARD_PAGES: usize = 8;

/// Room for the handler. A frame of the kernel with the widest registers takes some 11 KiB of it.
const HANDLER_STACK_BYTES: usize = 64 << 10;

const DEADLY: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

static TABLE: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

/// What the handler knows of the job.
struct Table {
    control: Arc<Control>,
    process: u32,
    ranks: Box<[Place]>,
}

/// Where a rank is in memory; all 0 while it does not run.
#[derive(Default)]
struct Place {
    low: AtomicUsize,
    top: AtomicUsize,
    code_start: AtomicUsize,
    code_end: AtomicUsize,
}

/// Installs the handlers of this process, for a job whose ranks' programs lie at `code`. To be called once, before they run.
pub(super) fn watch(control: &Arc<Control>, code: impl Iterator<Item = Range<usize>>) {
    let place = |code: Range<usize>| Place {
        code_start: AtomicUsize::new(code.start),
        code_end: AtomicUsize::new(code.end),
        ..Place::default()
    };
    let ranks = code.map(place).collect();
    let table = Box::new(Table { control: control.clone(), process: std::process::id(), ranks });
    TABLE.store(Box::into_raw(table), Ordering::Release);
    for signal in DEADLY {
        // SAFETY: all-zero bytes are a valid sigaction; the handler keeps to what a handler may do. A refusal leaves the signal
        // as it was: then the launcher cannot name the rank, and nothing else changes.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = tell as *const () as usize;
            // The default action is back before the handler runs, so a second fault, in it or beside it, is the end.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, ptr::null_mut());
        }
    }
    // SAFETY: the function lives as long as the process.
    unsafe { on_exit(libc_exit, ptr::null_mut()) };
}

/// Leaves word of the stack of `rank`, which calls.
#[inline(never)]
pub(super) fn arrive(rank: u32, stack_bytes: usize, fiber: bool) {
    let Some(place) = table().and_then(|table| table.ranks.get(rank as usize)) else { return };
    let here = 0_u8;
    // The rank has used next to nothing of it so far.
    let top = (&raw const here).addr().next_multiple_of(4096);
    let top = if fiber { top } else { top_of_thread().unwrap_or(top) };
    place.low.store(top.saturating_sub(stack_bytes), Ordering::Relaxed);
    place.top.store(top, Ordering::Release);
    prepare_thread();
}

/// The rank has ended; its stack will be another's.
pub(super) fn depart(rank: u32) {
    if let Some(place) = table().and_then(|table| table.ranks.get(rank as usize)) {
        place.top.store(0, Ordering::Release);
    }
}

fn table() -> Option<&'static Table> {
    // SAFETY: null, or a table that is never freed.
    unsafe { TABLE.load(Ordering::Acquire).as_ref() }
}

/// Where the stack of the calling thread begins.
fn top_of_thread() -> Option<usize> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut low, mut bytes) = (ptr::null_mut(), 0);
    // SAFETY: the attributes are initialised by the first call, read by the second and given back by the third.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let failed = libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut bytes) != 0;
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (!failed).then_some(low.addr() + bytes)
    }
}

/// Gives the calling thread a stack for handlers, unless it has one.
fn prepare_thread() {
    // SAFETY: all-zero bytes are a valid stack_t. The memory is leaked: the kernel may use it as long as the thread lives.
    unsafe {
        let mut stack: libc::stack_t = zeroed();
        if libc::sigaltstack(ptr::null(), &mut stack) == 0 && stack.ss_flags & libc::SS_DISABLE != 0 {
            let room = Box::leak(vec![0_u8; HANDLER_STACK_BYTES].into_boxed_slice());
            let stack =
                libc::stack_t { ss_sp: room.as_mut_ptr().cast(), ss_flags: 0, ss_size: HANDLER_STACK_BYTES };
            libc::sigaltstack(&stack, ptr::null_mut());
        }
    }
}

impl Table {
    /// The rank that runs with this stack pointer, or at this instruction if the stack is nobody's: a thread that a rank has
    /// made runs its rank's copy of the program.
    fn rank_at(&self, stack: usize, instruction: usize) -> Option<usize> {
        let by = |holds: &dyn Fn(&Place) -> bool| self.ranks.iter().position(holds);
        by(&|place| place.stack().contains(&stack))
            .or_else(|| by(&|place| place.stack_and_guard().contains(&stack)))
            .or_else(|| by(&|place| place.code().contains(&instruction)))
    }
}

impl Place {
    fn stack(&self) -> Range<usize> {
        match self.top.load(Ordering::Acquire) {
            0 => 0..0,
            top => self.low.load(Ordering::Relaxed)..top,
        }
    }

    fn stack_and_guard(&self) -> Range<usize> {
        let stack = self.stack();
        stack.start.saturating_sub(GUARD_BYTES.max(stack.len()))..stack.end
    }

    fn code(&self) -> Range<usize> {
        self.code_start.load(Ordering::Relaxed)..self.code_end.load(Ordering::Relaxed)
    }
}

/// The handler.
extern "C" fn tell(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands over a siginfo_t and a ucontext_t that are valid during the handler.
    let (info, context) = unsafe { (&*info, &*context.cast::<libc::ucontext_t>()) };
    let by_an_instruction = info.si_code > 0;
    // What another process sends, or a child that a rank has forked does to itself, says nothing about the rank that happens to run.
    let by_ourselves = by_an_instruction || info.si_code == libc::SI_TKILL;
    let (stack, instruction) = registers(context);
    if let Some(table) = table()
        && by_ourselves
        && table.process == std::process::id()
        && let Some(rank) = table.rank_at(stack, instruction)
    {
        let about_memory = by_an_instruction && matches!(signal, libc::SIGSEGV | libc::SIGBUS);
        // SAFETY: these signals have an address when an instruction has caused them.
        let address = if about_memory { unsafe { info.si_addr() }.addr() } else { 0 };
        // Nothing of a stack itself is ever inaccessible, so what was reached for lies below it.
        let place = &table.ranks[rank];
        let overflowed = about_memory && place.stack_and_guard().contains(&address);
        let crash = Crash {
            rank: rank as u32,
            signal: signal as u32,
            overflowed: if overflowed { place.stack().len() as u64 } else { 0 },
            address: address as u64,
            instruction: if place.code().contains(&instruction) {
                (instruction - place.code().start) as u64
            } else {
                0
            },
        };
        let frame = crash.frame();
        // SAFETY: the bytes are readable; the descriptor stays open as long as the table. Without a launcher nobody is told.
        unsafe { libc::write(table.control.as_fd().as_raw_fd(), frame.as_ptr().cast(), frame.len()) };
        let words = [instruction, stack, frame_pointer(context), place.code().start].map(|word| word as u64);
        send_stack(table, rank, place, words);
    }
    if !by_an_instruction {
        // The instruction will not fault again. Delivered when this handler returns, with the default action.
        // SAFETY: raise may be called in a handler.
        unsafe { libc::raise(signal) };
    }
}

/// Sends the innermost part of a rank's stack, from which the launcher tells who called whom. `words` are its instruction, its stack and
/// frame pointers, and where its program lies.
fn send_stack(table: &Table, rank: usize, place: &Place, words: [u64; 4]) {
    static COPY: Copy = Copy(UnsafeCell::new([0; StackCopy::BYTES_MAX]));
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let used = place.stack();
    if TAKEN.swap(true, Ordering::Relaxed) {
        return;
    }
    let copy = COPY.0.get();
    let read = |begin: usize| {
        let wanted = StackCopy::BYTES_MAX.min(used.end - begin);
        let here = libc::iovec { iov_base: copy.cast(), iov_len: wanted };
        let there = libc::iovec { iov_base: ptr::with_exposed_provenance_mut(begin), iov_len: wanted };
        // Read by the kernel: what is not there makes it fail, and nothing fault.
        // SAFETY: as many bytes are ours to write, since nobody else takes the copy.
        let read = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
        Some((begin, usize::try_from(read).ok()?))
    };
    // The stack pointer of an overflow is in the guard, whose end is known to a few pages.
    let first = (words[1] as usize).max(used.start);
    let mut begins =
        std::iter::once(first).chain((1..=GUARD_PAGES).map(|page| (first & !0xfff) + page * 4096));
    let found = begins.find_map(|begin| if used.contains(&begin) { read(begin) } else { None });
    let Some((begin, bytes)) = found else { return };
    let [instruction, stack, frame, code] = words;
    let head = StackCopy::frame_head(rank as u32, [instruction, stack, frame, code, begin as u64], bytes);
    let parts = [
        libc::iovec { iov_base: head.as_ptr().cast_mut().cast(), iov_len: head.len() },
        libc::iovec { iov_base: copy.cast(), iov_len: bytes },
    ];
    // SAFETY: both parts are readable; the descriptor stays open as long as the table.
    unsafe { libc::writev(table.control.as_fd().as_raw_fd(), parts.as_ptr(), parts.len() as c_int) };
}

/// Room for a part of a stack.
struct Copy(UnsafeCell<[u8; StackCopy::BYTES_MAX]>);

// SAFETY: used by the one handler that takes it first.
unsafe impl Sync for Copy {}

/// The frame pointer of what was interrupted; 0 where this machine's is not known.
fn frame_pointer(context: &libc::ucontext_t) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        context.uc_mcontext.gregs[libc::REG_RBP as usize] as usize
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = context;
        0
    }
}

/// The stack pointer and the instruction pointer of what was interrupted; 0 where this machine's are not known.
fn registers(context: &libc::ucontext_t) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let registers = &context.uc_mcontext.gregs;
        (registers[libc::REG_RSP as usize] as usize, registers[libc::REG_RIP as usize] as usize)
    }
    #[cfg(target_arch = "aarch64")]
    {
        (context.uc_mcontext.sp as usize, context.uc_mcontext.pc as usize)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = context;
        (0, 0)
    }
}

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// libc's own exit was called by a rank: by `argp_parse` or a shared library, for a program's exit ends its rank only. It cannot be
/// held up, but the rank can be named.
extern "C" fn libc_exit(status: c_int, _: *mut c_void) {
    let here = 0_u8;
    let Some(table) = table() else { return };
    if table.process == std::process::id()
        && let Some(rank) = table.rank_at((&raw const here).addr(), 0)
    {
        eprintln!(
            "corelace: rank {rank}: exit({status}) was called inside of a shared library, which ends all ranks of this \
             process (--ranks process keeps them apart)"
        );
        let _ = table.control.exited(rank as u32, status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_found_by_its_stack_by_its_guard_and_by_its_code() {
        let (_inbox, socket) = pmi::Inbox::pair().unwrap();
        let place = |low: usize, code: usize| Place {
            low: low.into(),
            top: (low + (8 << 20)).into(),
            code_start: code.into(),
            code_end: (code + 0x1000).into(),
        };
        let ranks = Box::new([place(0x4000_0000, 0x1_0000), place(0x4000_0000 + (9 << 20), 0x2_0000)]);
        let table = Table { control: Arc::new(Control::new(socket)), process: 0, ranks };
        let second = 0x4000_0000 + (9 << 20);
        assert_eq!(table.rank_at(0x4000_0000, 0), Some(0));
        assert_eq!(table.rank_at(second + 5, 0), Some(1));
        // Below the second stack and above the first: the second has run over.
        assert_eq!(table.rank_at(second - 1, 0), Some(1));
        assert_eq!(table.rank_at(0x7fff_0000_0000, 0x2_0fff), Some(1));
        assert_eq!(table.rank_at(0x7fff_0000_0000, 0x3_0000), None);
        table.ranks[1].top.store(0, Ordering::Relaxed);
        assert_eq!(table.rank_at(second + 5, 0), None);
    }
}

//! Which rank a deadly signal belongs to: told to the launcher before the process of all ranks ends.
//!
//! The kernel knows a process only. The handler of a signal, which runs on the thread that faulted, asks the fabric whose stack was in
//! use and writes one frame on the control socket. It runs on a stack of its own, since the rank's may be what has ended, and then lets the
//! signal have its usual effect: core files and exit statuses stay what they are.
//!
//! **Invariants.** The handler allocates nothing, takes no lock and calls `write`, `writev`, `process_vm_readv`, `getpid` and `raise` only. The table is never freed.
//! A program that installs a handler of its own replaces this one.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use pmi::{Control, Crash, StackCopy};

/// Room for the handler. A frame of the kernel with the widest registers takes some 11 KiB of it.
const HANDLER_STACK_BYTES: usize = 64 << 10;

const DEADLY: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

static TABLE: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

/// What the handler knows of the job.
struct Table {
    control: Arc<Control>,
    process: u32,
    /// Bytes of each rank's stack.
    stack_bytes: usize,
    /// Where the copy of the program of each rank lies.
    code: Box<[Range<usize>]>,
}

/// Installs the handlers of this process, for a job whose ranks have stacks of so many bytes and programs that lie at `code`. To be called once,
/// before they run.
pub(super) fn watch(control: &Arc<Control>, stack_bytes: usize, code: impl Iterator<Item = Range<usize>>) {
    let (control, process) = (control.clone(), std::process::id());
    let table = Box::new(Table { control, process, stack_bytes, code: code.collect() });
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

fn table() -> Option<&'static Table> {
    // SAFETY: null, or a table that is never freed.
    unsafe { TABLE.load(Ordering::Acquire).as_ref() }
}

/// The rank whose copy of the program an instruction is of, in a host of several.
pub fn rank_of_code(instruction: usize) -> Option<u32> {
    table()?.rank_of_code(instruction)
}

/// Gives the calling thread, which runs a rank, a stack for handlers, unless it has one.
pub(super) fn prepare_thread() {
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
    /// The rank that runs on this thread with this stack pointer, or at this instruction if the stack is nobody's: a thread that a rank has
    /// made runs its rank's copy of the program.
    fn rank_at(&self, stack: usize, instruction: usize) -> Option<u32> {
        let by_stack = fabric_local::rank_of_stack_address(stack).map(|(rank, _)| rank);
        by_stack.or_else(|| self.rank_of_code(instruction))
    }

    fn rank_of_code(&self, instruction: usize) -> Option<u32> {
        self.code.iter().position(|code| code.contains(&instruction)).map(|rank| rank as u32)
    }

    /// How far into the program of `rank` an instruction is; 0 if it is not of it.
    fn offset(&self, rank: u32, instruction: usize) -> u64 {
        let code = self.code.get(rank as usize).filter(|code| code.contains(&instruction));
        code.map_or(0, |code| (instruction - code.start) as u64)
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
        let overflowed = about_memory && fabric_local::rank_of_stack_address(address) == Some((rank, true));
        let crash = Crash {
            rank,
            signal: signal as u32,
            overflowed: if overflowed { table.stack_bytes as u64 } else { 0 },
            address: address as u64,
            instruction: table.offset(rank, instruction),
        };
        let frame = crash.frame();
        // SAFETY: the bytes are readable; the descriptor stays open as long as the table. Without a launcher nobody is told.
        unsafe { libc::write(table.control.as_fd().as_raw_fd(), frame.as_ptr().cast(), frame.len()) };
        if let Some(used) = fabric_local::stack_of_rank(rank) {
            let code = table.code.get(rank as usize).map_or(0, |code| code.start);
            let words = [instruction, stack, frame_pointer(context), code].map(|word| word as u64);
            send_stack(table, rank, &used, words);
        }
    }
    if !by_an_instruction {
        // The instruction will not fault again. Delivered when this handler returns, with the default action.
        // SAFETY: raise may be called in a handler.
        unsafe { libc::raise(signal) };
    }
}

/// Sends the innermost part of a rank's stack, from which the launcher tells who called whom. `words` are its instruction, its stack and
/// frame pointers, and where its program lies.
fn send_stack(table: &Table, rank: u32, used: &Range<usize>, words: [u64; 4]) {
    static COPY: Copy = Copy(UnsafeCell::new([0; StackCopy::BYTES_MAX]));
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let [instruction, stack, frame, code] = words;
    // The stack pointer of an overflow is in the guard; that of a thread that the rank has made, elsewhere.
    let begin = (stack as usize).max(used.start);
    if !used.contains(&begin) || TAKEN.swap(true, Ordering::Relaxed) {
        return;
    }
    let copy = COPY.0.get();
    let wanted = StackCopy::BYTES_MAX.min(used.end - begin);
    let here = libc::iovec { iov_base: copy.cast(), iov_len: wanted };
    let there = libc::iovec { iov_base: ptr::with_exposed_provenance_mut(begin), iov_len: wanted };
    // Read by the kernel: what is not there makes it fail, and nothing fault.
    // SAFETY: as many bytes are ours to write, since nobody else takes the copy.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    let Ok(bytes) = usize::try_from(read) else { return };
    let head = StackCopy::frame_head(rank, [instruction, stack, frame, code, begin as u64], bytes);
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
        let _ = table.control.exited(rank, status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_found_by_its_stack_by_its_guard_and_by_its_code() {
        let (_inbox, socket) = pmi::Inbox::pair().unwrap();
        let control = Arc::new(Control::new(socket));
        let code = Box::new([0x1_0000..0x1_1000, 0x2_0000..0x2_1000]);
        let table = Table { control, process: 0, stack_bytes: 8 << 20, code };
        let stacks = fabric_local::Stacks::new(2, 8 << 20).unwrap();
        let second = stacks.of(1);
        assert_eq!(table.rank_at(second.lowest(), 0), None, "this thread runs no rank yet");
        let _found = stacks.found_here();
        assert_eq!(table.rank_at(stacks.of(0).lowest(), 0), Some(0));
        assert_eq!(table.rank_at(second.lowest() + 5, 0), Some(1));
        // Below the second stack and above the first: the second has run over.
        assert_eq!(table.rank_at(second.lowest() - 1, 0), Some(1));
        assert_eq!(table.rank_at(8, 0x2_0fff), Some(1));
        assert_eq!(table.rank_at(8, 0x3_0000), None);
        assert_eq!((table.offset(1, 0x2_0008), table.offset(0, 0x2_0008)), (8, 0));
    }
}

//! One loaded copy of a program: a rank's own globals, and the way to run its `main`.
//!
//! Invariant: a copy stays loaded until the process ends. Threads that the program started, handlers of shared libraries
//! and destructors may run its code at any later time, so there is no moment at which unloading would be right.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use super::counters::Counters;
use super::error::LoadError;
use super::heap::{self, Heap};
use super::image::Image;

/// The descriptors of a rank's standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Where input comes from; `None` for no input at all.
    pub stdin: Option<RawFd>,
    /// Where output goes; `None` for the process's own stream.
    pub stdout: Option<RawFd>,
    /// Where errors go; `None` for the process's own stream.
    pub stderr: Option<RawFd>,
    /// Whether the two are those of all ranks, who write records there (`struct corelace_record` in `shim/corelace_program.h`).
    pub records: bool,
}

/// A loaded copy of a program.
#[derive(Debug)]
pub struct Program {
    rank: u32,
    image: Image,
    entry: unsafe extern "C-unwind" fn(*const Start) -> c_int,
    /// Where it was loaded; 0 if the dynamic linker does not tell.
    base: usize,
}

/// Same layout as `struct corelace_start` in `shim/corelace_program.h`.
#[repr(C)]
struct Start {
    version: u32,
    rank: i32,
    stdin_fd: i32,
    stdout_fd: i32,
    stderr_fd: i32,
    argc: i32,
    argv: *mut *mut c_char,
    envp: *mut *mut c_char,
    warned: *const std::sync::atomic::AtomicU32,
    heap: *const heap::Calls,
    fibers: u32,
    records: u32,
    counters: *const Counters,
}

const _: () = assert!(size_of::<Start>() == 72 && align_of::<Start>() == 8);

const VERSION: u32 = 5;

unsafe extern "C" {
    pub(super) static mut environ: *mut *mut c_char;
}

impl Program {
    /// Loads a copy of the program at `path` for `rank`. Many ranks of one program: open an [`Image`] once and use
    /// [`Program::from_image`].
    pub fn load(path: &Path, rank: u32) -> Result<Program, LoadError> {
        Program::from_image(&Image::open(path)?, rank)
    }

    /// Loads a copy of `image` for `rank`: runs the constructors of its statics, but not `main`.
    pub fn from_image(image: &Image, rank: u32) -> Result<Program, LoadError> {
        let (linked, file) = Linked::load(image, image.copy()?)?;
        if linked.base != 0 {
            // SAFETY: `file` is a copy of `image` that was just loaded; `base` is where, by the dynamic linker's word.
            unsafe { image.share_text(&file, linked.base) };
        }
        Ok(Program::new(image, rank, linked))
    }

    pub(super) fn new(image: &Image, rank: u32, linked: Linked) -> Program {
        let Linked { base, entry } = linked;
        if base != 0 {
            crate::module::note_copy(base..base + image.span(), image.full_path());
        }
        // SAFETY: the symbol is the shim's entry point, a function of this type (shim/entry.c).
        let entry = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn(*const Start) -> c_int>(entry)
        };
        Program { rank, image: image.clone(), entry, base }
    }

    /// The addresses of this copy.
    pub fn span(&self) -> Range<usize> {
        if self.base == 0 { 0..0 } else { self.base..self.base + self.image.span() }
    }

    /// Runs the program's `main` on the calling thread or fiber, then its exit handlers, and writes its streams out.
    /// Returns the exit status (0 to 255), also if the program called `exit` somewhere deep down.
    ///
    /// Consumes nothing but the right to run: a copy's `main` runs at most once, hence `self`. What it allocates is booked on
    /// `heap`, if there is one, and what it computes on `counters`. `fibers` says whether it shares its thread with other ranks.
    pub fn run_main(
        self,
        argv: &[CString],
        streams: Streams,
        heap: Option<Heap>,
        counters: Option<&'static Counters>,
        fibers: bool,
    ) -> Result<i32, LoadError> {
        let mut pointers: Vec<*mut c_char> =
            argv.iter().map(|argument| argument.clone().into_raw()).collect();
        let argc = pointers.len() as i32;
        pointers.push(std::ptr::null_mut());
        let start = Start {
            version: VERSION,
            rank: self.rank as i32,
            stdin_fd: streams.stdin.unwrap_or(-1),
            stdout_fd: streams.stdout.unwrap_or(-1),
            stderr_fd: streams.stderr.unwrap_or(-1),
            argc,
            // Leaked, as is the rest: threads and destructors of the program may look at it until the process ends.
            argv: pointers.leak().as_mut_ptr(),
            // SAFETY: a pointer-sized read; programs that change the environment while ranks start are warned by the shim.
            envp: unsafe { environ },
            warned: self.image.inner.warned,
            heap: heap.map_or(std::ptr::null(), Heap::into_calls),
            fibers: u32::from(fibers),
            records: u32::from(streams.records),
            counters: counters.map_or(std::ptr::null(), std::ptr::from_ref),
        };
        let start: &'static Start = Box::leak(Box::new(start));
        // SAFETY: `start` lives for ever and has the layout that the entry point of VERSION expects.
        match unsafe { (self.entry)(start) } {
            -1 => Err(LoadError::Version { path: self.image.path().into() }),
            status => Ok(status),
        }
    }
}

/// A program in memory: where it begins, 0 if the dynamic linker does not tell, and the way in.
#[derive(Debug)]
pub(super) struct Linked {
    pub base: usize,
    pub entry: *mut c_void,
}

impl Linked {
    /// Has the dynamic linker load `file`, which holds a copy of `image`. The file stays open for ever: the dynamic linker looks libraries up by
    /// name first, and a reused number would find this copy again.
    pub(super) fn load(image: &Image, file: File) -> Result<(Linked, ManuallyDrop<File>), LoadError> {
        let path = || image.path().to_path_buf();
        let name =
            CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("digits hold no zero byte");
        // SAFETY: loading runs the program's constructors. That is what the user asked for; they are as trusted as main.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            let message = linker_error().replace(name.to_str().unwrap(), "it");
            return Err(LoadError::Link { path: path(), message });
        }
        let file = ManuallyDrop::new(file);
        // SAFETY: `handle` was returned by dlopen; the name is a C string.
        let entry = unsafe { libc::dlsym(handle, c"corelace_program_main".as_ptr()) };
        if entry.is_null() {
            return Err(LoadError::NotDualUse { path: path(), reason: "it has no corelace_program_main" });
        }
        Ok((Linked { base: base_of(entry).unwrap_or(0), entry }, file))
    }
}

/// Where the library that contains `address` was loaded.
fn base_of(address: *mut c_void) -> Option<usize> {
    // SAFETY: all-zero bytes are a valid Dl_info (null pointers).
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is writable; any address may be asked about.
    (unsafe { libc::dladdr(address, &mut info) } != 0).then_some(info.dli_fbase as usize)
}

/// The dynamic linker's words about the last failure on this thread.
pub(super) fn linker_error() -> String {
    // SAFETY: dlerror returns null or a C string that stays valid until the next call on this thread.
    unsafe {
        let message = libc::dlerror();
        if message.is_null() {
            "unknown error".into()
        } else {
            CStr::from_ptr(message).to_string_lossy().into_owned()
        }
    }
}

//! What a program has for copies, read once and kept in a memfd, and the private copies made from it. It is a section of the program
//! ([`pmi::copies`]), or the whole file of one that was linked in a single form.
//!
//! Invariant: the image never changes after [`Image::open`], even if the file on disk is rebuilt while the job runs; the
//! read-only pages of every copy are mapped from it.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use super::elf::{self, Layout};
use super::error::LoadError;
use super::libraries::{self, SharedLibrary};

/// A program ready to be loaded any number of times. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Image {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    path: PathBuf,
    /// The same from the root, for who asks later.
    full_path: Arc<Path>,
    master: File,
    layout: Layout,
    /// Addresses that a copy need not have if the dynamic linker does not know it.
    pub(super) unread: Vec<Range<u64>>,
    /// Which warnings the ranks of this program have given; leaked, because a rank's code may run until the process ends.
    pub(super) warned: &'static AtomicU32,
}

impl Image {
    /// Reads the program. Fails if it is a script, for another machine, or an executable that can be loaded only once.
    pub fn open(path: &Path) -> Result<Image, LoadError> {
        let mut file = std::fs::read(path).map_err(|source| LoadError::Read { path: path.into(), source })?;
        let form = elf::section(&file, pmi::copies::SECTION).unwrap_or(0..file.len());
        let (program, bytes) = file[..form.end].split_at_mut(form.start);
        let layout = elf::layout(bytes).map_err(|found| LoadError::NotElf { path: path.into(), found })?;
        let refuse = |reason| Err(LoadError::NotDualUse { path: path.into(), reason });
        if layout.fixed {
            return refuse("it has a fixed address");
        }
        if layout.pie {
            return refuse("it is an ordinary executable");
        }
        // Who installs a program may change where it finds its libraries, in the executable alone (CMake does).
        elf::search_as(bytes, &layout, program);
        let length = layout.mapped_bytes.min(bytes.len() as u64);
        let master = memory_file()
            .and_then(|mut file| file.write_all(&bytes[..length as usize]).map(|()| file))
            .map_err(|source| LoadError::Copy { path: path.into(), bytes: length, source })?;
        let warned = Box::leak(Box::new(AtomicU32::new(0)));
        let unread = elf::unread_by_programs(bytes);
        let full_path = std::path::absolute(path).unwrap_or_else(|_| path.into()).into();
        Ok(Image { inner: Arc::new(Inner { path: path.into(), full_path, master, layout, unread, warned }) })
    }

    /// The path the image was read from.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The same, whatever the working directory is by then.
    pub(super) fn full_path(&self) -> &Arc<Path> {
        &self.inner.full_path
    }

    /// Bytes in memory of the code and constants, which copies share, and of the data that each has for itself.
    pub fn footprint(&self) -> (u64, u64) {
        let bytes = |writable| {
            let segments =
                self.inner.layout.segments.iter().filter(move |segment| segment.writable == writable);
            segments.map(|segment| segment.memory_bytes).fold(0, u64::saturating_add)
        };
        (bytes(false), bytes(true))
    }

    /// The run-time library of OpenMP that the program needs, if it does.
    pub fn openmp(&self) -> Option<&str> {
        libraries::openmp(&self.inner.layout.needed)
    }

    /// The libraries that the program needs and whose variables its copies share. To be asked after a copy was loaded.
    pub fn shared_libraries(&self) -> Vec<SharedLibrary> {
        libraries::with_variables(&self.inner.layout.needed)
    }

    /// Bytes from the first to the last of what a copy takes in memory.
    pub(super) fn span(&self) -> usize {
        let ends = self.inner.layout.segments.iter().map(|at| at.address.saturating_add(at.memory_bytes));
        ends.max().unwrap_or(0) as usize
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    /// The file that every copy is made from.
    pub(super) fn master(&self) -> &File {
        &self.inner.master
    }

    /// Why a copy could not be made.
    pub(super) fn no_copy(&self, source: io::Error) -> LoadError {
        let Inner { path, layout, .. } = &*self.inner;
        LoadError::Copy { path: path.clone(), bytes: layout.mapped_bytes, source }
    }

    /// Why there is no room for so many copies more.
    pub(super) fn no_room(&self, copies: usize, source: io::Error) -> LoadError {
        LoadError::Room { path: self.inner.path.clone(), copies, bytes: self.span(), source }
    }

    /// A copy whose constructors and destructors the dynamic linker does not see.
    pub(super) fn silenced(&self) -> Result<File, LoadError> {
        let make = || {
            let mut bytes = vec![0; self.inner.layout.mapped_bytes as usize];
            self.inner.master.read_exact_at(&mut bytes, 0)?;
            elf::silence(&mut bytes, &self.inner.layout);
            let mut file = memory_file()?;
            file.write_all(&bytes)?;
            Ok(file)
        };
        make().map_err(|source| self.no_copy(source))
    }

    /// A file of its own with the same contents: another inode, so that the dynamic linker takes it for another library.
    pub(super) fn copy(&self) -> Result<File, LoadError> {
        let bytes = self.inner.layout.mapped_bytes;
        let copy = || {
            let file = memory_file()?;
            let mut offset = 0;
            while (offset as u64) < bytes {
                // SAFETY: both descriptors are open files of ours; `offset` outlives the call.
                let sent = unsafe {
                    libc::sendfile(
                        file.as_raw_fd(),
                        self.inner.master.as_raw_fd(),
                        &mut offset,
                        (bytes - offset as u64) as usize,
                    )
                };
                match sent {
                    -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                    -1 => return Err(io::Error::last_os_error()),
                    0 => break,
                    _ => {}
                }
            }
            Ok(file)
        };
        copy().map_err(|source| self.no_copy(source))
    }

    /// Maps the read-only segments of a loaded copy from the image and gives the copy's own pages back.
    ///
    /// It only saves memory: where the kernel refuses, the copy goes on using its own pages.
    ///
    /// # Safety
    ///
    /// `file` must be a copy of this image that the dynamic linker has loaded at `base`.
    pub(super) unsafe fn share_text(&self, file: &File, base: usize) {
        let layout = &self.inner.layout;
        if layout.text_relocations {
            return;
        }
        let page = page_bytes();
        for segment in layout.segments.iter().filter(|segment| !segment.writable && segment.file_bytes > 0) {
            let start = segment.offset / page * page;
            let length = (segment.offset + segment.file_bytes - start).next_multiple_of(page);
            let address = base + (segment.address / page * page) as usize;
            let execute = if segment.executable { libc::PROT_EXEC } else { 0 };
            // SAFETY: by the caller's promise these pages hold a read-only segment of the copy, whose bytes equal the
            // image's; replacing them by the image's own is invisible to code that runs or reads there. The mapping
            // never reaches into a following segment: the linker gives segments of different protection pages of their own.
            let mapped = unsafe {
                libc::mmap(
                    address as *mut libc::c_void,
                    length as usize,
                    libc::PROT_READ | execute,
                    libc::MAP_PRIVATE | libc::MAP_FIXED,
                    self.inner.master.as_raw_fd(),
                    start as libc::off_t,
                )
            };
            if mapped != libc::MAP_FAILED {
                self.give_back(file, start, start + length, page);
            }
        }
    }

    /// Frees the pages `start..end` of a copy, except those that a writable segment maps too.
    fn give_back(&self, file: &File, start: u64, end: u64, page: u64) {
        let mut at = start;
        while at < end {
            let needed = self.inner.layout.segments.iter().any(|segment| {
                let first = segment.offset / page * page;
                segment.writable && (first..segment.offset + segment.file_bytes).contains(&at)
            });
            if !needed {
                // SAFETY: punching a hole into a file of ours; no mapping of these pages is left.
                unsafe {
                    libc::fallocate(
                        file.as_raw_fd(),
                        libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
                        at as libc::off_t,
                        page as libc::off_t,
                    )
                };
            }
            at += page;
        }
    }

    /// The image's bytes, for tests of what copies share.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> Vec<u8> {
        use std::io::{Read, Seek};
        let mut bytes = Vec::new();
        let mut master = &self.inner.master;
        master.rewind().unwrap();
        master.read_to_end(&mut bytes).unwrap();
        bytes
    }
}

/// `MFD_EXEC` of `linux/memfd.h`.
const MFD_EXEC: libc::c_uint = 0x10;

pub(super) fn memory_file() -> io::Result<File> {
    // Said in words, because the system may be set to the opposite (vm.memfd_noexec). Kernels before 6.3 do not know the word,
    // and let every such file be executed.
    // SAFETY: the name is a C string; the flags are constants.
    let create =
        |flags| unsafe { libc::memfd_create(c"corelace-program".as_ptr(), libc::MFD_CLOEXEC | flags) };
    let fd = match create(MFD_EXEC) {
        // Where the system refuses the word, it lets such files be mapped all the same.
        -1 if matches!(io::Error::last_os_error().raw_os_error(), Some(libc::EINVAL | libc::EACCES)) => {
            create(0)
        }
        fd => fd,
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { File::from_raw_fd(fd) })
}

pub(super) fn page_bytes() -> u64 {
    // SAFETY: sysconf has no preconditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

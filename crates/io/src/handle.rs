//! The system's file: opened by each rank for itself, so that locks of ranks in one process keep each other out as those of processes do.

use std::collections::hash_map::RandomState;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::mapping::{self, Mapping};
use crate::mode::Mode;

/// An open file of the system.
#[derive(Debug)]
pub(crate) struct Handle {
    file: File,
    name: String,
    /// What lies in gaps can be read.
    reads: bool,
    /// It is no pipe and no terminal.
    is_seekable: bool,
    /// The byte far behind all data whose lock says that there is one who writes without locks.
    announcement: u64,
    /// Parts of it can be had as memory.
    maps: bool,
    /// What threads of this rank have locked. The system gives its locks to an open file, so threads
    /// that have the same one would share them, and the first to unlock would unlock for all.
    held: Mutex<Vec<Range<u64>>>,
    released: Condvar,
}

/// Where announcements are, and no data.
const ANNOUNCEMENTS: Range<u64> = 1 << 62..(1 << 62) + (1 << 60);

impl Handle {
    /// Opens a file; `creates` for the first of its ranks only.
    pub fn open(name: &str, mode: &Mode, creates: bool) -> Result<Handle> {
        let open = |reads: bool| {
            let mut options = OpenOptions::new();
            options.read(reads).write(mode.writes);
            if creates && mode.creates {
                options.create_new(mode.exclusive).create(true);
            }
            options.open(name)
        };
        // What is written with gaps in between is read and written back, if the file can be read. A pipe has no gaps, and whoever reads it is another.
        let has_gaps = std::fs::metadata(name).map_or(true, |about| about.is_file());
        let opened = match open(mode.reads || has_gaps) {
            Ok(file) if !mode.reads && !has_gaps => Ok((file, false)),
            Err(error) if error.kind() == ErrorKind::PermissionDenied && !mode.reads => {
                open(false).map(|file| (file, false))
            }
            opened => opened.map(|file| (file, true)),
        };
        let (file, reads) = opened.map_err(|error| Error::of_system(name, "opening", &error))?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            return Err(Error::of_system(name, "opening", &io::Error::from_raw_os_error(libc::EISDIR)));
        }
        let is_seekable = (&file).stream_position().is_ok();
        let maps = reads && mapping::is_possible(&file);
        // No two have the same, as far as chance goes.
        let announcement = ANNOUNCEMENTS.start
            + RandomState::new().build_hasher().finish() % (ANNOUNCEMENTS.end - ANNOUNCEMENTS.start);
        let (name, held, released) = (name.to_owned(), Mutex::default(), Condvar::new());
        Ok(Handle { file, name, reads, is_seekable, announcement, maps, held, released })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn can_read(&self) -> bool {
        self.reads
    }

    /// Whether parts of it can be had as memory.
    pub fn can_map(&self) -> bool {
        self.maps
    }

    /// A part of it as memory, if that can be had.
    pub fn map(&self, part: &Range<u64>) -> Option<Mapping> {
        if self.maps { Mapping::new(&self.file, part) } else { None }
    }

    /// Reads until the memory is full or the file ends; how many bytes.
    pub fn read(&self, memory: &mut [u8], offset: u64) -> Result<usize> {
        let mut done = 0;
        while done < memory.len() {
            let into = &mut memory[done..];
            let read = if self.is_seekable {
                self.file.read_at(into, offset + done as u64)
            } else {
                (&self.file).read(into)
            };
            match read {
                Ok(0) => break,
                Ok(bytes) => done += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed("read", memory.len(), offset, &error)),
            }
        }
        Ok(done)
    }

    /// Writes all of the memory.
    pub fn write(&self, memory: &[u8], offset: u64) -> Result {
        let mut done = 0;
        while done < memory.len() {
            let from = &memory[done..];
            let written = if self.is_seekable {
                self.file.write_at(from, offset + done as u64)
            } else {
                (&self.file).write(from)
            };
            match written {
                Ok(0) => {
                    return Err(self.failed("write", memory.len(), offset, &ErrorKind::WriteZero.into()));
                }
                Ok(bytes) => done += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed("write", memory.len(), offset, &error)),
            }
        }
        Ok(())
    }

    fn failed(&self, what: &str, bytes: usize, offset: u64, error: &io::Error) -> Error {
        Error::of_system(&self.name, format_args!("{what} of {bytes} bytes at byte {offset}"), error)
    }

    pub fn size(&self) -> Result<u64> {
        let about = self.file.metadata();
        about.map(|about| about.len()).map_err(|error| Error::of_system(&self.name, "the size", &error))
    }

    pub fn set_size(&self, bytes: u64) -> Result {
        let what = format_args!("setting the size to {bytes} bytes");
        self.file.set_len(bytes).map_err(|error| Error::of_system(&self.name, what, &error))
    }

    /// Has the system find room for the first bytes of the file.
    pub fn preallocate(&self, bytes: u64) -> Result {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: a number of an open file, and numbers.
        let code = unsafe { libc::posix_fallocate(self.file.as_raw_fd(), 0, bytes as i64) };
        if code == 0 {
            return Ok(());
        }
        let error = io::Error::from_raw_os_error(code);
        Err(Error::of_system(&self.name, format_args!("preallocation of {bytes} bytes"), &error))
    }

    /// Everything that was written is on the disk when this returns.
    pub fn sync(&self) -> Result {
        match self.file.sync_all() {
            // A pipe or a terminal has nothing to bring to a disk.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            synced => synced.map_err(|error| Error::of_system(&self.name, "synchronisation", &error)),
        }
    }

    /// Keeps others out of a part of the file who ask for it, other threads with this handle too,
    /// until what this returns is dropped, or the process ends in whatever way.
    pub fn lock(&self, range: &Range<u64>, exclusive: bool) -> Result<Locked<'_>> {
        let kind = if exclusive { libc::F_WRLCK } else { libc::F_RDLCK };
        let mut held = self.held();
        while held.iter().any(|other| other.start < range.end && range.start < other.end) {
            held = self.released.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        held.push(range.clone());
        drop(held);
        let locked = Locked { handle: self, range: range.clone() };
        // One who may not read cannot share, and one who may not write cannot exclude.
        self.set_lock(range, kind).map_err(|error| {
            let what = format_args!("lock of bytes {} to {}", range.start, range.end);
            Error::of_system(&self.name, what, &error)
        })?;
        Ok(locked)
    }

    fn held(&self) -> MutexGuard<'_, Vec<Range<u64>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that this one writes without locks from now on, so that nobody writes gaps back, and waits for those who are just doing so. Where the
    /// system has no locks nobody does it, either.
    pub fn announce(&self) {
        let data = 0..ANNOUNCEMENTS.start;
        // Those who announce do not wait for each other, if the system lets them share a lock.
        if self.set_lock(&self.own_announcement(), libc::F_WRLCK).is_ok() {
            drop(self.lock(&data, !self.reads));
        }
    }

    /// Takes that back.
    pub fn recall(&self) {
        let _ = self.set_lock(&self.own_announcement(), libc::F_UNLCK);
    }

    fn own_announcement(&self) -> Range<u64> {
        self.announcement..self.announcement + 1
    }

    /// Whether somebody has announced that.
    pub fn others_write_without_locks(&self) -> bool {
        let mut found = flock(&ANNOUNCEMENTS, libc::F_WRLCK);
        // SAFETY: a number of an open file, and a description of a lock that lives as long as the call, which changes it.
        let code = unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut found) };
        code != 0 || found.l_type != libc::F_UNLCK as i16
    }

    fn set_lock(&self, range: &Range<u64>, kind: i32) -> io::Result<()> {
        loop {
            let lock = flock(range, kind);
            // SAFETY: a number of an open file, and a description of a lock that lives as long as the call. Locks of this kind belong to the open file
            // and not to the process, so that two ranks in one process keep each other out.
            let code = unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const lock) };
            if code == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// A lock, as the system wants it described.
fn flock(range: &Range<u64>, kind: i32) -> libc::flock {
    libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: range.start as i64,
        l_len: (range.end - range.start) as i64,
        l_pid: 0,
    }
}

/// A part of a file that others are kept out of.
pub(crate) struct Locked<'a> {
    handle: &'a Handle,
    range: Range<u64>,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // It was locked a moment ago; if the system has lost the file since, there is no lock either.
        let _ = self.handle.set_lock(&self.range, libc::F_UNLCK);
        let mut held = self.handle.held();
        if let Some(place) = held.iter().position(|range| *range == self.range) {
            held.swap_remove(place);
        }
        self.handle.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn threads_with_one_handle_keep_each_other_out_of_what_they_lock() {
        let name = std::env::temp_dir().join(format!("corelace-lock-{}", std::process::id()));
        let mut file = OpenOptions::new();
        let file = file.read(true).write(true).create(true).truncate(true).open(&name).expect("a file");
        std::fs::remove_file(&name).expect("it was made");
        let handle = Handle {
            file,
            name: "a file".into(),
            reads: true,
            is_seekable: true,
            announcement: ANNOUNCEMENTS.start,
            maps: false,
            held: Mutex::default(),
            released: Condvar::new(),
        };
        let count = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (handle, count) = (&handle, &count);
                scope.spawn(move || {
                    for _ in 0..500 {
                        // All of these have byte 2 in common.
                        let _locked = handle.lock(&(thread..thread + 3), true).expect("a lock");
                        let before = count.load(Ordering::Relaxed);
                        std::thread::yield_now();
                        count.store(before + 1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 1500);
        assert_eq!(*handle.held(), []);
    }
}

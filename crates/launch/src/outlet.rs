//! The launcher's own standard output and standard error: written whenever somebody reads them, never waited for.
//!
//! What cannot be written at once stays in a queue. The event loop asks [`Outlet::is_full`] before it reads more from a rank, so a
//! queue is bounded and a rank waits for a slow reader as it would without a launcher, while the launcher itself waits for nothing.
//!
//! Invariant: no `write` here blocks. The flag that makes writes non-blocking belongs to the open file, which other processes share (a
//! shell and its terminal), so it is never set on what was inherited: pipes and terminals are opened once more, and what cannot
//! be is asked by `poll` first and given at most as much as a pipe that has room takes. Regular files do not block.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// Bytes in the queue from which on no more is taken from ranks.
const FULL: usize = 256 << 10;
/// Bytes in the queue from which on more is taken again.
const ROOMY: usize = FULL / 4;
/// What a pipe that `poll` calls writable takes without blocking.
const PIPE_BUF: usize = 4096;

/// Who has written to an outlet: one of the streams, or the launcher.
pub(crate) type Writer = u32;
/// The launcher itself.
pub(crate) const LAUNCHER: Writer = Writer::MAX;

/// One output of the launcher.
#[derive(Debug)]
pub(crate) struct Outlet {
    file: OwnedFd,
    /// Ask before writing: the file may block.
    ask: bool,
    queue: Vec<u8>,
    /// How much of the queue's beginning is written.
    written: usize,
    /// Who has begun the line that is not ended yet.
    open_line: Option<Writer>,
    failure: Option<Errno>,
}

impl Outlet {
    /// An outlet over an inherited descriptor.
    pub(crate) fn over(inherited: BorrowedFd<'_>) -> Result<Outlet, Errno> {
        let kind = rustix::fs::fstat(inherited).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let (file, ask) = match kind? {
            FileType::RegularFile => (rustix::io::fcntl_dupfd_cloexec(inherited, 3)?, false),
            _ => match reopened(inherited) {
                Ok(own) => (own, false),
                Err(_) => (rustix::io::fcntl_dupfd_cloexec(inherited, 3)?, true),
            },
        };
        Ok(Outlet { file, ask, queue: Vec::new(), written: 0, open_line: None, failure: None })
    }

    /// Takes text of a writer and writes what can be written now. Another writer's unfinished line is ended first.
    pub(crate) fn put(&mut self, writer: Writer, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        if self.open_line.is_some_and(|owner| owner != writer) {
            self.queue.push(b'\n');
        }
        self.open_line = (*last != b'\n').then_some(writer);
        self.queue.extend_from_slice(bytes);
        self.flush();
    }

    /// Takes text that comes and goes, such as a live line; dropped if the reader is slow.
    pub(crate) fn overlay(&mut self, bytes: &[u8]) {
        if !self.is_waiting() && self.open_line.is_none() {
            self.queue.extend_from_slice(bytes);
            self.flush();
        }
    }

    /// Whether the last line is unfinished and this writer's.
    pub(crate) fn line_is_open_by(&self, writer: Writer) -> bool {
        self.open_line == Some(writer)
    }

    /// A person at the terminal has ended the unfinished line by typing one.
    pub(crate) fn line_was_ended(&mut self) {
        self.open_line = None;
    }

    /// Writes as much as the reader takes.
    pub(crate) fn flush(&mut self) {
        while self.is_waiting() {
            let mut rest = &self.queue[self.written..];
            if self.ask {
                if !is_writable(&self.file) {
                    break;
                }
                rest = &rest[..rest.len().min(PIPE_BUF)];
            }
            match rustix::io::write(&self.file, rest) {
                Ok(written) => self.written += written,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => {
                    self.failure.get_or_insert(error);
                    self.written = self.queue.len();
                }
            }
        }
        if !self.is_waiting() {
            self.queue.clear();
            self.queue.shrink_to(FULL);
            self.written = 0;
        } else if self.written > FULL {
            self.queue.drain(..self.written);
            self.written = 0;
        }
    }

    /// Whether something waits for the reader.
    pub(crate) fn is_waiting(&self) -> bool {
        self.written < self.queue.len()
    }

    /// Whether so much waits that no more may be taken from ranks.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() - self.written >= FULL
    }

    /// Whether more may be taken from ranks again.
    pub(crate) fn is_roomy(&self) -> bool {
        self.queue.len() - self.written <= ROOMY
    }

    /// Why nothing can be written any more. What is put afterwards is dropped.
    pub(crate) fn failure(&self) -> Option<Errno> {
        self.failure
    }
}

impl AsFd for Outlet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The same pipe or terminal once more, with an open file of its own that can be made non-blocking. Sockets have no such way.
fn reopened(inherited: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", inherited.as_raw_fd());
    rustix::fs::open(
        path,
        OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

fn is_writable(file: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(file, PollFlags::OUT)];
    poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// Standard output and standard error, which are one outlet where they lead to the same place.
#[derive(Debug)]
pub(crate) struct Outlets {
    all: Vec<Outlet>,
    error: usize,
}

impl Outlets {
    pub(crate) fn of_this_process() -> Outlets {
        let (out, error) = (rustix::stdio::stdout(), rustix::stdio::stderr());
        // A daemon may have closed either: what nobody can read goes nowhere.
        let nowhere = || {
            let null = rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
            Outlet::over(null.expect("/dev/null can be opened").as_fd()).expect("/dev/null can be written")
        };
        let place = |file: BorrowedFd<'_>| {
            rustix::fs::fstat(file).ok().map(|stat| (stat.st_dev, stat.st_ino, stat.st_rdev))
        };
        let mut all = vec![Outlet::over(out).unwrap_or_else(|_| nowhere())];
        let shared = place(out).is_some() && place(out) == place(error);
        if !shared {
            all.push(Outlet::over(error).unwrap_or_else(|_| nowhere()));
        }
        Outlets { error: all.len() - 1, all }
    }

    /// Which one standard output is, and which standard error.
    pub(crate) fn stdout(&self) -> usize {
        0
    }

    /// See [`Outlets::stdout`].
    pub(crate) fn stderr(&self) -> usize {
        self.error
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// What the launcher itself has to say.
    pub(crate) fn say(&mut self, message: &str) {
        let lines: String = pmi::visible(message).lines().map(|line| format!("corelace: {line}\n")).collect();
        self.all[self.error].put(LAUNCHER, lines.as_bytes());
    }
}

impl std::ops::Index<usize> for Outlets {
    type Output = Outlet;

    fn index(&self, index: usize) -> &Outlet {
        &self.all[index]
    }
}

impl std::ops::IndexMut<usize> for Outlets {
    fn index_mut(&mut self, index: usize) -> &mut Outlet {
        &mut self.all[index]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    /// An outlet into a pipe, and the pipe's other end.
    pub(crate) fn outlet() -> (Outlet, OwnedFd) {
        let (check, output) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        rustix::fs::fcntl_setfl(&check, OFlags::NONBLOCK).unwrap();
        (Outlet::over(output.as_fd()).unwrap(), check)
    }

    /// Everything that has come out.
    pub(crate) fn seen(check: &OwnedFd) -> Vec<u8> {
        let (mut all, mut room) = (Vec::new(), [0; 4096]);
        while let Ok(read @ 1..) = rustix::io::read(check, &mut room) {
            all.extend_from_slice(&room[..read]);
        }
        all
    }

    #[test]
    fn nothing_blocks_while_nobody_reads_and_nothing_is_lost_when_somebody_does() {
        for ask in [false, true] {
            let (mut outlet, check) = outlet();
            if ask {
                // As for a socket: the inherited file itself, which blocks.
                rustix::fs::fcntl_setfl(&outlet.file, OFlags::empty()).unwrap();
                outlet.ask = true;
            }
            let line = [b'x'; 999];
            let mut sent = Vec::new();
            while !outlet.is_full() {
                outlet.put(1, &line);
                sent.extend_from_slice(&line);
            }
            assert!(outlet.is_waiting() && !outlet.is_roomy());
            let mut got = Vec::new();
            while got.len() < sent.len() {
                let now = seen(&check);
                assert!(!now.is_empty(), "stuck after {} of {} bytes", got.len(), sent.len());
                got.extend(now);
                outlet.flush();
            }
            assert_eq!(got, sent);
            assert!(!outlet.is_waiting() && outlet.is_roomy() && outlet.failure().is_none());
        }
    }

    #[test]
    fn the_flags_of_an_inherited_pipe_stay_as_they_are() {
        let (_check, output) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let before = rustix::fs::fcntl_getfl(&output).unwrap();
        let outlet = Outlet::over(output.as_fd()).unwrap();
        assert!(rustix::fs::fcntl_getfl(&outlet).unwrap().contains(OFlags::NONBLOCK));
        assert_eq!(rustix::fs::fcntl_getfl(&output).unwrap(), before);
    }

    #[test]
    fn an_unfinished_line_is_ended_only_where_another_writer_follows() {
        let (mut outlet, check) = outlet();
        outlet.put(1, b"one");
        outlet.put(1, b" and a half");
        outlet.put(2, b"two\n");
        outlet.put(LAUNCHER, b"three\n");
        outlet.put(2, b"four");
        assert_eq!(seen(&check), b"one and a half\ntwo\nthree\nfour");
        outlet.line_was_ended();
        outlet.put(1, b"five");
        assert_eq!(seen(&check), b"five");
    }

    #[test]
    fn a_reader_that_went_away_is_known_and_costs_no_memory() {
        let (mut outlet, check) = outlet();
        drop(check);
        // A process that another test is just starting has the reading end, too, until it is another program.
        poll(&mut [PollFd::new(&outlet, PollFlags::empty())], None).unwrap();
        outlet.put(1, b"x");
        assert_eq!(outlet.failure(), Some(Errno::PIPE));
        outlet.put(1, &[b'y'; 5000]);
        assert!(!outlet.is_waiting());
    }
}

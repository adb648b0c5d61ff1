//! Standard input for the ranks, where it cannot simply be handed on: from a terminal, or to all ranks.
//!
//! Invariant: a piece is read only when every rank has taken the one before it, and no write waits. A rank that does not read holds
//! up the others that get the same input, and nothing else.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

/// At most a line of a terminal.
const PIECE: usize = 4096;

/// The pipes of those ranks that are fed by the launcher.
#[derive(Debug, Default)]
pub(crate) struct Input {
    sinks: Vec<Sink>,
    piece: Vec<u8>,
}

#[derive(Debug)]
struct Sink {
    pipe: Option<OwnedFd>,
    taken: usize,
}

impl Input {
    /// One more rank that gets what comes, through the writing end of a pipe that nobody else writes to.
    pub(crate) fn feed(&mut self, pipe: OwnedFd) -> Result<(), Errno> {
        rustix::fs::fcntl_setfl(&pipe, rustix::fs::OFlags::NONBLOCK)?;
        self.sinks.push(Sink { pipe: Some(pipe), taken: 0 });
        Ok(())
    }

    /// Whether there is anybody to feed.
    pub(crate) fn is_open(&self) -> bool {
        self.sinks.iter().any(|sink| sink.pipe.is_some())
    }

    /// Whether the next piece may be read.
    pub(crate) fn is_hungry(&self) -> bool {
        self.is_open() && self.piece.is_empty()
    }

    /// Reads the next piece and hands it on. True if it ends with a line; at the end of the input the ranks see an end, too.
    pub(crate) fn read(&mut self, source: BorrowedFd<'_>) -> bool {
        let mut room = [0; PIECE];
        match rustix::io::read(source, &mut room) {
            Err(Errno::INTR | Errno::AGAIN) => false,
            Ok(0) | Err(_) => {
                self.sinks.clear();
                false
            }
            Ok(read) => {
                self.piece.extend_from_slice(&room[..read]);
                self.hand_on();
                room[read - 1] == b'\n'
            }
        }
    }

    /// Gives every rank what its pipe takes.
    pub(crate) fn hand_on(&mut self) {
        for sink in &mut self.sinks {
            while let Some(pipe) = sink.pipe.as_ref().filter(|_| sink.taken < self.piece.len()) {
                match rustix::io::write(pipe, &self.piece[sink.taken..]) {
                    Ok(written) => sink.taken += written,
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => break,
                    // It reads no more.
                    Err(_) => sink.pipe = None,
                }
            }
        }
        if self.waiting().next().is_none() {
            self.piece.clear();
            self.sinks.iter_mut().for_each(|sink| sink.taken = 0);
        }
    }

    /// The pipes that are full, and their numbers.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        let behind = self.sinks.iter().enumerate().filter(|(_, sink)| sink.taken < self.piece.len());
        behind.filter_map(|(index, sink)| Some((index, sink.pipe.as_ref()?.as_fd())))
    }

    /// The pipe of this number.
    pub(crate) fn pipe(&self, index: usize) -> Option<BorrowedFd<'_>> {
        Some(self.sinks.get(index)?.pipe.as_ref()?.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;
    use crate::outlet::tests::seen;

    #[test]
    fn everybody_gets_everything_and_a_full_pipe_only_stops_the_reading() {
        let mut input = Input::default();
        let pipe = || pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        let ((slow, into_slow), (gone, into_gone), (source, into_source)) = (pipe(), pipe(), pipe());
        let fill = vec![b'.'; 1 << 20];
        let before = rustix::io::write(&into_slow, &fill).unwrap();
        input.feed(into_slow).unwrap();
        input.feed(into_gone).unwrap();
        drop(gone);
        std::fs::File::from(into_source).write_all(b"hello\n").unwrap();
        assert!(input.is_hungry());
        assert!(input.read(source.as_fd()));
        assert!(input.is_open() && !input.is_hungry());
        assert_eq!(input.waiting().map(|(index, _)| index).collect::<Vec<_>>(), [0]);
        assert_eq!(seen(&slow).len(), before);
        input.hand_on();
        assert_eq!(seen(&slow), b"hello\n");
        assert!(input.is_hungry());
        // A process that another test is starting may have the end of the pipe for a moment.
        let mut ended = [rustix::event::PollFd::new(&source, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut ended, None).unwrap();
        assert!(!input.read(source.as_fd()));
        assert!(!input.is_open());
    }
}

//! The pipes that output of ranks comes through: one rank's, or, of many ranks in one process, one of all of them.
//!
//! A pipe of many carries records, each written by one call of at most `PIPE_BUF` bytes and so never torn:
//!
//! ```text
//!   | rank, 4 bytes | length, 4 bytes | so many bytes that the rank has written |      in the byte order of the machine
//! ```
//!
//! Invariant: what a rank writes reaches its own [`Voice`] in the order in which it was written, whichever pipe it came through.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use crate::forward::Voice;
use crate::outlet::{Outlet, Writer};

/// Bytes before each record; the same layout as `struct corelace_record` in `shim/corelace_program.h`.
const HEAD: usize = 8;

/// A pipe and who speaks through it.
#[derive(Debug)]
pub(crate) struct Stream {
    /// None once it has ended.
    pipe: Option<OwnedFd>,
    speakers: Speakers,
}

#[derive(Debug)]
enum Speakers {
    One(Voice),
    /// One a rank, and the beginning of a record whose end has not been read.
    Many {
        voices: Vec<Voice>,
        begun: Vec<u8>,
    },
}

/// What a call of [`Stream::pump`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pumped {
    /// Something; there may be more.
    Open,
    /// Nothing now.
    Dry,
    /// The last writer is gone.
    Ended,
}

impl Stream {
    /// A stream of one speaker that reads the non-blocking `pipe`.
    pub(crate) fn of_one(pipe: OwnedFd, voice: Voice) -> Stream {
        Stream { pipe: Some(pipe), speakers: Speakers::One(voice) }
    }

    /// A stream of records of ranks, whose voices are `voices`.
    pub(crate) fn of_many(pipe: OwnedFd, voices: Vec<Voice>) -> Stream {
        Stream { pipe: Some(pipe), speakers: Speakers::Many { voices, begun: Vec::new() } }
    }

    /// How many speak through it.
    pub(crate) fn speakers(&self) -> usize {
        self.voices().len()
    }

    /// Says that its speakers are those from `first` on of so many. A rank that is alone may mix its outputs as it likes.
    pub(crate) fn among(&mut self, first: usize, all: usize, alone: bool) {
        for (index, voice) in self.voices_mut().iter_mut().enumerate() {
            voice.among((first + index) as Writer, all, alone);
        }
    }

    /// Reads once what there is and puts what can be shown. `room` is scratch space.
    pub(crate) fn pump(&mut self, room: &mut [u8], outlet: &mut Outlet) -> Pumped {
        let Some(pipe) = &self.pipe else { return Pumped::Ended };
        match rustix::io::read(pipe, &mut *room) {
            Err(Errno::AGAIN | Errno::INTR) => Pumped::Dry,
            Ok(0) | Err(_) => {
                self.show_pending(outlet);
                Pumped::Ended
            }
            Ok(read) => {
                let bytes = &room[..read];
                match &mut self.speakers {
                    Speakers::One(voice) => voice.take(bytes, outlet),
                    Speakers::Many { voices, begun } => hand_out(bytes, begun, voices, outlet),
                }
                Pumped::Open
            }
        }
    }

    /// True if the first of its speakers has begun a line and not ended it.
    pub(crate) fn has_prompt(&self) -> bool {
        self.voices().first().is_some_and(Voice::has_pending)
    }

    /// Shows that line, whose end may only come after an answer.
    pub(crate) fn show_prompt(&mut self, outlet: &mut Outlet) {
        if let Some(first) = self.voices_mut().first_mut() {
            first.show_pending(outlet);
        }
    }

    fn show_pending(&mut self, outlet: &mut Outlet) {
        self.voices_mut().iter_mut().for_each(|voice| voice.show_pending(outlet));
    }

    /// Shows the beginnings of lines whose ends will never come, and closes the pipe.
    pub(crate) fn end(&mut self, outlet: &mut Outlet) {
        self.show_pending(outlet);
        self.pipe = None;
    }

    /// The pipe, until the stream has ended.
    pub(crate) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    fn voices(&self) -> &[Voice] {
        match &self.speakers {
            Speakers::One(voice) => std::slice::from_ref(voice),
            Speakers::Many { voices, .. } => voices,
        }
    }

    fn voices_mut(&mut self) -> &mut [Voice] {
        match &mut self.speakers {
            Speakers::One(voice) => std::slice::from_mut(voice),
            Speakers::Many { voices, .. } => voices,
        }
    }
}

/// Gives each whole record to its rank and keeps the rest. A record that names no rank is nobody's (a program may write to any descriptor).
fn hand_out(bytes: &[u8], begun: &mut Vec<u8>, voices: &mut [Voice], outlet: &mut Outlet) {
    let before = std::mem::take(begun);
    let joined;
    let mut rest = if before.is_empty() {
        bytes
    } else {
        joined = [&before, bytes].concat();
        &joined
    };
    while let Some((head, body)) = rest.split_first_chunk::<HEAD>() {
        let [a, b, c, d, length @ ..] = *head;
        let rank = u32::from_ne_bytes([a, b, c, d]) as usize;
        let length = u32::from_ne_bytes(length) as usize;
        let Some((text, next)) = body.split_at_checked(length) else { break };
        if let Some(voice) = voices.get_mut(rank) {
            voice.take(text, outlet);
        }
        rest = next;
    }
    begun.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;
    use crate::forward::Dress;
    use crate::outlet::tests::{outlet, seen};

    fn tagged(rank: u32) -> Voice {
        Voice::new(Dress { tag: Some(rank), ..Dress::default() })
    }

    fn record(rank: u32, text: &[u8]) -> Vec<u8> {
        [&rank.to_ne_bytes()[..], &(text.len() as u32).to_ne_bytes(), text].concat()
    }

    #[test]
    fn pumping_ends_with_the_last_writer() {
        let (ours, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        let (mut stream, (mut outlet, check)) =
            (Stream::of_one(ours, Voice::new(Dress::default())), outlet());
        let mut room = [0; 64];
        assert_eq!(stream.pump(&mut room, &mut outlet), Pumped::Dry);
        rustix::io::write(&writer, b"one\ntwo").unwrap();
        assert_eq!(stream.pump(&mut room, &mut outlet), Pumped::Open);
        drop(writer);
        assert_eq!(stream.pump(&mut room, &mut outlet), Pumped::Ended);
        assert_eq!(seen(&check), b"one\ntwo");
    }

    #[test]
    fn records_read_in_pieces_of_any_size_reach_their_ranks_line_by_line() {
        let text = [
            record(0, b"zero: begun"),
            record(2, b"two\n"),
            record(1, b""),
            record(0, b", ended\nand"),
            record(9, b"nobody's\n"),
            record(1, b"one\n"),
        ]
        .concat();
        for size in 1..text.len() {
            let (ours, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
            let mut stream = Stream::of_many(ours, (0..3).map(tagged).collect());
            stream.among(5, 8, false);
            let ((mut outlet, check), mut room) = (outlet(), vec![0; size]);
            rustix::io::write(&writer, &text).unwrap();
            drop(writer);
            while stream.pump(&mut room, &mut outlet) != Pumped::Ended {}
            let shown = "[2] two\n[0] zero: begun, ended\n[1] one\n[0] and";
            assert_eq!(String::from_utf8_lossy(&seen(&check)), shown, "{size} bytes at a time");
        }
    }

    #[test]
    fn the_prompt_is_that_of_the_first_speaker_only() {
        let (ours, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        let mut stream = Stream::of_many(ours, (0..2).map(tagged).collect());
        stream.among(0, 2, false);
        let ((mut outlet, check), mut room) = (outlet(), [0; 64]);
        rustix::io::write(&writer, &record(1, b"half")).unwrap();
        stream.pump(&mut room, &mut outlet);
        assert!(!stream.has_prompt());
        rustix::io::write(&writer, &record(0, b"name? ")).unwrap();
        stream.pump(&mut room, &mut outlet);
        assert!(stream.has_prompt());
        stream.show_prompt(&mut outlet);
        assert_eq!(seen(&check), b"[0] name? ");
    }
}

//! Lines of many ranks on one output, none of them torn.
//!
//! Invariant: what reaches the output is always a whole number of lines of one rank, written by one call; a line waits,
//! however long it gets, until its newline or the end of its stream is there (a prompt of rank 0 on a terminal is the one
//! exception). A last line without a newline gets one, for
//! the next rank's text must not continue it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// One output stream of one rank.
#[derive(Debug)]
pub(crate) struct Stream {
    pipe: OwnedFd,
    tag: Option<String>,
    /// The beginning of a line whose end has not arrived.
    pending: Vec<u8>,
    /// The beginning of the current line has been shown already.
    begun: bool,
}

/// What a call of [`Stream::pump`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pumped {
    /// There may be more later.
    Open,
    /// The last writer is gone.
    Ended,
    /// Nobody reads the launcher's output any more.
    Refused,
}

impl Stream {
    /// A stream that reads the non-blocking `pipe`; `tag` is the rank to name before each line.
    pub(crate) fn new(pipe: OwnedFd, tag: Option<u32>) -> Stream {
        Stream { pipe, tag: tag.map(|rank| format!("[{rank}] ")), pending: Vec::new(), begun: false }
    }

    /// Reads once what there is and writes the lines that are complete. `room` is scratch space.
    pub(crate) fn pump(&mut self, room: &mut [u8], output: &impl AsFd) -> Pumped {
        let read = match rustix::io::read(&self.pipe, &mut *room) {
            Err(Errno::AGAIN | Errno::INTR) => return Pumped::Open,
            Ok(0) | Err(_) => {
                let last = self.finish();
                return if write_whole(output, &last) { Pumped::Ended } else { Pumped::Refused };
            }
            Ok(read) => read,
        };
        let lines = self.lines(&room[..read]);
        if write_whole(output, &lines) { Pumped::Open } else { Pumped::Refused }
    }

    /// True if a line has begun and not ended.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Shows the beginning of a line whose end may only come after an answer: a prompt. The rest of the line follows
    /// without a tag.
    pub(crate) fn show_pending(&mut self, output: &impl AsFd) {
        let begun = std::mem::take(&mut self.pending);
        let begun = self.tagged(begun);
        self.begun = true;
        write_whole(output, &begun);
    }

    /// The person has ended the shown line by typing one of their own: what follows is a new line.
    pub(crate) fn answered(&mut self) {
        self.begun = false;
    }

    /// Writes the unfinished line of a stream that is given up although somebody still holds its other end.
    pub(crate) fn close(&mut self, output: &impl AsFd) {
        let last = self.finish();
        write_whole(output, &last);
    }

    /// Takes `bytes` in; returns the lines that they complete.
    fn lines(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Some(last) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            self.pending.extend_from_slice(bytes);
            return Vec::new();
        };
        let mut whole = std::mem::take(&mut self.pending);
        whole.extend_from_slice(&bytes[..=last]);
        self.pending.extend_from_slice(&bytes[last + 1..]);
        self.tagged(whole)
    }

    /// The unfinished line, finished.
    fn finish(&mut self) -> Vec<u8> {
        if self.pending.is_empty() {
            return Vec::new();
        }
        let mut line = std::mem::take(&mut self.pending);
        line.push(b'\n');
        self.tagged(line)
    }

    fn tagged(&mut self, lines: Vec<u8>) -> Vec<u8> {
        let continued = std::mem::take(&mut self.begun);
        let Some(tag) = &self.tag else { return lines };
        let mut tagged = Vec::with_capacity(lines.len() + tag.len());
        for (index, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
            if index > 0 || !continued {
                tagged.extend_from_slice(tag.as_bytes());
            }
            tagged.extend_from_slice(line);
        }
        tagged
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Writes everything, waiting where the output is slow (it may be non-blocking: that is a property of the open file, which
/// other processes share). False if nobody reads any more.
pub(crate) fn write_whole(output: &impl AsFd, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match rustix::io::write(output, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                _ = poll(&mut [PollFd::new(output, PollFlags::OUT)], None);
            }
            Err(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    fn stream(tag: Option<u32>) -> (Stream, OwnedFd) {
        let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        (Stream::new(ours, tag), theirs)
    }

    #[test]
    fn a_line_waits_for_its_end() {
        let (mut stream, _writer) = stream(None);
        assert_eq!(stream.lines(b"hel"), b"");
        assert_eq!(stream.lines(b"lo\nwor"), b"hello\n");
        assert_eq!(stream.finish(), b"wor\n");
        assert_eq!(stream.finish(), b"");
    }

    #[test]
    fn every_line_gets_the_tag_also_empty_ones() {
        let (mut stream, _writer) = stream(Some(12));
        assert_eq!(stream.lines(b"a\n\nb"), b"[12] a\n[12] \n");
        assert_eq!(stream.finish(), b"[12] b\n");
    }

    #[test]
    fn a_prompt_is_shown_before_its_line_ends_and_tagged_once() {
        let (mut stream, _writer) = stream(Some(0));
        let (check, output) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        assert_eq!(stream.lines(b"name? "), b"");
        assert!(stream.has_pending());
        stream.show_pending(&output);
        let mut room = [0; 64];
        let read = rustix::io::read(&check, &mut room).unwrap();
        assert_eq!(&room[..read], b"[0] name? ");
        assert_eq!(stream.lines(b"ok\nnext\n"), b"ok\n[0] next\n");
    }

    #[test]
    fn pumping_ends_with_the_last_writer() {
        let (mut stream, writer) = stream(None);
        let (check, output) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        let mut room = [0; 64];
        assert_eq!(stream.pump(&mut room, &output), Pumped::Open);
        rustix::io::write(&writer, b"one\ntwo").unwrap();
        assert_eq!(stream.pump(&mut room, &output), Pumped::Open);
        drop(writer);
        assert_eq!(stream.pump(&mut room, &output), Pumped::Ended);
        let read = rustix::io::read(&check, &mut room).unwrap();
        assert_eq!(&room[..read], b"one\ntwo\n");
        drop(check);
        assert!(!write_whole(&output, b"x"));
    }

    proptest! {
        #[test]
        fn text_in_pieces_of_any_size_comes_out_whole(text in "[ab\n]{0,60}", cuts in prop::collection::vec(1usize..9, 0..60)) {
            let (mut stream, _writer) = stream(None);
            let (mut rest, mut out) = (text.as_bytes(), Vec::new());
            for cut in cuts.into_iter().chain([60]) {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                let lines = stream.lines(now);
                prop_assert!(lines.is_empty() || lines.ends_with(b"\n"));
                out.extend(lines);
                rest = later;
            }
            out.extend(stream.finish());
            let mut expected = text.into_bytes();
            if expected.last().is_some_and(|byte| *byte != b'\n') {
                expected.push(b'\n');
            }
            prop_assert_eq!(out, expected);
        }
    }
}

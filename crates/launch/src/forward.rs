//! Lines of many ranks on one output, none of them torn, and bytes of one rank as they are.
//!
//! Invariant: a rank that is alone in its job is passed through byte by byte. Of several ranks whole lines are put, each by one call; a
//! line waits for its newline until it is longer than its share of [`HELD`] (or a prompt of rank 0 on a terminal). What is put before
//! its newline keeps its line open: the rest follows on the same line, unless another writer has come between, and a newline is
//! added only then. So the output of a job of which one rank prints is exactly what that rank printed, newlines at the end included
//! or not.

use std::fs::File;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::outlet::{Outlet, Writer};

/// Bytes of unfinished lines that the launcher holds, of all streams together.
const HELD: usize = 64 << 20;
/// Bytes of an unfinished line that are held at least, and at most.
const LINE: (usize, usize) = (64 << 10, 1 << 20);

/// How the lines of a stream begin, and where else they go.
#[derive(Debug, Default)]
pub(crate) struct Dress {
    /// `[rank] `, if lines are tagged.
    pub tag: Option<u32>,
    /// Whether lines begin with the time.
    pub time: bool,
    /// A file that gets the same bytes, undressed.
    pub copy: Option<File>,
}

/// One output of one rank, standard output or standard error.
#[derive(Debug)]
pub(crate) struct Voice {
    writer: Writer,
    dress: Dress,
    /// Bytes of an unfinished line that are held back; 0 to pass everything on as it comes.
    patience: usize,
    /// The beginning of a line whose end has not arrived.
    pending: Vec<u8>,
}

impl Voice {
    pub(crate) fn new(dress: Dress) -> Voice {
        Voice { writer: 0, dress, patience: LINE.0, pending: Vec::new() }
    }

    /// Says which of how many voices this is. A rank that is alone may mix its outputs as it likes.
    pub(crate) fn among(&mut self, index: Writer, voices: usize, alone: bool) {
        self.writer = if alone { 0 } else { index };
        let dressed = self.dress.tag.is_some() || self.dress.time;
        self.patience = if alone && !dressed { 0 } else { (HELD / voices.max(1)).clamp(LINE.0, LINE.1) };
    }

    /// True if a line has begun and not ended.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Shows the beginning of a line whose end may only come after an answer (a prompt), or never.
    pub(crate) fn show_pending(&mut self, outlet: &mut Outlet) {
        let begun = std::mem::take(&mut self.pending);
        self.put(&begun, outlet);
    }

    /// Takes what the rank has written, and puts what can be shown.
    pub(crate) fn take(&mut self, bytes: &[u8], outlet: &mut Outlet) {
        if let Some(copy) = &mut self.dress.copy
            && copy.write_all(bytes).is_err()
        {
            self.dress.copy = None;
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        if whole > 0 && self.pending.is_empty() {
            self.put(&bytes[..whole], outlet);
        } else if whole > 0 {
            let mut lines = std::mem::take(&mut self.pending);
            lines.extend_from_slice(&bytes[..whole]);
            self.put(&lines, outlet);
        }
        self.pending.extend_from_slice(&bytes[whole..]);
        if self.pending.len() > self.patience {
            self.show_pending(outlet);
        }
    }

    fn put(&self, text: &[u8], outlet: &mut Outlet) {
        let beginning = self.beginning();
        if beginning.is_empty() {
            return outlet.put(self.writer, text);
        }
        let mut dressed = Vec::with_capacity(text.len() + 16 * beginning.len());
        let continued = outlet.line_is_open_by(self.writer);
        for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            if index > 0 || !continued {
                dressed.extend_from_slice(beginning.as_bytes());
            }
            dressed.extend_from_slice(line);
        }
        outlet.put(self.writer, &dressed);
    }

    fn beginning(&self) -> String {
        let time = if self.dress.time { time_of_day(SystemTime::now()) } else { String::new() };
        let tag = self.dress.tag.map(|rank| format!("[{rank}] ")).unwrap_or_default();
        time + &tag
    }
}

/// `2026-03-01T12:34:56.789Z `.
fn time_of_day(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Civil date of a day number, counted in eras of 400 years that begin in March.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (date, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + 400 * era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z ", since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::outlet::tests::{outlet, seen};

    /// A voice of a job of several ranks, or of a rank that is alone.
    fn voice(tag: Option<u32>, alone: bool) -> Voice {
        let mut voice = Voice::new(Dress { tag, ..Dress::default() });
        voice.among(3, 4, alone);
        voice
    }

    #[test]
    fn a_line_waits_for_its_end_unless_its_rank_is_alone() {
        for (alone, first) in [(false, &b""[..]), (true, b"hel")] {
            let (mut voice, (mut outlet, check)) = (voice(None, alone), outlet());
            voice.take(b"hel", &mut outlet);
            assert_eq!(seen(&check), first);
            voice.take(b"lo\nwor", &mut outlet);
            voice.show_pending(&mut outlet);
            assert_eq!([first, &seen(&check)].concat(), b"hello\nwor");
        }
    }

    #[test]
    fn every_line_gets_the_tag_also_empty_ones() {
        let (mut voice, (mut outlet, check)) = (voice(Some(12), false), outlet());
        voice.take(b"a\n\nb", &mut outlet);
        voice.show_pending(&mut outlet);
        assert_eq!(seen(&check), b"[12] a\n[12] \n[12] b");
    }

    #[test]
    fn a_prompt_is_tagged_once_and_again_only_when_somebody_came_between() {
        let (mut voice, (mut outlet, check)) = (voice(Some(0), false), outlet());
        voice.take(b"name? ", &mut outlet);
        assert!(voice.has_pending());
        voice.show_pending(&mut outlet);
        voice.take(b"ok\nnext? ", &mut outlet);
        voice.show_pending(&mut outlet);
        outlet.put(99, b"another\n");
        voice.take(b"yes\n", &mut outlet);
        assert_eq!(seen(&check), b"[0] name? ok\n[0] next? \nanother\n[0] yes\n");
    }

    #[test]
    fn a_line_without_end_is_cut_and_held_in_bounded_memory() {
        let (mut voice, (mut outlet, check)) = (voice(Some(1), false), outlet());
        voice.among(0, 10_000, false);
        let (mut put, mut got) = (4, Vec::new());
        for _ in 0..100 {
            voice.take(&[b'z'; 4096], &mut outlet);
            put += 4096;
            assert!(voice.pending.len() <= LINE.0);
            got.extend(seen(&check));
            outlet.flush();
        }
        voice.show_pending(&mut outlet);
        got.extend(seen(&check));
        assert_eq!(got.len(), put);
        assert!(got.starts_with(b"[1] zz") && got[4..].iter().all(|byte| *byte == b'z'));
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |seconds| time_of_day(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z ");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59.000Z ");
        assert_eq!(at(951_868_800), "2000-03-01T00:00:00.000Z ");
        assert_eq!(at(1_767_225_599), "2025-12-31T23:59:59.000Z ");
    }

    proptest! {
        #[test]
        fn bytes_in_pieces_of_any_size_come_out_as_they_are(text in "[ab\n]{0,60}", alone: bool, cuts in prop::collection::vec(1usize..9, 0..60)) {
            let (mut voice, (mut outlet, check)) = (voice(None, alone), outlet());
            let (mut rest, mut out) = (text.as_bytes(), Vec::new());
            for cut in cuts.into_iter().chain([60]) {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                voice.take(now, &mut outlet);
                let lines = seen(&check);
                prop_assert!(alone || lines.is_empty() || lines.ends_with(b"\n"));
                out.extend(lines);
                rest = later;
            }
            voice.show_pending(&mut outlet);
            out.extend(seen(&check));
            prop_assert_eq!(out, text.into_bytes());
        }
    }
}

//! The live line of `--progress`: what the ranks do, how much they send, and on a chip how far virtual time is.
//!
//! Ranks store a few words each into a board that they share with the launcher; the launcher looks at it now and then. On a terminal
//! the line is written over again and again and erased at the end, elsewhere there is one a second.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use pmi::{Doing, Line};

use crate::{Error, files};

/// Time between two lines on a terminal.
const ON_TERMINAL: Duration = Duration::from_millis(200);
/// Time between two lines elsewhere.
const ELSEWHERE: Duration = Duration::from_secs(1);

/// The board, and when it was looked at.
#[derive(Debug)]
pub(crate) struct Display {
    board: OwnedFd,
    ranks: u32,
    /// Ticks of a chip's clock in a second; `None` where time is real.
    virtual_clock: Option<u64>,
    terminal: bool,
    next: Instant,
    /// When it was looked at last, and the messages and bytes sent until then.
    before: (Instant, u64, u64),
    /// There is a line to erase.
    shown: bool,
}

impl Display {
    pub(crate) fn new(ranks: u32, virtual_clock: Option<u64>) -> Result<Display, Error> {
        let bytes = u64::from(ranks) * Line::BYTES as u64;
        // Ranks map whole pages of it.
        let board =
            files::blank(c"corelace-progress", bytes.next_multiple_of(rustix::param::page_size() as u64))?;
        let terminal = rustix::termios::isatty(rustix::stdio::stderr());
        let now = Instant::now();
        let interval = if terminal { ON_TERMINAL } else { ELSEWHERE };
        Ok(Display {
            board,
            ranks,
            virtual_clock,
            terminal,
            next: now + interval,
            before: (now, 0, 0),
            shown: false,
        })
    }

    pub(crate) fn board(&self) -> &OwnedFd {
        &self.board
    }

    /// When there is something to show next.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// What to show of where the job stands, if it is time; `ended` says which ranks the launcher knows to be over.
    pub(crate) fn show(&mut self, now: Instant, ended: impl Fn(u32) -> bool) -> Option<String> {
        if now < self.next {
            return None;
        }
        self.next = now + if self.terminal { ON_TERMINAL } else { ELSEWHERE };
        let mut lines = self.read()?;
        for (rank, line) in (0..).zip(&mut lines) {
            if ended(rank) {
                line.doing = Doing::Ended;
            }
        }
        let messages = lines.iter().map(|line| line.messages).sum();
        let bytes = lines.iter().map(|line| line.bytes).sum();
        let (then, old_messages, old_bytes) = std::mem::replace(&mut self.before, (now, messages, bytes));
        let seconds = (now - then).as_secs_f64().max(1e-9);
        let rate = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
        let rates = (rate(messages, old_messages), rate(bytes, old_bytes));
        let text = sentence(&lines, rates, self.virtual_clock);
        let text = if self.terminal {
            // The cursor goes back to the start of the line, so that output of ranks writes over it.
            format!("\r\x1b[K{text}\r")
        } else {
            text + "\n"
        };
        self.shown = true;
        Some(text)
    }

    /// What takes the line off the terminal.
    pub(crate) fn erase(&mut self) -> &'static str {
        if self.terminal && std::mem::take(&mut self.shown) { "\r\x1b[K" } else { "" }
    }

    fn read(&self) -> Option<Vec<Line>> {
        let mut bytes = vec![0; self.ranks as usize * Line::BYTES];
        let mut read = 0;
        while read < bytes.len() {
            match rustix::io::pread(&self.board, &mut bytes[read..], read as u64) {
                Ok(0) | Err(_) => return None,
                Ok(more) => read += more,
            }
        }
        let words = |line: &[u8]| {
            let mut words = [0; Line::WORDS];
            for (word, bytes) in words.iter_mut().zip(line.chunks_exact(8)) {
                *word = u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
            }
            Line::from_words(words)
        };
        Some(bytes.chunks_exact(Line::BYTES).map(words).collect())
    }
}

/// Where the job stands, in one line.
fn sentence(lines: &[Line], (messages, bytes): (f64, f64), virtual_clock: Option<u64>) -> String {
    let count = |doing: Doing| lines.iter().filter(|line| line.doing == doing).count();
    let mut text = format!("corelace: {} ranks:", lines.len());
    let states = [
        (Doing::Starting, "starting"),
        (Doing::Computing, "computing"),
        (Doing::Communicating, "in MPI"),
        (Doing::Waiting, "waiting"),
        (Doing::Ended, "ended"),
    ];
    let mut separator = "";
    for (doing, name) in states {
        // Starting ranks are rare enough to be left out where there are none.
        if doing != Doing::Starting || count(doing) > 0 {
            text.push_str(&format!("{separator} {} {name}", count(doing)));
            separator = ",";
        }
    }
    text.push_str(&format!("; {} messages/s, {}B/s", scaled(messages).trim_end(), scaled(bytes)));
    if let Some(ticks_per_second) = virtual_clock {
        let time = lines.iter().map(|line| line.time).max().unwrap_or(0);
        text.push_str(&format!("; {:.3} ms virtual", time as f64 * 1e3 / ticks_per_second as f64));
    }
    text
}

/// A number with the prefix that suits it.
fn scaled(value: f64) -> String {
    let (value, prefix) = match value {
        value if value >= 1e9 => (value / 1e9, "G"),
        value if value >= 1e6 => (value / 1e6, "M"),
        value if value >= 1e4 => (value / 1e3, "k"),
        value => return format!("{value:.0} "),
    };
    format!("{value:.1} {prefix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_ranks_by_what_they_do() {
        let line = |doing, time| Line { doing, time, ..Line::default() };
        let lines = [line(Doing::Waiting, 5), line(Doing::Computing, 1_500_000), line(Doing::Waiting, 0)];
        assert_eq!(
            sentence(&lines, (1234.0, 5.6e6), None),
            "corelace: 3 ranks: 1 computing, 0 in MPI, 2 waiting, 0 ended; 1234 messages/s, 5.6 MB/s"
        );
        assert!(sentence(&lines, (0.0, 0.0), Some(1_000_000_000)).ends_with("; 1.500 ms virtual"));
    }
}

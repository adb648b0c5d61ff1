//! How far a long command is, on one line of a terminal.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Pieces of work that were announced, and those of them that are done. Shared by threads.
#[derive(Default)]
pub struct Progress {
    expected: AtomicUsize,
    done: AtomicUsize,
}

impl Progress {
    /// With so many pieces announced, shown at once.
    pub fn of(pieces: usize) -> Progress {
        let progress = Progress::default();
        progress.expect(pieces);
        progress.show("");
        progress
    }

    /// Announces so many pieces more.
    pub fn expect(&self, pieces: usize) {
        self.expected.fetch_add(pieces, Ordering::Relaxed);
    }

    /// One of them is done.
    pub fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// A line on a terminal that the next one overwrites.
    pub fn show(&self, what: &str) {
        if std::io::stderr().is_terminal() {
            let (done, expected) = (self.done.load(Ordering::Relaxed), self.expected.load(Ordering::Relaxed));
            eprint!("\r\x1b[K{}{what}", bar(done, expected));
            let _ = std::io::stderr().flush();
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
    }
}

/// How much of the announced work is done, as a picture; nothing if none was announced.
pub fn bar(done: usize, expected: usize) -> String {
    const WIDTH: usize = 20;
    if expected == 0 {
        return String::new();
    }
    let full = WIDTH * done.min(expected) / expected;
    format!("[{}{}] {done} of {expected} ", "#".repeat(full), ".".repeat(WIDTH - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_with_the_work_that_is_done() {
        assert_eq!(bar(0, 4), "[....................] 0 of 4 ");
        assert_eq!(bar(1, 4), "[#####...............] 1 of 4 ");
        assert_eq!(bar(4, 4), "[####################] 4 of 4 ");
        assert_eq!(bar(0, 0), "");
    }
}

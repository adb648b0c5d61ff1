//! How far the measurement is, on one line of a terminal, and how long it will still take.

use std::time::{Duration, Instant};

use crate::lab::Progress;

/// Turns that are done and to be done.
pub struct Bar {
    progress: Progress,
    turns: usize,
    done: usize,
    begin: Instant,
}

impl Bar {
    /// Shown from now on.
    pub fn of(turns: usize) -> Bar {
        Bar { progress: Progress::of(turns), turns, done: 0, begin: Instant::now() }
    }

    /// Who runs what now.
    pub fn show(&self, what: &str) {
        let left = left(self.begin.elapsed(), self.done, self.turns);
        let left = left.map_or(String::new(), |left| format!("{} left, ", spelled(left)));
        self.progress.show(&format!("{left}{what}"));
    }

    /// One turn more is done.
    pub fn advance(&mut self) {
        self.done += 1;
        self.progress.advance();
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.progress.clear();
    }
}

/// The time that the rest takes if it goes on like this; unknown at the beginning.
fn left(passed: Duration, done: usize, turns: usize) -> Option<Duration> {
    (done > 0).then(|| passed.mul_f64(turns.saturating_sub(done) as f64 / done as f64))
}

fn spelled(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        assert_eq!(left(Duration::from_secs(10), 0, 8), None);
        assert_eq!(left(Duration::from_secs(10), 2, 8), Some(Duration::from_secs(30)));
        assert_eq!(left(Duration::from_secs(10), 8, 8), Some(Duration::ZERO));
    }

    #[test]
    fn minutes_are_rounded_up() {
        let texts = [59, 119, 120, 121].map(|seconds| spelled(Duration::from_secs(seconds)));
        assert_eq!(texts, ["59 s", "119 s", "2 min", "3 min"]);
    }
}

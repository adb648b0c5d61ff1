//! How far a long simulation is, on one line of a terminal that is erased at the end.

use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use super::decimal::duration;
use crate::chip::Glance;

/// A run that is over by then shows nothing.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two lines.
const INTERVAL: Duration = Duration::from_millis(200);

/// A line that is written again and again. Wall time decides when, never what the ranks do.
pub(super) struct Progress {
    terminal: File,
    ticks_per_second: u64,
    began: Instant,
    next: Cell<Duration>,
    events: Cell<(Duration, u64)>,
}

impl Progress {
    pub(super) fn new(terminal: File, ticks_per_second: u64) -> Progress {
        Progress {
            terminal,
            ticks_per_second,
            began: Instant::now(),
            next: Cell::new(PATIENCE),
            events: Cell::default(),
        }
    }

    pub(super) fn show(&self, glance: &Glance) {
        let now = self.began.elapsed();
        if now < self.next.get() {
            return;
        }
        self.next.set(now + INTERVAL);
        let (then, before) = self.events.replace((now, glance.events));
        let rate = u128::from(glance.events - before) * 1000 / (now - then).as_millis().max(1);
        let rate = rate as u64;
        let Glance { ended, nodes, .. } = glance;
        // The cursor goes back to the start of the line, so that output of ranks writes over it.
        let line = format!(
            "\r\x1b[Kcorelace: {} virtual, {rate} events/s, {ended} of {nodes} ranks done\r",
            duration(glance.time, self.ticks_per_second)
        );
        let _ = (&self.terminal).write_all(line.as_bytes());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.next.get() > PATIENCE {
            let _ = (&self.terminal).write_all(b"\r\x1b[K");
        }
    }
}

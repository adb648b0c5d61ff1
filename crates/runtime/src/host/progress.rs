//! How far a long simulation is, on one line of a terminal that is erased at the end.

use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

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
        let rate = (glance.events - before) as f64 / (now - then).as_secs_f64();
        let time = glance.time as f64 / self.ticks_per_second as f64;
        let Glance { ended, nodes, .. } = glance;
        // The cursor goes back to the start of the line, so that output of ranks writes over it.
        let line = format!(
            "\r\x1b[Kcorelace: {} virtual, {rate:.0} events/s, {ended} of {nodes} ranks done\r",
            seconds(time)
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

/// A duration with a unit that suits it.
pub(super) fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        value if value < 1e-6 => (value * 1e9, "ns"),
        value if value < 1e-3 => (value * 1e6, "us"),
        value if value < 1.0 => (value * 1e3, "ms"),
        value => (value, "s"),
    };
    format!("{value:.3} {unit}")
}

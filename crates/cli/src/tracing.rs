//! `mpirun --trace FILE`: the recordings of a job before it starts, and the one file that they become when it has ended.
//!
//! However the job ends, by itself or killed, what its ranks had recorded becomes the trace. The ranks' recordings have no names,
//! so nothing but FILE is ever left behind.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use launch::{Mode, Recordings};
use runtime::chip::{Chip, Map};
use runtime::observe::{self, FloorPlan};
use trace::{CHIP_SHARE, Merged};

/// Bytes of all recordings together unless `--trace-limit` says otherwise: three million events.
const LIMIT: u64 = 64 << 20;
/// Bytes that a recording needs at least to keep the near past.
const LIMIT_OF_A_RANK: u64 = 16 << 10;

/// A trace that is being made.
pub struct Tracing {
    file: PathBuf,
    limit: u64,
    recordings: Recordings,
    job: trace::Job,
}

/// What a trace says of its job.
pub struct Subject<'a> {
    /// Ranks of the job, an I/O rank not counted.
    pub ranks: u32,
    /// What they are.
    pub mode: Mode,
    /// The words of the command line.
    pub command: String,
    /// The chip, which rank goes where on it, and whether it has an I/O rank.
    pub chip: Option<(&'a Chip, Map, bool)>,
}

impl Tracing {
    /// Makes sure that the trace can be written, and makes room for recordings. `limit` is the user's.
    pub fn begin(file: &Path, limit: Option<u64>, subject: &Subject<'_>) -> Result<Tracing, String> {
        let io = subject.chip.is_some_and(|(.., io)| io);
        let nodes = subject.ranks as usize + usize::from(io);
        let streams = nodes + usize::from(subject.chip.is_some());
        let shares = nodes as u64 + if subject.chip.is_some() { CHIP_SHARE } else { 0 };
        let limit = limit.unwrap_or(LIMIT.max(shares * LIMIT_OF_A_RANK));
        let each = limit / shares;
        if each < LIMIT_OF_A_RANK {
            let least = LIMIT_OF_A_RANK * shares;
            return Err(format!(
                "--trace-limit {limit}: expected at least {least} bytes for {streams} recordings"
            ));
        }
        // Now rather than after hours of computing.
        OpenOptions::new().create(true).append(true).open(file).map_err(|error| {
            format!("--trace {}: {error}, expected a file that can be written", file.display())
        })?;
        // On a chip time is virtual.
        let counter = if subject.chip.is_none() { observe::frequency() } else { None };
        let recordings = Recordings::new(streams, each, counter).map_err(|error| error.to_string())?;
        let job = describe(subject, nodes as u32, counter);
        Ok(Tracing { file: file.into(), limit, recordings, job })
    }

    /// The recordings for the job.
    pub fn recordings(&self) -> Recordings {
        self.recordings.clone()
    }

    /// Makes the trace of a job that has ended with this status, and says what is in it.
    pub fn end(mut self, status: u8) -> Result<(), String> {
        if status != 0 {
            self.job.failure = Some(format!("the job ended with status {status}"));
        }
        // A rank sets the length of its recording itself; one that is too long is not of our making.
        let most = trace::Recording::length(self.recordings.limit().saturating_mul(CHIP_SHARE));
        let (paths, strange): (Vec<_>, Vec<_>) = self
            .recordings
            .paths()
            .into_iter()
            .enumerate()
            .partition(|(_, path)| std::fs::metadata(path).is_ok_and(|found| found.len() <= most));
        for (rank, _) in strange {
            eprintln!(
                "corelace: --trace: the recording of rank {rank} is longer than {most} bytes: it is left out"
            );
        }
        let paths: Vec<_> = paths.into_iter().map(|(_, path)| path).collect();
        let mut symbols = symbols::Symbols::new();
        let mut explain = |name: &str| symbols.explain(name);
        let merged = trace::merge(&paths, &self.job, &self.file, &mut explain)
            .map_err(|error| format!("--trace: {error}"))?;
        for sentence in self.sentences(&merged) {
            crate::warn(&format!("corelace: {sentence}"));
        }
        Ok(())
    }

    /// A job that was never started leaves no trace.
    pub fn abandon(self) {
        if std::fs::metadata(&self.file).is_ok_and(|metadata| metadata.len() == 0) {
            _ = std::fs::remove_file(&self.file);
        }
    }

    fn sentences(&self, merged: &Merged) -> Vec<String> {
        let file = self.file.display();
        let mut sentences = vec![match merged.events {
            0 => format!("{file}: no events, because no rank has called MPI_Init"),
            events => format!("{file}: {events} events of {} ranks", self.job.ranks),
        }];
        if merged.dropped > 0 {
            sentences.push(format!(
                "{file}: the {} oldest events were dropped to stay within {} bytes; a larger --trace-limit keeps more",
                merged.dropped, self.limit
            ));
        }
        if !merged.unreadable.is_empty() && merged.events > 0 {
            let count = merged.unreadable.len();
            let ranks = if count == 1 { "1 rank".into() } else { format!("{count} ranks") };
            sentences.push(format!("{file}: {ranks} left nothing, having ended before MPI_Init"));
        }
        sentences
    }
}

fn describe(subject: &Subject<'_>, nodes: u32, counter: Option<u64>) -> trace::Job {
    let mode = match (subject.mode, subject.chip) {
        (_, Some(_)) => "chip",
        (Mode::Process, None) => "process",
        (Mode::Thread, None) => "thread",
        (Mode::Fiber, None) => "fiber",
    };
    let mut job = trace::Job {
        ranks: nodes,
        command: subject.command.clone(),
        mode: mode.into(),
        started: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        ticks_per_second: counter.unwrap_or(1_000_000_000),
        places: vec![0; nodes as usize],
        cores: cores(),
        ..trace::Job::default()
    };
    if let Some((chip, map, io)) = subject.chip {
        job.ticks_per_second = chip.ticks_per_second();
        // Those of the chip are never shared.
        job.cores = 0;
        job.places = runtime::chip::places(chip, subject.ranks, map, io);
        job.chip = Some(FloorPlan::of(chip).chip);
    }
    job
}

/// Cores that the ranks of this machine share, 0 if the system does not say.
fn cores() -> u32 {
    std::thread::available_parallelism().map_or(0, |cores| cores.get().try_into().unwrap_or(u32::MAX))
}

/// A number of bytes, with K, M or G for powers of 1024.
pub fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix(['M', 'm']) {
            Some(digits) => (digits, 1 << 20),
            None => text.strip_suffix(['G', 'g']).map_or((text, 1), |digits| (digits, 1 << 30)),
        },
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_may_be_given_in_powers_of_1024() {
        let cases =
            [("4096", Some(4096)), ("64K", Some(65536)), ("1g", Some(1 << 30)), ("1.5M", None), ("", None)];
        for (text, expected) in cases {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn a_limit_that_keeps_nothing_is_refused_with_one_that_does() {
        let subject = Subject { ranks: 4, mode: Mode::Process, command: String::new(), chip: None };
        let error = Tracing::begin(Path::new("unused"), Some(5), &subject).err().expect("refused");
        assert_eq!(error, "--trace-limit 5: expected at least 65536 bytes for 4 recordings");
    }
}

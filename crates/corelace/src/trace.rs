//! Traces of jobs that run inside of the calling program, and reading them.
//!
//! [`Job::trace`](crate::Job::trace) and [`ChipJob::trace`](crate::ChipJob::trace) record what the ranks do: calls, messages from
//! send to receive, waits, declared work, rounds of collectives; on a chip also links, queues, memory and power. The file is for
//! `corelace report FILE`, or for [`Trace::open`].
//!
//! ```
//! use corelace::trace::{Event, Trace};
//!
//! let file = std::env::temp_dir().join(format!("corelace-doc-{}.trace", std::process::id()));
//! corelace::Job::new(2).trace(&file).run(|world| {
//!     if world.rank() == 0 {
//!         world.send(&7u8, 1, 0).unwrap();
//!     } else {
//!         world.recv::<u8>(0, 0).unwrap();
//!     }
//! })?;
//! let trace = Trace::open(&file)?;
//! let sent = trace.streams[0].events().find_map(|event| match event {
//!     Event::SendStart { message, bytes: 1, .. } => Some(message),
//!     _ => None,
//! });
//! let received = trace.streams[1].events().find_map(|event| match event {
//!     Event::RecvMatch { message, bytes: 1, .. } => Some(message),
//!     _ => None,
//! });
//! assert!(sent.is_some() && sent == received);
//! # std::fs::remove_file(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use runtime::Wish;
use runtime::observe::frequency;

pub use trace::{Event, MessageId, Name, Protocol, Stream, Trace, TraceError};

use crate::job::RunError;

/// Bytes of all recordings of a job together: three million events.
const LIMIT: u64 = 64 << 20;

/// A trace that is being made: recordings beside the file that they will become.
pub(crate) struct Tracing {
    file: PathBuf,
    pub(crate) wish: Wish,
    job: trace::Job,
}

impl Tracing {
    /// A trace of `job`, of which ranks and mode are known, with a stream for each rank and one for a chip.
    pub(crate) fn begin(file: &Path, job: trace::Job) -> Tracing {
        let streams = job.ranks as usize + usize::from(job.chip.is_some());
        let counter = if job.chip.is_none() { frequency() } else { None };
        let recordings = (0..streams).map(|stream| beside(file, stream)).collect();
        let wish = Wish { limit: LIMIT / streams as u64, counter, recordings, board: None };
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let command = std::env::args().collect::<Vec<_>>().join(" ");
        let ticks_per_second = counter.unwrap_or(job.ticks_per_second);
        Tracing { file: file.into(), wish, job: trace::Job { command, started, ticks_per_second, ..job } }
    }

    /// Makes the file of what was recorded, whatever became of the job.
    pub(crate) fn end(self) -> Result<(), RunError> {
        let merged = trace::merge(&self.wish.recordings, &self.job, &self.file, &mut str::to_owned);
        for recording in &self.wish.recordings {
            // One that was never made is not there to be removed.
            _ = std::fs::remove_file(recording);
        }
        merged.map(|_| ()).map_err(RunError::trace)
    }
}

fn beside(file: &Path, stream: usize) -> PathBuf {
    let mut name: OsString = file.into();
    name.push(format!(".{}.{stream}", std::process::id()));
    name.into()
}

//! What a job did, event by event: the model, the recording that a rank writes while it runs, and the file that all
//! recordings are merged into. `docs/trace-format.md` describes both formats byte by byte.
//!
//! A rank writes into a [`Recording`]: a file of its own, mapped shared, used as a ring of chunks. An event costs a few
//! stores; nothing is lost when the process is killed, because the pages belong to the kernel. At the end [`merge`]
//! makes one file of all recordings, which [`Trace`] reads.
//!
//! ```
//! use corelace_trace as trace;
//! use trace::{Event, Job, Recording, Trace};
//!
//! let directory = tempfile::tempdir().unwrap();
//! let path = directory.path().join("rank0");
//! let mut recording = Recording::create(&path, 0, 1 << 20, 1_000_000_000).unwrap();
//! let function = recording.intern("MPI_Barrier");
//! let site = recording.intern("solve.c:42");
//! recording.record(Event::Enter { time: 100, function, site });
//! recording.record(Event::Leave { time: 250 });
//! drop(recording);
//!
//! let file = directory.path().join("job.trace");
//! let job = Job { ranks: 1, command: "solve".into(), ticks_per_second: 1_000_000_000, ..Job::default() };
//! trace::merge(&[path], &job, &file, &mut str::to_owned).unwrap();
//! let trace = Trace::open(&file).unwrap();
//! assert_eq!(trace.streams[0].events().count(), 2);
//! assert_eq!(trace.streams[0].name(function), "MPI_Barrier");
//! ```

mod error;
mod event;
mod file;
mod job;
mod mapping;
mod recording;
mod stream;
mod wire;

pub use error::TraceError;
pub use event::{
    ALL_MEMBERS, ANY_SOURCE, ANY_TAG, AccessKind, EpochKind, Event, MessageId, NO_ROOT, Name, Protocol,
    ServerKind,
};
pub use file::{Merged, Trace, merge};
pub use job::{Chip, Job, Link, Place, PlaceKind};
pub use recording::{CHIP_SHARE, CHIP_STREAM, Recording};
pub use stream::{Events, Stream};

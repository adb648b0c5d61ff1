//! The files that ranks record into for a trace, one each: memory that has no name in any file system.
//!
//! The launcher holds them, so what was recorded outlives ranks that are killed, and nothing is left behind by a launcher that is.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;

use pmi::TraceFiles;
use rustix::fs::MemfdFlags;

use crate::{Attempt, Error};

/// Empty files for the ranks of a job.
#[derive(Clone, Debug)]
pub struct Recordings {
    limit: u64,
    counter: Option<u64>,
    files: Vec<Arc<OwnedFd>>,
}

impl Recordings {
    /// `count` files, of which each may grow to `limit` bytes; `counter` as in [`TraceFiles`].
    pub fn new(count: usize, limit: u64, counter: Option<u64>) -> Result<Recordings, Error> {
        crate::start::make_room_for_descriptors(count as u64 + 8 * count as u64);
        let file = |_| {
            let file = rustix::fs::memfd_create(c"corelace-trace", MemfdFlags::CLOEXEC)
                .attempt("memfd_create for a rank's recording (too many open files? see ulimit -n)")?;
            Ok(Arc::new(file))
        };
        let files = (0..count).map(file).collect::<Result<_, Error>>()?;
        Ok(Recordings { limit, counter, files })
    }

    /// Bytes that the events of each may take.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Where this process finds them.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| format!("/proc/self/fd/{}", file.as_raw_fd()).into()).collect()
    }

    /// Those that a process gets: of one rank, or all.
    pub(crate) fn of(&self, rank: Option<u32>) -> &[Arc<OwnedFd>] {
        match rank {
            Some(rank) => &self.files[rank as usize..][..1],
            None => &self.files,
        }
    }

    /// What a process is told of them.
    pub(crate) fn told(&self, rank: Option<u32>) -> TraceFiles {
        let files: Vec<RawFd> = self.of(rank).iter().map(|file| file.as_raw_fd()).collect();
        TraceFiles { limit: self.limit, counter: self.counter, files }
    }
}

/// The descriptors of what a process may show.
pub(crate) fn inherited<'a>(
    recordings: Option<&'a Recordings>,
    board: Option<&'a OwnedFd>,
    rank: Option<u32>,
) -> impl Iterator<Item = BorrowedFd<'a>> {
    let files = recordings.into_iter().flat_map(move |recordings| recordings.of(rank));
    files.map(|file| file.as_fd()).chain(board.map(|board| board.as_fd()))
}

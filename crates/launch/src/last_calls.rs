//! What ranks that are processes called last: read when one has died, which can no longer be asked.

use std::os::fd::OwnedFd;

use pmi::{LastCall, sheet};

use crate::{Error, files};

/// A sheet for each rank, one behind the other, in memory that ranks and launcher share.
#[derive(Debug)]
pub(crate) struct Sheets(OwnedFd);

impl Sheets {
    pub(crate) fn new(ranks: u32) -> Result<Sheets, Error> {
        files::blank(c"corelace-calls", u64::from(ranks) * sheet::BYTES as u64).map(Sheets)
    }

    pub(crate) fn file(&self) -> &OwnedFd {
        &self.0
    }

    /// A sentence about the last call of a rank, if it has called anything.
    pub(crate) fn sentence(&self, rank: u32) -> Option<String> {
        let mut bytes = vec![0; sheet::BYTES];
        let begin = u64::from(rank) * sheet::BYTES as u64;
        let read = rustix::io::pread(&self.0, &mut bytes[..], begin).ok()?;
        let LastCall { function, site, waited } = LastCall::of_sheet(&bytes[..read])?;
        let place = site.map_or_else(String::new, |site| format!(" [at {site}]"));
        Some(if waited {
            format!("  rank {rank} waited in {function} last{place}")
        } else {
            format!("  rank {rank} called {function} last{place}")
        })
    }
}

//! Opening and deleting files (MPI sections 14.2.1 to 14.2.3).

use std::rc::Rc;
use std::sync::Arc;

use engine::{Comm, Crossing, Rank};

use crate::collective::Common;
use crate::error::{Error, Kind, Result};
use crate::file::File;
use crate::handle::Handle;
use crate::hints::Hints;
use crate::meeting::{agree, meet};
use crate::mode::Mode;
use crate::pointer::SharedPointer;

/// Kinds of file systems that programs name before a file, for libraries that must be told.
const PREFIXES: [&str; 8] = ["ufs:", "nfs:", "xfs:", "lustre:", "gpfs:", "pvfs2:", "testfs:", "panfs:"];

/// The name of a file without the kind of its file system.
pub fn without_prefix(name: &str) -> &str {
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// Deletes a file.
pub fn delete(name: &str) -> Result {
    let name = without_prefix(name);
    std::fs::remove_file(name).map_err(|error| Error::of_system(name, "deletion", &error))
}

impl File {
    /// Opens a file. Collective over a communicator that is the file's alone; `home` leads to the lane that has the memory which ranks share, and `cores` says how many this
    /// process may use. The first member creates the file, if need be, before the others open it.
    pub fn open(
        rank: &'static Rank,
        comm: Comm,
        name: &str,
        mode: Result<Mode>,
        hints: Hints,
        home: Option<&Crossing<'_>>,
        cores: fn() -> usize,
    ) -> Result<File> {
        let name = without_prefix(name);
        let is_first = comm.rank() == 0;
        let agreed = same_mode(rank, &comm, &mode)?;
        let mode = mode.and_then(|mode| agreed.map(|()| mode));
        let opened = mode.and_then(|mode| {
            let handle = if is_first { Some(Handle::open(name, &mode, true)?) } else { None };
            Ok((mode, handle))
        });
        // What the first has found is what all find.
        let what = format!("opening of file \"{name}\"");
        let (mode, opened) = agree(rank, &comm, &what, opened)?;
        let handle = match opened {
            Some(handle) => Ok(handle),
            None => Handle::open(name, &mode, false),
        };
        let handle = agree(rank, &comm, &what, handle)?;
        // The view of an open file has no gaps. Nobody needs to know where nobody else is.
        if mode.writes && !mode.unique {
            handle.announce();
        }
        let bell = rank.fabric().alarm().map(Arc::from);
        let pointer = SharedPointer::new(rank, &comm, home)?;
        let common = Common { rank, comm, handle: Arc::new(handle), bell, cores };
        let file = File::of(Rc::new(common), mode, hints, pointer);
        if mode.appends {
            let end = file.size()? as i64;
            file.move_all_to(end)?;
        }
        Ok(file)
    }
}

/// Whether all members want the same; the outer error is that they could not be asked.
fn same_mode(rank: &Rank, comm: &Comm, mode: &Result<Mode>) -> Result<Result> {
    let bits = mode.as_ref().ok().map(|mode| {
        let Mode { reads, writes, creates, exclusive, deletes, unique, sequential, appends } = *mode;
        let all = [reads, writes, creates, exclusive, deletes, unique, sequential, appends];
        all.iter().fold(1_u64, |bits, bit| bits << 1 | u64::from(*bit))
    });
    let said = meet(rank, comm, [bits.unwrap_or(0), 0, 0, 0, 0, 0, 0, 0])?;
    // One that is wrong is told of by the rank that it is wrong at.
    let differs = said.iter().position(|words| words[0] != said[0][0] && words[0] != 0 && said[0][0] != 0);
    Ok(match differs {
        None => Ok(()),
        Some(member) => Err(Error::new(
            Kind::NotSame,
            format_args!(
                "amode of rank {member} differs from that of rank 0 of the communicator, expected the same at all ranks"
            ),
        )),
    })
}

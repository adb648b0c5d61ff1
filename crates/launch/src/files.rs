//! Files that a job needs: memory without a name, and files that output goes to.
//!
//! A limit of file sizes (`ulimit -f`) counts for memory without a name as well, and the system kills who exceeds it. So the limit is
//! asked first: the launcher's own is raised for the moment where that is allowed, and refused in a sentence where not.

use std::ffi::CStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::{Attempt, Error};

/// Nodes for processes that come later. A node is never used again, because peers may know its first
/// process. One that nobody has used costs addresses only, about a megabyte in every rank.
const SPARE_NODES: u32 = 4096;

/// The memory that the ranks share, and how many nodes it has: with spare ones, as far as a limit of
/// file sizes leaves room for them. Where addresses are limited, nobody can come later.
pub(crate) fn segment(ranks: u32) -> Result<(OwnedFd, u32), Error> {
    let limit = getrlimit(Resource::Fsize).current;
    let fits = |nodes: &u32| limit.is_none_or(|limit| limit >= fabric_shm::segment_length(*nodes));
    let spare = if getrlimit(Resource::As).current.is_none() { SPARE_NODES } else { 0 };
    let fewer = std::iter::successors(Some(spare), |spare| Some(spare / 2).filter(|less| *less > 0));
    let nodes = fewer.map(|spare| ranks.saturating_add(spare)).find(fits).unwrap_or(ranks);
    let segment = with_room_for(fabric_shm::segment_length(nodes), || {
        fabric_shm::create_segment(nodes).attempt("a memfd for the job's memory")
    })?;
    Ok((segment, nodes))
}

/// A file without a name that holds `bytes`.
pub(crate) fn filled(name: &CStr, bytes: &[u8]) -> Result<File, Error> {
    with_room_for(bytes.len() as u64, || {
        let mut file =
            File::from(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC).attempt("memfd_create")?);
        file.write_all(bytes).attempt("writing into a memfd")?;
        Ok(file)
    })
}

/// A file without a name of this length, for good: ranks map it, and one that shortened it would kill the others.
pub(crate) fn blank(name: &CStr, bytes: u64) -> Result<OwnedFd, Error> {
    with_room_for(bytes, || {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create(name, flags).attempt("memfd_create")?;
        rustix::fs::ftruncate(&file, bytes).attempt("making a memfd longer")?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&file, seals).attempt("sealing a memfd")?;
        Ok(file)
    })
}

/// A file that output goes to, made with its directories.
pub(crate) fn for_output(path: &Path) -> Result<OwnedFd, Error> {
    let wrong = |source| Error::File { path: path.into(), source };
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(wrong)?;
    }
    Ok(File::create(path).map_err(wrong)?.into())
}

fn with_room_for<T>(bytes: u64, make: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let before = getrlimit(Resource::Fsize);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= bytes);
    if enough(before.current) {
        return make();
    }
    let mut raised = before;
    raised.current = before.maximum;
    if !enough(before.maximum) || setrlimit(Resource::Fsize, raised).is_err() {
        return Err(Error::Job(format!(
            "the job's memory needs a file of {bytes} bytes, but ulimit -f allows {} only; expected a larger limit or none",
            before.current.unwrap_or(0)
        )));
    }
    let made = make();
    _ = setrlimit(Resource::Fsize, before);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_file_keeps_its_length() {
        let file = blank(c"corelace-test", 8192).unwrap();
        for length in [0, 4096, 16384] {
            assert_eq!(rustix::fs::ftruncate(&file, length), Err(rustix::io::Errno::PERM), "{length}");
        }
        assert_eq!(rustix::fs::fstat(&file).unwrap().st_size, 8192);
    }
}

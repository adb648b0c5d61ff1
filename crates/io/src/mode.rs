//! How a file is opened (MPI section 14.2.1).

use crate::error::{Error, Kind, Result};

/// What a program wants to do with a file.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Mode {
    /// MPI_MODE_RDONLY or MPI_MODE_RDWR.
    pub reads: bool,
    /// MPI_MODE_WRONLY or MPI_MODE_RDWR.
    pub writes: bool,
    /// MPI_MODE_CREATE.
    pub creates: bool,
    /// MPI_MODE_EXCL: it must not exist.
    pub exclusive: bool,
    /// MPI_MODE_DELETE_ON_CLOSE.
    pub deletes: bool,
    /// MPI_MODE_UNIQUE_OPEN: nobody else has it open. Nothing is made of that.
    pub unique: bool,
    /// MPI_MODE_SEQUENTIAL: only from the beginning to the end, by the shared pointer.
    pub sequential: bool,
    /// MPI_MODE_APPEND: all pointers begin at the end.
    pub appends: bool,
}

impl Mode {
    /// As this, if it is one that MPI allows: `ways` is how many of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR were given.
    pub fn checked(self, ways: u32, given: i64) -> Result<Mode> {
        let wrong = |expected: &str| {
            Err(Error::new(Kind::Amode, format_args!("amode is {given:#x}, expected {expected}")))
        };
        if ways != 1 {
            return wrong("exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR");
        }
        if !self.writes && (self.creates || self.exclusive) {
            return wrong("neither MPI_MODE_CREATE nor MPI_MODE_EXCL with MPI_MODE_RDONLY");
        }
        if self.reads && self.writes && self.sequential {
            return wrong("no MPI_MODE_SEQUENTIAL with MPI_MODE_RDWR");
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_contradict_themselves_are_refused() {
        let reads = Mode { reads: true, ..Mode::default() };
        let both = Mode { writes: true, ..reads };
        for (mode, ways) in [
            (Mode::default(), 0),
            (both, 2),
            (Mode { creates: true, ..reads }, 1),
            (Mode { exclusive: true, ..reads }, 1),
            (Mode { sequential: true, ..both }, 1),
        ] {
            assert_eq!(mode.checked(ways, 0).map_err(|error| error.kind()), Err(Kind::Amode), "{mode:?}");
        }
        assert!(Mode { creates: true, exclusive: true, deletes: true, ..both }.checked(1, 0).is_ok());
        assert!(Mode { sequential: true, ..reads }.checked(1, 0).is_ok());
    }
}

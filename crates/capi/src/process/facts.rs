//! What a process tells about itself and its compiler: predefined attributes (MPI section 9.1.2), and Fortran's
//! settings (chapter 20).

use core::ffi::{c_int, c_void};

use crate::abi::constants::*;
use crate::errors::registry::Registry;
use crate::handles::Info;

/// The values of the predefined attributes of MPI_COMM_WORLD. Attributes are addresses, so these have one.
pub(crate) struct Predefined {
    tag_ub: c_int,
    io: c_int,
    host: c_int,
    wtime_is_global: c_int,
    /// Absent where no launcher said.
    appnum: Option<c_int>,
    universe_size: c_int,
}

impl Predefined {
    /// Of a program with this index in the job, in a world of so many processes.
    pub(crate) fn new(appnum: Option<u32>, universe_size: u32) -> Self {
        Self {
            tag_ub: engine::Tag::MAX,
            io: MPI_ANY_SOURCE,
            host: MPI_PROC_NULL,
            wtime_is_global: 0,
            appnum: appnum.map(|appnum| appnum as c_int),
            universe_size: universe_size as c_int,
        }
    }

    /// The value of a predefined attribute: the address of an integer.
    pub(crate) fn attribute(&self, errors: &Registry, keyval: c_int) -> Option<*mut c_void> {
        let value: *const c_int = match keyval {
            MPI_TAG_UB => &self.tag_ub,
            MPI_IO => &self.io,
            MPI_HOST => &self.host,
            MPI_WTIME_IS_GLOBAL => &self.wtime_is_global,
            MPI_APPNUM => self.appnum.as_ref()?,
            MPI_UNIVERSE_SIZE => &self.universe_size,
            MPI_LASTUSEDCODE => errors.last_used(),
            _ => return None,
        };
        Some(value.cast_mut().cast())
    }

    /// Whether a key is one of these.
    pub(crate) fn is_key(keyval: c_int) -> bool {
        (MPI_TAG_UB..=MPI_UNIVERSE_SIZE).contains(&keyval)
    }
}

/// What a Fortran layer has told about its compiler.
#[derive(Default)]
pub(crate) struct Fortran {
    /// Size of LOGICAL, and the bytes of true and false.
    pub(crate) booleans: Option<(usize, Vec<u8>, Vec<u8>)>,
    pub(crate) sizes: Option<Info>,
}

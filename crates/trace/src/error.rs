//! What can be wrong with a trace: which file, where, and what was expected there.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A trace could not be written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceError {
    /// The operating system refused.
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is something else.
    Foreign {
        /// The file.
        file: PathBuf,
        /// What it begins with.
        found: String,
        /// What a trace begins with.
        expected: &'static str,
    },
    /// The file is of another version, or was written on a machine of the other byte order.
    Incompatible {
        /// The file.
        file: PathBuf,
        /// What the file says.
        found: String,
        /// What this program reads.
        expected: String,
    },
    /// The file ends early or contradicts itself.
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where.
        offset: u64,
        /// What should be there.
        expected: String,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Io { file, source } => write!(f, "{}: {source}", file.display()),
            TraceError::Foreign { file, found, expected } => write!(
                f,
                "{}: not a trace of Corelace: its first bytes are {found:?}, expected {expected:?}",
                file.display()
            ),
            TraceError::Incompatible { file, found, expected } => {
                write!(f, "{}: written by {found}, this program reads {expected}", file.display())
            }
            TraceError::Damaged { file, offset, expected } => {
                write!(f, "{}: damaged at byte {offset}: expected {expected}", file.display())
            }
        }
    }
}

impl Error for TraceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            TraceError::Io { source, .. } => Some(source),
            TraceError::Foreign { .. } | TraceError::Incompatible { .. } | TraceError::Damaged { .. } => None,
        }
    }
}

impl TraceError {
    pub(crate) fn io(file: &Path, source: impl Into<io::Error>) -> TraceError {
        TraceError::Io { file: file.to_path_buf(), source: source.into() }
    }

    pub(crate) fn damaged(file: &Path, offset: usize, expected: impl Into<String>) -> TraceError {
        TraceError::Damaged { file: file.to_path_buf(), offset: offset as u64, expected: expected.into() }
    }
}

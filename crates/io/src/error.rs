//! What can go wrong with files.

use std::fmt;

/// The result of an operation on a file.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// Why an operation failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The members of the file could not speak to each other.
    Engine(engine::Error),
    /// Something about the file: what, and a sentence that names it.
    File(Kind, String),
}

/// Kinds of failures, one for each error class that MPI has for files (MPI section 14.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names are those of MPI")]
pub enum Kind {
    Access = 1,
    Amode,
    Argument,
    BadFile,
    Conversion,
    FileExists,
    FileInUse,
    Io,
    NoSpace,
    NoSuchFile,
    NotSame,
    Quota,
    ReadOnly,
    UnsupportedDatarep,
    UnsupportedOperation,
    NoMemory,
    Engine,
}

const KINDS: [Kind; 17] = [
    Kind::Access,
    Kind::Amode,
    Kind::Argument,
    Kind::BadFile,
    Kind::Conversion,
    Kind::FileExists,
    Kind::FileInUse,
    Kind::Io,
    Kind::NoSpace,
    Kind::NoSuchFile,
    Kind::NotSame,
    Kind::Quota,
    Kind::ReadOnly,
    Kind::UnsupportedDatarep,
    Kind::UnsupportedOperation,
    Kind::NoMemory,
    Kind::Engine,
];

impl Kind {
    /// The kind of this number.
    pub fn of_number(number: u32) -> Option<Kind> {
        KINDS.into_iter().find(|kind| *kind as u32 == number)
    }

    /// What the system's error number means.
    fn of_system(errno: i32) -> Kind {
        match errno {
            libc::EACCES | libc::EPERM => Kind::Access,
            libc::EEXIST => Kind::FileExists,
            libc::ETXTBSY | libc::EBUSY => Kind::FileInUse,
            libc::ENOENT => Kind::NoSuchFile,
            libc::ENOSPC => Kind::NoSpace,
            // A limit that was set for this user, be it of the disk or of the process.
            libc::EDQUOT | libc::EFBIG => Kind::Quota,
            libc::EROFS => Kind::ReadOnly,
            libc::ENAMETOOLONG | libc::ELOOP | libc::ENOTDIR | libc::EISDIR => Kind::BadFile,
            libc::ENOMEM => Kind::NoMemory,
            libc::EOPNOTSUPP | libc::ENOSYS | libc::ESPIPE => Kind::UnsupportedOperation,
            _ => Kind::Io,
        }
    }
}

impl Error {
    pub(crate) fn new(kind: Kind, text: impl fmt::Display) -> Error {
        Error::File(kind, text.to_string())
    }

    /// The system has refused something.
    pub(crate) fn of_system(file: &str, what: impl fmt::Display, error: &std::io::Error) -> Error {
        let kind = error.raw_os_error().map_or(Kind::Io, Kind::of_system);
        Error::new(kind, format_args!("{what} of file \"{file}\" failed: {error}"))
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Error::Engine(_) => Kind::Engine,
            Error::File(kind, _) => *kind,
        }
    }

    /// As the engine hands it to whoever waits for a request.
    pub(crate) fn outside(self) -> engine::Error {
        match self {
            Error::Engine(error) => error,
            Error::File(kind, text) => {
                engine::Error::Outside(Box::new(engine::Outside { kind: kind as u32, text }))
            }
        }
    }
}

impl From<engine::Error> for Error {
    fn from(error: engine::Error) -> Error {
        match error {
            engine::Error::Outside(outside) => match Kind::of_number(outside.kind) {
                Some(kind) => Error::File(kind, outside.text),
                None => Error::Engine(engine::Error::Outside(outside)),
            },
            error => Error::Engine(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Engine(error) => error.fmt(f),
            Error::File(_, text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_request_is_the_same_after_its_way_through_the_engine() {
        for kind in KINDS {
            let error = Error::new(kind, "a sentence");
            assert_eq!(Error::from(error.clone().outside()), error);
        }
    }

    #[test]
    fn what_the_system_says_has_its_kind() {
        let full = std::io::Error::from_raw_os_error(libc::ENOSPC);
        let error = Error::of_system("a", "write of 3 bytes at byte 7", &full);
        assert_eq!(error.kind(), Kind::NoSpace);
        assert!(
            error.to_string().starts_with("write of 3 bytes at byte 7 of file \"a\" failed: "),
            "{error}"
        );
    }
}

//! Why a call failed: an MPI error class and a sentence.

use core::ffi::c_int;
use std::fmt;

use engine::Error;

use crate::abi::constants::*;

/// What an implementation returns.
pub(crate) type Outcome<T = ()> = Result<T, Fault>;

/// What is known of a handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Past {
    /// No object of the kind had it, as far as is known: generations repeat.
    Unknown,
    Lives,
    Freed,
}

/// A failed call. One word wide: the path of success carries it for free.
pub(crate) struct Fault(Box<Detail>);

struct Detail {
    code: c_int,
    text: String,
    /// The handler was called already, for an earlier part of the same call.
    raised: bool,
}

impl Fault {
    /// An error of a class. The text says what was wrong, with which value, and what was expected; the name of the function
    /// and the rank are added when it is raised.
    #[cold]
    pub(crate) fn new(code: c_int, text: impl fmt::Display) -> Fault {
        Fault(Box::new(Detail { code, text: text.to_string(), raised: false }))
    }

    /// An error code that a callback of the program returned.
    #[cold]
    pub(crate) fn from_callback(what: &str, code: c_int) -> Fault {
        Fault::new(code, format_args!("the {what} returned error code {code}, expected MPI_SUCCESS"))
    }

    /// A code that has gone through its error handler already.
    #[cold]
    pub(crate) fn raised(code: c_int) -> Fault {
        Fault(Box::new(Detail { code, text: String::new(), raised: true }))
    }

    /// A null or foreign handle.
    #[cold]
    #[inline(never)]
    pub(crate) fn handle(code: c_int, name: &str, value: usize, expected: &str, past: Past) -> Fault {
        let text = match (null_handle(value), past) {
            (Some(null), _) => format!("{name} is {null}, expected {expected}"),
            (None, Past::Freed) => {
                format!("{name} is {value:#x}, which was freed, expected {expected} that has not been freed")
            }
            (None, Past::Unknown) => {
                format!("{name} is {value:#x}, expected {expected}; MPI has given no such handle out")
            }
            (None, Past::Lives) => format!("{name} is {value:#x}, expected {expected}"),
        };
        Fault::new(code, text)
    }

    /// A null pointer where the call stores or reads something.
    #[cold]
    #[inline(never)]
    pub(crate) fn null(name: &str) -> Fault {
        Fault::new(MPI_ERR_ARG, format_args!("{name} is a null pointer, expected an address"))
    }

    pub(crate) fn code(&self) -> c_int {
        self.0.code
    }

    pub(crate) fn text(&self) -> &str {
        &self.0.text
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.0.raised
    }
}

impl From<Error> for Fault {
    #[cold]
    fn from(error: Error) -> Fault {
        Fault::new(class(&error), error)
    }
}

impl From<io::Error> for Fault {
    #[cold]
    fn from(error: io::Error) -> Fault {
        match error {
            io::Error::Engine(error) => error.into(),
            io::Error::File(kind, text) => Fault::new(class_of_file(kind), text),
        }
    }
}

/// The MPI error class of what can go wrong with files.
fn class_of_file(kind: io::Kind) -> c_int {
    match kind {
        io::Kind::Access => MPI_ERR_ACCESS,
        io::Kind::Amode => MPI_ERR_AMODE,
        io::Kind::Argument => MPI_ERR_ARG,
        io::Kind::BadFile => MPI_ERR_BAD_FILE,
        io::Kind::Conversion => MPI_ERR_CONVERSION,
        io::Kind::FileExists => MPI_ERR_FILE_EXISTS,
        io::Kind::FileInUse => MPI_ERR_FILE_IN_USE,
        io::Kind::Io => MPI_ERR_IO,
        io::Kind::NoSpace => MPI_ERR_NO_SPACE,
        io::Kind::NoSuchFile => MPI_ERR_NO_SUCH_FILE,
        io::Kind::NotSame => MPI_ERR_NOT_SAME,
        io::Kind::Quota => MPI_ERR_QUOTA,
        io::Kind::ReadOnly => MPI_ERR_READ_ONLY,
        io::Kind::UnsupportedDatarep => MPI_ERR_UNSUPPORTED_DATAREP,
        io::Kind::UnsupportedOperation => MPI_ERR_UNSUPPORTED_OPERATION,
        io::Kind::NoMemory => MPI_ERR_NO_MEM,
        io::Kind::Engine => MPI_ERR_OTHER,
    }
}

/// The MPI error class of an engine error.
pub(crate) fn class(error: &Error) -> c_int {
    match error {
        Error::Truncated { .. } => MPI_ERR_TRUNCATE,
        Error::Rank { .. } => MPI_ERR_RANK,
        Error::Root { .. } => MPI_ERR_ROOT,
        Error::Tag { .. } => MPI_ERR_TAG,
        Error::Count { .. } | Error::Size { .. } => MPI_ERR_COUNT,
        Error::Op { .. } | Error::OpOnDerived { .. } => MPI_ERR_OP,
        Error::Buffer { .. }
        | Error::BufferExhausted { .. }
        | Error::BufferAttached
        | Error::SendMemory { .. }
        | Error::ReceiveMemory { .. } => MPI_ERR_BUFFER,
        Error::Request { .. } => MPI_ERR_REQUEST,
        Error::Argument { .. } | Error::Cores { .. } | Error::Short { .. } => MPI_ERR_ARG,
        Error::Topology { .. } => MPI_ERR_TOPOLOGY,
        Error::Group { .. } => MPI_ERR_GROUP,
        Error::Comm { .. } => MPI_ERR_COMM,
        Error::Datatype { .. } => MPI_ERR_TYPE,
        Error::Memory(_) | Error::WindowMemory { .. } => MPI_ERR_NO_MEM,
        Error::Epoch { .. } => MPI_ERR_RMA_SYNC,
        Error::Displacement { .. } => MPI_ERR_DISP,
        Error::WindowRange { .. } => MPI_ERR_RMA_RANGE,
        Error::WindowLength { .. } => MPI_ERR_TRUNCATE,
        Error::WindowReach { .. } => MPI_ERR_RMA_SHARED,
        Error::Attachments { .. } => MPI_ERR_RMA_ATTACH,
        Error::PeerLost { .. } => MPI_ERR_PROC_ABORTED,
        Error::Outside(outside) => io::Kind::of_number(outside.kind).map_or(MPI_ERR_OTHER, class_of_file),
        Error::Malformed { .. } | Error::Internal { .. } => MPI_ERR_INTERN,
        #[allow(unreachable_patterns, reason = "the engine may learn new errors")]
        _ => MPI_ERR_OTHER,
    }
}

/// The name of a null handle; the ABI gives each kind a value of its own.
fn null_handle(value: usize) -> Option<&'static str> {
    let nulls = [
        (MPI_COMM_NULL.0, "MPI_COMM_NULL"),
        (MPI_DATATYPE_NULL.0, "MPI_DATATYPE_NULL"),
        (MPI_ERRHANDLER_NULL.0, "MPI_ERRHANDLER_NULL"),
        (MPI_FILE_NULL.0, "MPI_FILE_NULL"),
        (MPI_GROUP_NULL.0, "MPI_GROUP_NULL"),
        (MPI_INFO_NULL.0, "MPI_INFO_NULL"),
        (MPI_MESSAGE_NULL.0, "MPI_MESSAGE_NULL"),
        (MPI_OP_NULL.0, "MPI_OP_NULL"),
        (MPI_REQUEST_NULL.0, "MPI_REQUEST_NULL"),
        (MPI_SESSION_NULL.0, "MPI_SESSION_NULL"),
        (MPI_WIN_NULL.0, "MPI_WIN_NULL"),
    ];
    nulls.into_iter().find(|(null, _)| *null == value).map(|(_, name)| name)
}

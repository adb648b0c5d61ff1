//! What can go wrong, in full sentences.

use std::fmt;

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed. Its text says what was wrong, with which value, and what was expected.
///
/// ```
/// use corelace::ErrorKind;
///
/// corelace::run(2, |world| {
///     let error = world.send(&1.0, 7, 0).unwrap_err();
///     assert_eq!(error.kind(), ErrorKind::Rank);
///     assert_eq!(error.to_string(), "destination is 7, expected a rank from 0 to 1");
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error(Cause);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Cause {
    Engine(engine::Error),
    Length(String),
}

/// The kinds of [`Error`], as far as a program may want to tell them apart; MPI calls them error classes (section 9.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A message was longer than the buffer of the receive that it matched.
    Truncated,
    /// A message, or a slice given to a collective, has a length that does not fit.
    Length,
    /// A rank outside of the communicator.
    Rank,
    /// The root of a collective outside of the communicator.
    Root,
    /// A negative tag.
    Tag,
    /// A reduction that is not defined on its type.
    Op,
    /// The attached buffer is missing, too small, or there already.
    Buffer,
    /// Groups that do not go together.
    Group,
    /// The memory budget is used up.
    Memory,
    /// A call outside of the epoch of a window that it needs, or inside of one that excludes it.
    Epoch,
    /// Elements outside of a rank's part of a window.
    Range,
    /// Memory that a window needs and that cannot be had or reached.
    Reach,
    /// A peer is gone.
    PeerLost,
    /// The job has stalled: all ranks that have not ended wait for each other. Seen only by code that runs while its rank is ended for
    /// that: destructors, and whoever has caught the unwinding.
    Stalled,
    /// Anything else.
    Other,
}

impl Error {
    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        use engine::Error as E;
        match &self.0 {
            Cause::Length(_) => ErrorKind::Length,
            Cause::Engine(error) => match error {
                E::Truncated { .. } => ErrorKind::Truncated,
                E::Rank { .. } => ErrorKind::Rank,
                E::Root { .. } => ErrorKind::Root,
                E::Tag { .. } => ErrorKind::Tag,
                E::Op { .. } | E::OpOnDerived { .. } => ErrorKind::Op,
                E::Buffer { .. }
                | E::BufferExhausted { .. }
                | E::BufferAttached
                | E::SendMemory { .. }
                | E::ReceiveMemory { .. } => ErrorKind::Buffer,
                E::Group { .. } => ErrorKind::Group,
                E::Memory(_) => ErrorKind::Memory,
                E::Epoch { .. } => ErrorKind::Epoch,
                E::WindowRange { .. } | E::Displacement { .. } => ErrorKind::Range,
                E::WindowReach { .. } | E::WindowMemory { .. } => ErrorKind::Reach,
                E::PeerLost { .. } => ErrorKind::PeerLost,
                E::Stalled => ErrorKind::Stalled,
                _ => ErrorKind::Other,
            },
        }
    }

    /// A length that does not fit; the text says which one and what was expected.
    pub(crate) fn length(text: String) -> Error {
        Error(Cause::Length(text))
    }
}

impl From<engine::Error> for Error {
    fn from(error: engine::Error) -> Error {
        Error(Cause::Engine(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Engine(error) => error.fmt(f),
            Cause::Length(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

//! What a receive tells about its message (MPI section 3.2.5).

use crate::raw::Datatype;

/// What a receive tells about its message: where it came from, its tag and its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(pub(crate) engine::Status);

impl Status {
    /// The rank that sent the message; `None` if there was no message, because the source was nobody.
    pub fn source(&self) -> Option<usize> {
        match self.0.source {
            engine::Source::Rank(rank) => Some(rank as usize),
            engine::Source::Any | engine::Source::Null => None,
        }
    }

    /// The message's tag; `None` if there was no message.
    pub fn tag(&self) -> Option<i32> {
        match self.0.tag {
            engine::TagMatch::Is(tag) => Some(tag.value()),
            engine::TagMatch::Any => None,
        }
    }

    /// The message's length in bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes as usize
    }

    /// The message's length in elements of `T`; `None` if it is no whole number of them (MPI_Get_count).
    ///
    /// ```
    /// corelace::run(2, |world| {
    ///     if world.rank() == 0 {
    ///         world.send(&[1.5f64, 2.5, 3.5][..], 1, 0).unwrap();
    ///     } else {
    ///         let mut buffer = [0.0f64; 10];
    ///         let status = world.recv_into(&mut buffer[..], 0, 0).unwrap();
    ///         assert_eq!(status.count::<f64>(), Some(3));
    ///         assert_eq!(status.count::<[f64; 2]>(), None);
    ///     }
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn count<T: Datatype>(&self) -> Option<usize> {
        match T::SHAPE.bytes() {
            0 => Some(0),
            size if self.bytes().is_multiple_of(size) => Some(self.bytes() / size),
            _ => None,
        }
    }

    /// True if the operation was cancelled before it met its partner.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled
    }
}

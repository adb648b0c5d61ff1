//! Whom a message goes to, and which messages a receive takes (MPI section 3.2.4).

use crate::activity::Activity;
use crate::error::Result;

/// Any source, or any tag (MPI_ANY_SOURCE, MPI_ANY_TAG).
///
/// ```
/// use corelace::Any;
///
/// corelace::run(3, |world| {
///     if world.rank() == 0 {
///         let mut ranks: Vec<u32> = (0..2).map(|_| world.recv(Any, Any).unwrap().0).collect();
///         ranks.sort();
///         assert_eq!(ranks, [1, 2]);
///     } else {
///         world.send(&(world.rank() as u32), 0, 5).unwrap();
///     }
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Any;

/// Where a message goes: a rank, or nowhere. `None` is MPI_PROC_NULL: the send does nothing, which spares the ranks at
/// the edge of a grid an `if`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dest {
    /// This rank of the communicator.
    Rank(usize),
    /// Nowhere.
    Nobody,
}

/// Where a message may come from: a rank, [`Any`], or nowhere. `None` is MPI_PROC_NULL: the receive completes at once and
/// leaves its buffer as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// This rank of the communicator.
    Rank(usize),
    /// Any rank of the communicator.
    Any,
    /// Nowhere.
    Nobody,
}

/// Which tags a receive takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TagMatch {
    /// This one.
    Is(i32),
    /// Any.
    Any,
}

impl From<usize> for Dest {
    fn from(rank: usize) -> Dest {
        Dest::Rank(rank)
    }
}

impl From<Option<usize>> for Dest {
    fn from(rank: Option<usize>) -> Dest {
        rank.map_or(Dest::Nobody, Dest::Rank)
    }
}

impl From<usize> for Source {
    fn from(rank: usize) -> Source {
        Source::Rank(rank)
    }
}

impl From<Option<usize>> for Source {
    fn from(rank: Option<usize>) -> Source {
        rank.map_or(Source::Nobody, Source::Rank)
    }
}

impl From<Any> for Source {
    fn from(_: Any) -> Source {
        Source::Any
    }
}

impl From<i32> for TagMatch {
    fn from(tag: i32) -> TagMatch {
        TagMatch::Is(tag)
    }
}

impl From<Any> for TagMatch {
    fn from(_: Any) -> TagMatch {
        TagMatch::Any
    }
}

/// Stand for [`Dest::Nobody`] and [`Source::Any`] where the engine checks plain numbers; no rank is negative.
const NULL: i64 = -1;
const ANY: i64 = -2;

/// A checked way out of a communicator.
#[derive(Clone, Copy)]
pub(crate) struct Outward {
    pub dest: engine::Dest,
    pub tag: engine::Tag,
}

/// A checked way into a communicator.
#[derive(Clone, Copy)]
pub(crate) struct Inward {
    pub source: engine::Source,
    pub tag: engine::TagMatch,
}

impl Outward {
    pub fn new(comm: &engine::Comm, dest: Dest, tag: i32) -> Result<Outward> {
        let dest = match dest {
            Dest::Rank(rank) => comm.dest(number(rank), NULL)?,
            Dest::Nobody => engine::Dest::Null,
        };
        Ok(Outward { dest, tag: engine::Tag::new(tag.into())? })
    }

    /// What a rank does that waits here.
    pub fn activity(&self) -> Activity {
        match self.dest {
            engine::Dest::Rank(to) => Activity::Send { to, tag: self.tag.value() },
            engine::Dest::Null => Activity::Running,
        }
    }
}

impl Inward {
    pub fn new(comm: &engine::Comm, source: Source, tag: TagMatch) -> Result<Inward> {
        let source = match source {
            Source::Rank(rank) => comm.source(number(rank), NULL, ANY)?,
            Source::Any => engine::Source::Any,
            Source::Nobody => engine::Source::Null,
        };
        let tag = match tag {
            TagMatch::Is(tag) => engine::TagMatch::Is(engine::Tag::new(tag.into())?),
            TagMatch::Any => engine::TagMatch::Any,
        };
        Ok(Inward { source, tag })
    }

    /// What a rank does that waits here.
    pub fn activity(&self) -> Activity {
        let (from, tag) = self.parts();
        Activity::Receive { from, tag }
    }

    /// What a rank does that probes here.
    pub fn probing(&self) -> Activity {
        let (from, tag) = self.parts();
        Activity::Probe { from, tag }
    }

    fn parts(&self) -> (Option<u32>, Option<i32>) {
        let from = match self.source {
            engine::Source::Rank(rank) => Some(rank),
            engine::Source::Any | engine::Source::Null => None,
        };
        let tag = match self.tag {
            engine::TagMatch::Is(tag) => Some(tag.value()),
            engine::TagMatch::Any => None,
        };
        (from, tag)
    }
}

/// A rank as the engine checks it. One that needs 64 bits is out of range either way.
pub(crate) fn number(rank: usize) -> i64 {
    i64::try_from(rank).unwrap_or(i64::MAX)
}

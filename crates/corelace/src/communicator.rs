//! Communicators: who talks to whom (MPI chapter 7).

use std::marker::PhantomData;

use engine::Comm;

use crate::activity::Collective;
use crate::address::number;
use crate::error::Result;
use crate::group::Group;
use crate::kind::{Intra, Kind, OneGroup};
use crate::raw::{Process, collective};

/// A group of ranks that talk to each other, and this rank's place in it.
///
/// Messages of one communicator never meet receives of another. The first communicator, the *world*, comes from
/// [`run`](crate::run) or [`Universe::world`](crate::Universe::world); others are made of it by
/// [`duplicate`](Communicator::duplicate), [`split`](Communicator::split) and [`create`](Communicator::create).
///
/// # One rank, one thread of control
///
/// A communicator is neither [`Send`] nor [`Sync`]: it belongs to the rank that it was given to, and a rank is one thread of
/// control (MPI_THREAD_FUNNELED, section 11.6). Threads that a rank starts compute, and leave communication to the rank:
///
/// ```compile_fail,E0277
/// corelace::run(2, |world| {
///     std::thread::scope(|threads| {
///         threads.spawn(|| world.barrier());
///     });
/// });
/// ```
///
/// It cannot leave its job either, because it borrows from it:
///
/// ```compile_fail
/// let mut kept = None;
/// {
///     let universe = corelace::init().unwrap();
///     kept = Some(universe.world());
/// }
/// kept.unwrap().barrier();
/// ```
///
/// # Kinds
///
/// `K` says what kind of communicator it is, and so what can be done with it: a plain one, an
/// [intercommunicator](crate::Intercommunicator), or one with a [topology](crate::CartesianCommunicator).
pub struct Communicator<'job, K: Kind = Intra> {
    pub(crate) process: &'job Process,
    pub(crate) comm: Comm,
    kind: PhantomData<K>,
}

impl<K: Kind> Clone for Communicator<'_, K> {
    fn clone(&self) -> Self {
        self.sibling(self.comm.clone())
    }
}

impl<'job> Communicator<'job> {
    pub(crate) fn world(process: &'job Process) -> Communicator<'job> {
        Communicator::of(process, process.rank().world().clone())
    }
}

impl<'job, K: Kind> Communicator<'job, K> {
    /// This rank's number, from 0 to [`size`](Communicator::size) - 1 (MPI_Comm_rank).
    pub fn rank(&self) -> usize {
        self.comm.rank() as usize
    }

    /// How many ranks there are (MPI_Comm_size).
    pub fn size(&self) -> usize {
        self.comm.size() as usize
    }

    /// Seconds since an arbitrary time in the past, the same during the life of the process (MPI_Wtime, section 9.6). On a
    /// simulated chip this is virtual time.
    pub fn wtime(&self) -> f64 {
        let fabric = self.process.rank().fabric();
        fabric.now() as f64 / fabric.caps().ticks_per_second as f64
    }

    /// Computes for this many cycles of the rank's core: work that takes virtual time on a simulated chip, and nothing where time
    /// is real.
    pub fn compute(&self, cycles: u64) -> Result<()> {
        self.compute_on(1, cycles)
    }

    /// Lets this many cores of the rank's place compute side by side, for this many cycles each. Starting them and waiting for the last takes
    /// time besides, as the chip's description says. A rank has an equal share of the cores of its place; asking for more is an error.
    ///
    /// ```
    /// let run = corelace::run_on("mesh16", 1, |world| world.compute_on(4, 10_000).is_ok() && world.compute_on(5, 1).is_err())?;
    /// assert_eq!(run.values, [true]);
    /// assert_eq!(run.stats.cycles, 10_000 + 3 * 20 + 100);
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn compute_on(&self, cores: u32, cycles: u64) -> Result<()> {
        self.process.call(|rank| rank.compute(cycles, cores))
    }

    /// All ranks of the chip or machine, with the I/O rank as the last one where there is one. Without it, the ranks of the world.
    ///
    /// ```
    /// corelace::run(2, |world| {
    ///     world.compute(10_000).unwrap();
    ///     assert_eq!(world.local().size(), 2);
    ///     assert!(!world.is_io_rank());
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn local(&self) -> Communicator<'job> {
        self.sibling(self.process.rank().local().clone())
    }

    /// True if this rank is the I/O rank, whose world is itself alone.
    pub fn is_io_rank(&self) -> bool {
        self.process.rank().is_io_rank()
    }

    /// The ranks of this communicator, as an ordered set (MPI_Comm_group).
    pub fn group(&self) -> Group<'job> {
        Group::of(self.comm.group().clone())
    }

    /// A communicator with the same ranks whose messages are kept apart from this one's (MPI_Comm_dup, section 7.4.2): what
    /// a library takes for itself. All ranks call it.
    #[track_caller]
    pub fn duplicate(&self) -> Result<Communicator<'job, K>> {
        let comm = collective::blocking(self.process, Collective::Duplicate, |rank| rank.dup(&self.comm))?;
        Ok(self.sibling(comm))
    }

    /// How this communicator compares with another (MPI_Comm_compare).
    pub fn compare<L: Kind>(&self, other: &Communicator<'_, L>) -> Comparison {
        match self.comm.compare(&other.comm) {
            engine::Comparison::Identical => Comparison::Identical,
            engine::Comparison::Congruent => Comparison::Congruent,
            engine::Comparison::Similar => Comparison::Similar,
            engine::Comparison::Unequal => Comparison::Unequal,
        }
    }

    /// A communicator of another kind, of the same rank.
    pub(crate) fn sibling<L: Kind>(&self, comm: Comm) -> Communicator<'job, L> {
        Communicator::of(self.process, comm)
    }

    /// A communicator of this kind, as the engine has made it.
    pub(crate) fn of(process: &'job Process, comm: Comm) -> Communicator<'job, K> {
        Communicator { process, comm, kind: PhantomData }
    }
}

/// Smaller communicators.
impl<'job, K: OneGroup> Communicator<'job, K> {
    /// The same communicator without its topology's methods: for functions that take a plain one.
    pub fn plain(&self) -> Communicator<'job> {
        self.sibling(self.comm.clone())
    }

    /// Communicators of those ranks that give the same colour, ordered by key and then by rank (MPI_Comm_split, section
    /// 7.4.2). `None` for a rank that gives no colour. All ranks call it.
    ///
    /// ```
    /// corelace::run(6, |world| {
    ///     // Rows of two: ranks 0 and 1, 2 and 3, 4 and 5.
    ///     let row = world.split(Some(world.rank() as u32 / 2), 0).unwrap().unwrap();
    ///     assert_eq!(row.size(), 2);
    ///     assert_eq!(row.rank(), world.rank() % 2);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Communicator<'job>>> {
        let comm =
            collective::blocking(self.process, Collective::Split, |rank| rank.split(&self.comm, color, key))?;
        Ok(comm.map(|comm| self.sibling(comm)))
    }

    /// A communicator of a group of this one's ranks (MPI_Comm_create, section 7.4.2). `None` for those outside of it. All ranks
    /// call it; they may give different groups if these have no rank in common.
    ///
    /// ```
    /// corelace::run(5, |world| {
    ///     let edges = world.group().include(&[4, 0]).unwrap();
    ///     match world.create(&edges).unwrap() {
    ///         Some(edges) => assert_eq!(edges.rank(), if world.rank() == 4 { 0 } else { 1 }),
    ///         None => assert!((1..4).contains(&world.rank())),
    ///     }
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn create(&self, group: &Group<'_>) -> Result<Option<Communicator<'job>>> {
        let comm =
            collective::blocking(self.process, Collective::Create, |rank| rank.create(&self.comm, &group.0))?;
        Ok(comm.map(|comm| self.sibling(comm)))
    }

    /// As [`create`](Communicator::create), called by the members of the group alone (MPI_Comm_create_group). `tag` keeps calls that
    /// are made at the same time apart.
    #[track_caller]
    pub fn create_group(&self, group: &Group<'_>, tag: i32) -> Result<Option<Communicator<'job>>> {
        let tag = engine::Tag::new(tag.into())?;
        let comm = collective::blocking(self.process, Collective::Create, |rank| {
            rank.create_group(&self.comm, &group.0, tag)
        })?;
        Ok(comm.map(|comm| self.sibling(comm)))
    }

    /// Checks the root of a collective.
    pub(crate) fn root(&self, root: usize) -> Result<u32> {
        Ok(self.comm.root(number(root))?)
    }
}

impl<K: Kind> std::fmt::Debug for Communicator<'_, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Communicator(rank {} of {})", self.rank(), self.size())
    }
}

/// How two communicators compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// The same communicator.
    Identical,
    /// The same ranks in the same order, but messages are kept apart.
    Congruent,
    /// The same ranks in another order.
    Similar,
    /// Different ranks.
    Unequal,
}

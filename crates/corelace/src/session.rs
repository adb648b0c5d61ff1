//! Sessions: how parts of a program use MPI without knowing of each other (MPI section 11.3).

use std::fmt;
use std::mem::ManuallyDrop;

use engine::ProcessSet;

use crate::activity::Collective;
use crate::address::number;
use crate::communicator::Communicator;
use crate::error::Result;
use crate::group::Group;
use crate::kind::{Inter, Kind};
use crate::part::Part;
use crate::raw::{Process, collective};
use crate::universe::InitError;

/// A way into the job that needs no world: from named sets of processes to groups, from groups to communicators (MPI_Session_init).
///
/// A library that begins a session of its own needs to know neither whether the program uses MPI, nor whether other libraries do. A process is part of its job
/// from the first session or [`init`](crate::init) to the last one's end, as often as that happens.
///
/// ```
/// use corelace::{ProcessSet, Session, op};
///
/// fn total(of: f64) -> f64 {
///     let session = Session::new().unwrap();
///     let everybody = session.group(ProcessSet::World);
///     let comm = session.communicator(&everybody, "org.example.total").unwrap();
///     comm.allreduce(&of, op::sum()).unwrap()
/// }
/// // Twice: the process is at rest in between.
/// assert_eq!(total(2.5) + total(0.5), 3.0);
/// ```
///
/// Ranks inside of a program have theirs from any communicator, as those of a universe may:
///
/// ```
/// use corelace::ProcessSet;
///
/// corelace::run(4, |world| {
///     let session = world.session();
///     let odd = session.group(ProcessSet::World).range(1, 3, 2).unwrap();
///     // Only the members of a group make its communicator.
///     if world.rank() % 2 == 1 {
///         let odd = session.communicator(&odd, "odd ones").unwrap();
///         assert_eq!((odd.size(), odd.rank()), (2, world.rank() / 2));
///     }
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
///
/// # What ends with it
///
/// Groups and communicators of a session end before it does:
///
/// ```compile_fail,E0505
/// # use corelace::{ProcessSet, Session};
/// let session = Session::new().unwrap();
/// let group = session.group(ProcessSet::World);
/// let comm = session.communicator(&group, "mine").unwrap();
/// session.finalize();
/// comm.barrier();
/// ```
///
/// Dropping a session waits for nobody but, if it is the last user of the process's part in the job, for what this process has sent. One that is dropped by a panic
/// does not end its use: the launcher sees a process that has left without a word, and ends the job.
///
/// # One thread
///
/// All sessions and the universe of a process belong to the thread of the first one. They cannot be sent to others, and others cannot begin any:
///
/// ```compile_fail,E0277
/// let session = corelace::Session::new().unwrap();
/// std::thread::spawn(move || drop(session));
/// ```
pub struct Session<'job> {
    process: &'job Process,
    /// What it keeps active; nothing if it was made beside a world that does.
    keeps: Option<&'static Part>,
}

impl Session<'static> {
    /// Begins a session: joins the job that `mpirun` has started this process for, if nobody has done so; without `mpirun`, a job of one rank. An error in a thread
    /// other than that which has joined.
    pub fn new() -> std::result::Result<Session<'static>, InitError> {
        let part = Part::begin_session()?;
        Ok(Session { process: part.process(), keeps: Some(part) })
    }
}

impl<'job, K: Kind> Communicator<'job, K> {
    /// A session beside this communicator's world, which lives at least as long.
    pub fn session(&self) -> Session<'job> {
        Session { process: self.process, keeps: None }
    }
}

impl Session<'_> {
    /// The sets of processes that there are (MPI_Session_get_num_psets, MPI_Session_get_nth_pset). [`ProcessSet::named`] finds one by its name.
    pub fn process_sets(&self) -> &'static [ProcessSet] {
        &ProcessSet::ALL
    }

    /// The processes of a set (MPI_Group_from_session_pset).
    pub fn group(&self, set: ProcessSet) -> Group<'_> {
        Group::of(self.process.rank().process_set(set))
    }

    /// A communicator of the members of a group, who all call this (MPI_Comm_create_from_group). Its `name` keeps calls apart that are made at the same
    /// time by some of the same processes, in other sessions for example: begin it with something that is yours. An error for who is not in the group.
    #[track_caller]
    pub fn communicator(&self, group: &Group<'_>, name: &str) -> Result<Communicator<'_>> {
        let comm = collective::blocking(self.process, Collective::Create, |rank| {
            rank.create_from_group(&group.0, name)
        })?;
        Ok(Communicator::of(self.process, comm))
    }

    /// A communicator between two groups, whose members all call this (MPI_Intercomm_create_from_groups), each with its own group as `local`. `leader` is a rank in
    /// it; `remote`, the other group and its leader's rank, matters at the leader only.
    #[track_caller]
    pub fn intercommunicator(
        &self,
        local: &Group<'_>,
        leader: usize,
        remote: (&Group<'_>, usize),
        name: &str,
    ) -> Result<Communicator<'_, Inter>> {
        let place = |group: &Group<'_>, rank: usize, role| {
            let (given, size) = (number(rank), group.0.size());
            match u32::try_from(given) {
                Ok(rank) if rank < size => Ok(rank),
                _ => Err(engine::Error::Rank { role, given, size }),
            }
        };
        let leader = place(local, leader, "leader")?;
        let remote = match local.0.node(leader) == Some(self.process.rank().fabric().me()) {
            true => Some((&remote.0.0, place(remote.0, remote.1, "remote leader")?)),
            false => None,
        };
        let comm = collective::blocking(self.process, Collective::Intercommunicator, |rank| {
            rank.create_intercomm_from_groups(&local.0, leader, remote, name)
        })?;
        Ok(Communicator::of(self.process, comm))
    }

    /// Ends the session, as dropping does, and tells if that fails.
    #[track_caller]
    pub fn finalize(self) -> Result<()> {
        ManuallyDrop::new(self).end()
    }

    #[track_caller]
    fn end(&self) -> Result<()> {
        self.keeps.map_or(Ok(()), Part::end_session)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking()
            && let Err(error) = self.end()
        {
            eprintln!("corelace: the end of a session failed: {error}");
        }
    }
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session(beside {} ranks)", self.process.rank().world().size())
    }
}

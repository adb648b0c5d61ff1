//! Intercommunicators: two groups of ranks that talk to each other (MPI sections 6.2.3 and 7.6).
//!
//! Ranks that messages go to and come from are those of the other group, and so is what collectives give: each group gets what the other one put in.

use crate::activity::Collective;
use crate::address::number;
use crate::blocks::Blocks;
use crate::collective::room_for;
use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::group::Group;
use crate::kind::{Inter, Kind, OneGroup};
use crate::op::Op;
use crate::raw::collective::{self, Lengths};
use crate::raw::datatype::zeroed_vec_of;
use crate::raw::{BufferMut, Data, Datatype, reduction};
use crate::request::CollectiveRequest;
use crate::scope::Scope;

/// Who is the root of a collective between two groups, as a rank sees it (MPI section 6.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// This rank (MPI_ROOT).
    Here,
    /// Another rank of this one's group: this rank takes no part (MPI_PROC_NULL).
    Beside,
    /// This rank of the other group.
    Remote(usize),
}

impl<'job, K: OneGroup> Communicator<'job, K> {
    /// Connects this communicator with another, which calls it at the same time (MPI_Intercomm_create, section 7.6.2). Each has a `leader`; the leaders find
    /// each other in `peers`, where `remote_leader` is the rank of the other one, by the tag. `peers`, and the rank there, matter at the leader only.
    ///
    /// ```
    /// use corelace::{Root, op};
    ///
    /// corelace::run(5, |world| {
    ///     // Ranks 0 and 1 on one side, 2 to 4 on the other.
    ///     let low = world.rank() < 2;
    ///     let side = world.split(Some(u32::from(low)), 0)?.unwrap();
    ///     let between = side.intercommunicator(0, &world, if low { 2 } else { 0 }, 7)?;
    ///     assert_eq!((between.size(), between.remote_size()), if low { (2, 3) } else { (3, 2) });
    ///
    ///     // Ranks are those of the other side.
    ///     if low && between.rank() == 1 {
    ///         between.send(&42, 2, 0)?;
    ///     } else if !low && between.rank() == 2 {
    ///         assert_eq!(between.recv::<i32>(1, 0)?.0, 42);
    ///     }
    ///     // Each side gets what the other one puts in.
    ///     let sum = between.allreduce(&world.rank(), op::sum())?;
    ///     assert_eq!(sum, if low { 2 + 3 + 4 } else { 0 + 1 });
    ///     let mut told = if world.rank() == 1 { 3.5 } else { 0.0 };
    ///     let root = match world.rank() {
    ///         0 => Root::Beside,
    ///         1 => Root::Here,
    ///         _ => Root::Remote(1),
    ///     };
    ///     between.broadcast(&mut told, root)?;
    ///     assert_eq!(told, if world.rank() == 0 { 0.0 } else { 3.5 });
    ///
    ///     // One group again, the low ones last.
    ///     let together = between.merge(low)?;
    ///     assert_eq!(together.rank(), (world.rank() + 3) % 5);
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    ///
    /// What has one group cannot be merged, and what has two has no scan:
    ///
    /// ```compile_fail,E0599
    /// # corelace::run(2, |world| {
    /// world.merge(true);
    /// # }).unwrap();
    /// ```
    ///
    /// ```compile_fail,E0599
    /// # fn scans(between: corelace::Intercommunicator<'_>) {
    /// between.scan(&1, corelace::op::sum());
    /// # }
    /// ```
    #[track_caller]
    pub fn intercommunicator<L: Kind>(
        &self,
        leader: usize,
        peers: &Communicator<'_, L>,
        remote_leader: usize,
        tag: i32,
    ) -> Result<Communicator<'job, Inter>> {
        let (leader, tag) = (self.root(leader)?, engine::Tag::new(tag.into())?);
        if !std::ptr::eq(self.process, peers.process) {
            return Err(Error::length(String::from("the leaders' communicator belongs to another job")));
        }
        let bridge = if leader == self.comm.rank() {
            let remote = peers.comm.root(number(remote_leader))?;
            Some(engine::Bridge { comm: &peers.comm, leader: remote, crossing: None })
        } else {
            None
        };
        let made = collective::blocking(self.process, Collective::Intercommunicator, |rank| {
            rank.create_intercomm(&self.comm, leader, bridge, tag)
        })?;
        Ok(self.sibling(made))
    }
}

/// The two groups.
impl<'job> Communicator<'job, Inter> {
    /// How many ranks the other group has (MPI_Comm_remote_size).
    pub fn remote_size(&self) -> usize {
        self.comm.peers().size() as usize
    }

    /// The ranks of the other group (MPI_Comm_remote_group).
    pub fn remote_group(&self) -> Group<'job> {
        Group::of(self.comm.peers().clone())
    }

    /// One communicator of both groups (MPI_Intercomm_merge): the group that says `high` comes last. All ranks of a group say the same.
    #[track_caller]
    pub fn merge(&self, high: bool) -> Result<Communicator<'job>> {
        let made =
            collective::blocking(self.process, Collective::Merge, |rank| rank.merge(&self.comm, high))?;
        Ok(self.sibling(made))
    }

    /// Intercommunicators between those ranks of both groups that give the same colour (MPI_Comm_split). `None` for a rank that gives no
    /// colour, or one that nobody of the other group gives.
    #[track_caller]
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Communicator<'job, Inter>>> {
        let made =
            collective::blocking(self.process, Collective::Split, |rank| rank.split(&self.comm, color, key))?;
        Ok(made.map(|made| self.sibling(made)))
    }
}

/// Collectives with a root between two groups. All ranks of both call these, in the same order.
impl Communicator<'_, Inter> {
    /// Copies the root's value or slice to all ranks of the other group (MPI_Bcast).
    #[track_caller]
    pub fn broadcast<B: BufferMut + ?Sized>(&self, data: &mut B, root: Root) -> Result<()> {
        let root = self.checked(root)?;
        collective::broadcast(self.process, data.into(), root, &self.comm).run(self.process)
    }

    /// Collects equally many elements of each rank of the other group at the root; `None` elsewhere (MPI_Gather). What the root gives
    /// says how many these are.
    #[track_caller]
    pub fn gather<B: Data + ?Sized>(&self, data: &B, root: Root) -> Result<Option<Vec<B::Item>>> {
        let (at, items) = (self.checked(root)?, data.items());
        let mut all = match root {
            Root::Here => Some(self.room_for_all(items.len())?),
            _ => None,
        };
        let send = matches!(root, Root::Remote(_)).then(|| items.into());
        let recv = all.as_mut().map(|all| (&mut all[..]).into());
        collective::gather(self.process, send, recv, at, &self.comm)?.run(self.process)?;
        Ok(all)
    }

    /// Collects a slice of any length of each rank of the other group at the root; `None` elsewhere (MPI_Gatherv).
    #[track_caller]
    pub fn gatherv<T: Datatype>(&self, data: &[T], root: Root) -> Result<Option<Blocks<T>>> {
        let at = self.checked(root)?;
        let Some(counts) = self.gather(&data.len(), root)? else {
            let send = matches!(root, Root::Remote(_)).then(|| data.into());
            collective::gatherv(self.process, send, None, at, &self.comm)?.run(self.process)?;
            return Ok(None);
        };
        let (mut all, lengths) = room_for(&counts)?;
        let recv = Some(((&mut all[..]).into(), lengths));
        collective::gatherv::<T>(self.process, None, recv, at, &self.comm)?.run(self.process)?;
        Ok(Some(Blocks::new(all, counts)))
    }

    /// Deals out the root's elements, equally many to each rank of the other group, whose `share` has that length (MPI_Scatter). `data` counts at the
    /// root only, `share` on the other side only.
    #[track_caller]
    pub fn scatter_into<B: Data + ?Sized>(&self, data: &[B::Item], share: &mut B, root: Root) -> Result<()> {
        let at = self.checked(root)?;
        let send = (root == Root::Here).then(|| data.into());
        let recv = matches!(root, Root::Remote(_)).then(|| share.items_mut().into());
        collective::scatter(self.process, send, recv, at, &self.comm)?.run(self.process)
    }

    /// Deals out blocks of any length from the root, one to each rank of the other group; empty elsewhere (MPI_Scatterv). `blocks` counts at the root
    /// only.
    #[track_caller]
    pub fn scatterv<T: Datatype>(&self, blocks: Option<&Blocks<T>>, root: Root) -> Result<Vec<T>> {
        let (at, remote) = (self.checked(root)?, self.remote_size());
        // A root without a block for each rank tells them so. Those beside it do not know: for them the second step takes place, too.
        let blocks = blocks.filter(|blocks| root == Root::Here && blocks.len() == remote);
        let lacks = root == Root::Here && blocks.is_none();
        let told = match blocks {
            Some(blocks) => blocks.counts().to_vec(),
            None => vec![usize::MAX; if lacks { remote } else { 0 }],
        };
        let mut mine = 0;
        self.scatter_into(&told, &mut mine, root)?;
        let refused = lacks || mine == usize::MAX;
        let mut share = zeroed_vec_of(if refused { 0 } else { mine })?;
        let send = match blocks {
            Some(blocks) => Some((blocks.flat(), Lengths::new::<T>(blocks.counts())?)),
            None if lacks => Some((&[][..], Lengths::new::<T>(&vec![0; remote])?)),
            None => None,
        };
        let send = send.map(|(items, lengths)| (items.into(), lengths));
        let recv = matches!(root, Root::Remote(_)).then(|| (&mut share[..]).into());
        collective::scatterv(self.process, send, recv, at, &self.comm)?.run(self.process)?;
        if refused {
            let ranks = if root == Root::Here { remote } else { self.size() };
            return Err(Error::length(format!("the root has not one block for each of the {ranks} ranks")));
        }
        Ok(share)
    }

    /// Combines the values or slices of the other group at the root; `None` elsewhere (MPI_Reduce). What the root gives says how long these are.
    #[track_caller]
    pub fn reduce<B: Data + ?Sized>(
        &self,
        data: &B,
        op: Op<B::Item>,
        root: Root,
    ) -> Result<Option<B::Owned>> {
        let at = self.checked(root)?;
        let mut result = (root == Root::Here).then(|| data.zeroed());
        let send = matches!(root, Root::Remote(_)).then(|| data.items().into());
        let recv = result.as_mut().map(|result| B::owned_items(result).into());
        reduction::reduce(self.process, send, recv, &op, at, &self.comm)?.run(self.process)?;
        Ok(result)
    }

    fn checked(&self, root: Root) -> Result<engine::Root> {
        checked(root, &self.comm)
    }
}

/// Collectives between two groups. All ranks of both start the same ones in the same order.
impl<'scope, 'env> Scope<'scope, 'env, Inter> {
    /// Starts a broadcast to the other group (MPI_Ibcast).
    pub fn ibroadcast<B: BufferMut + ?Sized>(
        &'scope self,
        data: &'scope mut B,
        root: Root,
    ) -> Result<CollectiveRequest<'scope, B>> {
        let (process, root) = (self.pending.process(), checked(root, self.comm)?);
        let lent = self.pending.fill(data, |data| Ok(collective::broadcast(process, data, root, self.comm)));
        lent.map(CollectiveRequest)
    }
}

fn checked(root: Root, comm: &engine::Comm) -> Result<engine::Root> {
    Ok(match root {
        Root::Here => engine::Root::Me,
        Root::Beside => engine::Root::Beside,
        Root::Remote(rank) => engine::Root::Rank(comm.root(number(rank))?),
    })
}

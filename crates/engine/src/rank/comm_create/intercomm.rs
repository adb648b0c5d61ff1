//! Creating and merging intercommunicators (MPI section 7.6).
//!
//! Before there is an intercommunicator, nobody but the two leaders can talk to the other side. So what both sides must know goes from
//! leader to leader and from each leader to its group: first the groups, then, round by round, the numbers that the members name
//! (`agreement`). A leader that cannot take part tells its group, so that nobody is left waiting on its side.

use alloc::vec::Vec;

use super::agreement::{Search, store};
use super::{AGREEMENT, tag_of_name, word};
use crate::coll::{allreduce, bcast};
use crate::rank::Rank;
use crate::schedule::Builder;
use crate::values::comm::Comm;
use crate::values::datatype::{Basic, Datatype};
use crate::values::error::{Error, Result};
use crate::values::group::Group;
use crate::values::ids::{ContextId, Tag};
use crate::values::op::{Builtin, Op};

/// What the leader alone knows: how the other leader is reached.
#[derive(Clone, Copy)]
pub struct Bridge<'a> {
    /// A communicator in which both leaders are, or on whose two sides they are.
    pub comm: &'a Comm,
    /// The other leader's rank there.
    pub leader: u32,
    /// Where that communicator is in another lane than the call: lets something be done in that lane, while the caller waits.
    pub crossing: Option<&'a Crossing<'a>>,
}

/// Lets something be done in another lane of the process.
pub type Crossing<'a> = dyn Fn(&mut dyn FnMut(&Rank)) + 'a;

impl core::fmt::Debug for Bridge<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Bridge").field("comm", self.comm).field("leader", &self.leader).finish()
    }
}

/// Two sides that are about to be connected.
struct Sides<'a> {
    local: &'a Comm,
    leader: u32,
    /// At the leader only.
    bridge: Option<Bridge<'a>>,
    tag: Tag,
}

impl Rank {
    /// An intercommunicator between the members of `local` and those on the other side of the bridge, which only the member `leader` needs
    /// to know (MPI_Intercomm_create). Collective over both sides.
    pub fn create_intercomm(
        &self,
        local: &Comm,
        leader: u32,
        bridge: Option<Bridge<'_>>,
        tag: Tag,
    ) -> Result<Comm> {
        local.intra()?;
        let sides = Sides { local, leader, bridge: bridge.filter(|_| local.rank() == leader), tag };
        let remote = self.learn_remote(&sides)?;
        if !local.group().is_disjoint(&remote) {
            return Err(Error::Comm {
                reason: "the two groups have a member in common, expected disjoint groups",
            });
        }
        let seed = [local.group(), &remote].into_iter().filter_map(|group| group.node(0)).min();
        let new = Comm::inter(local.group().clone(), remote, local.rank());
        let (Some(new), Some(seed)) = (new, seed) else {
            return Err(Error::Comm { reason: "the remote group is empty" });
        };
        self.reclaim_contexts();
        let search =
            Search::new(seed.0.wrapping_mul(0x9e37_79b9) ^ tag.value() as u32, true, self.wish(local));
        loop {
            let highest = self.highest_of_both(&sides, search.name(&self.lane.contexts))?;
            if let Some((number, lane)) = search.conclude(&self.lane.contexts, highest)? {
                self.lane.contexts.give(&new, number, lane);
                return Ok(new);
            }
        }
    }

    /// The same between two groups of any processes of the job (MPI_Intercomm_create_from_groups). The remote group and the rank of its
    /// leader need to be known by the local leader only.
    pub fn create_intercomm_from_groups(
        &self,
        local: &Group,
        leader: u32,
        remote: Option<(&Group, u32)>,
        name: &str,
    ) -> Result<Comm> {
        // It stays in this lane, where it is used.
        let own = self.make_from_group(local, name, 0)?;
        let bridge = remote.and_then(|(group, leader)| group.node(leader));
        let bridge = bridge.map(|node| Bridge { comm: self.universe(), leader: node.0, crossing: None });
        self.create_intercomm(&own, leader, bridge, tag_of_name(name))
    }

    /// One communicator of both groups of an intercommunicator (MPI_Intercomm_merge): those who say `high` come last; the lower group comes
    /// first if both say the same. Collective over both groups.
    pub fn merge(&self, comm: &Comm, high: bool) -> Result<Comm> {
        if !comm.is_inter() {
            return Err(Error::Comm {
                reason: "the communicator is an intracommunicator, expected an intercommunicator",
            });
        }
        let (own, others) = comm.places();
        let mut b = Builder::new(self.shop(), comm.union(), AGREEMENT);
        b.set_op(&Op::builtin(Builtin::Max));
        let said = b.scratch(2, &Datatype::basic(Basic::U32))?;
        for upper in [0, 1] {
            let mine = (upper == 1) == (own > others);
            store(&said.elements(upper, 1), u32::from(mine && high));
        }
        allreduce::write_small(&mut b, &said)?;
        let said = self.run_for(b, said)?;
        let turned = word(&said) > word(&said[4..]);
        let local_first = (own < others) != turned;
        let (group, place) = if local_first {
            (comm.group().then(comm.peers()), comm.rank())
        } else {
            (comm.peers().then(comm.group()), comm.rank() + comm.peers().size())
        };
        let new = Comm::new(ContextId::PENDING, group, place);
        self.agree(comm, Some(&new))?;
        Ok(new)
    }

    /// The group of the other side.
    fn learn_remote(&self, sides: &Sides<'_>) -> Result<Group> {
        let local = sides.local;
        let mut failed = None;
        let mut size = 0;
        let own: Vec<u8> = local.group().nodes().flat_map(|node| node.0.to_ne_bytes()).collect();
        if local.rank() == sides.leader {
            let told = self.exchange(sides, &local.size().to_ne_bytes(), 4);
            size = told.map_or_else(
                |error| {
                    failed = Some(error);
                    0
                },
                |told| word(&told),
            );
        }
        let size = word(&self.tell_group(sides, &size.to_ne_bytes())?);
        if size == 0 {
            let reason = "the leader of the local group could not reach that of the remote group";
            return Err(failed.unwrap_or(Error::Comm { reason }));
        }
        let mut nodes = alloc::vec![0; 4 * size as usize];
        if local.rank() == sides.leader {
            nodes = self.exchange(sides, &own, nodes.len())?;
        }
        let nodes = self.tell_group(sides, &nodes)?;
        let nodes = nodes.chunks_exact(4).map(|node| fabric::Node(word(node)));
        Ok(local.group().derive(Group::of(nodes.collect())))
    }

    /// The highest number that a member of either side names.
    fn highest_of_both(&self, sides: &Sides<'_>, named: u32) -> Result<u32> {
        let mut highest = self.highest_of(sides.local, named)?;
        if sides.local.rank() == sides.leader {
            let theirs = self.exchange(sides, &highest, 4)?;
            if word(&theirs) > word(&highest) {
                highest = theirs;
            }
        }
        Ok(word(&self.tell_group(sides, &highest)?))
    }

    /// The highest number that a member of a communicator names.
    fn highest_of(&self, comm: &Comm, named: u32) -> Result<Vec<u8>> {
        let mut b = Builder::new(self.shop(), comm, AGREEMENT);
        b.set_op(&Op::builtin(Builtin::Max));
        let number = b.scratch(1, &Datatype::basic(Basic::U32))?;
        store(&number, named);
        allreduce::write_small(&mut b, &number)?;
        self.run_for(b, number)
    }

    /// Waits until all members of a communicator have called this, before others are told of them.
    pub fn await_members(&self, comm: &Comm) -> Result<()> {
        self.highest_of(comm, 0).map(drop)
    }

    /// Exchanges bytes with the other leader.
    fn exchange(&self, sides: &Sides<'_>, bytes: &[u8], coming: usize) -> Result<Vec<u8>> {
        let Some(bridge) = sides.bridge else {
            return Err(Error::Comm {
                reason: "the leader gives no communicator that reaches the remote leader",
            });
        };
        bridge.comm.dest(i64::from(bridge.leader), -1)?;
        let mut told = Err(Error::Internal { reason: "nobody went to the lane of the bridge" });
        let mut exchange = |rank: &Rank| told = rank.exchange_over(bridge, sides.tag, bytes, coming);
        match bridge.crossing {
            Some(cross) => cross(&mut exchange),
            None => exchange(self),
        }
        told
    }

    /// The same, in the lane of the bridge.
    fn exchange_over(&self, bridge: Bridge<'_>, tag: Tag, bytes: &[u8], coming: usize) -> Result<Vec<u8>> {
        let mut b = Builder::for_group(self.shop(), bridge.comm, tag, (0, 1), AGREEMENT);
        let (leaving, arriving) = (b.scratch_bytes(bytes.len() as u64)?, b.scratch_bytes(coming as u64)?);
        leaving.store(bytes);
        b.receive(bridge.leader, &arriving);
        b.send(bridge.leader, &leaving);
        self.run_for(b, arriving)
    }

    /// What the leader tells its group.
    fn tell_group(&self, sides: &Sides<'_>, bytes: &[u8]) -> Result<Vec<u8>> {
        self.told_by(sides.leader, sides.local, bytes)
    }

    /// What the member `leader` tells all of a communicator: its bytes, of which all give as many. For what they must agree on before they make another.
    pub fn told_by(&self, leader: u32, comm: &Comm, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut b = Builder::new(self.shop(), comm, AGREEMENT);
        let region = b.scratch_bytes(bytes.len() as u64)?;
        region.store(bytes);
        bcast::binomial::build(&mut b, &region, leader)?;
        self.run_for(b, region)
    }
}

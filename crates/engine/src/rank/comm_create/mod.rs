//! Creating communicators (MPI section 7.4.2). A creation is a collective over the communicator that it begins from, or over a group of its
//! members; what all have in common is in `agreement`. Those of intercommunicators are in `intercomm`.

mod agreement;
mod intercomm;
mod split;

pub use intercomm::{Bridge, Crossing};

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

use crate::rank::Rank;
use crate::schedule::{Builder, Next, Step};
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::group::Group;
use crate::values::ids::{ContextId, Tag};
use crate::values::memory::Region;
use crate::values::request::RequestId;

/// What those who watch call the schedules of these files.
const AGREEMENT: &str = "comm_create";

impl Rank {
    /// A communicator with the same members and a context of its own (MPI_Comm_dup). Collective over `comm`.
    pub fn dup(&self, comm: &Comm) -> Result<Comm> {
        let new = comm.alike();
        self.agree(comm, Some(&new))?;
        Ok(new)
    }

    /// As [`dup`](Rank::dup) without waiting. The communicator may be used once the request is complete.
    pub fn idup(&self, comm: &Comm) -> Result<(Comm, RequestId)> {
        let new = comm.alike();
        new.stay_in(comm.lane());
        self.reclaim_contexts();
        let mut b = Builder::new(self.shop(), comm.union(), AGREEMENT);
        // It can be named at once, though not used: by the lane, which is known if it stays.
        agreement::write(&mut b, Some(&new), comm.lane())?;
        let request = self.lane.launch(b.finish())?;
        Ok((new, request))
    }

    /// A communicator of a subgroup (MPI_Comm_create). Collective over `comm`; members may give different groups if these are
    /// disjoint. `None` for those outside of their group. On an intercommunicator each side gives a subgroup of its own.
    pub fn create(&self, comm: &Comm, group: &Group) -> Result<Option<Comm>> {
        members_in(comm, group)?;
        let place = group.rank_of(self.fabric().me());
        if comm.is_inter() {
            return self.split(comm, place.map(|_| 0), place.unwrap_or(0) as i32);
        }
        let new = place.map(|place| Comm::new(ContextId::PENDING, group.clone(), place));
        self.agree(comm, new.as_ref())?;
        Ok(new)
    }

    /// As [`create`](Rank::create), collective over the group alone (MPI_Comm_create_group). `tag` keeps concurrent calls
    /// of the same members apart; calls one after the other may use the same one.
    pub fn create_group(&self, comm: &Comm, group: &Group, tag: Tag) -> Result<Option<Comm>> {
        self.make_group(comm, group, tag, self.wish(comm))
    }

    fn make_group(&self, comm: &Comm, group: &Group, tag: Tag, wish: u32) -> Result<Option<Comm>> {
        comm.intra()?;
        let members = members_in(comm, group)?;
        let Some(place) = group.rank_of(self.fabric().me()) else { return Ok(None) };
        let new = Comm::new(ContextId::PENDING, group.clone(), place);
        self.reclaim_contexts();
        let mut b = Builder::for_group(self.shop(), comm, tag, (place, group.size()), AGREEMENT);
        agreement::write(&mut b, Some(&new), wish)?;
        let mut plan = b.finish();
        plan.translate(&members);
        self.lane.run(plan)?;
        Ok(Some(new))
    }

    /// A communicator of a group of any processes of the job, collective over the group (MPI_Comm_create_from_group).
    pub fn create_from_group(&self, group: &Group, name: &str) -> Result<Comm> {
        self.make_from_group(group, name, self.wish(self.local()))
    }

    fn make_from_group(&self, group: &Group, name: &str, wish: u32) -> Result<Comm> {
        let made = self.make_group(self.universe(), group, tag_of_name(name), wish)?;
        made.ok_or(Error::Group { reason: "this process is not in the group, expected one of its members" })
    }

    /// Gives every communicator another context from now on, also after others are gone: for those who keep books by them.
    pub fn never_reuse_contexts(&self) {
        self.lane.contexts.keep_all();
    }

    /// Lets the members of a communicator agree on a number for a new one, of which this process is a member if it is given.
    fn agree(&self, comm: &Comm, new: Option<&Comm>) -> Result<()> {
        self.reclaim_contexts();
        let mut b = Builder::new(self.shop(), comm.union(), AGREEMENT);
        agreement::write(&mut b, new, self.wish(comm))?;
        self.lane.run(b.finish())
    }

    /// The lane that a communicator should take that is made from another.
    fn wish(&self, from: &Comm) -> u32 {
        from.next_lane(self.lane.contexts.lanes())
    }

    /// Makes the numbers of communicators of this lane that have gone free again, when there are some.
    pub fn reclaim_contexts(&self) {
        if self.lane.contexts.has_many_leaving() {
            let core = self.lane.core.borrow();
            self.lane.contexts.reclaim(core.open_contexts(self.fabric()));
        }
    }

    /// Runs a schedule that leaves a result in its scratch memory, which goes when it is done: a last step takes the result out.
    fn run_for(&self, mut b: Builder<'_>, result: Region) -> Result<Vec<u8>> {
        let bytes = Rc::new(RefCell::new(alloc::vec![0; result.bytes() as usize]));
        let taken = bytes.clone();
        b.push(Step::Call(Rc::new(move |_| {
            result.load(&mut taken.borrow_mut());
            Ok(Next::Step)
        })));
        self.lane.run(b.finish())?;
        Ok(bytes.take())
    }
}

/// The tag of a creation that has a name instead.
fn tag_of_name(name: &str) -> Tag {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    Tag::from_wire((name.bytes().fold(0x811c_9dc5, mix) & i32::MAX as u32) as i32)
}

/// The ranks in the communicator's local group of the members of a group.
fn members_in(comm: &Comm, group: &Group) -> Result<Vec<u32>> {
    let members: Option<Vec<u32>> = group.nodes().map(|node| comm.group().rank_of(node)).collect();
    members.ok_or(Error::Group { reason: "the group has a member that is not in the communicator" })
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

//! Creating communicators (MPI section 7.4.2): agreeing on a context.
//!
//! A context number must be unused at every member of the new communicator. Each rank keeps the lowest number above all that it has
//! used. The members take the maximum of these, then each says whether that number is still free at its side, because another
//! creation may have taken it while this one was under way (MPI_Comm_idup); if it is not free everywhere, they begin again. So any
//! number of creations may be under way at once. Two that begin again in step would take the same number from each other for ever,
//! so each adds a few places of its own: of two different numbers the higher one is free whoever comes first. Members of disjoint groups may share a number: no rank is in two of them.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;

use crate::coll::{allgather, allreduce};
use crate::rank::Rank;
use crate::schedule::{Builder, Next, Step};
use crate::values::comm::Comm;
use crate::values::contexts::Contexts;
use crate::values::datatype::{Basic, Datatype};
use crate::values::error::{Error, Result};
use crate::values::group::Group;
use crate::values::ids::{ContextId, Tag};
use crate::values::memory::Region;
use crate::values::op::{Builtin, Op};
use crate::values::request::RequestId;

/// What those who watch call the schedules of this file.
const AGREEMENT: &str = "comm_create";

impl Rank {
    /// A communicator with the same members and a context of its own (MPI_Comm_dup). Collective over `comm`.
    pub fn dup(&self, comm: &Comm) -> Result<Comm> {
        let new = comm.alike();
        self.agree(Builder::new(self.shop(), comm, AGREEMENT), None, Some(&new))?;
        Ok(new)
    }

    /// As [`dup`](Rank::dup) without waiting. The communicator may be used once the request is complete.
    pub fn idup(&self, comm: &Comm) -> Result<(Comm, RequestId)> {
        let new = comm.alike();
        let mut b = Builder::new(self.shop(), comm, AGREEMENT);
        write_agreement(&mut b, Some(&new))?;
        let request = self.lane.launch(b.finish())?;
        Ok((new, request))
    }

    /// Disjoint communicators, one for each colour, ordered by key and then by rank (MPI_Comm_split). `None` for a member
    /// that gives no colour. Collective over `comm`.
    pub fn split(&self, comm: &Comm, color: Option<u32>, key: i32) -> Result<Option<Comm>> {
        let wishes = self.exchange_wishes(comm, color, key)?;
        let mut chosen: Vec<(i32, u32)> = Vec::new();
        if color.is_some() {
            let same = wishes.iter().enumerate().filter(|(_, wish)| wish.0 == color);
            chosen.extend(same.map(|(rank, wish)| (wish.1, rank as u32)));
            chosen.sort_unstable();
        }
        let group = Group::of(chosen.iter().map(|(_, rank)| comm.node(*rank)).collect());
        let place = chosen.iter().position(|(_, rank)| *rank == comm.rank());
        let new = place.map(|place| Comm::new(ContextId::PENDING, group, place as u32));
        self.agree(Builder::new(self.shop(), comm, AGREEMENT), None, new.as_ref())?;
        Ok(new)
    }

    /// A communicator of a subgroup (MPI_Comm_create). Collective over `comm`; members may give different groups if these are
    /// disjoint. `None` for those outside of their group.
    pub fn create(&self, comm: &Comm, group: &Group) -> Result<Option<Comm>> {
        members_in(comm, group)?;
        let new = group
            .rank_of(self.fabric().me())
            .map(|place| Comm::new(ContextId::PENDING, group.clone(), place));
        self.agree(Builder::new(self.shop(), comm, AGREEMENT), None, new.as_ref())?;
        Ok(new)
    }

    /// As [`create`](Rank::create), collective over the group alone (MPI_Comm_create_group). `tag` keeps concurrent calls
    /// of the same members apart; calls one after the other may use the same one.
    pub fn create_group(&self, comm: &Comm, group: &Group, tag: Tag) -> Result<Option<Comm>> {
        let members = members_in(comm, group)?;
        let Some(place) = group.rank_of(self.fabric().me()) else { return Ok(None) };
        let new = Comm::new(ContextId::PENDING, group.clone(), place);
        let b = Builder::for_group(self.shop(), comm, tag, (place, group.size()), AGREEMENT);
        self.agree(b, Some(&members), Some(&new))?;
        Ok(Some(new))
    }

    /// Runs the agreement; `members` are those of the communicator that take part, if not all do.
    fn agree(&self, mut b: Builder<'_>, members: Option<&[u32]>, new: Option<&Comm>) -> Result<()> {
        write_agreement(&mut b, new)?;
        let mut plan = b.finish();
        if let Some(members) = members {
            plan.translate(members);
        }
        self.lane.run(plan)
    }

    /// Tells all members the colour and key of each.
    fn exchange_wishes(&self, comm: &Comm, color: Option<u32>, key: i32) -> Result<Vec<(Option<u32>, i32)>> {
        const WISH: usize = 12;
        let mut b = Builder::new(self.shop(), comm, AGREEMENT);
        let all = b.scratch_bytes(WISH as u64 * u64::from(comm.size()))?;
        let own = all.elements(WISH as u64 * u64::from(comm.rank()), WISH as u64);
        let mut wish = [0; WISH];
        wish[..4].copy_from_slice(&u32::from(color.is_some()).to_le_bytes());
        wish[4..8].copy_from_slice(&color.unwrap_or(0).to_le_bytes());
        wish[8..].copy_from_slice(&key.to_le_bytes());
        own.store(&wish);
        allgather::write(&mut b, &own, &all.elements(0, WISH as u64))?;
        // The scratch memory goes when the schedule is done, so its last step takes the contents out.
        let bytes = Rc::new(core::cell::RefCell::new(alloc::vec![0; WISH * comm.size() as usize]));
        let result = bytes.clone();
        b.push(Step::Call(Rc::new(move |_| {
            all.load(&mut bytes.borrow_mut());
            Ok(Next::Step)
        })));
        self.lane.run(b.finish())?;
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let wishes = result.borrow();
        Ok(wishes
            .chunks_exact(WISH)
            .map(|wish| ((word(wish) != 0).then(|| word(&wish[4..])), word(&wish[8..]) as i32))
            .collect())
    }
}

/// Writes the steps that find a context and give it to the new communicator, if this member is in it.
fn write_agreement(b: &mut Builder<'_>, new: Option<&Comm>) -> Result<()> {
    b.set_op(&Op::builtin(Builtin::Max));
    let word = Datatype::basic(Basic::U32);
    let (number, taken) = (b.scratch(1, &word)?, b.scratch(1, &word)?);

    let proposal = number.clone();
    call(b, move |contexts| {
        store(&proposal, contexts.proposal());
        Ok(Next::Step)
    });
    allreduce::write_small(b, &number)?;

    let (agreed, verdict) = (number.clone(), taken.clone());
    let (seed, attempts) = (b.seed(), Cell::new(0));
    call(b, move |contexts| {
        let number = load(&agreed).saturating_add(2 * places(seed, attempts.replace(attempts.get() + 1)));
        store(&agreed, number);
        if number > u32::MAX - 3 {
            return Err(Error::Comm { reason: "no more communicators: the context numbers are used up" });
        }
        store(&verdict, u32::from(!contexts.take(number)));
        Ok(Next::Step)
    });
    allreduce::write_small(b, &taken)?;

    let new = new.cloned();
    call(b, move |contexts| {
        if load(&taken) != 0 {
            return Ok(Next::Restart);
        }
        if let Some(new) = &new {
            new.set_context(ContextId(load(&number)));
            contexts.remember(new);
        }
        Ok(Next::Step)
    });
    Ok(())
}

/// How many places a creation moves up in an attempt: none in the first, then up to 15, another number for each creation and
/// attempt.
fn places(seed: u32, attempt: u32) -> u32 {
    if attempt == 0 { 0 } else { (seed ^ attempt.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0xc2b2_ae35) >> 28 }
}

fn call(b: &mut Builder<'_>, function: impl Fn(&Contexts) -> Result<Next> + 'static) {
    b.push(Step::Call(Rc::new(function)));
}

fn store(region: &Region, number: u32) {
    region.store(&number.to_ne_bytes());
}

fn load(region: &Region) -> u32 {
    let mut bytes = [0; 4];
    region.load(&mut bytes);
    u32::from_ne_bytes(bytes)
}

/// The ranks in the communicator of the members of a group.
fn members_in(comm: &Comm, group: &Group) -> Result<Vec<u32>> {
    let members: Option<Vec<u32>> = group.nodes().map(|node| comm.group().rank_of(node)).collect();
    members.ok_or(Error::Group { reason: "the group has a member that is not in the communicator" })
}

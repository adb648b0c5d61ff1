//! Parts of a communicator by the members' wishes (MPI_Comm_split, section 7.4.2).

use alloc::vec::Vec;

use super::{AGREEMENT, word};
use crate::coll::allgather;
use crate::rank::Rank;
use crate::schedule::Builder;
use crate::values::comm::Comm;
use crate::values::error::Result;
use crate::values::group::Group;
use crate::values::ids::ContextId;
use crate::values::order;

/// A member's colour and key.
type Wish = (Option<u32>, i32);

/// Bytes of a wish in a message.
const WISH: usize = 12;

impl Rank {
    /// Disjoint communicators, one for each colour, ordered by key and then by rank (MPI_Comm_split). `None` for a member
    /// that gives no colour. Collective over `comm`. The parts of an intercommunicator are intercommunicators; a colour that one side only has given
    /// makes none.
    pub fn split(&self, comm: &Comm, color: Option<u32>, key: i32) -> Result<Option<Comm>> {
        let wishes = self.exchange_wishes(comm.union(), color, key)?;
        let (own, others) = comm.places();
        let new = color.and_then(|_| {
            let (group, place) = chosen(comm.group(), &wishes[own as usize..], color, Some(comm.rank()));
            if comm.is_inter() {
                let (remote, _) = chosen(comm.peers(), &wishes[others as usize..], color, None);
                return Comm::inter(group, remote, place);
            }
            Some(Comm::new(ContextId::PENDING, group, place))
        });
        self.agree(comm, new.as_ref())?;
        Ok(new)
    }

    /// Tells all members the colour and key of each.
    fn exchange_wishes(&self, comm: &Comm, color: Option<u32>, key: i32) -> Result<Vec<Wish>> {
        let mut b = Builder::new(self.shop(), comm, AGREEMENT);
        let all = b.scratch_bytes(WISH as u64 * u64::from(comm.size()))?;
        let own = all.elements(WISH as u64 * u64::from(comm.rank()), WISH as u64);
        let mut wish = [0; WISH];
        wish[..4].copy_from_slice(&u32::from(color.is_some()).to_ne_bytes());
        wish[4..8].copy_from_slice(&color.unwrap_or(0).to_ne_bytes());
        wish[8..].copy_from_slice(&key.to_ne_bytes());
        own.store(&wish);
        allgather::write(&mut b, &own, &all.elements(0, WISH as u64))?;
        let wishes = self.run_for(b, all)?;
        let wish = |bytes: &[u8]| ((word(bytes) != 0).then(|| word(&bytes[4..])), word(&bytes[8..]) as i32);
        Ok(wishes.chunks_exact(WISH).map(wish).collect())
    }
}

/// The members of a group that gave a colour, by key and then by rank; and the place of one of them.
fn chosen(group: &Group, wishes: &[Wish], color: Option<u32>, of: Option<u32>) -> (Group, u32) {
    let wishes = wishes[..group.size() as usize].iter().enumerate();
    // Keys in the order of signed numbers, above ranks.
    let by_key = |(rank, wish): (usize, &Wish)| u64::from(wish.1 as u32 ^ 1 << 31) << 32 | rank as u64;
    let mut members: Vec<u64> = wishes.filter(|(_, wish)| wish.0 == color).map(by_key).collect();
    order::sort(&mut members);
    let ranks = members.iter().map(|member| *member as u32);
    let place = ranks.clone().position(|rank| Some(rank) == of).unwrap_or(0) as u32;
    let nodes = ranks.map(|rank| group.node(rank).expect("a member's rank"));
    (group.derive(Group::of(nodes.collect())), place)
}

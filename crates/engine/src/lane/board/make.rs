//! How a communicator's members come to a board: in a call that they all make, after some that went by messages, so that communicators which are hardly used have none.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::slice;

use fabric::{Key, Route};

use crate::coll::{allreduce, bcast};
use crate::lane::Lane;
use crate::schedule::{Steps, Workshop};
use crate::values::comm::Comm;
use crate::values::datatype::{Basic, Datatype};
use crate::values::error::Result;
use crate::values::memory::board::{Board, Ways};
use crate::values::memory::{Region, Scratch};
use crate::values::op::{Builtin, Op};

/// The call that makes the board.
const MADE_IN: u32 = 6;

/// Most members of one: whoever arrives last reads all seats.
const MEMBERS: u32 = 4096;

/// What a member says of itself: bits that all must say.
const ATTACHED: u64 = 1;
/// Messages of its collectives are not recorded, nor counted.
const UNSEEN: u64 = 2;
const OWN_CORES: u64 = 4;
const REACH: u64 = 8;
const FENCES: u64 = 16;
const NEAR: u64 = 32;
/// Only the first member knows whether it has allocated a hall; the others take its word.
const HALL: u64 = 64;

impl Lane {
    /// True if the members of a communicator could share a board, and nobody wants a certain algorithm.
    #[inline]
    pub fn may_board(&self, comm: &Comm, collective: &'static str) -> bool {
        let could_have_one = || {
            self.fabric().caps().boards
                && !comm.is_inter()
                && comm.lane() == 0
                && (2..=MEMBERS).contains(&comm.size())
        };
        (comm.board().is_some() || could_have_one())
            && (!self.schedules.has_preferences() || self.schedules.preferred(collective).is_none())
    }

    /// The board of a communicator that has none yet, if this is the call in which it is made.
    #[cold]
    pub(super) fn next_to_board<'a>(&self, comm: &'a Comm) -> Result<Option<&'a Board>> {
        if comm.next_served() < MADE_IN {
            return Ok(None);
        }
        let board = self.make_board(comm, true)?.map(Rc::new);
        comm.set_board(board);
        Ok(comm.board().flatten().map(|board| &**board))
    }

    /// The first member allocates the memory and tells the others; all attach it, and have a board if all could.
    pub(super) fn make_board(&self, comm: &Comm, with_hall: bool) -> Result<Option<Board>> {
        let fabric = self.fabric();
        self.boards.clear(fabric);
        let (me, members) = (comm.rank(), comm.size());
        let allocate = |hall: bool| (me == 0).then(|| Board::allocate(fabric, members, hall).ok()).flatten();
        let spacious = if with_hall && !fabric.caps().own_cores { allocate(true) } else { None };
        let has_hall = spacious.is_some();
        let allocated = spacious.or_else(|| allocate(false));
        let mut key = allocated.unwrap_or(Key([0; 4]));
        self.agree(&mut key.0, &|shop, words| bcast::plan(shop, words, 0, comm))?;
        let base = if key == Key([0; 4]) { None } else { Board::attach(fabric, &key).ok() };
        let all_routes =
            |holds: fn(&Route) -> bool| (0..members).all(|member| holds(fabric.route(comm.node(member))));
        let reach = all_routes(|route| route.get && route.put);
        let near = reach && all_routes(|route| route.same_memory);
        let says = [
            (base.is_some(), ATTACHED),
            (!self.is_observed(), UNSEEN),
            (fabric.caps().own_cores, OWN_CORES),
            (reach, REACH),
            (near, NEAR),
            (has_hall || me != 0, HALL),
            (fabric.caps().own_cores && fabric.fence_all(), FENCES),
        ];
        let mut all = says.iter().map(|(holds, bit)| u64::from(*holds) * bit).sum();
        let and = Op::builtin(Builtin::Band);
        self.agree(slice::from_mut(&mut all), &|shop, words| {
            allreduce::plan(shop, words, words, &and, comm)
        })?;
        let agreed = |bit: u64| all & bit != 0;
        let ways = Ways {
            own_cores: agreed(OWN_CORES),
            reach: agreed(REACH),
            near: agreed(NEAR),
            light: agreed(FENCES),
            hall: agreed(HALL),
        };
        match base {
            Some(base) if agreed(ATTACHED) && agreed(UNSEEN) => {
                Ok(Some(Board::new((base, key), (me, members), ways, self.boards.clone())))
            }
            Some(_) => {
                Board::give_up(fabric, &key);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Words that a collective changes.
    fn agree(&self, words: &mut [u64], plan: &dyn Fn(Workshop<'_>, &Region) -> Result<Steps>) -> Result<()> {
        let mut scratch = Scratch::zeroed(size_of_val(words));
        let region = scratch.region(words.len() as u64, &Datatype::basic(Basic::U64));
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        region.store(&bytes);
        self.run(plan(self.shop(), &region)?)?;
        region.load(&mut bytes);
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        Ok(())
    }
}

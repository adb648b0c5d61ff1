//! Created windows over memory that the program has from the library (MPI_Alloc_mem): the members map each other's, and then have all of it as near as that of an
//! allocated window. Either all do, or none: how integers are accumulated must be the same for everybody.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr;

use fabric::{Key, PortalError};

use crate::rank::Rank;
use crate::rank::comm_create::Crossing;
use crate::rank::window::create::{Backing, Words};
use crate::values::comm::Comm;
use crate::values::error::Result;
use crate::values::memory::ground::Ground;

/// Members of a window who map each other's memory: each mapping is one of the few ten thousand that a process may have.
const MOST: u32 = 64;

/// What a member has mapped of the others'.
pub(super) struct Mapped {
    /// Where the memory of each begins; nowhere if there is none.
    pub(super) bases: Box<[*mut u8]>,
    /// To be given up with the window.
    pub(super) keys: Box<[Key]>,
}

impl Rank {
    /// Whether the memory that this member brings could be mapped by the others.
    pub(super) fn could_be_mapped(
        &self,
        comm: &Comm,
        backing: &Backing,
        home: Option<&Crossing<'_>>,
    ) -> bool {
        let Backing::Given(given) = backing else { return false };
        let is_shared = || self.at_home(home, &mut |rank| given.expose_shared(rank.fabric())).is_ok();
        (2..=MOST).contains(&comm.size()) && (given.bytes() == 0 || is_shared())
    }

    /// Maps what all members bring, who have all said that this could be done; nothing if somebody cannot.
    pub(super) fn map_given(
        &self,
        comm: &Comm,
        backing: &Backing,
        home: Option<&Crossing<'_>>,
    ) -> Result<Option<Mapped>> {
        let key = match backing {
            Backing::Given(given) if given.bytes() > 0 => {
                self.at_home(home, &mut |rank| given.expose_shared(rank.fabric())).ok()
            }
            _ => None,
        };
        let Key([a, b, c, d]) = key.unwrap_or(Key([0; 4]));
        let brought = self.tell_members(comm, [u64::from(key.is_some()), a, b, c, d, 0, 0, 0])?;
        let mut keys = Vec::new();
        let bases = self.at_home(home, &mut |rank| rank.map_each(comm.rank(), backing, &brought, &mut keys));
        let well = u64::from(bases.is_ok());
        let all_are_well =
            self.tell_members(comm, [well; 8]).map(|told| told.iter().all(|words| words[0] == 1));
        match (bases, all_are_well) {
            (Ok(bases), Ok(true)) => Ok(Some(Mapped { bases, keys: keys.into() })),
            (_, all_are_well) => {
                self.give_up_mapped(&keys, home);
                all_are_well.map(|_| None)
            }
        }
    }

    /// Where the memory of each member is; `keys` of what was mapped for that.
    fn map_each(
        &self,
        me: u32,
        backing: &Backing,
        brought: &[Words],
        keys: &mut Vec<Key>,
    ) -> core::result::Result<Box<[*mut u8]>, PortalError> {
        let place = |(member, &[has_bytes, a, b, c, d, ..]): (usize, &Words)| match backing {
            Backing::Given(given) if member == me as usize => Ok(given.base()),
            _ if has_bytes == 0 => Ok(ptr::null_mut()),
            _ => {
                let key = Key([a, b, c, d]);
                let base = self.fabric().attach_shared(&key)?;
                keys.push(key);
                Ok(base)
            }
        };
        brought.iter().enumerate().map(place).collect()
    }

    pub(super) fn give_up_mapped(&self, keys: &[Key], home: Option<&Crossing<'_>>) {
        self.at_home(home, &mut |rank| {
            for key in keys {
                Ground::release(rank.fabric(), key);
            }
        });
    }
}

//! Making windows and freeing them (MPI section 12.2). Collective: the members tell each other what they bring, the first allocates the ground that all share, and
//! all agree on whether everybody has reached everything, so that a window is made at all of them or at none.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::sync::atomic::AtomicU32;

use fabric::{Key, PortalError};

use crate::rank::Rank;
use crate::rank::comm_create::Crossing;
use crate::rank::window::epoch::{Access, Epochs, Open};
use crate::rank::window::errand::Clerk;
use crate::rank::window::{Target, Window};
use crate::values::comm::Comm;
use crate::values::datatype::{Basic, Datatype};
use crate::values::error::{Error, Result};
use crate::values::memory::desk::{DESK, Desk};
use crate::values::memory::ground::{ATTACHMENTS, Ground, Plan};
use crate::values::memory::place::Near;
use crate::values::memory::{Exposed, Scratch, SendBuffer};

/// Where the memory of a window comes from.
#[derive(Clone, Copy, Debug)]
pub enum Backing {
    /// The program has it.
    Given(Exposed),
    /// The library allocates so many bytes for this member; one after the other with those of the other members, if all want that.
    Allocated {
        /// How many.
        bytes: usize,
        /// Without gaps between members.
        contiguous: bool,
    },
    /// It is attached later.
    Attached,
}

/// What a member tells of itself: words, which mean what each round says.
pub(super) type Words = [u64; 8];

impl Rank {
    /// Makes a window of a communicator that is the window's alone, in this rank's lane. `home` leads to the lane that has the memory which ranks share, if this is
    /// not it. A displacement is `unit` bytes.
    pub fn create_window(
        &self,
        comm: Comm,
        backing: Backing,
        unit: u64,
        home: Option<&Crossing<'_>>,
    ) -> Result<Window> {
        let (bytes, is_contiguous) = match backing {
            Backing::Given(exposed) => (exposed.bytes(), false),
            Backing::Allocated { bytes, contiguous } => (bytes, contiguous),
            Backing::Attached => (0, false),
        };
        let brought =
            self.tell_members(&comm, [bytes as u64, unit, u64::from(is_contiguous), 0, 0, 0, 0, 0])?;
        let plan = Plan {
            members: brought.len(),
            has_attachments: matches!(backing, Backing::Attached),
            is_contiguous: brought.iter().all(|words| words[2] != 0),
        };
        let is_allocated = matches!(backing, Backing::Allocated { .. });
        let mut places = Vec::with_capacity(plan.members);
        let is_given = matches!(backing, Backing::Given(_));
        let sizes = brought.iter().map(|words| match backing {
            Backing::Allocated { .. } => words[0],
            Backing::Given(_) => DESK as u64,
            Backing::Attached => 0,
        });
        let total = plan.segments(sizes, |at| places.push(at));
        let Some(key) = self.agree_on_ground(&comm, total, home)? else {
            return self.create_far_window(comm, &backing, &brought);
        };
        let ground = self.at_home(home, &mut |rank| Ground::attach(rank.fabric(), key, plan));
        let reached = match &ground {
            Ok(_) => self.expose_given(&comm, &backing),
            Err(error) => Err(*error),
        };
        let is_near = |member: u32| self.fabric().route(comm.node(member)).same_memory;
        let all_near = is_allocated || (0..comm.size()).all(is_near);
        let mine = match reached {
            Ok(key) => {
                let Key([a, b, c, d]) = key;
                let mappable = !all_near && self.could_be_mapped(&comm, &backing, home);
                let own_cores = self.fabric().caps().own_cores;
                let ways = (u64::from(all_near) * NEAR) | (u64::from(own_cores) * OWN_CORES);
                [OK, ways, address_of(&backing), a, b, c, d, u64::from(mappable)]
            }
            Err(error) => [code_of(error), 0, 0, 0, 0, 0, 0, 0],
        };
        let found = self.tell_members(&comm, mine);
        let failed = found.as_ref().ok().and_then(|found| found.iter().position(|words| words[0] != OK));
        let (ground, found) = match (ground, found, failed) {
            (Ok(ground), Ok(found), None) => (ground, found),
            (_, found, _) => {
                self.lane.core.borrow_mut().take_back(comm.context(), None);
                self.give_up(&key, home);
                found?;
                let target = failed.unwrap_or(0) as u32;
                return Err(Error::WindowReach { target, reason: NOT_REACHED });
            }
        };
        let all_mappable = found.iter().all(|words| words[7] != 0);
        let mapped = if all_mappable { self.map_given(&comm, &backing, home) } else { Ok(None) };
        let mapped = mapped.inspect_err(|_| {
            self.lane.core.borrow_mut().take_back(comm.context(), None);
            self.give_up(&key, home);
        })?;
        let targets = (0..comm.size()).map(|member| {
            let ([size, unit, ..], words) = (brought[member as usize], &found[member as usize]);
            let base = match &mapped {
                Some(mapped) => mapped.bases[member as usize],
                None if is_allocated => ground.segment(places[member as usize]),
                None => core::ptr::with_exposed_provenance_mut(words[2] as usize),
            };
            let key = Key([words[3], words[4], words[5], words[6]]);
            let route = self.fabric().route(comm.node(member));
            let by_letters = !(route.put && route.get && route.granularity == 1);
            let is_near = is_allocated || mapped.is_some() || is_near(member);
            Target { base, is_near, open: Open::closed(), size, unit, key, by_letters }
        });
        let targets: Box<[Target]> = targets.collect();
        let by_words = mapped.is_some() || found.iter().all(|words| words[1] & NEAR != 0);
        let own_cores = found.iter().all(|words| words[1] & OWN_CORES != 0);
        let has_desks = is_given && !by_words && comm.size() > 1 && own_cores;
        let desks =
            places.iter().filter(|_| has_desks).map(|place| ground.desk(*place)).collect::<Box<[Desk]>>();
        let me = comm.rank();
        let clerk = desks.get(me as usize).map(|desk| {
            let Target { base, size, .. } = targets[me as usize];
            let (ground, memory) = (ground.clone(), Near(base));
            self.open_desk(Clerk {
                desk: *desk,
                ground,
                me,
                memory,
                bytes: size,
                fetched: Default::default(),
            })
        });
        Ok(Window {
            targets,
            epochs: Epochs::new(),
            by_words,
            own_cores,
            desks,
            clerk,
            is_dynamic: matches!(backing, Backing::Attached),
            ground: Some(ground),
            far: None,
            under_way: Default::default(),
            has_under_way: Default::default(),
            order: AtomicU32::new(0),
            stored: Cell::new(false),
            looks: Cell::new(0),
            mapped: mapped.map_or_else(Box::default, |mapped| mapped.keys),
            comm,
        })
    }

    /// An error unless the window can be freed now.
    pub fn may_free_window(&self, window: &Window) -> Result<()> {
        window.epochs.is_not_exposed()?;
        match window.epochs.access.get() {
            Access::Fenced => Ok(()),
            _ => window.epochs.may_begin(),
        }
    }

    /// Does nothing for others at a window any more, before members wait for each other to [free](Rank::free_window) it: one that still waits must not look at a desk
    /// that another, who has gone on, has given up. Whoever asks it for something does it otherwise.
    pub fn close_window(&self, window: &Window) {
        if let Some(clerk) = &window.clerk {
            self.lane.end_service(clerk);
        }
    }

    /// Gives the memory of a window up that no member uses any more: all have [closed](Rank::close_window) it, and have come to free it.
    pub fn free_window(&self, window: &Window, home: Option<&Crossing<'_>>) {
        self.close_window(window);
        if let Some(ground) = &window.ground {
            self.lane.core.borrow_mut().take_back(window.comm.context(), None);
            self.give_up(ground.key(), home);
            self.give_up_mapped(&window.mapped, home);
        }
        if let Some(ground) = &window.far {
            ground.release(self.fabric());
        }
    }

    fn give_up(&self, key: &Key, home: Option<&Crossing<'_>>) {
        self.at_home(home, &mut |rank| Ground::release(rank.fabric(), key));
    }

    /// Lets the members of a window reach a region of this rank's, which has bytes. It may hold others that they reach already: what lies side by side is
    /// one region to those who reach for it.
    pub fn attach_memory(&self, window: &Window, memory: Exposed) -> Result<()> {
        let Some(ground) = &window.ground else {
            return window.far.as_ref().map_or(Ok(()), |far| far.attach(self.fabric(), &memory));
        };
        let (me, address) = (window.comm.rank(), memory.base().expose_provenance() as u64);
        let key = memory.expose(self.fabric()).map_err(|error| window.failed(me, error))?;
        self.lend(&window.comm, memory);
        if ground.add_attachment(me, address, memory.bytes() as u64, &key) {
            return Ok(());
        }
        Err(Error::Attachments { most: ATTACHMENTS })
    }

    /// No longer.
    pub fn detach_memory(&self, window: &Window, memory: Exposed) {
        if let Some(ground) = &window.ground {
            let (base, bytes) = (memory.base().addr() as u64, memory.bytes() as u64);
            ground.remove_attachment(window.comm.rank(), base, bytes);
            self.lane.core.borrow_mut().take_back(window.comm.context(), Some(&memory));
        }
        if let Some(ground) = &window.far {
            ground.detach(self.fabric(), &memory);
        }
    }

    /// The first member allocates what all share, and tells them its key: none where ranks share no memory.
    fn agree_on_ground(
        &self,
        comm: &Comm,
        bytes: Option<usize>,
        home: Option<&Crossing<'_>>,
    ) -> Result<Option<Key>> {
        let mut mine = [code_of(PortalError::Exhausted), 0, 0, 0, 0, 0, 0, 0];
        if let Some(bytes) = bytes.filter(|_| comm.rank() == 0) {
            match self.at_home(home, &mut |rank| Ground::allocate(rank.fabric(), bytes)) {
                Ok(Key([a, b, c, d])) => mine = [OK, a, b, c, d, 0, 0, 0],
                Err(error) => mine[0] = code_of(error),
            }
        }
        let [state, a, b, c, d, ..] = self.tell_members(comm, mine)?[0];
        match state {
            OK => Ok(Some(Key([a, b, c, d]))),
            UNREACHABLE => Ok(None),
            _ => Err(Error::WindowMemory { target: 0, bytes: bytes.map_or(u64::MAX, |bytes| bytes as u64) }),
        }
    }

    /// Exposes memory that the program has given, before others know that they may reach it.
    fn expose_given(&self, comm: &Comm, backing: &Backing) -> core::result::Result<Key, PortalError> {
        let Backing::Given(exposed) = backing else { return Ok(Key([0; 4])) };
        self.lend(comm, *exposed);
        exposed.expose(self.fabric())
    }

    /// Lets members ask for memory who have no other way to it.
    fn lend(&self, comm: &Comm, memory: Exposed) {
        let is_near = |member: u32| self.fabric().route(comm.node(member)).same_memory;
        if !(0..comm.size()).all(is_near) {
            self.lane.core.borrow_mut().lend(comm.context(), memory);
        }
    }

    /// What all members say, by their ranks.
    pub(super) fn tell_members(&self, comm: &Comm, mine: Words) -> Result<Vec<Words>> {
        let each = size_of::<Words>();
        let mut scratch = Scratch::zeroed(each * comm.size() as usize);
        let all = scratch.region(each as u64 * u64::from(comm.size()), &Datatype::basic(Basic::Byte));
        let sent: Vec<u8> = mine.iter().flat_map(|word| word.to_ne_bytes()).collect();
        if comm.size() > 1 {
            let room = all.elements(0, each as u64).to_receive();
            self.allgather(Some(&SendBuffer::owned(sent)), &room, comm)?.wait()?;
        } else {
            all.store(&sent);
        }
        let mut bytes = alloc::vec![0; all.bytes() as usize];
        all.load(&mut bytes);
        let (words, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        Ok(words.as_chunks::<8>().0.to_vec())
    }

    /// Does something in the lane that has the memory which ranks share.
    pub(super) fn at_home<T>(&self, home: Option<&Crossing<'_>>, act: &mut dyn FnMut(&Rank) -> T) -> T {
        let Some(home) = home else { return act(self) };
        let mut result = None;
        home(&mut |rank| result = Some(act(rank)));
        result.expect("what is to be done in another lane is done")
    }
}

/// What a member says of its ways: it has all memory near, and a core of its own.
const NEAR: u64 = 1;
const OWN_CORES: u64 = 2;

/// How a member fares, in what it tells.
const OK: u64 = 1;
const UNREACHABLE: u64 = 2;
const FAILED: u64 = 3;

const NOT_REACHED: &str = "it cannot make its memory reachable, or has no way to that of others";

fn code_of(error: PortalError) -> u64 {
    if error == PortalError::Unreachable { UNREACHABLE } else { FAILED }
}

fn address_of(backing: &Backing) -> u64 {
    match backing {
        Backing::Given(exposed) => exposed.base().expose_provenance() as u64,
        _ => 0,
    }
}

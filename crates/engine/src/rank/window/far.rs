//! Windows whose members share no memory: everything is reached through the fabric, that of this rank and of those beside it, too, so that it takes the time that
//! it takes there.
//!
//! Locks are words of each member's block ([`FarGround`]), which the origin changes by the fabric's atomics. A lock of all members is one word of the window, in which
//! exclusive locks are counted, too: to look at the locks of all members, as on hosts, would be a question to each. Whoever has to wait for one of two words holds
//! neither meanwhile, so that nobody waits for somebody who only wants a lock. Nobody tells a rank that one has become free, so it asks
//! again, after pauses that grow to [`LONGEST`] letters. Integers and logical values of 4 and 8 bytes that lie at multiples of their width are accumulated by atomics,
//! always, and everything else under the lock for accumulates: those who meet at an element have one type and one place (MPI section 12.7.1), so they do the same.

use alloc::boxed::Box;

use fabric::{Atomic, AtomicOp, Atomics, Key, PortalError, Width};

use crate::rank::Rank;
use crate::rank::window::accumulate::What;
use crate::rank::window::create::{Backing, Words};
use crate::rank::window::epoch::{Epochs, Open};
use crate::rank::window::{Aim, Target, Window};
use crate::values::comm::Comm;
use crate::values::datatype::{Basic, Datatype};
use crate::values::error::{Error, Result};
use crate::values::memory::far_ground::{At, FarGround, FarWord, Member};
use crate::values::memory::far_words::{FarWords, Reach};
use crate::values::memory::place::Place;
use crate::values::op::Builtin;

/// A member's lock that nobody shares.
const EXCLUSIVE: u64 = 1 << 63;
/// One exclusive lock, in the word of the window; a lock of all members is 1.
const ONE_EXCLUSIVE: u64 = 1 << 32;
const LOCKS_OF_ALL: u64 = ONE_EXCLUSIVE - 1;

/// The longest pause between two questions for a lock, in letters.
const LONGEST: u64 = 32;

/// How a member fares, in what it tells.
const OK: u64 = 1;
const UNREACHABLE: u64 = 2;
const NO_MEMORY: u64 = 3;

const NO_WAY: &str =
    "ranks of this job share no memory, and its fabric does not put, get and change words everywhere";

impl Rank {
    /// Makes a window of members that have told what they bring.
    pub(super) fn create_far_window(
        &self,
        comm: Comm,
        backing: &Backing,
        brought: &[Words],
    ) -> Result<Window> {
        let (me, first) = (comm.rank() as usize, comm.rank() == 0);
        let shares =
            |member: u32| member == comm.rank() || self.fabric().route(comm.node(member)).same_memory;
        let sizes = || brought.iter().map(|words| words[0] as usize);
        // In one piece only where all have it: then it is the first member's.
        let in_one_piece = brought.iter().all(|words| words[2] != 0) && (0..comm.size()).all(shares);
        let wanted = match backing {
            Backing::Allocated { .. } if in_one_piece && !first => 0,
            Backing::Allocated { .. } if in_one_piece => sizes().fold(0, usize::saturating_add),
            Backing::Allocated { bytes, .. } => *bytes,
            Backing::Given(_) | Backing::Attached => 0,
        };
        let prepared = self.prepare_far_ground(&comm, wanted);
        let mine = match &prepared {
            Ok((_, Key([a, b, c, d]), base)) => [OK, *a, *b, *c, *d, base.expose_provenance() as u64, 0, 0],
            Err(Error::Memory(_) | Error::WindowMemory { .. }) => {
                [NO_MEMORY, wanted as u64, 0, 0, 0, 0, 0, 0]
            }
            Err(_) => [UNREACHABLE, 0, 0, 0, 0, 0, 0, 0],
        };
        let blocks = self.tell_members(&comm, mine);
        let (mut ground, _, own) = prepared?;
        let agreed = blocks.and_then(|blocks| all_are_well(&blocks).map(|()| blocks));
        let blocks = agreed.inspect_err(|_| ground.release(self.fabric()))?;
        let base = match backing {
            Backing::Given(memory) => memory.base(),
            _ if in_one_piece => {
                let all = core::ptr::with_exposed_provenance_mut::<u8>(blocks[0][5] as usize);
                all.wrapping_add(sizes().take(me).sum())
            }
            _ => own,
        };
        let key = match backing {
            Backing::Attached => Ok(Key([0; 4])),
            _ => ground.expose_memory(self.fabric(), base, brought[me][0] as usize),
        };
        let mine = match key {
            Ok(Key([a, b, c, d])) => [OK, a, b, c, d, base.expose_provenance() as u64, 0, 0],
            Err(_) => [UNREACHABLE, 0, 0, 0, 0, 0, 0, 0],
        };
        let found = self.tell_members(&comm, mine);
        let agreed = found.and_then(|found| all_are_well(&found).map(|()| found));
        let found = agreed.inspect_err(|_| ground.release(self.fabric()))?;
        let member = |member: u32| Member {
            node: comm.node(member),
            block: key_in(&blocks[member as usize]),
            shares: shares(member),
        };
        ground.meet((0..comm.size()).map(member).collect());
        let targets = brought.iter().zip(&found).map(|([size, unit, ..], words)| Target {
            base: core::ptr::with_exposed_provenance_mut(words[5] as usize),
            is_near: false,
            open: Open::closed(),
            size: *size,
            unit: *unit,
            key: key_in(words),
            by_letters: false,
        });
        let targets: Box<[Target]> = targets.collect();
        Ok(Window {
            targets,
            epochs: Epochs::new(),
            by_words: false,
            own_cores: false,
            is_dynamic: matches!(backing, Backing::Attached),
            ground: None,
            far: Some(ground),
            under_way: Default::default(),
            has_under_way: Default::default(),
            desks: Box::default(),
            clerk: None,
            order: Default::default(),
            stored: Default::default(),
            looks: Default::default(),
            mapped: Box::default(),
            comm,
        })
    }

    /// This member's part of the ground, the key of its block, and memory of so many bytes.
    fn prepare_far_ground(&self, comm: &Comm, bytes: usize) -> Result<(FarGround, Key, *mut u8)> {
        let unreachable = |target| Error::WindowReach { target, reason: NO_WAY };
        for member in 0..comm.size() {
            let route = self.fabric().route(comm.node(member));
            let reaches = route.put && route.gets() && route.granularity == 1;
            if !reaches || route.atomics != Atomics::All {
                return Err(unreachable(member));
            }
        }
        let mut ground = FarGround::new(self.fabric(), comm.size() as usize)?;
        let base = ground.allocate(self.fabric(), comm.rank(), bytes);
        let base = base.inspect_err(|_| ground.release(self.fabric()))?;
        match ground.expose_block(self.fabric()) {
            Ok(key) => Ok((ground, key, base)),
            Err(_) => {
                ground.release(self.fabric());
                Err(unreachable(comm.rank()))
            }
        }
    }

    pub(super) fn lock_far(&self, window: &Window, member: u32, exclusive: bool) -> Result<()> {
        let ground = window.far();
        self.keep_asking(window, member, &mut |reach| {
            let word = ground.word(reach, member, At::Lock);
            if exclusive {
                take_exclusive(&word, &ground.word(reach, 0, At::All))
            } else {
                take_shared(&word)
            }
        })
    }

    pub(super) fn unlock_far(&self, window: &Window, member: u32, exclusive: bool) -> Result<()> {
        let ground = window.far();
        self.reaching(window, member, |reach| {
            let word = ground.word(reach, member, At::Lock);
            if !exclusive {
                return word.add(1_u64.wrapping_neg());
            }
            ground.word(reach, 0, At::All).add(ONE_EXCLUSIVE.wrapping_neg())?;
            word.set(0)
        })
    }

    pub(super) fn lock_all_far(&self, window: &Window) -> Result<()> {
        let ground = window.far();
        self.keep_asking(window, 0, &mut |reach| {
            add_unless(&ground.word(reach, 0, At::All), 1, !LOCKS_OF_ALL)
        })
    }

    pub(super) fn unlock_all_far(&self, window: &Window) -> Result<()> {
        let ground = window.far();
        self.reaching(window, 0, |reach| ground.word(reach, 0, At::All).add(1_u64.wrapping_neg()))
    }

    /// Does something while nobody else accumulates at a target by other means than atomics.
    pub(super) fn with_far_lock(
        &self,
        window: &Window,
        target: u32,
        act: impl FnOnce() -> core::result::Result<(), PortalError>,
    ) -> Result<()> {
        let ground = window.far();
        self.keep_asking(window, target, &mut |reach| {
            Ok(ground.word(reach, target, At::Accumulating).replace_if(0, 1)?.is_ok())
        })?;
        let result = act();
        self.reaching(window, target, |reach| ground.word(reach, target, At::Accumulating).set(0))?;
        result.map_err(|error| window.failed(target, error))
    }

    /// The region that a member has attached around the bytes between two addresses: where it begins, and its key.
    pub(super) fn far_attachment(
        &self,
        window: &Window,
        member: u32,
        span: (u64, u64),
    ) -> Result<Option<(u64, Key)>> {
        let mut found = None;
        self.keep_asking(window, member, &mut |reach| {
            let mut settled = false;
            found = window.far().attachment(reach, member, span, &mut settled)?;
            Ok(settled)
        })?;
        Ok(found)
    }

    /// Accumulates elements that are words of so many bytes.
    #[allow(clippy::too_many_arguments, reason = "what is changed, by whom, and what for")]
    pub(super) fn change_far_words(
        &self,
        window: &Window,
        aim: &Aim<'_>,
        place: &Place,
        (what, width): (&What, Width),
        bytes: u64,
        input: &[u8],
        before: &mut [u8],
    ) -> Result<()> {
        let &Place::Far(node, ref key, offset) = place else { return Ok(()) };
        let (address, byte) = (window.address(aim), Datatype::basic(Basic::Byte));
        let mut result = Ok(());
        aim.datatype.layout().walk(0, bytes, |origin, at, len| {
            let (at, len) = (at as usize, len as usize);
            if result.is_err() {
                return;
            }
            let input = input.get(at..at + len).unwrap_or(&[]);
            let before = before.get_mut(at..at + len).unwrap_or(&mut []);
            let offset = offset + origin;
            if !address.wrapping_add_signed(origin).is_multiple_of(width.bytes() as u64) {
                let aim = Aim { count: len as u64, datatype: &byte, ..*aim };
                result = self.change_packed(
                    window,
                    &aim,
                    &Place::Far(node, *key, offset),
                    what,
                    0..len,
                    input,
                    before,
                );
                return;
            }
            let words = FarWords { node, key, offset: offset as usize, width };
            let count = len / width.bytes();
            result = self.reaching(window, aim.target, |reach| match what.atomic() {
                Some(op) => words.change_each(reach, (op, count), input, before),
                None => words.combine_each(reach, (what.kernel(), count), input, before),
            });
        });
        result
    }

    /// Replaces a word of a target's if it is what is expected, and tells what it was; none if it does not lie where words do.
    pub(super) fn swap_far_word(
        &self,
        window: &Window,
        aim: &Aim<'_>,
        place: &Place,
        width: Width,
        (expected, desired): (u64, u64),
    ) -> Result<Option<u64>> {
        let &Place::Far(node, ref key, offset) = place else { return Ok(None) };
        if !window.address(aim).is_multiple_of(width.bytes() as u64) {
            return Ok(None);
        }
        let word = FarWords { node, key, offset: offset as usize, width };
        let swap = Atomic::CompareSwap { expected, desired };
        self.reaching(window, aim.target, |reach| word.change(reach, 0, swap)).map(Some)
    }

    /// Does something by the fabric at a member.
    fn reaching<T>(
        &self,
        window: &Window,
        member: u32,
        act: impl FnOnce(Reach<'_>) -> core::result::Result<T, PortalError>,
    ) -> Result<T> {
        let reach = Reach { fabric: self.fabric(), settle: &|ticket| self.settle(ticket) };
        act(reach).map_err(|error| window.failed(member, error))
    }

    /// As [`reaching`](Rank::reaching), again and again until it is true.
    fn keep_asking(
        &self,
        window: &Window,
        member: u32,
        attempt: &mut dyn FnMut(Reach<'_>) -> core::result::Result<bool, PortalError>,
    ) -> Result<()> {
        let letter = self.fabric().route(window.comm.node(member)).letter_cost.ticks(0).max(1);
        let mut pause = letter;
        while !self.reaching(window, member, &mut *attempt)? {
            self.lane.pause(pause)?;
            pause = (2 * pause).min(LONGEST * letter);
        }
        Ok(())
    }
}

impl Window {
    /// What members have who share nothing.
    fn far(&self) -> &FarGround {
        self.far.as_ref().expect("a window has one ground or the other")
    }

    /// Where the data of an operation lies, as the target addresses it.
    fn address(&self, aim: &Aim<'_>) -> u64 {
        if self.is_dynamic {
            return aim.displacement as u64;
        }
        let target = &self.targets[aim.target as usize];
        (target.base.addr() as u64).wrapping_add((aim.displacement as u64).wrapping_mul(target.unit))
    }
}

impl What {
    /// What atomics can do of it.
    fn atomic(&self) -> Option<AtomicOp> {
        let is_signed = matches!(self.basic(), Basic::I32 | Basic::I64 | Basic::Long);
        Some(match self.op() {
            Builtin::Sum => AtomicOp::Sum,
            Builtin::Replace => AtomicOp::Replace,
            Builtin::NoOp => AtomicOp::Read,
            Builtin::Band => AtomicOp::And,
            Builtin::Bor => AtomicOp::Or,
            Builtin::Bxor => AtomicOp::Xor,
            Builtin::Min if is_signed => AtomicOp::Min,
            Builtin::Max if is_signed => AtomicOp::Max,
            Builtin::Min => AtomicOp::MinUnsigned,
            Builtin::Max => AtomicOp::MaxUnsigned,
            _ => return None,
        })
    }
}

/// Adds to a word that has none of these bits; false if it has.
fn add_unless(word: &FarWord<'_>, amount: u64, bits: u64) -> core::result::Result<bool, PortalError> {
    // Words are zero where nobody is about.
    let mut now = 0;
    while now & bits == 0 {
        match word.replace_if(now, now + amount)? {
            Ok(()) => return Ok(true),
            Err(found) => now = found,
        }
    }
    Ok(false)
}

fn take_shared(word: &FarWord<'_>) -> core::result::Result<bool, PortalError> {
    add_unless(word, 1, EXCLUSIVE)
}

fn take_exclusive(word: &FarWord<'_>, all: &FarWord<'_>) -> core::result::Result<bool, PortalError> {
    if word.replace_if(0, EXCLUSIVE)?.is_err() {
        return Ok(false);
    }
    let taken = add_unless(all, ONE_EXCLUSIVE, LOCKS_OF_ALL)?;
    if !taken {
        word.set(0)?;
    }
    Ok(taken)
}

/// An error if a member is not well: whose it is, and why.
fn all_are_well(told: &[Words]) -> Result<()> {
    match told.iter().enumerate().find(|(_, words)| words[0] != OK) {
        None => Ok(()),
        Some((target, &[NO_MEMORY, bytes, ..])) => Err(Error::WindowMemory { target: target as u32, bytes }),
        Some((target, _)) => Err(Error::WindowReach { target: target as u32, reason: NO_WAY }),
    }
}

fn key_in(words: &Words) -> Key {
    Key([words[1], words[2], words[3], words[4]])
}

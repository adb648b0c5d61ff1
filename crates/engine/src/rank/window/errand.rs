//! Operations on memory that only the system could reach: the target does them itself, if it waits inside of the library anyway. Short ones lie on its desk, which takes a
//! fraction of a system call; the data of a long accumulate it fetches (see [`together`](super::together)). What a desk is, and that nobody waits for a target that is not
//! there, see [`desk`](crate::values::memory::desk).

use alloc::rc::Rc;
use core::cell::RefCell;

use fabric::{Fabric, Key, Node};

use crate::lane::services::Service;
use crate::rank::Rank;
use crate::rank::window::Window;
use crate::values::datatype::Basic;
use crate::values::error::Result;
use crate::values::memory::desk::{DATA, Desk, Errand};
use crate::values::memory::ground::Ground;
use crate::values::memory::place::Near;
use crate::values::memory::words;
use crate::values::memory::{Kernel, Staging};
use crate::values::op::Builtin;

/// How often an origin looks whether it is done before it does it otherwise: for as long as a system call takes, or two.
const PATIENCE: u32 = 200;
/// Looks without a pause between them, of these.
const EAGER: u32 = 160;

/// Bytes up to which the target fetches what was there before.
const FETCHED: usize = 64;
/// Bytes up to which it moves data: more are moved faster by the system, which copies them once.
const MOVED: usize = DATA;

/// Bytes that it fetches at once. A multiple of the size of every element that it combines.
pub(super) const PIECE: usize = 64 << 10;

/// What a target is to do with some bytes of its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    Put,
    Get,
    /// Combine the data with them; `fetch` what was there before.
    Accumulate {
        op: Builtin,
        basic: Basic,
        fetch: bool,
    },
    /// Combine with them what lies in the origin's memory, which the data says where; `alone` if the origin has the lock for accumulates meanwhile, and keeps off
    /// these bytes.
    AccumulateFrom {
        op: Builtin,
        basic: Basic,
        alone: bool,
    },
    /// Replace them by the first half of the data, if they are the second.
    Swap,
}

impl Wish {
    /// As a number; `None` if targets do not do that.
    pub fn encode(self) -> Option<u32> {
        Some(match self {
            Wish::Put => 0,
            Wish::Get => 1,
            Wish::Swap => 2,
            Wish::Accumulate { op, basic, fetch } => {
                3 | u32::from(fetch) << 8 | (op as u32) << 16 | number_of(basic)? << 24
            }
            Wish::AccumulateFrom { op, basic, alone } => {
                4 | u32::from(alone) << 8 | (op as u32) << 16 | number_of(basic)? << 24
            }
        })
    }

    fn decode(number: u32) -> Option<Wish> {
        let [kind, flag, op, basic] = number.to_le_bytes();
        let flag = flag != 0;
        Some(match kind {
            0 => Wish::Put,
            1 => Wish::Get,
            2 => Wish::Swap,
            _ => {
                let (op, basic) = (*OPS.get(usize::from(op))?, *BASICS.get(usize::from(basic))?);
                match kind {
                    3 => Wish::Accumulate { op, basic, fetch: flag },
                    _ => Wish::AccumulateFrom { op, basic, alone: flag },
                }
            }
        })
    }
}

/// In the order of their numbers.
const OPS: [Builtin; 14] = [
    Builtin::Max,
    Builtin::Min,
    Builtin::Sum,
    Builtin::Prod,
    Builtin::Land,
    Builtin::Band,
    Builtin::Lor,
    Builtin::Bor,
    Builtin::Lxor,
    Builtin::Bxor,
    Builtin::MinLoc,
    Builtin::MaxLoc,
    Builtin::Replace,
    Builtin::NoOp,
];

/// Elements without gaps, of which kernels combine as many as there are.
const BASICS: [Basic; 15] = [
    Basic::I32,
    Basic::I64,
    Basic::Long,
    Basic::F64,
    Basic::F32,
    Basic::U32,
    Basic::U64,
    Basic::UnsignedLong,
    Basic::I8,
    Basic::I16,
    Basic::U8,
    Basic::U16,
    Basic::Byte,
    Basic::ComplexF32,
    Basic::ComplexF64,
];

fn number_of(basic: Basic) -> Option<u32> {
    BASICS.iter().position(|known| *known == basic).map(|place| place as u32)
}

/// Where the data of an errand lies that is too long for the desk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Source {
    pub node: Node,
    pub key: Key,
    pub at: u64,
}

impl Source {
    const BYTES: usize = Key::BYTES + 16;

    pub fn encode(&self) -> [u8; Source::BYTES] {
        let mut bytes = [0; Source::BYTES];
        bytes[..Key::BYTES].copy_from_slice(&self.key.to_bytes());
        bytes[Key::BYTES..][..8].copy_from_slice(&self.at.to_ne_bytes());
        bytes[Key::BYTES + 8..][..4].copy_from_slice(&self.node.0.to_ne_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Source> {
        let (key, rest) = bytes.split_at_checked(Key::BYTES)?;
        let (at, rest) = rest.split_first_chunk()?;
        let (node, _) = rest.split_first_chunk()?;
        let node = Node(u32::from_ne_bytes(*node));
        Some(Source { node, key: Key::from_bytes(key)?, at: u64::from_ne_bytes(*at) })
    }
}

/// A member at its own desk.
pub(super) struct Clerk {
    pub desk: Desk,
    pub ground: Ground,
    pub me: u32,
    /// Its memory.
    pub memory: Near,
    pub bytes: u64,
    /// Room for data that it fetches.
    pub fetched: RefCell<Option<Staging>>,
}

impl Service for Clerk {
    #[inline]
    fn serve(&self, fabric: &dyn Fabric) -> bool {
        self.desk.is_asked() && self.desk.serve(|errand, data| self.fulfil(fabric, errand, data))
    }
}

impl Clerk {
    /// False if it cannot be done now.
    fn fulfil(&self, fabric: &dyn Fabric, errand: Errand, data: &mut [u8]) -> bool {
        let len = errand.len as usize;
        let is_inside = errand.at.checked_add(u64::from(errand.len)).is_some_and(|end| end <= self.bytes);
        let fits =
            |wish: &Wish| len <= if matches!(wish, Wish::AccumulateFrom { .. }) { PIECE } else { data.len() };
        let Some(wish) = Wish::decode(errand.what).filter(|wish| is_inside && fits(wish)) else {
            return false;
        };
        let place = self.memory.moved(errand.at as i64);
        match wish {
            Wish::AccumulateFrom { op, basic, alone } => {
                let (Some(kernel), Some(source)) = (op.kernel(basic), Source::decode(data)) else {
                    return false;
                };
                return self.fetch_and_combine(fabric, (place, len), source, kernel, alone);
            }
            Wish::Put => place.store_from_afar(&data[..len]),
            Wish::Get => place.fetch_for_afar(&mut data[..len]),
            Wish::Accumulate { op, basic, fetch } => {
                let Some(kernel) = op.kernel(basic) else { return false };
                return self.alone(|| {
                    place.with_bytes(len, |bytes| {
                        let mut before = [0; FETCHED];
                        let before = &mut before[..if fetch { len.min(FETCHED) } else { 0 }];
                        before.copy_from_slice(&bytes[..before.len()]);
                        kernel(&data[..len], bytes);
                        data[..before.len()].copy_from_slice(before);
                    });
                });
            }
            Wish::Swap => {
                return self.alone(|| {
                    place.with_bytes(len, |bytes| {
                        let (desired, expected) = data.split_at_mut(len);
                        if *bytes == expected[..len] {
                            bytes.swap_with_slice(desired);
                        } else {
                            desired.copy_from_slice(bytes);
                        }
                    });
                });
            }
        }
        true
    }

    /// Fetches data from the origin's memory, and combines it with bytes of its own.
    fn fetch_and_combine(
        &self,
        fabric: &dyn Fabric,
        (place, len): (Near, usize),
        Source { node, key, at }: Source,
        kernel: Kernel,
        is_alone: bool,
    ) -> bool {
        let mut room = self.fetched.borrow_mut();
        let room = room.get_or_insert_with(|| Staging::new(PIECE));
        if !room.fill_now(fabric, node, &key, at as usize, len) {
            return false;
        }
        let combine = || place.with_bytes(len, |bytes| kernel(&room.bytes()[..len], bytes));
        if is_alone {
            combine();
            return true;
        }
        self.alone(combine)
    }

    /// Does something while nobody else accumulates here; false if somebody does.
    fn alone(&self, act: impl FnOnce()) -> bool {
        let lock = &self.ground.control(self.me).accumulating;
        let taken = words::take_alone(lock);
        if taken {
            act();
            words::give_alone(lock);
        }
        taken
    }
}

impl Rank {
    /// This rank does what others ask at its desk, from now on.
    pub(super) fn open_desk(&self, clerk: Clerk) -> Rc<dyn Service> {
        let clerk: Rc<dyn Service> = Rc::new(clerk);
        self.lane.offer(Rc::clone(&clerk));
        clerk
    }

    /// Has a target do something with bytes of its memory, and gets the answer. False if it is to be done otherwise.
    #[inline]
    pub(super) fn ask(
        &self,
        window: &Window,
        target: u32,
        (wish, at, len): (Wish, i64, usize),
        parts: [&[u8]; 2],
        answer: &mut [u8],
    ) -> Result<bool> {
        let Some(desk) = window.desks.get(target as usize) else { return Ok(false) };
        let most = match wish {
            Wish::Put | Wish::Get => MOVED,
            Wish::Accumulate { fetch: false, .. } => DATA,
            Wish::Accumulate { .. } | Wish::Swap => FETCHED,
            Wish::AccumulateFrom { .. } => PIECE,
        };
        let Some(what) = wish.encode().filter(|_| len <= most && at >= 0) else { return Ok(false) };
        if !desk.take() {
            return Ok(false);
        }
        desk.ask(Errand { what, len: len as u32, at: at as u64 }, parts, answer.len());
        self.await_answer(desk, answer)
    }

    /// What comes of an errand: true with the answer, or false once it is taken back, since the target is not there.
    #[inline]
    pub(super) fn await_answer(&self, desk: &Desk, answer: &mut [u8]) -> Result<bool> {
        for look in 0..PATIENCE {
            if desk.is_done() {
                desk.leave(answer);
                return Ok(true);
            }
            if look >= EAGER {
                core::hint::spin_loop();
            }
        }
        self.stop_asking(desk, answer)
    }

    /// Takes back what was asked; or waits for it, if it is being done.
    #[cold]
    fn stop_asking(&self, desk: &Desk, answer: &mut [u8]) -> Result<bool> {
        let mut withdrawn = false;
        self.lane.wait_for_memory(&mut || {
            withdrawn = desk.withdraw();
            withdrawn || desk.is_done()
        })?;
        if !withdrawn {
            desk.leave(answer);
        }
        Ok(!withdrawn)
    }
}

#[cfg(test)]
mod tests {
    use processor::hints;

    use super::*;

    #[test]
    fn lines_and_pieces_are_whole_elements_of_all_that_targets_combine() {
        for basic in BASICS {
            let size = basic.size() as usize;
            assert!(hints::LINE.is_multiple_of(size) && PIECE.is_multiple_of(2 * hints::LINE), "{basic:?}");
        }
    }

    #[test]
    fn wishes_survive_as_numbers() {
        for (number, op) in OPS.into_iter().enumerate() {
            assert_eq!(op as usize, number);
            for basic in BASICS {
                for fetch in [false, true] {
                    let wish = Wish::Accumulate { op, basic, fetch };
                    assert_eq!(wish.encode().and_then(Wish::decode), Some(wish));
                }
                for alone in [false, true] {
                    let wish = Wish::AccumulateFrom { op, basic, alone };
                    assert_eq!(wish.encode().and_then(Wish::decode), Some(wish));
                }
            }
        }
        let source = Source { node: Node(7), key: Key([1, u64::MAX, 3, 4]), at: 1 << 40 };
        assert_eq!(Source::decode(&source.encode()), Some(source));
        for wish in [Wish::Put, Wish::Get, Wish::Swap] {
            assert_eq!(wish.encode().and_then(Wish::decode), Some(wish));
        }
        let pair = Wish::Accumulate { op: Builtin::MaxLoc, basic: Basic::PairF64I32, fetch: false };
        assert_eq!(pair.encode(), None);
        assert_eq!(Wish::decode(3 | 200 << 16), None);
    }
}

//! What is under way in the machine, by the token that the machine hands back.

use fabric::{Atomic, AtomicOp, Header, Lane, Shape, Width};
use sim::{Place, Time, Transfer};

use crate::multicast::Fleet;

/// Payload bytes of a letter that has no more: with its header of 24 it makes the 120 bytes of the MPPA-256's control messages.
const LETTER_PAYLOAD: usize = 96;
/// Bytes of a letter on the network, unless it has more payload.
pub(crate) const LETTER_BYTES: u32 = (fabric::HEADER_BYTES + LETTER_PAYLOAD) as u32;
/// Bytes of a signal on the network.
pub(crate) const SIGNAL_BYTES: u32 = 8;

/// Something that an event will be about.
pub(crate) enum Cargo {
    Letter {
        to: u32,
        letter: Letter,
    },
    Signal {
        to: u32,
        lane: Lane,
    },
    Transfer(Voyage),
    /// What asks somebody for a transfer, at the place where its bytes are.
    Fetch(Transfer),
    /// An atomic at another place, by its ticket; the letter that asks for it, and the one that brings the answer.
    Errand(Errand),
    Ask {
        errand: u64,
        server: Place,
    },
    Told {
        errand: u64,
    },
    /// A question to a name server at a place, and the way back.
    Question {
        asker: u32,
        server: Place,
    },
    Answer {
        asker: u32,
    },
    /// Bytes on their way to the rank's shadow memory, for which it waits.
    Shadow {
        rank: u32,
    },
    /// Copies of a letter or a signal, one for a rank at each of these places.
    Copies {
        to: Vec<(Place, u32)>,
        of: Box<Copied>,
    },
    /// A put to several places.
    Fleet(Fleet),
    /// The machine's own barrier lets all go on.
    Meeting,
    /// Nothing: the end of a run.
    End,
}

/// What several ranks get alike.
#[derive(Clone)]
pub(crate) enum Copied {
    Letter(Letter),
    Signal(Lane),
}

/// A letter as its receiver sees it.
#[derive(Clone)]
pub(crate) struct Letter {
    pub(crate) from: u32,
    pub(crate) header: Header,
    /// When the receiver may see it.
    pub(crate) visible: Time,
    pub(crate) kind: LetterKind,
    /// Pages of the transfer that it tells of.
    pub(crate) pages: u32,
    /// Bytes that its receiver has to move into local memory.
    pub(crate) unpack: u64,
    length: u8,
    payload: [u8; LETTER_PAYLOAD],
    /// In the place of `payload`, where that is too short.
    long: Option<Box<[u8]>>,
}

/// What taking a letter costs, and whether it gives room back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LetterKind {
    /// Through the mailbox.
    Mail,
    /// A flag in memory that sender and receiver share.
    Flag,
    /// The end of a transfer: nobody sent a letter.
    Notice,
}

impl Letter {
    pub(crate) fn new(from: u32, header: Header, bytes: &[u8], kind: LetterKind) -> Letter {
        let mut payload = [0; LETTER_PAYLOAD];
        let long = (bytes.len() > LETTER_PAYLOAD).then(|| Box::from(bytes));
        let length = if long.is_some() { 0 } else { bytes.len() };
        payload[..length].copy_from_slice(&bytes[..length]);
        Letter { from, header, visible: 0, kind, pages: 0, unpack: 0, length: length as u8, payload, long }
    }

    /// What tells the receiver of a transfer that its pages have come, and how many bytes it has to move on.
    pub(crate) fn notice(from: u32, header: Header, pages: u32, unpack: u64) -> Letter {
        Letter { pages, unpack, ..Letter::new(from, header, &[], LetterKind::Notice) }
    }

    pub(crate) fn payload(&self) -> &[u8] {
        self.long.as_deref().unwrap_or(&self.payload[..usize::from(self.length)])
    }

    /// Bytes on the network.
    pub(crate) fn bytes(&self) -> u32 {
        LETTER_BYTES.max((fabric::HEADER_BYTES + self.payload().len()) as u32)
    }
}

/// A put or a get between two places.
pub(crate) struct Voyage {
    /// Who has the ticket.
    pub(crate) owner: u32,
    /// The rank at the other end.
    pub(crate) peer: u32,
    pub(crate) source: *const u8,
    pub(crate) source_shape: Shape,
    pub(crate) target: *mut u8,
    pub(crate) target_shape: Shape,
    /// What tells the receiver that all is there.
    pub(crate) notice: Option<Header>,
    /// How many pages it moves.
    pub(crate) pages: u32,
    /// Bytes that its receiver has to move into local memory.
    pub(crate) unpack: u64,
    pub(crate) carrier: Carrier,
    /// All bytes are in place.
    pub(crate) done: bool,
}

/// Who moves the bytes of a voyage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Carrier {
    /// The owner's core, which cannot do anything else until they have left.
    Core,
    /// The DMA engine, which the owner has set up.
    Dma,
    /// Somebody at the place where they are, whom the owner has asked: a get.
    Asked,
}

/// An atomic that somebody at another place does.
pub(crate) struct Errand {
    pub(crate) asker: u32,
    pub(crate) place: *mut u8,
    pub(crate) width: Width,
    pub(crate) step: Step,
    /// The asker's core pushes the operands and waits until they have left.
    pub(crate) pushed: bool,
    /// The answer has come.
    pub(crate) done: bool,
}

/// What is to be done to one word, or to several.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    One {
        act: Atomic,
        /// Where what was there before goes, if anywhere.
        before: *mut u64,
    },
    Each {
        op: AtomicOp,
        operands: *const u8,
        count: usize,
    },
}

impl Errand {
    /// Does it.
    pub(crate) fn run(&self) {
        // SAFETY: the place was checked when the errand was made. By the contract of `Portal::atomic` the region stays exposed and `before`
        // or the operands valid until the ticket is done, which comes after this. All ranks share one thread.
        unsafe {
            match self.step {
                Step::One { act, before } => {
                    let found = ring::transfer::atomic(self.place, self.width, act);
                    if !before.is_null() {
                        before.write(found);
                    }
                }
                Step::Each { op, operands, count } => {
                    ring::transfer::atomic_array(self.place, self.width, op, operands, count);
                }
            }
        }
    }

    /// Bytes of the operands that travel with it, beside the one that a letter has room for.
    pub(crate) fn bytes(&self) -> u64 {
        match self.step {
            Step::One { .. } => 0,
            Step::Each { count, .. } => (count * self.width.bytes()) as u64,
        }
    }
}

/// A table of cargo: the index of an entry is its token.
#[derive(Default)]
pub(crate) struct Hold {
    entries: Vec<Option<Cargo>>,
    free: Vec<usize>,
}

impl Hold {
    pub(crate) fn stow(&mut self, cargo: Cargo) -> u64 {
        match self.free.pop() {
            Some(index) => {
                self.entries[index] = Some(cargo);
                index as u64
            }
            None => {
                self.entries.push(Some(cargo));
                self.entries.len() as u64 - 1
            }
        }
    }

    /// # Panics
    /// If there is none: the machine has reported something twice.
    pub(crate) fn unload(&mut self, token: u64) -> Cargo {
        let cargo = self.entries[token as usize].take().expect("a token in use");
        self.free.push(token as usize);
        cargo
    }

    /// What has come to a place: the cargo itself, or the copy for the rank there.
    ///
    /// # Panics
    /// As [`unload`](Hold::unload).
    pub(crate) fn unload_at(&mut self, token: u64, place: Place) -> Cargo {
        let Some(Some(Cargo::Copies { to, of })) = self.entries.get_mut(token as usize) else {
            return self.unload(token);
        };
        let at = to.iter().position(|(there, _)| *there == place).expect("a copy for the place");
        let (_, rank) = to.swap_remove(at);
        let (is_last, of) = (to.is_empty(), (**of).clone());
        if is_last {
            self.unload(token);
        }
        let to = rank;
        match of {
            Copied::Letter(letter) => Cargo::Letter { to, letter },
            Copied::Signal(lane) => Cargo::Signal { to, lane },
        }
    }

    pub(crate) fn fleet(&mut self, token: u64) -> Option<&mut Fleet> {
        match self.entries.get_mut(token as usize) {
            Some(Some(Cargo::Fleet(fleet))) => Some(fleet),
            _ => None,
        }
    }

    pub(crate) fn errand(&mut self, token: u64) -> Option<&mut Errand> {
        match self.entries.get_mut(token as usize) {
            Some(Some(Cargo::Errand(errand))) => Some(errand),
            _ => None,
        }
    }

    /// The rank whose core pushes these bytes and waits until they have left.
    pub(crate) fn pusher(&self, token: u64) -> Option<u32> {
        match self.entries.get(token as usize) {
            Some(Some(Cargo::Transfer(Voyage { owner, carrier: Carrier::Core, .. }))) => Some(*owner),
            Some(Some(Cargo::Errand(Errand { asker, pushed: true, .. }))) => Some(*asker),
            Some(Some(Cargo::Fleet(Fleet { owner, by_core: true, .. }))) => Some(*owner),
            _ => None,
        }
    }

    /// The rank whose shadow memory these bytes fill.
    pub(crate) fn shadowed(&self, token: u64) -> Option<u32> {
        match self.entries.get(token as usize) {
            Some(Some(Cargo::Shadow { rank })) => Some(*rank),
            _ => None,
        }
    }

    pub(crate) fn voyage(&mut self, token: u64) -> Option<&mut Voyage> {
        match self.entries.get_mut(token as usize) {
            Some(Some(Cargo::Transfer(voyage))) => Some(voyage),
            _ => None,
        }
    }
}

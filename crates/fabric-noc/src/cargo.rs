//! What is under way in the machine, by the token that the machine hands back.

use fabric::{Atomic, Header, Lane, Shape, Width};
use sim::{Place, Time};

/// Most payload bytes of a letter: with its header of 24 it makes the 120 bytes of the MPPA-256's control messages.
pub(crate) const LETTER_PAYLOAD: usize = 96;
/// Bytes of a letter on the network, whatever it says.
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
    /// Nothing: the end of a run.
    End,
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
    length: u8,
    payload: [u8; LETTER_PAYLOAD],
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
    /// # Panics
    /// If the payload is too long: the caller has broken the mailbox's contract.
    pub(crate) fn new(from: u32, header: Header, bytes: &[u8], kind: LetterKind) -> Letter {
        assert!(bytes.len() <= LETTER_PAYLOAD, "a letter of {} bytes, at most {LETTER_PAYLOAD}", bytes.len());
        let mut payload = [0; LETTER_PAYLOAD];
        payload[..bytes.len()].copy_from_slice(bytes);
        Letter { from, header, visible: 0, kind, pages: 0, length: bytes.len() as u8, payload }
    }

    /// What tells the receiver of a transfer that its pages have come.
    pub(crate) fn notice(from: u32, header: Header, pages: u32) -> Letter {
        Letter { pages, ..Letter::new(from, header, &[], LetterKind::Notice) }
    }

    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload[..usize::from(self.length)]
    }
}

/// A put between two places.
pub(crate) struct Voyage {
    pub(crate) owner: u32,
    pub(crate) to: u32,
    pub(crate) source: *const u8,
    pub(crate) source_shape: Shape,
    pub(crate) target: *mut u8,
    pub(crate) target_shape: Shape,
    /// What tells the receiver that all is there.
    pub(crate) notice: Option<Header>,
    /// How many pages it moves.
    pub(crate) pages: u32,
    /// The owner's core pushes the bytes and cannot do anything else until they have left.
    pub(crate) by_core: bool,
    /// All bytes are in place.
    pub(crate) done: bool,
}

/// An atomic that somebody at another place does.
pub(crate) struct Errand {
    pub(crate) asker: u32,
    pub(crate) place: *mut u8,
    pub(crate) width: Width,
    pub(crate) act: Atomic,
    /// Where what was there before goes, if anywhere.
    pub(crate) before: *mut u64,
    /// The answer has come.
    pub(crate) done: bool,
}

impl Errand {
    /// Does it.
    pub(crate) fn run(&self) {
        // SAFETY: the place was checked when the errand was made. By the contract of `Portal::atomic` the region stays exposed and `before`
        // valid until the ticket is done, which comes after this. All ranks share one thread.
        unsafe {
            let found = ring::transfer::atomic(self.place, self.width, self.act);
            if !self.before.is_null() {
                self.before.write(found);
            }
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

    pub(crate) fn errand(&mut self, token: u64) -> Option<&mut Errand> {
        match self.entries.get_mut(token as usize) {
            Some(Some(Cargo::Errand(errand))) => Some(errand),
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

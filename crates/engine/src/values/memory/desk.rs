//! A desk: where others leave what a member of a window is to do with memory of its own, which they could only reach through the system. It looks there while it
//! waits for something else inside of the library; whoever finds the desk closed, or taken, or waits too long, does it without.
//!
//! ```text
//! | state, open (u32 each) | what (u64) | at (u64) | data (DATA bytes) |
//! ```
//!
//! **Invariant:** what lies behind the state is used by one at a time: by the origin that has taken the desk until it asks, by the member from when it begins until it has
//! finished, and by the origin again after that (see [`words`]).

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use super::words;

/// Bytes of data that a desk has room for.
pub(crate) const DATA: usize = 4096;

/// Bytes of a desk.
pub(crate) const DESK: usize = FRONT + DATA;
const FRONT: usize = 24;

/// What is to be done: in the terms of those who use the desk, and how many bytes from where on in the member's memory it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Errand {
    pub what: u32,
    pub len: u32,
    pub at: u64,
}

/// A desk in memory that all members share, at an address that is a multiple of 8, and zero at first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Desk(*mut u8);

impl Desk {
    /// # Safety
    /// There must be [`DESK`] bytes that are as said, and that nobody uses otherwise as long as the desk is used.
    pub unsafe fn at(place: *mut u8) -> Desk {
        debug_assert!(place.addr().is_multiple_of(8));
        Desk(place)
    }

    fn state(&self) -> &AtomicU32 {
        // SAFETY: the constructor's contract.
        unsafe { &*self.0.cast() }
    }

    fn open(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { &*self.0.cast::<AtomicU32>().add(1) }
    }

    /// Origin: takes the desk, if the member is there and nobody else has it.
    pub fn take(&self) -> bool {
        self.open().load(Ordering::Relaxed) != 0 && words::take_desk(self.state())
    }

    /// Origin, after `take`: leaves what is to be done, with its data in two parts.
    pub fn ask(&self, errand: Errand, parts: [&[u8]; 2]) {
        assert!(parts[0].len() + parts[1].len() <= DATA);
        // SAFETY: the constructor's contract, and the desk is this origin's now; the data fits.
        unsafe {
            let words = self.0.cast::<u64>();
            words.add(1).write(u64::from(errand.what) << 32 | u64::from(errand.len));
            words.add(2).write(errand.at);
            let data = self.0.add(FRONT);
            ptr::copy_nonoverlapping(parts[0].as_ptr(), data, parts[0].len());
            ptr::copy_nonoverlapping(parts[1].as_ptr(), data.add(parts[0].len()), parts[1].len());
        }
        words::ask(self.state());
    }

    /// Origin, after `ask`: true once it is done.
    pub fn is_done(&self) -> bool {
        words::is_done(self.state())
    }

    /// Origin, after `ask`: takes it back, and closes the desk of a member that is not there. False if it is being done.
    pub fn withdraw(&self) -> bool {
        let withdrawn = words::withdraw(self.state());
        if withdrawn {
            self.open().store(0, Ordering::Relaxed);
            words::leave_desk(self.state());
        }
        withdrawn
    }

    /// Origin, once it is done: takes the answer, and leaves the desk to others.
    pub fn leave(&self, answer: &mut [u8]) {
        assert!(answer.len() <= DATA && self.is_done());
        // SAFETY: the constructor's contract, and the desk is this origin's again.
        unsafe { ptr::copy_nonoverlapping(self.0.add(FRONT), answer.as_mut_ptr(), answer.len()) };
        words::leave_desk(self.state());
    }

    /// Member: true if somebody wants something. Opens the desk if it was closed.
    #[inline]
    pub fn is_asked(&self) -> bool {
        let is_asked = words::is_asked(self.state());
        if !is_asked && self.open().load(Ordering::Relaxed) == 0 {
            self.open().store(1, Ordering::Relaxed);
        }
        is_asked
    }

    /// Member: does what is wanted, with the data and room for the answer, unless it was withdrawn meanwhile or, as `act` says, cannot be done now.
    pub fn serve(&self, act: impl FnOnce(Errand, &mut [u8; DATA]) -> bool) -> bool {
        if !words::begin(self.state()) {
            return false;
        }
        // SAFETY: the constructor's contract, and the desk is the member's until it has finished.
        unsafe {
            let (what, at) = (self.0.cast::<u64>().add(1).read(), self.0.cast::<u64>().add(2).read());
            let errand = Errand { what: (what >> 32) as u32, len: what as u32, at };
            if act(errand, &mut *self.0.add(FRONT).cast()) {
                words::finish(self.state());
                return true;
            }
        }
        words::ask(self.state());
        false
    }
}

//! A desk: where others leave what a member of a window is to do with memory of its own, which they could only reach through the system. It looks there while it
//! waits for something else inside of the library; whoever finds the desk closed, or taken, or waits too long, does it without.
//!
//! ```text
//! | state, open (u32 each) | what (u64) | at (u64) | room (u64) | short data (32 bytes) | data (DATA bytes) |
//! ```
//!
//! Short data shares the line of the state, which passes from core to core anyway; longer data begins at a line of its own.
//!
//! **Invariant:** what lies behind the state is used by one at a time: by the origin that has taken the desk until it asks, by the member from when it begins until it has
//! finished, and by the origin again after that (see [`words`]).

use core::slice;
use core::sync::atomic::{AtomicU32, Ordering};

use processor::hints;

use super::words;

/// Bytes of data that a desk has room for.
pub(crate) const DATA: usize = 4096;

/// Bytes of a desk.
pub(crate) const DESK: usize = FRONT + DATA;

/// Where short data lies.
const SHORT: usize = 32;
/// Where longer data lies: at the next line.
const FRONT: usize = hints::LINE;

/// What is to be done: in the terms of those who use the desk, and how many bytes from where on in the member's memory it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Errand {
    pub what: u32,
    pub len: u32,
    pub at: u64,
}

/// Where the data lies of an errand that needs so much room for it, or for the answer, and how much there is.
fn data_of(room: usize) -> (usize, usize) {
    if room <= FRONT - SHORT { (SHORT, FRONT - SHORT) } else { (FRONT, DATA) }
}

/// A desk in memory that all members share, at the beginning of a line, and zero at first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Desk(*mut u8);

impl Desk {
    /// # Safety
    /// There must be [`DESK`] bytes that are as said, and that nobody uses otherwise as long as the desk is used.
    pub unsafe fn at(place: *mut u8) -> Desk {
        debug_assert!(place.addr().is_multiple_of(hints::LINE));
        Desk(place)
    }

    fn state(&self) -> &AtomicU32 {
        // SAFETY: the constructor's contract.
        unsafe { &*self.0.cast() }
    }

    /// Bytes that the data of an errand, or the answer, takes. For who has the desk.
    fn room(&self) -> usize {
        // SAFETY: as above; whoever has the desk is the only one to use what lies behind the state.
        unsafe { self.0.cast::<u64>().add(3).read() as usize }
    }

    fn open(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { &*self.0.cast::<AtomicU32>().add(1) }
    }

    /// Origin: takes the desk, if the member is there and nobody else has it.
    pub fn take(&self) -> bool {
        self.open().load(Ordering::Relaxed) != 0 && words::take_desk(self.state())
    }

    /// Origin, after `take`: leaves what is to be done, with its data in two parts, and room for an answer of so many bytes.
    pub fn ask(&self, errand: Errand, parts: [&[u8]; 2], answer: usize) {
        let room = answer.max(parts[0].len() + parts[1].len());
        let (begin, most) = data_of(room);
        assert!(room <= most);
        // SAFETY: the constructor's contract, and the desk is this origin's now; the data fits.
        unsafe {
            let words = self.0.cast::<u64>();
            words.add(1).write(u64::from(errand.what) << 32 | u64::from(errand.len));
            words.add(2).write(errand.at);
            words.add(3).write(room as u64);
            let data = self.0.add(begin);
            processor::copy_across(parts[0].as_ptr(), data, parts[0].len());
            processor::copy_across(parts[1].as_ptr(), data.add(parts[0].len()), parts[1].len());
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
        assert!(self.is_done());
        let (begin, most) = data_of(self.room());
        assert!(answer.len() <= most);
        // SAFETY: the constructor's contract, and the desk is this origin's again.
        unsafe { processor::copy_across(self.0.add(begin), answer.as_mut_ptr(), answer.len()) };
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
    pub fn serve(&self, act: impl FnOnce(Errand, &mut [u8]) -> bool) -> bool {
        if !words::begin(self.state()) {
            return false;
        }
        // SAFETY: the constructor's contract, and the desk is the member's until it has finished.
        unsafe {
            let (what, at) = (self.0.cast::<u64>().add(1).read(), self.0.cast::<u64>().add(2).read());
            let errand = Errand { what: (what >> 32) as u32, len: what as u32, at };
            let (begin, most) = data_of(self.room());
            if act(errand, slice::from_raw_parts_mut(self.0.add(begin), most)) {
                words::finish(self.state());
                return true;
            }
        }
        words::ask(self.state());
        false
    }
}

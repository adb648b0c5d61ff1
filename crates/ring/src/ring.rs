//! A bounded ring of cells, filled by many senders and emptied by one receiver.
//!
//! One ring a receiver rather than one a pair of ranks: memory grows with the number of ranks and not with its square, and
//! the receiver polls one place. The price is one compare-and-swap on the tail, which is contended only when several
//! ranks send to one at the same time.
//!
//! ```text
//!  sender                                   receiver
//!    1. tail.cas(p, p + 1)   (room? against a private copy of head)
//!    2. cells[p % n] = header, payload
//!    3. cells[p % n].control = stamp(p), ...  4. control.stamp == stamp(p)?  read the body
//!       (release)                                (acquire)
//!                                             5. every n/4 letters: head = p + 1 (release)
//!    6. when the private copy says full: reload head (acquire)
//! ```
//!
//! A sender may sleep until there is room: it puts its number into one of a few places beside the head, runs a heavy barrier (see
//! [`doorbell`](crate::doorbell)), looks at the head once more and sleeps. The receiver looks after step 5 whether anybody has done
//! so, which is one load of a line that it has, a few times a lap; the barrier of the sleeper makes sure that one of the two sees the other.
//! Where all places are taken, a sender does not sleep.
//!
//! Positions are 64-bit counters that never wrap. The stamp of a letter (position + n, cut to 16 bits) tells a new cell from an
//! old one: a cell holds either the stamp that the receiver expects or that of the lap before, which is n less, so a cut stamp is unambiguous. No
//! letter of the first lap has the zero of fresh memory, because n is at most [`CELLS_MAX`]. No cell is ever cleared.
//!
//! **Invariant:** published head <= receiver's position <= tail <= published head + n. A sender that finds the ring full
//! can count on progress: at least three quarters of the cells are then unread, so the receiver will publish while it
//! empties them.
//!
//! A sender that is stopped between 1 and 3 leaves a hole that blocks the receiver, hence all senders of this ring, until it goes on. If
//! it dies there, its job is aborted by the launcher anyway.

use core::cell;

use fabric::{Header, PostError};

use crate::cell::{Body, Cell, Control, INLINE_BYTES, Payload};
use crate::sync::{AtomicU32, AtomicU64, Ordering, compiler_fence};

/// The position that the next sender claims. On lines of its own: all senders write it.
#[repr(C, align(128))]
pub struct Tail(AtomicU64);

/// How far the receiver has published its progress. On lines of its own: the receiver writes it, senders read it.
#[repr(C, align(128))]
pub struct Head {
    published: AtomicU64,
    /// Not zero if a sender waits for room.
    wanted: AtomicU32,
    /// Which ones: their numbers and one, or zero.
    waiting: [AtomicU32; WAITING],
}

/// Senders that can wait for room at the same time.
const WAITING: usize = 8;

/// Most cells of a ring.
pub const CELLS_MAX: usize = 1 << 15;

/// Where the senders of a ring run, as one of them sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Company {
    /// All on the thread of this one: the claim of a cell needs no atomic read-modify-write.
    OnMyThread,
    /// Anywhere.
    Anywhere,
    /// Each on a core of its own, and so is the receiver: their caches are worth a [hint](crate::lines).
    OnOwnCores,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Tail>() == 128 && size_of::<Head>() == 128);

impl Tail {
    /// The tail of an empty ring; the same as zeroed memory.
    pub fn new() -> Tail {
        Tail(AtomicU64::new(0))
    }
}

impl Head {
    /// The head of an empty ring; the same as zeroed memory.
    pub fn new() -> Head {
        Head { published: AtomicU64::new(0), wanted: AtomicU32::new(0), waiting: Default::default() }
    }
}

impl Default for Tail {
    fn default() -> Tail {
        Tail::new()
    }
}

impl Default for Head {
    fn default() -> Head {
        Head::new()
    }
}

/// The shared parts of a ring, as every rank sees them.
#[derive(Clone, Copy)]
pub struct Ring<'a> {
    tail: &'a Tail,
    head: &'a Head,
    cells: &'a [Cell],
}

impl<'a> Ring<'a> {
    /// A ring over `cells`.
    ///
    /// # Panics
    /// If the number of cells is not a power of two, or above [`CELLS_MAX`].
    #[inline(always)]
    pub fn new(tail: &'a Tail, head: &'a Head, cells: &'a [Cell]) -> Ring<'a> {
        assert!(cells.len().is_power_of_two(), "a ring has a power of two of cells");
        assert!(cells.len() <= CELLS_MAX, "a ring has at most {CELLS_MAX} cells");
        // SAFETY: as it says.
        unsafe { Ring::new_unchecked(tail, head, cells) }
    }

    /// As [`new`](Ring::new), for those who have looked before: a ring is made for every letter.
    ///
    /// # Safety
    /// The number of cells must be a power of two, and not above [`CELLS_MAX`].
    #[inline(always)]
    pub(crate) unsafe fn new_unchecked(tail: &'a Tail, head: &'a Head, cells: &'a [Cell]) -> Ring<'a> {
        debug_assert!(cells.len().is_power_of_two());
        Ring { tail, head, cells }
    }

    /// Appends a letter, or says that there is no room. `known_head` is the sender's private copy of this ring's head,
    /// zero at first and passed to every call: while it shows room the sender does not touch the receiver's line.
    #[inline(always)]
    pub fn push(
        &self,
        company: Company,
        known_head: &cell::Cell<u64>,
        sender: u32,
        header: &Header,
        payload: Payload<'_>,
    ) -> Result<(), PostError> {
        let position = self.claim(company, known_head).ok_or(PostError::Full)?;
        // SAFETY: just claimed.
        unsafe { self.publish(position, sender, header, payload) };
        Ok(())
    }

    /// The first half of [`push`](Ring::push): takes the next position, if there is room. [`publish`](Ring::publish) must follow.
    #[inline(always)]
    pub fn claim(&self, company: Company, known_head: &cell::Cell<u64>) -> Option<u64> {
        if company == Company::OnMyThread {
            self.claim_alone(known_head)
        } else {
            self.claim_among(known_head)
        }
    }

    /// The second half of [`push`](Ring::push). The cell where the letter now is.
    ///
    /// # Safety
    /// The position must have been claimed by this sender, and nothing been published there.
    #[inline(always)]
    pub unsafe fn publish(
        &self,
        position: u64,
        sender: u32,
        header: &Header,
        payload: Payload<'_>,
    ) -> &'a Cell {
        let cell = self.cell(position);
        // SAFETY: the claim made `position` this sender's alone, and found the receiver's head within one lap of it, so the
        // receiver is done with the cell's former letter.
        unsafe { cell.publish(self.stamp(position), sender, header, payload) };
        cell
    }

    /// True if a claim would probably succeed now. For senders that want to know before they copy a payload.
    #[inline(always)]
    pub fn has_room(&self, known_head: &cell::Cell<u64>) -> bool {
        self.fits(self.tail.0.load(Ordering::Relaxed), known_head)
    }

    /// Lets the receiver know that `sender` is about to sleep until there is room. False if too many do. The caller must then run the heavy
    /// barrier and look for room again before it sleeps.
    pub fn ask_for_room(&self, sender: u32) -> bool {
        let mut places = self.head.waiting.iter();
        let taken = places
            .any(|place| place.compare_exchange(0, sender + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok());
        if taken {
            self.head.wanted.store(1, Ordering::Release);
        }
        taken
    }

    /// `sender` sleeps no more: whoever has not been told need not be.
    pub fn stop_asking(&self, sender: u32) {
        for place in &self.head.waiting {
            _ = place.compare_exchange(sender + 1, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Takes the next position. Relaxed, because the claim orders nothing: the cell's former readers are ordered by `head`,
    /// its next reader by the control word.
    #[inline(always)]
    fn claim_among(&self, known_head: &cell::Cell<u64>) -> Option<u64> {
        let mut position = self.tail.0.load(Ordering::Relaxed);
        loop {
            if !self.fits(position, known_head) {
                return None;
            }
            match self.tail.0.compare_exchange_weak(
                position,
                position + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(position),
                Err(now) => position = now,
            }
        }
    }

    /// The same for a sender that runs on the thread of all others: nobody else runs between the load and the store.
    #[inline(always)]
    fn claim_alone(&self, known_head: &cell::Cell<u64>) -> Option<u64> {
        let position = self.tail.0.load(Ordering::Relaxed);
        if !self.fits(position, known_head) {
            return None;
        }
        self.tail.0.store(position + 1, Ordering::Relaxed);
        Some(position)
    }

    /// True if `position` lies within one lap of the head. Signed, because the loaded tail may be older than the head.
    #[inline(always)]
    fn fits(&self, position: u64, known_head: &cell::Cell<u64>) -> bool {
        let lap = self.cells.len() as i64;
        if (position.wrapping_sub(known_head.get()) as i64) < lap {
            return true;
        }
        known_head.set(self.head.published.load(Ordering::Acquire));
        (position.wrapping_sub(known_head.get()) as i64) < lap
    }

    #[inline(always)]
    fn cell(&self, position: u64) -> &'a Cell {
        let index = position as usize & (self.cells.len() - 1);
        // SAFETY: the length is a power of two (see `new`), so the mask keeps the index below it.
        unsafe { self.cells.get_unchecked(index) }
    }

    #[inline(always)]
    fn stamp(&self, position: u64) -> u16 {
        position.wrapping_add(self.cells.len() as u64) as u16
    }
}

/// The receiving side of a ring.
pub struct Consumer<'a> {
    ring: Ring<'a>,
    /// The next position to read, or [`TAKING`] while a sink runs.
    position: cell::Cell<u64>,
    /// The head is published at positions that have none of these bits.
    quarter: u64,
}

const TAKING: u64 = u64::MAX;

impl<'a> Consumer<'a> {
    /// The receiver of `ring`, from its first letter on.
    ///
    /// # Safety
    /// A ring has one consumer in its life: two would read cells that the other has given back to senders.
    pub unsafe fn new(ring: Ring<'a>) -> Consumer<'a> {
        let quarter = (ring.cells.len() as u64 / 4).max(1) - 1;
        Consumer { ring, position: cell::Cell::new(0), quarter }
    }

    /// How many letters have been taken. Inside of a sink it is another number than before and after it.
    #[inline(always)]
    pub fn taken(&self) -> u64 {
        self.position.get()
    }

    /// True if no letter waits.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        let position = self.position.get();
        self.ring.cell(position).ready(self.ring.stamp(position)).is_none()
    }

    /// Hands up to `limit` letters to `each` and returns how many. A letter counts as taken when `each` returns.
    ///
    /// # Panics
    /// If called from inside `each`.
    #[inline(always)]
    pub fn take(&self, limit: usize, mut each: impl FnMut(Control, &Body)) -> usize {
        let each = |control, body: &Body| {
            each(control, body);
            true
        };
        self.take_while(limit, each, |_, _| (), |_| ())
    }

    /// As [`take`](Consumer::take), until `each` says that it shall not go on. `soon` is shown the letter behind a long one before that is handed out, if it is here. `tell` is given the senders that wait for room when there is some. They may sleep.
    ///
    /// # Panics
    /// If called from inside `each`.
    #[inline(always)]
    pub fn take_while(
        &self,
        limit: usize,
        mut each: impl FnMut(Control, &Body) -> bool,
        soon: impl Fn(Control, &Body),
        tell: impl Fn(u32),
    ) -> usize {
        let position = self.position.get();
        assert!(position != TAKING, "a mailbox was polled from inside the sink of its own poll");
        let ready = |position| {
            let cell = self.ring.cell(position);
            cell.ready(self.ring.stamp(position)).map(|control| (cell, control))
        };
        // Most polls of a waiting rank end here.
        let Some((mut cell, mut control)) = ready(position) else { return 0 };
        if limit == 0 {
            return 0;
        }
        self.position.set(TAKING);
        let mut turn = Turn { consumer: self, position };
        loop {
            if control.length() > INLINE_BYTES
                && let Some((next, control)) = ready(turn.position + 1)
            {
                // SAFETY: `ready` answered for this position, and the head moves past it in a later turn.
                unsafe { next.read(|body| soon(control, body)) };
            }
            // SAFETY: `ready` answered for this position, and the head is published below, after `each`.
            let goes_on = unsafe { cell.read(|body| each(control, body)) };
            turn.position += 1;
            if self.publish(turn.position) {
                self.tell_of_room(&tell);
            }
            let taken = (turn.position - position) as usize;
            if taken == limit || !goes_on {
                return taken;
            }
            match ready(turn.position) {
                Some(next) => (cell, control) = next,
                None => return taken,
            }
        }
    }
}

impl Consumer<'_> {
    /// Hands the next letter to `take`: it counts as taken if that says so, and stays otherwise. `None` if no letter waits; else what
    /// `take` says beside that, and whether senders wait to be [told](Consumer::tell_of_room) of the room that is there now.
    ///
    /// Calls nothing that is not `take`'s, for a caller that is no more than this.
    ///
    /// # Panics
    /// If called from inside a sink.
    #[inline(always)]
    pub fn take_next<R>(&self, take: impl FnOnce(Control, &Body) -> (bool, R)) -> Option<(R, bool)> {
        let position = self.position.get();
        assert!(position != TAKING, "a mailbox was polled from inside the sink of its own poll");
        let (cell, stamp) = (self.ring.cell(position), self.ring.stamp(position));
        let control = cell.ready(stamp)?;
        // SAFETY: `ready` answered for this position, and the head is published below, after `take`.
        let (taken, answer) = unsafe { cell.read(|body| take(control, body)) };
        if !taken {
            return Some((answer, false));
        }
        self.position.set(position + 1);
        Some((answer, self.publish(position + 1)))
    }

    /// Publishes the head at every quarter of the ring. The letters before `position` are done with. True if somebody waits for that.
    #[inline(always)]
    fn publish(&self, position: u64) -> bool {
        if position & self.quarter != 0 {
            return false;
        }
        self.ring.head.published.store(position, Ordering::Release);
        compiler_fence(Ordering::SeqCst);
        self.ring.head.wanted.load(Ordering::Relaxed) != 0
    }

    /// Hands those who wait for room to `tell`. They may sleep.
    #[cold]
    pub fn tell_of_room(&self, tell: &dyn Fn(u32)) {
        let head = self.ring.head;
        // Whoever sets it again from here on is told next time, if not now.
        head.wanted.swap(0, Ordering::AcqRel);
        for place in &head.waiting {
            if let Some(sender) = place.swap(0, Ordering::AcqRel).checked_sub(1) {
                tell(sender);
            }
        }
    }
}

/// Puts the position back when a `take` ends, also by a panic of the sink.
struct Turn<'c, 'a> {
    consumer: &'c Consumer<'a>,
    position: u64,
}

impl Drop for Turn<'_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.consumer.position.set(self.position);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::pool::Slot;

    #[test]
    fn senders_that_wait_for_room_are_told_once_when_there_is_some() {
        let (tail, head, cells) =
            (Tail::new(), Head::new(), core::array::from_fn::<_, 8, _>(|_| Cell::new()));
        let ring = Ring::new(&tail, &head, &cells);
        // SAFETY: the only consumer.
        let consumer = unsafe { Consumer::new(ring) };
        let (known_head, told) = (cell::Cell::new(0), cell::RefCell::new(alloc::vec::Vec::new()));
        let push = || ring.push(Company::Anywhere, &known_head, 0, &[0; 3], Payload::Inline(&[]));
        let take = |limit| {
            consumer.take_while(limit, |_, _| true, |_, _| (), |sender| told.borrow_mut().push(sender));
            told.take()
        };
        while push().is_ok() {}
        assert!(ring.ask_for_room(0) && ring.ask_for_room(70_000) && ring.ask_for_room(5));
        ring.stop_asking(5);
        assert_eq!(take(1), [0u32; 0], "there is no room yet that a sender could see");
        assert_eq!(take(1), [0, 70_000]);
        assert!(push().is_ok());
        assert_eq!(take(8), [0u32; 0], "they were told");
        assert_eq!((0..20).filter(|sender| ring.ask_for_room(*sender)).count(), WAITING);
    }

    #[test]
    fn the_letter_behind_a_long_one_is_shown_before_that_is_handed_out() {
        let (tail, head, cells) =
            (Tail::new(), Head::new(), core::array::from_fn::<_, 8, _>(|_| Cell::new()));
        let ring = Ring::new(&tail, &head, &cells);
        // SAFETY: the only consumer.
        let consumer = unsafe { Consumer::new(ring) };
        let (known_head, seen) = (cell::Cell::new(0), cell::RefCell::new(alloc::vec::Vec::new()));
        let push = |letter, is_long| {
            let long = Payload::Pooled { length: INLINE_BYTES + 1, slot: Slot { home: 0, number: 0 } };
            let payload = if is_long { long } else { Payload::Inline(&[]) };
            ring.push(Company::Anywhere, &known_head, 0, &[letter, 0, 0], payload).unwrap();
        };
        for (letter, is_long) in [(1, true), (2, true), (3, false), (4, true)] {
            push(letter, is_long);
        }
        let note = |what, body: &Body| seen.borrow_mut().push((what, body.header[0]));
        let each = |_, body: &Body| {
            note("taken", body);
            true
        };
        let taken = consumer.take_while(8, each, |_, body| note("soon", body), |_| ());
        let expected = [("soon", 2), ("taken", 1), ("soon", 3), ("taken", 2), ("taken", 3), ("taken", 4)];
        assert_eq!((taken, &seen.borrow()[..]), (4, &expected[..]));
    }

    #[test]
    fn a_ring_goes_on_after_its_stamps_have_wrapped() {
        let (tail, head, cells) = (Tail::new(), Head::new(), [Cell::new(), Cell::new()]);
        let ring = Ring::new(&tail, &head, &cells);
        // SAFETY: the only consumer.
        let consumer = unsafe { Consumer::new(ring) };
        let known_head = cell::Cell::new(0);
        for letter in 0..3u64 << 16 {
            ring.push(Company::Anywhere, &known_head, 0, &[letter, 0, 0], Payload::Inline(&[])).unwrap();
            let taken = consumer.take(8, |_, body| assert_eq!(body.header[0], letter));
            assert_eq!(taken, 1);
        }
    }
}

//! How letters come: all that are there, to a sink, or the one that is meant, to where it is wanted. What lies in cells and slots was written by somebody else, so it is checked and not trusted.

use core::slice;

use fabric::{DAMAGED, Header, NO_NODE, Next, Node};
use processor::hints;

use super::Endpoint;
use crate::cell::{Body, Control, INLINE_BYTES, copy_short};
use crate::lines;
use crate::pool::Slot;
use crate::ring::Company;

/// After a letter of more bytes a poll ends. To begin another one is soon as much as a short copy where many receives are waited for (decision 58).
const GOES_ON_UP_TO: usize = 8 << 10;

/// The same for a rank that sends long letters, too.
const GOES_ON_UP_TO_IN_EXCHANGES: usize = 1 << 10;

/// So much of a letter is asked for while the one before is handed out: as many lines as a core can wait for at a time, nearly.
const ASKED_FOR: usize = 512;

/// Longer letters are not asked for: a poll mostly ends before them, and what their copies ask for themselves comes soon enough.
const ASKED_FOR_UP_TO: usize = GOES_ON_UP_TO;

/// What comes of a [look](Endpoint::take_next) for the next letter beside the letter itself.
pub struct Ends<N, L, W> {
    /// There was none.
    pub nothing: N,
    /// The payload of the one that is meant does not lie in its cell: [`take_next_long`](Endpoint::take_next_long) takes it.
    pub long: L,
    /// It was taken, and senders wait to be [told](Endpoint::tell_of_room) of the room.
    pub wanted: W,
}

impl Endpoint {
    /// Hands waiting letters to `sink`: [`fabric::Mailbox::poll`], where nobody sleeps until there is room.
    pub fn poll(&self, limit: usize, sink: &mut dyn FnMut(Node, &Header, &[u8])) -> usize {
        self.poll_and_wake(limit, sink, |_| ())
    }

    /// Hands waiting letters to `sink`: [`fabric::Mailbox::poll`]. Calls `wake` for ranks that wait for room here, when there is some.
    ///
    /// It ends after a letter of more than 8 KiB, or 1 KiB where this rank sends long ones, too. That may be all that its receiver waits for, and if it took the next one before it has said where that shall go, that would be copied once more. And again: whoever need not
    /// wait for what it got too early is early itself with the next.
    #[inline]
    pub fn poll_and_wake(
        &self,
        limit: usize,
        sink: &mut dyn FnMut(Node, &Header, &[u8]),
        wake: impl Fn(Node),
    ) -> usize {
        let ranks = self.exchange.geometry().ranks();
        // A number that makes no sense was written by somebody else.
        let tell = |sender| {
            if sender < ranks {
                wake(Node(sender))
            }
        };
        let each = |control: Control, body: &Body| {
            let (sender, length) = (control.sender(), control.length());
            // Everything in a cell was written by somebody else, so it is checked rather than trusted.
            if sender >= self.exchange.geometry().ranks() {
                damaged(NO_NODE, sink);
                return true;
            }
            if length <= INLINE_BYTES {
                // SAFETY: a sender writes as many bytes as the control word says.
                sink(Node(sender), &body.header, unsafe { body.inline_payload(length) });
                return true;
            }
            // SAFETY: longer letters name a slot.
            let slot = unsafe { body.slot() };
            let Some(payload) = self.pooled(slot, length) else {
                damaged(Node(sender), sink);
                return true;
            };
            sink(Node(sender), &body.header, payload);
            let exchanges = self.pool.is_ahead();
            self.done_with(slot);
            length <= if exchanges { GOES_ON_UP_TO_IN_EXCHANGES } else { GOES_ON_UP_TO }
        };
        let taken = self.inbox.take_while(limit, each, |control, body| self.ask_for(control, body), tell);
        if taken == 0 && self.streams.get() {
            self.hint_more();
        }
        taken
    }

    /// Asks for the beginning of the payload of a letter that is handed out next: it comes while the one before is copied.
    #[inline(always)]
    fn ask_for(&self, control: Control, body: &Body) {
        let length = control.length();
        let is_worth_it = (INLINE_BYTES + 1..=ASKED_FOR_UP_TO).contains(&length);
        if is_worth_it && self.company.get() == Company::OnOwnCores {
            // SAFETY: letters of this length name a slot.
            let slot = unsafe { body.slot() };
            if let Some(payload) = self.pooled(slot, length) {
                hints::will_read(payload.as_ptr(), length.min(ASKED_FOR));
            }
        }
    }

    /// Looks for a letter once, and takes it if it is the one that is meant: [`fabric::Mailbox::take_next`]. Calls nothing but, last, one of `ends`.
    #[inline(always)]
    pub fn take_next(
        &self,
        (first, second): (u64, u64),
        room: &mut [u8],
        ends: Ends<impl FnOnce(&mut [u8]) -> Next, impl FnOnce(&mut [u8]) -> Next, impl FnOnce(Next) -> Next>,
    ) -> Next {
        let take = |control: Control, body: &Body| {
            let length = control.length();
            if !self.is_meant(control, body, (first, second), room) {
                return (false, Next::ANOTHER);
            }
            if length > INLINE_BYTES {
                return (false, Next::NOTHING);
            }
            // SAFETY: a sender writes as many bytes as the control word says; there is room for them, which is the caller's alone.
            unsafe { copy_short(body.inline_payload(length), room.as_mut_ptr()) };
            (true, Next::taken(Node(control.sender()), length as u32))
        };
        match self.inbox.take_next(take) {
            None => (ends.nothing)(room),
            Some((next, true)) => (ends.wanted)(next),
            // Found, and yet nothing: it is long.
            Some((Next::NOTHING, false)) => (ends.long)(room),
            Some((next, false)) => next,
        }
    }

    /// Looks up to `looks` times whether a letter is here. Spends the time before that with hints that were put off, as long as there are any.
    #[inline(always)]
    pub fn awaits_letter(&self, looks: u32) -> bool {
        while self.inbox.is_empty() && self.hint_more() {}
        (0..looks).any(|_| {
            let here = !self.inbox.is_empty();
            if !here {
                lines::look_again();
            }
            here
        })
    }

    /// As [`take_next`](Endpoint::take_next), for the letters that it leaves to `long`.
    #[inline(never)]
    pub fn take_next_long(
        &self,
        (first, second): (u64, u64),
        room: &mut [u8],
        tell: impl FnOnce(Next) -> Next,
    ) -> Next {
        let take = |control: Control, body: &Body| {
            let taken = self.is_meant(control, body, (first, second), room)
                && control.length() > INLINE_BYTES
                && self.take_pooled(control.length(), body, room).is_some();
            let bytes = control.length() as u32;
            (taken, if taken { Next::taken(Node(control.sender()), bytes) } else { Next::ANOTHER })
        };
        match self.inbox.take_next(take) {
            None => Next::NOTHING,
            Some((next, true)) => tell(next),
            Some((next, false)) => next,
        }
    }

    /// Whether a letter is the one that a [look](Endpoint::take_next) means.
    #[inline(always)]
    fn is_meant(&self, control: Control, body: &Body, (first, second): (u64, u64), room: &[u8]) -> bool {
        let (length, [one, two, three]) = (control.length(), body.header);
        one == first
            && two == second
            && three == length as u64
            && length <= room.len()
            && control.sender() < self.exchange.geometry().ranks()
    }

    /// Calls `wake` for ranks that wait for room here, of which there is some.
    #[cold]
    pub fn tell_of_room(&self, wake: impl Fn(Node)) {
        let ranks = self.exchange.geometry().ranks();
        // A number that makes no sense was written by somebody else.
        self.inbox.tell_of_room(&|sender| {
            if sender < ranks {
                wake(Node(sender))
            }
        });
    }

    /// Stores the payload of a long letter, unless it makes no sense.
    #[inline(always)]
    fn take_pooled(&self, length: usize, body: &Body, room: &mut [u8]) -> Option<()> {
        // SAFETY: letters of this length name a slot.
        let slot = unsafe { body.slot() };
        let payload = self.pooled(slot, length)?;
        let room = &mut room[..length];
        // SAFETY: as many bytes on both sides; what is borrowed mutably overlaps with nothing.
        unsafe { processor::copy(payload.as_ptr(), room.as_mut_ptr(), length) };
        self.done_with(slot);
        Some(())
    }

    /// The payload of a long letter; `None` if there can be none. Nobody else touches it until this rank is [done](Endpoint::done_with) with the slot.
    #[inline(always)]
    fn pooled(&self, slot: Slot, length: usize) -> Option<&[u8]> {
        let geometry = self.exchange.geometry();
        if length > geometry.letter_max() || slot.number >= geometry.slots() || slot.home >= geometry.ranks()
        {
            return None;
        }
        // SAFETY: the sender filled `length` bytes of the slot before it published the letter, and gave the slot away with it.
        Some(unsafe { slice::from_raw_parts(self.exchange.slot_payload(slot), length) })
    }

    /// The payload in `slot` has been read. Where caches are each rank's own, the slot is best written by whoever has just read it.
    #[inline(always)]
    fn done_with(&self, slot: Slot) {
        let keeps = self.company.get() == Company::OnOwnCores;
        self.pool.read(slot, keeps, |slot| self.exchange.lent(slot));
    }
}

/// Hands a letter out that makes no sense. Its slot, if it has one, is not given back: which one is not known.
#[cold]
fn damaged(from: Node, sink: &mut dyn FnMut(Node, &Header, &[u8])) {
    sink(from, &DAMAGED, &[]);
}

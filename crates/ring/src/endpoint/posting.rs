//! How letters leave: into a cell of the receiver's ring, or into a slot that a cell names; with hints to the caches where each rank has its own.

use fabric::{Header, Node, PostError};
use processor::hints;

use super::{Endpoint, RECEIVERS, Receiver};
use crate::cell::{INLINE_BYTES, Payload};
use crate::doorbell::Doorbell;
use crate::exchange::Front;
use crate::pool::LENT_BYTES;
use crate::ring::{Company, Ring};

/// How much of a pooled payload is handed over at once by a rank that [converses](Endpoint::converses); the rest follows when there is nothing else to do.
const HANDED_OVER_AT_ONCE: usize = 1 << 10;

/// How much of the next slot is asked for by a rank that posts one letter after the other.
const EXPECTED_AT_ONCE: usize = 4 << 10;

impl Endpoint {
    /// Appends a letter to the mailbox of `to`: [`fabric::Mailbox::try_post`] but for the wake-up.
    ///
    /// # Errors
    /// If there is no room.
    pub fn try_post(&self, to: Node, header: &Header, payload: &[u8]) -> Result<(), PostError> {
        self.post(to, header, payload).map(|_| ()).ok_or(PostError::Full)
    }

    /// As [`try_post`](Endpoint::try_post); the receiver's doorbell, for the wake-up, or nothing if there is no room.
    pub fn post(&self, to: Node, header: &Header, payload: &[u8]) -> Option<&Doorbell> {
        if payload.len() > INLINE_BYTES {
            return self.post_pooled(to, header, payload);
        }
        self.push(self.receiver(to), header, Payload::Inline(payload), || self.converses())
    }

    /// As [`post`](Endpoint::post), of a letter that fits into a cell, to a receiver that was posted to before; for any other it calls nothing but `otherwise`.
    #[inline(always)]
    pub fn post_quickly<'e, R>(
        &'e self,
        (to, header, payload): (Node, &Header, &[u8]),
        otherwise: impl FnOnce() -> R,
        posted: impl FnOnce(Option<&'e Doorbell>) -> R,
    ) -> R {
        let receiver = &self.receivers[to.0 as usize % RECEIVERS];
        if receiver.rank.get() != to.0 || payload.len() > INLINE_BYTES {
            return otherwise();
        }
        posted(self.push(receiver, header, Payload::Inline(payload), || self.converses()))
    }

    /// What is known of a receiver.
    #[inline(always)]
    fn receiver(&self, to: Node) -> &Receiver {
        let receiver = &self.receivers[to.0 as usize % RECEIVERS];
        if receiver.rank.get() != to.0 {
            self.meet(receiver, to);
        }
        receiver
    }

    /// Makes a receiver one that was posted to before.
    pub fn get_to_know(&self, to: Node) {
        self.receiver(to);
    }

    #[cold]
    #[inline(never)]
    fn meet(&self, receiver: &Receiver, to: Node) {
        receiver.area.set(self.exchange.area(to.0));
        receiver.rank.set(to.0);
        receiver.head.set(0);
    }

    /// The ring of a receiver.
    #[inline(always)]
    fn ring(&self, receiver: &Receiver) -> Ring<'_> {
        // SAFETY: an area of this exchange, whose memory outlives the endpoint.
        unsafe { self.exchange.ring_in(receiver.area.get()) }
    }

    /// True if a letter was taken since this was last asked: then this rank answers or is answered, and what it posts is waited for. A rank that has taken none posts one letter after the other, and
    /// the time that it takes to hand one over is the next one's.
    #[inline(always)]
    fn converses(&self) -> bool {
        let taken = self.inbox.taken();
        self.taken_before.replace(taken) != taken
    }

    #[inline(always)]
    fn push(
        &self,
        receiver: &Receiver,
        header: &Header,
        payload: Payload<'_>,
        converses: impl FnOnce() -> bool,
    ) -> Option<&Doorbell> {
        let ring = self.ring(receiver);
        let position = ring.claim(self.company.get(), &receiver.head)?;
        // SAFETY: just claimed. (In two halves, so that what only the second needs is not kept in registers over the first.)
        let cell = unsafe { ring.publish(position, self.me, header, payload) };
        if self.company.get() == Company::OnOwnCores {
            cell.hint(payload.length(), converses());
        }
        // SAFETY: an area of the exchange, whose memory outlives the endpoint, begins with a front.
        Some(unsafe { &receiver.area.get().cast::<Front>().as_ref().doorbell })
    }

    /// As [`post`](Endpoint::post), of a letter that does not fit into a cell.
    ///
    /// The payload is copied before a cell is claimed, so that a long copy does not hold up letters of other senders behind
    /// an unfinished cell; the look at the room first saves the copy in most cases when the ring is full.
    #[inline(never)]
    pub fn post_pooled(&self, to: Node, header: &Header, payload: &[u8]) -> Option<&Doorbell> {
        let receiver = self.receiver(to);
        let letter_max = self.exchange.geometry().letter_max();
        assert!(
            payload.len() <= letter_max,
            "a letter of {} bytes was posted, the most is {letter_max}",
            payload.len()
        );
        if !self.ring(receiver).has_room(&receiver.head) {
            return None;
        }
        let slot = self.pool.take(|slot| self.exchange.lent(slot))?;
        let place = self.exchange.slot_payload(slot);
        // SAFETY: the slot was taken, so nobody reads it, and it holds `letter_max` bytes; `payload` cannot overlap it,
        // because what lies in slots is handed out only for reading and only while they are not free.
        unsafe {
            match self.bulk.get() {
                true => processor::copy_in_bulk(payload.as_ptr(), place, payload.len()),
                false => processor::copy(payload.as_ptr(), place, payload.len()),
            }
        }
        let converses = self.converses();
        let pushed =
            self.push(receiver, header, Payload::Pooled { length: payload.len(), slot }, || converses);
        if pushed.is_none() {
            self.pool.untake(slot);
        } else if self.company.get() == Company::OnOwnCores {
            self.hint(place, payload.len(), converses);
        }
        pushed
    }

    /// After a long letter whose payload lies at `place`: hands its beginning over if somebody waits for it, and puts off the rest. In a stream the slot of the next one is asked for, which its receiver has read a while ago; where
    /// letters are answered it is the one that this rank reads next.
    #[inline(always)]
    fn hint(&self, place: *const u8, length: usize, converses: bool) {
        let at_once = if converses { length.min(HANDED_OVER_AT_ONCE) } else { 0 };
        hints::hand_over(place, at_once);
        self.streams.set(!converses);
        self.unhanded.set(place, at_once..length);
        if !converses
            && !self.bulk.get()
            && let Some(next) = self.pool.next()
        {
            let line = (&raw const *self.exchange.lent(next)).cast();
            hints::will_write(line, (LENT_BYTES + length).min(EXPECTED_AT_ONCE));
        }
    }

    /// Gives some hints that were put off, if there are any: a rank that found nothing has the time.
    #[inline(always)]
    pub(super) fn hint_more(&self) -> bool {
        if self.company.get() != Company::OnOwnCores {
            return false;
        }
        let some = self.unhanded.take_some();
        some.inspect(|(line, bytes)| hints::hand_over(*line, *bytes)).is_some()
    }

    /// Letters are of long messages from now on, or no longer: [`fabric::Mailbox::in_bulk`].
    #[inline(always)]
    pub fn set_bulk(&self, is: bool) {
        self.bulk.set(is);
    }

    /// Leaves out the hints that were put off: [`fabric::Mailbox::crosses`].
    #[inline(always)]
    pub fn forget_hints(&self) {
        self.unhanded.forget();
    }

    /// Lets `to`, whose ring was full, know that this rank is about to sleep until there is room: then the `wake` of its poll is called for
    /// this rank. False if too many wait for it. See [`Ring::ask_for_room`].
    pub fn ask_for_room(&self, to: Node) -> bool {
        self.exchange.ring(to.0).ask_for_room(self.me)
    }

    /// Takes that back.
    pub fn stop_asking(&self, to: Node) {
        self.exchange.ring(to.0).stop_asking(self.me);
    }

    /// Whether the ring of `to` has room, as far as this rank can see.
    pub fn has_room(&self, to: Node) -> bool {
        let receiver = self.receiver(to);
        self.ring(receiver).has_room(&receiver.head)
    }
}

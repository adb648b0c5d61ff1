//! Tells whoever watches: what a rank does, message by message, as its observer wants to hear it.

use core::num::NonZeroU64;

use fabric::{Fabric, Node};

use crate::progress::core::Core;
use crate::progress::tables::peers::Peer;
use crate::progress::tables::watch::{Carried, MessageNumber, Observer, PostNumber, Transit, Wanted};
use crate::values::envelope::Envelope;
use crate::values::ids::ContextId;
use crate::values::slab::Key;

impl Core {
    /// Tells the observer something, if there is one.
    #[inline]
    pub(crate) fn tell(&mut self, fabric: &dyn Fabric, say: impl FnOnce(&mut dyn Observer, &dyn Fabric)) {
        if let Some(watch) = &mut self.watch {
            say(&mut *watch.observer, fabric);
        }
    }

    /// A message has left in one letter. Called before it is counted.
    #[cold]
    pub(crate) fn tell_of_sent(&mut self, fabric: &dyn Fabric, to: Node, envelope: &Envelope, bytes: u64) {
        let message = self.number_sent_next(fabric, to);
        let transit = transit(to, envelope, bytes, Carried::Eager);
        self.tell(fabric, |observer, fabric| observer.sent(fabric, message, &transit));
    }

    /// The next plain message to `to` is about to be posted. Called before it is counted.
    #[cold]
    pub(crate) fn tell_of_send(
        &mut self,
        fabric: &dyn Fabric,
        to: Node,
        envelope: &Envelope,
        bytes: u64,
        carried: Carried,
    ) -> MessageNumber {
        let message = self.number_sent_next(fabric, to);
        let transit = transit(to, envelope, bytes, carried);
        self.tell(fabric, |observer, fabric| observer.send_begins(fabric, message, &transit));
        message
    }

    /// The number of the plain message that will be counted next.
    fn number_sent_next(&mut self, fabric: &dyn Fabric, to: Node) -> MessageNumber {
        MessageNumber::plain(fabric.me(), to, self.peers.at(to).plain_sent() + 1)
    }

    /// A put into an announced receive is about to begin. Called after it is counted.
    #[cold]
    pub(crate) fn tell_of_put(
        &mut self,
        fabric: &dyn Fabric,
        (key, to): (Key, Node),
        envelope: &Envelope,
        bytes: u64,
        carried: Carried,
    ) {
        let message = MessageNumber::put(fabric.me(), to, self.peers.at(to).puts_sent);
        let transit = transit(to, envelope, bytes, carried);
        self.tell(fabric, |observer, fabric| observer.send_begins(fabric, message, &transit));
        self.keep_number(key, message, true);
    }

    /// A receive begins.
    #[cold]
    pub(crate) fn tell_of_receive(
        &mut self,
        fabric: &dyn Fabric,
        from: Option<Node>,
        (tag, context): (Option<i32>, ContextId),
        bytes: u64,
    ) {
        let Some(watch) = &mut self.watch else { return };
        let post = PostNumber(watch.posts.map_or(NonZeroU64::MIN, |posts| posts.saturating_add(1)));
        watch.posts = Some(post.0);
        watch.latest = Some(post);
        let wanted = Wanted { from, tag, context, bytes };
        watch.observer.receive_begins(fabric, post, &wanted);
    }

    /// The receive that has begun last waits in the tables.
    #[cold]
    pub(crate) fn keep_post(&mut self, key: Key) {
        let Some(watch) = &mut self.watch else { return };
        let slot = key as u32 as usize;
        if watch.posted.len() <= slot {
            watch.posted.resize(slot + 1, None);
        }
        // The direct receive has begun before it was moved into the tables.
        watch.posted[slot] = watch.latest.take().or_else(|| watch.direct.take());
    }

    /// The receive that has begun last waits outside of the tables.
    #[cold]
    pub(crate) fn keep_direct_post(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.direct = watch.latest.take();
        }
    }

    /// The rank is about to park; tells of the first park of a wait.
    #[inline]
    pub(crate) fn begin_wait(&mut self, fabric: &dyn Fabric, shown: &mut bool) {
        self.begin_wait_for(fabric, shown, false);
    }

    /// The rank is about to park until its direct receive has ended; tells of the first park.
    #[inline]
    pub(crate) fn begin_direct_wait(&mut self, fabric: &dyn Fabric, shown: &mut bool) {
        self.begin_wait_for(fabric, shown, true);
    }

    #[inline(always)]
    fn begin_wait_for(&mut self, fabric: &dyn Fabric, shown: &mut bool, direct: bool) {
        if let Some(watch) = &mut self.watch
            && !core::mem::replace(shown, true)
        {
            watch.waits_for_direct = direct;
            watch.observer.wait_begins(fabric);
        }
    }

    /// The direct receive has ended, or waits in the tables now. Its message has told of the end of the wait, if it came.
    #[cold]
    pub(crate) fn end_direct_wait(&mut self, fabric: &dyn Fabric) {
        if let Some(watch) = &mut self.watch
            && core::mem::take(&mut watch.waits_for_direct)
        {
            watch.observer.wait_ends(fabric);
        }
    }

    /// The number of the plain message that was counted last. Meaningful only while an observer watches.
    pub(crate) fn number_seen_last(&mut self, fabric: &dyn Fabric, from: Node) -> MessageNumber {
        MessageNumber::plain(from, fabric.me(), self.peers.at(from).plain_seen())
    }

    /// The plain message that was counted last has found its receive.
    #[cold]
    pub(crate) fn tell_of_match(
        &mut self,
        fabric: &dyn Fabric,
        request: Key,
        from: Node,
        (envelope, bytes): (&Envelope, u64),
        carried: Carried,
    ) {
        let message = self.number_seen_last(fabric, from);
        let post = self.take_post(Some(request));
        let transit = transit(from, envelope, bytes, carried);
        self.tell_of_match_of(fabric, (Some(request), post), message, &transit);
    }

    /// The plain message that was counted last has found its receive, the direct one where there is no request, and is whole.
    #[cold]
    pub(crate) fn tell_of_received(
        &mut self,
        fabric: &dyn Fabric,
        request: Option<Key>,
        from: Node,
        (envelope, bytes): (&Envelope, u64),
    ) {
        let message = self.number_seen_last(fabric, from);
        let post = self.take_post(request);
        let transit = transit(from, envelope, bytes, Carried::Eager);
        let Some(watch) = &mut self.watch else { return };
        let waited = request.is_none() && core::mem::take(&mut watch.waits_for_direct);
        watch.observer.received(fabric, message, post, &transit, waited);
    }

    /// A put has found its announced receive.
    #[cold]
    pub(crate) fn tell_of_landing(
        &mut self,
        fabric: &dyn Fabric,
        request: Key,
        (from, sequence): (Node, u64),
        (envelope, bytes): (&Envelope, u64),
        carried: Carried,
    ) {
        let message = MessageNumber::put(from, fabric.me(), sequence);
        let post = self.take_post(Some(request));
        let transit = transit(from, envelope, bytes, carried);
        self.tell_of_match_of(fabric, (Some(request), post), message, &transit);
    }

    /// A message that came before its receive has found it; without a request it is complete.
    #[cold]
    pub(crate) fn tell_of_late_match(
        &mut self,
        fabric: &dyn Fabric,
        request: Option<Key>,
        (slot, from): (Key, Node),
        (envelope, bytes): (&Envelope, u64),
        carried: Carried,
    ) {
        let Some(watch) = &mut self.watch else { return };
        let post = watch.latest.take();
        // One that came before the observer has no number.
        let Some(message) = watch.arrived.get_mut(slot as u32 as usize).and_then(Option::take) else {
            return;
        };
        self.tell_of_match_of(fabric, (request, post), message, &transit(from, envelope, bytes, carried));
    }

    fn tell_of_match_of(
        &mut self,
        fabric: &dyn Fabric,
        (request, post): (Option<Key>, Option<PostNumber>),
        message: MessageNumber,
        transit: &Transit,
    ) {
        match request {
            Some(key) => {
                self.tell(fabric, |observer, fabric| {
                    observer.receive_matches(fabric, message, post, transit)
                });
                self.keep_number(key, message, false);
            }
            None => {
                self.tell(fabric, |observer, fabric| {
                    observer.received(fabric, message, post, transit, false)
                });
            }
        }
    }

    /// The number of a posted receive, or of the direct one, that has found its message.
    fn take_post(&mut self, request: Option<Key>) -> Option<PostNumber> {
        let watch = self.watch.as_mut()?;
        match request {
            Some(key) => watch.posted.get_mut(key as u32 as usize)?.take(),
            None => watch.direct.take(),
        }
    }

    /// Remembers the number of the plain message that was counted last until it finds its receive.
    #[cold]
    pub(crate) fn keep_number_of_arrived(&mut self, fabric: &dyn Fabric, from: Node, message: Key) {
        let number = self.number_seen_last(fabric, from);
        let Some(watch) = &mut self.watch else { return };
        let slot = message as u32 as usize;
        if watch.arrived.len() <= slot {
            watch.arrived.resize(slot + 1, None);
        }
        watch.arrived[slot] = Some(number);
    }

    /// Remembers which message a request is about until it is complete.
    #[cold]
    pub(crate) fn keep_number(&mut self, key: Key, message: MessageNumber, sent: bool) {
        let Some(watch) = &mut self.watch else { return };
        let slot = key as u32 as usize;
        if watch.open.len() <= slot {
            watch.open.resize(slot + 1, None);
        }
        watch.open[slot] = Some((key, message, sent));
    }

    /// A request is complete.
    #[cold]
    pub(crate) fn tell_of_end(&mut self, fabric: &dyn Fabric, key: Key) {
        let Some(watch) = &mut self.watch else { return };
        let Some(slot) = watch.open.get_mut(key as u32 as usize) else { return };
        match slot.take() {
            Some((open, message, true)) if open == key => watch.observer.send_ends(fabric, message),
            Some((open, message, false)) if open == key => watch.observer.receive_ends(fabric, message),
            _ => {}
        }
    }
}

impl Peer {
    /// Messages sent to it other than by announcement.
    fn plain_sent(&self) -> u64 {
        self.sent - self.puts_sent
    }

    /// Messages from it that have come other than by announcement.
    fn plain_seen(&self) -> u64 {
        self.seen - self.puts_seen
    }
}

fn transit(peer: Node, envelope: &Envelope, bytes: u64, carried: Carried) -> Transit {
    Transit { peer, tag: envelope.tag, context: envelope.context, bytes, carried }
}

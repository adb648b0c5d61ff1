//! Tells whoever watches what a rank does, message by message, at the four points of an [`Observer`].
//!
//! While nobody watches each of them is a test of a pointer, in line; what is told is put together behind it.

use fabric::{Fabric, Node};

use crate::progress::core::Core;
use crate::progress::tables::arrived::{Arrived, Body};
use crate::progress::tables::peers::Peer;
use crate::progress::tables::watch::{
    Begin, Carried, End, Match, MessageNumber, Observer, PostNumber, Transit, Wait, Waits, Wanted, Watch,
};
use crate::values::slab::Key;

/// Which message it is: what its number follows from.
#[derive(Clone, Copy)]
pub(crate) enum Which {
    /// The plain one, eager or RTS, that was counted last of those to or from the peer.
    CountedLast,
    /// A put into an announced receive, by its sequence.
    Put(u64),
    /// One that came before its receive, by its entry in the table of those.
    Arrived(Key),
}

impl Core {
    /// Tells the observer something, if there is one.
    #[inline]
    pub(crate) fn tell(&mut self, fabric: &dyn Fabric, say: impl Fn(&mut dyn Observer, &dyn Fabric)) {
        if let Some(watch) = &mut self.watch {
            watch.tell(|observer| say(observer, fabric));
        }
    }

    /// A message has been counted, and a send of it begins; without a request it is done.
    #[inline]
    pub(crate) fn send_begins(
        &mut self,
        fabric: &dyn Fabric,
        (which, request): (Which, Option<Key>),
        transit: impl FnOnce(&Core) -> Transit,
    ) {
        if self.watch.is_some() {
            let transit = transit(self);
            self.tell_of_send(fabric, which, request, &transit);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_send(&mut self, fabric: &dyn Fabric, which: Which, request: Option<Key>, transit: &Transit) {
        let to = transit.peer;
        let message = match which {
            Which::Put(sequence) => MessageNumber::put(fabric.me(), to, sequence),
            _ => MessageNumber::plain(fabric.me(), to, self.peers.at(to).plain_sent()),
        };
        let Some(watch) = &mut self.watch else { return };
        let send = Begin::Send { message, transit, done: request.is_none() };
        watch.tell(|observer| observer.begins(fabric, &send));
        if let Some(key) = request {
            watch.keep_end(key, End::Send(message));
        }
    }

    /// A receive begins: the direct one, or one that finds its message or is posted next.
    #[inline]
    pub(crate) fn receive_begins(
        &mut self,
        fabric: &dyn Fabric,
        direct: bool,
        wanted: impl FnOnce() -> Wanted,
    ) {
        if self.watch.is_some() {
            self.tell_of_receive(fabric, direct, &wanted());
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_receive(&mut self, fabric: &dyn Fabric, direct: bool, wanted: &Wanted) {
        let Some(watch) = &mut self.watch else { return };
        let post = watch.number_post(direct);
        watch.tell(|observer| observer.begins(fabric, &Begin::Receive { post, wanted }));
    }

    /// The receive that has begun last is posted.
    #[inline]
    pub(crate) fn receive_is_posted(&mut self, request: Key) {
        if let Some(watch) = &mut self.watch {
            watch.keep_post(request);
        }
    }

    /// A message has come before its receive, and was counted.
    #[inline]
    pub(crate) fn arrives_early(&mut self, fabric: &dyn Fabric, from: Node, message: Key) {
        if self.watch.is_some() {
            self.keep_number(fabric, from, message);
        }
    }

    #[cold]
    #[inline(never)]
    fn keep_number(&mut self, fabric: &dyn Fabric, from: Node, message: Key) {
        let number = self.number_counted_last(fabric, from);
        let Some(watch) = &mut self.watch else { return };
        watch.keep_arrived(message, number);
        if let Some(Arrived { envelope, length, body, .. }) = self.messages.get(message) {
            let carried = if matches!(body, Body::Offered(_)) { Carried::Offered } else { Carried::Eager };
            let transit = Transit::of(from, envelope, *length, carried);
            watch.tell(|observer| observer.begins(fabric, &Begin::Early { transit: &transit }));
        }
    }

    /// A message has found its receive; the direct one, or one that is complete, where there is no request.
    #[inline]
    pub(crate) fn matches(
        &mut self,
        fabric: &dyn Fabric,
        (which, request): (Which, Option<Key>),
        transit: impl FnOnce(&Core) -> Transit,
    ) {
        if self.watch.is_some() {
            let transit = transit(self);
            self.tell_of_match(fabric, which, request, &transit);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_match(&mut self, fabric: &dyn Fabric, which: Which, request: Option<Key>, transit: &Transit) {
        let last = self.number_counted_last(fabric, transit.peer);
        let Some(watch) = &mut self.watch else { return };
        let (message, post) = match which {
            Which::CountedLast => (last, watch.take_post(request)),
            Which::Put(sequence) => {
                (MessageNumber::put(transit.peer, fabric.me(), sequence), watch.take_post(request))
            }
            Which::Arrived(arrived) => {
                let post = watch.take_latest_post();
                match watch.take_arrived(arrived) {
                    Some(message) => (message, post),
                    None => return watch.match_of_unseen(fabric, post, transit),
                }
            }
        };
        let early = matches!(which, Which::Arrived(_));
        // What came in one letter is here.
        let done = transit.carried == Carried::Eager;
        let waited = request.is_none() && watch.waits == Waits::ForDirect;
        if waited {
            watch.waits = Waits::No;
        }
        let found = Match { message, post, transit, done, waited, early };
        watch.tell(|observer| observer.matches(fabric, &found));
        if let (false, Some(key)) = (done, request) {
            watch.keep_end(key, End::Receive(message));
        }
    }

    /// A request is complete.
    #[inline]
    pub(crate) fn ends(&mut self, fabric: &dyn Fabric, key: Key) {
        if self.watch.is_some() {
            self.tell_of_end(fabric, key);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_end(&mut self, fabric: &dyn Fabric, key: Key) {
        if let Some(watch) = &mut self.watch
            && let Some(end) = watch.take_end(key)
        {
            watch.tell(|observer| observer.ends(fabric, &end));
        }
    }

    /// The rank is about to park; tells of the first park of a wait, which `shown` is about.
    #[inline]
    pub(crate) fn waits(&mut self, fabric: &dyn Fabric, shown: &mut bool, waits: Waits) {
        if let Some(watch) = &mut self.watch
            && !core::mem::replace(shown, true)
        {
            watch.waits = waits;
            watch.tell(|observer| observer.waits(fabric, Wait::Begins));
        }
    }

    /// A wait that was shown is over. A match may have told of that.
    #[cold]
    pub(crate) fn goes_on(&mut self, fabric: &dyn Fabric) {
        if let Some(watch) = &mut self.watch
            && core::mem::take(&mut watch.waits) != Waits::No
        {
            watch.tell(|observer| observer.waits(fabric, Wait::Ends));
        }
    }

    /// The number of the plain message that was counted last. Meaningful only while an observer watches.
    fn number_counted_last(&mut self, fabric: &dyn Fabric, from: Node) -> MessageNumber {
        MessageNumber::plain(from, fabric.me(), self.peers.at(from).plain_seen())
    }
}

impl Watch {
    /// A message has found its receive that came before anybody watched: it has no number, and is for the meter only, which counts it.
    #[cold]
    fn match_of_unseen(&mut self, fabric: &dyn Fabric, post: Option<PostNumber>, transit: &Transit) {
        if let Some(meter) = &mut self.meter {
            let (message, done) = (MessageNumber(0), transit.carried == Carried::Eager);
            meter.matches(fabric, &Match { message, post, transit, done, waited: false, early: true });
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

//! Copies that fail because of a program's own buffer: whose it was is said to both ranks.
//!
//! Only one rank copies, or each a half, so the rank with the bad buffer may be the one that only waits. Whoever meets the failure
//! tells the other by a FAILED in place of the letter that would have told of success (DONE, FIN or SHARED); so no rank waits for
//! a word that does not come, and no request ends while its peer still copies the other half.

use fabric::{Fabric, Header, Node, PortalError};

use crate::progress::core::{Core, UNEXPECTED};
use crate::progress::tables::peers::Outgoing;
use crate::progress::tables::portions::{Bad, Part};
use crate::progress::tables::receive::{ReceiveStage, ReceiveWork};
use crate::progress::tables::request::{Request, Work};
use crate::progress::tables::send::{SendStage, SendWork};
use crate::values::envelope::{Kind, plain_header};
use crate::values::error::Error;
use crate::values::slab::Key;

/// The letter that tells the other rank of a failure.
pub(crate) fn failed(bad: Bad, theirs: Key) -> Header {
    plain_header(Kind::Failed, bad.as_seen_by_peer() as u64, theirs)
}

impl Core {
    /// The copy that this rank was to make for one of its requests failed; `theirs` is the peer's request.
    #[cold]
    pub(super) fn copy_failed(
        &mut self,
        fabric: &dyn Fabric,
        key: Key,
        peer: Node,
        theirs: Key,
        error: PortalError,
    ) {
        let bad = Bad::from(error);
        let Some(request) = self.requests.get_mut(key) else { return };
        match &mut request.work {
            Work::Receive(ReceiveWork { stage: ReceiveStage::Getting { portions, staging, .. }, .. }) => {
                portions.failed = Some(bad);
                if let Some(staging) = staging.take() {
                    fabric.budget().release(UNEXPECTED, staging.bytes().len());
                }
                // The sender is told when both halves are over.
                return self.get_continued(fabric, key, Part::Mine);
            }
            Work::Receive(ReceiveWork { stage: ReceiveStage::Sharing { portions, .. }, .. })
            | Work::Send(SendWork { stage: SendStage::Putting { portions, .. }, .. }) => {
                portions.failed = Some(bad);
            }
            // An offered send that helps: its receiver says when it is over.
            _ => {}
        }
        self.post_control(fabric, peer, failed(bad, theirs), &[]);
        self.part_over(fabric, key, Part::Mine);
    }

    /// A transfer that this rank had started for one of its requests came to nothing.
    #[cold]
    pub(super) fn transfer_failed(&mut self, fabric: &dyn Fabric, key: Key, error: PortalError) {
        let parties = match self.requests.get(key).map(|request| &request.work) {
            Some(Work::Receive(ReceiveWork {
                stage:
                    ReceiveStage::Getting { from: peer, sender: theirs, .. }
                    | ReceiveStage::Sharing { from: peer, sender: theirs, .. },
                ..
            }))
            | Some(Work::Send(SendWork {
                to: peer,
                stage:
                    SendStage::Putting { receiver: theirs, .. } | SendStage::Offered { helps: Some(theirs), .. },
                ..
            })) => Some((*peer, *theirs)),
            _ => None,
        };
        let Some((peer, theirs)) = parties else {
            return match self.requests.get(key).map(|request| &request.work) {
                // One of a window's.
                Some(Work::External) => self.finish(
                    fabric,
                    key,
                    Err(Error::Buffer {
                        reason: "the transfer came to nothing: the system refused it, or the target is gone",
                    }),
                ),
                _ => self.inconsistent("a transfer of no request"),
            };
        };
        // Nothing of it is under way any more, so nothing need wait behind it.
        self.peers
            .at(peer)
            .outbox
            .retain(|entry| !matches!(entry, Outgoing::Put { request, .. } if *request == key));
        self.copy_failed(fabric, key, peer, theirs, error);
    }

    /// A peer is gone: whatever waits for it ends with that. If nothing does, the word that could not be brought to it belongs to no request,
    /// and the rank cannot keep its promises.
    #[cold]
    pub(super) fn peer_lost(&mut self, fabric: &dyn Fabric, peer: Node) {
        let error = Error::PeerLost { node: peer.0 };
        self.peers.at(peer).outbox.retain(|entry| matches!(entry, Outgoing::Put { .. }));
        let mut ended = false;
        for key in self.requests.keys() {
            let Some(request) = self.requests.get(key).filter(|request| request.outcome.is_none()) else {
                continue;
            };
            match &request.work {
                // What a transfer is busy with ends with the transfer.
                Work::Send(SendWork { to, stage, .. })
                    if *to == peer
                        && !matches!(
                            stage,
                            SendStage::Putting { .. } | SendStage::Offered { helps: Some(_), .. }
                        ) =>
                {
                    self.withdraw_offer(fabric, key);
                    self.streams.retain(|stream| *stream != key);
                }
                Work::Receive(ReceiveWork {
                    stage: ReceiveStage::Posted { place, offered: Some(offer) },
                    ..
                }) if offer.peer == peer => {
                    let place = *place;
                    self.posted.remove(place);
                    self.withdraw_announcement(fabric, key);
                }
                Work::Receive(ReceiveWork { stage: ReceiveStage::Filling { from, .. }, .. })
                    if *from == peer => {}
                Work::Receive(ReceiveWork {
                    stage: ReceiveStage::Granted { from, exposed, staging, .. },
                    ..
                }) if *from == peer => {
                    fabric.withdraw(*exposed);
                    if let Some(staging) = staging {
                        fabric.budget().release(UNEXPECTED, staging.bytes().len());
                    }
                }
                _ => continue,
            }
            self.finish(fabric, key, Err(error.clone()));
            ended = true;
        }
        if !ended {
            self.fault.get_or_insert(error);
        }
    }

    /// The peer could not copy what it was to copy between its request and this one.
    pub(super) fn failure_arrived(&mut self, fabric: &dyn Fabric, from: Node, code: u64, key: Key) {
        let Some(bad) = Bad::of_code(code) else { return self.malformed(from, "a failure of unknown kind") };
        let Some(request) = self.requests.get_mut(key) else {
            return self.malformed(from, "a failure of a request that is gone");
        };
        let error = bad_copy(&request.work, from, bad);
        match &mut request.work {
            Work::Send(SendWork { to, stage: SendStage::Offered { .. }, .. }) if *to == from => {
                self.withdraw_offer(fabric, key);
                self.finish(fabric, key, Err(error));
            }
            // It has asked for memory of a window.
            Work::Receive(ReceiveWork { stage: ReceiveStage::Filling { from: peer, .. }, .. })
                if *peer == from =>
            {
                self.finish(fabric, key, Err(error));
            }
            Work::Receive(ReceiveWork {
                stage: ReceiveStage::Posted { place, offered: Some(offer) },
                ..
            }) if offer.peer == from => {
                let place = *place;
                let peer = self.peers.at(from);
                peer.seen += 1;
                peer.puts_seen += 1;
                self.posted.remove(place);
                self.withdraw_announcement(fabric, key);
                self.finish(fabric, key, Err(error));
            }
            Work::Receive(ReceiveWork {
                stage: ReceiveStage::Granted { from: sender, exposed, staging, .. },
                ..
            }) if *sender == from => {
                fabric.withdraw(*exposed);
                if let Some(staging) = staging {
                    fabric.budget().release(UNEXPECTED, staging.bytes().len());
                }
                self.finish(fabric, key, Err(error));
            }
            Work::Receive(ReceiveWork {
                stage:
                    ReceiveStage::Getting { from: peer, portions, .. }
                    | ReceiveStage::Sharing { from: peer, portions, .. },
                ..
            })
            | Work::Send(SendWork { to: peer, stage: SendStage::Putting { portions, .. }, .. })
                if *peer == from && portions.awaits_peer() =>
            {
                portions.failed = Some(bad);
                self.part_over(fabric, key, Part::Theirs);
            }
            _ => self.malformed(from, "a failure of a request that nobody copies"),
        }
    }

    /// One rank's part of a message is over, well or not.
    fn part_over(&mut self, fabric: &dyn Fabric, key: Key, part: Part) {
        match self.requests.get(key).map(|request| &request.work) {
            Some(Work::Receive(ReceiveWork { stage: ReceiveStage::Getting { .. }, .. })) => {
                self.get_continued(fabric, key, part);
            }
            Some(Work::Receive(_)) => self.sharing_continued(fabric, key, part),
            Some(Work::Send(_)) => self.put_continued(fabric, key, part),
            _ => {}
        }
    }

    /// Ends a request whose parts are all over, if one of them failed.
    pub(super) fn end_failed(&mut self, fabric: &dyn Fabric, key: Key, peer: Node, bad: Bad) {
        let Some(Request { work, .. }) = self.requests.get(key) else { return };
        let error = bad_copy(work, peer, bad);
        self.finish(fabric, key, Err(error));
    }
}

/// Why the copy of a request failed, in the words of its own rank.
#[cold]
fn bad_copy(work: &Work, peer: Node, bad: Bad) -> Error {
    let node = peer.0;
    match (bad, work) {
        (Bad::Mine, Work::Send(SendWork { buffer, .. })) => {
            Error::SendMemory { address: buffer.base().addr() as u64, bytes: buffer.bytes() }
        }
        (Bad::Mine, Work::Receive(ReceiveWork { buffer, .. })) => {
            Error::ReceiveMemory { address: buffer.base().addr() as u64, bytes: buffer.bytes() }
        }
        (Bad::Theirs, Work::Send(_)) => Error::PeerMemory { node, role: "receive" },
        (Bad::Theirs, _) => Error::PeerMemory { node, role: "send" },
        (Bad::Lost, _) => Error::PeerLost { node },
        _ => Error::Malformed { node, reason: "memory that is out of reach, or not as long as the message" },
    }
}

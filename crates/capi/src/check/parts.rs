//! What the members of a collective send to each other, pair by pair, where each says so for itself: the counts of MPI_Gatherv,
//! MPI_Scatterv, MPI_Allgatherv, MPI_Alltoallv and MPI_Alltoallw (MPI sections 6.5 to 6.8: what a rank sends to another is what that
//! one receives from it).
//!
//! Rank 0 keeps what all say of a call until the last has said it, and then compares every pair: bytes first, then basic types
//! (MPI section 6.5: "the type signature associated with" both sides is the same).

use std::cell::RefCell;

use super::book::Book;
use super::calls::Called;
use super::letters::{Reader, Writer};
use super::signatures::{Element, Signature};
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::Comm;
use crate::process::State;

/// What one rank says: bytes to and from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) sends: Vec<Part>,
    pub(super) receives: Vec<Part>,
    /// The datatypes of both, each once.
    types: Vec<Element>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The other.
    pub(super) peer: u32,
    pub(super) bytes: i64,
    /// Elements, and which of the datatypes they have.
    pub(super) count: i64,
    pub(super) of_type: u32,
    /// The argument that says so is an array, with an element for each rank.
    pub(super) of_many: bool,
}

/// Two that do not say the same.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) sender: u32,
    pub(super) sent: Part,
    pub(super) expected: Part,
    /// Further pairs that disagree.
    pub(super) more: usize,
    /// What is sent, what is received, and the first element that differs, if it is not the bytes that do.
    types: Option<(String, String, String)>,
}

impl Parts {
    /// What a call says; `None` if it is none of those.
    pub(super) fn of(state: &State, call: &Called, comm: &Comm, family: &str) -> Option<Parts> {
        let arguments = &call.arguments;
        let (me, size) = (comm.comm.rank(), comm.comm.size());
        let known = RefCell::new((Vec::<u64>::new(), Vec::<Element>::new()));
        // How much it is, as a part without a peer.
        let amount = |count: i64, handle: u64| {
            let datatype = state.types.get(MPI_Datatype(handle as usize))?;
            let (handles, types) = &mut *known.borrow_mut();
            let of_type = handles.iter().position(|known| *known == handle).unwrap_or_else(|| {
                handles.push(handle);
                types.push(Element::of(&datatype));
                types.len() - 1
            });
            let bytes = count.saturating_mul(datatype.datatype.size() as i64);
            Some(Part { peer: 0, bytes, count, of_type: of_type as u32, of_many: false })
        };
        // One part for each rank, of one type or of a type each.
        let many = |counts: &str, datatype: &str, datatypes: &str| {
            let part = |peer: u32| {
                let handle = match arguments.word(datatype) {
                    Some(handle) => handle,
                    None => arguments.element(datatypes, peer as usize)? as u64,
                };
                let part = amount(arguments.element(counts, peer as usize)?, handle)?;
                Some(Part { peer, of_many: true, ..part })
            };
            (0..size).filter_map(part).collect::<Vec<Part>>()
        };
        let one = |count: &str, datatype: &str| {
            amount(arguments.number(count)?, arguments.word(datatype)?)
                .map(|part| move |peer| Part { peer, ..part })
        };
        let in_place = |buffer: &str| arguments.word(buffer) == Some(MPI_IN_PLACE.addr() as u64);
        let root = arguments.number("root").and_then(|root| u32::try_from(root).ok());
        let mut parts = Parts::default();
        match family {
            "alltoallv" | "alltoallw" => {
                parts.receives = many("recvcounts", "recvtype", "recvtypes");
                parts.sends = if in_place("sendbuf") {
                    parts.receives.clone()
                } else {
                    many("sendcounts", "sendtype", "sendtypes")
                };
            }
            "allgatherv" => {
                parts.receives = many("recvcounts", "recvtype", "");
                parts.sends = if in_place("sendbuf") {
                    let own = parts.receives.get(me as usize).copied();
                    own.into_iter().flat_map(|own| (0..size).map(move |peer| Part { peer, ..own })).collect()
                } else {
                    one("sendcount", "sendtype").into_iter().flat_map(|part| (0..size).map(part)).collect()
                };
            }
            "gatherv" => {
                if root == Some(me) {
                    parts.receives = many("recvcounts", "recvtype", "");
                }
                if in_place("sendbuf") {
                    parts.receives.retain(|part| part.peer != me);
                } else {
                    parts.sends = one("sendcount", "sendtype")
                        .zip(root)
                        .map(|(part, root)| part(root))
                        .into_iter()
                        .collect();
                }
            }
            "scatterv" => {
                if root == Some(me) {
                    parts.sends = many("sendcounts", "sendtype", "");
                }
                if in_place("recvbuf") {
                    parts.sends.retain(|part| part.peer != me);
                } else {
                    let own = one("recvcount", "recvtype").zip(root);
                    parts.receives = own.map(|(part, root)| part(root)).into_iter().collect();
                }
            }
            _ => return None,
        }
        parts.types = known.into_inner().1;
        Some(parts)
    }

    fn element(&self, part: &Part) -> Option<&Element> {
        self.types.get(part.of_type as usize)
    }

    /// The basic types of a part.
    fn signature(&self, part: &Part) -> Option<Signature> {
        Some(self.element(part)?.times(part.count.max(0) as u64))
    }

    pub(super) fn encode(&self, letter: &mut Writer) {
        for list in [&self.sends, &self.receives] {
            letter.number(list.len() as i64);
            for Part { peer, bytes, count, of_type, of_many } in list {
                letter.number(i64::from(*peer) << 1 | i64::from(*of_many));
                [*bytes, *count, i64::from(*of_type)].into_iter().for_each(|number| letter.number(number));
            }
        }
        letter.number(self.types.len() as i64);
        self.types.iter().for_each(|element| element.encode(letter));
    }

    pub(super) fn decode(letter: &mut Reader<'_>) -> Option<Parts> {
        let mut list = || {
            let length = letter.number()?;
            let part = |letter: &mut Reader<'_>| {
                let (who, bytes) = (letter.number()?, letter.number()?);
                let (count, of_type) = (letter.number()?, u32::try_from(letter.number()?).ok()?);
                let peer = u32::try_from(who >> 1).ok()?;
                Some(Part { peer, bytes, count, of_type, of_many: who & 1 != 0 })
            };
            (0..length).map(|_| part(letter)).collect::<Option<Vec<Part>>>()
        };
        let (sends, receives) = (list()?, list()?);
        let types = letter.number()?;
        let types = (0..types).map(|_| Element::decode(letter)).collect::<Option<_>>()?;
        Some(Parts { sends, receives, types })
    }
}

/// The first pair that does not say the same; `said` has an entry for each rank.
pub(super) fn mismatch(said: &[Parts]) -> Option<Mismatch> {
    let mut sent = Book::default();
    for (sender, parts) in (0..).zip(said) {
        parts.sends.iter().for_each(|part| sent.insert((sender, part.peer), *part));
    }
    let mut first: Option<Mismatch> = None;
    for (receiver, parts) in (0..).zip(said) {
        for part in &parts.receives {
            let sender = part.peer;
            let Some(sent) = sent.get((sender, receiver)) else { continue };
            let types = difference(said.get(sender as usize), sent, parts, part);
            if sent.bytes == part.bytes && types.is_none() {
                continue;
            }
            // What differs in its bytes is told of first.
            let is_graver = |found: &Mismatch| found.types.is_some() && sent.bytes != part.bytes;
            let others = first.as_ref().map_or(0, |found| found.more + 1);
            match &mut first {
                Some(found) if !is_graver(found) => found.more += 1,
                _ => {
                    let types = types.filter(|_| sent.bytes == part.bytes);
                    first = Some(Mismatch { sender, sent: *sent, expected: *part, more: others, types });
                }
            }
        }
    }
    first
}

/// What is sent and what is received, in words, and where they differ, if the basic types do.
fn difference(
    sender: Option<&Parts>,
    sent: &Part,
    receiver: &Parts,
    expected: &Part,
) -> Option<(String, String, String)> {
    if sender?.element(sent) == receiver.element(expected) {
        return None;
    }
    let (sent, wanted) = (sender?.signature(sent)?, receiver.signature(expected)?);
    let difference = sent.difference(&wanted)?;
    Some((sent.sentence(), wanted.sentence(), difference))
}

impl Mismatch {
    /// `rank 1 sends 12 bytes to rank 0 (sendcounts[0]), which expects 8 (recvcounts[1])`; `place` says where a rank calls.
    pub(super) fn sentence(&self, place: impl Fn(u32) -> String) -> String {
        let Mismatch { sender, sent, expected, more, types } = self;
        let receiver = sent.peer;
        let name = |name: &str, part: &Part, peer: u32| {
            if part.of_many { format!("{name}counts[{peer}]") } else { format!("{name}count") }
        };
        let others = match more {
            0 => String::new(),
            1 => "; and 1 more pair".to_owned(),
            _ => format!("; and {more} more pairs"),
        };
        if let Some((sent_as, received_as, difference)) = types {
            return format!(
                "rank {sender} sends {sent_as} to rank {receiver} ({} of {}), which receives {received_as} ({} of {}): \
                 {difference}{others}",
                name("send", sent, receiver),
                place(*sender),
                name("recv", expected, *sender),
                place(receiver),
            );
        }
        format!(
            "rank {sender} sends {} bytes to rank {receiver} ({} of {}), which expects {} ({} of {}){others}",
            sent.bytes,
            name("send", sent, receiver),
            place(*sender),
            expected.bytes,
            name("recv", expected, *sender),
            place(receiver),
        )
    }

    /// What differs.
    pub(super) fn what(&self) -> &'static str {
        if self.types.is_some() { "datatypes" } else { "counts" }
    }

    /// One of the two waits for a message that the other does not send at all.
    pub(super) fn cannot_complete(&self) -> bool {
        self.types.is_none() && self.sent.bytes == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(peer: u32, bytes: i64) -> Part {
        Part { peer, bytes, count: bytes / 4, of_type: 0, of_many: true }
    }

    fn parts(sends: Vec<Part>, receives: Vec<Part>, name: &str) -> Parts {
        Parts { sends, receives, types: vec![Element::plain(name)] }
    }

    #[test]
    fn parts_survive_their_letter_and_a_cut_letter_yields_none() {
        let sends = vec![part(0, 8), Part { of_many: false, ..part(7, 0) }];
        let parts = parts(sends, vec![part(1, -4)], "MPI_INT");
        let mut letter = Writer::default();
        parts.encode(&mut letter);
        assert_eq!(Parts::decode(&mut Reader(&letter.0)), Some(parts));
        assert_eq!(Parts::decode(&mut Reader(&letter.0[..letter.0.len() - 1])), None);
    }

    #[test]
    fn the_pair_that_disagrees_is_named_with_both_arguments() {
        let said = [
            parts(vec![part(0, 4), part(1, 8)], vec![part(0, 4), part(1, 16)], "MPI_INT"),
            parts(vec![part(0, 16), part(1, 4)], vec![part(0, 12), part(1, 0)], "MPI_INT"),
        ];
        let found = mismatch(&said).expect("two pairs disagree");
        assert_eq!((found.sender, found.sent.bytes, found.expected.bytes, found.more), (0, 8, 12, 1));
        assert_eq!(
            found.sentence(|rank| format!("MPI_Alltoallv of rank {rank}")),
            "rank 0 sends 8 bytes to rank 1 (sendcounts[1] of MPI_Alltoallv of rank 0), which expects 12 (recvcounts[0] of \
             MPI_Alltoallv of rank 1); and 1 more pair"
        );
        assert!(!found.cannot_complete());
        assert_eq!(mismatch(&said[..1]), None);
    }

    #[test]
    fn parts_of_as_many_bytes_but_other_basic_types_differ_in_their_datatypes() {
        let said = [
            parts(vec![part(0, 4), part(1, 8)], vec![part(0, 4)], "MPI_INT"),
            parts(Vec::new(), vec![part(0, 8)], "MPI_FLOAT"),
        ];
        let found = mismatch(&said).expect("ints are no floats");
        assert_eq!((found.what(), found.cannot_complete(), found.more), ("datatypes", false, 0));
        assert_eq!(
            found.sentence(|rank| format!("MPI_Alltoallv of rank {rank}")),
            "rank 0 sends 2 MPI_INT to rank 1 (sendcounts[1] of MPI_Alltoallv of rank 0), which receives 2 MPI_FLOAT \
             (recvcounts[0] of MPI_Alltoallv of rank 1): element 0 is sent as MPI_INT and received as MPI_FLOAT"
        );
        let empty = parts(Vec::new(), vec![part(0, 0)], "MPI_FLOAT");
        assert_eq!(mismatch(&[parts(vec![part(1, 0)], Vec::new(), "MPI_INT"), empty]), None);
    }

    #[test]
    fn a_pair_whose_bytes_differ_is_told_of_before_one_whose_types_do() {
        let said = [
            parts(vec![part(1, 8)], vec![part(1, 8)], "MPI_INT"),
            parts(vec![part(0, 12)], vec![part(0, 8)], "MPI_FLOAT"),
        ];
        let found = mismatch(&said).expect("both");
        assert_eq!((found.what(), found.more, found.sent.bytes), ("counts", 1, 12));
    }
}

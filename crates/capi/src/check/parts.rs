//! What the members of a collective send to each other, pair by pair, where each says so for itself: the counts of MPI_Gatherv,
//! MPI_Scatterv, MPI_Allgatherv, MPI_Alltoallv and MPI_Alltoallw (MPI sections 6.5 to 6.8: what a rank sends to another is what that
//! one receives from it).
//!
//! Rank 0 keeps what all say of a call until the last has said it, and then compares every pair.

use super::book::Book;
use super::calls::Called;
use super::letters::{Reader, Writer};
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::Comm;
use crate::process::State;

/// What one rank says: bytes to and from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) sends: Vec<Part>,
    pub(super) receives: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The other.
    pub(super) peer: u32,
    pub(super) bytes: i64,
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
}

impl Parts {
    /// What a call says; `None` if it is none of those.
    pub(super) fn of(state: &State, call: &Called, comm: &Comm, family: &str) -> Option<Parts> {
        let arguments = &call.arguments;
        let (me, size) = (comm.comm.rank(), comm.comm.size());
        let bytes = |count: i64, handle: u64| {
            let datatype = state.types.get(MPI_Datatype(handle as usize))?;
            Some(count.saturating_mul(datatype.datatype.size() as i64))
        };
        // One part for each rank, of one type or of a type each.
        let many = |counts: &str, datatype: &str, datatypes: &str| {
            let part = |peer: u32| {
                let handle = match arguments.word(datatype) {
                    Some(handle) => handle,
                    None => arguments.element(datatypes, peer as usize)? as u64,
                };
                let bytes = bytes(arguments.element(counts, peer as usize)?, handle)?;
                Some(Part { peer, bytes, of_many: true })
            };
            (0..size).filter_map(part).collect::<Vec<Part>>()
        };
        let one = |count: &str, datatype: &str| {
            bytes(arguments.number(count)?, arguments.word(datatype)?)
                .map(|bytes| move |peer| Part { peer, bytes, of_many: false })
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
        Some(parts)
    }

    pub(super) fn encode(&self, letter: &mut Writer) {
        for list in [&self.sends, &self.receives] {
            letter.number(list.len() as i64);
            for Part { peer, bytes, of_many } in list {
                letter.number(i64::from(*peer) << 1 | i64::from(*of_many));
                letter.number(*bytes);
            }
        }
    }

    pub(super) fn decode(letter: &mut Reader<'_>) -> Option<Parts> {
        let mut list = || {
            let length = letter.number()?;
            let part = |letter: &mut Reader<'_>| {
                let (who, bytes) = (letter.number()?, letter.number()?);
                Some(Part { peer: u32::try_from(who >> 1).ok()?, bytes, of_many: who & 1 != 0 })
            };
            (0..length).map(|_| part(letter)).collect::<Option<Vec<Part>>>()
        };
        Some(Parts { sends: list()?, receives: list()? })
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
            let Some(sent) = sent.get((sender, receiver)).filter(|sent: &&Part| sent.bytes != part.bytes)
            else {
                continue;
            };
            match &mut first {
                Some(found) => found.more += 1,
                None => first = Some(Mismatch { sender, sent: *sent, expected: *part, more: 0 }),
            }
        }
    }
    first
}

impl Mismatch {
    /// `rank 1 sends 12 bytes to rank 0 (sendcounts[0]), which expects 8 (recvcounts[1])`; `place` says where a rank calls.
    pub(super) fn sentence(&self, place: impl Fn(u32) -> String) -> String {
        let Mismatch { sender, sent, expected, more } = self;
        let receiver = sent.peer;
        let name = |name: &str, part: &Part, peer: u32| {
            if part.of_many { format!("{name}counts[{peer}]") } else { format!("{name}count") }
        };
        let others = match more {
            0 => String::new(),
            1 => "; and 1 more pair".to_owned(),
            _ => format!("; and {more} more pairs"),
        };
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

    /// One of the two waits for a message that the other does not send at all.
    pub(super) fn cannot_complete(&self) -> bool {
        self.sent.bytes == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(peer: u32, bytes: i64) -> Part {
        Part { peer, bytes, of_many: true }
    }

    #[test]
    fn parts_survive_their_letter_and_a_cut_letter_yields_none() {
        let parts = Parts {
            sends: vec![part(0, 8), Part { of_many: false, ..part(7, 0) }],
            receives: vec![part(1, -4)],
        };
        let mut letter = Writer::default();
        parts.encode(&mut letter);
        assert_eq!(Parts::decode(&mut Reader(&letter.0)), Some(parts));
        assert_eq!(Parts::decode(&mut Reader(&letter.0[..letter.0.len() - 1])), None);
    }

    #[test]
    fn the_pair_that_disagrees_is_named_with_both_arguments() {
        let said = [
            Parts { sends: vec![part(0, 4), part(1, 8)], receives: vec![part(0, 4), part(1, 16)] },
            Parts { sends: vec![part(0, 16), part(1, 4)], receives: vec![part(0, 12), part(1, 0)] },
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
}

//! What the members of a file tell each other: a few words of each to all.

use engine::datatype::Basic;
use engine::{Comm, Datatype, Rank, RequestId, State};

use crate::error::{Error, Kind, Result};
use crate::memory::Room;

/// What a member says.
pub(crate) type Words = [u64; 8];

/// All members are asked, and some have not answered yet.
pub(crate) struct Meeting {
    /// None if there is nobody else.
    request: Option<RequestId>,
    room: Room,
}

impl Meeting {
    pub fn begin(rank: &Rank, comm: &Comm, mine: Words) -> Result<Meeting> {
        let each = size_of::<Words>();
        let mut bytes = vec![0; each * comm.size() as usize];
        for (at, word) in bytes[each * comm.rank() as usize..].chunks_exact_mut(8).zip(mine) {
            at.copy_from_slice(&word.to_ne_bytes());
        }
        let mut room = Room::of(bytes);
        let request = match comm.size() {
            1 => None,
            _ => {
                let part = room.receive(0, each as u64, &Datatype::basic(Basic::Byte));
                Some(rank.allgather(None, &part, comm)?.start()?)
            }
        };
        Ok(Meeting { request, room })
    }

    /// What all say, once they have.
    pub fn poll(&mut self, rank: &Rank) -> Result<Option<Vec<Words>>> {
        if let Some(request) = self.request {
            if rank.state(request)? == State::Active {
                return Ok(None);
            }
            self.request = None;
            rank.take(request)?;
        }
        let words: Vec<u64> = self
            .room
            .bytes()
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
            .collect();
        Ok(Some(words.as_chunks::<8>().0.to_vec()))
    }
}

/// What all members say, by their ranks. Waits for them.
pub(crate) fn meet(rank: &Rank, comm: &Comm, mine: Words) -> Result<Vec<Words>> {
    let mut meeting = Meeting::begin(rank, comm, mine)?;
    if let Some(request) = meeting.request {
        let waited = rank.wait_until(|rank| rank.state(request) != Ok(State::Active));
        if let Err(error) = waited {
            // Others may still write into the room.
            std::mem::forget(meeting);
            return Err(error.into());
        }
    }
    meeting.poll(rank)?.ok_or(Error::Engine(engine::Error::Internal { reason: "a meeting has no end" }))
}

/// Whether all members have done something: an error at one of them is one at all. Waits for them.
pub(crate) fn agree<T>(rank: &Rank, comm: &Comm, what: &str, mine: Result<T>) -> Result<T> {
    let said = meet(rank, comm, verdict(&mine))?;
    judge(what, mine, &said)
}

/// How a member has fared, in words.
pub(crate) fn verdict<T>(mine: &Result<T>) -> Words {
    [mine.as_ref().err().map_or(0, |error| u64::from(error.kind() as u32)), 0, 0, 0, 0, 0, 0, 0]
}

/// The own outcome, or that of the first member that has failed.
pub(crate) fn judge<T>(what: &str, mine: Result<T>, said: &[Words]) -> Result<T> {
    let done = mine?;
    let failed = said.iter().position(|words| words[0] != 0);
    match failed {
        None => Ok(done),
        Some(member) => {
            let kind = Kind::of_number(said[member][0] as u32).unwrap_or(Kind::Io);
            Err(Error::new(kind, format_args!("{what} failed at rank {member} of the file's group")))
        }
    }
}

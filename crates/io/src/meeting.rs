//! What the members of a file tell each other: a few words of each to all.
//!
//! There are two ways. Calls that all members make in the same order ([`meet`]) use a collective of the communicator. Accesses that are under way come to their meetings
//! at any time, and in another order at each member: theirs ([`Meeting`]) are messages with a tag of their own.

use engine::datatype::Basic;
use engine::{Comm, Datatype, Dest, Mode, Rank, RequestId, SendBuffer, Source, State, Tag, TagMatch};

use crate::error::{Error, Kind, Result};
use crate::memory::Room;

/// What a member says.
pub(crate) type Words = [u64; 8];

const EACH: usize = size_of::<Words>();

/// All members are asked, and some have not answered yet. In each step a member has the words of as many members behind it as it has steps' powers of two: it tells
/// them to the one as far before it, and gets as many from the one as far behind (Bruck's allgather).
pub(crate) struct Meeting {
    tag: Tag,
    /// From this member on.
    known: Vec<u8>,
    step: Option<Step>,
}

struct Step {
    send: RequestId,
    receive: RequestId,
    room: Room,
}

impl Meeting {
    /// All members begin it with the same tag, which no other messages between them have meanwhile.
    pub fn begin(rank: &Rank, comm: &Comm, tag: Tag, mine: Words) -> Result<Meeting> {
        let known = mine.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut meeting = Meeting { tag, known, step: None };
        meeting.take_step(rank, comm)?;
        Ok(meeting)
    }

    fn take_step(&mut self, rank: &Rank, comm: &Comm) -> Result {
        let (size, me) = (comm.size() as usize, comm.rank() as usize);
        let count = self.known.len() / EACH;
        if count >= size {
            return Ok(());
        }
        let bytes = count.min(size - count) * EACH;
        let mut room = Room::new(bytes);
        let into = room.receive(0, bytes as u64, &Datatype::basic(Basic::Byte));
        let from = Source::Rank(((me + count) % size) as u32);
        let receive = rank.irecv(&into, from, TagMatch::Is(self.tag), comm)?;
        let told = SendBuffer::owned(self.known[..bytes].to_vec());
        let to = Dest::Rank(((me + size - count) % size) as u32);
        let send = rank.isend(Mode::Standard, &told, to, self.tag, comm)?;
        self.step = Some(Step { send, receive, room });
        Ok(())
    }

    /// What all say, by their ranks, once they have.
    pub fn poll(&mut self, rank: &Rank, comm: &Comm) -> Result<Option<Vec<Words>>> {
        while let Some(Step { send, receive, room }) = &self.step {
            if rank.state(*send)? == State::Active || rank.state(*receive)? == State::Active {
                return Ok(None);
            }
            rank.take(*send)?;
            rank.take(*receive)?;
            self.known.extend_from_slice(room.bytes());
            self.step = None;
            self.take_step(rank, comm)?;
        }
        let mut said = words_of(&self.known);
        said.rotate_right(comm.rank() as usize);
        Ok(Some(said))
    }
}

fn words_of(bytes: &[u8]) -> Vec<Words> {
    let word = |word: &[u8]| u64::from_ne_bytes(word.try_into().expect("eight bytes"));
    let words: Vec<u64> = bytes.chunks_exact(8).map(word).collect();
    words.as_chunks::<8>().0.to_vec()
}

/// What all members say, by their ranks. Waits for them.
pub(crate) fn meet(rank: &Rank, comm: &Comm, mine: Words) -> Result<Vec<Words>> {
    let mut bytes = vec![0; EACH * comm.size() as usize];
    for (at, word) in bytes[EACH * comm.rank() as usize..].chunks_exact_mut(8).zip(mine) {
        at.copy_from_slice(&word.to_ne_bytes());
    }
    let mut room = Room::of(bytes);
    if comm.size() > 1 {
        let part = room.receive(0, EACH as u64, &Datatype::basic(Basic::Byte));
        if let Err(error) = rank.allgather(None, &part, comm).and_then(|plan| plan.wait()) {
            // Others may still write into the room.
            std::mem::forget(room);
            return Err(error.into());
        }
    }
    Ok(words_of(room.bytes()))
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

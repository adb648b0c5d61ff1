//! Messages between the checks of two ranks: what one knows of a message or of a collective call, for the other to compare.
//!
//! They travel beside the program's messages, in contexts of their own ([`engine::Comm::companion`]), so that they match none of its
//! receives. Sending one never waits.

use std::cell::RefCell;

use engine::datatype::Basic;
use engine::{Comm, Datatype, Dest, Mode, Rank, RecvBuffer, RequestId, SendBuffer, Source, Tag, TagMatch};

use super::book::{Book, Key, Words};
use super::findings::{Findings, Origin};
use crate::abi::types::MPI_Comm;
use crate::process::State;

/// What is known of communicators: those with letters under way, and what to call them.
#[derive(Default)]
pub(super) struct Letters {
    companions: RefCell<Book<(u32, Subject), Companion>>,
    origins: RefCell<Book<u32, Origin>>,
}

/// Where letters about a communicator go.
#[derive(Clone)]
pub(super) struct Companion {
    pub(super) comm: Comm,
    /// Whether they are of both groups of an intercommunicator.
    pub(super) is_inter: bool,
    /// Where those begin there whom the program's messages go to.
    peers: u32,
}

impl Companion {
    /// Whether a member is in this job, whose end all have come to; those of others may still be on their way.
    pub(super) fn is_of_this_job(&self, place: u32, state: &State) -> bool {
        let world = state.rank().world().group();
        self.comm.group().node(place).is_some_and(|node| world.rank_of(node).is_some())
    }

    /// What to call a member.
    pub(super) fn member(&self, place: u32) -> String {
        match self.comm.group().node(place).filter(|_| self.is_inter) {
            Some(node) => format!("rank {} of MPI_COMM_WORLD", node.0),
            None => format!("rank {place}"),
        }
    }
}

/// What letters are about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    Collectives,
    Messages,
}

impl Key for (u32, Subject) {
    fn words(self) -> Words {
        (self.0.into(), self.1 as u64)
    }
}

/// The tag of letters about collectives, and of the last letter of all.
pub(super) const CALL: Tag = Tag::own(0);
const GOODBYE: Tag = Tag::own(1);
/// The tag of letters that say that a send was cancelled, if it was not too late: there may be a letter without its message.
const CANCELLED: Tag = Tag::own(2);
/// The tags of letters between the members of a window: what each brings, what it did before all of them go on, and what it did at a target.
pub(super) const WINDOW_MADE: Tag = Tag::own(3);
pub(super) const WINDOW_ROUND: Tag = Tag::own(4);
pub(super) const WINDOW_GROUP: Tag = Tag::own(5);
/// The tag of letters in which rank 0 tells the others what it calls itself, if that waits for nobody.
pub(super) const FIRST_CALL: Tag = Tag::own(6);

impl Letters {
    /// A communicator was made.
    pub(super) fn name(&self, state: &State, handle: u64, by: Origin) {
        if let Some(comm) = state.comms.get(MPI_Comm(handle as usize)) {
            self.origins.borrow_mut().get_or_insert_with(comm.comm.context().to_bits(), || by);
        }
    }

    /// What to call the communicator of a context.
    pub(super) fn label(&self, state: &State, findings: &Findings, context: u32) -> String {
        if context == state.rank().world().context().to_bits() {
            return "MPI_COMM_WORLD".into();
        }
        if let Some(comm) = state.comms.of_context(context)
            && !comm.name.borrow().is_empty()
        {
            return format!("the communicator \"{}\"", comm.name.borrow());
        }
        let origin = self.origins.borrow().get(context).copied();
        origin.map_or_else(
            || "a communicator".into(),
            |origin| format!("the communicator that {} made", findings.place(origin)),
        )
    }

    fn companion(&self, comm: &Comm, subject: Subject) -> Companion {
        let mut companions = self.companions.borrow_mut();
        let key = (comm.context().to_bits(), subject);
        let make = || {
            let about_messages = subject == Subject::Messages;
            Companion {
                comm: comm.companion(about_messages),
                is_inter: comm.is_inter(),
                peers: if about_messages { 0 } else { comm.places_in_companion().1 },
            }
        };
        companions.get_or_insert_with(key, make).clone()
    }

    /// Where letters of a context go, if any have.
    pub(super) fn known(&self, context: u32, subject: Subject) -> Option<Companion> {
        self.companions.borrow().get((context, subject)).cloned()
    }

    /// Whether a letter is there already.
    pub(super) fn has_come(&self, state: &State, context: u32, subject: Subject, tag: TagMatch) -> bool {
        let companion = self.known(context, subject);
        companion.is_some_and(|known| state.rank().has_arrived(Source::Any, tag, &known.comm))
    }

    /// A communicator is gone: nothing more is said of it. False if something was not heard yet, which is kept for the end.
    pub(super) fn forget(&self, state: &State, context: u32) -> bool {
        let has_come = |about| self.has_come(state, context, about, TagMatch::Any);
        if has_come(Subject::Collectives) || has_come(Subject::Messages) {
            return false;
        }
        let mut companions = self.companions.borrow_mut();
        companions.remove((context, Subject::Collectives));
        companions.remove((context, Subject::Messages));
        self.origins.borrow_mut().remove(context);
        true
    }

    /// The communicators that letters about a subject went over, as far as this rank knows.
    pub(super) fn contexts(&self, subject: Subject) -> Vec<u32> {
        let companions = self.companions.borrow();
        let known = companions.iter().map(|(about, _)| *about);
        known.filter(|(_, about)| *about == subject).map(|(context, _)| context).collect()
    }

    /// Makes a communicator known, so that letters on it are looked for at the end.
    pub(super) fn watch(&self, comm: &Comm, subject: Subject) -> Companion {
        self.companion(comm, subject)
    }

    pub(super) fn send(&self, state: &State, comm: &Comm, subject: Subject, to: (u32, Tag), bytes: Vec<u8>) {
        self.companion(comm, subject);
        self.write(state, comm.context().to_bits(), subject, to, bytes);
    }

    /// The same where the communicator is known by its context.
    pub(super) fn write(
        &self,
        state: &State,
        context: u32,
        subject: Subject,
        to: (u32, Tag),
        bytes: Vec<u8>,
    ) {
        let Some(Companion { comm: companion, .. }) = self.known(context, subject) else { return };
        let (to, tag) = (Dest::Rank(to.0), to.1);
        let buffer = SendBuffer::owned(bytes);
        if let Ok(id) = state.rank().isend(Mode::Standard, &buffer, to, tag, &companion)
            && id != RequestId::SENT
        {
            // It goes on by itself; MPI_Finalize waits for it.
            let _ = state.rank().free(id);
        }
    }

    /// The next letter that fits; waits for one if `wait`. Nothing if there is none, or the job is about to fail.
    pub(super) fn receive(
        &self,
        state: &State,
        (context, subject): (u32, Subject),
        source: Source,
        tag: TagMatch,
        wait: bool,
    ) -> Option<(u32, i32, Vec<u8>)> {
        let companion = self.known(context, subject)?.comm;
        let rank = state.rank();
        let found = if wait {
            rank.probe(source, tag, &companion).ok()
        } else {
            rank.iprobe(source, tag, &companion).ok()?
        };
        let found = found?;
        let mut bytes = vec![0u8; found.bytes as usize];
        let datatype = Datatype::basic(Basic::Byte);
        // SAFETY: the vector outlives the call, which waits for the message.
        let buffer = unsafe { RecvBuffer::new(bytes.as_mut_ptr(), found.bytes, &datatype) };
        let status = rank.recv(&buffer, found.source, found.tag, &companion).ok()?;
        match (status.source, status.tag) {
            (Source::Rank(from), TagMatch::Is(tag)) => Some((from, tag.value(), bytes)),
            _ => None,
        }
    }

    /// Waits until a letter with a tag is there, or `done` holds because another thread has taken it. False if the job is about
    /// to fail.
    pub(super) fn wait_for(
        &self,
        state: &State,
        (context, subject): (u32, Subject),
        tag: Tag,
        done: impl Fn() -> bool,
    ) -> bool {
        let Some(Companion { comm, .. }) = self.known(context, subject) else { return false };
        let has_come = |rank: &Rank| rank.has_arrived(Source::Any, TagMatch::Is(tag), &comm);
        state.rank().wait_until(|rank| has_come(rank) || done()).is_ok()
    }

    /// Says that a message to `to` may not come after all. Ahead of whatever is sent there later.
    pub(super) fn say_cancelled(&self, state: &State, comm: &Comm, to: u32) {
        let to = to + comm.places_in_companion().1;
        self.send(state, comm, Subject::Collectives, (to, CANCELLED), vec![0]);
    }

    /// True if a rank has cancelled a message to this one.
    pub(super) fn is_cancelled(&self, state: &State, context: u32, from: u32) -> bool {
        let about = (context, Subject::Collectives);
        let from = from + self.known(context, Subject::Collectives).map_or(0, |companion| companion.peers);
        self.receive(state, about, Source::Rank(from), TagMatch::Is(CANCELLED), false).is_some()
    }

    /// All ranks take leave of each other: afterwards every message that was ever sent to this rank has come, or has announced
    /// itself, since letters keep their order.
    pub(super) fn part(&self, state: &State) {
        let world = state.rank().world().clone();
        let others = || (0..world.size()).filter(|rank| *rank != world.rank());
        for rank in others() {
            self.send(state, &world, Subject::Collectives, (rank, GOODBYE), vec![0]);
        }
        for rank in others() {
            let from = (world.context().to_bits(), Subject::Collectives);
            self.receive(state, from, Source::Rank(rank), TagMatch::Is(GOODBYE), true);
        }
    }

    /// Takes whatever letters nobody has compared, of messages that were cancelled or lost: their senders may wait for that, where
    /// letters are not buffered.
    pub(super) fn take_the_rest(&self, state: &State) {
        for subject in [Subject::Collectives, Subject::Messages] {
            for context in self.contexts(subject) {
                while self.receive(state, (context, subject), Source::Any, TagMatch::Any, false).is_some() {}
            }
        }
    }
}

/// Writes a letter.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn number(&mut self, number: i64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as i64);
        self.0.extend_from_slice(text.as_bytes());
    }
}

/// Reads a letter; one that is cut short yields nothing.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    pub(super) fn number(&mut self) -> Option<i64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i64::from_le_bytes(*number))
    }

    pub(super) fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

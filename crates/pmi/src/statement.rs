//! What a rank says when it is asked what it waits for, and how that travels.
//!
//! All numbers are little endian; texts and lists begin with their length in 16 bits. Invariant: a decoder fed any bytes yields a
//! statement or refuses, and never allocates more than [`STATEMENT_MAX`] bytes ask for.

/// The longest statement on the wire.
pub const STATEMENT_MAX: usize = 16 << 10;

/// The longest text in a statement; longer ones are cut at a character boundary.
const TEXT_MAX: usize = 1024;
/// The most entries of a list; further ones are left out.
const ENTRIES_MAX: usize = 64;
/// The most runs of members that are listed.
const RUNS_MAX: usize = 256;

/// What a rank waits for, in the terms of the whole job: ranks are those of MPI_COMM_WORLD unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// Who speaks.
    pub rank: u32,
    /// The number of the inquiry that it answers; 0 if the rank speaks unasked.
    pub inquiry: u32,
    /// Nobody is left who could end its wait.
    pub in_vain: bool,
    /// It does not wait but asks again and again (MPI_Test, MPI_Iprobe).
    pub polls: bool,
    /// The first of what it awaits suffices.
    pub first_suffices: bool,
    /// It waits for its own messages to be gone, at the end.
    pub leaving: bool,
    /// The same as in an earlier statement if nothing has come or gone for the rank since.
    pub stretch: u64,
    /// For how long that has been so, in milliseconds.
    pub quiet: u64,
    /// The call of the program's that waits, `MPI_Recv`; empty if unknown.
    pub call: String,
    /// Where it was called: the file and the address that the call returns to, as `FILE+0xOFFSET`; empty if unknown.
    pub site: String,
    /// The collective that it is in, if it is in one.
    pub collective: Option<Collective>,
    /// The collective that it has been through last; its members are left out.
    pub passed: Option<Collective>,
    /// What it waits for.
    pub awaited: Vec<Operation>,
    /// How many more there are.
    pub awaited_more: u32,
    /// Messages that have come and that no receive has been posted for, oldest first.
    pub held: Vec<Operation>,
    /// How many more there are.
    pub held_more: u32,
    /// Other sends that no receive has matched, and persistent ones that are not active.
    pub offered: Vec<Operation>,
    /// How many more there are.
    pub offered_more: u32,
    /// Names of communicators, by number.
    pub names: Vec<(u32, String)>,
}

/// A collective that a rank is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collective {
    /// What the library calls it: "allreduce".
    pub name: String,
    /// The number of its communicator.
    pub comm: u32,
    /// Its place among the collectives of its communicator, the same at all members; as far as such are counted.
    pub number: i32,
    /// The bytes that all members must agree on, as this one has them; `None` if there are no such.
    pub bytes: Option<u64>,
    /// The members of the communicator, as runs from the first to the last; none if unknown.
    pub members: Vec<(u32, u32)>,
}

/// A receive, probe or send that is not complete, or a message that waits for its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operation {
    /// Which.
    pub kind: Kind,
    /// The number of its communicator; 0 is MPI_COMM_WORLD.
    pub comm: u32,
    /// It belongs to a collective.
    pub collective: bool,
    /// The other rank; `None` for any, or unknown.
    pub peer: Option<u32>,
    /// The other's rank in the communicator; `None` for any.
    pub peer_rank: Option<u32>,
    /// `None` for any.
    pub tag: Option<i32>,
    /// Bytes of the message, or that the receive has room for.
    pub bytes: u64,
}

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A receive that no message has matched.
    Receive,
    /// A probe that no message has matched.
    Probe,
    /// A send that no receive has matched.
    Send,
    /// A message that has come before its receive.
    Message,
    /// Matched; the data is under way.
    Transfer,
    /// The other is to call MPI_Win_post.
    Post,
    /// The other is to call MPI_Win_complete.
    Complete,
    /// A persistent send that is not active.
    Unstarted,
}

const KINDS: [Kind; 8] = [
    Kind::Receive,
    Kind::Probe,
    Kind::Send,
    Kind::Message,
    Kind::Transfer,
    Kind::Post,
    Kind::Complete,
    Kind::Unstarted,
];

impl Statement {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut to = Writer(Vec::with_capacity(256));
        to.u32(self.rank);
        to.u32(self.inquiry);
        let collectives = [&self.collective, &self.passed];
        let [is_inside, has_passed] = collectives.map(Option::is_some);
        let flags = [self.in_vain, self.polls, self.first_suffices, self.leaving, is_inside, has_passed];
        to.0.push((0..).zip(flags).map(|(bit, set)| u8::from(set) << bit).sum());
        to.u64(self.stretch);
        to.u64(self.quiet);
        to.text(&self.call);
        to.text(&self.site);
        collectives.into_iter().flatten().for_each(|collective| to.collective(collective));
        for (list, more) in [
            (&self.awaited, self.awaited_more),
            (&self.held, self.held_more),
            (&self.offered, self.offered_more),
        ] {
            to.list(list, ENTRIES_MAX, |to, operation| to.operation(operation));
            to.u32(more + list.len().saturating_sub(ENTRIES_MAX) as u32);
        }
        to.list(&self.names, ENTRIES_MAX, |to, (comm, name)| {
            to.u32(*comm);
            to.text(name);
        });
        // Names are the only part that could make it too long, and the least that is missed.
        if to.0.len() > STATEMENT_MAX {
            return Statement { names: Vec::new(), ..self.clone() }.encode();
        }
        to.0
    }

    /// `None` if the bytes are no statement.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Statement> {
        let mut from = Reader(bytes);
        let (rank, inquiry, flags) = (from.u32()?, from.u32()?, from.u8()?);
        let set = |bit: u8| flags & (1 << bit) != 0;
        let mut statement = Statement {
            rank,
            inquiry,
            in_vain: set(0),
            polls: set(1),
            first_suffices: set(2),
            leaving: set(3),
            stretch: from.u64()?,
            quiet: from.u64()?,
            call: from.text()?,
            site: from.text()?,
            ..Statement::default()
        };
        if set(4) {
            statement.collective = Some(from.collective()?);
        }
        if set(5) {
            statement.passed = Some(from.collective()?);
        }
        (statement.awaited, statement.awaited_more) = (from.list(Reader::operation)?, from.u32()?);
        (statement.held, statement.held_more) = (from.list(Reader::operation)?, from.u32()?);
        (statement.offered, statement.offered_more) = (from.list(Reader::operation)?, from.u32()?);
        statement.names = from.list(|from| Some((from.u32()?, from.text()?)))?;
        from.0.is_empty().then_some(statement)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn u16(&mut self, value: usize) {
        self.0.extend_from_slice(&(value as u16).to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        let text = crate::message::cut(text, TEXT_MAX);
        self.u16(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn list<T>(&mut self, list: &[T], most: usize, each: impl Fn(&mut Writer, &T)) {
        let list = &list[..list.len().min(most)];
        self.u16(list.len());
        list.iter().for_each(|entry| each(self, entry));
    }

    fn collective(&mut self, collective: &Collective) {
        self.text(&collective.name);
        self.u32(collective.comm);
        self.u32(collective.number as u32);
        self.0.push(u8::from(collective.bytes.is_some()));
        self.u64(collective.bytes.unwrap_or(0));
        self.list(&collective.members, RUNS_MAX, |to, (first, last)| {
            to.u32(*first);
            to.u32(*last);
        });
    }

    fn operation(&mut self, operation: &Operation) {
        let Operation { kind, comm, collective, peer, peer_rank, tag, bytes } = operation;
        let kind = KINDS.iter().position(|known| known == kind).unwrap_or(0) as u8;
        let present = [*collective, peer.is_some(), peer_rank.is_some(), tag.is_some()];
        let present: u8 = (0..).zip(present).map(|(bit, set)| u8::from(set) << bit).sum();
        self.0.extend_from_slice(&[kind, present]);
        self.u32(*comm);
        self.u32(peer.unwrap_or(0));
        self.u32(peer_rank.unwrap_or(0));
        self.u32(tag.unwrap_or(0) as u32);
        self.u64(*bytes);
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::from(u16::from_le_bytes(self.take()?));
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok().map(str::to_string)
    }

    fn list<T>(&mut self, each: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = u16::from_le_bytes(self.take()?);
        (0..length).map(|_| each(self)).collect()
    }

    fn collective(&mut self) -> Option<Collective> {
        let (name, comm, number) = (self.text()?, self.u32()?, self.u32()? as i32);
        // One form for each value.
        let bytes = match (self.u8()?, self.u64()?) {
            (0, 0) => None,
            (1, bytes) => Some(bytes),
            _ => return None,
        };
        let members = self.list(|from| Some((from.u32()?, from.u32()?)))?;
        Some(Collective { name, comm, number, bytes, members })
    }

    fn operation(&mut self) -> Option<Operation> {
        let [kind, present] = self.take()?;
        let set = |bit: u8| present & (1 << bit) != 0;
        let kind = *KINDS.get(usize::from(kind))?;
        let (comm, peer, peer_rank, tag) = (self.u32()?, self.u32()?, self.u32()?, self.u32()?);
        Some(Operation {
            kind,
            comm,
            collective: set(0),
            peer: set(1).then_some(peer),
            peer_rank: set(2).then_some(peer_rank),
            tag: set(3).then_some(tag as i32),
            bytes: self.u64()?,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn operation() -> impl Strategy<Value = Operation> {
        let peers = any::<(Option<u32>, Option<u32>)>();
        (0..KINDS.len(), any::<(u32, bool, u64)>(), peers, any::<Option<i32>>()).prop_map(
            |(kind, (comm, collective, bytes), (peer, peer_rank), tag)| Operation {
                kind: KINDS[kind],
                comm,
                collective,
                peer,
                peer_rank,
                tag,
                bytes,
            },
        )
    }

    fn collective() -> impl Strategy<Value = Collective> {
        (".{0,20}", any::<(u32, i32)>(), any::<Option<u64>>(), vec(any::<(u32, u32)>(), 0..5)).prop_map(
            |(name, (comm, number), bytes, members)| Collective { name, comm, number, bytes, members },
        )
    }

    pub(crate) fn statement() -> impl Strategy<Value = Statement> {
        let numbers = any::<(u32, u32, u64, u64)>();
        let flags = any::<(bool, bool, bool, bool)>();
        let texts = (".{0,40}", ".{0,40}");
        let lists = (vec(operation(), 0..5), vec(operation(), 0..5), vec(operation(), 0..5));
        let collectives = (prop::option::of(collective()), prop::option::of(collective()));
        let rest = (any::<(u32, u32, u32)>(), collectives, vec((any::<u32>(), ".{0,9}"), 0..4));
        (numbers, flags, texts, lists, rest).prop_map(|(numbers, flags, texts, lists, rest)| Statement {
            rank: numbers.0,
            inquiry: numbers.1,
            stretch: numbers.2,
            quiet: numbers.3,
            in_vain: flags.0,
            polls: flags.1,
            first_suffices: flags.2,
            leaving: flags.3,
            call: texts.0,
            site: texts.1,
            awaited: lists.0,
            held: lists.1,
            offered: lists.2,
            awaited_more: rest.0.0,
            held_more: rest.0.1,
            offered_more: rest.0.2,
            collective: rest.1.0,
            passed: rest.1.1,
            names: rest.2,
        })
    }

    proptest! {
        #[test]
        fn a_statement_survives_its_way(statement in statement()) {
            prop_assert_eq!(Statement::decode(&statement.encode()), Some(statement));
        }

        #[test]
        fn a_statement_that_is_cut_is_refused(statement in statement(), cut: prop::sample::Index) {
            let bytes = statement.encode();
            prop_assert_eq!(Statement::decode(&bytes[..cut.index(bytes.len())]), None);
        }

        #[test]
        fn any_bytes_are_refused_or_taken(bytes in vec(any::<u8>(), 0..200)) {
            let _ = Statement::decode(&bytes);
        }
    }

    #[test]
    fn a_statement_of_everything_at_its_longest_fits() {
        let operation = Operation {
            kind: Kind::Send,
            comm: 1,
            collective: true,
            peer: None,
            peer_rank: None,
            tag: None,
            bytes: 1,
        };
        let statement = Statement {
            call: "x".repeat(9000),
            site: "y".repeat(9000),
            collective: Some(Collective {
                name: "z".repeat(9000),
                comm: 0,
                number: 1,
                bytes: Some(0),
                members: vec![(1, 1); 9000],
            }),
            awaited: vec![operation; 9000],
            held: vec![operation; 9000],
            offered: vec![operation; 9000],
            names: vec![(0, "n".repeat(9000)); 9000],
            ..Statement::default()
        };
        let bytes = statement.encode();
        assert!(bytes.len() <= STATEMENT_MAX, "{}", bytes.len());
        let read = Statement::decode(&bytes).unwrap();
        assert_eq!((read.awaited.len(), read.awaited_more), (64, 9000 - 64));
    }
}

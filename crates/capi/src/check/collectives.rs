//! Collective calls that differ between the ranks of a communicator (MPI section 6.1: all call the same, in the same order).
//!
//! Before it runs, each call is told to rank 0 of its communicator by a letter, without waiting. Rank 0 compares the n-th call of
//! each rank with its own n-th. In a blocking collective it waits for the letters of all before it begins: a correct program
//! cannot tell, since any collective may synchronise, and a wrong one is found out although it would hang. Calls that are not
//! blocking are compared when their request is waited for, in the next blocking one, or at the end. Where each rank has counts for each
//! other, every pair of them is compared ([`parts`]). To free a communicator is a call like the others, for which nobody waits; when
//! rank 0 knows that all have freed one, its books are closed.
//!
//! The "rank 0" of an intercommunicator is the first member of its lower group: all members of both groups tell it of their calls. What they say
//! of roots and amounts is compared as far as the two groups must agree (MPI section 6.2.3).
//!
//! A call that does not block may fail in another rank before rank 0 has compared it. So rank 0 tells the others of such calls of its own,
//! and a rank in which one fails compares first what it knows.
//!
//! Calls on different communicators that wait for each other are no mismatch on any of them; reports of hangs show those.

use std::cell::RefCell;
use std::collections::VecDeque;

use engine::{Source, TagMatch};

use super::book::Book;
use super::buffers::family;
use super::calls::{Called, is_template};
use super::findings::{Findings, Origin};
use super::letters::{CALL, Companion, FIRST_CALL, Letters, Reader, Subject, Writer};
use super::parts::{self, Parts};
use super::signatures::element_name;
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::Comm;
use crate::process::State;

/// The status of a job that cannot go on because its ranks call different collectives.
const DIFFERENT: i32 = 3;

/// The collective calls of a process, by context.
#[derive(Default)]
pub(super) struct Collectives {
    books: RefCell<Book<u32, Calls>>,
    /// Contexts of communicators that this rank has freed: of the first of them, until all others have; of others, until all has come
    /// that the first has said.
    closing: RefCell<VecDeque<u32>>,
}

/// So many communicators that are not freed everywhere are looked at in each call.
const CLOSING_LOOKS: usize = 4;

#[derive(Default)]
struct Calls {
    /// Calls of this rank.
    made: u64,
    /// At rank 0: its own calls that some have not been compared with. At others: the last ones that do not block.
    own: Vec<(Origin, Record)>,
    /// At others: the last such calls of rank 0.
    first: Vec<Record>,
    /// At others: how many such calls this rank has made, and of how many of rank 0 it has heard.
    begun: u64,
    heard: u64,
    /// At rank 0: calls of others that it has not made itself yet.
    early: Vec<(u32, Record)>,
    /// At rank 0: how many calls of each rank are known.
    known: Vec<u64>,
    /// At rank 0: what ranks say that they send to each other in a call, by its number, until all have said it.
    parts: Vec<(u64, Said)>,
}

/// By rank, and with where it calls.
type Said = Vec<Option<(Parts, String)>>;

/// What a rank says of a call.
#[derive(Clone)]
struct Record {
    number: u64,
    function: String,
    root: Option<i64>,
    /// On an intercommunicator: where its root is.
    seat: Option<Seat>,
    op: String,
    /// What all ranks must agree on.
    bytes: Option<i64>,
    /// The basic type, where there is one.
    element: String,
    /// Counts that all ranks must agree on, in bytes: those of MPI_Reduce_scatter.
    counts: Vec<i64>,
    /// What it sends to and receives from each, where that is its own business and theirs.
    parts: Option<Parts>,
    place: String,
}

impl Collectives {
    /// A call begins; its communicator's context and its number there if it is collective.
    pub(super) fn begin(
        &self,
        state: &State,
        findings: &Findings,
        letters: &Letters,
        call: &Called,
    ) -> Option<(u32, u64)> {
        let family = family(call.origin.function);
        if !FAMILIES.contains(&family.as_str()) {
            return None;
        }
        let comm = state.comms.get(MPI_Comm(call.comm()?))?;
        if comm.comm.size() < 2 && !comm.comm.is_inter() {
            return None;
        }
        let context = comm.comm.context().to_bits();
        let all_members = letters.watch(&comm.comm, Subject::Collectives).comm;
        let mut record = Record::of(state, findings, call, &comm, &family);
        let mut all = self.books.borrow_mut();
        let calls = all.get_or_insert_with(context, Calls::default);
        record.number = calls.made;
        calls.made += 1;
        let number = record.number;
        let is_begun = call.origin.function.starts_with("MPI_I") && !is_template(call.origin.function);
        if all_members.rank() > 0 {
            let letter = record.encode();
            if is_begun {
                calls.begun += 1;
                keep_last(&mut calls.own, (call.origin, record));
            }
            drop(all);
            letters.send(state, &comm.comm, Subject::Collectives, (0, CALL), letter);
            self.hear_first(state, letters, context);
            return Some((context, number));
        }
        calls.count_all(&all_members);
        calls.say_parts(0, &record);
        let letter = is_begun.then(|| record.encode());
        calls.own.push((call.origin, record));
        drop(all);
        for to in (1..all_members.size()).filter(|_| is_begun) {
            let letter = letter.clone().unwrap_or_default();
            letters.send(state, &comm.comm, Subject::Collectives, (to, FIRST_CALL), letter);
        }
        if is_blocking(call.origin.function) {
            self.catch_up(state, findings, letters, context, number);
        }
        Some((context, number))
    }

    /// This rank has freed a communicator; true if it has nothing more to say or hear of it.
    pub(super) fn freed(&self, letters: &Letters, context: u32) -> bool {
        let is_first = letters
            .known(context, Subject::Collectives)
            .is_some_and(|members| members.comm.rank() == 0 && members.comm.size() > 1);
        let mut books = self.books.borrow_mut();
        // To others, what rank 0 has said of its calls may be on its way.
        let is_waiting = |calls: &Calls| is_first || calls.heard < calls.begun;
        if books.get(context).is_some_and(is_waiting) {
            self.closing.borrow_mut().push_back(context);
            return false;
        }
        books.remove(context);
        true
    }

    /// Communicators that all of their members have freed by now, of which nothing more will be said here.
    pub(super) fn closed(&self, state: &State, findings: &Findings, letters: &Letters) -> Vec<u32> {
        let mut closed = Vec::new();
        let looks = self.closing.borrow().len().min(CLOSING_LOOKS);
        for _ in 0..looks {
            let Some(context) = self.closing.borrow_mut().pop_front() else { break };
            // Only what has come by itself: a look for more would seem to be a wait for it.
            while letters.has_come(state, context, Subject::Collectives, TagMatch::Is(CALL))
                && self.take_letter(state, letters, context, false)
            {}
            self.compare_early(state, findings, letters, context);
            self.hear_first(state, letters, context);
            let is_over = |calls: &Calls| {
                calls.known.iter().skip(1).all(|known| *known >= calls.made) && calls.heard >= calls.begun
            };
            let is_over = self.books.borrow().get(context).is_none_or(is_over);
            if is_over {
                self.books.borrow_mut().remove(context);
                closed.push(context);
            } else {
                self.closing.borrow_mut().push_back(context);
            }
        }
        closed
    }

    /// Rank 0 waits until it knows call `number` of all ranks, and compares.
    pub(super) fn catch_up(
        &self,
        state: &State,
        findings: &Findings,
        letters: &Letters,
        context: u32,
        number: u64,
    ) {
        self.compare_early(state, findings, letters, context);
        let missing = || {
            let all = self.books.borrow();
            all.get(context).is_some_and(|calls| calls.known.iter().skip(1).any(|known| *known <= number))
        };
        while missing() {
            // Where threads take turns, another one may take the letter that this one waits for.
            let shared = state.takes_turns();
            let about = (context, Subject::Collectives);
            if shared && !letters.wait_for(state, about, CALL, || !missing()) {
                break;
            }
            if !self.take_letter(state, letters, context, !shared) && !shared {
                break;
            }
            self.compare_early(state, findings, letters, context);
        }
        if let Some(calls) = self.books.borrow_mut().get_mut(context) {
            let everywhere = calls.known.iter().skip(1).min().copied().unwrap_or(0);
            calls.own.retain(|(_, record)| record.number >= everywhere);
        }
    }

    /// Takes in what rank 0 has said of its calls.
    fn hear_first(&self, state: &State, letters: &Letters, context: u32) {
        let (about, tag) = ((context, Subject::Collectives), TagMatch::Is(FIRST_CALL));
        let next = || {
            let is_there = letters.has_come(state, context, Subject::Collectives, tag);
            is_there.then(|| letters.receive(state, about, Source::Rank(0), tag, false))?
        };
        while let Some((_, _, bytes)) = next() {
            if let Some((calls, record)) =
                self.books.borrow_mut().get_mut(context).zip(Record::decode(&bytes))
            {
                calls.heard += 1;
                keep_last(&mut calls.first, record);
            }
        }
    }

    /// A call of another rank than rank 0 that does not block has failed: says so if it is because rank 0 calls something else.
    pub(super) fn failed(
        &self,
        state: &State,
        findings: &Findings,
        letters: &Letters,
        (context, number): (u32, u64),
    ) {
        let Some(members) = letters.known(context, Subject::Collectives) else { return };
        if members.comm.rank() == 0 {
            return;
        }
        self.hear_first(state, letters, context);
        let pair = self.books.borrow().get(context).and_then(|calls| {
            let own = calls.own.iter().find(|(_, own)| own.number == number)?;
            Some((calls.first.iter().find(|first| first.number == number)?.clone(), own.clone()))
        });
        if let Some((first, (origin, own))) = pair {
            let me = members.comm.rank();
            compare(state, findings, letters, (context, &members), (origin, &first, me, &own));
        }
    }

    /// Takes one letter in; false if there is none.
    fn take_letter(&self, state: &State, letters: &Letters, context: u32, wait: bool) -> bool {
        let about = (context, Subject::Collectives);
        let Some((from, _, bytes)) = letters.receive(state, about, Source::Any, TagMatch::Is(CALL), wait)
        else {
            return false;
        };
        let Some(record) = Record::decode(&bytes) else { return true };
        let mut all = self.books.borrow_mut();
        let calls = all.get_or_insert_with(context, Calls::default);
        if let Some(known) = calls.known.get_mut(from as usize) {
            *known += 1;
        }
        calls.early.push((from, record));
        true
    }

    /// Compares the calls of others that this rank has made, too.
    fn compare_early(&self, state: &State, findings: &Findings, letters: &Letters, context: u32) {
        let mut pairs = Vec::new();
        if let Some(calls) = self.books.borrow_mut().get_mut(context) {
            let (ready, early) = std::mem::take(&mut calls.early)
                .into_iter()
                .partition(|(_, record): &(u32, Record)| record.number < calls.made);
            calls.early = early;
            for (from, record) in ready {
                calls.say_parts(from, &record);
                if let Some((origin, own)) = calls.own.iter().find(|(_, own)| own.number == record.number) {
                    pairs.push((*origin, own.clone(), from, record));
                }
            }
        }
        // Functions first: what members of different ones say of their parts means nothing.
        for (origin, own, from, theirs) in pairs {
            let Some(members) = letters.known(context, Subject::Collectives) else { continue };
            compare(state, findings, letters, (context, &members), (origin, &own, from, &theirs));
        }
        for (number, mismatch, sentence) in self.pairwise(context) {
            let label = letters.label(state, findings, context);
            let what = mismatch.what();
            let origin = Origin { function: what, site: number };
            findings.report(state, "collective calls differ", origin, || {
                format!("collective call {} on {label} differs in its {what}: {sentence}", number + 1)
            });
            if mismatch.cannot_complete() {
                state.end(
                    DIFFERENT,
                    "a rank waits for what the other does not send, so that the collective cannot complete",
                );
            }
        }
    }

    /// The calls of which all ranks have said what they send to each other, and two do not say the same.
    fn pairwise(&self, context: u32) -> Vec<(u64, parts::Mismatch, String)> {
        let mut all = self.books.borrow_mut();
        let Some(calls) = all.get_mut(context) else { return Vec::new() };
        let mut found = Vec::new();
        calls.parts.retain_mut(|(number, said)| {
            if said.iter().any(Option::is_none) {
                return true;
            }
            let (said, places): (Vec<Parts>, Vec<String>) = said.iter_mut().filter_map(Option::take).unzip();
            if let Some(mismatch) = parts::mismatch(&said) {
                let place = |rank: u32| places.get(rank as usize).cloned().unwrap_or_default();
                let sentence = mismatch.sentence(place);
                found.push((*number, mismatch, sentence));
            }
            false
        });
        found
    }

    /// All ranks have come to the end: compares what is left, and how many calls each has made.
    pub(super) fn finish(&self, state: &State, findings: &Findings, letters: &Letters) {
        // Others may have made calls on communicators on which this rank has made none.
        for comm in state.comms.alive() {
            letters.watch(&comm.comm, Subject::Collectives);
        }
        for context in letters.contexts(Subject::Collectives) {
            let Some(members) = letters.known(context, Subject::Collectives) else { continue };
            if members.comm.rank() > 0 {
                continue;
            }
            self.books.borrow_mut().get_or_insert_with(context, Calls::default).count_all(&members.comm);
            while self.take_letter(state, letters, context, false) {}
            self.compare_early(state, findings, letters, context);
            let all = self.books.borrow();
            let Some(calls) = all.get(context) else { continue };
            for (rank, known) in (0..).zip(&calls.known).skip(1) {
                if *known != calls.made && members.is_of_this_job(rank, state) {
                    let origin = Origin { function: "MPI_Finalize", site: u64::from(context) };
                    findings.report(state, "collective calls missing", origin, || {
                        let (label, member) = (letters.label(state, findings, context), members.member(rank));
                        calls.missing(rank, *known, &label, &member)
                    });
                }
            }
        }
    }
}

/// So many calls that do not block are kept of a communicator in other ranks than rank 0.
const LAST: usize = 64;

fn keep_last<T>(list: &mut Vec<T>, one: T) {
    if list.len() >= LAST {
        list.remove(0);
    }
    list.push(one);
}

/// Compares a call of rank 0 with that of another; says what differs, for `origin`, and ends the job if it cannot go on.
fn compare(
    state: &State,
    findings: &Findings,
    letters: &Letters,
    (context, members): (u32, &Companion),
    (origin, first, from, theirs): (Origin, &Record, u32, &Record),
) {
    let Some((what, fatal)) = first.difference(theirs) else { return };
    let label = letters.label(state, findings, context);
    findings.report(state, "collective calls differ", origin, || {
        format!(
            "collective call {} on {label} differs in its {what}: {} calls {}, {} calls {}",
            first.number + 1,
            members.member(0),
            first.sentence(),
            members.member(from),
            theirs.sentence()
        )
    });
    if fatal {
        state.end(DIFFERENT, "ranks call different collectives, so that none of them can complete");
    }
}

impl Calls {
    /// Makes room for what is known of all members.
    fn count_all(&mut self, members: &engine::Comm) {
        self.known.resize(members.size() as usize, 0);
    }

    /// That a member has made another number of calls than this rank, and the first that one of the two has not made.
    fn missing(&self, rank: u32, known: u64, label: &str, member: &str) -> String {
        let number = known.min(self.made);
        let theirs = || {
            let early = self.early.iter().find(|(from, record)| (*from, record.number) == (rank, number));
            early.map(|(_, record)| record)
        };
        let own = || self.own.iter().find(|(_, record)| record.number == number).map(|(_, record)| record);
        let first = match if known < self.made { own() } else { theirs() } {
            Some(record) => format!(": {} is the first that is missing", record.sentence()),
            None => String::new(),
        };
        let (made, plural) = (self.made, if self.made == 1 { "" } else { "s" });
        format!(
            "this rank made {made} collective call{plural} on {label}, {member} made {known}, expected as many{first}"
        )
    }

    /// Notes what a rank says that it sends and receives.
    fn say_parts(&mut self, from: u32, record: &Record) {
        let Some(parts) = &record.parts else { return };
        let at = self.parts.partition_point(|(number, _)| *number < record.number);
        if self.parts.get(at).is_none_or(|(number, _)| *number != record.number) {
            self.parts.insert(at, (record.number, Said::new()));
        }
        let said = &mut self.parts[at].1;
        said.resize(self.known.len(), None);
        if let Some(place) = said.get_mut(from as usize) {
            *place = Some((parts.clone(), record.place.clone()));
        }
    }
}

/// What is collective over a communicator, by family.
const FAMILIES: [&str; 32] = [
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "comm_dup",
    "comm_dup_with_info",
    "comm_idup",
    "comm_idup_with_info",
    "comm_create",
    "comm_free",
    "comm_disconnect",
    "comm_split",
    "comm_split_type",
    "cart_create",
    "graph_create",
    "win_create",
    "win_create_dynamic",
    "win_allocate",
    "win_allocate_shared",
];

/// Whether the call may wait for others. To free a communicator seldom does, and ranks may free several in different orders.
fn is_blocking(function: &str) -> bool {
    let at_once = ["_idup", "_free", "_disconnect"].iter().any(|name| function.contains(name));
    !function.starts_with("MPI_I") && !at_once && !is_template(function)
}

/// Where the root of a call on an intercommunicator is, as one of the two groups knows it. As a number for letters: twice the rank, or else -1, and one more or
/// one less for the upper group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seat {
    upper: bool,
    /// Its rank there; the root's own group is not told.
    rank: Option<u32>,
}

impl Seat {
    /// What a call says; `None` if it has no root, or one that no group has, which the call itself will refuse. Its own group has the root if
    /// it says MPI_ROOT or MPI_PROC_NULL.
    fn of(call: &Called, comm: &Comm) -> Option<Seat> {
        let root = call.arguments.number("root").filter(|_| comm.comm.is_inter())?;
        let is_upper = comm.comm.places_in_companion().0 > 0;
        Some(match root as i32 {
            MPI_ROOT => Seat { upper: is_upper, rank: Some(comm.comm.rank()) },
            MPI_PROC_NULL => Seat { upper: is_upper, rank: None },
            rank => {
                let rank = u32::try_from(rank).ok().filter(|rank| *rank < comm.comm.peers().size())?;
                Seat { upper: !is_upper, rank: Some(rank) }
            }
        })
    }

    /// Whether two may speak of the same root.
    fn may_be(self, other: Seat) -> bool {
        self.upper == other.upper && self.rank.zip(other.rank).is_none_or(|(ours, theirs)| ours == theirs)
    }

    fn to_number(self) -> i64 {
        let upper = i64::from(self.upper);
        self.rank.map_or(-1 - upper, |rank| 2 * i64::from(rank) + upper)
    }

    fn from_number(number: i64) -> Seat {
        if number < 0 {
            return Seat { upper: number < -1, rank: None };
        }
        Seat { upper: number & 1 != 0, rank: u32::try_from(number / 2).ok() }
    }
}

impl Record {
    fn of(state: &State, findings: &Findings, call: &Called, comm: &Comm, family: &str) -> Record {
        let function = call.origin.function;
        let is_inter = comm.comm.is_inter();
        let seat = Seat::of(call, comm);
        // Of those who have the root in their group but are not it, nothing else counts.
        let is_silent = seat.is_some_and(|seat| seat.rank.is_none());
        let (bytes, element) =
            if is_silent { (None, String::new()) } else { amount(state, call, comm, family) };
        let op = call.arguments.word("op").filter(|_| !is_silent).map_or(String::new(), op_name);
        Record {
            number: 0,
            function: function.strip_suffix("_c").unwrap_or(function).to_owned(),
            root: call.arguments.number("root"),
            seat,
            op,
            bytes,
            element,
            counts: if is_inter { Vec::new() } else { agreed_counts(state, call, comm, family) },
            // Those of an intercommunicator have an element for each of the other group.
            parts: if is_inter { None } else { Parts::of(state, call, comm, family) },
            place: findings.place(call.origin),
        }
    }

    /// What two calls do not have in common, and whether that makes going on impossible.
    fn difference(&self, other: &Record) -> Option<(String, bool)> {
        let counts = self.counts.iter().zip(&other.counts).enumerate();
        let counts = counts.into_iter().find(|(_, (ours, theirs))| ours != theirs);
        let (what, fatal) = if self.function != other.function {
            ("function", true)
        } else if !self.has_root_of(other) {
            ("root", true)
        } else if self.op != other.op && !self.op.is_empty() && !other.op.is_empty() {
            ("operation", false)
        } else if self.bytes.zip(other.bytes).is_some_and(|(ours, theirs)| ours != theirs) {
            ("number of bytes", false)
        } else if let Some((index, (ours, theirs))) = counts {
            return Some((format!("recvcounts[{index}], {ours} bytes against {theirs}"), false));
        } else if self.element != other.element && !self.element.is_empty() && !other.element.is_empty() {
            ("datatype", false)
        } else {
            return None;
        };
        Some((what.to_owned(), fatal))
    }

    fn has_root_of(&self, other: &Record) -> bool {
        match self.seat.zip(other.seat) {
            Some((ours, theirs)) => ours.may_be(theirs),
            None => self.root == other.root,
        }
    }

    /// `MPI_Bcast at SITE with root 0 and 40 bytes of MPI_INT`.
    fn sentence(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.root.map(|root| match root as i32 {
            MPI_ROOT => "root MPI_ROOT".to_owned(),
            MPI_PROC_NULL => "root MPI_PROC_NULL".to_owned(),
            _ => format!("root {root}"),
        }));
        parts.extend((!self.op.is_empty()).then(|| self.op.clone()));
        parts.extend(self.bytes.map(|bytes| match self.element.as_str() {
            "" => format!("{bytes} bytes"),
            element => format!("{bytes} bytes of {element}"),
        }));
        if parts.is_empty() {
            self.place.clone()
        } else {
            format!("{} with {}", self.place, parts.join(" and "))
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut letter = Writer::default();
        letter.number(self.number as i64);
        for number in [self.root, self.bytes, self.seat.map(Seat::to_number)] {
            letter.number(i64::from(number.is_some()));
            letter.number(number.unwrap_or(0));
        }
        for text in [&self.function, &self.op, &self.element, &self.place] {
            letter.text(text);
        }
        letter.number(self.counts.len() as i64);
        self.counts.iter().for_each(|count| letter.number(*count));
        if let Some(parts) = &self.parts {
            parts.encode(&mut letter);
        }
        letter.0
    }

    fn decode(bytes: &[u8]) -> Option<Record> {
        let mut letter = Reader(bytes);
        let number = letter.number()? as u64;
        let mut optional = || Some((letter.number()? != 0, letter.number()?));
        let (root, size, seat) = (optional()?, optional()?, optional()?);
        let present = |(is, number): (bool, i64)| is.then_some(number);
        let [function, op, element, place] = [letter.text()?, letter.text()?, letter.text()?, letter.text()?];
        let counts = letter.number()?;
        let counts = (0..counts).map(|_| letter.number()).collect::<Option<Vec<i64>>>()?;
        let parts = if letter.0.is_empty() { None } else { Some(Parts::decode(&mut letter)?) };
        let (root, bytes, seat) = (present(root), present(size), present(seat).map(Seat::from_number));
        Some(Record { number, root, seat, bytes, function, op, element, counts, parts, place })
    }
}

/// The bytes that all ranks must agree on, and the basic type of them. Where the groups of an intercommunicator send each other different amounts, what
/// the members of the lower one send counts.
fn amount(state: &State, call: &Called, comm: &Comm, family: &str) -> (Option<i64>, String) {
    let is_inter = comm.comm.is_inter();
    let is_lower = is_inter && comm.comm.places_in_companion().0 == 0;
    let own = if is_inter { i64::from(MPI_ROOT) } else { i64::from(comm.comm.rank()) };
    // An int in a word: the upper half means nothing.
    let is_root = call.arguments.number("root").is_some_and(|root| root as i32 == own as i32);
    let (count, datatype) = match family {
        "bcast" | "reduce" | "allreduce" | "scan" | "exscan" => ("count", "datatype"),
        "gather" if !is_root => ("sendcount", "sendtype"),
        "scatter" if is_root => ("sendcount", "sendtype"),
        "allgather" | "alltoall" if is_lower => ("sendcount", "sendtype"),
        "gather" | "scatter" | "allgather" | "alltoall" => ("recvcount", "recvtype"),
        // Of an intercommunicator, both groups have the same in all, and so each member its share.
        "reduce_scatter_block" => ("recvcount", "datatype"),
        _ => return (None, String::new()),
    };
    let members = if is_inter && family == "reduce_scatter_block" { i64::from(comm.comm.size()) } else { 1 };
    let count = call.arguments.number(count).map(|count| count.saturating_mul(members));
    let datatype =
        call.arguments.word(datatype).and_then(|handle| state.types.get(MPI_Datatype(handle as usize)));
    let (Some(count), Some(datatype)) = (count, datatype) else { return (None, String::new()) };
    // The root of a scatter may say MPI_IN_PLACE for what it receives, and then only what it sends counts.
    let element = datatype.datatype.element().map_or("", element_name);
    (Some(count.saturating_mul(datatype.datatype.size() as i64)), element.to_owned())
}

/// The counts of MPI_Reduce_scatter, in bytes; none for other calls.
fn agreed_counts(state: &State, call: &Called, comm: &Comm, family: &str) -> Vec<i64> {
    if family != "reduce_scatter" {
        return Vec::new();
    }
    let handle = call.arguments.word("datatype").unwrap_or(0) as usize;
    let Some(datatype) = state.types.get(MPI_Datatype(handle)) else { return Vec::new() };
    let size = datatype.datatype.size() as i64;
    let counts = (0..comm.comm.size() as usize).filter_map(|at| call.arguments.element("recvcounts", at));
    counts.map(|count| count.saturating_mul(size)).collect()
}

pub(super) fn op_name(handle: u64) -> String {
    let name = match MPI_Op(handle as usize) {
        MPI_SUM => "MPI_SUM",
        MPI_MIN => "MPI_MIN",
        MPI_MAX => "MPI_MAX",
        MPI_PROD => "MPI_PROD",
        MPI_BAND => "MPI_BAND",
        MPI_BOR => "MPI_BOR",
        MPI_BXOR => "MPI_BXOR",
        MPI_LAND => "MPI_LAND",
        MPI_LOR => "MPI_LOR",
        MPI_LXOR => "MPI_LXOR",
        MPI_MINLOC => "MPI_MINLOC",
        MPI_MAXLOC => "MPI_MAXLOC",
        MPI_REPLACE => "MPI_REPLACE",
        MPI_NO_OP => "MPI_NO_OP",
        _ => "an operation of the program's",
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(function: &str, root: Option<i64>, bytes: Option<i64>) -> Record {
        Record {
            number: 4,
            function: function.into(),
            root,
            seat: None,
            op: String::new(),
            bytes,
            element: String::new(),
            counts: Vec::new(),
            parts: None,
            place: format!("{function} at `/a+0x1`"),
        }
    }

    #[test]
    fn a_record_survives_its_letter() {
        let record = record("MPI_Bcast", Some(-4), None);
        let read = Record::decode(&record.encode()).expect("whole");
        assert_eq!((read.number, read.root, read.bytes, &read.place), (4, Some(-4), None, &record.place));
        assert!(read.difference(&record).is_none());
        assert!(Record::decode(&record.encode()[..20]).is_none());
    }

    #[test]
    fn the_root_of_an_intercommunicator_is_the_same_seen_from_either_group() {
        let seat = |upper, rank| Seat { upper, rank };
        for one in [seat(false, Some(3)), seat(true, Some(0)), seat(false, None), seat(true, None)] {
            assert_eq!(Seat::from_number(one.to_number()), one);
            assert!(one.may_be(one));
        }
        assert!(seat(true, Some(2)).may_be(seat(true, None)), "its own group is not told which it is");
        assert!(!seat(true, Some(2)).may_be(seat(true, Some(1))));
        assert!(!seat(true, Some(2)).may_be(seat(false, None)), "both groups say that they have it");
        let says =
            |root: i32, seat| Record { seat: Some(seat), ..record("MPI_Bcast", Some(i64::from(root)), None) };
        let (of_root, of_other) = (says(MPI_ROOT, seat(false, Some(1))), says(1, seat(false, Some(1))));
        let read = Record::decode(&of_other.encode()).expect("whole");
        assert!(of_root.difference(&read).is_none());
        assert_eq!(of_root.sentence(), "MPI_Bcast at `/a+0x1` with root MPI_ROOT");
        let nobody = says(MPI_PROC_NULL, seat(true, None));
        assert_eq!(of_root.difference(&nobody), Some(("root".into(), true)));
    }

    #[test]
    fn the_first_difference_that_matters_is_named() {
        let bcast = record("MPI_Bcast", Some(0), Some(8));
        assert_eq!(bcast.difference(&record("MPI_Barrier", None, None)), Some(("function".into(), true)));
        assert_eq!(bcast.difference(&record("MPI_Bcast", Some(1), Some(8))), Some(("root".into(), true)));
        assert_eq!(
            bcast.difference(&record("MPI_Bcast", Some(0), Some(4))),
            Some(("number of bytes".into(), false))
        );
        let scattered =
            |counts: &[i64]| Record { counts: counts.into(), ..record("MPI_Reduce_scatter", None, None) };
        assert_eq!(
            scattered(&[4, 8]).difference(&scattered(&[4, 12])),
            Some(("recvcounts[1], 8 bytes against 12".into(), false))
        );
        assert_eq!(bcast.sentence(), "MPI_Bcast at `/a+0x1` with root 0 and 8 bytes");
    }
}

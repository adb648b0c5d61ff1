//! Messages that are received as something else than they were sent as (MPI section 3.3), and messages that are never received.
//!
//! Beside each message a letter travels with its signature, the sequence of its basic types, and the call that sent it; under the
//! message's own tag, and ahead of it. Messages of one sender with one tag keep their order, and so do their letters, so it is
//! enough to know the order in which receives took them: it is the order in which the receives were posted. A receive is therefore
//! compared once no older one that might have taken the same message is under way.
//!
//! Where the program hides whom a wildcard receive has heard from (MPI_STATUS_IGNORE), or cancels something, that order is lost, and
//! the messages of that communicator are no longer compared in this process.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use engine::datatype::Basic;
use engine::{Source, Tag, TagMatch};

use super::book::Book;
use super::buffers::family;
use super::calls::{Called, is_template};
use super::findings::{Findings, Origin};
use super::letters::{Letters, Reader, Subject, Writer};
use super::operations::Operations;
use super::shapes::{Direction, Kind};
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::{Comm, Type};
use crate::process::State;

/// The messages of a process.
#[derive(Default)]
pub(super) struct Signatures {
    posted: Cell<u64>,
    /// Receives that have not been seen to end, in the order in which they were posted.
    open: RefCell<VecDeque<(u64, Post)>>,
    /// Receives that have ended and are to be compared.
    ended: RefCell<Vec<Ended>>,
    /// What persistent requests do.
    templates: RefCell<Book<u64, Template>>,
    /// Persistent receives that are active: the number of their post.
    started: RefCell<Vec<(u64, u64)>>,
    /// Contexts whose order is lost.
    lost: RefCell<Vec<u32>>,
}

/// A receive that has taken a message.
struct Ended {
    number: u64,
    post: Post,
    source: u32,
    tag: i32,
}

/// A receive.
#[derive(Clone)]
struct Post {
    context: u32,
    source: Option<u32>,
    tag: Option<i32>,
    /// What it takes; nothing for a probe that takes a message out.
    signature: Option<Signature>,
    origin: Origin,
}

/// What a persistent request does whenever it is started.
#[derive(Clone)]
enum Template {
    Send { comm: Rc<Comm>, to: u32, tag: i32, signature: Signature },
    Receive(Post),
}

/// The basic types of a message: those of one element, and how many elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    count: u64,
    /// Runs of equal basic types. Empty if there are too many to send.
    runs: Vec<(String, u64)>,
}

/// The basic types of one element of a datatype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element(Vec<(String, u64)>);

/// Signatures with more runs are not compared.
const RUNS_MAX: usize = 64;
/// Comparing goes on for so many runs.
const STEPS_MAX: u64 = 1 << 16;

impl Signatures {
    /// A call begins; the number of the receive that it posts.
    pub(super) fn begin(
        &self,
        state: &State,
        findings: &Findings,
        letters: &Letters,
        operations: &Operations,
        call: &Called,
    ) -> Option<u64> {
        let function = call.origin.function;
        if matches!(function, "MPI_Start" | "MPI_Startall") {
            self.start(state, findings, letters, call);
            return None;
        }
        if function == "MPI_Cancel" {
            self.give_up_cancelled(state, letters, operations, call);
            return None;
        }
        if is_template(function) {
            return None;
        }
        let receive = self.receive_of(state, call, letters);
        if let Some(Template::Send { comm, to, tag, signature }) = send_of(state, call) {
            tell(state, letters, &comm, (to, tag), &signature, &findings.place(call.origin));
        }
        receive.map(|post| self.post(post))
    }

    fn post(&self, post: Post) -> u64 {
        let number = self.posted.get() + 1;
        self.posted.set(number);
        self.open.borrow_mut().push_back((number, post));
        number
    }

    /// A receive is no longer under way.
    fn close(&self, number: u64) -> Option<Post> {
        let mut open = self.open.borrow_mut();
        let at = open.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        open.remove(at).map(|(_, post)| post)
    }

    /// The order of a communicator's messages is not known any more.
    fn lose(&self, context: u32) {
        if !self.is_lost(context) {
            self.lost.borrow_mut().push(context);
        }
    }

    /// True if receives of a communicator are under way, may be started, or were not compared.
    pub(super) fn is_about(&self, context: u32) -> bool {
        let is_template_of = |template: &Template| match template {
            Template::Send { comm, .. } => comm.comm.context().to_bits() == context,
            Template::Receive(post) => post.context == context,
        };
        self.open.borrow().iter().any(|(_, post)| post.context == context)
            || self.ended.borrow().iter().any(|ended| ended.post.context == context)
            || self.templates.borrow().iter().any(|(_, template)| is_template_of(template))
    }

    /// Nothing more will be asked of a communicator.
    pub(super) fn forget(&self, context: u32) {
        self.lost.borrow_mut().retain(|known| *known != context);
    }

    fn is_lost(&self, context: u32) -> bool {
        self.lost.borrow().contains(&context)
    }

    fn receive_of(&self, state: &State, call: &Called, letters: &Letters) -> Option<Post> {
        let (post, comm) = receive_of(state, call)?;
        letters.watch(&comm.comm, Subject::Messages);
        letters.watch(&comm.comm, Subject::Collectives);
        Some(post)
    }

    fn start(&self, state: &State, findings: &Findings, letters: &Letters, call: &Called) {
        for given in call.given.iter().filter(|given| given.param.kind == Kind::Request) {
            let template = self.templates.borrow().get(given.before).cloned();
            match template {
                Some(Template::Send { comm, to, tag, signature }) => {
                    tell(state, letters, &comm, (to, tag), &signature, &findings.place(call.origin));
                }
                Some(Template::Receive(post)) => {
                    let number = self.post(Post { origin: call.origin, ..post });
                    self.started.borrow_mut().push((given.before, number));
                }
                None => {}
            }
        }
    }

    fn give_up_cancelled(&self, state: &State, letters: &Letters, operations: &Operations, call: &Called) {
        // Which receive it was does not matter: none of its communicator can be compared any more.
        for given in &call.given {
            if let Some((comm, to)) = operations.dest(given.before) {
                letters.say_cancelled(state, &comm.comm, to);
                continue;
            }
            let contexts: Vec<u32> = self.open.borrow().iter().map(|(_, post)| post.context).collect();
            contexts.into_iter().for_each(|context| self.lose(context));
        }
    }

    /// A call ends: receives that it has completed are compared.
    pub(super) fn end(
        &self,
        state: &State,
        findings: &Findings,
        letters: &Letters,
        operations: &Operations,
        call: &Called,
        code: i32,
    ) {
        self.keep_template(state, letters, call, code);
        let returns_request = call
            .arguments
            .iter()
            .any(|(param, word)| param.kind == Kind::Request && call.written(param, word).is_some());
        if let Some(number) = call.receive.filter(|_| !returns_request || code != MPI_SUCCESS) {
            // A blocking one, or a probe that took a message out, or one that failed.
            let taken = code == MPI_SUCCESS && flag_is_set(call);
            if taken {
                self.ends(number, status(call, 0));
            } else if let Some(post) = self.close(number)
                && code != MPI_SUCCESS
            {
                self.lose(post.context);
            }
        }
        for (index, given) in call.given.iter().enumerate() {
            if given.param.kind != Kind::Request || given.param.direction != Direction::InOut {
                continue;
            }
            let request = given.before;
            let is_over = given.now() == MPI_REQUEST_NULL.0 as u64
                || (self.started.borrow().iter().any(|(known, _)| *known == request)
                    && matches!(
                        state.rank().state(engine::RequestId::from_bits(request)),
                        Ok(engine::State::Inactive)
                    ));
            if !is_over {
                continue;
            }
            let mut started = self.started.borrow_mut();
            let at = started.iter().position(|(known, _)| *known == request);
            let number = at.map(|at| started.swap_remove(at).1).or_else(|| operations.receive(request));
            drop(started);
            if call.origin.function == "MPI_Request_free" {
                self.templates.borrow_mut().remove(request);
            }
            let Some(number) = number else { continue };
            if call.origin.function == "MPI_Request_free" || code != MPI_SUCCESS {
                if let Some(post) = self.close(number) {
                    self.lose(post.context);
                }
            } else {
                self.ends(number, status(call, index));
            }
        }
        self.compare(state, findings, letters);
    }

    fn keep_template(&self, state: &State, letters: &Letters, call: &Called, code: i32) {
        if !is_template(call.origin.function) || code != MPI_SUCCESS {
            return;
        }
        let template =
            send_of(state, call).or_else(|| self.receive_of(state, call, letters).map(Template::Receive));
        let request = call.arguments.iter().find_map(|(param, word)| {
            (param.kind == Kind::Request).then(|| call.written(param, word)).flatten()
        });
        if let Some((template, request)) = template.zip(request) {
            self.templates.borrow_mut().insert(request, template);
        }
    }

    /// A receive has taken a message; `heard` is what the program was told of it.
    fn ends(&self, number: u64, heard: Option<(i32, i32)>) {
        let Some(post) = self.close(number) else { return };
        let source = post.source.or_else(|| heard.map(|heard| heard.0 as u32));
        let tag = post.tag.or_else(|| heard.map(|heard| heard.1));
        match source.zip(tag) {
            Some((source, tag)) => {
                let mut ended = self.ended.borrow_mut();
                let at = ended.partition_point(|other| other.number < number);
                ended.insert(at, Ended { number, post, source, tag });
            }
            None => self.lose(post.context),
        }
    }

    /// Compares the receives whose message is certain.
    fn compare(&self, state: &State, findings: &Findings, letters: &Letters) {
        loop {
            let ready = {
                let (open, ended) = (self.open.borrow(), self.ended.borrow());
                let certain = |ended: &Ended| {
                    let older = open.iter().take_while(|(number, _)| *number < ended.number);
                    self.is_lost(ended.post.context)
                        || !older.into_iter().any(|(_, post)| post.may_take(ended))
                };
                // An older one of the same sender and tag comes first in this order, and is as certain.
                ended.iter().position(certain)
            };
            let Some(at) = ready else { return };
            let Ended { post, source, tag, .. } = self.ended.borrow_mut().remove(at);
            if self.is_lost(post.context) {
                continue;
            }
            let about = (post.context, Subject::Messages);
            let exactly = Tag::new(i64::from(tag)).map_or(TagMatch::Any, TagMatch::Is);
            let letter = letters.receive(state, about, Source::Rank(source), exactly, true);
            let Some((sent, place)) = letter.and_then(|(_, _, bytes)| decode(&bytes)) else { continue };
            let Some(wanted) = &post.signature else { continue };
            if let Some(difference) = sent.difference(wanted) {
                if letters.is_cancelled(state, post.context, source) {
                    self.lose(post.context);
                    continue;
                }
                findings.report(state, "datatypes do not match", post.origin, || {
                    format!(
                        "{} receives {} from rank {source} with tag {tag}, but {place} sent {}: {difference}",
                        findings.place(post.origin),
                        wanted.sentence(),
                        sent.sentence()
                    )
                });
            }
        }
    }

    /// All messages have come: says which nobody has received.
    pub(super) fn finish(&self, state: &State, findings: &Findings, letters: &Letters) {
        self.compare(state, findings, letters);
        for leftover in state.rank().leftovers() {
            let context = leftover.context.to_bits();
            let known = if self.is_lost(context) {
                None
            } else {
                let tag = Tag::new(i64::from(leftover.tag)).map_or(TagMatch::Any, TagMatch::Is);
                if let Some(comm) = find(state, context) {
                    letters.watch(&comm, Subject::Messages);
                }
                letters.receive(
                    state,
                    (context, Subject::Messages),
                    Source::Rank(leftover.source),
                    tag,
                    false,
                )
            };
            let place = known.and_then(|(_, _, bytes)| decode(&bytes)).map(|(_, place)| place);
            let by = place.map_or(String::new(), |place| format!("; {place} sent it"));
            let text = format!(
                "a message of {} bytes from rank {} with tag {} on {} was never received{by}",
                leftover.bytes,
                leftover.source,
                leftover.tag,
                letters.label(state, findings, context)
            );
            // Each is another one: by sender and tag.
            let key = u64::from(leftover.source) << 32 | u64::from(leftover.tag as u32);
            findings.report(
                state,
                "message never received",
                Origin { function: "MPI_Finalize", site: key },
                || text,
            );
        }
        // What is left of letters is of no use; it must not keep its senders waiting.
        for context in letters.contexts(Subject::Messages) {
            while letters
                .receive(state, (context, Subject::Messages), Source::Any, TagMatch::Any, false)
                .is_some()
            {}
        }
    }
}

impl Post {
    fn may_take(&self, other: &Ended) -> bool {
        self.context == other.post.context
            && self.source.is_none_or(|from| from == other.source)
            && self.tag.is_none_or(|wanted| wanted == other.tag)
    }
}

/// The communicator of a context, among those that always exist.
fn find(state: &State, context: u32) -> Option<engine::Comm> {
    let rank = state.rank();
    [rank.world(), rank.self_comm(), rank.local()]
        .into_iter()
        .find(|comm| comm.context().to_bits() == context)
        .cloned()
}

/// Sends the letter of a message, which the call at `place` sends.
fn tell(
    state: &State,
    letters: &Letters,
    comm: &Comm,
    (to, tag): (u32, i32),
    signature: &Signature,
    place: &str,
) {
    let mut letter = Writer::default();
    letter.text(place);
    letter.number(signature.count as i64);
    write_runs(&signature.runs, &mut letter);
    if let Ok(tag) = Tag::new(i64::from(tag)) {
        letters.send(state, &comm.comm, Subject::Messages, (to, tag), letter.0);
    }
}

fn decode(bytes: &[u8]) -> Option<(Signature, String)> {
    let mut letter = Reader(bytes);
    let place = letter.text()?;
    let (count, runs) = (letter.number()? as u64, read_runs(&mut letter)?);
    Some((Signature { count, runs }, place))
}

fn write_runs(runs: &[(String, u64)], letter: &mut Writer) {
    letter.number(runs.len() as i64);
    for (name, run) in runs {
        letter.text(name);
        letter.number(*run as i64);
    }
}

fn read_runs(letter: &mut Reader<'_>) -> Option<Vec<(String, u64)>> {
    let length = letter.number()?;
    (0..length).map(|_| Some((letter.text()?, letter.number()? as u64))).collect()
}

impl Element {
    /// Nothing of a datatype with too many runs, which is not compared.
    pub(super) fn of(datatype: &Type) -> Element {
        let mut runs = Vec::new();
        append(datatype, 1, &mut runs);
        if runs.len() > RUNS_MAX {
            runs.clear();
        }
        Element(runs)
    }

    /// One of a predefined type.
    #[cfg(test)]
    pub(super) fn plain(name: &str) -> Element {
        Element(vec![(name.to_owned(), 1)])
    }

    /// That of a message.
    pub(super) fn times(&self, count: u64) -> Signature {
        Signature { count, runs: self.0.clone() }
    }

    pub(super) fn encode(&self, letter: &mut Writer) {
        write_runs(&self.0, letter);
    }

    pub(super) fn decode(letter: &mut Reader<'_>) -> Option<Element> {
        read_runs(letter).map(Element)
    }
}

/// What a send of this call's is.
fn send_of(state: &State, call: &Called) -> Option<Template> {
    let family = family(call.origin.function);
    if !["send", "ssend", "bsend", "rsend", "sendrecv", "sendrecv_replace"].contains(&family.as_str()) {
        return None;
    }
    let comm = state.comms.get(MPI_Comm(call.arguments.comm()?))?;
    let to =
        u32::try_from(call.arguments.number("dest")?).ok().filter(|to| *to < comm.comm.peers().size())?;
    let tag = call.arguments.number("sendtag").or_else(|| call.arguments.number("tag"))? as i32;
    let signature = signature_of(state, call, ("sendcount", "sendtype"))?;
    Some(Template::Send { comm, to, tag, signature })
}

/// What a receive of this call's is; also that of a probe that takes a message out.
fn receive_of(state: &State, call: &Called) -> Option<(Post, Rc<Comm>)> {
    let family = family(call.origin.function);
    let is_probe = matches!(family.as_str(), "mprobe");
    if !is_probe && !["recv", "sendrecv", "sendrecv_replace"].contains(&family.as_str()) {
        return None;
    }
    let comm = state.comms.get(MPI_Comm(call.arguments.comm()?))?;
    let source = call.arguments.number("source")? as i32;
    let tag = call.arguments.number("recvtag").or_else(|| call.arguments.number("tag"))? as i32;
    if source == MPI_PROC_NULL {
        return None;
    }
    let signature = if is_probe { None } else { Some(signature_of(state, call, ("recvcount", "recvtype"))?) };
    let post = Post {
        context: comm.comm.context().to_bits(),
        source: u32::try_from(source).ok(),
        tag: (tag != MPI_ANY_TAG).then_some(tag),
        signature,
        origin: call.origin,
    };
    Some((post, comm))
}

/// A call that says by a flag whether it found something.
pub(super) fn flag_is_set(call: &Called) -> bool {
    let Some(word) = call.arguments.word("flag").filter(|word| *word != 0) else { return true };
    // SAFETY: MPI's contract with the caller: the call has written an int there.
    unsafe { std::ptr::with_exposed_provenance::<i32>(word as usize).read() != 0 }
}

/// Source and tag in the status that the program was given for its `index`-th request.
fn status(call: &Called, index: usize) -> Option<(i32, i32)> {
    let arguments = &call.arguments;
    let place = match arguments.word("array_of_indices") {
        Some(indices) if indices != 0 => {
            let indices = std::ptr::with_exposed_provenance::<i32>(indices as usize);
            let done = std::ptr::with_exposed_provenance::<i32>(arguments.word("outcount")? as usize);
            // SAFETY: MPI's contract with the caller: the call has written that number, and so many indices.
            let mut written = unsafe { (0..done.read().max(0) as usize).map(|at| indices.add(at).read()) };
            written.position(|completed| completed as usize == index)?
        }
        _ if arguments.word("array_of_statuses").is_some() => index,
        _ => 0,
    };
    let word = arguments.word("array_of_statuses").or_else(|| arguments.word("status"))?;
    if word == 0 {
        return None;
    }
    // SAFETY: MPI's contract with the caller: room for the statuses that the call has written.
    let status = unsafe { &*std::ptr::with_exposed_provenance::<MPI_Status>(word as usize).add(place) };
    Some((status.MPI_SOURCE, status.MPI_TAG))
}

/// The signature of a call's data: by the names of calls with two buffers, or of those with one.
fn signature_of(state: &State, call: &Called, (count, datatype): (&str, &str)) -> Option<Signature> {
    let arguments = &call.arguments;
    let count = arguments.number(count).or_else(|| arguments.number("count"))?;
    let datatype = arguments.word(datatype).or_else(|| arguments.word("datatype"))?;
    let datatype = state.types.get(MPI_Datatype(datatype as usize))?;
    Some(Element::of(&datatype).times(count.max(0) as u64))
}

/// Appends the basic types of so many elements.
fn append(datatype: &Type, count: u64, runs: &mut Vec<(String, u64)>) {
    if runs.len() > RUNS_MAX || count == 0 {
        return;
    }
    let size = datatype.datatype.size();
    if let Some(basic) = datatype.datatype.element() {
        let number = count * (size / basic.size().max(1));
        let Some([first, second]) = basic.halves() else { return push(runs, element_name(basic), number) };
        for _ in 0..number.min(RUNS_MAX as u64 + 1) {
            push(runs, element_name(first), 1);
            push(runs, element_name(second), 1);
        }
        return;
    }
    for _ in 0..count.min(RUNS_MAX as u64 + 1) {
        for (index, (_, part)) in datatype.origin.types.iter().enumerate() {
            let copies = if datatype.origin.combiner == MPI_COMBINER_STRUCT {
                datatype.origin.integers.get(index + 1).map_or(0, |length| (*length).max(0) as u64)
            } else {
                size / part.datatype.size().max(1)
            };
            append(part, copies, runs);
        }
    }
}

fn push(runs: &mut Vec<(String, u64)>, name: &str, count: u64) {
    match runs.last_mut() {
        _ if count == 0 => {}
        Some((last, run)) if last == name => *run += count,
        _ => runs.push((name.to_owned(), count)),
    }
}

impl Signature {
    /// Why a message of this signature must not be received as `wanted`.
    pub(super) fn difference(&self, wanted: &Signature) -> Option<String> {
        if self.runs.is_empty() || wanted.runs.is_empty() || self.is_packed() || wanted.is_packed() {
            return None;
        }
        let (mut sent, mut taken) = (self.sequence(), wanted.sequence());
        let mut element = 0;
        let (mut ours, mut theirs) = (sent.next()?, taken.next()?);
        for _ in 0..STEPS_MAX {
            if ours.0 != theirs.0 {
                let (ours, theirs) = (ours.0, theirs.0);
                return Some(format!("element {element} is sent as {ours} and received as {theirs}"));
            }
            let run = ours.1.min(theirs.1);
            element += run;
            (ours.1, theirs.1) = (ours.1 - run, theirs.1 - run);
            // The end of either: what is too long for the receive is an error of its own.
            if ours.1 == 0 {
                ours = sent.next()?;
            }
            if theirs.1 == 0 {
                theirs = taken.next()?;
            }
        }
        None
    }

    fn sequence(&self) -> impl Iterator<Item = (&str, u64)> + '_ {
        let elements = if self.runs.len() == 1 { 1 } else { self.count };
        let times = if self.runs.len() == 1 { self.count } else { 1 };
        (0..elements)
            .flat_map(move |_| self.runs.iter().map(move |(name, run)| (name.as_str(), run * times)))
            .filter(|(_, run)| *run > 0)
    }

    /// MPI_PACKED matches everything (MPI section 5.2).
    fn is_packed(&self) -> bool {
        self.runs.iter().any(|(name, _)| name == "MPI_PACKED")
    }

    pub(super) fn sentence(&self) -> String {
        match self.runs.as_slice() {
            [(name, run)] => format!("{} {name}", run * self.count),
            runs => {
                let shown: Vec<String> =
                    runs.iter().take(4).map(|(name, run)| format!("{run} {name}")).collect();
                let more = if runs.len() > shown.len() { ", …" } else { "" };
                let plural = if self.count == 1 { "" } else { "s" };
                format!("{} element{plural} of ({}{more})", self.count, shown.join(", "))
            }
        }
    }
}

/// What a basic type is called: one name for all predefined types that are the same in memory, which may be mixed.
pub(super) fn element_name(basic: Basic) -> &'static str {
    match basic {
        Basic::I8 => "MPI_INT8_T",
        Basic::I16 => "MPI_SHORT",
        Basic::I32 => "MPI_INT",
        Basic::I64 | Basic::Long => "MPI_LONG",
        Basic::U8 => "MPI_UNSIGNED_CHAR",
        Basic::U16 => "MPI_UNSIGNED_SHORT",
        Basic::U32 => "MPI_UNSIGNED",
        Basic::U64 | Basic::UnsignedLong => "MPI_UNSIGNED_LONG",
        Basic::F32 => "MPI_FLOAT",
        Basic::F64 => "MPI_DOUBLE",
        Basic::LongDouble => "MPI_LONG_DOUBLE",
        Basic::ComplexF32 => "MPI_C_FLOAT_COMPLEX",
        Basic::ComplexF64 => "MPI_C_DOUBLE_COMPLEX",
        Basic::ComplexLongDouble => "MPI_C_LONG_DOUBLE_COMPLEX",
        Basic::Bool => "MPI_C_BOOL",
        Basic::Logical { .. } => "MPI_LOGICAL",
        Basic::Byte => "MPI_BYTE",
        Basic::Packed => "MPI_PACKED",
        Basic::Char { bytes: 1 } => "MPI_CHAR",
        Basic::Char { .. } => "MPI_WCHAR",
        Basic::Opaque { .. } => "a type without a name",
        _ => "a pair",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(count: u64, runs: &[(&str, u64)]) -> Signature {
        Signature { count, runs: runs.iter().map(|(name, run)| ((*name).to_owned(), *run)).collect() }
    }

    #[test]
    fn a_message_may_be_shorter_than_its_receive_but_not_of_other_types() {
        let ten = signature(10, &[("MPI_INT", 1)]);
        assert_eq!(signature(4, &[("MPI_INT", 2)]).difference(&ten), None);
        let difference = signature(4, &[("MPI_FLOAT", 1)]).difference(&ten);
        assert_eq!(difference.as_deref(), Some("element 0 is sent as MPI_FLOAT and received as MPI_INT"));
        assert_eq!(signature(0, &[("MPI_FLOAT", 1)]).difference(&ten), None);
    }

    #[test]
    fn structures_match_by_their_basic_types_however_they_were_made() {
        let pairs = signature(2, &[("MPI_INT", 1), ("MPI_DOUBLE", 2)]);
        let whole = signature(1, &[("MPI_INT", 1), ("MPI_DOUBLE", 2), ("MPI_INT", 1), ("MPI_DOUBLE", 2)]);
        assert_eq!(pairs.difference(&whole), None);
        assert_eq!(whole.difference(&pairs), None);
        let other = signature(1, &[("MPI_INT", 1), ("MPI_DOUBLE", 3)]);
        let difference = pairs.difference(&other);
        assert_eq!(difference.as_deref(), Some("element 3 is sent as MPI_INT and received as MPI_DOUBLE"));
    }

    #[test]
    fn packed_data_matches_everything() {
        let packed = signature(40, &[("MPI_PACKED", 1)]);
        let ints = signature(10, &[("MPI_INT", 1)]);
        assert_eq!((packed.difference(&ints), ints.difference(&packed)), (None, None));
    }
}

//! Objects of the program: where each was made, where it was freed, and which are left at the end.
//!
//! All of them come and go through handles that calls write and clear, so one rule serves all kinds: a handle that a call has
//! written is alive, a handle that a call has made null is gone. Predefined handles and null are numbers below 0x1000. Some kinds come
//! and go by any thread at any time, hence the locks.

use std::collections::VecDeque;
use std::sync::Mutex;

use super::book::{Book, Key, Words};
use super::findings::{Findings, Origin, locked};
use super::shapes::Kind;
use crate::abi::types::MPI_Datatype;
use crate::process::State;

/// The objects of a process.
#[derive(Default)]
pub(super) struct Objects {
    /// Where each was made, and how many references the program holds.
    alive: Mutex<Book<(Kind, u64), (Origin, u32)>>,
    gone: Mutex<Gone>,
}

/// The objects that were freed last.
#[derive(Default)]
struct Gone {
    by_handle: Book<(Kind, u64), (Origin, Origin)>,
    order: VecDeque<(Kind, u64)>,
}

impl Key for (Kind, u64) {
    fn words(self) -> Words {
        (self.0 as u64, self.1)
    }
}

/// Mistakes with handles are made soon after they were freed.
const REMEMBERED: usize = 1 << 14;

/// Handles below are predefined.
const FIRST_HANDLE: u64 = 0x1000;

impl Objects {
    /// A call has written a handle.
    pub(super) fn made(&self, kind: Kind, handle: u64, by: Origin) {
        if is_tracked(kind, handle) {
            locked(&self.alive).get_or_insert_with((kind, handle), || (by, 0)).1 += 1;
        }
    }

    /// A call has made a handle null.
    pub(super) fn freed(&self, kind: Kind, handle: u64, by: Origin) {
        let mut alive = locked(&self.alive);
        let Some((made, references)) = alive.get_mut((kind, handle)) else { return };
        *references -= 1;
        if *references > 0 {
            return;
        }
        let made = *made;
        alive.remove((kind, handle));
        drop(alive);
        self.remember(kind, handle, made, by);
    }

    /// Keeps in mind where an object ended.
    pub(super) fn remember(&self, kind: Kind, handle: u64, made: Origin, ended: Origin) {
        let mut gone = locked(&self.gone);
        gone.by_handle.insert((kind, handle), (made, ended));
        gone.order.push_back((kind, handle));
        if gone.order.len() > REMEMBERED
            && let Some(oldest) = gone.order.pop_front()
        {
            gone.by_handle.remove(oldest);
        }
    }

    /// A call is given a handle: says so if the object is gone.
    pub(super) fn used(
        &self,
        state: &State,
        findings: &Findings,
        (kind, handle): (Kind, u64),
        name: &str,
        by: Origin,
    ) {
        // A key that was freed still serves the attributes that have it (MPI section 7.7.2), and is an error where none has.
        if handle < FIRST_HANDLE || kind == Kind::Keyval {
            return;
        }
        let Some((made, ended)) = locked(&self.gone).by_handle.get((kind, handle)).copied() else { return };
        // Whoever does the work of a generalized request completes it by its handle, freed or not (MPI section 13.2).
        if by.function == "MPI_Grequest_complete" && ended.function == "MPI_Request_free" {
            return;
        }
        findings.report(state, "freed handle", by, || {
            format!(
                "{}: {name} names {} that is gone: {} made it and {} ended it",
                findings.place(by),
                one(kind),
                findings.place(made),
                findings.place(ended)
            )
        });
    }

    /// Where a live object was made.
    pub(super) fn origin(&self, kind: Kind, handle: u64) -> Option<Origin> {
        locked(&self.alive).get((kind, handle)).map(|(made, _)| *made)
    }

    /// Says what was never freed, by the call that made it.
    pub(super) fn leaked(&self, state: &State, findings: &Findings) {
        let mut counts: Vec<((Origin, &str), u32)> = Vec::new();
        for ((kind, handle), (made, references)) in locked(&self.alive).iter() {
            if *kind == Kind::Datatype && is_predefined(state, *handle) {
                continue;
            }
            let group = (*made, noun(*kind));
            match counts.iter_mut().find(|(known, _)| *known == group) {
                Some((_, count)) => *count += references,
                None => {
                    let at = counts.partition_point(|(known, _)| *known < group);
                    counts.insert(at, (group, *references));
                }
            }
        }
        for ((made, noun), count) in counts {
            findings.report(state, "leaked object", made, || {
                let (objects, were) = if count == 1 {
                    (format!("1 {noun}"), "was")
                } else {
                    (format!("{count} {noun}s"), "were")
                };
                format!("{objects} made by {} {were} not freed before MPI_Finalize", findings.place(made))
            });
        }
    }
}

/// Types of Fortran's parameterised kinds are asked for, and predefined: they cannot be freed (MPI section 19.1.5).
fn is_predefined(state: &State, handle: u64) -> bool {
    state.types.get(MPI_Datatype(handle as usize)).is_some_and(|found| found.datatype.is_predefined())
}

fn is_tracked(kind: Kind, handle: u64) -> bool {
    match kind {
        Kind::Comm
        | Kind::Group
        | Kind::Datatype
        | Kind::Op
        | Kind::Info
        | Kind::Errhandler
        | Kind::Message
        | Kind::Win => handle >= FIRST_HANDLE,
        Kind::Keyval => true,
        _ => false,
    }
}

fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Comm => "communicator",
        Kind::Group => "group",
        Kind::Datatype => "datatype",
        Kind::Op => "operation",
        Kind::Info => "info object",
        Kind::Errhandler => "error handler",
        Kind::Keyval => "attribute key",
        Kind::Message => "matched message",
        Kind::Request => "request",
        Kind::Win => "window",
        _ => "object",
    }
}

/// With its article.
fn one(kind: Kind) -> String {
    let noun = noun(kind);
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

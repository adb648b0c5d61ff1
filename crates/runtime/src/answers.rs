//! Who answers when the launcher asks what a rank waits for.
//!
//! A rank that waits looks up now and then (`engine::Lookout`). If the launcher has asked since, the rank puts its wait into a
//! [`Statement`] and sends it. A process rank finds the question in its end of the control socket; ranks that share a process
//! share the socket, on which a thread of their host [listens](listen) and then calls them.
//!
//! Invariant: nothing here runs while messages come and go; a rank that computes does not answer.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{Lookout, OperationKind, Wait};
use fabric_local::Summons;
use pmi::{Asked, Control, Kind, Operation, Statement};

use crate::job::end_process;
use crate::module;

/// What the interface that a program uses knows of its calls. Asked on the stack of the rank that waits.
pub struct Witness {
    /// The call that waits and where it comes from.
    pub site: Box<dyn Fn() -> Option<Site>>,
    /// The name of the communicator of this number, if it has one.
    pub comm_name: fn(u32) -> Option<String>,
}

/// Where a program calls from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Site {
    /// The function that it calls.
    pub call: String,
    /// Where the call is.
    pub origin: Origin,
}

/// A place in a program's source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// By the address that the call returns to; 0 if unknown.
    ReturnsTo(u64),
    /// By file and line: `src/main.rs:42`.
    Line(String),
}

impl Origin {
    /// In the form that launcher and viewers understand; `None` if it is nowhere.
    pub fn spot(&self) -> Option<String> {
        match self {
            Origin::ReturnsTo(address) => module::spot(*address),
            Origin::Line(line) => Some(line.clone()),
        }
    }
}

impl Default for Origin {
    fn default() -> Origin {
        Origin::ReturnsTo(0)
    }
}

/// Where the witness of a rank is put when there is one.
pub(crate) type Stand = Rc<OnceCell<Witness>>;

/// The lookout of a rank that has a launcher.
pub(crate) struct Answers {
    rank: u32,
    control: Arc<Control>,
    witness: Stand,
    /// The last inquiry that was answered.
    answered: Cell<u32>,
    /// The quiet stretch that the rank is in, and since when.
    quiet: Cell<(u64, Instant)>,
}

impl Answers {
    pub(crate) fn new(rank: u32, control: Arc<Control>, witness: Stand) -> Answers {
        let answered = Cell::new(control.inquiry());
        Answers { rank, control, witness, answered, quiet: Cell::new((0, Instant::now())) }
    }

    fn statement(&self, wait: &Wait<'_>, inquiry: u32) -> Statement {
        let said = wait.statement();
        let site = self.witness.get().and_then(|witness| (witness.site)()).unwrap_or_default();
        let more = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let mut statement = Statement {
            rank: self.rank,
            inquiry,
            in_vain: wait.in_vain,
            polls: wait.polls,
            first_suffices: said.first_suffices,
            leaving: said.leaving,
            stretch: wait.stretch,
            quiet: u64::try_from(self.quiet.get().1.elapsed().as_millis()).unwrap_or(u64::MAX),
            call: site.call,
            site: site.origin.spot().unwrap_or_default(),
            collective: said.collective.map(collective),
            passed: said.passed.map(collective),
            awaited: said.awaited.operations.iter().map(operation).collect(),
            awaited_more: more(said.awaited.more),
            held: said.held.operations.iter().map(operation).collect(),
            held_more: more(said.held.more),
            offered: said.offered.operations.iter().map(operation).collect(),
            offered_more: more(said.offered.more),
            names: Vec::new(),
        };
        if let Some(witness) = self.witness.get() {
            statement.names = names(&statement, witness);
        }
        statement
    }
}

impl Lookout for Answers {
    fn look(&self, wait: &Wait<'_>) {
        if !self.control.is_listened_to() && self.control.asked() == Asked::LauncherGone {
            // Nobody is left to end this rank, or to read what it says.
            end_process(1);
        }
        if self.quiet.get().0 != wait.stretch {
            self.quiet.set((wait.stretch, Instant::now()));
        }
        let inquiry = self.control.inquiry();
        if wait.in_vain || inquiry != self.answered.replace(inquiry) {
            // A launcher that is gone is noticed when it is looked for.
            let _ = self.control.state(self.statement(wait, inquiry));
        }
    }
}

/// Waits for questions of the launcher's and calls the ranks of this process to answer them. Does not return.
pub(crate) fn listen(control: &Control, summons: &Summons) -> ! {
    /// A rank that was just falling asleep may miss a call.
    const CALLS: u32 = 4;
    const BETWEEN: Duration = Duration::from_millis(50);
    loop {
        match control.wait_to_be_asked() {
            Asked::Inquiry(_) => {
                for _ in 0..CALLS {
                    summons.call();
                    std::thread::sleep(BETWEEN);
                }
                summons.end();
            }
            Asked::Nothing => std::thread::sleep(BETWEEN),
            Asked::LauncherGone => end_process(1),
        }
    }
}

/// The same for ranks on a chip, whose loop looks at this flag between two turns. Does not return.
pub(crate) fn listen_for_chip(control: &Control, summoned: &AtomicBool) -> ! {
    const BETWEEN: Duration = Duration::from_millis(50);
    loop {
        match control.wait_to_be_asked() {
            Asked::Inquiry(_) => summoned.store(true, Ordering::Relaxed),
            Asked::Nothing => std::thread::sleep(BETWEEN),
            Asked::LauncherGone => end_process(1),
        }
    }
}

fn operation(said: &engine::Operation) -> Operation {
    let kind = match said.kind {
        OperationKind::Receive => Kind::Receive,
        OperationKind::Probe => Kind::Probe,
        OperationKind::Send => Kind::Send,
        OperationKind::Message => Kind::Message,
        OperationKind::Transfer => Kind::Transfer,
        OperationKind::Post => Kind::Post,
        OperationKind::Complete => Kind::Complete,
        OperationKind::Unstarted => Kind::Unstarted,
    };
    let engine::Operation { context: comm, collective, peer, peer_rank, tag, bytes, .. } = *said;
    Operation { kind, comm, collective, peer, peer_rank, tag, bytes }
}

/// The names of all communicators that a statement speaks of.
fn names(statement: &Statement, witness: &Witness) -> Vec<(u32, String)> {
    let lists = [&statement.awaited, &statement.held, &statement.offered];
    let spoken = lists.into_iter().flatten().map(|operation| operation.comm);
    let spoken = ascending(spoken.chain(statement.collective.iter().map(|in_| in_.comm)));
    spoken.into_iter().filter_map(|comm| Some((comm, (witness.comm_name)(comm)?))).collect()
}

fn collective(said: engine::Collective) -> pmi::Collective {
    pmi::Collective {
        name: said.name.into(),
        comm: said.context,
        number: said.number,
        bytes: said.bytes,
        members: runs(&said.members),
    }
}

/// Each number once, in order: as a rule they come in order.
fn ascending(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut ordered = Vec::new();
    for number in numbers {
        if let Err(free) = ordered.binary_search(&number) {
            ordered.insert(free, number);
        }
    }
    ordered
}

/// Ranks as runs of consecutive ones, in order.
fn runs(ranks: &[u32]) -> Vec<(u32, u32)> {
    let ranks = ascending(ranks.iter().copied());
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_told_as_runs_whatever_their_order() {
        assert_eq!(runs(&[5, 0, 1, 2, 4]), [(0, 2), (4, 5)]);
        assert_eq!(runs(&[]), []);
    }
}

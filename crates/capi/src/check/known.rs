//! What is known of one window: its members, its epochs, operations that are not complete, and what is to be told in the next round.
//!
//! Invariant: what is remembered is bounded ([`PENDING_MAX`], [`DONE_MAX`]), however many operations there are; what was lost is said so.

use core::ffi::c_int;
use std::rc::Rc;

use engine::{Comm, Datatype, Group};

use super::accesses::{Access, Act, Footprint, When};
use super::calls::Called;
use super::epochs::{Begun, Epochs, Held, Open};
use super::findings::{Findings, Origin};
use super::meetings::{Beginning, Lock, Report};
use super::members::Members;
use super::regions::Region;
use super::shapes::Kind;
use super::signatures::element_name;
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::process::State;

/// Operations of an epoch that are remembered.
const PENDING_MAX: usize = 4096;
/// Operations and locks of passive targets that are remembered until the next round; of more, the older half is forgotten.
const DONE_MAX: usize = 4096;

/// What is known of a window.
pub(super) struct Known {
    pub(super) context: u32,
    pub(super) me: u32,
    pub(super) group: Group,
    pub(super) made: Origin,
    pub(super) members: Members,
    pub(super) is_dynamic: bool,
    pub(super) epochs: Epochs,
    /// By target and first byte.
    #[allow(clippy::vec_box, reason = "one is put in between, and the others have to move")]
    pub(super) pending: Vec<Box<Pending>>,
    /// The longest hull there ever was of a pending operation.
    pub(super) longest: i64,
    /// Memory at the origin that is not to be touched: as `operations` knows it, and the target.
    pub(super) buffers: Vec<(u64, u32)>,
    pub(super) done: Vec<(Origin, Access)>,
    pub(super) locks: Vec<(Held, u64)>,
    pub(super) lost: bool,
    /// This rank's memory, where it can be told whether it was changed.
    pub(super) memory: Option<(usize, usize)>,
    /// What it summed up to after the last fence.
    pub(super) sum: Option<u64>,
    pub(super) stored: bool,
    pub(super) said: Vec<String>,
}

/// An operation that is not complete at its target.
pub(super) struct Pending {
    pub(super) target: u32,
    pub(super) by: Origin,
    pub(super) act: Act,
    pub(super) bytes: Footprint,
    pub(super) begun: u64,
    pub(super) request: Option<u64>,
}

impl Known {
    /// A new window, in a communicator of its own.
    pub(super) fn new(comm: &Comm, made: Origin, members: Members, memory: Option<(usize, usize)>) -> Known {
        Known {
            context: comm.context().to_bits(),
            me: comm.rank(),
            group: comm.group().clone(),
            made,
            members,
            is_dynamic: made.function.starts_with("MPI_Win_create_dynamic"),
            epochs: Epochs::default(),
            pending: Vec::new(),
            longest: 0,
            buffers: Vec::new(),
            done: Vec::new(),
            locks: Vec::new(),
            lost: false,
            memory,
            sum: None,
            stored: false,
            said: Vec::new(),
        }
    }

    /// Words for a call that the library refuses.
    pub(super) fn explain(&self, state: &State, findings: &Findings, call: &Called, code: c_int) {
        let by = call.origin;
        let made = findings.place(self.made);
        match code {
            MPI_ERR_RMA_SYNC => findings.report(state, "wrong epoch", by, || {
                let target = call
                    .arguments
                    .number("target_rank")
                    .map_or(String::new(), |target| format!(" rank {} of", target as c_int));
                format!(
                    "{}: no epoch in which this can be done with{target} the window of {made}: {}",
                    findings.place(by),
                    self.epochs.words(findings)
                )
            }),
            MPI_ERR_RMA_RANGE | MPI_ERR_DISP => {
                let Some((target, region)) = self.reached(state, call) else { return };
                findings.report(state, "outside of the window", by, || {
                    let displacement = call.arguments.number("target_disp").unwrap_or(0);
                    let member = self.members.of(target);
                    let hull = region.hull();
                    let (first, end) = (hull.start as i64, hull.end as i64);
                    if self.is_dynamic {
                        return format!(
                            "{}: bytes {first:#x} to {:#x} of rank {target} are not all attached to the window that it made by {}",
                            findings.place(by),
                            end - 1,
                            member.place
                        );
                    }
                    format!(
                        "{}: target_disp is {displacement}, which reaches bytes {first} to {} of rank {target}, expected bytes of its memory: {} bytes, a displacement being {} of them, as {} made it there",
                        findings.place(by),
                        end - 1,
                        member.bytes,
                        member.unit,
                        member.place
                    )
                });
            }
            _ => {}
        }
    }

    /// The memory at its target that an operation reaches, as if that began at address 0 where it is not attached; nothing if it has no target.
    pub(super) fn reached(&self, state: &State, call: &Called) -> Option<(u32, Region)> {
        let arguments = &call.arguments;
        let target = u32::try_from(arguments.number("target_rank")? as c_int).ok()?;
        let of = |name: &str| {
            arguments.word(name).and_then(|handle| state.types.get(MPI_Datatype(handle as usize)))
        };
        let datatype = of("target_datatype").or_else(|| of("datatype"))?.datatype.clone();
        let count = arguments.number("target_count").unwrap_or(1).max(0) as u64;
        let gives = |datatype: Datatype| {
            let count = arguments.number("origin_count").unwrap_or(1).max(0) as u64;
            count.saturating_mul(datatype.size())
        };
        // What is moved may be less than there is room for.
        let moves = of("origin_datatype").filter(|_| is_given(call)).map(|it| gives(it.datatype.clone()));
        let count = moves.map_or(count, |bytes| count.min(bytes / datatype.size().max(1)));
        let unit = if self.is_dynamic { 1 } else { self.members.of(target).unit };
        let offset = arguments.number("target_disp")?.wrapping_mul(unit);
        Some((target, Region { name: "", base: offset as usize, count, datatype, is_written: true }))
    }

    /// Remembers an operation, with the one that is the same as it if there is one.
    pub(super) fn add(&mut self, pending: Pending, same: Option<usize>) {
        if let Some(before) = same {
            self.pending[before].begun = pending.begun;
            return;
        }
        if let Some(last) = self.pending.last_mut()
            && (last.target, last.by, &last.act) == (pending.target, pending.by, &pending.act)
            && (last.request, pending.request) == (None, None)
            && last.bytes.extend(&pending.bytes)
        {
            let hull = last.bytes.hull();
            // The last of them: nothing that one of them did not meet is said to have met all.
            last.begun = pending.begun;
            self.longest = self.longest.max(hull.end - hull.start);
            return;
        }
        if self.pending.len() >= PENDING_MAX {
            self.lost = true;
            return;
        }
        let hull = pending.bytes.hull();
        self.longest = self.longest.max(hull.end - hull.start);
        let at = self.first_from(pending.target, hull.start + 1);
        self.pending.insert(at, Box::new(pending));
    }

    /// The first pending operation at a target that begins there or later.
    pub(super) fn first_from(&self, target: u32, start: i64) -> usize {
        self.pending.partition_point(|other| (other.target, other.bytes.hull().start) < (target, start))
    }

    /// Some operations are complete at their target, which is passive.
    pub(super) fn finish(&mut self, time: u64, is_done: &dyn Fn(&Pending) -> bool) {
        for pending in std::mem::take(&mut self.pending) {
            if !is_done(&pending) {
                self.pending.push(pending);
                continue;
            }
            if self.done.len() >= DONE_MAX {
                self.done.drain(..DONE_MAX / 2);
                self.lost = true;
            }
            let when = When::Between(pending.begun, time);
            self.done.push((pending.by, pending.access(when)));
        }
    }

    pub(super) fn keep_lock(&mut self, held: Option<Held>, time: u64) {
        if self.locks.len() >= DONE_MAX {
            self.locks.drain(..DONE_MAX / 2);
        }
        self.locks.extend(held.map(|held| (held, time)));
    }

    /// What is told in a round, which is then forgotten here.
    pub(super) fn report(&mut self, findings: &Findings, by: Origin, assert: i64) -> Report {
        let text = |origin: Origin| -> Rc<str> { findings.place(origin).into() };
        let mut accesses: Vec<(Rc<str>, Access)> = Vec::new();
        for pending in std::mem::take(&mut self.pending) {
            accesses.push((text(pending.by), pending.access(When::Epoch)));
        }
        accesses.extend(self.done.drain(..).map(|(by, access)| (text(by), access)));
        let locks = self.locks.drain(..).map(|(held, to)| Lock {
            place: text(held.begun.by),
            target: held.target,
            is_exclusive: held.is_exclusive,
            unchecked: held.begun.assert & i64::from(MPI_MODE_NOCHECK) != 0,
            from: held.begun.time,
            to,
        });
        let locks = locks.collect();
        Report {
            place: text(by),
            function: by.function.to_owned(),
            assert,
            beginning: match &self.epochs.access {
                Open::Fence(begun) => Some(beginning(findings, begun)),
                _ => None,
            },
            stored: self.stored,
            lost: std::mem::take(&mut self.lost),
            accesses,
            locks,
        }
    }

    /// The ranks in the window of the members of a call's group.
    pub(super) fn members_of(&self, state: &State, call: &Called) -> Vec<u32> {
        let group =
            call.arguments.word("group").and_then(|handle| state.groups.get(MPI_Group(handle as usize)));
        group.map_or(Vec::new(), |group| group.nodes().filter_map(|node| self.group.rank_of(node)).collect())
    }

    /// Bytes, for a sentence.
    pub(super) fn span(&self, bytes: &std::ops::Range<i64>) -> String {
        let (first, last) = (bytes.start, bytes.end - 1);
        if self.is_dynamic {
            format!("bytes {first:#x} to {last:#x}")
        } else {
            format!("bytes {first} to {last}")
        }
    }
}

impl Pending {
    pub(super) fn access(&self, when: When) -> Access {
        Access { target: self.target, act: self.act.clone(), bytes: self.bytes.clone(), when }
    }
}

pub(super) fn beginning(findings: &Findings, begun: &Begun) -> Beginning {
    Beginning { place: findings.place(begun.by).into(), time: begun.time, assert: begun.assert }
}

/// Whether data of the origin is moved, and not only that of the target.
fn is_given(call: &Called) -> bool {
    let no_op = call.arguments.word("op") == Some(MPI_NO_OP.0 as u64);
    !no_op && !matches!(call.origin.function, "MPI_Get" | "MPI_Get_c" | "MPI_Rget" | "MPI_Rget_c")
}

/// The window that a call is about: its handle.
pub(super) fn window_of(call: &Called) -> Option<u64> {
    let freed = call.given.first().filter(|given| given.param.kind == Kind::Win).map(|given| given.before);
    let by_value = || call.arguments.word("win");
    freed.or_else(by_value).filter(|_| !call.origin.function.starts_with("MPI_Win_create"))
}

pub(super) fn assertion(call: &Called) -> i64 {
    call.arguments.number("assert").map_or(0, |assert| i64::from(assert as c_int))
}

/// What a call does at its target; nothing if it is no operation.
pub(super) fn act_of(state: &State, call: &Called) -> Option<Act> {
    let function = call.origin.function.strip_suffix("_c").unwrap_or(call.origin.function);
    let element = || {
        let handle = call.arguments.word("target_datatype").or_else(|| call.arguments.word("datatype"))?;
        state.types.get(MPI_Datatype(handle as usize))?.datatype.element().map(element_name)
    };
    let element = || Rc::from(element().unwrap_or_default());
    Some(match function {
        "MPI_Put" | "MPI_Rput" => Act::Put,
        "MPI_Get" | "MPI_Rget" => Act::Get,
        "MPI_Compare_and_swap" => Act::Swap { element: element() },
        "MPI_Accumulate"
        | "MPI_Raccumulate"
        | "MPI_Get_accumulate"
        | "MPI_Rget_accumulate"
        | "MPI_Fetch_and_op" => Act::Accumulate { op: call.arguments.word("op")?, element: element() },
        _ => return None,
    })
}

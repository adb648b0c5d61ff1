//! Windows (MPI chapter 12): one-sided operations that meet at their target, memory of operations that are not complete, assertions that are not true; and for what
//! the library refuses, whose window it was and which epochs are open.
//!
//! Operations of one origin are compared when they begin. For those of different origins there is a round in which the members tell what they did: after a fence
//! and before the window is freed they tell the first member, at the end of an epoch of groups the origins tell the target ([`meetings`](super::meetings)). In all
//! of these calls members wait for each other anyway, and they tell only what has happened, so a program that is right cannot tell.
//!
//! Invariant: what is remembered of a window is bounded ([`known`](super::known), [`BUFFERS_MAX`]), however many operations there are.

use core::ffi::c_int;
use std::cell::{Cell, RefCell};

use engine::{Source, TagMatch};

use super::accesses::{Act, Footprint, When};
use super::book::Book;
use super::calls::Called;
use super::collectives::op_name;
use super::epochs::{Begun, Exposure, Held, Open};
use super::findings::{Findings, Origin};
use super::known::{Known, Pending, act_of, assertion, beginning, window_of};
use super::letters::{Letters, Subject, WINDOW_GROUP, WINDOW_MADE, WINDOW_ROUND};
use super::meetings::{self, Report};
use super::members::{Member, Members};
use super::operations::Operations;
use super::regions;
use super::shapes::Kind;
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::Window;
use crate::process::State;

/// The windows of a process.
#[derive(Default)]
pub(super) struct Windows {
    known: RefCell<Book<u64, Known>>,
    /// The windows of requests.
    requests: RefCell<Book<u64, u64>>,
    /// Tells sentences apart.
    said: Cell<u64>,
}

/// Operations of an epoch whose memory at the origin is watched.
const BUFFERS_MAX: usize = 1024;
/// Sentences about a window.
const SAID_MAX: usize = 50;

impl Windows {
    /// A call begins: when, if it is about a window. Members tell of their operations before they free one.
    pub(super) fn begin(
        &self,
        state: &State,
        findings: &Findings,
        letters: &Letters,
        call: &Called,
    ) -> Option<u64> {
        let handle = window_of(call)?;
        let now = state.rank().fabric().now();
        match call.origin.function {
            "MPI_Win_fence" => {
                let no_store = assertion(call) & i64::from(MPI_MODE_NOSTORE) != 0;
                let mut known = self.known.borrow_mut();
                // Another window may have the same memory, and be the way by which it was changed.
                let is_only = known.iter().count() == 1;
                if let Some(known) = known.get_mut(handle).filter(|_| no_store && is_only) {
                    let sum = known.memory.map(|(base, bytes)| regions::sum_of_shared(base, bytes));
                    known.stored = known.sum.is_some() && known.sum != sum;
                }
            }
            "MPI_Win_free" => {
                let window = state.windows.get(MPI_Win(handle as usize))?;
                if state.rank().may_free_window(window.inner()).is_ok() {
                    self.look_for_unfinished(state, findings, handle, call.origin);
                    self.round(state, findings, letters, (handle, now), call);
                }
            }
            _ => {}
        }
        Some(now)
    }

    /// A call has done what it should.
    pub(super) fn end(
        &self,
        state: &State,
        findings: &Findings,
        letters: &Letters,
        operations: &Operations,
        call: &Called,
    ) {
        let by = call.origin;
        let function = by.function.strip_suffix("_c").unwrap_or(by.function);
        if function.starts_with("MPI_Win_create") || function.starts_with("MPI_Win_allocate") {
            return self.made(state, findings, letters, call);
        }
        let (Some(handle), Some(time)) = (window_of(call), call.entered) else { return };
        let target = call.arguments.number("rank").and_then(|rank| u32::try_from(rank as i32).ok());
        let complete = |which: Option<u32>, only_here: bool| {
            self.complete(state, findings, operations, handle, (which, only_here), (by, time));
        };
        match function {
            "MPI_Win_fence" => {
                complete(None, true);
                self.round(state, findings, letters, (handle, time), call);
                self.with(handle, |known| {
                    let begun = Begun { by, time, assert: assertion(call) };
                    known.epochs.access = if begun.assert & i64::from(MPI_MODE_NOSUCCEED) == 0 {
                        Open::Fence(begun)
                    } else {
                        known.epochs.end(by);
                        Open::Nothing
                    };
                    known.sum = known.memory.map(|(base, bytes)| regions::sum_of_shared(base, bytes));
                    known.stored = false;
                });
            }
            "MPI_Win_start" => self.change(handle, |known| {
                let members = known.members_of(state, call);
                known.epochs.access = Open::Group(Begun { by, time, assert: assertion(call) }, members);
            }),
            "MPI_Win_complete" => {
                complete(None, true);
                self.tell_targets(state, findings, letters, handle, by);
            }
            "MPI_Win_post" => self.change(handle, |known| {
                let members = known.members_of(state, call);
                let begun = Begun { by, time, assert: assertion(call) };
                known.epochs.exposure = Some(Exposure { begun, members });
            }),
            "MPI_Win_wait" => self.hear_origins(state, findings, letters, handle),
            "MPI_Win_test" if super::signatures::flag_is_set(call) => {
                self.hear_origins(state, findings, letters, handle);
            }
            "MPI_Win_lock" | "MPI_Win_lock_all" => self.change(handle, |known| {
                let info = |window: Window| window.info.get("no_locks");
                if state.windows.get(MPI_Win(handle as usize)).and_then(info).is_some_and(|value| value == "true") {
                    findings.report(state, "false hint", by, || {
                        let (place, made) = (findings.place(by), findings.place(known.made));
                        format!("{place}: the info of the window of {made} says no_locks, expected no locks (MPI 5.0, 12.2.1)")
                    });
                }
                // From when on it is held: what was before is not known.
                let time = state.rank().fabric().now();
                let begun = Begun { by, time, assert: assertion(call) };
                let lock_type = call.arguments.number("lock_type").map(|lock_type| lock_type as c_int);
                let held = Held { begun, target, is_exclusive: lock_type == Some(MPI_LOCK_EXCLUSIVE) };
                if lock_type.is_some() {
                    known.epochs.lock(held);
                } else {
                    known.epochs.access = Open::All(held);
                }
            }),
            "MPI_Win_unlock" => {
                complete(Some(target.unwrap_or(u32::MAX)), false);
                self.with(handle, |known| {
                    let held = known.epochs.unlock(target, by).filter(|held| held.target.is_some());
                    known.keep_lock(held, time);
                });
            }
            "MPI_Win_unlock_all" => {
                complete(None, false);
                self.with(handle, |known| {
                    let open = known.epochs.end(by);
                    known.keep_lock(if let Open::All(held) = open { Some(held) } else { None }, time);
                });
            }
            "MPI_Win_flush" => complete(Some(target.unwrap_or(u32::MAX)), false),
            "MPI_Win_flush_all" => complete(None, false),
            "MPI_Win_flush_local" => complete(Some(target.unwrap_or(u32::MAX)), true),
            "MPI_Win_flush_local_all" => complete(None, true),
            "MPI_Win_free" => {
                let context = self.known.borrow().get(handle).map(|known| known.context);
                self.known.borrow_mut().remove(handle);
                if let Some(context) = context {
                    letters.forget(state, context);
                }
            }
            _ => self.issued(state, findings, operations, handle, call, time),
        }
    }

    /// A request of a one-sided operation is done: what a get has read, it has read.
    pub(super) fn request_is_done(&self, state: &State, request: u64) {
        let Some(handle) = self.requests.borrow().get(request).copied() else { return };
        self.requests.borrow_mut().remove(request);
        self.change(handle, |known| {
            known.buffers.retain(|(key, _)| *key != request);
            let now = state.rank().fabric().now();
            known.finish(now, &|pending| pending.request == Some(request) && pending.act != Act::Put);
        });
    }

    /// Words for a call that the library refuses.
    pub(super) fn explain(&self, state: &State, findings: &Findings, call: &Called, code: c_int) {
        let all = self.known.borrow();
        if let Some(known) = window_of(call).and_then(|handle| all.get(handle)) {
            known.explain(state, findings, call, code);
        }
    }

    /// Before all ranks take leave of each other: members of windows that were never freed tell what they did.
    pub(super) fn tell_the_rest(&self, state: &State, findings: &Findings, letters: &Letters) {
        let now = state.rank().fabric().now();
        let by = Origin { function: "MPI_Finalize", site: 0 };
        let mut told = Vec::new();
        for (_, known) in self.known.borrow_mut().iter_mut().filter(|(_, known)| known.me != 0) {
            if known.epochs.is_passive() {
                known.finish(now, &|_| true);
            }
            told.push((known.context, known.report(findings, by, 0)));
        }
        for (context, report) in told {
            letters.write(state, context, Subject::Collectives, (0, WINDOW_ROUND), report.encode());
        }
    }

    /// After that: what the first member can say of it.
    pub(super) fn hear_the_rest(&self, state: &State, findings: &Findings, letters: &Letters) {
        let handles: Vec<u64> = self.known.borrow().iter().map(|(handle, _)| *handle).collect();
        let by = Origin { function: "MPI_Finalize", site: 0 };
        for handle in handles {
            let Some((context, me, report)) = self.with(handle, |known| {
                known.finish(state.rank().fabric().now(), &|_| true);
                (known.context, known.me, known.report(findings, by, 0))
            }) else {
                continue;
            };
            if me != 0 {
                continue;
            }
            let mut reports = vec![(0, report)];
            let about = (context, Subject::Collectives);
            while let Some((from, _, bytes)) =
                letters.receive(state, about, Source::Any, TagMatch::Is(WINDOW_ROUND), false)
            {
                reports.extend(Report::decode(&bytes).map(|report| (from, report)));
            }
            self.say_meetings(state, findings, handle, &reports);
        }
    }

    fn change(&self, handle: u64, act: impl FnOnce(&mut Known)) {
        self.with(handle, act);
    }

    fn with<T>(&self, handle: u64, act: impl FnOnce(&mut Known) -> T) -> Option<T> {
        self.known.borrow_mut().get_mut(handle).map(act)
    }

    /// The members of a new window tell each other what they have brought, and where they made it.
    fn made(&self, state: &State, findings: &Findings, letters: &Letters, call: &Called) {
        let Some((param, word)) = call.arguments.iter().find(|(param, _)| param.kind == Kind::Win) else {
            return;
        };
        let Some(handle) = call.written(param, word) else { return };
        let Some(window) = state.windows.get(MPI_Win(handle as usize)) else { return };
        let number = |name| call.arguments.number(name);
        let (bytes, unit) = (number("size").unwrap_or(0), number("disp_unit").unwrap_or(1));
        let (me, size) = (window.comm.rank(), window.comm.size());
        let context = window.comm.context().to_bits();
        letters.watch(&window.comm, Subject::Collectives);
        let own = Member { bytes, unit, place: findings.place(call.origin).into() };
        let receive = |from| {
            let about = (context, Subject::Collectives);
            letters.receive(state, about, Source::Rank(from), TagMatch::Is(WINDOW_MADE), true)
        };
        let send = |to, bytes| letters.write(state, context, Subject::Collectives, (to, WINDOW_MADE), bytes);
        let members = if me == 0 {
            let mut members = Members::default();
            members.add(own);
            for from in 1..size {
                let told = receive(from).and_then(|(_, _, bytes)| Members::decode(&bytes));
                members.add(told.map_or_else(Member::unknown, |told| told.of(0)));
            }
            let all = members.encode();
            (1..size).for_each(|to| send(to, all.clone()));
            members
        } else {
            let mut mine = Members::default();
            mine.add(own);
            send(0, mine.encode());
            receive(0).and_then(|(_, _, bytes)| Members::decode(&bytes)).unwrap_or_default()
        };
        let hinted = |hint: &str| window.info.get(hint).is_some_and(|value| value == "true");
        for (hint, of, unit) in [
            ("same_size", (|member| member.bytes) as fn(Member) -> i64, "bytes"),
            ("same_disp_unit", |member| member.unit, "bytes a displacement"),
        ] {
            let differs = || members.find_other(of).filter(|_| hinted(hint));
            if let Some(other) = differs() {
                findings.report(state, "false hint", call.origin, || {
                    format!(
                        "{}: info says {hint}, but rank 0 has {} {unit} and rank {other} has {} (MPI 5.0, 12.2.1)",
                        findings.place(call.origin),
                        of(members.of(0)),
                        of(members.of(other))
                    )
                });
            }
        }
        let base = call.arguments.word("base").filter(|base| *base != 0 && bytes > 0);
        // Others may store to what was allocated for all.
        let memory = base.map(|base| (base as usize, bytes as usize));
        let known = Known::new(&window.comm, call.origin, members, memory);
        self.known.borrow_mut().insert(handle, known);
    }

    /// An operation has begun: says so if it meets one of this rank's that is not complete.
    fn issued(
        &self,
        state: &State,
        findings: &Findings,
        operations: &Operations,
        handle: u64,
        call: &Called,
        time: u64,
    ) {
        let Some(act) = act_of(state, call) else { return };
        let by = call.origin;
        let request = call.arguments.iter().find(|(param, _)| param.kind == Kind::Request);
        let request = request.and_then(|(param, word)| call.written(param, word));
        if let Some(request) = request {
            self.requests.borrow_mut().insert(request, handle);
        }
        let mut all = self.known.borrow_mut();
        let Some(known) = all.get_mut(handle) else { return };
        let Some((target, region)) = known.reached(state, call) else { return };
        if known.buffers.len() < BUFFERS_MAX
            && let Some(key) = request.or_else(|| operations.one_sided(call))
        {
            known.buffers.push((key, target));
        }
        let Some(bytes) = Footprint::of(&region) else {
            known.lost |= region.bytes() > 0;
            return;
        };
        let hull = bytes.hull();
        let first = known.first_from(target, hull.start - known.longest);
        let (mut same, mut found) = (None, None);
        for (at, other) in known.pending.iter().enumerate().skip(first) {
            if other.target != target || other.bytes.hull().start >= hull.end {
                break;
            }
            if (other.by, &other.act, &other.bytes, other.request) == (by, &act, &bytes, request) {
                same = Some(at);
            }
            if found.is_none()
                && let Some(rule) = other.act.forbids(&act, true)
                && let Some(common) = other.bytes.overlap(&bytes)
            {
                found = Some((rule, common, other.by, other.act.verb(op_name)));
            }
        }
        if let Some((rule, common, before, verb)) = found {
            findings.report(state, "conflicting accesses", by, || {
                format!(
                    "{}: {} of rank {target} in the window of {} are reached twice in one epoch: this call {} them, and {} {verb} them and is not complete; {}",
                    findings.place(by),
                    known.span(&common),
                    findings.place(known.made),
                    act.verb(op_name),
                    findings.place(before),
                    rule.sentence()
                )
            });
        }
        known.add(Pending { target, by, act, bytes, begun: time, request }, same);
    }

    /// Operations are complete at a target, or at all; or only as far as their origin is concerned.
    fn complete(
        &self,
        state: &State,
        findings: &Findings,
        operations: &Operations,
        handle: u64,
        (which, only_here): (Option<u32>, bool),
        (by, time): (Origin, u64),
    ) {
        let mut keys = Vec::new();
        self.with(handle, |known| {
            let is_meant = |target: u32| which.is_none_or(|which| which == target);
            known.buffers.retain(|(key, target)| {
                if is_meant(*target) {
                    keys.push(*key);
                }
                !is_meant(*target)
            });
            if known.epochs.is_passive() {
                known.finish(time, &|pending| {
                    is_meant(pending.target) && (!only_here || pending.act == Act::Get)
                });
            }
        });
        for key in keys {
            operations.complete_here(state, findings, key, by);
        }
    }

    /// Says so if operations were never completed by a fence.
    fn look_for_unfinished(&self, state: &State, findings: &Findings, handle: u64, by: Origin) {
        let all = self.known.borrow();
        let Some(known) = all.get(handle) else { return };
        let Open::Fence(begun) = &known.epochs.access else { return };
        let Some(first) = known.pending.iter().map(|pending| pending.by).min() else { return };
        findings.report(state, "epoch left open", by, || {
            format!(
                "{}: operations in the epoch of {} are not complete, {} was the first, expected MPI_Win_fence before (MPI 5.0, 12.2.5)",
                findings.place(by),
                findings.place(begun.by),
                findings.place(first)
            )
        });
    }

    /// The members tell the first one what they have done since the last round.
    fn round(
        &self,
        state: &State,
        findings: &Findings,
        letters: &Letters,
        (handle, time): (u64, u64),
        call: &Called,
    ) {
        let by = call.origin;
        let is_fence = by.function == "MPI_Win_fence";
        let assert = assertion(call);
        let told = self.with(handle, |known| {
            if is_fence && assert & i64::from(MPI_MODE_NOPRECEDE) != 0
                && let Some(first) = known.pending.first()
            {
                findings.report(state, "false assertion", by, || {
                    format!(
                        "{}: MPI_MODE_NOPRECEDE is asserted, but {} is an operation in the epoch that this ends (MPI 5.0, 12.5.5)",
                        findings.place(by),
                        findings.place(first.by)
                    )
                });
            }
            if !is_fence {
                known.finish(time, &|_| true);
            }
            (known.context, known.me, known.members.len(), known.report(findings, by, assert))
        });
        let Some((context, me, members, report)) = told else { return };
        if members < 2 {
            return;
        }
        if me != 0 {
            return letters.write(state, context, Subject::Collectives, (0, WINDOW_ROUND), report.encode());
        }
        let mut reports = vec![(0, report)];
        for from in 1..members {
            let about = (context, Subject::Collectives);
            let told = letters.receive(state, about, Source::Rank(from), TagMatch::Is(WINDOW_ROUND), true);
            let Some(report) = told.and_then(|(_, _, bytes)| Report::decode(&bytes)) else { return };
            reports.push((from, report));
        }
        // One fences, another frees: a hang, which is reported as such where it is one.
        if reports.iter().any(|(_, report)| report.function != by.function) {
            return;
        }
        self.say_meetings(state, findings, handle, &reports);
        if is_fence {
            for sentence in meetings::false_at_fence(&reports) {
                self.say(state, findings, handle, sentence);
            }
        }
        if let Some(sentence) = meetings::locks_that_met(&reports) {
            self.say(state, findings, handle, sentence);
        }
    }

    /// The epoch of a group ends at an origin, which tells its targets what it did.
    fn tell_targets(&self, state: &State, findings: &Findings, letters: &Letters, handle: u64, by: Origin) {
        let told = self.with(handle, |known| {
            let mut reports = Vec::new();
            if let Open::Group(begun, members) = known.epochs.end(by) {
                let pending = std::mem::take(&mut known.pending);
                for target in members {
                    let here = pending.iter().filter(|pending| pending.target == target);
                    let accesses = here.map(|it| (findings.place(it.by).into(), it.access(When::Epoch)));
                    let report = Report {
                        place: findings.place(by).into(),
                        beginning: Some(beginning(findings, &begun)),
                        accesses: accesses.collect(),
                        ..Report::default()
                    };
                    reports.push((target, report.encode()));
                }
            }
            (known.context, reports)
        });
        let Some((context, reports)) = told else { return };
        for (target, letter) in reports {
            letters.write(state, context, Subject::Collectives, (target, WINDOW_GROUP), letter);
        }
    }

    /// The epoch of a group ends at a target, which hears from its origins.
    fn hear_origins(&self, state: &State, findings: &Findings, letters: &Letters, handle: u64) {
        let exposure = self.with(handle, |known| (known.context, known.me, known.epochs.exposure.take()));
        let Some((context, me, Some(exposure))) = exposure else { return };
        let mut reports = Vec::new();
        for origin in exposure.members {
            let about = (context, Subject::Collectives);
            let told = letters.receive(state, about, Source::Rank(origin), TagMatch::Is(WINDOW_GROUP), true);
            reports.extend(told.and_then(|(_, _, bytes)| Report::decode(&bytes)).map(|it| (origin, it)));
        }
        self.say_meetings(state, findings, handle, &reports);
        for sentence in meetings::false_at_group(me, &beginning(findings, &exposure.begun), &reports) {
            self.say(state, findings, handle, sentence);
        }
    }

    fn say_meetings(&self, state: &State, findings: &Findings, handle: u64, reports: &[(u32, Report)]) {
        for meeting in meetings::meetings(reports) {
            let (origin, place, first) = meeting.first;
            let (other, beside, second) = meeting.second;
            let window = self.with(handle, |known| {
                format!(
                    "{} of rank {} in the window of {}",
                    known.span(&meeting.common),
                    first.target,
                    findings.place(known.made)
                )
            });
            let Some(window) = window else { return };
            let sentence = format!(
                "{window} are reached by two ranks at once: rank {origin} {} them by {place}, rank {other} {} them by {beside}; {}",
                first.act.verb(op_name),
                second.act.verb(op_name),
                meeting.rule.sentence()
            );
            // The same two calls meet in every round of a loop, perhaps elsewhere.
            let pair = format!("{place} {beside}");
            self.say_once(state, findings, handle, pair, sentence);
        }
    }

    fn say(&self, state: &State, findings: &Findings, handle: u64, sentence: String) {
        self.say_once(state, findings, handle, sentence.clone(), sentence);
    }

    fn say_once(&self, state: &State, findings: &Findings, handle: u64, key: String, sentence: String) {
        let is_new = self.with(handle, |known| {
            let is_new = known.said.len() < SAID_MAX && !known.said.contains(&key);
            if is_new {
                known.said.push(key);
            }
            is_new
        });
        if is_new == Some(true) {
            self.said.set(self.said.get() + 1);
            let origin = Origin { function: "a window", site: self.said.get() };
            findings.report(state, "one-sided", origin, || sentence);
        }
    }
}

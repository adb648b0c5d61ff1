//! The checks of one process together: what each is told of a call, and in which order.

use core::ffi::c_int;
use std::cell::RefCell;

use super::buffers;
use super::calls::{Called, is_template};
use super::collectives::Collectives;
use super::findings::{Findings, Origin};
use super::letters::Letters;
use super::objects::Objects;
use super::operations::Operations;
use super::shapes::{Arguments, Direction, Kind, Shapes};
use super::signatures::{Signatures, flag_is_set};
use super::threads::{Threads, token};
use super::windows::Windows;
use crate::abi::constants::*;
use crate::abi::types::*;
use crate::process::site::stack_pointer;
use crate::process::{Leave, State, Watch};

/// Who looks for misuse in one process.
pub(crate) struct Check {
    shapes: Shapes,
    findings: Findings,
    threads: Threads,
    objects: Objects,
    operations: Operations,
    letters: Letters,
    collectives: Collectives,
    signatures: Signatures,
    windows: Windows,
    /// The calls that have not returned, of each thread the innermost last.
    calls: RefCell<Vec<Begun>>,
}

/// A call that has not returned.
struct Begun {
    /// The thread that calls.
    thread: usize,
    /// How far down the stack it came.
    depth: usize,
    /// Nothing if all has been seen of it already.
    call: Option<Called>,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            shapes: Shapes::read(),
            findings: Findings::default(),
            threads: Threads::default(),
            objects: Objects::default(),
            operations: Operations::default(),
            letters: Letters::default(),
            collectives: Collectives::default(),
            signatures: Signatures::default(),
            windows: Windows::default(),
            calls: RefCell::default(),
        }
    }
}

impl Watch for Check {
    fn enter(&self, state: &State, function: &'static str, site: u64, words: &[u64]) {
        let origin = Origin { function, site };
        if !self.threads.enter(state, &self.findings, origin) {
            return;
        }
        let mut call = Called::new(origin, Arguments::new(self.shapes.of(function), words));
        self.look_at_handles(state, &call);
        call.regions = buffers::regions(state, &call);
        // A persistent operation owns its memory from MPI_Start on.
        if !is_template(function) {
            self.operations.look_for_overlaps(state, &self.findings, &call.regions, origin);
        }
        if matches!(function, "MPI_Start" | "MPI_Startall") {
            for given in call.given.iter().filter(|given| given.param.kind == Kind::Request) {
                self.operations.starts(state, &self.findings, given.before, origin);
            }
        }
        if matches!(function, "MPI_Comm_free" | "MPI_Comm_disconnect") {
            let freed = call.comm().and_then(|handle| state.comms.get(MPI_Comm(handle)));
            call.frees = freed.map(|comm| comm.comm.context().to_bits());
        }
        call.collective = self.collectives.begin(state, &self.findings, &self.letters, &call);
        if matches!(function, "MPI_Wait" | "MPI_Waitall") {
            let awaited = call.given.iter().filter_map(|given| self.operations.collective(given.before));
            for (context, number) in awaited.collect::<Vec<_>>() {
                self.collectives.catch_up(state, &self.findings, &self.letters, context, number);
            }
        }
        call.receive = self.signatures.begin(state, &self.findings, &self.letters, &self.operations, &call);
        call.entered = self.windows.begin(state, &self.findings, &self.letters, &call);
        let depth = stack_pointer!();
        let mut calls = self.calls.borrow_mut();
        let thread = token();
        // What lies no higher on the stack was left by an exception or by longjmp.
        calls.retain(|outer| outer.thread != thread || outer.depth == 0 || outer.depth > depth);
        calls.push(Begun { thread, depth, call: Some(call) });
    }

    fn fail(&self, state: &State, code: c_int) {
        if !self.threads.is_inside(state) {
            return;
        }
        let thread = token();
        let mut calls = self.calls.borrow_mut();
        let begun = calls.iter_mut().rfind(|begun| begun.thread == thread);
        let call = begun.and_then(|begun| begun.call.take());
        drop(calls);
        if let Some(call) = call {
            self.conclude(state, call, code);
        }
    }

    fn explain(&self, state: &State, code: c_int) {
        if !self.threads.is_inside(state) {
            return;
        }
        let (thread, calls) = (token(), self.calls.borrow());
        let begun = calls.iter().rfind(|begun| begun.thread == thread);
        let Some(call) = begun.and_then(|begun| begun.call.as_ref()) else { return };
        self.windows.explain(state, &self.findings, call, code);
        let requests = call.given.iter().filter(|given| given.param.kind == Kind::Request);
        let failed: Vec<_> = requests
            .filter_map(|given| self.operations.collective(given.before))
            .chain(call.collective)
            .collect();
        drop(calls);
        for failed in failed {
            self.collectives.failed(state, &self.findings, &self.letters, failed);
        }
    }

    fn leave(&self, state: &State, code: c_int) {
        if !self.threads.is_inside(state) {
            return;
        }
        let Some(begun) = self.pop() else { return };
        if let Some(call) = begun.call {
            self.conclude(state, call, code);
        }
        if self.calls.borrow().is_empty() {
            self.threads.leave();
        }
    }

    /// Nothing but objects comes and goes there.
    fn enter_at_any_time<'a>(
        &'a self,
        state: &State,
        function: &'static str,
        site: u64,
        words: &[u64],
    ) -> Leave<'a> {
        let call = Called::new(Origin { function, site }, Arguments::new(self.shapes.of(function), words));
        self.look_at_handles(state, &call);
        Box::new(move |code| self.leave_at_any_time(&call, code))
    }

    fn at_the_end(&self, state: &State) {
        self.windows.tell_the_rest(state, &self.findings, &self.letters);
        self.letters.part(state);
        self.windows.hear_the_rest(state, &self.findings, &self.letters);
        self.collectives.finish(state, &self.findings, &self.letters);
        self.signatures.finish(state, &self.findings, &self.letters);
        self.letters.take_the_rest(state);
        self.operations.left(state, &self.findings);
        self.objects.leaked(state, &self.findings);
        self.findings.sum_up(state);
    }
}

impl Check {
    /// The innermost call of the calling thread.
    fn pop(&self) -> Option<Begun> {
        let (thread, mut calls) = (token(), self.calls.borrow_mut());
        let at = calls.iter().rposition(|begun| begun.thread == thread)?;
        Some(calls.remove(at))
    }

    fn leave_at_any_time(&self, call: &Called, code: c_int) {
        self.look_at_ends(call);
        if code == MPI_SUCCESS {
            for (param, word) in call.arguments.iter() {
                if let Some(handle) = call.written(param, word) {
                    self.objects.made(param.kind, handle, call.origin);
                }
            }
        }
    }

    /// Objects that a call has made null.
    fn look_at_ends(&self, call: &Called) {
        for given in call.given.iter().filter(|given| given.param.kind != Kind::Request) {
            if given.now() != given.before {
                self.objects.freed(given.param.kind, given.before, call.origin);
            }
        }
    }

    /// What has become of a call's arguments.
    fn conclude(&self, state: &State, call: Called, code: c_int) {
        let by = call.origin;
        self.signatures.end(state, &self.findings, &self.letters, &self.operations, &call, code);
        for given in call.given.iter().filter(|given| given.param.kind == Kind::Request) {
            let fate = (given.before, given.now());
            if self.operations.settled(state, &self.findings, &self.objects, fate, by) {
                self.windows.request_is_done(state, given.before);
            }
        }
        self.look_at_ends(&call);
        if let Some(context) = call.frees.filter(|_| code == MPI_SUCCESS)
            && self.collectives.freed(&self.letters, context)
        {
            self.forget(state, context);
        }
        if call.collective.is_some() {
            let closed = self.collectives.closed(state, &self.findings, &self.letters);
            closed.into_iter().for_each(|context| self.forget(state, context));
        }
        if code == MPI_SUCCESS {
            for (param, word) in call.arguments.iter() {
                match call.written(param, word) {
                    Some(request) if param.kind == Kind::Request => {
                        self.operations.made(state, &call, word, request);
                    }
                    // A matched probe that finds nothing leaves what was there before.
                    Some(_) if param.kind == Kind::Message && !flag_is_set(&call) => {}
                    Some(handle) => {
                        self.objects.made(param.kind, handle, by);
                        if param.kind == Kind::Comm {
                            self.letters.name(state, handle, by);
                        }
                    }
                    None => {}
                }
            }
            self.windows.end(state, &self.findings, &self.letters, &self.operations, &call);
        }
    }

    /// A communicator is gone, and nothing is known of it that will be asked for again; unless messages of it are.
    fn forget(&self, state: &State, context: u32) {
        if !self.signatures.is_about(context) && self.letters.forget(state, context) {
            self.signatures.forget(context);
        }
    }

    /// Handles of objects that are gone, and datatypes that are not ready.
    fn look_at_handles(&self, state: &State, call: &Called) {
        let by = call.origin;
        let communicates = call.arguments.comm().is_some();
        for (param, word) in call.arguments.iter() {
            if param.direction != Direction::In || param.is_array {
                continue;
            }
            self.objects.used(state, &self.findings, (param.kind, word), param.name, by);
            if param.kind == Kind::Datatype && communicates && !is_about_types(by.function) {
                self.look_for_commit(state, call, param.name, word);
            }
        }
        for given in &call.given {
            self.objects.used(state, &self.findings, (given.param.kind, given.before), given.param.name, by);
        }
    }

    fn look_for_commit(&self, state: &State, call: &Called, name: &str, word: u64) {
        let Some(datatype) = state.types.get(MPI_Datatype(word as usize)) else { return };
        if datatype.is_committed() {
            return;
        }
        let by = call.origin;
        self.findings.report(state, "uncommitted datatype", by, || {
            let made = self.objects.origin(Kind::Datatype, word);
            let made =
                made.map_or(String::new(), |made| format!(", which {} made,", self.findings.place(made)));
            let place = self.findings.place(by);
            format!("{place}: {name}{made} is not committed, expected MPI_Type_commit before communication")
        });
    }
}

/// Functions that take a communicator and a datatype and communicate nothing.
fn is_about_types(function: &str) -> bool {
    ["MPI_Pack", "MPI_Unpack", "MPI_Type_"].iter().any(|start| function.starts_with(start))
}

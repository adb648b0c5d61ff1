//! Chapter 3: completing requests.
//!
//! A request's handle is the engine's own number for it, so that starting and completing an operation touches no table here.

use core::ffi::c_int;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use engine::{Error, Found, RequestId, State as Progress, Status};
use smallvec::SmallVec;

use crate::call::Call;
use crate::convert::{Out, Outs, StatusOut, StatusesOut};
use crate::errors::{Fault, Outcome};
use crate::r#gen::constants::*;
use crate::r#gen::types::*;
use crate::handles::Comm;
use crate::state::State;

/// What is known of requests beyond their handle, for the few that need it.
#[derive(Default)]
pub(crate) struct Requests {
    /// The communicators of requests whose errors do not go to the handler of MPI_COMM_WORLD.
    elsewhere: RefCell<BTreeMap<usize, MPI_Comm>>,
    /// Requests and messages that the program has turned into integers.
    integers: RefCell<Vec<usize>>,
}

impl Requests {
    /// The handle of an operation that was just started on a communicator.
    #[inline]
    pub(crate) fn started(&self, id: RequestId, comm: &Comm, state: &State) -> MPI_Request {
        let handle = MPI_Request(id.to_bits() as usize);
        if comm.handle() != MPI_COMM_WORLD && id != RequestId::SENT {
            self.remember(handle, comm, state);
        }
        handle
    }

    fn remember(&self, handle: MPI_Request, comm: &Comm, state: &State) {
        let Some(world) = state.comms.get(MPI_COMM_WORLD) else { return };
        if !Rc::ptr_eq(&world.errhandler.borrow(), &comm.errhandler.borrow()) {
            self.elsewhere.borrow_mut().insert(handle.0, comm.handle());
        }
    }

    /// The communicator whose error handler takes the errors of a request.
    pub(crate) fn comm(&self, request: MPI_Request) -> MPI_Comm {
        self.elsewhere.borrow().get(&request.0).copied().unwrap_or(MPI_COMM_WORLD)
    }

    fn forget(&self, request: MPI_Request) {
        let mut elsewhere = self.elsewhere.borrow_mut();
        if !elsewhere.is_empty() {
            elsewhere.remove(&request.0);
        }
    }

    pub(crate) fn to_int(&self, word: usize) -> c_int {
        let mut integers = self.integers.borrow_mut();
        let index = integers.iter().position(|known| *known == word).unwrap_or_else(|| {
            integers.push(word);
            integers.len() - 1
        });
        c_int::try_from(index + FIRST_INTEGER).unwrap_or(-1)
    }

    pub(crate) fn word_of_int(&self, number: c_int) -> Option<usize> {
        let index = usize::try_from(number).ok()?.checked_sub(FIRST_INTEGER)?;
        self.integers.borrow().get(index).copied()
    }
}

/// Integers below this stand for predefined handles.
const FIRST_INTEGER: usize = 0x1000;

type Ids = SmallVec<[Option<RequestId>; 32]>;

/// A request that must not be null.
pub(crate) fn given(name: &'static str, request: MPI_Request) -> Outcome<RequestId> {
    optional(request).ok_or_else(|| {
        Fault::new(
            MPI_ERR_REQUEST,
            format_args!("{name} is MPI_REQUEST_NULL, expected a request of an operation"),
        )
    })
}

#[inline]
fn optional(request: MPI_Request) -> Option<RequestId> {
    if request == MPI_REQUEST_NULL { None } else { Some(RequestId::from_bits(request.0 as u64)) }
}

fn ids(requests: &[Cell<MPI_Request>]) -> Ids {
    requests.iter().map(|request| optional(request.get())).collect()
}

/// After its completion a request's handle becomes null, unless the request is persistent. A handle that named no request
/// stays: it is not ours to change.
#[inline]
fn settle(call: &Call, request: &Cell<MPI_Request>, id: RequestId, outcome: &engine::Result<Status>) {
    if matches!(outcome, Err(Error::Request { .. })) {
        return;
    }
    if id != RequestId::SENT {
        if call.state.rank().is_persistent(id) {
            return;
        }
        call.state.requests.forget(request.get());
    }
    request.set(MPI_REQUEST_NULL);
}

/// The fault of a call that completes one request, raised through the handler of that request's communicator.
#[cold]
fn failed(call: &Call, comm: MPI_Comm, error: Error) -> Fault {
    let scope = crate::call::Scope::Comm(comm);
    Fault::raised(crate::errors::handler::raise(call, scope, error.into()))
}

pub(crate) fn mpi_wait(call: &Call, request: &Cell<MPI_Request>, status: StatusOut) -> Outcome {
    let Some(id) = optional(request.get()) else {
        status.set(&Status::EMPTY);
        return Ok(());
    };
    complete(call, request, id, call.state.rank().wait(id), status)
}

pub(crate) fn mpi_test(
    call: &Call,
    request: &Cell<MPI_Request>,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let Some(id) = optional(request.get()) else {
        flag.set(1);
        status.set(&Status::EMPTY);
        return Ok(());
    };
    match call.state.rank().test(id).transpose() {
        None => {
            flag.set(0);
            Ok(())
        }
        Some(outcome) => {
            flag.set(1);
            complete(call, request, id, outcome, status)
        }
    }
}

#[inline]
fn complete(
    call: &Call,
    request: &Cell<MPI_Request>,
    id: RequestId,
    outcome: engine::Result<Status>,
    status: StatusOut,
) -> Outcome {
    let comm = if outcome.is_err() { call.state.comm_of_request(request.get()) } else { MPI_COMM_NULL };
    settle(call, request, id, &outcome);
    match outcome {
        Ok(done) => {
            status.set(&done);
            Ok(())
        }
        Err(error) => Err(failed(call, comm, error)),
    }
}

/// Takes the results of requests that are all complete or inactive.
fn take_all(call: &Call, requests: &[Cell<MPI_Request>], ids: &Ids, statuses: StatusesOut) -> Outcome {
    let mut failures = Failures::default();
    for (index, (request, id)) in requests.iter().zip(ids).enumerate() {
        let Some(id) = *id else {
            statuses.set(index, &Status::EMPTY);
            continue;
        };
        let outcome = call.state.rank().take(id);
        failures.note(call, index, request.get(), &outcome);
        settle(call, request, id, &outcome);
        statuses.set(index, &outcome.unwrap_or(Status::EMPTY));
    }
    failures.report(call, requests.len(), statuses)
}

/// The errors of a call that completes several requests: each goes to its status, and the call returns MPI_ERR_IN_STATUS.
#[derive(Default)]
struct Failures {
    errors: Vec<(usize, c_int)>,
    first: Option<(MPI_Comm, String)>,
}

impl Failures {
    fn note(&mut self, call: &Call, index: usize, request: MPI_Request, outcome: &engine::Result<Status>) {
        let Err(error) = outcome else { return };
        let fault = Fault::from(error.clone());
        if self.first.is_none() {
            self.first =
                Some((call.state.comm_of_request(request), format!("request {index}: {}", fault.text())));
        }
        self.errors.push((index, fault.code()));
    }

    /// With an error, all statuses get their error field.
    fn report(self, call: &Call, length: usize, statuses: StatusesOut) -> Outcome {
        let Some((comm, text)) = self.first else { return Ok(()) };
        for index in 0..length {
            statuses.set_error(index, MPI_SUCCESS);
        }
        for (index, code) in &self.errors {
            statuses.set_error(*index, *code);
        }
        let scope = crate::call::Scope::Comm(comm);
        let fault = Fault::new(MPI_ERR_IN_STATUS, text);
        Err(Fault::raised(crate::errors::handler::raise(call, scope, fault)))
    }
}

pub(crate) fn mpi_waitall(
    call: &Call,
    _count: usize,
    array_of_requests: &[Cell<MPI_Request>],
    array_of_statuses: StatusesOut,
) -> Outcome {
    let ids = ids(array_of_requests);
    let rank = call.state.rank();
    let mut failures = Failures::default();
    for (index, (request, id)) in array_of_requests.iter().zip(&ids).enumerate() {
        let Some(id) = *id else {
            array_of_statuses.set(index, &Status::EMPTY);
            continue;
        };
        let outcome = rank.wait(id);
        failures.note(call, index, request.get(), &outcome);
        settle(call, request, id, &outcome);
        array_of_statuses.set(index, &outcome.unwrap_or(Status::EMPTY));
    }
    failures.report(call, array_of_requests.len(), array_of_statuses)
}

pub(crate) fn mpi_testall(
    call: &Call,
    _count: usize,
    array_of_requests: &[Cell<MPI_Request>],
    flag: Out<c_int>,
    array_of_statuses: StatusesOut,
) -> Outcome {
    let ids = ids(array_of_requests);
    if !call.state.rank().test_all(&ids)? {
        flag.set(0);
        return Ok(());
    }
    flag.set(1);
    take_all(call, array_of_requests, &ids, array_of_statuses)
}

pub(crate) fn mpi_waitany(
    call: &Call,
    _count: usize,
    array_of_requests: &[Cell<MPI_Request>],
    index: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let ids = ids(array_of_requests);
    match call.state.rank().wait_any(&ids)? {
        Some(found) => take_one(call, array_of_requests, &ids, found, index, status),
        None => {
            index.set(MPI_UNDEFINED);
            status.set(&Status::EMPTY);
            Ok(())
        }
    }
}

pub(crate) fn mpi_testany(
    call: &Call,
    _count: usize,
    array_of_requests: &[Cell<MPI_Request>],
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let ids = ids(array_of_requests);
    match call.state.rank().test_any(&ids)? {
        Found::Complete(found) => {
            flag.set(1);
            take_one(call, array_of_requests, &ids, found, index, status)
        }
        Found::Pending => {
            flag.set(0);
            index.set(MPI_UNDEFINED);
            Ok(())
        }
        Found::NoneActive => {
            flag.set(1);
            index.set(MPI_UNDEFINED);
            status.set(&Status::EMPTY);
            Ok(())
        }
    }
}

fn take_one(
    call: &Call,
    requests: &[Cell<MPI_Request>],
    ids: &Ids,
    found: usize,
    index: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    index.set(found as c_int);
    let Some(id) = ids[found] else { return Ok(()) };
    complete(call, &requests[found], id, call.state.rank().take(id), status)
}

pub(crate) fn mpi_waitsome(
    call: &Call,
    _incount: usize,
    array_of_requests: &[Cell<MPI_Request>],
    outcount: Out<c_int>,
    array_of_indices: Outs<c_int>,
    array_of_statuses: StatusesOut,
) -> Outcome {
    let ids = ids(array_of_requests);
    match call.state.rank().wait_any(&ids)? {
        Some(_) => take_some(call, array_of_requests, &ids, outcount, array_of_indices, array_of_statuses),
        None => {
            outcount.set(MPI_UNDEFINED);
            Ok(())
        }
    }
}

pub(crate) fn mpi_testsome(
    call: &Call,
    _incount: usize,
    array_of_requests: &[Cell<MPI_Request>],
    outcount: Out<c_int>,
    array_of_indices: Outs<c_int>,
    array_of_statuses: StatusesOut,
) -> Outcome {
    let ids = ids(array_of_requests);
    match call.state.rank().test_any(&ids)? {
        Found::Complete(_) => {
            take_some(call, array_of_requests, &ids, outcount, array_of_indices, array_of_statuses)
        }
        Found::Pending => {
            outcount.set(0);
            Ok(())
        }
        Found::NoneActive => {
            outcount.set(MPI_UNDEFINED);
            Ok(())
        }
    }
}

fn take_some(
    call: &Call,
    requests: &[Cell<MPI_Request>],
    ids: &Ids,
    outcount: Out<c_int>,
    indices: Outs<c_int>,
    statuses: StatusesOut,
) -> Outcome {
    let rank = call.state.rank();
    let mut failures = Failures::default();
    let mut done = 0;
    for (index, (request, id)) in requests.iter().zip(ids).enumerate() {
        let Some(id) = *id else { continue };
        if rank.state(id)? != Progress::Complete {
            continue;
        }
        let outcome = rank.take(id);
        failures.note(call, done, request.get(), &outcome);
        settle(call, request, id, &outcome);
        indices.set(done, index as c_int);
        statuses.set(done, &outcome.unwrap_or(Status::EMPTY));
        done += 1;
    }
    outcount.set(done as c_int);
    failures.report(call, done, statuses)
}

pub(crate) fn mpi_request_free(call: &Call, request: &Cell<MPI_Request>) -> Outcome {
    call.state.rank().free(given("request", request.get())?)?;
    call.state.requests.forget(request.get());
    request.set(MPI_REQUEST_NULL);
    Ok(())
}

pub(crate) fn mpi_cancel(call: &Call, request: &Cell<MPI_Request>) -> Outcome {
    call.state.rank().cancel(given("request", request.get())?)?;
    Ok(())
}

pub(crate) fn mpi_request_get_status(
    call: &Call,
    request: MPI_Request,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let found = match optional(request) {
        Some(id) => call.state.rank().peek(id)?,
        None => Some(Status::EMPTY),
    };
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        status.set(&found);
    }
    Ok(())
}

pub(crate) fn mpi_request_get_status_all(
    call: &Call,
    _count: usize,
    array_of_requests: &[MPI_Request],
    flag: Out<c_int>,
    array_of_statuses: StatusesOut,
) -> Outcome {
    let ids: Ids = array_of_requests.iter().map(|request| optional(*request)).collect();
    if !call.state.rank().test_all(&ids)? {
        flag.set(0);
        return Ok(());
    }
    flag.set(1);
    for (index, id) in ids.into_iter().enumerate() {
        let found = id.map_or(Ok(None), |id| call.state.rank().peek(id))?;
        array_of_statuses.set(index, &found.unwrap_or(Status::EMPTY));
    }
    Ok(())
}

pub(crate) fn mpi_request_get_status_any(
    call: &Call,
    _count: usize,
    array_of_requests: &[MPI_Request],
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let ids: Ids = array_of_requests.iter().map(|request| optional(*request)).collect();
    let found = call.state.rank().test_any(&ids)?;
    flag.set(c_int::from(found != Found::Pending));
    let Found::Complete(at) = found else {
        index.set(MPI_UNDEFINED);
        if found == Found::NoneActive {
            status.set(&Status::EMPTY);
        }
        return Ok(());
    };
    index.set(at as c_int);
    if let Some(id) = ids[at] {
        status.set(&call.state.rank().peek(id)?.unwrap_or(Status::EMPTY));
    }
    Ok(())
}

pub(crate) fn mpi_request_get_status_some(
    call: &Call,
    _incount: usize,
    array_of_requests: &[MPI_Request],
    outcount: Out<c_int>,
    array_of_indices: Outs<c_int>,
    array_of_statuses: StatusesOut,
) -> Outcome {
    let ids: Ids = array_of_requests.iter().map(|request| optional(*request)).collect();
    let rank = call.state.rank();
    if rank.test_any(&ids)? == Found::NoneActive {
        outcount.set(MPI_UNDEFINED);
        return Ok(());
    }
    let mut done = 0;
    for (index, id) in ids.into_iter().enumerate() {
        let Some(id) = id else { continue };
        if rank.state(id)? == Progress::Complete {
            array_of_indices.set(done, index as c_int);
            array_of_statuses.set(done, &rank.peek(id)?.unwrap_or(Status::EMPTY));
            done += 1;
        }
    }
    outcount.set(done as c_int);
    Ok(())
}

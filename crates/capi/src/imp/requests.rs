//! Chapter 3: completing requests.
//!
//! A request's handle is the engine's own number for it, so that starting and completing an operation touches no table here.

use core::ffi::c_int;
use std::cell::Cell;

use engine::{Error, Found, List, RequestId, Source, State as Progress, Status, Tag, TagMatch};
use smallvec::SmallVec;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::{Call, Scope, raise};
use crate::convert::{Out, Outs, StatusOut, StatusesOut, given, optional};
use crate::errors::{Fault, Outcome};
use crate::handles::lane_of;
use crate::imp::grequests;

type Ids = SmallVec<[Option<RequestId>; 32]>;

fn ids(requests: &[Cell<MPI_Request>]) -> Ids {
    requests.iter().map(|request| optional(request.get())).collect()
}

/// An array of the program's, as the engine sees it.
struct Array<'a>(&'a [Cell<MPI_Request>]);

impl List for Array<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, place: usize) -> Option<RequestId> {
        self.0.get(place).and_then(|request| optional(request.get()))
    }
}

/// The lane of a request; where a null one is looked at does not matter.
#[inline(always)]
fn lane_for(call: &Call, request: MPI_Request) -> u32 {
    if request == MPI_REQUEST_NULL { call.lane() } else { lane_of(request.0) }
}

/// Does something in the lane of a request.
#[inline(always)]
fn on<T>(call: &Call, request: MPI_Request, act: impl FnOnce(&Call) -> T) -> T {
    call.in_lane(lane_for(call, request), act)
}

/// Whether the requests are in other lanes than the call, which is in that of the first.
#[inline]
fn are_scattered(call: &Call, requests: &[Cell<MPI_Request>]) -> bool {
    call.state.has_lanes() && requests.iter().any(|request| lane_for(call, request.get()) != call.lane())
}

/// The requests in the lane of the call, in their places.
fn ids_here(call: &Call, requests: &[Cell<MPI_Request>]) -> Ids {
    let is_here = |request: &MPI_Request| lane_for(call, *request) == call.lane();
    requests.iter().map(|request| Some(request.get()).filter(is_here).and_then(optional)).collect()
}

/// Calls `look` in each lane that has some of the requests, with these, until it has an answer.
fn in_their_lanes<T>(
    call: &Call,
    requests: &[Cell<MPI_Request>],
    mut look: impl FnMut(&Call, &Ids) -> Outcome<Option<T>>,
) -> Outcome<Option<T>> {
    for lane in 0..call.state.number_of_lanes() {
        if requests.iter().any(|request| lane_for(call, request.get()) == lane) {
            let found = call.in_lane(lane, |call| look(call, &ids_here(call, requests)))?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}

/// As [`Rank::test_any`](engine::Rank::test_any), in all lanes.
fn test_any(call: &Call, requests: &[Cell<MPI_Request>]) -> Outcome<Found> {
    if !are_scattered(call, requests) {
        return Ok(call.rank().test_any(&Array(requests))?);
    }
    let mut pending = false;
    let found = in_their_lanes(call, requests, |call, ids| {
        let found = call.rank().test_any(ids)?;
        pending |= found == Found::Pending;
        Ok(Some(found).filter(|found| matches!(found, Found::Complete(_))))
    })?;
    Ok(found.unwrap_or(if pending { Found::Pending } else { Found::NoneActive }))
}

/// As [`Rank::wait_any`](engine::Rank::wait_any), in all lanes.
fn wait_any(call: &Call, requests: &[Cell<MPI_Request>]) -> Outcome<Option<usize>> {
    if !are_scattered(call, requests) {
        return Ok(call.rank().wait_any(&Array(requests))?);
    }
    loop {
        // Each look that finds nothing lets others run, the longer the more of them there are.
        match test_any(call, requests)? {
            Found::Complete(index) => return Ok(Some(index)),
            Found::NoneActive => return Ok(None),
            Found::Pending => {}
        }
    }
}

/// As [`Rank::test_all`](engine::Rank::test_all), in all lanes.
fn test_all(call: &Call, requests: &[Cell<MPI_Request>], ids: &Ids) -> Outcome<bool> {
    if !are_scattered(call, requests) {
        return Ok(call.rank().test_all(ids)?);
    }
    let mut all = true;
    in_their_lanes(call, requests, |call, ids| {
        all &= call.rank().test_all(ids)?;
        Ok(None::<()>)
    })?;
    Ok(all)
}

/// Whether a request that has ended is all that the engine knows of it: those of generalized ones have more to tell, and those in other lanes are asked for there.
#[inline]
fn are_plain(call: &Call) -> bool {
    !call.state.has_lanes() && call.requests().generalized.are_none()
}

/// A request about to be completed: what of it is gone afterwards.
#[derive(Clone, Copy)]
struct Before {
    id: RequestId,
    persistent: bool,
    /// A persistent request that is not started: it gives an empty status.
    inactive: bool,
}

impl Before {
    #[inline(always)]
    fn of(call: &Call, id: RequestId) -> Before {
        let rank = call.rank();
        let persistent = id != RequestId::SENT && rank.is_persistent(id);
        let inactive = persistent && matches!(rank.state(id), Ok(Progress::Inactive));
        Before { id, persistent, inactive }
    }
}

/// After its completion a request's handle becomes null, unless the request is persistent. A handle that named no request stays: it
/// is not ours to change; and so does that of a request that goes on, since another's fault ended the call.
#[inline]
fn settle(call: &Call, request: &Cell<MPI_Request>, before: Before, outcome: &engine::Result<Status>) {
    if before.persistent || outcome.as_ref().is_err_and(|error| stays(call, before.id, error)) {
        return;
    }
    request.set(MPI_REQUEST_NULL);
}

#[cold]
fn stays(call: &Call, id: RequestId, error: &Error) -> bool {
    matches!(error, Error::Request { .. }) || call.rank().state(id).is_ok()
}

/// What the status of a failed operation tells: of a message that was too long, where it came from.
#[cold]
pub(crate) fn failed_status(error: &Error) -> Status {
    match *error {
        Error::Truncated { source, tag, capacity, .. } => Status {
            source: Source::Rank(source),
            tag: Tag::new(i64::from(tag)).map_or(TagMatch::Any, TagMatch::Is),
            bytes: capacity,
            cancelled: false,
        },
        _ => Status::EMPTY,
    }
}

/// The fault of a call that completes one request, raised through the handler of that request's communicator.
#[cold]
pub(crate) fn failed(call: &Call, comm: MPI_Comm, error: Error) -> Fault {
    let scope = Scope::Comm(comm);
    Fault::raised(raise(call, scope, error.into()))
}

#[inline(always)]
pub(crate) fn mpi_wait(call: &Call, request: &Cell<MPI_Request>, status: StatusOut) -> Outcome {
    let Some(id) = optional(request.get()) else {
        status.set_empty();
        return Ok(());
    };
    if are_plain(call) && call.rank().take_ended(id, |done| status.set(done)) {
        request.set(MPI_REQUEST_NULL);
        return Ok(());
    }
    let before = Before::of(call, id);
    complete(call, request, before, call.rank().wait(id), status)
}

pub(crate) fn mpi_test(
    call: &Call,
    request: &Cell<MPI_Request>,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let Some(id) = optional(request.get()) else {
        flag.set(1);
        status.set_empty();
        return Ok(());
    };
    let before = Before::of(call, id);
    match call.rank().test(id).transpose() {
        None => {
            flag.set(0);
            Ok(())
        }
        Some(outcome) => {
            flag.set(1);
            complete(call, request, before, outcome, status)
        }
    }
}

#[inline]
fn complete(
    call: &Call,
    request: &Cell<MPI_Request>,
    before: Before,
    outcome: engine::Result<Status>,
    status: StatusOut,
) -> Outcome {
    let handle = request.get();
    settle(call, request, before, &outcome);
    match outcome {
        Ok(_) if before.inactive => {
            status.set_empty();
            Ok(())
        }
        Ok(done) => {
            status.set(&done);
            if call.requests().generalized.has(before.id) {
                return grequests::conclude(call, before.id, status);
            }
            Ok(())
        }
        Err(error) => {
            status.set(&failed_status(&error));
            Err(failed(call, call.requests().comm(handle), error))
        }
    }
}

/// Takes the result of one of several requests into its status.
#[inline]
fn take_into(
    call: &Call,
    failures: &mut Failures,
    request: &Cell<MPI_Request>,
    before: Before,
    outcome: engine::Result<Status>,
    (statuses, index): (StatusesOut, usize),
) {
    let handle = request.get();
    failures.note(call, index, handle, &outcome);
    settle(call, request, before, &outcome);
    match outcome {
        Ok(_) if before.inactive => statuses.set_empty(index),
        Ok(done) => {
            statuses.set(index, &done);
            if call.requests().generalized.has(before.id)
                && let Err(fault) = grequests::conclude(call, before.id, statuses.at(index))
            {
                failures.add(call, index, handle, &fault);
            }
        }
        Err(error) => statuses.set(index, &failed_status(&error)),
    }
}

/// Takes the results of requests that are all complete or inactive.
fn take_all(call: &Call, requests: &[Cell<MPI_Request>], ids: &Ids, statuses: StatusesOut) -> Outcome {
    let mut failures = Failures::default();
    for (index, (request, id)) in requests.iter().zip(ids).enumerate() {
        let Some(id) = *id else {
            statuses.set_empty(index);
            continue;
        };
        on(call, request.get(), |call| {
            let before = Before::of(call, id);
            let outcome = call.rank().take(id);
            take_into(call, &mut failures, request, before, outcome, (statuses, index));
        });
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
        self.add(call, index, request, &Fault::from(error.clone()));
    }

    fn add(&mut self, call: &Call, index: usize, request: MPI_Request, fault: &Fault) {
        if self.first.is_none() {
            self.first = Some((call.requests().comm(request), format!("request {index}: {}", fault.text())));
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
        let scope = Scope::Comm(comm);
        let fault = Fault::new(MPI_ERR_IN_STATUS, text);
        Err(Fault::raised(raise(call, scope, fault)))
    }
}

pub(crate) fn mpi_waitall(
    call: &Call,
    _count: usize,
    array_of_requests: &[Cell<MPI_Request>],
    array_of_statuses: StatusesOut,
) -> Outcome {
    let plain = are_plain(call);
    let mut all = None;
    let mut failures = Failures::default();
    for (index, request) in array_of_requests.iter().enumerate() {
        let Some(id) = optional(request.get()) else {
            array_of_statuses.set_empty(index);
            continue;
        };
        if plain && call.rank().take_ended(id, |done| array_of_statuses.set(index, done)) {
            request.set(MPI_REQUEST_NULL);
            continue;
        }
        let ids = all.get_or_insert_with(|| ids(array_of_requests));
        // While one is waited for, the others go on, whatever lanes they are in.
        on(call, request.get(), |call| {
            let before = Before::of(call, id);
            let outcome = call.rank().wait_among(id, ids);
            take_into(call, &mut failures, request, before, outcome, (array_of_statuses, index));
        });
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
    if !test_all(call, array_of_requests, &ids)? {
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
    match wait_any(call, array_of_requests)? {
        Some(found) => take_one(call, array_of_requests, found, index, status),
        None => {
            index.set(MPI_UNDEFINED);
            status.set_empty();
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
    match test_any(call, array_of_requests)? {
        Found::Complete(found) => {
            flag.set(1);
            take_one(call, array_of_requests, found, index, status)
        }
        Found::Pending => {
            flag.set(0);
            index.set(MPI_UNDEFINED);
            Ok(())
        }
        Found::NoneActive => {
            flag.set(1);
            index.set(MPI_UNDEFINED);
            status.set_empty();
            Ok(())
        }
    }
}

fn take_one(
    call: &Call,
    requests: &[Cell<MPI_Request>],
    found: usize,
    index: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    index.set(found as c_int);
    let Some(id) = optional(requests[found].get()) else { return Ok(()) };
    on(call, requests[found].get(), |call| {
        let before = Before::of(call, id);
        complete(call, &requests[found], before, call.rank().take(id), status)
    })
}

pub(crate) fn mpi_waitsome(
    call: &Call,
    _incount: usize,
    array_of_requests: &[Cell<MPI_Request>],
    outcount: Out<c_int>,
    array_of_indices: Outs<c_int>,
    array_of_statuses: StatusesOut,
) -> Outcome {
    match wait_any(call, array_of_requests)? {
        Some(_) => take_some(call, array_of_requests, outcount, array_of_indices, array_of_statuses),
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
    match test_any(call, array_of_requests)? {
        Found::Complete(_) => {
            take_some(call, array_of_requests, outcount, array_of_indices, array_of_statuses)
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

/// Takes all that are complete, also those that the engine was not asked about before.
fn take_some(
    call: &Call,
    requests: &[Cell<MPI_Request>],
    outcount: Out<c_int>,
    indices: Outs<c_int>,
    statuses: StatusesOut,
) -> Outcome {
    let mut failures = Failures::default();
    let mut done = 0;
    for (index, request) in requests.iter().enumerate() {
        let Some(id) = optional(request.get()) else { continue };
        on(call, request.get(), |call| -> Outcome {
            let rank = call.rank();
            if rank.state(id)? == Progress::Complete {
                let before = Before::of(call, id);
                take_into(call, &mut failures, request, before, rank.take(id), (statuses, done));
                indices.set(done, index as c_int);
                done += 1;
            }
            Ok(())
        })?;
    }
    outcount.set(done as c_int);
    failures.report(call, done, statuses)
}

pub(crate) fn mpi_request_free(call: &Call, request: &Cell<MPI_Request>) -> Outcome {
    let id = given("request", request.get())?;
    call.rank().free(id)?;
    request.set(MPI_REQUEST_NULL);
    call.requests().partitioned.forget(id);
    if call.requests().generalized.has(id) {
        return grequests::give_up(call, id);
    }
    Ok(())
}

pub(crate) fn mpi_cancel(call: &Call, request: &Cell<MPI_Request>) -> Outcome {
    let id = given("request", request.get())?;
    if call.requests().generalized.has(id) {
        return grequests::cancel(call, id);
    }
    call.rank().cancel(id)?;
    Ok(())
}

/// The requests of an array that stays as it is.
fn copied(requests: &[MPI_Request]) -> SmallVec<[Cell<MPI_Request>; 32]> {
    requests.iter().copied().map(Cell::new).collect()
}

/// What a request that is not completed has to say, as far as it is not under way.
enum Seen {
    Pending,
    /// Null or inactive.
    Empty,
    Complete(Status),
}

impl Seen {
    fn of(call: &Call, request: Option<RequestId>) -> Outcome<Seen> {
        let rank = call.rank();
        let Some(id) = request else { return Ok(Seen::Empty) };
        if rank.state(id)? == Progress::Inactive {
            return Ok(Seen::Empty);
        }
        // An operation that failed is complete; its error comes when it is completed (MPI section 3.7.6).
        Ok(match rank.peek(id) {
            Ok(None) => Seen::Pending,
            Ok(Some(done)) => Seen::Complete(done),
            Err(error) => Seen::Complete(failed_status(&error)),
        })
    }
}

pub(crate) fn mpi_request_get_status(
    call: &Call,
    request: MPI_Request,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let seen = Seen::of(call, optional(request))?;
    flag.set(c_int::from(!matches!(seen, Seen::Pending)));
    match seen {
        Seen::Pending => (),
        Seen::Empty => status.set_empty(),
        Seen::Complete(done) => status.set(&done),
    }
    queried(call, optional(request), status)
}

/// The status of a generalized request is what the program says it is.
fn queried(call: &Call, id: Option<RequestId>, status: StatusOut) -> Outcome {
    match id.filter(|id| call.requests().generalized.has(*id)) {
        Some(id) if call.rank().state(id)? == Progress::Complete => grequests::query(call, id, status),
        _ => Ok(()),
    }
}

fn look(call: &Call, id: Option<RequestId>, statuses: StatusesOut, index: usize) -> Outcome {
    match Seen::of(call, id)? {
        Seen::Complete(done) => statuses.set(index, &done),
        _ => statuses.set_empty(index),
    }
    queried(call, id, statuses.at(index))
}

pub(crate) fn mpi_request_get_status_all(
    call: &Call,
    _count: usize,
    array_of_requests: &[MPI_Request],
    flag: Out<c_int>,
    array_of_statuses: StatusesOut,
) -> Outcome {
    let ids: Ids = array_of_requests.iter().map(|request| optional(*request)).collect();
    if !test_all(call, &copied(array_of_requests), &ids)? {
        flag.set(0);
        return Ok(());
    }
    flag.set(1);
    ids.into_iter().zip(array_of_requests).enumerate().try_for_each(|(index, (id, request))| {
        on(call, *request, |call| look(call, id, array_of_statuses, index))
    })
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
    let found = test_any(call, &copied(array_of_requests))?;
    flag.set(c_int::from(found != Found::Pending));
    let Found::Complete(at) = found else {
        index.set(MPI_UNDEFINED);
        if found == Found::NoneActive {
            status.set_empty();
        }
        return Ok(());
    };
    index.set(at as c_int);
    on(call, array_of_requests[at], |call| {
        if let Seen::Complete(done) = Seen::of(call, ids[at])? {
            status.set(&done);
        }
        queried(call, ids[at], status)
    })
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
    if test_any(call, &copied(array_of_requests))? == Found::NoneActive {
        outcount.set(MPI_UNDEFINED);
        return Ok(());
    }
    let mut done = 0;
    for (index, (id, request)) in ids.into_iter().zip(array_of_requests).enumerate() {
        let Some(id) = id else { continue };
        on(call, *request, |call| -> Outcome {
            if call.rank().state(id)? == Progress::Complete {
                array_of_indices.set(done, index as c_int);
                look(call, Some(id), array_of_statuses, done)?;
                done += 1;
            }
            Ok(())
        })?;
    }
    outcount.set(done as c_int);
    Ok(())
}

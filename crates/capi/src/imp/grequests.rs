//! Section 13.2: generalized requests, which the program itself completes.
//!
//! The engine knows such a request as one that somebody else completes; what its status is, and what becomes of it, its program's functions
//! say, which are kept here by the request's handle.

use core::ffi::{c_int, c_void};

use engine::{RequestId, Status};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Out, StatusOut, empty_status, given};
use crate::errors::{Fault, Outcome};
use crate::handles::Functions;

/// The error of a function of the program's.
fn told(what: &str, code: c_int) -> Outcome {
    if code == MPI_SUCCESS {
        return Ok(());
    }
    Err(Fault::new(code, format_args!("the {what} function of the generalized request returned {code}")))
}

/// Asks the program for the status of a complete request.
pub(super) fn query(call: &Call, id: RequestId, status: StatusOut) -> Outcome {
    let Some(Functions { query: Some(query), extra, .. }) = call.requests().generalized.find(id) else {
        return Ok(());
    };
    let mut filled = empty_status();
    // SAFETY: the program's promise with MPI_Grequest_start; the status is valid.
    let code = unsafe { query(extra, &mut filled) };
    status.overwrite(&filled);
    told("query", code)
}

/// The program's status of a request that is complete, and then its end.
pub(super) fn conclude(call: &Call, id: RequestId, status: StatusOut) -> Outcome {
    let queried = query(call, id, status);
    let freed = release(call, id);
    queried.and(freed)
}

fn release(call: &Call, id: RequestId) -> Outcome {
    let generalized = &call.requests().generalized;
    let functions = generalized.find(id);
    generalized.forget(id);
    let Some(Functions { free: Some(free), extra, .. }) = functions else { return Ok(()) };
    // SAFETY: the program's promise with MPI_Grequest_start; called once, since the request is forgotten.
    told("free", unsafe { free(extra) })
}

/// MPI_Request_free of one.
pub(super) fn give_up(call: &Call, id: RequestId) -> Outcome {
    let generalized = &call.requests().generalized;
    match generalized.find(id) {
        Some(Functions { complete: false, .. }) => {
            generalized.change(id, |functions| functions.freed = true);
            Ok(())
        }
        _ => release(call, id),
    }
}

/// MPI_Cancel of one.
pub(super) fn cancel(call: &Call, id: RequestId) -> Outcome {
    let Some(Functions { cancel: Some(cancel), extra, complete, .. }) = call.requests().generalized.find(id)
    else {
        return Ok(());
    };
    // SAFETY: the program's promise with MPI_Grequest_start.
    told("cancel", unsafe { cancel(extra, c_int::from(complete)) })
}

pub(crate) fn mpi_grequest_start(
    call: &Call,
    query_fn: MPI_Grequest_query_function,
    free_fn: MPI_Grequest_free_function,
    cancel_fn: MPI_Grequest_cancel_function,
    extra_state: *mut c_void,
    request: Out<MPI_Request>,
) -> Outcome {
    let id = call.rank().external_request()?;
    let functions = Functions {
        query: query_fn,
        free: free_fn,
        cancel: cancel_fn,
        extra: extra_state,
        complete: false,
        freed: false,
    };
    call.requests().generalized.insert(id, functions);
    request.set(call.requests().started_on(id, MPI_COMM_WORLD));
    Ok(())
}

pub(crate) fn mpi_grequest_complete(call: &Call, request: MPI_Request) -> Outcome {
    let id = given("request", request)?;
    let generalized = &call.requests().generalized;
    let Some(Functions { complete: false, freed, .. }) = generalized.find(id) else {
        let text = "request is no generalized request that is under way, expected one of MPI_Grequest_start";
        return Err(Fault::new(MPI_ERR_REQUEST, text));
    };
    generalized.change(id, |functions| functions.complete = true);
    call.rank().finish(id, Ok(Status::EMPTY));
    if freed { release(call, id) } else { Ok(()) }
}

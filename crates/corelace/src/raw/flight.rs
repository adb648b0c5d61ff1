//! Blocking operations on borrowed memory, and the wait that they all end in.

use std::mem;

use engine::{Comm, Message, Mode, RequestId, State};

use super::{Buffer, BufferMut, Process};
use crate::activity::Activity;
use crate::address::{Inward, Outward};
use crate::error::Result;

/// Waits until the engine has let go of the request's buffer, whatever happens, and takes its result.
///
/// The engine's own wait may return early, with an error that struck elsewhere: then the request is still under way, and so
/// is its use of the buffer. That error is returned once the request is complete.
///
/// There is one exception: a request of a stalled job never completes. But no rank of that job calls the engine any more, so the
/// buffer is not in use, either; then this unwinds, or returns an error (see [`Process::call`]).
#[inline]
#[track_caller]
pub fn complete(process: &Process, id: RequestId, activity: Activity) -> Result<engine::Status> {
    settle(process, id, activity).inspect_err(|_| process.unwind_if_stalled())
}

/// As [`complete`], without unwinding.
#[inline]
#[track_caller]
pub fn settle(process: &Process, id: RequestId, activity: Activity) -> Result<engine::Status> {
    let rank = process.rank();
    if !matches!(rank.state(id), Ok(State::Active)) {
        return Ok(rank.take(id)?);
    }
    process.note(activity);
    let (result, fault) = in_flight(|| {
        let mut fault = None;
        loop {
            match process.attempt(|rank| rank.wait(id)) {
                Ok(status) => break (Ok(status), fault),
                Err(error) if process.is_stalled() => break (Err(error), None),
                Err(error) if matches!(rank.state(id), Ok(State::Active)) => {
                    fault.get_or_insert(error);
                }
                Err(error) => break (Err(error), fault),
            }
        }
    });
    process.note(Activity::Running);
    fault.map_or(result, Err)
}

/// Runs something during which the engine uses borrowed memory. It may return but not unwind: that would end the borrow.
///
/// No code of the user's runs in there without being caught, and ranks that wait in vain are unwound later. So a panic that comes out is a defect of the library, after which nothing can be relied on: the program ends.
#[inline]
pub(super) fn in_flight<T>(wait: impl FnOnce() -> T) -> T {
    let bomb = Bomb;
    let result = wait();
    mem::forget(bomb);
    result
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        eprintln!(
            "corelace: a panic in the library left a message in flight; the program cannot go on safely"
        );
        std::process::abort();
    }
}

/// Sends and waits until the bytes may be changed.
#[inline]
#[track_caller]
pub fn send<B: Buffer + ?Sized>(
    process: &Process,
    mode: Mode,
    data: &B,
    to: Outward,
    comm: &Comm,
) -> Result<()> {
    // SAFETY: `data` is borrowed until this function returns, and it does so only when the request is complete.
    let buffer = unsafe { B::outgoing(data, process) };
    let id = process.call(|rank| rank.isend(mode, &buffer, to.dest, to.tag, comm))?;
    if id != RequestId::SENT {
        complete(process, id, to.activity())?;
    }
    Ok(())
}

/// Receives and waits for the message.
#[inline]
#[track_caller]
pub fn receive<B: BufferMut + ?Sized>(
    process: &Process,
    data: &mut B,
    from: Inward,
    comm: &Comm,
) -> Result<engine::Status> {
    // SAFETY: `data` is borrowed until this function returns, and it does so only when the request is complete.
    let buffer = unsafe { B::incoming(data, process) };
    let id = process.call(|rank| rank.irecv(&buffer, from.source, from.tag, comm))?;
    complete(process, id, from.activity())
}

/// Receives a message that a probe has taken out.
#[track_caller]
pub fn receive_message<B: BufferMut + ?Sized>(
    process: &Process,
    data: &mut B,
    message: Message,
) -> Result<engine::Status> {
    // SAFETY: as in `receive`.
    let buffer = unsafe { B::incoming(data, process) };
    let id = process.call(|rank| rank.imrecv(&buffer, message))?;
    complete(process, id, Activity::Receive { from: None, tag: None })
}

/// Sends one message and receives another at the same time.
#[track_caller]
pub fn exchange<S: Buffer + ?Sized, R: BufferMut + ?Sized>(
    process: &Process,
    out: (&S, Outward),
    into: (&mut R, Inward),
    comm: &Comm,
) -> Result<engine::Status> {
    // SAFETY: both are borrowed until this function returns, and it does so only when both requests are complete.
    let (outgoing, incoming) = unsafe { (S::outgoing(out.0, process), R::incoming(into.0, process)) };
    let receiving = process.call(|rank| rank.irecv(&incoming, into.1.source, into.1.tag, comm))?;
    match process.attempt(|rank| rank.isend(Mode::Standard, &outgoing, out.1.dest, out.1.tag, comm)) {
        Ok(sending) => {
            let received = complete(process, receiving, into.1.activity());
            complete(process, sending, out.1.activity())?;
            received
        }
        Err(error) => {
            cancel(process, receiving);
            let _ = complete(process, receiving, into.1.activity());
            Err(error)
        }
    }
}

/// Asks for an operation to be cancelled. It may be too late for that; either way it will complete.
pub fn cancel(process: &Process, id: RequestId) {
    let _ = process.attempt(|rank| rank.cancel(id));
}

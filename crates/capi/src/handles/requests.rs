//! Requests and matched messages: what is known of them beyond the engine's numbers, which are their handles.

use core::ffi::c_int;
use std::cell::RefCell;
use std::sync::Mutex;

use engine::RequestId;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::{Comm, Generalized, Partitioned, is_sent, lane_of, with_lane, without_lane};

/// What is known of requests and matched messages beyond their handle.
#[derive(Default)]
pub(crate) struct Requests {
    /// The lane whose requests these are.
    lane: u32,
    /// Of requests whose communicator is not MPI_COMM_WORLD.
    homes: Homes,
    /// Of messages that a probe on another communicator than MPI_COMM_WORLD has taken.
    message_homes: Homes,
    pub(crate) generalized: Generalized,
    pub(crate) partitioned: Partitioned,
}

/// The communicators of things that the engine names by slot (lower half) and generation: one entry a slot, written when
/// the thing is made. What has ended needs no clearing, since its word never comes again.
#[derive(Default)]
struct Homes(RefCell<Vec<(usize, MPI_Comm)>>);

impl Homes {
    fn remember(&self, word: usize, comm: MPI_Comm) {
        let slot = without_lane(word) & u32::MAX as usize;
        let homes = &mut *self.0.borrow_mut();
        if homes.len() <= slot {
            homes.resize(slot + 1, (0, MPI_COMM_NULL));
        }
        homes[slot] = (word, comm);
    }

    fn get(&self, word: usize) -> MPI_Comm {
        let homes = self.0.borrow();
        let known = homes.get(without_lane(word) & u32::MAX as usize).filter(|(known, _)| *known == word);
        known.map_or(MPI_COMM_WORLD, |(_, comm)| *comm)
    }
}

impl Requests {
    /// Those of a lane.
    pub(crate) fn of_lane(lane: u32) -> Requests {
        Requests { lane, ..Requests::default() }
    }

    /// The handle of an operation that was just started on a communicator.
    #[inline]
    pub(crate) fn started(&self, id: RequestId, comm: &Comm) -> MPI_Request {
        self.started_on(id, comm.handle())
    }

    #[inline]
    pub(crate) fn started_on(&self, id: RequestId, comm: MPI_Comm) -> MPI_Request {
        let handle = MPI_Request(with_lane(id.to_bits() as usize, self.lane));
        if comm != MPI_COMM_WORLD && id != RequestId::SENT {
            self.homes.remember(handle.0, comm);
        }
        handle
    }

    /// Notes on which communicator a probe took a message.
    pub(crate) fn probed(&self, message: MPI_Message, comm: &Comm) {
        if comm.handle() != MPI_COMM_WORLD && message != MPI_MESSAGE_NO_PROC {
            self.message_homes.remember(message.0, comm.handle());
        }
    }

    /// The communicator whose error handler takes the errors of a request.
    pub(crate) fn comm(&self, request: MPI_Request) -> MPI_Comm {
        self.homes.get(request.0)
    }

    /// The communicator that a message was probed on.
    pub(crate) fn comm_of_message(&self, message: MPI_Message) -> MPI_Comm {
        self.message_homes.get(message.0)
    }
}

/// Handles of requests or messages as C integers (MPI section 20.3): the slot, which is reused, with its lane, and beside it the handle that was turned last.
#[derive(Default)]
pub(crate) struct Integers(Mutex<Vec<usize>>);

/// Integers of the same slot in different lanes lie side by side.
const LANES: usize = 8;

impl Integers {
    pub(crate) fn of(&self, word: usize) -> c_int {
        if is_sent(word) {
            return FIRST_INTEGER as c_int;
        }
        let slot = (without_lane(word) & u32::MAX as usize) * LANES + lane_of(word) as usize;
        let words = &mut *self.0.lock().expect("nobody panics with it");
        if words.len() <= slot {
            words.resize(slot + 1, 0);
        }
        words[slot] = word;
        c_int::try_from(slot + 1 + FIRST_INTEGER).unwrap_or(-1)
    }

    pub(crate) fn word(&self, number: c_int) -> Option<usize> {
        match usize::try_from(number).ok()?.checked_sub(FIRST_INTEGER)? {
            0 => Some(SENT),
            above => self.0.lock().expect("nobody panics with it").get(above - 1).copied(),
        }
    }
}

/// The request of all sends that were complete when they were started has no slot.
const SENT: usize = RequestId::SENT.to_bits() as usize;

/// Integers below this stand for predefined handles.
const FIRST_INTEGER: usize = 0x1000;

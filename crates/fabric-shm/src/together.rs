//! Transfers that go by one call of the system.
//!
//! A call takes half a microsecond before it moves anything, about as long as 16 KiB take. So transfers of a stream that need not be done at once are kept until somebody asks for one of them, or
//! they are enough, and go together.
//!
//! **Invariant:** a transfer that was begun is done, or has failed, when its ticket has been asked for.

use std::cell::RefCell;

use fabric::{PortalError, Ticket};

use crate::cma::{self, Direction};

/// The kernel keeps so many pieces of a call on its stack, and allocates room for more.
pub(crate) const PIECES_MAX: usize = 8;

/// Longer ones take so long that the call does not count, and others would wait for them.
const BYTES_MAX: usize = 256 << 10;

/// One piece on either side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub local: *mut u8,
    pub remote: *mut u8,
    pub bytes: usize,
}

/// The transfers that wait, and those that have failed. In a box: a fabric is moved about while a rank starts, on a stack of which every page counts where there are thousands.
#[derive(Debug, Default)]
pub(crate) struct Together(Box<RefCell<State>>);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Piece>,
    /// Where they go.
    way: Option<(Direction, libc::pid_t)>,
    bytes: usize,
    /// How many transfers there were before those that wait: their tickets are the numbers behind.
    before: u64,
    failed: Vec<(u64, PortalError)>,
}

impl Together {
    /// Begins a transfer.
    ///
    /// # Safety
    /// The local side must be valid for what the direction does to it until the ticket has been asked for. The kernel checks the remote one.
    pub unsafe fn begin(&self, direction: Direction, pid: libc::pid_t, piece: Piece) -> Ticket {
        let state = &mut *self.0.borrow_mut();
        if state.way != Some((direction, pid))
            || state.waiting.len() == PIECES_MAX
            || state.bytes + piece.bytes > BYTES_MAX
        {
            state.call();
        }
        state.way = Some((direction, pid));
        state.bytes += piece.bytes;
        state.waiting.push(piece);
        Ticket(state.before + state.waiting.len() as u64)
    }

    /// Has this transfer done, with those that wait.
    pub fn done(&self, ticket: Ticket) -> Result<bool, PortalError> {
        let state = &mut *self.0.borrow_mut();
        if ticket.0 > state.before {
            state.call();
        }
        match state.failed.iter().position(|(failed, _)| *failed == ticket.0) {
            None => Ok(true),
            Some(at) => Err(state.failed.swap_remove(at).1),
        }
    }
}

impl State {
    /// Does what waits.
    fn call(&mut self) {
        let Some((direction, pid)) = self.way.take() else { return };
        // SAFETY: the local sides are valid by the word of whoever began them, who has not asked for them yet.
        let all_moved = unsafe { cma::transfer_several(direction, pid, &self.waiting) };
        for (piece, ticket) in self.waiting.drain(..).zip(self.before + 1..) {
            self.before = ticket;
            if all_moved {
                continue;
            }
            // Whose fault it was shows when each goes alone; what has been moved before is the same now.
            // SAFETY: as above.
            let moved = unsafe { cma::transfer_piece(direction, pid, piece) };
            self.failed.extend(moved.err().map(|error| (ticket, error)));
        }
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: fn() -> libc::pid_t = || std::process::id() as libc::pid_t;

    #[test]
    fn transfers_of_all_lengths_and_both_ways_are_done_when_they_are_asked_for() {
        let together = Together::default();
        for lengths in [vec![1], vec![5; 30], vec![200_000, 100_000, 3, 200_000], (1..40).collect()] {
            let bytes: usize = lengths.iter().sum();
            let mut from: Vec<u8> = (0..bytes).map(|at| (at * 7) as u8).collect();
            let mut into = vec![0u8; bytes];
            let (mut at, mut tickets) = (0, Vec::new());
            for (turn, bytes) in lengths.into_iter().enumerate() {
                let ends = (from.as_mut_ptr().wrapping_add(at), into.as_mut_ptr().wrapping_add(at));
                let (direction, local, remote) = match turn % 5 {
                    0 => (Direction::Write, ends.0, ends.1),
                    _ => (Direction::Read, ends.1, ends.0),
                };
                // SAFETY: both sides lie in the vectors, which stay until the tickets have been asked for.
                tickets.push(unsafe { together.begin(direction, OWN(), Piece { local, remote, bytes }) });
                at += bytes;
            }
            assert!(tickets.iter().all(|ticket| *ticket != Ticket::DONE));
            for ticket in tickets.into_iter().rev() {
                assert_eq!(together.done(ticket), Ok(true));
            }
            assert!(from == into);
        }
    }

    #[test]
    fn one_that_fails_does_not_take_others_along() {
        let together = Together::default();
        let (mut from, mut into) = (vec![7u8; 300], vec![0u8; 300]);
        let nowhere = std::ptr::without_provenance_mut(8);
        let tickets = [0, 1, 2].map(|turn| {
            let (local, remote) = (&raw mut into[turn * 100], &raw mut from[turn * 100]);
            let remote = if turn == 1 { nowhere } else { remote };
            // SAFETY: the local side lies in a vector that stays; the kernel must refuse the other of one.
            unsafe { together.begin(Direction::Read, OWN(), Piece { local, remote, bytes: 100 }) }
        });
        assert_eq!(
            tickets.map(|ticket| together.done(ticket)),
            [Ok(true), Err(PortalError::PeerMemory), Ok(true)]
        );
        assert!(into[..100] == from[..100] && into[100..200] == [0; 100] && into[200..] == from[200..]);
    }
}

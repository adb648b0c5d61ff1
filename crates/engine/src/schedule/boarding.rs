//! A collective that a board serves while the rank makes progress: how far it has come. It is run by `lane::board`.

use alloc::rc::Rc;
use core::cell::RefCell;

use super::call::Call;
use crate::values::error::Error;
use crate::values::memory::Whole;
use crate::values::memory::board::Board;

/// The whole of a schedule that goes by a board.
pub(crate) struct Boarding {
    pub call: Call,
    /// A board of its own, for a persistent collective: members may start several in any order, but take the turns of one board in the same one.
    pub own: Option<Rc<Board>>,
    /// The turn that it takes, if it has begun.
    pub taken: RefCell<Option<Taken>>,
}

/// A turn that is under way.
pub(crate) struct Taken {
    pub turn: u64,
    pub stage: Stage,
    pub failed: Option<Error>,
    /// What others read or write where it lies.
    pub held: Option<Whole>,
}

/// What it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Until there is room for what it lays down.
    Room,
    /// Until the note of one member is published.
    Note(u32),
    /// Until the notes of all others are, of whom so many have been seen.
    All(u32),
    /// As [`All`](Stage::All), for the last who arrives.
    Last(u32),
    /// Until the last who arrives lets the others go on.
    Middle,
    /// Until long ones that were begun before are done, and there is room.
    Line,
    /// Until all others have come to a phase, of whom so many have been seen.
    Phase(u32, u32),
    /// Until the result of a round lies in the hall.
    Round(u32),
    /// Until those before it have laid down what it needs of them.
    Before,
    /// Until the other one of two has named its memory, or is done.
    Partner,
    /// Until the others are done, of whom so many are known to be.
    Done(u32),
}

impl Boarding {
    pub fn new(call: Call, own: Option<Rc<Board>>) -> Boarding {
        Boarding { call, own, taken: RefCell::new(None) }
    }
}

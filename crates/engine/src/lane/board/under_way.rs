//! Collectives on a board that go on while the rank makes progress: non-blocking and persistent ones. They lay down and take the same as blocking ones (`short`, `long`, `phases`), and look where those wait.
//!
//! Members may have several under way, and begin others before they are done. A board's turns are counted in the order in which collectives are begun, which is the same at all members; persistent ones, which
//! may be started in any order, have boards of their own.

use alloc::boxed::Box;
use alloc::rc::Rc;

use fabric::{Idle, Woke};
use smallvec::SmallVec;

use crate::lane::Lane;
use crate::lane::board::call::Form;
use crate::lane::board::long;
use crate::lane::board::phases;
use crate::lane::board::scan;
use crate::lane::board::short::{self, Awaits};
use crate::lane::board::turn::{Meeting, Turn, YIELDS};
use crate::schedule::{Boarding, Builder, Call, Schedule, Stage, Step, Steps, Taken};
use crate::values::comm::Comm;
use crate::values::error::{Error, Result};
use crate::values::ids::Tag;
use crate::values::memory::board::Board;

impl Lane {
    /// A non-blocking collective, by the communicator's board if it has one that serves it: to make one all members would have to wait for each other.
    pub fn under_way(&self, comm: &Comm, call: Call) -> Result<Steps> {
        let bounds = self.schedules.bounds();
        match comm.board().flatten() {
            Some(board) if self.may_board(comm, call.name()) && call.goes_on(bounds, board).is_some() => {
                Ok(self.boarding(comm, call, None))
            }
            _ => call.steps(self, comm),
        }
    }

    /// A persistent collective, on a board that is made for it.
    pub fn kept(&self, comm: &Comm, call: Call) -> Result<Steps> {
        let bounds = self.schedules.bounds();
        let is_short = call.bytes() <= Board::room_of(comm.size());
        let in_phases = !is_short && phases::may_serve(&call);
        if self.may_board(comm, call.name())
            && call.suits_board(bounds, comm.size(), Board::room_of(comm.size()))
            && (is_short || in_phases || long::only_moves(&call))
            && let Some(board) = self.make_board(comm, in_phases)?
            && call.goes_on(bounds, &board).is_some()
        {
            return Ok(self.boarding(comm, call, Some(Rc::new(board))));
        }
        call.steps(self, comm)
    }

    fn boarding(&self, comm: &Comm, call: Call, own: Option<Rc<Board>>) -> Steps {
        let mut steps = self.schedules.take();
        steps.name = call.name();
        steps.bytes = call.agreed_bytes();
        steps.context = comm.context().collective();
        steps.comm = Some(comm.clone());
        steps.tag = Tag::from_wire(Builder::next_number(comm));
        steps.steps.push(Step::Board(Box::new(Boarding::new(call, own))));
        steps
    }

    /// Goes on with a collective on a board as far as it can without waiting: true once it is done.
    #[inline(never)]
    pub fn go_on(&self, plan: &Schedule, boarding: &Boarding) -> Result<bool> {
        let Some(comm) = &plan.comm else {
            return Err(Error::Internal { reason: "a schedule without a communicator" });
        };
        let Some(board) = boarding.own.as_ref().or(comm.board().flatten()) else {
            return Err(Error::Internal { reason: "a turn without a board" });
        };
        let boarded = &self.schedules.boarded;
        let Some(form) = boarding.call.goes_on(self.schedules.bounds(), board) else {
            return Err(Error::Internal { reason: "a turn at a board that does not serve it" });
        };
        let is_in_line = phases::serves(&boarding.call, form);
        let mut taken = boarding.taken.borrow_mut();
        let mut now = match taken.take() {
            Some(now) => now,
            None => {
                let turn = board.next_turn();
                board.reuse.leave_open(turn);
                boarded.set(boarded.get() + 1);
                if is_in_line {
                    board.reuse.line_up(turn);
                }
                let stage = if is_in_line { Stage::Line } else { Stage::Room };
                Taken { turn, stage, failed: None, held: None }
            }
        };
        let number = (now.turn, Meeting::under_way(board));
        let mut turn = Turn::at((self, comm, board), &boarding.call, plan.identity(), number);
        if let Err(fault) = self.core.borrow_mut().check_fault(self.fabric()) {
            boarded.set(boarded.get() - 1);
            board.reuse.leave_line(now.turn);
            if form != Form::Short {
                turn.withdraw(now.turn);
            }
            return Err(fault);
        }
        turn.failed = now.failed.take();
        let next = match form {
            Form::Short => advance(&mut turn, &boarding.call, now.stage),
            _ if is_in_line => phases::advance(&mut turn, &boarding.call, form, now.stage),
            _ => long::advance(&mut turn, &boarding.call, now.stage, &mut now.held),
        };
        match next {
            Some(stage) => {
                *taken = Some(Taken { stage, failed: turn.failed, ..now });
                Ok(false)
            }
            None => {
                boarded.set(boarded.get() - 1);
                if form == Form::Short {
                    short::take(&turn, &boarding.call);
                }
                board.reuse.leave_line(turn.number);
                turn.finish().map(|()| true)
            }
        }
    }

    /// One round of a wait that may become a sleep, while collectives on boards are under way: nobody sends a letter when they can go on, so this rank says that it sleeps.
    #[cold]
    #[inline(never)]
    pub fn park_aboard(&self, rounds: u32, idle: Idle) -> Woke {
        let awake = if self.fabric().caps().own_cores {
            self.bide(rounds)
        } else {
            (rounds < YIELDS).then(|| self.park_now(rounds, Idle::Briefly))
        };
        if let Some(woke) = awake {
            return woke;
        }
        let lying: SmallVec<[(Rc<Board>, u32); 4]> =
            self.boards_in_use().into_iter().map(|board| (board.clone(), board.lie_down(None))).collect();
        if lying.iter().any(|(board, _)| board.ways.light) {
            self.fabric().fence_all();
        }
        // A signal that comes from now on keeps the fabric from sleeping.
        let woke = if self.advance_schedules() > 0 { Woke::Again } else { self.park_now(rounds, idle) };
        for (board, before) in lying.iter().rev() {
            board.get_up(*before);
        }
        woke
    }

    /// The boards of collectives under way, one for each of those.
    fn boards_in_use(&self) -> SmallVec<[Rc<Board>; 4]> {
        let active = self.schedules.active.borrow();
        let board = |plan: &Steps| match plan.steps.get(plan.next) {
            Some(Step::Board(boarding)) => {
                boarding.own.clone().or_else(|| plan.comm.as_ref()?.board().flatten().cloned())
            }
            _ => None,
        };
        active.iter().flatten().filter_map(board).collect()
    }
}

/// Goes on from a stage: the one in which it has to wait, or none if all that this member needs is there.
fn advance(turn: &mut Turn<'_>, call: &Call, stage: Stage) -> Option<Stage> {
    let mut stage = stage;
    if stage == Stage::Room {
        if short::laid(turn, call).is_some_and(|bytes| !turn.has_room(bytes)) {
            return Some(stage);
        }
        short::lay(turn, call);
        stage = stage_of(turn, short::awaits(turn, call))?;
    }
    look(turn, stage, &mut |turn| short::join(turn, call))
}

/// What a member waits for, if it does.
pub(super) fn stage_of(turn: &Turn<'_>, awaits: Awaits) -> Option<Stage> {
    match awaits {
        Awaits::Nobody => None,
        Awaits::Before => Some(Stage::Before),
        Awaits::Root(root) => Some(Stage::Note(root)),
        Awaits::All => Some(Stage::All(0)),
        Awaits::Meeting => Some(meeting(turn)),
    }
}

/// What a member waits for that has published its note, and that meets the others.
pub(super) fn meeting(turn: &Turn<'_>) -> Stage {
    match () {
        () if turn.meeting == Meeting::Flat => Stage::All(0),
        () if turn.board.is_last(turn.number) => Stage::Last(0),
        () => Stage::Middle,
    }
}

/// Goes on from a stage in which this member waits for the notes of others: the stage in which it still does, or none. The last who arrives does `last` before it lets the others go on.
pub(super) fn look(turn: &mut Turn<'_>, stage: Stage, last: &mut dyn FnMut(&mut Turn<'_>)) -> Option<Stage> {
    match stage {
        Stage::Room | Stage::Line | Stage::Phase(..) | Stage::Round(_) | Stage::Partner => Some(stage),
        Stage::Note(member) => (!turn.sees(member)).then_some(stage),
        Stage::Done(mut seen) => {
            let (me, members) = (turn.me(), turn.members());
            while seen + 1 < members && turn.is_done((me + seen + 1) % members) {
                seen += 1;
            }
            (seen + 1 < members).then_some(Stage::Done(seen))
        }
        Stage::Before => (!scan::sees_before(turn)).then_some(stage),
        Stage::Middle if !turn.is_let_go_on() => Some(stage),
        Stage::Middle => {
            turn.has_met();
            None
        }
        Stage::All(mut seen) | Stage::Last(mut seen) => {
            let (me, members) = (turn.me(), turn.members());
            while seen + 1 < members && turn.sees((me + seen + 1) % members) {
                seen += 1;
            }
            let is_last = matches!(stage, Stage::Last(_));
            if seen + 1 < members {
                return Some(if is_last { Stage::Last(seen) } else { Stage::All(seen) });
            }
            turn.has_met();
            if is_last {
                turn.let_go_on(last);
            }
            None
        }
    }
}

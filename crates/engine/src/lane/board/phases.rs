//! Long reductions on a board that go on while the rank makes progress: in phases, each of which begins when the others have come so far. They do what blocking ones do between two waits (`long`, `hall`).
//!
//! A member goes on with one of them at a time, in the order in which they were begun, which is that of all members.

use crate::lane::board::call::Form;
use crate::lane::board::turn::Turn;
use crate::lane::board::under_way::{look, meeting};
use crate::lane::board::{hall, long};
use crate::schedule::{Call, Stage};
use crate::values::memory::hall::{Hall, step};
use crate::values::memory::{Region, turns};
use crate::values::op::Op;

/// All have combined their slices.
const COMBINED: u32 = 1;
/// All have read what they need.
const READ: u32 = 2;

/// True if a call that a board serves in this form goes on in phases.
pub(super) fn serves(call: &Call, form: Form) -> bool {
    match form {
        Form::Hall => may_serve(call),
        Form::Long => matches!(call, Call::Allreduce { .. }),
        Form::Short | Form::Chain | Form::Slots(_) => false,
    }
}

/// True if some board might.
pub(super) fn may_serve(call: &Call) -> bool {
    matches!(call, Call::Allreduce { .. } | Call::Reduce { .. } | Call::ReduceScatter { .. })
}

/// Goes on from a stage: the one in which it has to wait, or none if it is done.
#[inline(never)]
pub(super) fn advance(turn: &mut Turn<'_>, call: &Call, form: Form, stage: Stage) -> Option<Stage> {
    if stage == Stage::Line && !turn.board.reuse.is_first_in_line(turn.number) {
        return Some(stage);
    }
    let me = turn.me() as usize;
    match (call, turn.board.hall()) {
        (Call::Allreduce { value, target, op }, _) if form == Form::Long => {
            where_they_lie(turn, (value, target, op), stage)
        }
        (Call::Allreduce { value, target, op }, Some(hall)) => {
            in_rounds(turn, &hall, (value, Some((target, 0)), op), stage)
        }
        (Call::Reduce { value, target, op, .. }, Some(hall)) => {
            let target = target.as_ref().map(|target| (target, 0));
            in_rounds(turn, &hall, (value, target, op), stage)
        }
        (Call::ReduceScatter { dealing, op, .. }, Some(hall)) => {
            let target = Some((&dealing.target, dealing.bounds[me]));
            in_rounds(turn, &hall, (&dealing.value, target, op), stage)
        }
        _ => unreachable!("a call that goes on in phases"),
    }
}

/// An all-reduction of values that the members read from each other.
fn where_they_lie(
    turn: &mut Turn<'_>,
    (value, target, op): (&Region, &Region, &Op),
    stage: Stage,
) -> Option<Stage> {
    let mut stage = stage;
    loop {
        stage = match stage {
            Stage::Line if turn.has_room(0) => {
                long::offer(turn, &[value, target]);
                meeting(turn)
            }
            Stage::All(_) | Stage::Last(_) | Stage::Middle => {
                if let Some(stage) = look(turn, stage, &mut |_| {}) {
                    return Some(stage);
                }
                if turn.failed.is_some() {
                    return None;
                }
                // The other one reads a value in place while this one writes it.
                if long::is_between_two(turn, value, op) && !value.same_place(target) {
                    long::combine_with_the_other(turn, value, target, op);
                    turn.enter_phase(READ);
                    Stage::Phase(READ, 0)
                } else {
                    long::combine_own_slice(turn, op, value, target);
                    turn.enter_phase(COMBINED);
                    Stage::Phase(COMBINED, 0)
                }
            }
            Stage::Phase(phase, mut seen) => {
                let (me, members) = (turn.me(), turn.members());
                while seen + 1 < members && turn.has_come((me + seen + 1) % members, phase) {
                    seen += 1;
                }
                if seen + 1 < members {
                    return Some(Stage::Phase(phase, seen));
                }
                if phase == READ {
                    return None;
                }
                if turn.failed.is_none() {
                    long::collect_slices(turn, turn.name(), target);
                }
                turn.enter_phase(READ);
                Stage::Phase(READ, 0)
            }
            _ => return Some(stage),
        }
    }
}

/// A reduction through the hall, a piece in each round.
fn in_rounds(
    turn: &mut Turn<'_>,
    hall: &Hall,
    (value, target, op): (&Region, Option<(&Region, u64)>, &Op),
    stage: Stage,
) -> Option<Stage> {
    let mut stage = stage;
    let each = hall.combined() / value.datatype().size();
    let piece = |round: u32| {
        let first = u64::from(round) * each;
        (first, each.min(value.count() - first))
    };
    let climb = |turn: &Turn<'_>, round: u32| {
        let (first, count) = piece(round);
        hall::climb(turn, hall, step(turn.number, round.into()), op, &value.elements(first, count));
    };
    loop {
        let round = match stage {
            Stage::Line if turn.try_enter_hall() => {
                climb(turn, 0);
                turn.publish(turn.me(), false);
                stage = meeting(turn);
                continue;
            }
            Stage::All(_) | Stage::Last(_) | Stage::Middle => {
                if let Some(stage) = look(turn, stage, &mut |_| {}) {
                    return Some(stage);
                }
                if turn.failed.is_some() {
                    return None;
                }
                0
            }
            Stage::Round(round) if turns::reached(hall.results()) >= step(turn.number, round.into()) => round,
            _ => return Some(stage),
        };
        let (first, count) = piece(round);
        if let Some(target) = target {
            hall::take(&hall.result(count, value.datatype()), first, target);
        }
        if first + count == value.count() {
            turn.board.reuse.has_reduced(turn.number);
            return None;
        }
        climb(turn, round + 1);
        if hall.is_last() {
            turn.show(hall.results(), step(turn.number, u64::from(round) + 1), turn.board.middle());
        }
        stage = Stage::Round(round + 1);
    }
}

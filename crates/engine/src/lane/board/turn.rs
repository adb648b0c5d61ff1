//! One turn of a board, as a member takes it: what it lays down, whom it waits for, and what it learns of them.
//!
//! A member that fails takes part without data, and says so: whoever needs them fails in the same way, so everybody ends. A member that is in another collective publishes another
//! mark, which nobody takes for the one expected: then all wait, and what each waits for can be asked.

use core::hint;
use core::sync::atomic::AtomicU64;

use crate::lane::statement::Interest;
use crate::lane::{Lane, signals};
use crate::schedule::{Builder, Call, Identity};
use crate::values::comm::Comm;
use crate::values::datatype::Datatype;
use crate::values::error::{Error, Result};
use crate::values::memory::board::{Board, Said};
use crate::values::memory::hall::step;
use crate::values::memory::reuse::{HallWay, Pieces};
use crate::values::memory::tried::Going;
use crate::values::memory::{Region, turns};

/// Looks at memory before a member looks at anything else: an answer that is on its way comes sooner.
pub(super) const GLANCES: u64 = 64;

/// So many bytes of a room are copied while a member looks once more for every 16 of them.
const ROOMFUL: u64 = 16 << 10;

/// Rounds of a wait in which a member that shares its core yields: each is a turn for those who are late, and to be woken costs as much as several.
pub(super) const YIELDS: u32 = 512;

/// Members of a board with a core each who all look at each other's notes; where there are more, one of each group does.
const FLAT: u32 = 16;

/// How the members of a board meet in a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meeting {
    /// Each looks at the notes of all others.
    Flat,
    /// One of each group looks at the notes of its group, and publishes its own when these are there; all look at those.
    Groups,
    /// All raise one counter, and the last who arrives lets the others go on: so each runs once, where cores are shared.
    Last,
}

impl Meeting {
    /// Where all wait until they have met.
    pub fn waiting(board: &Board) -> Meeting {
        match board.ways.own_cores {
            true if board.members() <= FLAT => Meeting::Flat,
            true => Meeting::Groups,
            false => Meeting::Last,
        }
    }

    /// Where they may do something else meanwhile: one who speaks might, while its group has long come, and all others would wait for it.
    pub fn under_way(board: &Board) -> Meeting {
        match Meeting::waiting(board) {
            Meeting::Groups => Meeting::Last,
            other => other,
        }
    }
}

impl Lane {
    /// Wakes those who sleep until a seat of a board has something for them.
    #[inline]
    pub(super) fn wake_members(&self, comm: &Comm, board: &Board, seat: u32) {
        if board.anybody_sleeps() {
            self.wake_sleepers(comm, board, seat);
        }
    }

    #[cold]
    fn wake_sleepers(&self, comm: &Comm, board: &Board, seat: u32) {
        for member in board.waiting_for(seat).filter(|member| *member != comm.rank()) {
            // One that is gone need not be woken.
            let _ = signals::call_up(self.fabric(), comm.node(member));
        }
    }
}

/// What a member publishes that has come to a phase of a turn.
fn phase_mark(turn: u64, phase: u32, failed: bool) -> u64 {
    step(turn, 2 * u64::from(phase) + u64::from(failed))
}

/// A turn that this member takes part in.
pub(super) struct Turn<'a> {
    pub lane: &'a Lane,
    pub comm: &'a Comm,
    pub board: &'a Board,
    pub number: u64,
    kind: u8,
    /// The bytes that all members agree on.
    bytes: u64,
    identity: Identity,
    pub meeting: Meeting,
    /// Which way long data go, between two.
    pub going: Going,
    pub failed: Option<Error>,
}

impl<'a> Turn<'a> {
    /// Begins the next turn, of a collective that waits.
    pub fn begin((lane, comm, board): (&'a Lane, &'a Comm, &'a Board), call: &Call) -> Turn<'a> {
        let context = comm.context().collective();
        let (name, bytes, number) = (call.name(), call.agreed_bytes(), Builder::next_number(comm));
        let identity = Identity { name, context, number, bytes };
        Turn::at((lane, comm, board), call, identity, (board.next_turn(), Meeting::waiting(board)))
    }

    /// A turn that was begun.
    pub fn at(
        (lane, comm, board): (&'a Lane, &'a Comm, &'a Board),
        call: &Call,
        identity: Identity,
        (number, meeting): (u64, Meeting),
    ) -> Turn<'a> {
        Turn {
            lane,
            comm,
            board,
            number,
            kind: call.which().kind(),
            bytes: call.bytes(),
            identity,
            meeting,
            going: Going::NOTHING,
            failed: None,
        }
    }

    /// Another turn of the same collective, in which nothing but notes is laid down.
    pub fn next(&mut self) -> Result<()> {
        self.number = self.board.next_turn();
        self.kind |= 0x80;
        self.make_room(0)
    }

    pub fn me(&self) -> u32 {
        self.comm.rank()
    }

    pub fn members(&self) -> u32 {
        self.board.members()
    }

    pub fn byte(&self) -> &'a Datatype {
        &self.lane.schedules.byte
    }

    /// True if this member speaks for its group.
    pub fn speaks(&self) -> bool {
        self.meeting == Meeting::Groups && self.board.groups.speaks(self.me())
    }

    /// Waits until this member may lay so many bytes down.
    pub fn make_room(&self, bytes: u64) -> Result<()> {
        let needed = self.board.reuse.needs(self.number, bytes);
        if self.board.reuse.is_passed(needed) {
            return Ok(());
        }
        self.free(needed)
    }

    /// Waits until all are done with a turn, this member with those that it has left open.
    #[cold]
    fn free(&self, turn: u64) -> Result<()> {
        self.pass(turn)?;
        self.wait_for(self.me(), &|| self.board.reuse.is_closed(turn))
    }

    /// Waits until all others are done with a turn.
    #[cold]
    fn pass(&self, turn: u64) -> Result<()> {
        let mut least = u64::MAX;
        for member in self.others() {
            self.wait(member, || self.board.done(member) >= turn)?;
            least = least.min(self.board.done(member));
        }
        self.board.reuse.has_passed(least);
        Ok(())
    }

    /// True if this member may lay so many bytes down: as [`make_room`](Turn::make_room), but it never waits.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.is_passed(self.board.reuse.needs(self.number, bytes))
    }

    /// True if all are done with a turn. Never waits.
    fn is_passed(&self, turn: u64) -> bool {
        if !self.board.reuse.is_passed(turn) {
            let least = self.others().map(|member| self.board.done(member)).min();
            self.board.reuse.has_passed(least.unwrap_or(u64::MAX));
        }
        self.board.reuse.is_passed(turn)
    }

    /// Waits until all others are done with this turn.
    pub fn await_all_done(&self) -> Result<()> {
        self.pass(self.number)
    }

    /// Before this member writes to the hall and publishes a note: waits until there is room for that, and until all others are done with what lay in the hall, unless this is one more
    /// reduction.
    pub fn enter_hall(&self, is_reduction: bool) -> Result<()> {
        self.make_room(0)?;
        let before = self.board.reuse.enter_hall(self.number);
        let is_free = before.way == HallWay::Reduction && is_reduction;
        if is_free || self.board.reuse.is_passed(before.turn) { Ok(()) } else { self.free(before.turn) }
    }

    /// As [`enter_hall`](Turn::enter_hall) for a reduction, but it never waits: true if this member has entered.
    pub fn try_enter_hall(&self) -> bool {
        let before = self.board.reuse.hall_use();
        // A later turn that has failed waits for this one.
        let is_free =
            before.way == HallWay::Reduction || before.turn >= self.number || self.is_passed(before.turn);
        let enters = is_free && self.has_room(0);
        if enters {
            self.board.reuse.enter_hall(self.number);
        }
        enters
    }

    /// Waits until the long collectives that this member has begun before, and that go on while it makes progress, are done.
    pub fn wait_in_line(&self) -> Result<()> {
        if self.board.reuse.has_line() {
            self.wait_for(self.me(), &|| !self.board.reuse.has_line())
        } else {
            Ok(())
        }
    }

    /// Publishes that this member has come to a phase of a long collective.
    pub fn enter_phase(&self, phase: u32) {
        let mark = phase_mark(self.number, phase, self.failed.is_some());
        self.show(self.board.phase(self.me()), mark, self.me());
    }

    /// True if a member has come to a phase; learns whether it has failed. Never waits.
    pub fn has_come(&mut self, member: u32, phase: u32) -> bool {
        let reached = turns::reached(self.board.phase(member));
        let has_come = reached >= phase_mark(self.number, phase, false);
        if has_come && reached & 1 == 1 && reached < step(self.number + 1, 0) {
            let node = self.comm.node(member).0;
            self.failed.get_or_insert(Error::PeerMemory { node, role: "send" });
        }
        has_come
    }

    /// Before this member fills a slot of the hall, one of so many, and publishes a note: waits until all others are done with what lay there.
    pub fn enter_slot(&self, slots: u64) -> Result<()> {
        self.make_room(0)?;
        let before = self.board.reuse.enter_slot(self.number, slots);
        if self.board.reuse.is_passed(before) { Ok(()) } else { self.free(before) }
    }

    /// Waits until this member's rooms are free for a chain, whose pieces are read by one other member alone: until all are done with what lay there, unless that was one more chain.
    pub fn enter_chain(&self, pieces: Pieces) -> Result<()> {
        self.make_room(0)?;
        let before = self.board.reuse.needs_for_chain(self.number, pieces);
        if !self.board.reuse.is_passed(before) {
            self.free(before)?;
        }
        self.board.reuse.enter_chain(self.number, pieces);
        Ok(())
    }

    /// True if a member is done with this turn.
    pub fn is_done(&self, member: u32) -> bool {
        self.board.done(member) >= self.number
    }

    /// Lays down data, for which there is [room](Turn::make_room), and publishes them; of a member that has failed, none.
    #[inline(never)]
    pub fn offer(&self, data: &Region) {
        self.lay_down(data, false);
        self.publish(self.me(), self.failed.is_some());
    }

    /// The same for a [meeting](Turn::meet).
    #[inline(never)]
    pub fn bring(&self, data: &Region) {
        if !self.was_laid() {
            self.lay_down(data, true);
            self.come();
        }
    }

    fn lay_down(&self, data: &Region, all_do: bool) {
        if self.failed.is_none() {
            self.board.lay_down(self.me(), self.number, data, all_do);
        }
    }

    /// Before a [meeting](Turn::meet): publishes that this member has come, unless it speaks for its group, and does so when that has.
    pub fn come(&self) {
        if !self.speaks() && !self.was_laid() {
            self.publish(self.me(), self.failed.is_some());
        }
    }

    /// True if that was done [at once](super::met): the others have seen it, and nothing of it may change.
    #[inline]
    fn was_laid(&self) -> bool {
        self.board.has_laid(self.number, self.kind, self.bytes)
    }

    /// Publishes what was laid down at a seat.
    pub fn publish(&self, seat: u32, failed: bool) {
        self.publish_as(self.kind, seat, failed);
    }

    /// The same by the mark of another kind.
    pub fn publish_as(&self, kind: u8, seat: u32, failed: bool) {
        self.publish_said(kind, seat, Said { failed, going: self.going, ..Said::of(self.bytes) });
    }

    #[inline(never)]
    fn publish_said(&self, kind: u8, seat: u32, said: Said) {
        self.board.publish(seat, self.number, kind, said);
        self.wake(seat);
    }

    /// Publishes a word beside the notes, for those who wait for this seat.
    pub fn show(&self, word: &AtomicU64, mark: u64, seat: u32) {
        self.board.show(word, mark);
        self.wake(seat);
    }

    /// Wakes those who sleep until a seat has something for them.
    #[inline]
    pub fn wake(&self, seat: u32) {
        self.lane.wake_members(self.comm, self.board, seat);
    }

    /// Waits until a seat shows this turn's mark.
    #[inline]
    pub fn await_note(&self, seat: u32) -> Result<()> {
        self.wait(seat, || self.board.shows(seat, self.number, self.kind))
    }

    /// Waits for the note of a member whose data this one needs, and compares what it says with what is expected.
    #[inline]
    pub fn await_data(&mut self, member: u32) -> Result<()> {
        self.await_note(member)?;
        self.inspect(member);
        Ok(())
    }

    /// True if the note of a member that may end without one is there, or will not come. Never waits.
    pub fn has_come_or_ended(&self, member: u32) -> bool {
        self.board.shows(member, self.number, self.kind) || self.is_done(member)
    }

    /// Compares what its note says with what is expected. One that has ended without a note has failed.
    pub fn inspect_or_fail(&mut self, member: u32) {
        if !self.sees(member) && self.failed.is_none() {
            self.note_misfit(member, Said { failed: true, ..Said::of(0) });
        }
    }

    /// True if a member's note is there, which is compared with what is expected. Never waits.
    pub fn sees(&mut self, member: u32) -> bool {
        let shown = self.board.shows(member, self.number, self.kind);
        if shown {
            self.inspect(member);
        }
        shown
    }

    /// Compares what a note says that is there with what is expected.
    pub fn inspect(&mut self, member: u32) {
        let said = self.board.said(member, self.number);
        let fits = said.bytes == self.bytes && !said.failed && said.going.now == self.going.now;
        if !fits && self.failed.is_none() {
            self.note_misfit(member, said);
        }
    }

    #[cold]
    fn note_misfit(&mut self, member: u32, said: Said) {
        let (received, expected) = (if said.failed { 0 } else { said.bytes }, self.bytes);
        self.failed = Some(if received == expected && !said.failed {
            Error::Internal { reason: "members of a board who disagree on the way of their data" }
        } else if received > expected {
            Error::Truncated { source: member, tag: 0, received, capacity: expected }
        } else {
            Error::Short { source: member, received, expected }
        });
    }

    /// Reads what the others have named in a turn of this collective, unless one of them has withdrawn it.
    #[inline(never)]
    pub fn read(
        &mut self,
        named: (u64, u8),
        from: &mut dyn Iterator<Item = u32>,
        each: &mut dyn FnMut(&mut Self, u32),
    ) {
        self.board.begin_reading();
        for member in from {
            if !self.board.shows(member, named.0, named.1) {
                let node = self.comm.node(member).0;
                self.failed.get_or_insert(Error::PeerLost { node });
                break;
            }
            each(self, member);
        }
        self.board.end_reading();
    }

    /// The turn and kind by which the others know what this member names now.
    pub fn name(&self) -> (u64, u8) {
        (self.number, self.kind)
    }

    /// Before this member goes away from a collective that could not end: nobody reads its memory any more, where others read it as their own.
    #[cold]
    pub fn withdraw(&self, named: u64) {
        // What all are done with is theirs no more, and may be another turn's.
        if self.board.ways.near && !self.is_passed(named) {
            self.board.withdraw(named);
            for member in self.others() {
                while self.board.reads(member) {
                    hint::spin_loop();
                }
            }
        }
    }

    /// The others, from the next on, so that not all look at the same one first.
    pub fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let (me, members) = (self.me(), self.members());
        (1..members).map(move |step| (me + step) % members)
    }

    /// Waits until all have [come](Turn::come), and learns of those who failed. Where not all look at all others, who speaks for its group, or the last who arrives, does `join` before it lets the others go on.
    #[inline(never)]
    pub fn meet(&mut self, join: &mut dyn FnMut(&mut Self)) -> Result<()> {
        match self.meeting {
            Meeting::Groups => return self.meet_in_groups(join),
            Meeting::Last if !self.board.is_last(self.number) => {
                self.await_note(self.board.middle())?;
                self.is_let_go_on();
                return Ok(());
            }
            Meeting::Flat | Meeting::Last => {}
        }
        for member in self.others() {
            self.await_data(member)?;
        }
        if self.meeting == Meeting::Last {
            self.let_go_on(join);
        }
        Ok(())
    }

    #[inline(never)]
    fn meet_in_groups(&mut self, join: &mut dyn FnMut(&mut Self)) -> Result<()> {
        let (me, groups, failed) = (self.me(), self.board.groups, self.failed.is_some());
        let mut met = (self, false);
        groups.meet(me, &mut met, Turn::see, |(turn, _)| {
            if turn.failed.is_none() {
                join(turn);
            }
            let spoilt = turn.failed.is_some();
            turn.publish_said(turn.kind, me, Said { failed, spoilt, ..Said::of(turn.bytes) });
        })?;
        let (turn, spoilt) = met;
        if spoilt {
            turn.inspect_all();
        }
        Ok(())
    }

    /// Waits for one of this member's group, or one who speaks for another: learns whether somebody there has failed.
    #[inline(never)]
    fn see((turn, spoilt): &mut (&mut Self, bool), member: u32) -> Result<()> {
        turn.await_data(member)?;
        *spoilt |= turn.board.said(member, turn.number).spoilt;
        Ok(())
    }

    /// What the last who arrives does, when it has seen the notes of all others.
    pub fn let_go_on(&mut self, last: &mut dyn FnMut(&mut Self)) {
        if self.failed.is_none() {
            last(self);
        }
        self.publish(self.board.middle(), self.failed.is_some());
    }

    /// True if the last has arrived, and has let the others go on: learns of those who failed. Never waits.
    pub fn is_let_go_on(&mut self) -> bool {
        let middle = self.board.middle();
        let is_let = self.board.shows(middle, self.number, self.kind);
        if is_let && self.board.said(middle, self.number).failed {
            self.inspect_all();
        }
        is_let
    }

    /// One of the others has failed: who, is to be seen in their notes, which are all there.
    #[cold]
    fn inspect_all(&mut self) {
        self.others().for_each(|member| self.inspect(member));
    }

    /// All have begun this turn, so they are done with the one before, unless they left it open.
    pub fn has_met(&self) {
        self.board.reuse.has_met(self.number);
    }

    /// This member needs nothing more of what the others have laid down; they may still need what it has.
    pub fn close(&self) {
        self.board.finish(self.number);
        self.wake(self.me());
    }

    /// This member is done.
    pub fn finish(self) -> Result<()> {
        if self.failed.is_some() {
            // Members who disagree may have taken this turn in another form.
            self.board.reuse.enter_hall(self.number);
        }
        self.close();
        self.lane.schedules.passed.set(Some(self.identity));
        self.failed.map_or(Ok(()), Err)
    }

    /// As [`wait`](Turn::wait), in one place for those who wait for something rare.
    #[inline(never)]
    pub fn wait_for(&self, seat: u32, done: &dyn Fn() -> bool) -> Result<()> {
        self.wait(seat, done)
    }

    /// Waits for something that a seat's member, or whoever writes to it, publishes.
    #[inline]
    pub fn wait(&self, seat: u32, done: impl Fn() -> bool) -> Result<()> {
        let glances = if self.board.ways.own_cores { GLANCES + self.bytes.min(ROOMFUL) / 16 } else { 1 };
        for _ in 0..glances {
            if done() {
                return Ok(());
            }
        }
        self.wait_long(seat, &done)
    }

    #[cold]
    fn wait_long(&self, seat: u32, mut done: &dyn Fn() -> bool) -> Result<()> {
        let lane = self.lane;
        let interest = Interest::Collective(self.identity);
        let Some(rounds) = lane.wait_awake(interest, YIELDS, &mut done)? else { return Ok(()) };
        let before = self.board.lie_down(Some(seat));
        if self.board.ways.light {
            lane.fabric().fence_all();
        }
        let waited = lane.wait_asleep(interest, rounds, &mut done);
        self.board.get_up(before);
        waited
    }
}

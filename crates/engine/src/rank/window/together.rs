//! A long accumulate on memory that only the system could reach, by both: the target fetches the data and combines it with memory of its own, which is one copy by the system;
//! the origin does other elements meanwhile, which are two. It has the target's lock for accumulates for both of them: nobody else changes what they change, and neither
//! touches the other's elements.

use alloc::vec::Vec;

use fabric::{Key, MemoryKind};
use processor::hints;

use crate::rank::Rank;
use crate::rank::window::accumulate::What;
use crate::rank::window::errand::{PIECE, Source, Wish};
use crate::rank::window::{Aim, Window};
use crate::values::error::Result;
use crate::values::memory::SendBuffer;
use crate::values::memory::desk::{DATA, Desk, Errand};
use crate::values::memory::place::Place;

/// Bytes from which on the origin does a part: for fewer its two calls of the system take longer than the target needs for all.
const SHARED: usize = 48 << 10;
/// Bytes that the target has done when those calls have begun.
const AHEAD: usize = 16 << 10;

/// An accumulate that is being done.
struct Together<'a> {
    window: &'a Window,
    aim: &'a Aim<'a>,
    place: &'a Place,
    /// Where the target's part begins in its memory.
    at: i64,
    what: &'a What,
    input: &'a [u8],
    /// By which the target reads the input.
    key: Key,
    desk: &'a Desk,
    /// Room for the elements that the origin changes.
    room: Vec<u8>,
}

impl Rank {
    /// Has a target accumulate more than fits its desk, from `at` on in its memory, with the help of this rank. How many bytes are done before it was to be done otherwise.
    pub(super) fn accumulate_together(
        &self,
        window: &Window,
        aim: &Aim<'_>,
        (place, at): (&Place, i64),
        what: &What,
        from: &SendBuffer,
    ) -> Result<usize> {
        let Some(input) = from.contiguous().filter(|input| input.len() > DATA) else { return Ok(0) };
        let Some(desk) = window.desks.get(aim.target as usize) else { return Ok(0) };
        let node = window.comm.node(aim.target);
        let Ok(key) = from.expose(self.fabric(), node, MemoryKind::Host) else { return Ok(0) };
        let mut together = Together { window, aim, place, at, what, input, key, desk, room: Vec::new() };
        let mut done = 0;
        let result = loop {
            match together.take_turn(self, done) {
                Ok(Some(end)) if end < input.len() => done = end,
                ended => break ended.map(|end| end.unwrap_or(done)),
            }
        };
        self.fabric().withdraw(key);
        result
    }
}

impl Together<'_> {
    /// Does what follows the first `done` bytes, as much as is done in one turn, and says where that ends; none of it if the target is not there, or cannot do that.
    fn take_turn(&mut self, rank: &Rank, done: usize) -> Result<Option<usize>> {
        let rest = self.input.len() - done;
        if rest < SHARED {
            let wish = self.wish(false);
            let source = self.source(rank, done).encode();
            let errand = (wish, self.at + done as i64, rest);
            let is_done = rank.ask(self.window, self.aim.target, errand, [&source, &[]], &mut [])?;
            return Ok(is_done.then_some(self.input.len()));
        }
        let Some(what) = self.wish(true).encode().filter(|_| self.at >= 0) else { return Ok(None) };
        // Who copies once does twice as much as who copies twice. A line is whole elements of all kinds that targets combine.
        let ours = (rest - AHEAD) / 3;
        let theirs = (rest - ours).min(PIECE) / hints::LINE * hints::LINE;
        let middle = done + theirs;
        let end = middle + (rest - theirs).min(PIECE / 2);
        let source = self.source(rank, done).encode();
        let errand = Errand { what, len: theirs as u32, at: (self.at + done as i64) as u64 };
        let mut answer = Ok(None);
        rank.with_accumulate_lock(self.window, self.aim.target, self.what.width().is_some(), || {
            if !self.desk.take() {
                return Ok(());
            }
            self.desk.ask(errand, [&source, &[]], 0);
            self.room.resize(PIECE / 2, 0);
            let room = &mut self.room[..end - middle];
            let changed =
                rank.change_part(self.aim, self.place, self.what, middle..end, self.input, &mut [], room);
            answer = rank.await_answer(self.desk, &mut []).map(Some);
            changed
        })?;
        let Some(is_done) = answer? else { return Ok(None) };
        if !is_done {
            let part = done..middle;
            rank.change_packed(self.window, self.aim, self.place, self.what, part, self.input, &mut [])?;
        }
        Ok(Some(end))
    }

    fn wish(&self, alone: bool) -> Wish {
        Wish::AccumulateFrom { op: self.what.op(), basic: self.what.basic(), alone }
    }

    fn source(&self, rank: &Rank, done: usize) -> Source {
        Source { node: rank.fabric().me(), key: self.key, at: done as u64 }
    }
}

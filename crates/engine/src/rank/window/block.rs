//! Blocks of one to three dimensions that move while the rank goes on: an extension, on the fabric's own transfers.
//!
//! Each is a request of its own. What ends an epoch, or completes what was done at a target, waits for those that are under way.

use alloc::vec::Vec;

use fabric::{Node, Shape, Ticket};

use crate::progress::tables::watch::Access;
use crate::rank::Rank;
use crate::rank::window::{Aim, Window};
use crate::values::datatype::{Basic, Datatype};
use crate::values::error::{Error, Result};
use crate::values::memory::Block;
use crate::values::memory::place::Place;
use crate::values::request::{RequestId, Status};

/// Blocks that are remembered before the program's waits are looked at.
const MANY: usize = 64;

/// A transfer that may be under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    request: RequestId,
    node: Node,
    target: u32,
}

impl Rank {
    /// Begins to move a block of this rank's (`puts`), or of a target's, to the other. The target's lies from a displacement on.
    pub fn move_block(
        &self,
        window: &Window,
        block: &Block,
        (target, displacement): (u32, i64),
        there: &Shape,
        puts: bool,
    ) -> Result<RequestId> {
        window.target(target)?;
        debug_assert!(block.shape().same_counts(there));
        if there.bytes() == 0 {
            return Ok(RequestId::SENT);
        }
        let byte = Datatype::basic(Basic::Byte);
        let end = there.end().filter(|end| *end <= isize::MAX as usize);
        let count = end.ok_or(Error::Buffer {
            reason: "the block at the target has more bytes than there are addresses",
        })?;
        let aim = Aim { target, displacement, count: count as u64, datatype: &byte };
        let kind = if puts { Access::Put } else { Access::Get };
        self.tell_access(window, &Aim { count: there.bytes() as u64, ..aim }, kind);
        let (node, key, offset) = match window.place(self, &aim, aim.count)? {
            Place::Near(near) => {
                window.stored.set(true);
                block.copy(near, there, puts);
                return Ok(RequestId::SENT);
            }
            Place::Far(node, key, offset) => (node, key, offset as usize),
            Place::Asked(..) => return self.ask_for_block(window, block, &aim, there, puts),
        };
        let there = Shape { offset: there.offset + offset, ..*there };
        // Before the transfer, which nobody would wait for if there were no room for its request.
        let request = self.lane.external_request()?;
        let began = block.begin(self.fabric(), (node, &key, &there), puts);
        if let Ok(ticket) = began
            && ticket != Ticket::DONE
        {
            self.lane.watch_transfer(request, ticket);
            self.forget_blocks(window)?;
            window.under_way.borrow_mut().push(UnderWay { request, node, target });
            window.has_under_way.set(true);
            return Ok(request);
        }
        self.lane.finish(request, Ok(Status::EMPTY));
        self.wait(request)?;
        let flushed = began.and_then(|_| self.settle(self.fabric().flush(node)?));
        flushed.map_err(|error| window.failed(target, error))?;
        Ok(RequestId::SENT)
    }

    /// Row by row, where no portal reaches the target.
    #[cold]
    fn ask_for_block(
        &self,
        window: &Window,
        block: &Block,
        aim: &Aim<'_>,
        there: &Shape,
        puts: bool,
    ) -> Result<RequestId> {
        let place = window.place(self, aim, aim.count)?;
        let mut rows = Vec::new();
        there.for_each_row(|at| rows.push(at as u64));
        let (mut rows, mut result) = (rows.into_iter(), Ok(()));
        if puts {
            block.read_rows(|row| {
                if let (Ok(()), Some(at)) = (result, rows.next()) {
                    result = self.store(&place, aim.datatype, at, row);
                }
            });
        } else {
            block.write_rows(|row| {
                if let (Ok(()), Some(at)) = (result, rows.next()) {
                    result = self.load(&place, aim.datatype, at, row);
                }
            });
        }
        result.map_err(|error| window.failed(aim.target, error))?;
        Ok(RequestId::SENT)
    }

    /// Blocks that the program has waited for need not be remembered for ever.
    fn forget_blocks(&self, window: &Window) -> Result<()> {
        if window.under_way.borrow().len() < MANY {
            return Ok(());
        }
        let is_over = |block: &UnderWay| self.state(block.request).is_err();
        let (over, others): (Vec<_>, Vec<_>) = window.under_way.take().into_iter().partition(is_over);
        *window.under_way.borrow_mut() = others;
        over.into_iter().try_for_each(|block| self.flush_block(window, block))
    }

    fn flush_block(&self, window: &Window, block: UnderWay) -> Result<()> {
        let flushed = self.fabric().flush(block.node).and_then(|ticket| self.settle(ticket));
        flushed.map_err(|error| window.failed(block.target, error))
    }

    /// Waits for the blocks that are under way to or from a member, or all, until they are there for everybody.
    #[inline]
    pub(super) fn settle_blocks(&self, window: &Window, member: Option<u32>) -> Result<()> {
        if window.has_under_way.get() { self.settle_some_blocks(window, member) } else { Ok(()) }
    }

    #[cold]
    fn settle_some_blocks(&self, window: &Window, member: Option<u32>) -> Result<()> {
        let is_meant = |block: &UnderWay| member.is_none_or(|member| member == block.target);
        let (meant, others): (Vec<_>, Vec<_>) = window.under_way.take().into_iter().partition(is_meant);
        window.has_under_way.set(!others.is_empty());
        *window.under_way.borrow_mut() = others;
        for block in meant {
            // One that the program has waited for is no more.
            if self.state(block.request).is_ok() {
                self.lane.wait_until(&mut |lane| lane.is_settled(block.request))?;
            }
            self.flush_block(window, block)?;
        }
        Ok(())
    }
}

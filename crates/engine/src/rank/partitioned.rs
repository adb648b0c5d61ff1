//! Partitioned messages (MPI chapter 4): the sender says part by part that its data may be read.
//!
//! The message travels as a whole when all its parts are ready. Sends and receives find each other when they are set up, by
//! source, tag and order, and not when they are started: so the sender gives each send a number, its *channel*, and tells the receiver of it in a message with the
//! user's tag, whose receive is posted at set-up, too. The data then travels with the channel's tag. Both are in a context of their own, in
//! which no other message is.

use alloc::rc::Rc;
use core::cell::Cell;

use crate::rank::Rank;
use crate::schedule::{Builder, Next, Step};
use crate::values::comm::Comm;
use crate::values::error::Result;
use crate::values::ids::{Dest, Source, Tag, TagMatch};
use crate::values::memory::{RecvBuffer, Region, SendBuffer};
use crate::values::request::{RequestId, Status};

/// What those who watch call the schedules of this file.
const NAME: &str = "partitioned";

/// The tag of a channel's data: below all tags of users, and never the one that means any.
fn data_tag(channel: u32) -> Tag {
    Tag::from_wire(-2 - (channel % (i32::MAX as u32 - 2)) as i32)
}

impl Rank {
    /// Sets up a send that leaves, once it is started, when `ready` says so (MPI_Psend_init).
    pub fn partitioned_send(
        &self,
        buffer: &SendBuffer,
        ready: &Rc<Cell<bool>>,
        dest: Dest,
        tag: Tag,
        comm: &Comm,
    ) -> Result<RequestId> {
        buffer.check()?;
        let channel = comm.next_channel();
        let mut b = Builder::for_partitions(self.shop(), comm, data_tag(channel), NAME);
        let ready = ready.clone();
        b.push(Step::Call(Rc::new(move |_| Ok(if ready.get() { Next::Step } else { Next::Stay }))));
        if let Dest::Rank(to) = dest {
            let word = SendBuffer::owned(channel.to_le_bytes().to_vec());
            let told = self.lane.isend_in(comm.context().partitioned(), &word, to, tag, comm)?;
            self.free(told)?;
            b.push(Step::Send { to, region: Region::from(buffer) });
        }
        self.lane.keep(b.finish())
    }

    /// Sets up a receive of such a message (MPI_Precv_init).
    pub fn partitioned_receive(
        &self,
        buffer: &RecvBuffer,
        source: Source,
        tag: Tag,
        comm: &Comm,
    ) -> Result<RequestId> {
        buffer.check()?;
        let mut b = Builder::for_partitions(self.shop(), comm, tag, NAME);
        let mut result = Next::Report(Status::NULL);
        if let Source::Rank(from) = source {
            let channel = b.scratch_bytes(4)?;
            let context = comm.context().partitioned();
            let told = self.lane.begin_receive(
                context,
                &channel.to_receive(),
                source,
                TagMatch::Is(tag),
                comm,
                false,
            )?;
            b.await_request(told);
            b.push(Step::Call(Rc::new(move |_| {
                let mut word = [0; 4];
                channel.load(&mut word);
                Ok(Next::Tag(data_tag(u32::from_le_bytes(word))))
            })));
            // As any receive, it may have room for more than comes.
            b.push(Step::Take { from, region: Region::from(buffer) });
            result = Next::Known(tag);
        }
        b.push(Step::Call(Rc::new(move |_| Ok(result))));
        self.lane.keep(b.finish())
    }
}

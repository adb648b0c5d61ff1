//! Messages between two ranks, blocking (MPI chapter 3).

use engine::Mode;

use crate::activity::Activity;
use crate::address::{Dest, Inward, Outward, Source, TagMatch};
use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::raw::datatype::{zeroed, zeroed_vec};
use crate::raw::{Buffer, BufferMut, Data, Datatype, flight};
use crate::status::Status;

/// Sending.
impl<K: Kind> Communicator<'_, K> {
    /// Sends a value or a slice and returns when it may be changed (MPI_Send). It may or may not wait for the receive.
    ///
    /// ```
    /// corelace::run(2, |world| {
    ///     if world.rank() == 0 {
    ///         world.send(&3.5, 1, 0).unwrap();
    ///         world.send(&[1u8, 2, 3][..], 1, 0).unwrap();
    ///     } else {
    ///         assert_eq!(world.recv::<f64>(0, 0).unwrap().0, 3.5);
    ///         assert_eq!(world.recv_vec::<u8>(0, 0).unwrap().0, [1, 2, 3]);
    ///     }
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn send<B: Buffer + ?Sized>(&self, data: &B, dest: impl Into<Dest>, tag: i32) -> Result<()> {
        self.send_as(Mode::Standard, data, dest.into(), tag)
    }

    /// As [`send`](Communicator::send), and returns only when the matching receive has started (MPI_Ssend).
    #[track_caller]
    pub fn synchronous_send<B: Buffer + ?Sized>(
        &self,
        data: &B,
        dest: impl Into<Dest>,
        tag: i32,
    ) -> Result<()> {
        self.send_as(Mode::Synchronous, data, dest.into(), tag)
    }

    /// As [`send`](Communicator::send), and never waits for the receive (MPI_Bsend): the message is copied, on account of the
    /// room that [`attach_buffer`](Communicator::attach_buffer) has set aside.
    #[track_caller]
    pub fn buffered_send<B: Buffer + ?Sized>(&self, data: &B, dest: impl Into<Dest>, tag: i32) -> Result<()> {
        self.send_as(Mode::Buffered, data, dest.into(), tag)
    }

    /// As [`send`](Communicator::send), for those who know that the receive is posted already (MPI_Rsend).
    #[track_caller]
    pub fn ready_send<B: Buffer + ?Sized>(&self, data: &B, dest: impl Into<Dest>, tag: i32) -> Result<()> {
        self.send_as(Mode::Ready, data, dest.into(), tag)
    }

    /// Sets `bytes` bytes aside for buffered sends of this rank, on whichever communicator (MPI_Buffer_attach, section 3.6).
    ///
    /// ```
    /// corelace::run(2, |world| {
    ///     world.attach_buffer(10_000).unwrap();
    ///     let other = 1 - world.rank();
    ///     world.buffered_send(&[world.rank(); 100][..], other, 0).unwrap();
    ///     assert_eq!(world.recv_vec::<usize>(other, 0).unwrap().0, [other; 100]);
    ///     assert_eq!(world.detach_buffer().unwrap(), 10_000);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn attach_buffer(&self, bytes: usize) -> Result<()> {
        self.process.call(|rank| rank.attach_buffer(engine::Holder::Process, 0, bytes as u64))
    }

    /// Waits until all buffered messages are sent, and gives the room up: its size (MPI_Buffer_detach).
    #[track_caller]
    pub fn detach_buffer(&self) -> Result<usize> {
        let detached = self.process.noted(Activity::Detach, || {
            self.process.call(|rank| rank.detach_buffer(engine::Holder::Process))
        })?;
        Ok(detached.1 as usize)
    }

    #[track_caller]
    fn send_as<B: Buffer + ?Sized>(&self, mode: Mode, data: &B, dest: Dest, tag: i32) -> Result<()> {
        let to = Outward::new(&self.comm, dest, tag)?;
        flight::send(self.process, mode, data, to, &self.comm)
    }
}

/// Receiving.
impl<K: Kind> Communicator<'_, K> {
    /// Receives one value (MPI_Recv). A message of another length is an error. The type often follows from use; else write
    /// `world.recv::<f64>(0, 7)`.
    ///
    /// From nobody (`None`), the value is all zeros, and the status has no source.
    #[track_caller]
    pub fn recv<T: Datatype>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<(T, Status)> {
        let mut value = zeroed();
        let status = self.recv_into(&mut value, source, tag)?;
        if status.source().is_some() && status.bytes() != T::SHAPE.bytes() {
            return Err(wrong_length::<T>(&status, "one value"));
        }
        Ok((value, status))
    }

    /// Receives into a value or a slice, which may be longer than the message: [`Status::count`] tells (MPI_Recv). A
    /// message that is longer than the slice is an error.
    #[track_caller]
    pub fn recv_into<B: BufferMut + ?Sized>(
        &self,
        buffer: &mut B,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<Status> {
        let from = Inward::new(&self.comm, source.into(), tag.into())?;
        flight::receive(self.process, buffer, from, &self.comm).map(Status)
    }

    /// Receives a message of any length (MPI_Mprobe and MPI_Mrecv).
    #[track_caller]
    pub fn recv_vec<T: Datatype>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<(Vec<T>, Status)> {
        self.matched_probe(source, tag)?.recv_vec()
    }

    /// Sends one message and receives another at the same time, so that neighbours who exchange messages do not wait for each
    /// other (MPI_Sendrecv, section 3.10).
    ///
    /// ```
    /// corelace::run(5, |world| {
    ///     let (next, previous) = ((world.rank() + 1) % 5, (world.rank() + 4) % 5);
    ///     let mut from_previous = 0;
    ///     world.send_recv(&world.rank(), next, 0, &mut from_previous, previous, 0).unwrap();
    ///     assert_eq!(from_previous, previous);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn send_recv<S: Buffer + ?Sized, R: BufferMut + ?Sized>(
        &self,
        data: &S,
        dest: impl Into<Dest>,
        send_tag: i32,
        buffer: &mut R,
        source: impl Into<Source>,
        recv_tag: impl Into<TagMatch>,
    ) -> Result<Status> {
        let to = Outward::new(&self.comm, dest.into(), send_tag)?;
        let from = Inward::new(&self.comm, source.into(), recv_tag.into())?;
        let (out, into) = ((data, to), (buffer, from));
        flight::exchange(self.process, out, into, &self.comm).map(Status)
    }

    /// Sends what is in `data` and receives another message into it (MPI_Sendrecv_replace).
    #[track_caller]
    pub fn send_recv_replace<B: Data + ?Sized>(
        &self,
        data: &mut B,
        dest: impl Into<Dest>,
        send_tag: i32,
        source: impl Into<Source>,
        recv_tag: impl Into<TagMatch>,
    ) -> Result<Status> {
        let outgoing = data.items().to_vec();
        self.send_recv(&outgoing[..], dest, send_tag, data, source, recv_tag)
    }
}

/// Looking before receiving.
impl<'job, K: Kind> Communicator<'job, K> {
    /// Waits for a message and tells of it without receiving it (MPI_Probe, section 3.8).
    #[track_caller]
    pub fn probe(&self, source: impl Into<Source>, tag: impl Into<TagMatch>) -> Result<Status> {
        let from = Inward::new(&self.comm, source.into(), tag.into())?;
        let probe = || self.process.call(|rank| rank.probe(from.source, from.tag, &self.comm));
        Ok(Status(self.process.noted(from.probing(), probe)?))
    }

    /// Tells of a message if there is one (MPI_Iprobe).
    pub fn try_probe(&self, source: impl Into<Source>, tag: impl Into<TagMatch>) -> Result<Option<Status>> {
        let from = Inward::new(&self.comm, source.into(), tag.into())?;
        let found = self.process.call(|rank| rank.iprobe(from.source, from.tag, &self.comm))?;
        Ok(found.map(Status))
    }

    /// Waits for a message and takes it out, so that no other receive can get it (MPI_Mprobe).
    ///
    /// ```
    /// use corelace::Any;
    ///
    /// corelace::run(2, |world| {
    ///     if world.rank() == 0 {
    ///         world.send(&[7u16; 9][..], 1, 3).unwrap();
    ///     } else {
    ///         let message = world.matched_probe(Any, Any).unwrap();
    ///         assert_eq!(message.status().count::<u16>(), Some(9));
    ///         let (numbers, _) = message.recv_vec::<u16>().unwrap();
    ///         assert_eq!(numbers, [7; 9]);
    ///     }
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    #[track_caller]
    pub fn matched_probe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<Message<'job>> {
        let from = Inward::new(&self.comm, source.into(), tag.into())?;
        let probe = || self.process.call(|rank| rank.mprobe(from.source, from.tag, &self.comm));
        let (message, status) = self.process.noted(from.probing(), probe)?;
        Ok(Message { process: self.process, message, status: Status(status) })
    }

    /// Takes a message out if there is one (MPI_Improbe).
    pub fn try_matched_probe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<Option<Message<'job>>> {
        let from = Inward::new(&self.comm, source.into(), tag.into())?;
        let found = self.process.call(|rank| rank.improbe(from.source, from.tag, &self.comm))?;
        let process = self.process;
        Ok(found.map(|(message, status)| Message { process, message, status: Status(status) }))
    }
}

/// A message that [`matched_probe`](Communicator::matched_probe) has taken out: only its holder can receive it. Dropping it
/// loses the message, and a sender that waits for its receive then waits for ever.
#[must_use = "the message can be received by nobody else"]
pub struct Message<'job> {
    process: &'job crate::raw::Process,
    message: engine::Message,
    status: Status,
}

impl Message<'_> {
    /// Where it comes from, its tag and its length.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Receives it into a value or a slice (MPI_Mrecv).
    #[track_caller]
    pub fn recv_into<B: BufferMut + ?Sized>(self, buffer: &mut B) -> Result<Status> {
        flight::receive_message(self.process, buffer, self.message).map(Status)
    }

    /// Receives it whole.
    #[track_caller]
    pub fn recv_vec<T: Datatype>(self) -> Result<(Vec<T>, Status)> {
        let Some(count) = self.status.count::<T>() else {
            let error = wrong_length::<T>(&self.status, "a whole number of values");
            // Received and dropped, so that its sender does not wait for ever.
            let mut ignored = zeroed_vec::<u8>(self.status.bytes());
            self.recv_into(&mut ignored[..])?;
            return Err(error);
        };
        let mut items = zeroed_vec(count);
        let status = self.recv_into(&mut items[..])?;
        Ok((items, status))
    }
}

fn wrong_length<T: Datatype>(status: &Status, expected: &str) -> Error {
    let (size, name) = (T::SHAPE.bytes(), std::any::type_name::<T>());
    let source = status.source().map_or(String::from("nobody"), |rank| format!("rank {rank}"));
    let tag = status.tag().unwrap_or(0);
    let bytes = status.bytes();
    Error::length(format!(
        "the message from {source} with tag {tag} has {bytes} bytes, expected {expected} of type {name} ({size} bytes each)"
    ))
}

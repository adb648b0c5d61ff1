//! Requests: operations under way, and waiting for them (MPI section 3.7).

use engine::{Mode, RequestId};

use crate::activity::Activity;
use crate::address::{Dest, Inward, Outward, Source, TagMatch};
use crate::communicator::Communicator;
use crate::error::Result;
use crate::kind::Kind;
use crate::raw::datatype::zeroed_vec;
use crate::raw::owned::Owned;
use crate::raw::scope::{Loan, Ticket};
use crate::raw::{Datatype, Process};
use crate::status::Status;

/// An operation under way.
///
/// Dropping a request does not end the operation: a scoped one is completed at the end of its scope, an owned send at the
/// latest when the job ends. A dropped owned receive is cancelled, or, if a message has met it already, completed and lost.
pub trait Request: Sized + private::Handle {
    /// What comes out of the operation.
    type Output;

    /// True once the operation is complete, so that [`wait`](Request::wait) returns at once; makes progress if it is not
    /// (MPI_Test).
    fn test(&mut self) -> Result<bool>;

    /// Waits for the operation and takes what comes out of it (MPI_Wait).
    #[track_caller]
    fn wait(self) -> Result<Self::Output>;
}

pub(crate) mod private {
    /// What waiting for several requests needs.
    pub trait Handle {
        fn id(&self) -> super::RequestId;
        fn process(&self) -> &super::Process;
    }
}

/// A send or a barrier in a scope.
pub struct SendRequest<'scope>(pub(crate) Ticket<'scope>);

/// A receive in a scope. Waiting for it gives the buffer back.
pub struct RecvRequest<'scope, B: ?Sized>(pub(crate) Loan<'scope, B>);

/// A collective with a result in a scope. Waiting for it gives the buffer of the result back.
pub struct CollectiveRequest<'scope, B: ?Sized>(pub(crate) Loan<'scope, B>);

/// A [persistent](crate::Persistent) operation that was started. Waiting for it gives access to its buffers again.
#[must_use = "the buffers can be reached once this was waited for"]
pub struct Started<'r>(pub(crate) Ticket<'r>);

/// A send that owns what it sends. Waiting for it gives the vector back.
pub struct OwnedSend<'job, T: Datatype>(Owned<'job, T>);

/// A receive that owns its buffer. Waiting for it gives what has come.
pub struct OwnedRecv<'job, T: Datatype>(Owned<'job, T>);

impl<'job, K: Kind> Communicator<'job, K> {
    /// Starts a send of a vector, which the request keeps until it is sent (MPI_Isend).
    ///
    /// Without a scope, a request can be kept anywhere as long as the job lasts:
    ///
    /// ```
    /// use corelace::Request;
    ///
    /// corelace::run(2, |world| {
    ///     let other = 1 - world.rank();
    ///     let sending = world.isend_owned(vec![world.rank(); 100], other, 0).unwrap();
    ///     let receiving = world.irecv_owned::<usize>(1000, other, 0).unwrap();
    ///     let (received, _) = receiving.wait().unwrap();
    ///     assert_eq!(received, [other; 100]);
    ///     let again = sending.wait().unwrap();
    ///     assert_eq!(again, [world.rank(); 100]);
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn isend_owned<T: Datatype>(
        &self,
        data: Vec<T>,
        dest: impl Into<Dest>,
        tag: i32,
    ) -> Result<OwnedSend<'job, T>> {
        let to = Outward::new(&self.comm, dest.into(), tag)?;
        Owned::send(self.process, Mode::Standard, data, to, &self.comm).map(OwnedSend)
    }

    /// Starts a receive of up to `capacity` elements into a vector of its own (MPI_Irecv).
    pub fn irecv_owned<T: Datatype>(
        &self,
        capacity: usize,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<OwnedRecv<'job, T>> {
        let from = Inward::new(&self.comm, source.into(), tag.into())?;
        Owned::receive(self.process, zeroed_vec(capacity), from, &self.comm).map(OwnedRecv)
    }
}

/// Waits for all requests; their results in the same order (MPI_Waitall). After an error the remaining ones are dropped.
///
/// ```
/// use corelace::wait_all;
///
/// corelace::run(4, |world| {
///     if world.rank() > 0 {
///         return world.send(&(world.rank() * 10), 0, 0);
///     }
///     let mut values = [0; 3];
///     world.scope(|s| {
///         let requests: Result<Vec<_>, _> =
///             values.iter_mut().enumerate().map(|(i, value)| s.irecv(value, i + 1, 0)).collect();
///         for (value, status) in wait_all(requests?)? {
///             assert_eq!(*value, status.source().unwrap() * 10);
///         }
///         Ok(())
///     })
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
#[track_caller]
pub fn wait_all<R: Request>(requests: impl IntoIterator<Item = R>) -> Result<Vec<R::Output>> {
    let requests = requests.into_iter();
    let mut outputs = Vec::with_capacity(requests.size_hint().0);
    // Not by a closure: it would be the caller whose line is told of a wait in vain.
    for request in requests {
        outputs.push(request.wait()?);
    }
    Ok(outputs)
}

/// Waits for the first of the requests, takes it out of the vector, and gives its place there and its result (MPI_Waitany).
/// `None` if there are none.
#[track_caller]
pub fn wait_any<R: Request>(requests: &mut Vec<R>) -> Result<Option<(usize, R::Output)>> {
    let Some(process) = requests.first().map(|request| request.process()) else { return Ok(None) };
    let ids: Vec<_> = requests.iter().map(|request| Some(request.id())).collect();
    let activity = Activity::FirstOf { requests: ids.len() as u32 };
    let first = process.noted(activity, || process.call(|rank| rank.wait_any(&ids)))?;
    let Some(index) = first else { return Ok(None) };
    requests.remove(index).wait().map(|output| Some((index, output)))
}

/// Takes the first request that is complete out of the vector, if there is one (MPI_Testany).
#[track_caller]
pub fn test_any<R: Request>(requests: &mut Vec<R>) -> Result<Option<(usize, R::Output)>> {
    let Some(process) = requests.first().map(|request| request.process()) else { return Ok(None) };
    let ids: Vec<_> = requests.iter().map(|request| Some(request.id())).collect();
    match process.call(|rank| rank.test_any(&ids))? {
        engine::Found::Complete(index) => requests.remove(index).wait().map(|output| Some((index, output))),
        engine::Found::Pending | engine::Found::NoneActive => Ok(None),
    }
}

impl SendRequest<'_> {
    /// See [`Request::test`].
    pub fn test(&mut self) -> Result<bool> {
        self.0.test()
    }

    /// See [`Request::wait`].
    #[track_caller]
    pub fn wait(self) -> Result<()> {
        self.0.wait().map(|_| ())
    }
}

impl<'scope, B: ?Sized> RecvRequest<'scope, B> {
    /// See [`Request::test`].
    pub fn test(&mut self) -> Result<bool> {
        self.0.ticket.test()
    }

    /// See [`Request::wait`].
    #[track_caller]
    pub fn wait(self) -> Result<(&'scope mut B, Status)> {
        self.0.wait().map(|(buffer, status)| (buffer, Status(status)))
    }
}

impl<'scope, B: ?Sized> CollectiveRequest<'scope, B> {
    /// See [`Request::test`].
    pub fn test(&mut self) -> Result<bool> {
        self.0.ticket.test()
    }

    /// See [`Request::wait`].
    #[track_caller]
    pub fn wait(self) -> Result<&'scope mut B> {
        self.0.wait().map(|(buffer, _)| buffer)
    }
}

impl Started<'_> {
    /// See [`Request::test`].
    pub fn test(&mut self) -> Result<bool> {
        self.0.test()
    }

    /// See [`Request::wait`].
    #[track_caller]
    pub fn wait(self) -> Result<Status> {
        self.0.wait_round().map(Status)
    }
}

impl<T: Datatype> OwnedSend<'_, T> {
    /// See [`Request::test`].
    pub fn test(&mut self) -> Result<bool> {
        self.0.test()
    }

    /// See [`Request::wait`].
    #[track_caller]
    pub fn wait(self) -> Result<Vec<T>> {
        self.0.wait().map(|(items, _)| items)
    }
}

impl<T: Datatype> OwnedRecv<'_, T> {
    /// See [`Request::test`].
    pub fn test(&mut self) -> Result<bool> {
        self.0.test()
    }

    /// See [`Request::wait`]. The vector is as long as the message; the last element of a message that ends within one is
    /// left out.
    #[track_caller]
    pub fn wait(self) -> Result<(Vec<T>, Status)> {
        let (mut items, status) = self.0.wait()?;
        items.truncate(status.bytes as usize / T::SHAPE.bytes().max(1));
        Ok((items, Status(status)))
    }
}

macro_rules! requests {
    ($([$($generic:tt)*] $type:ty => $output:ty $(, through $field:ident)?;)*) => {
        $(
            impl<$($generic)*> private::Handle for $type {
                fn id(&self) -> RequestId {
                    self.0$(.$field)?.id()
                }

                fn process(&self) -> &Process {
                    self.0$(.$field)?.process()
                }
            }

            impl<$($generic)*> Request for $type {
                type Output = $output;

                fn test(&mut self) -> Result<bool> {
                    <$type>::test(self)
                }

                #[track_caller]
                fn wait(self) -> Result<$output> {
                    <$type>::wait(self)
                }
            }
        )*
    };
}

requests! {
    ['scope] SendRequest<'scope> => ();
    ['scope, B: ?Sized] RecvRequest<'scope, B> => (&'scope mut B, Status), through ticket;
    ['scope, B: ?Sized] CollectiveRequest<'scope, B> => &'scope mut B, through ticket;
    ['r] Started<'r> => Status;
    ['job, T: Datatype] OwnedSend<'job, T> => Vec<T>;
    ['job, T: Datatype] OwnedRecv<'job, T> => (Vec<T>, Status);
}

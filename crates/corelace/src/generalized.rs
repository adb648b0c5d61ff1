//! Generalized requests: operations of the program's own that are waited for as others are (MPI section 13.2).

use std::cell::Cell;
use std::rc::Rc;

use engine::RequestId;

use crate::activity::Activity;
use crate::communicator::Communicator;
use crate::error::Result;
use crate::kind::Kind;
use crate::raw::{Process, flight};
use crate::request::{Request, private};

/// An operation of the program's own, under way until its [`Completer`] says so. See [`Communicator::generalized_request`].
pub struct GeneralizedRequest<'job, T> {
    process: &'job Process,
    id: RequestId,
    /// Gives the result; gone once it was given.
    query: Option<Box<dyn FnOnce() -> T + 'job>>,
    cancel: Option<Box<dyn FnMut(bool) + 'job>>,
    stage: Rc<Cell<Stage>>,
}

/// Completes a [`GeneralizedRequest`]. Dropping it ends the request with an error, because nobody else could end it.
#[must_use = "dropping it ends its request with an error"]
pub struct Completer<'job> {
    process: &'job Process,
    id: RequestId,
    stage: Rc<Cell<Stage>>,
}

/// Where the two stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    UnderWay,
    Complete,
    /// Nobody will wait for it.
    Abandoned,
}

impl<'job, K: Kind> Communicator<'job, K> {
    /// A request that the program completes itself, so that it can be waited for together with others (MPI_Grequest_start). `query` gives its result, when it is
    /// waited for.
    ///
    /// ```
    /// use corelace::{Request, wait_any};
    /// use std::{cell::Cell, rc::Rc};
    ///
    /// corelace::run(1, |world| {
    ///     // A piece of work that is done step by step, between other things.
    ///     let sum = Rc::new(Cell::new(0));
    ///     let result = sum.clone();
    ///     let (mut request, completer) = world.generalized_request(move || result.get())?;
    ///     for step in 0..10 {
    ///         sum.set(sum.get() + step);
    ///         assert!(!request.test()?);
    ///     }
    ///     completer.complete();
    ///     assert!(request.test()?);
    ///     assert_eq!(wait_any(&mut vec![request])?, Some((0, 45)));
    ///
    ///     // What a cancelled request does about it is up to its closure.
    ///     let asked = Rc::new(Cell::new(None));
    ///     let told = asked.clone();
    ///     let (request, completer) = world.generalized_request(|| ())?;
    ///     let mut request = request.on_cancel(move |complete| told.set(Some(complete)));
    ///     request.cancel();
    ///     assert_eq!(asked.get(), Some(false));
    ///     drop(completer);
    ///     assert!(request.wait().is_err(), "nobody is left who could complete it");
    ///     Ok::<(), corelace::Error>(())
    /// })?;
    /// # Ok::<(), corelace::RunError>(())
    /// ```
    pub fn generalized_request<T>(
        &self,
        query: impl FnOnce() -> T + 'job,
    ) -> Result<(GeneralizedRequest<'job, T>, Completer<'job>)> {
        let (process, stage) = (self.process, Rc::new(Cell::new(Stage::UnderWay)));
        let id = process.call(|rank| rank.external_request())?;
        let query: Option<Box<dyn FnOnce() -> T + 'job>> = Some(Box::new(query));
        let request = GeneralizedRequest { process, id, query, cancel: None, stage: stage.clone() };
        Ok((request, Completer { process, id, stage }))
    }
}

impl Completer<'_> {
    /// Completes the request (MPI_Grequest_complete).
    pub fn complete(self) {
        self.finish(Ok(engine::Status::EMPTY));
    }

    fn finish(&self, outcome: engine::Result<engine::Status>) {
        let before = self.stage.replace(Stage::Complete);
        if before == Stage::Complete || self.process.is_stalled() {
            return;
        }
        self.process.rank().finish(self.id, outcome);
        if before == Stage::Abandoned {
            let _ = self.process.rank().take(self.id);
        }
    }
}

impl Drop for Completer<'_> {
    fn drop(&mut self) {
        self.finish(Err(engine::Error::Request {
            reason: "the generalized request was given up by the one who was to complete it",
        }));
    }
}

impl<'job, T> GeneralizedRequest<'job, T> {
    /// What happens when the request is cancelled: the closure is told whether it was complete.
    pub fn on_cancel(mut self, cancel: impl FnMut(bool) + 'job) -> GeneralizedRequest<'job, T> {
        self.cancel = Some(Box::new(cancel));
        self
    }

    /// Asks for the operation to be cancelled (MPI_Cancel). It still has to be completed.
    pub fn cancel(&mut self) {
        let complete = self.stage.get() == Stage::Complete;
        if let Some(cancel) = &mut self.cancel {
            cancel(complete);
        }
    }

    /// See [`Request::test`].
    pub fn test(&mut self) -> Result<bool> {
        if self.stage.get() != Stage::Complete {
            self.process.call(|rank| rank.poke())?;
        }
        Ok(self.stage.get() == Stage::Complete)
    }

    /// See [`Request::wait`].
    #[track_caller]
    pub fn wait(mut self) -> Result<T> {
        let query = self.query.take().expect("the result is given once");
        flight::complete(self.process, self.id, Activity::Generalized)?;
        Ok(query())
    }
}

impl<T> Drop for GeneralizedRequest<'_, T> {
    fn drop(&mut self) {
        // One that was waited for has no query any more, and nothing in the engine.
        if self.query.is_none() || self.process.is_stalled() {
            return;
        }
        if self.stage.get() == Stage::Complete {
            let _ = self.process.rank().take(self.id);
        } else {
            self.stage.set(Stage::Abandoned);
        }
    }
}

impl<T> private::Handle for GeneralizedRequest<'_, T> {
    fn id(&self) -> RequestId {
        self.id
    }

    fn process(&self) -> &Process {
        self.process
    }
}

impl<T> Request for GeneralizedRequest<'_, T> {
    type Output = T;

    fn test(&mut self) -> Result<bool> {
        GeneralizedRequest::test(self)
    }

    #[track_caller]
    fn wait(self) -> Result<T> {
        GeneralizedRequest::wait(self)
    }
}

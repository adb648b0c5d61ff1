//! How a process gets into its job and out of it: the seam to the composition root.

use engine::Rank;

/// A joined job: the engine's rank, and the way to end.
pub(crate) struct Job {
    pub(crate) rank: Rank,
    control: Box<dyn Control>,
}

/// What the surroundings of a rank must be able to do.
pub(crate) trait Control {
    /// Ends all processes of the job with an exit code and a message.
    fn abort(&self, code: i32, message: &str) -> !;

    /// This rank has finalised: its end is no longer an accident.
    fn finalized(&self);
}

impl Job {
    pub(crate) fn new(rank: Rank, control: Box<dyn Control>) -> Self {
        Self { rank, control }
    }

    pub(crate) fn abort(&self, code: i32, message: &str) -> ! {
        self.control.abort(code, message)
    }

    pub(crate) fn finalized(&self) {
        self.control.finalized();
    }
}

/// Joins the job that this process was started for. The text says why it failed.
pub(crate) fn join() -> Result<Job, String> {
    Err("this build has no way to join a job".to_owned())
}

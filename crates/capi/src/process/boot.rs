//! How a process gets into its job: the seam to the composition root.

pub(crate) use runtime::Job;

/// Joins the job that this process was started for, or a job of its own. The text says why it failed.
pub(crate) fn join() -> Result<Job, String> {
    runtime::join().map_err(|error| error.to_string())
}

/// Ends the job of a process that has not joined it.
pub(crate) fn give_up(code: i32, message: &str) -> ! {
    runtime::give_up(code, message)
}

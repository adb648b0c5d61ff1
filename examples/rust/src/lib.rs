//! What the example programs share: where their ranks come from.
//!
//! Under `mpirun`, a program is one rank of the job. With `--ranks N` it runs N ranks by itself, as fibers; without either it is
//! a job of one.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use corelace::{BoxError, Communicator, Job};

/// Runs an example: `body` gets the communicator of all ranks and the arguments, without `--ranks N`.
pub fn run(body: impl Fn(&Communicator<'_>, &[String]) -> Result<(), BoxError> + Sync) -> ExitCode {
    match start(&body) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn start<F>(body: &F) -> Result<(), BoxError>
where
    F: Fn(&Communicator<'_>, &[String]) -> Result<(), BoxError> + Sync,
{
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(place) = arguments.iter().position(|argument| argument == "--ranks") {
        let ranks = arguments.get(place + 1).and_then(|count| count.parse().ok());
        let ranks = ranks.ok_or("--ranks needs a number")?;
        arguments.drain(place..place + 2);
        Job::new(ranks).try_run(|world| body(&world, &arguments))?;
        return Ok(());
    }
    let universe = corelace::init()?;
    if let Err(error) = body(&universe.world(), &arguments) {
        // The other ranks may wait for this one.
        universe.abort(1, &format!("rank {} failed: {error}", universe.world().rank()));
    }
    Ok(universe.finalize()?)
}

/// The number at a place of the arguments, or a default.
pub fn number(arguments: &[String], place: usize, default: usize) -> Result<usize, BoxError> {
    match arguments.get(place) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| format!("\"{text}\" is given, expected a number").into()),
    }
}

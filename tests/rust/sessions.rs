//! A program in Rust whose processes come and go by sessions, before, beside and after its universe; `tests/examples.rs` launches it.

use std::process::ExitCode;

use corelace::{BoxError, ProcessSet, Resource, Session, SplitType, op};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// What a library does that knows nothing of its program: counts the processes.
fn count(name: &str) -> Result<usize, BoxError> {
    let session = Session::new()?;
    let comm = session.communicator(&session.group(ProcessSet::World), name)?;
    Ok(comm.allreduce(&1usize, op::sum())?)
}

fn run() -> Result<(), BoxError> {
    // All users go, and come again, some more often than others.
    let ranks = count("before")?;
    let alone = Session::new()?;
    let me = {
        let comm = alone.communicator(&alone.group(ProcessSet::World), "me")?;
        comm.rank()
    };
    alone.finalize()?;
    for _ in 0..me {
        let own = Session::new()?;
        assert_eq!(own.communicator(&own.group(ProcessSet::Own), "own")?.size(), 1);
    }

    // A message that is sent before the world begins and received after it has ended.
    let session = Session::new()?;
    let all = session.group(ProcessSet::World);
    let comm = session.communicator(&all, "letters")?;
    comm.isend_owned(vec![me; 10], (me + 1) % ranks, 5)?.wait()?;
    let universe = corelace::init()?;
    let world = universe.world();
    assert_eq!((world.rank(), world.size(), count("beside")?), (me, ranks, ranks));

    // Processes of one machine share its memory, and there is nothing smaller.
    let here = world.split_type(Some(SplitType::Shared), 0)?.ok_or("every process is somewhere")?;
    assert_eq!((here.rank(), here.size()), (me, ranks));
    assert!(world.split_type(Some(SplitType::HardwareUnguided), 0)?.is_none());
    let own = Resource::ProcessSet(ProcessSet::World);
    assert!(world.split_type(Some(SplitType::ResourceGuided(own)), 0)?.is_some());

    universe.finalize()?;
    assert_eq!(comm.recv_vec::<usize>((me + ranks - 1) % ranks, 5)?.0, [(me + ranks - 1) % ranks; 10]);
    comm.barrier()?;
    drop((comm, all));
    session.finalize()?;
    let after = count("after")?;
    if me == 0 {
        println!("{after} processes came and went");
    }
    Ok(())
}

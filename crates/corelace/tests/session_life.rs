//! The life of a process that has sessions before, beside and after its universe.
//!
//! A process joins its job once, so this is one test, in a process of its own.

use corelace::{ProcessSet, Session, Universe, op};

use crate::own_process::in_own_process;

/// What a library does that tells nobody that it uses MPI.
fn library(value: u32) -> u32 {
    let session = Session::new().unwrap();
    let comm = session.communicator(&session.group(ProcessSet::World), "org.example.library").unwrap();
    comm.allreduce(&value, op::sum()).unwrap()
}

#[test]
fn a_process_is_part_of_its_job_as_long_as_somebody_uses_it_and_again() {
    in_own_process(
        "session_life::a_process_is_part_of_its_job_as_long_as_somebody_uses_it_and_again",
        || {
            // Before the universe; the process is at rest in between.
            assert_eq!(library(1) + library(2), 3);
            let early = Session::new().unwrap();
            let first = early.communicator(&early.group(ProcessSet::Own), "first").unwrap();

            // Beside it.
            let universe = corelace::init().unwrap();
            assert_eq!(library(3), 3);
            assert_eq!(universe.world().allreduce(&1u32, op::sum()).unwrap(), 1);
            let again = corelace::init().err().expect("there is one world");
            assert_eq!(again.to_string(), "this process has joined a job before; it can do so once");

            // Other threads find nothing, and get nothing while this one has a session.
            let elsewhere =
                std::thread::spawn(|| Session::new().map(drop).unwrap_err().to_string()).join().unwrap();
            assert!(elsewhere.contains("in another thread"), "{elsewhere}");
            let universe: Universe = universe.serialized().err().expect("a session is open");
            assert_eq!(universe.world().size(), 1, "it is still good");

            // After it: a session outlives the world.
            universe.finalize().unwrap();
            first.barrier().unwrap();
            drop(first);
            early.finalize().unwrap();
            assert_eq!(library(4), 4);
            assert!(corelace::init().is_err(), "the world does not come back");
        },
    );
}

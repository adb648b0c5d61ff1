//! A universe that was shared by threads, and sessions where it went.
//!
//! A process joins its job once, so this is one test, in a process of its own.

use corelace::{ProcessSet, Session};

use crate::own_process::in_own_process;

#[test]
fn sessions_follow_a_universe_to_the_thread_that_it_goes_to() {
    in_own_process("session_threads::sessions_follow_a_universe_to_the_thread_that_it_goes_to", || {
        let shared = corelace::init().unwrap().serialized().ok().expect("no session");
        assert!(Session::new().is_err(), "the rank is for whoever has the turn");
        let size = shared.with(|world| {
            assert!(Session::new().is_err(), "also in a turn: it could stay");
            let session = world.session();
            let comm = session.communicator(&session.group(ProcessSet::World), "in a turn")?;
            comm.barrier()?;
            Ok(comm.size())
        });
        assert_eq!(size.unwrap(), 1);

        std::thread::spawn(|| {
            let universe = shared.into_universe().ok().expect("the only one");
            let session = Session::new().unwrap();
            let universe = universe.serialized().err().expect("a session is open");
            universe.finalize().unwrap();
            session.communicator(&session.group(ProcessSet::Own), "alone").unwrap().barrier().unwrap();
            drop(session);
            let again = Session::new().unwrap();
            assert_eq!(again.group(ProcessSet::World).size(), 1);
        })
        .join()
        .unwrap();
        assert!(Session::new().is_err(), "the thread that had it is gone");
    });
}

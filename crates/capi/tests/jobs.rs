//! What C programs see, in jobs of several processes.

use std::process::Command;

use crate::library::{Library, mpirun, succeed};

/// Runs one of the test programs on some ranks; it returns zero if it saw what it expected.
fn run(source: &str) {
    let program = Library::build().program(source);
    for ranks in ["1", "2", "3", "5"] {
        succeed(Command::new(mpirun()).args(["--timeout", "60", "-n", ranks]).arg(&program));
    }
}

#[test]
fn messages_arrive_in_all_modes_and_forms() {
    run("messages.c");
}

#[test]
fn collectives_and_communicators_work_on_any_number_of_ranks() {
    run("collectives.c");
}

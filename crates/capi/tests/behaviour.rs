//! What C programs see, in a job of one process.

use std::process::{Command, Output};

use crate::library::{Library, succeed};

fn run(source: &str, arguments: &[&str]) -> Output {
    Command::new(Library::build().program(source)).args(arguments).output().unwrap()
}

#[test]
fn wrong_arguments_give_the_right_class_and_a_full_sentence() {
    succeed(&mut Command::new(Library::build().program("errors.c")));
}

#[test]
fn objects_behave_as_the_standard_says() {
    succeed(&mut Command::new(Library::build().program("objects.c")));
}

#[test]
fn derived_datatypes_place_and_move_data_as_the_standard_says() {
    succeed(&mut Command::new(Library::build().program("datatypes.c")));
}

#[test]
fn a_call_before_init_and_one_after_finalize_end_the_program_with_a_sentence() {
    let early = run("outside.c", &[]);
    let text = String::from_utf8_lossy(&early.stderr).into_owned();
    assert!(!early.status.success() && text.contains("MPI_Comm_rank: called before MPI_Init"), "{text}");
    let late = run("outside.c", &["late"]);
    let text = String::from_utf8_lossy(&late.stderr).into_owned();
    assert!(!late.status.success() && text.contains("called after MPI_Finalize"), "{text}");
}

#[test]
fn an_error_under_the_default_handler_ends_the_job_and_says_why() {
    let output = run("fatal.c", &[]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && output.stdout.is_empty());
    for part in ["MPI_Send on rank 0", "dest is 77", "MPI_ERR_RANK", "MPI_ERRORS_ARE_FATAL"] {
        assert!(text.contains(part), "no \"{part}\" in: {text}");
    }
}

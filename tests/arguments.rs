//! Wrong arguments: the right error class and a sentence, under every kind of error handler.
//!
//! The mistakes are in `c/mistakes.c`, with the words that a reader must find.

use crate::support::{MODES, on, program};

#[test]
fn every_mistake_returns_its_class_and_a_sentence_and_breaks_nothing() {
    for mode in MODES {
        on(mode, 2, &program("mistakes.c")).run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn every_mistake_under_the_default_handler_ends_the_job_with_a_sentence() {
    let mistakes = program("mistakes.c");
    let list = on("process", 2, &mistakes).argument("list").run().expect_success().stdout;
    assert!(list.lines().count() >= 30, "{list}");
    for (number, line) in list.lines().enumerate() {
        let mut words = line.split('\t');
        let name = words.next().expect("a line has a name");
        let said: Vec<_> = words.chain([" on rank ", "MPI_ERR", "MPI_ERRORS_ARE_FATAL"]).collect();
        let job = on(MODES[number % 3], 2, &mistakes).argument(name).start();
        let ended = job.wait();
        assert!(ended.code() > 0 && ended.code() < 256, "{name}: {ended}");
        assert!(!ended.stdout.contains("still here"), "{name}: {ended}");
        let expectation =
            ["expected", "cannot", "holds", "not implemented"].iter().any(|word| ended.stderr.contains(word));
        assert!(expectation, "{name} does not say what would have been right: {ended}");
        ended.expect_said(&said);
        job.expect_nothing_left();
    }
}

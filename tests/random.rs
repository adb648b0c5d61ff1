//! Random operations of every kind, compared with a model in the program itself. `cargo xtask soak
//! random` runs the same programs with many seeds.

use crate::support::{MODES, on, program};

/// Runs a tester with a few seeds on every kind of ranks, and with threads that call at a time.
fn agrees_with_its_model(name: &str) {
    let program = program(name);
    let run = |mode, ranks, seed: u64, threads: &str| {
        let arguments = [&seed.to_string(), "40", threads];
        let ended = on(mode, ranks, &program).arguments(&arguments).run();
        ended.expect_success().expect_output("no errors\n");
    };
    for (number, mode) in MODES.into_iter().enumerate() {
        for ranks in [1, 3, 6] {
            run(mode, ranks, (number * 10 + ranks) as u64, "1");
        }
    }
    run("process", 2, 40, "3");
    run("process", 3, 41, "3");
}

#[test]
fn random_collectives_give_what_a_loop_over_the_ranks_gives() {
    agrees_with_its_model("random_collectives.c");
}

#[test]
fn random_messages_arrive_once_where_they_are_expected() {
    agrees_with_its_model("random_messages.c");
}

#[test]
fn random_one_sided_operations_leave_what_their_model_has() {
    agrees_with_its_model("random_windows.c");
}

#[test]
fn random_accesses_leave_the_file_that_their_model_has() {
    agrees_with_its_model("random_files.c");
}

//! The tools interface (MPI chapter 15), in every kind of ranks, and the command that lists what it shows.

use crate::support::{MODES, corelace, on, program};

#[test]
fn what_the_tools_interface_says_is_so() {
    let program = program("tools.c");
    for (mode, ranks) in MODES.into_iter().flat_map(|mode| [(mode, 1), (mode, 4)]) {
        let ended = on(mode, ranks, &program).run().expect_success().expect_output("no errors\n");
        assert_eq!(ended.stderr, "", "{mode}, {ranks} ranks: {ended}");
    }
}

#[test]
fn threads_that_mpi_does_not_know_of_may_measure() {
    let program = program("tools_threads.c");
    on("process", 2, &program).run().expect_success().expect_output("no errors\n");
    on("process", 2, &program).argument("multiple").run().expect_success().expect_output("no errors\n");
}

#[test]
fn an_algorithm_is_chosen_by_its_variable_and_no_other_name_is_taken() {
    let program = program("collectives.c");
    let with = |value| on("process", 3, &program).variable("CORELACE_ALLREDUCE_ALGORITHM", value).run();
    with("tree").expect_success();
    let refused = with("magic");
    assert!(
        refused.stderr.contains("CORELACE_ALLREDUCE_ALGORITHM is \"magic\", expected one of: auto "),
        "{refused}"
    );
}

#[test]
fn the_variables_are_listed_for_people_and_for_programs() {
    let text = corelace(["vars"]).run().expect_success();
    for name in ["eager_max", "bcast_algorithm", "unexpected_depth_high", "rendezvous_begins"] {
        assert!(text.stdout.contains(name), "{name}: {text}");
    }
    let json = corelace(["vars", "--json", "eager_max"]).run().expect_success();
    let listed: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(listed["control"][0]["environment"], "CORELACE_EAGER_MAX");
    assert_eq!(listed["control"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["events"].as_array().map(Vec::len), Some(0));
}

//! How ranks wait: as `mpirun --wait` and `CORELACE_SPIN_US` say, and what it costs.

use crate::support::{MODES, mpirun, program, side_by_side};

#[test]
fn ranks_that_wait_for_long_sleep_unless_they_are_told_to_spin() {
    let program = program("idle.c");
    let manners = [("adaptive", "asleep"), ("sleep", "asleep"), ("spin", "awake")];
    let runs = manners.map(|manner| MODES.map(|mode| (mode, manner)));
    side_by_side(runs.as_flattened(), |(mode, (manner, expected))| {
        let job = mpirun(["--ranks", mode, "--wait", manner, "-n", "2"]).argument(&program);
        let ended = job.argument(expected).run().expect_success();
        assert_eq!((&ended.stdout[..], &ended.stderr[..]), ("no errors\n", ""), "{mode}, {manner}");
    });
}

#[test]
fn ranks_that_may_not_spin_at_all_sleep() {
    let job = mpirun(["-n", "2"]).argument(program("idle.c")).argument("asleep");
    job.variable("CORELACE_SPIN_US", "0").run().expect_success().expect_output("no errors\n");
}

#[test]
fn ranks_that_share_cores_sleep_while_they_wait() {
    let job = mpirun(["-n", "8"]).argument(program("idle.c")).argument("asleep");
    job.run().expect_success().expect_output("no errors\n");
}

#[test]
fn values_that_make_no_sense_are_refused_by_name() {
    let program = program("idle.c");
    let flag = mpirun(["--wait", "hurry", "-n", "2"]).argument(&program).run();
    flag.expect_code(127).expect_said(&["--wait \"hurry\", expected one of: adaptive spin sleep"]);
    for mode in MODES {
        for (variable, value, expected) in [
            ("CORELACE_WAIT", "hurry", "one of: adaptive spin sleep"),
            ("CORELACE_SPIN_US", "4ms", "a number of microseconds, 0 to 10000000"),
        ] {
            let job = mpirun(["--ranks", mode, "-n", "2"]).argument(&program).variable(variable, value);
            let ended = job.run();
            assert!(ended.code() != 0, "{mode}: {ended}");
            ended.expect_said(&[&format!("{variable} is \"{value}\", expected {expected}")]);
        }
    }
}

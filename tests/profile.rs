//! Profiles: `mpirun` hands ranks the bounds of a file, collectives stay right with any of them, and the file that tuning writes is one that is read.

use std::fs;
use std::path::PathBuf;

use crate::support::{PATIENCE, corelace, job::Job, mpirun, on, program, scratch, tool};

/// Every form and every algorithm begins elsewhere than usual.
const ODD: &str = "[about]\nmachine = \"none\"\n[bounds]\nboard.bcast-room-bytes = 0\nboard.block-room-bytes = 16\nboard.direct-room-bytes = 8\nboard.near-block-bytes = 0\n\
                   board.far-block-bytes = 8\nbarrier.exchange-members = 0\nallreduce.short-bytes = 0\nallreduce.exchange-members = 0\n\
                   bcast.tree-bytes = 0\nbcast.ring-above-members = 1\nallgather.exchange-bytes = 0\nallgather.round-bytes = 1\n\
                   alltoall.bruck-above-members = 1\ngather.tree-bytes = 0\nscatter.tree-bytes = 0\n[limits]\neager_max = 64\n";

fn profile(name: &str, text: &str) -> PathBuf {
    let file = scratch(name).join("here.toml");
    fs::write(&file, text).expect("a place to write to");
    file
}

#[test]
fn collectives_are_right_with_any_bounds() {
    let (file, program) = (profile("odd-bounds", ODD), program("collectives.c"));
    for (mode, ranks) in [("process", 3), ("process", 8), ("fiber", 8)] {
        let ended = on(mode, ranks, &program).variable("CORELACE_PROFILE", &file).run();
        ended.expect_success().expect_output("no errors\n");
    }
}

#[test]
fn ranks_have_the_bounds_of_the_profile_and_the_limits_that_nobody_has_set() {
    let file = profile("in-force", ODD);
    let shown = |variable: &str| {
        mpirun(["-n", "1", "--profile"]).argument(&file).argument("printenv").argument(variable)
    };
    let bounds = shown("CORELACE_BOUNDS").run().expect_success();
    let values: Vec<&str> = bounds.stdout.trim().split(',').collect();
    assert!(values.len() > 20 && values[..3] == ["0", "0", "1"], "{bounds}");
    shown("CORELACE_EAGER_MAX").run().expect_success().expect_output("64\n");
    shown("CORELACE_EAGER_MAX")
        .variable("CORELACE_EAGER_MAX", "99")
        .run()
        .expect_success()
        .expect_output("99\n");
    let listed =
        corelace(["vars", "--profile"]).argument(&file).argument("bcast.tree-bytes").run().expect_success();
    let expected = format!("bcast.tree-bytes  0 ({}, built in 524288)", file.display());
    assert!(listed.stdout.contains(&expected), "{listed}");
}

#[test]
fn a_mistake_in_a_profile_is_told_and_nothing_is_started() {
    let refuses = |file: &str, said: &str| {
        let ended = mpirun(["-n", "1", "--profile", file, "echo", "started"]).run();
        assert!(ended.code() != 0 && ended.stdout.is_empty(), "{ended}");
        assert!(ended.stderr.contains(said), "expected \"{said}\": {ended}");
    };
    refuses("/not/there.toml", "--profile is \"/not/there.toml\": No such file or directory");
    let wrong = profile("wrong-bounds", "[bounds]\n\nbcast.tree-byte = 7\n");
    let said = format!(
        "{}:3: bounds.bcast.tree-byte is 7: there is no bound of this name; did you mean bcast.tree-bytes?",
        wrong.display()
    );
    refuses(wrong.to_str().expect("plain"), &said);
}

#[test]
fn what_tuning_writes_is_a_profile() {
    let file = scratch("tuned").join("tuned.toml");
    let mut tune = tool("corelace");
    tune.args(["bench", "--tune", "--quick", "--rounds", "1", "--only", "barrier", "--output"]).arg(&file);
    let tuned = Job::of(tune).limit(PATIENCE).run().expect_success();
    assert!(tuned.stdout.contains("barrier.exchange-members"), "{tuned}");
    let text = fs::read_to_string(&file).expect("it was written");
    for part in ["[about]\nmachine = \"", "\ncores = ", "\ndate = \"", "\nversion = \"", "\n[bounds]\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    mpirun(["-n", "1", "--profile"]).argument(&file).argument("true").run().expect_success();
}

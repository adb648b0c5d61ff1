//! Tests that need a process of their own.

use std::env;
use std::process::Command;

/// Names the test that the process was started for.
const OWN: &str = "CORELACE_TEST_OWN_PROCESS";

/// Runs a test's body in a process in which no other test runs; `test` is the test's full name.
#[track_caller]
pub fn in_own_process(test: &str, body: impl FnOnce()) {
    if env::var_os(OWN).is_some_and(|started_for| started_for == test) {
        return body();
    }
    let mut own = Command::new(env::current_exe().unwrap());
    own.args(["--exact", test, "--nocapture"]).env(OWN, test);
    let output = own.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    // A wrong name would run nothing, and pass.
    let ran = said.contains("test result: ok. 1 passed;");
    assert!(output.status.success() && ran, "{test} in a process of its own: {}\n{said}", output.status);
    print!("{said}");
}

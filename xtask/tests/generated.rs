//! The committed output of the generator is what the generator writes, and what is implemented is tested.

use std::process::Command;

#[test]
fn the_header_and_the_entry_points_are_what_the_spec_and_the_code_say() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["gen", "--check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_function_that_is_implemented_is_named_by_a_test() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["coverage", "--check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

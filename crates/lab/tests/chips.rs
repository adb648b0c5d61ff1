//! `corelace chips`: from outside.

use std::process::{Command, Output};

fn corelace(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corelace-lab")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_list_names_every_chip() {
    let output = corelace(&["chips"]);
    assert!(output.status.success());
    let list = text(&output.stdout);
    for name in ["mppa256-andey", "mppa256-bostan", "epiphany-iv", "mesh16"] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
}

#[test]
fn a_chip_is_shown_by_its_name_and_a_copy_of_its_file_by_its_path() {
    let by_name = corelace(&["chips", "show", "mesh16"]);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../chips/mesh16.toml");
    let by_file = corelace(&["chips", "show", file]);
    assert!(by_name.status.success() && by_file.status.success());
    assert_eq!(text(&by_name.stdout), text(&by_file.stdout));
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let output = corelace(&["chips", "show", "mppa256-andy"]);
    assert!(!output.status.success());
    let error = text(&output.stderr);
    assert!(error.contains("no chip is called 'mppa256-andy'; did you mean 'mppa256-andey'?"), "{error}");
}

#[test]
fn a_broken_file_is_refused_with_file_line_and_reason() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("broken.toml");
    let good = include_str!("../../../chips/mesh16.toml");
    std::fs::write(&file, good.replace("shape = \"mesh\"", "shape = \"star\"")).unwrap();
    let output = corelace(&["chips", "show", file.to_str().unwrap()]);
    let line = 1 + good.lines().position(|line| line.starts_with("shape")).unwrap();
    let known = "\"mesh\", \"torus\", \"crossbar\", \"fat-tree\" or \"graph\"";
    let expected = format!("{}:{line}: network.shape: \"star\": expected {known}\n", file.display());
    assert!(!output.status.success());
    assert!(text(&output.stderr).ends_with(&expected), "{}", text(&output.stderr));
}

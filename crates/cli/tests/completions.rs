//! What shells complete.

use std::process::Command;

use crate::common::{ended, shared, succeed, tool};

/// What bash offers for the last word of a command line.
fn offered(words: &[&str]) -> Vec<String> {
    let corelace = shared().join("bin/corelace");
    let script = r#"source <("$0" completions bash) || exit 1
        COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _corelace; printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.env_remove("CORELACE_PREFIX").args(["--norc", "-c", script]).arg(corelace).args(words);
    succeed(&mut bash).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_flags_their_values_and_commands() {
    for (words, expected) in [
        (&["mpirun", "--hang"][..], &["--hang-timeout"][..]),
        (&["mpirun", "-n", "4", "--ranks", "f"], &["fiber"]),
        (&["mpirun", "--ranks", "=", "th"], &["thread"]),
        (&["mpirun", "--on-hang", "="], &["report", "abort", "off"]),
        (&["mpiexec.corelace", "--no-ca"], &["--no-cache"]),
        (&["/opt/bin/mpirun", "--no-ca"], &["--no-cache"]),
        (&["corelace", "exa"], &["example"]),
        (&["corelace", "run", "--no-ca"], &["--no-cache"]),
        (&["corelace", "help", "doc"], &["doctor"]),
        (&["corelace", "completions", "z"], &["zsh"]),
        (&["corelace", "status", "--format", "d"], &["dot"]),
        (&["mpicc", "-mpi"], &["-mpi-strict"]),
        (&["mpirun", "a", ":", "--no-ca"], &["--no-cache"]),
        // What stands behind a program is its own.
        (&["mpirun", "-n", "2", "prog", "--no-ca"], &[]),
        (&["mpirun", "-x", "prog", "--no-ca"], &["--no-cache"]),
    ] {
        assert_eq!(offered(words), expected, "{words:?}");
    }
}

#[test]
fn a_shell_that_nobody_knows_is_refused() {
    let refused = ended(tool("corelace").args(["completions", "tcsh"]).output().unwrap());
    assert_eq!(refused.status, Some(127));
    assert!(refused.stderr.contains("\"tcsh\", expected one of: bash, zsh, fish"), "{}", refused.stderr);
}

//! Names that users mistype, names by which the tools are called, and the programs that come along.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::common::{ended, install, shared, succeed, tool};

/// What `mpirun` says of words that it cannot start, in a directory with these files.
fn refused(files: &[(&str, u32)], words: &[&str]) -> String {
    let room = tempfile::tempdir().unwrap();
    for (name, mode) in files {
        let file = room.path().join(name);
        std::fs::write(&file, "text\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(*mode)).unwrap();
    }
    let job = ended(tool("mpirun").current_dir(room.path()).args(words).output().unwrap());
    assert_eq!(job.status, Some(127), "{}", job.stderr);
    job.stderr
}

#[test]
fn a_name_that_is_nearly_right_is_answered_with_the_right_one() {
    let files = [("stencil", 0o755), ("heat.f90", 0o644), ("model.py", 0o644), ("notes.txt", 0o644)];
    for (word, expected) in [
        ("stencill", "; did you mean ./stencil?"),
        ("./stencl", "; did you mean ./stencil?"),
        ("heat.f9", "; did you mean ./heat.f90?"),
        ("heat.f77", "; did you mean ./heat.f90?"),
        ("heet.f90", "; did you mean ./heat.f90?"),
        ("modell.py", "; did you mean python3 ./model.py?"),
        ("hostnam", "; did you mean hostname?"),
    ] {
        let text = refused(&files, &["-n", "2", word]);
        assert!(text.contains(expected), "{word}: {text}");
    }
    let text = refused(&files, &["xyzzyplugh"]);
    assert!(!text.contains("did you mean"), "{text}");
    // A source file is looked for in one place.
    let text = refused(&files, &["zzzz.c"]);
    assert!(text.starts_with("mpirun: program \"zzzz.c\" not found in /") && !text.contains(','), "{text}");
}

#[test]
fn a_file_that_cannot_be_executed_is_answered_with_what_to_do() {
    let files = [("README.md", 0o644), ("stencil.py", 0o644), ("ring.f9", 0o644)];
    for (word, expected) in [
        ("README.md", "README.md is there, but is neither executable nor a C, C++ or Fortran file"),
        (
            "stencil.py",
            "stencil.py is there, but is run by Python: give mpirun the words `python3 stencil.py`",
        ),
        ("ring.f9", ".f9 is no ending of a source file; did you mean .f"),
    ] {
        let text = refused(&files, &["-n", "4", word]);
        assert!(text.contains(expected), "{word}: {text}");
    }
}

#[test]
fn a_number_of_ranks_behind_the_program_is_noted_if_one_rank_is_started() {
    let said = |words: &[&str]| ended(tool("mpirun").args(words).output().unwrap()).stderr;
    let text = said(&["echo", "-n", "4"]);
    assert!(text.contains("note: one rank is started") && text.contains("`mpirun -n 4 echo`"), "{text}");
    for words in [&["-n", "2", "echo", "-n", "4"][..], &["-q", "echo", "-n", "4"], &["echo", "-n"]] {
        assert_eq!(said(words), "");
    }
}

#[test]
fn tools_are_known_by_the_names_of_alternatives() {
    let room = tempfile::tempdir().unwrap();
    install(room.path());
    for name in ["mpirun.corelace", "mpiexec.corelace", "mpicc.corelace"] {
        symlink("corelace", room.path().join("bin").join(name)).unwrap();
    }
    let called = |name: &str| {
        let mut command = Command::new(room.path().join("bin").join(name));
        command.env_remove("CC").env_remove("CORELACE_PREFIX");
        command
    };
    for name in ["mpirun.corelace", "mpiexec.corelace"] {
        assert_eq!(succeed(called(name).args(["-n", "2", "echo", "here"])), "here\nhere\n");
    }
    assert!(succeed(called("mpicc.corelace").arg("-show")).starts_with("cc -I"));
    // A wrapper never calls itself.
    assert!(succeed(called("mpicc.corelace").env("CC", "mpicc.corelace").arg("-show")).starts_with("cc -I"));
}

#[test]
fn examples_are_listed_found_and_copied() {
    let room = tempfile::tempdir().unwrap();
    let prefix = room.path().join("prefix");
    install(&prefix);
    let write = |name: &str, text: &str| {
        let file = prefix.join("share/corelace").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write("examples/c/ring.c", "/* A token goes round. More. */\n");
    write("examples/apps/km.c", "/* Means. */\n#include \"common/a.h\"\n");
    write("examples/apps/common/a.h", "");
    write("exercises/deadlocks/tag.c", "// Another tag.\n");
    let corelace = |words: &[&str]| {
        let mut command = Command::new(prefix.join("bin/corelace"));
        command.current_dir(room.path()).env_remove("CORELACE_PREFIX").args(words);
        command
    };
    let list = succeed(&mut corelace(&["example"]));
    assert!(list.contains("\n  c/ring.c                A token goes round.\n"), "{list}");
    assert!(list.contains("\n  deadlocks/tag.c         Another tag.\n"), "{list}");
    let ring = prefix.join("share/corelace/examples/c/ring.c");
    assert_eq!(succeed(&mut corelace(&["example", "ring"])), format!("{}\n", ring.display()));
    assert_eq!(succeed(&mut corelace(&["example", "km", "-o", "mine"])), "mine/common/a.h\nmine/km.c\n");
    assert!(Path::new(&room.path().join("mine/common/a.h")).exists());
    let unknown = ended(corelace(&["example", "rink"]).output().unwrap());
    assert!(unknown.stderr.contains("did you mean ring?"), "{}", unknown.stderr);
    // Who runs a document's command outside of the repository.
    let job = ended(corelace(&["run", "-n", "2", "examples/c/ring.c"]).output().unwrap());
    assert!(job.stderr.contains("`corelace example c/ring.c`"), "{}", job.stderr);
}

#[test]
fn help_and_version_are_commands() {
    let corelace = |words: &[&str]| succeed(Command::new(shared().join("bin/corelace")).args(words));
    assert_eq!(corelace(&["help"]), corelace(&["--help"]));
    assert_eq!(corelace(&["help", "run"]), corelace(&["run", "--help"]));
    assert_eq!(corelace(&["help", "status"]), corelace(&["status", "--help"]));
    assert!(corelace(&["version"]).starts_with("corelace (Corelace) "));
}

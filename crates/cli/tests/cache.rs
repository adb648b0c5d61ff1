//! `mpirun prog.c` compiles what it has not compiled before, and nothing else.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::{Ended, ended, succeed, tool};

const PROGRAM: &str = "#include <mpi.h>\n#include <stdio.h>\n#include \"number.h\"\nint main(int c, char **v) { \
                       MPI_Init(&c, &v); printf(\"%d\\n\", NUMBER); MPI_Finalize(); return 0; }";

/// A directory with a program, a cache, and a compiler that notes when it links a program.
struct Room(tempfile::TempDir);

impl Room {
    fn new() -> Room {
        let room = Room(tempfile::tempdir().unwrap());
        room.write("prog.c", PROGRAM);
        room.write("number.h", "#define NUMBER 1\n");
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *prog.c*-lm*-print-*) ;; *prog.c*-lm*) echo >>{}/links;; esac\nexec cc \"$@\"\n",
            room.path().display()
        );
        room.write("noting", &script);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(room.path().join("noting"), executable).unwrap();
        room
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file that is older than what is compiled next.
    fn write(&self, name: &str, text: &str) {
        let file = self.path().join(name);
        std::fs::write(&file, text).unwrap();
        let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        std::fs::File::open(file).unwrap().set_modified(past).unwrap();
    }

    fn command(&self, flags: &[&str]) -> Command {
        let mut command = tool("mpirun");
        command.current_dir(self.path()).env("CC", self.path().join("noting"));
        command.env_remove("CORELACE_CACHE").env("XDG_CACHE_HOME", self.path().join("cache"));
        command.args(flags).arg("prog.c");
        command
    }

    fn run(&self, flags: &[&str]) -> Ended {
        ended(self.command(flags).output().unwrap())
    }

    /// How often the program was compiled.
    fn links(&self) -> usize {
        std::fs::read_to_string(self.path().join("links")).unwrap_or_default().lines().count()
    }
}

#[test]
fn a_program_is_compiled_once_until_its_source_or_a_header_changes() {
    let room = Room::new();
    for (text, source, links) in [
        ("#define NUMBER 1\n", PROGRAM.to_owned(), 1),
        ("#define NUMBER 1\n", PROGRAM.to_owned(), 1),
        ("#define NUMBER 2\n", PROGRAM.to_owned(), 2),
        ("#define NUMBER 2\n", PROGRAM.replace("NUMBER)", "NUMBER + 10)"), 3),
        ("#define NUMBER 1\n", PROGRAM.to_owned(), 3),
    ] {
        room.write("number.h", text);
        room.write("prog.c", &source);
        let number = text.trim().rsplit(' ').next().unwrap().parse::<u32>().unwrap();
        let expected = number + if source == PROGRAM { 0 } else { 10 };
        let job = room.run(&["-n", "1"]);
        assert_eq!((job.stdout, job.stderr.as_str()), (format!("{expected}\n"), ""));
        assert_eq!(room.links(), links, "{text}{source}");
    }
}

#[test]
fn the_cache_can_be_turned_off_by_flag_and_by_variable() {
    let room = Room::new();
    assert_eq!(room.run(&["--no-cache"]).stdout, "1\n");
    assert_eq!(ended(room.command(&[]).env("CORELACE_CACHE", "off").output().unwrap()).stdout, "1\n");
    assert_eq!(room.links(), 2);
    assert!(!room.path().join("cache").exists());
    let mine = room.path().join("mine");
    for _ in 0..2 {
        let job = ended(room.command(&[]).env("CORELACE_CACHE", &mine).output().unwrap());
        assert_eq!((job.stdout.as_str(), room.links()), ("1\n", 3));
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_no_obstacle() {
    let room = Room::new();
    std::fs::write(room.path().join("cache"), "a file").unwrap();
    for links in 1..3 {
        let job = room.run(&[]);
        assert_eq!((job.stdout.as_str(), job.stderr.as_str(), room.links()), ("1\n", "", links));
    }
}

#[test]
fn several_jobs_may_compile_the_same_program_at_a_time() {
    let room = Room::new();
    let jobs: Vec<_> = (0..4)
        .map(|_| room.command(&["-n", "1"]).stdout(std::process::Stdio::piped()).spawn().unwrap())
        .collect();
    for job in jobs {
        assert_eq!(ended(job.wait_with_output().unwrap()).stdout, "1\n");
    }
    let links = room.links();
    assert_eq!((room.run(&[]).stdout.as_str(), room.links()), ("1\n", links));
    let programs = room.path().join("cache/corelace/programs");
    assert_eq!(std::fs::read_dir(programs).unwrap().count(), 2, "the program and its list of headers");
}

#[test]
fn a_terminal_is_told_of_a_compilation_and_only_then() {
    let room = Room::new();
    let on_a_terminal = || {
        let mpirun = room.command(&["-n", "1"]);
        let mut script = Command::new("script");
        script.args(["-qec", &format!("{} -n 1 prog.c", mpirun.get_program().display()), "/dev/null"]);
        script.current_dir(room.path()).env_remove("CORELACE_PREFIX");
        for (name, value) in mpirun.get_envs() {
            match value {
                Some(value) => script.env(name, value),
                None => script.env_remove(name),
            };
        }
        succeed(&mut script)
    };
    assert_eq!(on_a_terminal(), "mpirun: compiling prog.c\r\n1\r\n");
    assert_eq!(on_a_terminal(), "1\r\n");
}

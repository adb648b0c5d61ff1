//! `mpicc` and `mpicxx` behave like the compiler they wrap, and `mpirun prog.c` compiles first.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::common::{build, ended, install, run, shared, succeed, tool};

const HELLO: &str = "#include <mpi.h>\n#include <stdio.h>\nint helper(void);\nint main(int c, char **v) { int r; \
                     MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r); printf(\"hello %d\\n\", r + helper()); \
                     MPI_Finalize(); return 0; }";
const HELPER: &str = "int helper(void) { return 100; }";

#[test]
fn compiling_and_linking_in_steps_works() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("a.c"), HELLO).unwrap();
    std::fs::write(room.path().join("b.c"), HELPER).unwrap();
    let mpicc = |words: &[&str]| succeed(tool("mpicc").current_dir(room.path()).args(words));
    mpicc(&["-c", "a.c"]);
    mpicc(&["-O2", "-c", "b.c", "-o", "helper.o"]);
    succeed(Command::new("ar").current_dir(room.path()).args(["rcs", "libhelper.a", "helper.o"]));
    mpicc(&["a.o", "-L.", "-lhelper", "-o", "prog"]);
    std::fs::write(room.path().join("words"), "-o 'other prog' a.o\nhelper.o").unwrap();
    mpicc(&["@words"]);
    assert!(mpicc(&["-E", "b.c"]).contains("int helper"));
    assert!(mpicc(&["-MM", "a.c"]).starts_with("a.o: a.c"));
    for name in ["prog", "other prog"] {
        let job = run(&["-n", "2", room.path().join(name).to_str().unwrap()]);
        assert_eq!(job.sorted(), ["hello 100", "hello 101"], "{}", job.stderr);
    }
}

#[test]
fn a_shared_library_gets_no_start_files_and_works_in_a_program() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("a.c"), HELLO).unwrap();
    std::fs::write(room.path().join("b.c"), HELPER).unwrap();
    succeed(tool("mpicc").current_dir(room.path()).args(["-shared", "-fPIC", "b.c", "-o", "libhelper.so"]));
    let symbols = succeed(Command::new("nm").arg("-D").arg(room.path().join("libhelper.so")));
    assert!(symbols.contains(" T helper") && !symbols.contains("corelace_program_main"), "{symbols}");
    succeed(tool("mpicc").current_dir(room.path()).args([
        "a.c",
        "-L.",
        "-lhelper",
        "-Wl,-rpath,$ORIGIN",
        "-o",
        "prog",
    ]));
    assert_eq!(run(&["-n", "1", room.path().join("prog").to_str().unwrap()]).stdout, "hello 100\n");
}

#[test]
fn an_undefined_symbol_is_an_error_as_it_is_with_cc() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("a.c"), HELLO).unwrap();
    let result = ended(tool("mpicc").current_dir(room.path()).args(["a.c", "-o", "prog"]).output().unwrap());
    assert_eq!(result.status, Some(1));
    assert!(result.stderr.contains("undefined reference to `helper'"), "{}", result.stderr);
    assert!(!room.path().join("prog").exists());
}

#[test]
fn objects_that_cannot_be_relocated_still_make_an_ordinary_program() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("a.c"), HELLO).unwrap();
    std::fs::write(room.path().join("b.c"), "__thread int t = 100; int helper(void) { return t; }").unwrap();
    // The default of many systems: position independent, but for executables only.
    succeed(Command::new("cc").current_dir(room.path()).args(["-fPIE", "-c", "b.c"]));
    let result =
        ended(tool("mpicc").current_dir(room.path()).args(["a.c", "b.o", "-o", "prog"]).output().unwrap());
    assert_eq!(result.status, Some(0), "{}", result.stderr);
    let note = "mpicc: note: made a program for --ranks process only, because the linker says: ";
    assert_eq!(result.stderr.matches(note).count(), 1, "{}", result.stderr);
    assert_eq!(result.stderr.matches("recompile with -fPIC").count(), 1, "{}", result.stderr);
    assert_eq!(run(&["-n", "1", room.path().join("prog").to_str().unwrap()]).stdout, "hello 100\n");
}

#[test]
fn without_input_the_compiler_answers_itself() {
    let version = succeed(tool("mpicc").arg("--version"));
    assert_eq!(version, succeed(Command::new("cc").arg("--version")));
    let nothing = ended(tool("mpicc").output().unwrap());
    assert!(nothing.status == Some(1) && nothing.stderr.contains("no input files"), "{nothing:?}");
}

#[test]
fn questions_are_answered_with_paths_of_the_prefix() {
    let prefix = shared().display();
    let ask = |words: &[&str]| succeed(tool("mpicc").args(words));
    let line = ask(&["-show"]);
    let compile = format!("cc -I{prefix}/include -DCORELACE_COMPATIBLE");
    assert_eq!(line, format!("{compile} -L{prefix}/lib -Wl,-rpath,{prefix}/lib -lmpi_abi\n"));
    assert_eq!(ask(&["-compile-info"]), format!("{compile}\n"));
    assert_eq!(ask(&["-showme:link"]), format!("-L{prefix}/lib -Wl,-rpath,{prefix}/lib -lmpi_abi\n"));
    assert!(
        ask(&["-show", "-c", "x.c"])
            .starts_with(&format!("cc -c x.c -I{prefix}/include -DCORELACE_COMPATIBLE -fPIC"))
    );
    let other = succeed(tool("mpicc").env("CC", "gcc -m64").arg("-show"));
    assert!(other.starts_with("gcc -m64 -I"), "{other}");
    assert!(succeed(tool("mpicxx").arg("-show")).starts_with("c++ -I"));
}

#[test]
fn a_missing_compiler_is_named() {
    let result = ended(tool("mpicc").env("CC", "no-such-cc").args(["-c", "x.c"]).output().unwrap());
    assert_eq!(result.status, Some(127));
    assert!(result.stderr.contains("cannot run the compiler \"no-such-cc\""), "{}", result.stderr);
}

#[test]
fn a_moved_installation_still_works_with_programs_built_before() {
    let room = tempfile::tempdir().unwrap();
    let (old, new) = (room.path().join("old"), room.path().join("new place"));
    install(&old);
    let source = room.path().join("a.c");
    std::fs::write(&source, format!("{HELLO}\n{HELPER}")).unwrap();
    let program = room.path().join("prog");
    let run_in = |prefix: &Path, name: &str, words: &[&std::ffi::OsStr]| {
        succeed(Command::new(prefix.join("bin").join(name)).env_remove("CORELACE_PREFIX").args(words))
    };
    run_in(&old, "mpicc", &[source.as_ref(), "-o".as_ref(), program.as_ref()]);
    std::fs::rename(&old, &new).unwrap();
    assert_eq!(run_in(&new, "mpirun", &["-n".as_ref(), "1".as_ref(), program.as_ref()]), "hello 100\n");
    let rebuilt = room.path().join("again");
    run_in(&new, "mpicc", &[source.as_ref(), "-o".as_ref(), rebuilt.as_ref()]);
    assert_eq!(run_in(&new, "mpiexec", &[rebuilt.as_ref()]), "hello 100\n");
}

#[test]
fn a_source_file_is_compiled_and_run_and_nothing_is_left() {
    let room = tempfile::tempdir().unwrap();
    let temporary = room.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let (c, cxx) = (room.path().join("say.c"), room.path().join("say.cpp"));
    std::fs::write(&c, format!("{HELLO}\n{HELPER}")).unwrap();
    std::fs::write(
        &cxx,
        "#include <iostream>\nint main(int, char **v) { std::cout << \"c++ \" << v[1] << \"\\n\"; }",
    )
    .unwrap();
    for ranks in ["process", "thread"] {
        let job = |words: &[&str]| {
            let mut command = tool("mpirun");
            ended(command.env("TMPDIR", &temporary).args(["--ranks", ranks]).args(words).output().unwrap())
        };
        let result = job(&["-n", "2", c.to_str().unwrap()]);
        assert_eq!(result.sorted(), ["hello 100", "hello 101"], "{}", result.stderr);
        let result = job(&["-n", "2", cxx.to_str().unwrap(), "word"]);
        assert_eq!(result.stdout, "c++ word\nc++ word\n", "{}", result.stderr);
    }
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    let names: Vec<_> =
        std::fs::read_dir(room.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn a_source_file_with_an_error_shows_the_compiler_s_words_and_starts_nothing() {
    let room = tempfile::tempdir().unwrap();
    let file = room.path().join("bad.c");
    std::fs::write(&file, "int main(void) { return undeclared; }").unwrap();
    let job = run(&["-n", "2", file.to_str().unwrap()]);
    assert_eq!(job.status, Some(127));
    assert!(job.stderr.contains("undeclared"), "{}", job.stderr);
    assert!(job.stderr.ends_with("bad.c failed: the compiler ended with status 1\n"), "{}", job.stderr);
}

/// Whether a program carries the form that ranks as threads and fibers run copies of.
fn can_be_copied(program: &Path) -> bool {
    succeed(Command::new("readelf").args(["-SW"]).arg(program)).contains(" .corelace.copies ")
}

fn is_executable(program: &Path) -> bool {
    succeed(Command::new("readelf").args(["-dW"]).arg(program)).contains(" PIE")
}

/// A compiler that does what the system's does, made of a shell script with these lines before the last.
fn compiler(room: &Path, lines: &str) -> PathBuf {
    let script = room.join("compiler");
    std::fs::write(&script, format!("#!/bin/sh\n{lines}\nexec cc \"$@\"\n")).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    script
}

#[test]
fn programs_built_by_mpicc_are_executables_that_carry_a_form_for_copies() {
    let program = build("forms.c", "int main(void) { return 0; }");
    assert!(is_executable(&program) && can_be_copied(&program));
    let symbols = succeed(Command::new("nm").arg(&program));
    assert!(symbols.contains(" T main") && !symbols.contains("corelace"), "{symbols}");
    assert!(Command::new(&program).status().unwrap().success());
}

#[test]
fn a_compiler_that_calls_its_own_linker_makes_a_dual_use_program() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("a.c"), format!("{HELLO}\n{HELPER}")).unwrap();
    let strange = "for word; do shift; case $word in -B*) ;; *) set -- \"$@\" \"$word\";; esac; done";
    for lines in [strange, &format!("{strange}\n[ \"$1\" = --version ] && echo other && exit")] {
        let mut mpicc = tool("mpicc");
        mpicc.env("CC", compiler(room.path(), lines)).current_dir(room.path()).args(["a.c", "-o", "prog"]);
        assert_eq!(succeed(&mut mpicc), "");
        let program = room.path().join("prog");
        assert!(!is_executable(&program) && !can_be_copied(&program));
        assert!(succeed(Command::new("nm").arg("-D").arg(&program)).contains("T corelace_program_main"));
        for mode in ["process", "thread"] {
            let job = run(&["--ranks", mode, "-n", "2", program.to_str().unwrap()]);
            assert_eq!(job.sorted(), ["hello 100", "hello 101"], "{mode}: {}", job.stderr);
        }
        std::fs::remove_file(program).unwrap();
    }
}

#[test]
fn a_compiler_that_tells_its_commands_is_believed() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("a.c"), format!("{HELLO}\n{HELPER}")).unwrap();
    // As Clang does, in words that it shares with nobody.
    let lines = r#"for word; do case $word in
        --version) echo another compiler; exit;;
        -fno-gnu-unique) echo "unknown argument: $word" >&2; exit 1;;
        -B*) place=${word#-B};;
        -\#\#\#) printf ' "%s/ld" "-pie" "a.o"\n' "$place" >&2; exit;;
        esac; done"#;
    let mut mpicc = tool("mpicc");
    mpicc.env("CC", compiler(room.path(), lines)).current_dir(room.path()).args(["a.c", "-o", "prog"]);
    succeed(&mut mpicc);
    assert!(is_executable(&room.path().join("prog")) && can_be_copied(&room.path().join("prog")));
}

#[test]
fn a_source_is_compiled_once_and_linked_twice() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("a.c"), HELLO).unwrap();
    std::fs::write(room.path().join("b.c"), HELPER).unwrap();
    let calls = |word: &str| {
        let log = std::fs::read_to_string(room.path().join("log")).unwrap_or_default();
        log.lines().filter(|line| line.contains(word)).count()
    };
    // GCC calls each of its parts by a command of the user's, if there is one.
    let parts = room.path().join("parts");
    std::fs::write(&parts, format!("#!/bin/sh\necho \"$@\" >> {}/log\nexec \"$@\"\n", room.path().display()))
        .unwrap();
    std::fs::set_permissions(&parts, PermissionsExt::from_mode(0o755)).unwrap();
    let mut mpicc = tool("mpicc");
    mpicc.current_dir(room.path()).args(["-wrapper"]).arg(&parts).args(["a.c", "b.c", "-o", "prog"]);
    succeed(&mut mpicc);
    assert_eq!((calls("/cc1 "), calls("/collect2 ")), (2, 1));
    assert!(can_be_copied(&room.path().join("prog")));
}

#[test]
fn a_linker_s_complaint_is_shown_once_with_its_status_and_nothing_is_left() {
    let room = tempfile::tempdir().unwrap();
    let temporary = room.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    std::fs::write(room.path().join("a.c"), HELLO).unwrap();
    let mut mpicc = tool("mpicc");
    mpicc.current_dir(room.path()).env("TMPDIR", &temporary).args(["a.c", "-o", "prog"]);
    let result = ended(mpicc.output().unwrap());
    assert_eq!(result.status, Some(1));
    assert_eq!(result.stderr.matches("undefined reference to `helper'").count(), 1, "{}", result.stderr);
    assert_eq!(result.stderr.matches("ld returned 1 exit status").count(), 1, "{}", result.stderr);
    assert!(!result.stderr.contains("note:"), "{}", result.stderr);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn other_files_of_a_linker_are_those_of_the_executable() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("a.c"), format!("{HELLO}\n{HELPER}")).unwrap();
    let words = ["a.c", "-o", "prog", "-Wl,-Map=map", "-Wl,--dependency-file=needs", "-rdynamic"];
    succeed(tool("mpicc").current_dir(room.path()).args(words));
    let read = |name: &str| std::fs::read_to_string(room.path().join(name)).unwrap();
    assert!(read("map").contains("Scrt1.o") && !read("map").contains("libcorelace_program"));
    assert!(read("needs").starts_with("prog:"), "{}", read("needs"));
    let exported = succeed(Command::new("nm").arg("-D").arg(room.path().join("prog")));
    assert!(exported.contains(" T helper"), "{exported}");
    succeed(tool("mpicc").current_dir(room.path()).args(["a.c", "-o", "/dev/null"]));
    succeed(tool("mpicc").current_dir(room.path()).arg("a.c"));
    assert!(can_be_copied(&room.path().join("a.out")));
}

#[test]
fn an_interrupted_link_leaves_no_file() {
    let room = tempfile::tempdir().unwrap();
    let (temporary, linkers) = (room.path().join("tmp"), room.path().join("linkers"));
    std::fs::create_dir(&temporary).unwrap();
    std::fs::create_dir(&linkers).unwrap();
    std::fs::write(room.path().join("a.c"), format!("{HELLO}\n{HELPER}")).unwrap();
    // A linker of the user's that never ends, and says when it has begun.
    let linker = linkers.join("ld");
    let text = "#!/bin/sh\necho begun\necho begun >&3\nexec sleep 600\n";
    std::fs::write(&linker, text).unwrap();
    std::fs::set_permissions(&linker, PermissionsExt::from_mode(0o755)).unwrap();
    let mut user = Command::new("setsid");
    let mut word = OsString::from("-B");
    word.push(&linkers);
    user.args(["sh", "-c", "exec \"$@\" 3>&1", "sh", "env", "--default-signal=INT"]);
    user.arg(tool("mpicc").get_program()).arg(word).args(["a.c", "-o", "prog"]);
    user.current_dir(room.path()).env("TMPDIR", &temporary).env_remove("CC");
    let mut user = user.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(user.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    assert!(std::fs::read_dir(&temporary).unwrap().count() > 0, "the compiler has files there");
    // As a terminal does: to all of them.
    kill_process_group(Pid::from_child(&user), Signal::INT).unwrap();
    // The end of the output is the end of every process that could write to it.
    let mut rest = String::new();
    user.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
    assert!(!user.wait().unwrap().success());
    let left: Vec<_> =
        std::fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!room.path().join("prog").exists());
}

//! What `mpicc` links is an ordinary executable for ranks as processes, and carries what ranks as threads, fibers and on chips run copies of.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::job::Job;
use crate::support::{MODES, PATIENCE, compile, compiled, mpirun, on, program, root, scratch, succeed, tool};

fn source() -> PathBuf {
    root().join("tests/c/two_forms.c")
}

fn read(tool: &str, flag: &str, program: &Path) -> String {
    let mut command = Command::new(tool);
    command.arg(flag).arg(program);
    succeed(command)
}

/// That the program is an executable, with or without the form for copies.
#[track_caller]
fn expect_executable(program: &Path, copies: bool) {
    let dynamic = read("readelf", "-dW", program);
    assert!(dynamic.contains(" PIE"), "{dynamic}");
    assert_eq!(
        read("readelf", "-SW", program).contains(" .corelace.copies "),
        copies,
        "{}",
        program.display()
    );
}

/// The shared object that a program carries, as a file.
fn form_for_copies(program: &Path) -> PathBuf {
    let form = program.with_extension("copies");
    let mut dump = Command::new("objcopy");
    dump.arg(format!("--dump-section=.corelace.copies={}", form.display())).arg(program).arg("/dev/null");
    succeed(dump);
    form
}

/// Whether code on x86-64 calls for the addresses of its thread-local variables.
fn looks_variables_up(file: &Path) -> bool {
    let code = read("objdump", "-d", file);
    code.lines().any(|line| line.contains("call") && line.contains("__tls_get_addr"))
}

/// That every kind of rank gives the right answer.
#[track_caller]
fn expect_right(program: &Path) {
    for mode in MODES {
        on(mode, 3, program).run().expect_success().expect_output("no errors\n");
    }
    mpirun(["--chip", "mesh16", "-n", "3"])
        .argument(program)
        .run()
        .expect_success()
        .expect_output("no errors\n");
}

#[test]
fn thread_local_variables_are_a_rank_s_own_and_take_a_process_no_call() {
    let place = scratch("two-forms");
    for (number, flags) in [
        &["-O0"][..],
        &["-O2", "-g"],
        &["-O2", "-s"],
        &["-O2", "-flto"],
        &["-O2", "-g", "-flto"],
        &["-O2", "-fuse-ld=bfd"],
        &["-O2", "-ffunction-sections", "-Wl,--gc-sections"],
        &["-Ofast", "-rdynamic", "-fno-plt", "-Wl,-z,now"],
    ]
    .iter()
    .enumerate()
    {
        let product = place.join(number.to_string());
        compile(&source(), &product, flags);
        expect_executable(&product, true);
        if cfg!(target_arch = "x86_64") {
            assert!(!looks_variables_up(&product), "{flags:?}");
            // The check can fail: the form for copies does.
            assert!(looks_variables_up(&form_for_copies(&product)), "{flags:?}");
        }
        expect_right(&product);
    }
}

#[test]
fn a_stripped_program_runs_in_every_mode() {
    let product = scratch("stripped").join("program");
    compile(&source(), &product, &["-g"]);
    let before = fs::metadata(&product).unwrap().len();
    let mut strip = Command::new("strip");
    strip.arg(&product);
    succeed(strip);
    assert!(fs::metadata(&product).unwrap().len() < before);
    expect_executable(&product, true);
    expect_right(&product);
}

#[test]
fn a_command_line_too_long_for_the_system_is_passed_on_in_a_file() {
    let place = scratch("long");
    // A path of a thousand bytes, named as often as makes eight megabytes.
    let deep = (0..5).fold(place.clone(), |path, _| path.join("a".repeat(190)));
    fs::create_dir_all(&deep).unwrap();
    let mut compiler = tool("mpicc");
    compiler.arg("-c").arg(source()).arg("-o").arg(place.join("object.o"));
    succeed(compiler);
    fs::write(place.join("other.c"), "int other;\n").unwrap();
    compiler = tool("mpicc");
    compiler.arg("-c").arg(place.join("other.c")).arg("-o").arg(place.join("other.o"));
    succeed(compiler);
    let archive = deep.join("libother.a");
    let mut ar = Command::new("ar");
    ar.arg("rcs").arg(&archive).arg(place.join("other.o"));
    succeed(ar);
    let named = format!("{}\n", archive.display());
    let program = place.join("a program");
    let words = format!("'{}' -o \"{}\"\n", place.join("object.o").display(), program.display());
    fs::write(place.join("words"), words + &named.repeat(8_000_000 / named.len())).unwrap();
    let mut compiler = tool("mpicc");
    compiler.arg(format!("@{}", place.join("words").display()));
    Job::of(compiler).limit(PATIENCE).run().expect_success();
    expect_executable(&program, true);
    expect_right(&program);
}

#[test]
fn programs_are_linked_side_by_side() {
    let place = scratch("side-by-side");
    let temporary = place.join("tmp");
    fs::create_dir(&temporary).unwrap();
    let names: Vec<_> = (0..8).map(|number| format!("program{number}")).collect();
    let rules = format!("all: {}\nprogram%: {}\n\t$(CC) -O1 $< -o $@\n", names.join(" "), source().display());
    fs::write(place.join("Makefile"), rules).unwrap();
    let mut make = Command::new("make");
    make.arg("-j8").arg(format!("CC={}", tool("mpicc").get_program().display()));
    make.current_dir(&place).env("TMPDIR", &temporary);
    Job::of(make).limit(PATIENCE).run().expect_success();
    for name in &names {
        expect_executable(&place.join(name), true);
        on("fiber", 3, &place.join(name)).run().expect_success().expect_output("no errors\n");
    }
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "what links has left nothing");
}

#[test]
fn an_object_for_executables_alone_makes_a_program_for_processes_and_a_note() {
    let place = scratch("without-pic");
    let (object, product) = (place.join("object.o"), place.join("program"));
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-fPIE", "-c", "-I"]).arg(crate::support::prefix().join("include"));
    compiler.arg(source()).arg("-o").arg(&object);
    succeed(compiler);
    let mut linker = tool("mpicc");
    linker.arg(&object).arg("-o").arg(&product);
    let ended = Job::of(linker).limit(PATIENCE).run().expect_success();
    let note = "mpicc: note: made a program for --ranks process only, because the linker says: ";
    assert_eq!(ended.stderr.matches(note).count(), 1, "{ended}");
    assert!(ended.stderr.lines().count() == 1 && ended.stderr.contains("recompile with -fPIC"), "{ended}");
    expect_executable(&product, false);
    on("process", 3, &product).run().expect_success().expect_output("no errors\n");
    let refused = on("fiber", 3, &product).run().expect_code(127);
    refused.expect_said(&["cannot be loaded once per rank (it is an ordinary executable)"]);
}

#[test]
fn a_program_in_a_single_form_still_runs_in_every_mode() {
    let place = scratch("single-form");
    // A compiler that does not look for its linker where it is told to.
    let compiler = place.join("compiler");
    let script = "#!/bin/sh\nfor word; do shift; case $word in -B*) ;; *) set -- \"$@\" \"$word\";; esac; done\nexec cc \"$@\"\n";
    fs::write(&compiler, script).unwrap();
    fs::set_permissions(&compiler, PermissionsExt::from_mode(0o755)).unwrap();
    let product = place.join("program");
    let mut mpicc = tool("mpicc");
    mpicc.env("CC", &compiler).args(["-g", "-O1"]).arg(source()).arg("-o").arg(&product);
    succeed(mpicc);
    assert!(!read("readelf", "-SW", &product).contains(".corelace.copies"));
    assert!(read("nm", "-D", &product).contains("T corelace_program_main"));
    expect_right(&product);
}

#[test]
fn copies_find_their_libraries_where_an_installer_has_moved_them() {
    let place = scratch("installed");
    let (built, installed) = (place.join("where-it-was-built"), place.join("usr"));
    fs::create_dir(&built).unwrap();
    fs::write(place.join("seven.c"), "int seven(void) { return 7; }\n").unwrap();
    let library = built.join("libseven.so");
    compile(&place.join("seven.c"), &library, &["-shared", "-fPIC"]);
    let text = "#include <mpi.h>\n#include <stdio.h>\nint seven(void);\nint main(int argc, char **argv) { MPI_Init(&argc, &argv); \
                printf(\"%d\\n\", seven()); MPI_Finalize(); }\n";
    fs::write(place.join("main.c"), text).unwrap();
    let product = place.join("program");
    let (built_in, rpath) = (format!("-L{}", built.display()), format!("-Wl,-rpath,{}", built.display()));
    compile(&place.join("main.c"), &product, &[&built_in, &rpath, "-lseven"]);
    // As CMake installs: the library goes elsewhere, and the text in the executable is changed where it stands.
    fs::rename(&built, &installed).unwrap();
    let mut bytes = fs::read(&product).unwrap();
    let (old, new) = (built.display().to_string(), installed.display().to_string());
    let at =
        bytes.windows(old.len()).position(|found| found == old.as_bytes()).expect("the path of the library");
    let end = at + bytes[at..].iter().position(|byte| *byte == 0).unwrap();
    let rest = bytes[at + old.len()..end].to_vec();
    let changed = [new.as_bytes(), &rest].concat();
    bytes[at..end].fill(0);
    bytes[at..at + changed.len()].copy_from_slice(&changed);
    fs::write(&product, bytes).unwrap();
    for mode in MODES {
        on(mode, 2, &product).run().expect_success().expect_output("7\n7\n");
    }
}

#[test]
fn a_plain_program_and_one_of_cxx_have_nothing_of_the_archives() {
    for program in [program("two_forms.c"), compiled(&root().join("examples/cxx/statics.cc"))] {
        expect_executable(&program, true);
        let symbols = read("nm", "-a", &program);
        assert!(!symbols.contains("corelace_"), "{symbols}");
    }
}

//! Fortran programs (MPI chapter 19): mpif.h, the modules mpi and mpi_f08, in every kind of ranks, through programs that check themselves.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::job::{Ended, Job};
use crate::support::{MODES, PATIENCE, debian, mpirun, on, root, scratch, succeed, tool};

/// `mpifort` in a directory of its own, where modules of programs go.
fn mpifort(place: &Path) -> Command {
    debian("gfortran");
    let mut command = tool("mpifort");
    command.env_remove("FC").current_dir(place);
    command
}

/// The program of a source in `tests/fortran` or `examples/fortran`.
fn program(source: &str) -> PathBuf {
    let place = scratch("fortran");
    let product = place.join("program");
    let mut compiler = mpifort(&place);
    compiler.args(["-O1", "-w"]).arg(root().join(source)).arg("-o").arg(&product);
    let said = Job::of(compiler).limit(PATIENCE).run().expect_success();
    assert_eq!(said.stderr, "", "{said}");
    product
}

/// Runs under checks on three ranks of every kind, where a program finds no errors and nothing is said of it.
#[track_caller]
fn finds_no_errors(program: &Path) {
    for mode in MODES {
        let flags = ["--check", "--ranks", mode, "-n", "3"];
        let ended = mpirun(flags).argument(program).run().expect_success();
        assert_eq!(ended.stderr, "", "{mode}: {ended}");
        ended.expect_output("no errors\n");
    }
}

#[test]
fn fixed_form_with_mpif_h_and_names_of_mpi_1() {
    finds_no_errors(&program("tests/fortran/classic.f"));
}

#[test]
fn the_module_mpi() {
    finds_no_errors(&program("tests/fortran/module.f90"));
}

#[test]
fn the_module_mpi_f08_with_sections_of_arrays_and_functions_of_the_program() {
    finds_no_errors(&program("tests/fortran/modern.f90"));
}

#[test]
fn c_and_fortran_see_each_others_objects_and_tools_see_the_calls() {
    let place = scratch("languages");
    let mut compiler = tool("mpicc");
    compiler.args(["-O1", "-Wall", "-c", "-o", "c.o"]).arg(root().join("tests/fortran/languages.c"));
    compiler.current_dir(&place);
    succeed(compiler);
    let mut linker = mpifort(&place);
    linker.args(["-w", "c.o"]).arg(root().join("tests/fortran/languages.f90")).args(["-o", "program", "-lm"]);
    succeed(linker);
    finds_no_errors(&place.join("program"));
}

#[test]
fn units_and_variables_are_a_ranks_own() {
    let program = program("tests/fortran/units.f90");
    for mode in MODES {
        let place = scratch("units");
        let ended = on(mode, 3, &program).argument(&place).run().expect_success();
        assert_eq!(ended.stderr, "", "{mode}: {ended}");
        assert_eq!(ended.sorted(), ["done on rank 0", "done on rank 1", "done on rank 2"], "{mode}");
    }
}

#[test]
fn mpirun_takes_a_fortran_file_and_leaves_nothing_behind() {
    debian("gfortran");
    let place = scratch("ring");
    let source = place.join("ring.f90");
    let text = std::fs::read_to_string(root().join("examples/fortran/ring.f90")).expect("the example");
    let with_module = format!("module of_this_file\nend module\n{text}");
    std::fs::write(&source, with_module.replace("use mpi_f08", "use mpi_f08\n  use of_this_file"))
        .expect("written");
    for mode in MODES {
        let ended = mpirun(["--ranks", mode, "-n", "4", "-wdir"]).argument(&place).argument(&source).run();
        ended.expect_success().expect_output("token from rank 3: 6 of 6\n");
    }
    let left: Vec<_> =
        std::fs::read_dir(&place).expect("its folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["ring.f90"]);
}

#[test]
fn an_error_names_the_line_of_the_program() {
    debian("gfortran");
    let place = scratch("line");
    let source = place.join("wrong.f90");
    let text = "program wrong\n  use mpi_f08\n  call MPI_Init()\n  call MPI_Barrier(MPI_COMM_NULL)\nend program wrong\n";
    std::fs::write(&source, text).expect("written");
    for mode in MODES {
        let ended = mpirun(["--ranks", mode, "-n", "1"]).argument(&source).run();
        assert_ne!(ended.code(), 0, "{mode}: {ended}");
        ended.expect_said(&["MPI_Barrier on rank 0", "wrong.f90:4]"]);
    }
}

fn refused(words: &[&str]) -> Ended {
    let mut compiler = mpifort(&scratch("refused"));
    compiler.args(words);
    Job::of(compiler).run()
}

#[test]
fn integers_of_eight_bytes_are_refused_in_one_sentence() {
    refused(&["-fdefault-integer-8", "ring.f90"]).expect_code(127).expect_said(&[
        "mpifort: -fdefault-integer-8 makes INTEGER 8 bytes wide",
        "declare the variables that need it integer(kind=8)",
    ]);
}

#[test]
fn a_missing_compiler_is_named_with_what_to_do() {
    let mut compiler = mpifort(&scratch("missing"));
    compiler.env("FC", "no-such-fortran").arg("ring.f90");
    let said = ["no Fortran compiler: \"no-such-fortran\" cannot be run", "or set FC"];
    Job::of(compiler).run().expect_code(127).expect_said(&said);
}

#[test]
fn the_wrapper_tells_build_systems_its_flags_under_all_its_names() {
    let place = scratch("flags");
    mpifort(&place);
    for name in ["mpifort", "mpif90", "mpif77"] {
        let mut wrapper = tool(name);
        wrapper.env_remove("FC").arg("-showme:link");
        let link = succeed(wrapper);
        assert!(link.contains("-lcorelace_fortran") && link.contains("-lmpi_abi"), "{name}: {link}");
    }
}

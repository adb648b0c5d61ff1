//! Build systems find this MPI as they find others: CMake, meson and autoconf projects, whose tools are installed below the build
//! directory or asked for by name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::python::Environment;
use crate::support::{MODES, compile, debian, on, prefix, root, scratch, succeed, tool};

const TOOLS: &[&str] = &["cmake==3.31.6", "meson==1.6.0", "ninja==1.11.1.3"];

/// CMake, meson and ninja from PyPI.
fn tools() -> &'static Environment {
    static MADE: OnceLock<Environment> = OnceLock::new();
    MADE.get_or_init(|| {
        Environment::make("build-tools", &TOOLS.join(" "), |environment| environment.install(TOOLS, &[]))
    })
}

/// A copy of a project, with the source that it builds.
fn project(name: &str) -> PathBuf {
    let place = scratch(name).join("project");
    let from = root().join("tests/projects");
    fs::create_dir_all(&place).expect("a directory below the build directory");
    for entry in fs::read_dir(from.join(name)).expect("a project").flatten() {
        fs::copy(entry.path(), place.join(entry.file_name())).expect("a file below the build directory");
    }
    fs::copy(from.join("sum.c"), place.join("sum.c")).expect("a file below the build directory");
    fs::copy(from.join("sum.c"), place.parent().expect("made so").join("sum.c")).expect("as above");
    place
}

/// A tool that finds ours and those of PyPI first.
fn with_path(program: impl AsRef<std::ffi::OsStr>, directory: &Path) -> Command {
    let mut command = Command::new(program);
    let own = tools().root().join("bin");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{}:{path}", prefix().join("bin").display(), own.display()));
    for variable in ["CC", "CXX", "MPICC", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH"] {
        command.env_remove(variable);
    }
    command.current_dir(directory);
    command
}

fn expect_sum(mode: &str, program: &Path) {
    on(mode, 3, program).run().expect_success().expect_output("the ranks of 3 add up to 3\n");
}

#[test]
fn cmake_finds_mpi_and_what_mpicc_links_runs_in_every_mode() {
    let source = project("cmake");
    // The system's compiler with the flags that the wrapper tells: programs for process ranks.
    let configure = |build: &Path, more: &[&str]| {
        let mut cmake = with_path(tools().program("cmake"), &source);
        cmake.args(["-G", "Ninja", "-S", ".", "-B"]).arg(build).args(more);
        let said = succeed(cmake);
        assert!(said.contains("Found MPI"), "{said}");
        let mut make = with_path(tools().program("cmake"), &source);
        make.arg("--build").arg(build);
        succeed(make);
    };
    let plain = source.join("plain");
    configure(&plain, &[]);
    expect_sum("process", &plain.join("sum"));
    expect_sum("process", &plain.join("sum_cxx"));
    let refused = on("fiber", 3, &plain.join("sum")).run();
    refused.expect_said(&["CC=mpicc", "--ranks process"]);
    let wrapped = source.join("wrapped");
    configure(&wrapped, &["-DCMAKE_C_COMPILER=mpicc", "-DCMAKE_CXX_COMPILER=mpic++"]);
    for mode in MODES {
        expect_sum(mode, &wrapped.join("sum"));
        expect_sum(mode, &wrapped.join("sum_cxx"));
    }
}

#[test]
fn meson_finds_mpi_by_its_wrapper() {
    let source = project("meson");
    let mut setup = with_path(tools().program("meson"), &source);
    setup.args(["setup", "build"]).env("MPICC", prefix().join("bin/mpicc"));
    let said = succeed(setup);
    assert!(said.contains("Run-time dependency MPI for c found: YES"), "{said}");
    let mut ninja = with_path(tools().program("ninja"), &source);
    ninja.args(["-C", "build"]);
    succeed(ninja);
    expect_sum("process", &source.join("build/sum"));
}

#[test]
fn an_autoconf_project_builds_with_cc_mpicc_and_finds_old_names_too() {
    let source = project("autoconf");
    succeed(with_path(debian("autoconf"), &source));
    let mut configure = with_path("sh", &source);
    configure.args(["./configure", "CC=mpicc"]);
    succeed(configure);
    succeed(with_path("make", &source));
    for mode in MODES {
        expect_sum(mode, &source.join("sum"));
    }
}

#[test]
fn main_may_come_from_an_archive() {
    let place = scratch("archive");
    let source = root().join("tests/projects/sum.c");
    let object = place.join("sum.o");
    let mut mpicc = tool("mpicc");
    mpicc.arg("-c").arg(&source).arg("-o").arg(&object);
    succeed(mpicc);
    let mut ar = Command::new("ar");
    ar.arg("rcs").arg(place.join("libsum.a")).arg(&object);
    succeed(ar);
    let other = place.join("other.c");
    fs::write(&other, "int unused_by_main;\n").expect("a file below the build directory");
    let program = place.join("program");
    let directory = format!("-L{}", place.display());
    compile(&other, &program, &[&directory, "-lsum"]);
    for mode in MODES {
        expect_sum(mode, &program);
    }
}

#[test]
fn wrappers_answer_what_those_of_other_libraries_answer() {
    let ask = |name: &str, words: &[&str]| {
        let mut wrapper = tool(name);
        wrapper.args(words);
        succeed(wrapper)
    };
    for name in ["mpicc", "mpicxx", "mpic++", "mpiCC"] {
        let version = ask(name, &["--showme:version"]);
        let numbers = version
            .split_whitespace()
            .any(|word| word.split('.').filter(|part| part.parse::<u32>().is_ok()).count() == 3);
        assert!(numbers, "{version}");
        assert!(ask(name, &["-help"]).contains("-mpi-strict"));
    }
    assert!(ask("mpicc", &["-cc=another-cc", "-show"]).starts_with("another-cc "));
    assert!(ask("mpicxx", &["-cxx=another-c++", "-show"]).starts_with("another-c++ "));
    assert_eq!(ask("mpicc", &["-cc=another-cc", "-showme:command"]), "another-cc\n");
    assert!(ask("mpicc", &["-showme:compile"]).contains("-DCORELACE_COMPATIBLE"));
    assert!(!ask("mpicc", &["-mpi-strict", "-showme:compile"]).contains("COMPATIBLE"));
}

#[test]
fn strict_programs_see_only_the_names_of_the_abi() {
    let source = scratch("strict").join("names.c");
    let text = "#include <mpi.h>\n#ifdef MPI_UB\n#error\n#endif\ntypedef char MPI_Fint;\nint main(void) { return 0; }\n";
    fs::write(&source, text).expect("a file below the build directory");
    compile(&source, &source.with_extension(""), &["-mpi-strict"]);
    let mut mpicc = tool("mpicc");
    mpicc.arg("-fsyntax-only").arg(&source).env("CORELACE_STRICT", "1");
    succeed(mpicc);
}

#[test]
fn pkg_config_knows_the_usual_names() {
    for name in ["mpi", "mpi-c", "mpi-cxx", "ompi-c", "ompi-cxx", "mpich"] {
        let text = fs::read_to_string(prefix().join(format!("lib/pkgconfig/{name}.pc"))).expect("installed");
        assert!(text.contains("-lmpi_abi"), "{text}");
    }
}

//! The C interface from outside: the header, the symbols of both library forms, the values, and profiling.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::library::{self, Library, scratch, succeed};

/// Every object of the spec's file or directory, `spec/functions` being a directory.
fn spec(path: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec").join(path);
    let files = match fs::read_dir(&path) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => vec![path],
    };
    files
        .iter()
        .flat_map(|file| serde_json::from_str::<Vec<Value>>(&fs::read_to_string(file).unwrap()).unwrap())
        .collect()
}

fn names(path: &str) -> Vec<String> {
    spec(path).iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_header_compiles_without_a_warning_in_every_version_of_c_and_cxx() {
    let directory = scratch("header");
    let source = directory.join("empty.c");
    fs::write(&source, "#include <mpi.h>\n#include <mpi.h>\ntypedef int not_empty;\n").unwrap();
    let versions = [("cc", "c", "c99"), ("cc", "c", "c11"), ("cc", "c", "c17"), ("cc", "c", "c2x")];
    let more =
        [("c++", "c++", "c++98"), ("c++", "c++", "c++11"), ("c++", "c++", "c++17"), ("c++", "c++", "c++20")];
    for (compiler, language, version) in versions.into_iter().chain(more) {
        let mut command = Command::new(compiler);
        command.args([
            "-x",
            language,
            &format!("-std={version}"),
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
        ]);
        command.arg("-I").arg(library::include()).arg("-fsyntax-only").arg(&source);
        succeed(&mut command);
    }
}

#[test]
fn all_functions_are_exported_as_mpi_weak_and_as_pmpi_strong_by_both_forms_of_the_library() {
    let library = Library::build();
    let functions = names("functions");
    assert_eq!(functions.len(), 662);
    for (file, flags) in
        [(&library.shared, &["-D", "--defined-only"][..]), (&library.archive, &["--defined-only"])]
    {
        let listing = succeed(Command::new("nm").args(flags).arg(file));
        let symbols: Vec<(&str, &str)> = listing
            .lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace().rev();
                Some((words.next()?, words.next()?))
            })
            .collect();
        for name in &functions {
            assert!(symbols.contains(&(name, "W")), "{name} is not weak in {}", file.display());
            assert!(symbols.contains(&(&format!("P{name}"), "T")), "P{name} is not in {}", file.display());
        }
        if file == &library.shared {
            let foreign: Vec<_> = symbols
                .iter()
                .filter(|(name, _)| {
                    !["MPI_", "PMPI_", "MPIX_", "PMPIX_", "corelace_"].iter().any(|own| name.starts_with(own))
                })
                .collect();
            assert!(foreign.is_empty(), "also exported: {foreign:?}");
        }
    }
}

#[test]
fn constants_and_the_status_have_the_values_and_layout_of_the_standard_abi() {
    let mut source = String::from(
        "#include <mpi.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n\
         static int wrong;\nstatic void same(const char *name, intmax_t value, intmax_t expected) {\n  \
         if (value != expected) { printf(\"%s is %jd, expected %jd\\n\", name, value, expected); wrong = 1; }\n}\n\
         int main(void) {\n",
    );
    for constant in spec("constants.json") {
        let name = constant["name"].as_str().unwrap();
        let pointer = constant["ctype"].as_str().unwrap().ends_with('*')
            || constant["ctype"].as_str().unwrap().starts_with("MPI_") && constant["form"] != "enum";
        let through = if pointer && name != "MPI_DISPLACEMENT_CURRENT" { "(intptr_t)" } else { "" };
        writeln!(source, "  same(\"{name}\", {through}{name}, {});", constant["value"]).unwrap();
    }
    let status = spec("types.json").into_iter().find(|entry| entry["name"] == "MPI_Status").unwrap();
    for field in status["fields"].as_array().unwrap() {
        let name = field["name"].as_str().unwrap();
        writeln!(source, "  same(\"{name}\", offsetof(MPI_Status, {name}), {});", field["offset"]).unwrap();
    }
    writeln!(source, "  same(\"sizeof\", sizeof(MPI_Status), {});\n  return wrong;\n}}", status["size"])
        .unwrap();
    let directory = scratch("values");
    fs::write(directory.join("values.c"), source).unwrap();
    let program = directory.join("values");
    let mut compiler = Command::new("cc");
    compiler.arg("-I").arg(library::include()).arg(directory.join("values.c")).arg("-o").arg(&program);
    succeed(&mut compiler);
    succeed(&mut Command::new(&program));
}

/// A tool that counts sends, in front of a program that sends once to itself.
#[test]
fn a_profiling_tool_replaces_mpi_send_with_the_static_library() {
    let library = Library::build();
    let program = scratch("profile-static").join("program");
    let mut compiler = library.compiler(&["counted.c", "tool.c"], &program);
    compiler.arg(&library.archive).args(["-lpthread", "-ldl", "-lm"]);
    succeed(&mut compiler);
    assert_eq!(succeed(&mut Command::new(&program)), "received 42\nthe tool saw 1 sends\n");
}

#[test]
fn a_profiling_tool_replaces_mpi_send_when_it_is_preloaded() {
    let library = Library::build();
    let directory = scratch("profile-preload");
    let (program, tool) = (directory.join("program"), directory.join("tool.so"));
    succeed(&mut library.with_shared(library.compiler(&["counted.c"], &program)));
    let mut compiler = library.compiler(&["tool.c"], &tool);
    compiler.args(["-shared", "-fPIC"]);
    succeed(&mut library.with_shared(compiler));
    assert_eq!(succeed(&mut Command::new(&program)), "received 42\n");
    let told = succeed(Command::new(&program).env("LD_PRELOAD", &tool));
    assert_eq!(told, "received 42\nthe tool saw 1 sends\n");
}

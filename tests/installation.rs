//! What `cargo xtask install` makes: it moves, it describes itself, and every way to link with it works.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::job::{Ended, Job};
use crate::support::{compile, debian, mpirun, on, prefix, program, root, scratch, succeed, tool};

fn ring(name: &str) -> PathBuf {
    root().join("examples").join(name)
}

fn command(program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words);
    command
}

#[track_caller]
fn expect_ring(ended: Ended) {
    let ended = ended.expect_success();
    assert!(ended.stdout.ends_with("rank 0 has it back: 3, expected 3\n"), "{ended}");
}

#[test]
fn a_prefix_works_after_it_was_moved() {
    let place = scratch("moved");
    let (first, second) = (place.join("first place"), place.join("second"));
    succeed({
        let mut copy = command("cp", &["-a"]);
        copy.arg(prefix()).arg(&first);
        copy
    });
    let build = |from: &Path, product: &Path| {
        succeed({
            let mut mpicc = command(from.join("bin/mpicc"), &["-O1"]);
            mpicc.arg(ring("c/ring.c")).arg("-o").arg(product);
            mpicc
        });
    };
    let run = |from: &Path, mode: &str, program: &Path| {
        let mpirun = command(from.join("bin/mpirun"), &["-n", "3", "--ranks", mode]);
        Job::of(mpirun).argument(program).run()
    };
    let (before, after) = (place.join("before"), place.join("after"));
    build(&first, &before);
    expect_ring(run(&first, "fiber", &before));
    fs::rename(&first, &second).expect("a directory of ours");
    build(&second, &after);
    for mode in crate::support::MODES {
        expect_ring(run(&second, mode, &after));
        // A program from before the move finds the library through the launcher.
        expect_ring(run(&second, mode, &before));
    }
    expect_ring(run(&second, "thread", &ring("c/ring.c")));
}

#[test]
fn the_pkg_config_file_gives_flags_that_compile_and_link() {
    let lib = prefix().join("lib/pkgconfig");
    let flags = |what: &str| {
        let mut tool = command("pkg-config", &[what, "mpi"]);
        tool.env("PKG_CONFIG_PATH", &lib);
        match tool.output() {
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                String::from_utf8(output.stdout).expect("flags are text")
            }
            // Without the tool: its rules for this small file.
            Err(_) => {
                let text = fs::read_to_string(lib.join("mpi.pc")).expect("mpi.pc is installed");
                let key = if what == "--cflags" { "Cflags: " } else { "Libs: " };
                let line = text.lines().find_map(|line| line.strip_prefix(key)).expect("a line of flags");
                let home = lib.join("../..");
                let home = home.to_str().expect("a readable path");
                line.replace("${includedir}", &format!("{home}/include"))
                    .replace("${libdir}", &format!("{home}/lib"))
            }
        }
    };
    let product = scratch("pkg-config").join("ring");
    let mut compiler = Command::new("cc");
    compiler.args(flags("--cflags").split_whitespace()).arg(ring("c/ring.c"));
    compiler.args(flags("--libs").split_whitespace()).arg("-o").arg(&product);
    succeed(compiler);
    expect_ring(on("process", 3, &product).run());
}

#[test]
fn the_wrappers_show_what_they_would_do() {
    let (include, lib) = (prefix().join("include"), prefix().join("lib"));
    let (include, lib) = (include.to_str().expect("a readable path"), lib.to_str().expect("a readable path"));
    for (wrapper, compiler) in [("mpicc", "cc"), ("mpicxx", "c++")] {
        let ask = |words: &[&str]| {
            let mut command = tool(wrapper);
            command.args(words);
            succeed(command)
        };
        let whole = ask(&["-show", "x.c", "-o", "x"]);
        assert!(whole.starts_with(compiler), "{whole}");
        for part in [include, lib, "x.c", "-o x", "mpi_abi"] {
            assert!(whole.contains(part), "no {part} in {whole}");
        }
        let compiling = ask(&["-compile-info"]);
        assert!(compiling.contains(include), "{compiling}");
        let linking = ask(&["-link-info"]);
        assert!(linking.contains(lib) && linking.contains("mpi_abi"), "{linking}");
    }
    let mut other = tool("mpicc");
    other.env("CC", "gcc").args(["-show", "x.c"]);
    assert!(succeed(other).starts_with("gcc "));
}

#[test]
fn compiling_and_linking_in_two_steps_gives_the_same_program() {
    let place = scratch("two-steps");
    for (wrapper, source, object, last) in [
        ("mpicc", "c/ring.c", "ring.o", "rank 0 has it back: 3, expected 3\n"),
        ("mpicxx", "cxx/statics.cc", "statics.o", "3 of 3 ranks have statics of their own\n"),
    ] {
        let (object, product) = (place.join(object), place.join("program"));
        let mut first = tool(wrapper);
        first.arg("-O1").arg("-c").arg(ring(source)).arg("-o").arg(&object);
        succeed(first);
        let mut second = tool(wrapper);
        second.arg(&object).arg("-o").arg(&product);
        succeed(second);
        for mode in crate::support::MODES {
            let ended = on(mode, 3, &product).run().expect_success();
            assert!(ended.stdout.ends_with(last), "{ended}");
        }
    }
}

#[test]
fn a_program_with_the_static_library_runs_alone_and_under_the_launcher() {
    let product = scratch("static").join("ring");
    let mut compiler = Command::new("cc");
    compiler.arg("-I").arg(prefix().join("include")).arg(ring("c/ring.c"));
    compiler.arg(prefix().join("lib/libmpi_abi.a")).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&product);
    succeed(compiler);
    let needed = succeed({
        let mut list = command("readelf", &["-d"]);
        list.arg(&product);
        list
    });
    assert!(!needed.contains("libmpi"), "{needed}");
    expect_ring(on("process", 3, &product).run());
    let alone = Job::of(Command::new(&product)).run().expect_success();
    assert!(alone.stdout.ends_with("rank 0 has it back: 0, expected 0\n"), "{alone}");
}

#[test]
fn a_profiling_tool_sees_every_send_preloaded_or_linked() {
    let place = scratch("profiling");
    let (source, ring) = (root().join("tests/c/count_sends.c"), ring("c/ring.c"));
    let tool_library = place.join("libcount.so");
    compile(&source, &tool_library, &["-shared", "-fPIC"]);
    let expected: Vec<_> = [1, 2].map(|rank| format!("rank {rank} sent 1 messages")).into();
    let counted = |ended: Ended| {
        let ended = ended.expect_success();
        let mut lines: Vec<_> = ended.stderr.lines().filter(|line| !line.starts_with("rank 0")).collect();
        lines.sort();
        assert_eq!(lines, expected, "{ended}");
    };
    let preload = format!("LD_PRELOAD={}", tool_library.display());
    counted(mpirun(["-n", "3", "-x", &preload]).argument(crate::support::compiled(&ring)).run());
    let linked = place.join("linked");
    compile(&ring, &linked, &[source.to_str().expect("a readable path")]);
    for mode in crate::support::MODES {
        counted(on(mode, 3, &linked).run());
    }
}

#[test]
fn the_library_exports_every_function_of_the_standard_under_both_names() {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("spec/functions")).expect("the spec").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a file of the spec");
        let functions: Vec<Value> = serde_json::from_str(&text).expect("the spec is JSON");
        names.extend(functions.iter().map(|function| function["name"].as_str().expect("a name").to_owned()));
    }
    assert_eq!(names.len(), 662);
    let listing = succeed({
        let mut nm = command("nm", &["-D", "--defined-only"]);
        nm.arg(prefix().join("lib/libmpi_abi.so.1"));
        nm
    });
    let symbols: std::collections::HashSet<_> =
        listing.lines().filter_map(|line| line.split_whitespace().last()).collect();
    for name in &names {
        assert!(symbols.contains(name.as_str()), "{name} is not exported");
        assert!(symbols.contains(format!("P{name}").as_str()), "P{name} is not exported");
    }
}

#[test]
fn a_job_needs_no_environment() {
    let mut bare = tool("mpirun");
    bare.env_clear().env("PATH", "/usr/bin:/bin").args(["-n", "3", "--ranks", "fiber"]);
    bare.arg(program("moments.c"));
    // It starts, and complains of its missing argument.
    Job::of(bare).run().expect_code(98).expect_said(&["unknown moment"]);
}

#[test]
fn examples_are_installed_and_run_from_where_they_are_and_as_copies() {
    let ring = succeed({
        let mut ask = tool("corelace");
        ask.args(["example", "ring"]);
        ask
    });
    expect_ring(mpirun(["-n", "3", ring.trim()]).run());
    let place = scratch("example");
    let made = succeed({
        let mut copy = tool("corelace");
        copy.args(["example", "mutual_receive", "-o"]).arg(&place);
        copy
    });
    assert!(made.contains("deadlocks/mutual_receive.c") && made.contains("wrong.h"), "{made}");
    let copied = place.join("deadlocks/mutual_receive.c");
    let job = mpirun(["-n", "2", "--hang-timeout", "500ms", "--on-hang", "abort"]).argument(copied).run();
    job.expect_code(125).expect_said(&["wait for each other"]);
}

#[test]
fn pages_of_the_manual_and_completions_are_installed_and_well_formed() {
    let share = prefix().join("share");
    let groff = debian("groff");
    let page = |name: &str| {
        // Whatever the formatter warns of is a mistake.
        let mut format = command(groff, &["-man", "-Tutf8", "-ww", "-P-cbou"]);
        format.arg(share.join("man/man1").join(name));
        let formatted = Job::of(format).run().expect_success();
        assert_eq!(formatted.stderr, "", "{name}");
        formatted.stdout
    };
    let (mpirun, corelace) = (page("mpirun.1"), page("corelace.1"));
    for said in ["mpirun - run a program", "--ranks process|thread|fiber", "EXIT STATUS"] {
        assert!(mpirun.contains(said), "{said}: {mpirun}");
    }
    // The laboratory's commands come with their flags.
    for said in ["sweep", "--vary", "doctor", "--quick"] {
        assert!(corelace.contains(said), "{said}: {corelace}");
    }
    for name in ["mpicc.1", "mpicxx.1", "mpifort.1"] {
        assert!(page(name).contains("-showme"), "{name}");
    }
    for name in ["bash-completion/completions/mpirun", "zsh/site-functions/_corelace"] {
        assert!(fs::read_to_string(share.join(name)).expect(name).contains("--hang-timeout"), "{name}");
    }
}

//! What the address and the thread sanitizer watch.
//!
//! Std is the installed one: it is not instrumented, and suppressions name what the sanitizer cannot see of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assemble::library;

use crate::install;
use crate::test;
use crate::workspace::{self, Outcome};

/// The sanitizers need it named: without, their flags would reach build scripts and macros too.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Tests that a sanitizer watches, and what it is told.
struct Watched {
    packages: &'static [&'static str],
    tests: Tests,
    /// Words of tests that are left out.
    skip: &'static [&'static str],
    options: &'static str,
}

/// Which tests of the packages.
enum Tests {
    All,
    Unit,
    /// Integration tests of these modules.
    Modules(&'static [&'static str]),
}

/// Computes what algorithms would cost, for minutes under a sanitizer, and calls none of them.
const TABLES: &str = "no_table_makes_a_cliff";

/// A module whose name ends with that of another, by which its tests are found too.
const BETWEEN: &str = "intercommunicators::";

/// Everything lock-free, everything that runs on it, and everything with unsafe code that programs call.
///
/// Fibers need no annotations as long as frames stay on their stacks (no `detect_stack_use_after_return`, which moves them to the
/// thread's) and none goes on after it has caught a panic: the sanitizer then misses that the frames in between are gone. So jobs of
/// the Rust interface whose ranks do that run as threads here. Ranks that panic or stall are leaked on purpose, so leaks are looked
/// for only where none does. Left out are jobs on chips and reductions by every algorithm, which take minutes and touch no memory in
/// other ways.
const ADDRESS: &[Watched] = &[
    Watched { packages: &["corelace-processor", "corelace-ring"], tests: Tests::All, skip: &[], options: "" },
    Watched { packages: &["corelace-engine"], tests: Tests::Unit, skip: &[TABLES], options: "" },
    Watched {
        packages: &["corelace-engine"],
        tests: Tests::Modules(&[
            "communicators",
            "faults",
            "observing",
            "point_to_point",
            "schedules",
            "waits",
            "windows",
        ]),
        skip: &[BETWEEN],
        options: "",
    },
    Watched {
        packages: &["corelace-engine"],
        tests: Tests::Modules(&["collectives"]),
        skip: &["reduc"],
        options: "",
    },
    Watched { packages: &["corelace-fabric-local"], tests: Tests::All, skip: &[], options: STACKS },
    Watched { packages: &["corelace"], tests: Tests::Unit, skip: &[], options: STACKS },
    Watched {
        packages: &["corelace"],
        tests: Tests::Modules(&["adversarial", "collectives", "messages", "requests", "windows"]),
        skip: &["on_a_chip", "a_chip_has_windows", "panic_in"],
        options: STACKS,
    },
    Watched { packages: &["corelace-capi"], tests: Tests::Unit, skip: &[], options: STACKS },
];

/// Stacks of fibers stay where they are, and those that are leaked on purpose are no news.
const STACKS: &str = "detect_stack_use_after_return=0:detect_leaks=0";

/// The same without the C interface, whose threads are those of programs ([`programs`]), without what of the Rust interface adds no threads to the rest (datatypes, topologies,
/// persistent operations), and without the sweep of the collectives through their
/// algorithms, which is mostly jobs of one thread and takes minutes; `schedules` runs collectives on several. Programs that start
/// scoped threads, or that queue at a lock of std's, are left out: the sanitizer does not see how std waits for those. Fibers of one worker are one thread to it.
const THREAD: &[Watched] = &[
    Watched {
        packages: &["corelace-ring", "corelace-engine"],
        tests: Tests::Unit,
        skip: &[TABLES],
        options: "",
    },
    Watched {
        packages: &["corelace-ring", "corelace-engine"],
        tests: Tests::Modules(&["model", "communicators", "point_to_point", "schedules"]),
        skip: &[BETWEEN],
        options: "",
    },
    Watched { packages: &["corelace-fabric-local"], tests: Tests::All, skip: &[], options: "" },
    Watched { packages: &["corelace"], tests: Tests::Unit, skip: &[], options: "" },
    Watched {
        packages: &["corelace"],
        tests: Tests::Modules(&["adversarial", "collectives", "jobs", "messages", "requests", "windows"]),
        skip: &["threads_inside_of_ranks", "ends_the_threads", "inside_of_a_phase"],
        options: "",
    },
];

/// Programs of `tests/c` whose threads call at once, on so many ranks, with these words.
const PROGRAMS: &[(&str, u32, &[&str])] = &[
    ("matching", 1, &["108", "8"]),
    ("matching", 3, &["208", "8"]),
    ("matching", 2, &["304", "4"]),
    ("threads", 2, &[]),
    ("send_and_receive_threads", 2, &["multiple"]),
    ("lanes", 2, &["all"]),
];

/// Tests under the address sanitizer.
pub fn address() -> Outcome {
    tests("address", ADDRESS)
}

/// Tests under the thread sanitizer.
pub fn thread() -> Outcome {
    tests("thread", THREAD)
}

fn tests(sanitizer: &str, watched: &[Watched]) -> Outcome {
    watched.iter().try_for_each(|Watched { packages, tests, skip, options }| {
        let mut cargo = cargo(sanitizer);
        cargo.args(["test", "--quiet", "--target", TARGET]);
        match tests {
            Tests::All => test::of(&mut cargo, packages).args(["--lib", "--tests", "--"]),
            Tests::Unit => test::of(&mut cargo, packages).args(["--lib", "--"]),
            Tests::Modules(modules) => test::of_modules(&mut cargo, packages, modules)?,
        };
        cargo.args(skip.iter().flat_map(|word| ["--skip", word]));
        cargo.env("ASAN_OPTIONS", options);
        // Random cases have been run without it: it looks at how memory is used, which does not take so many.
        cargo.env("PROPTEST_CASES", "32");
        if sanitizer == "address" {
            cargo.env("CORELACE_TEST_RANKS", "threads");
        }
        cargo.env("TSAN_OPTIONS", format!("{}:{options}", suppressions()));
        workspace::run(&mut cargo)
    })
}

/// `cargo xtask races`: programs with threads, against the C library: both are built with the thread sanitizer. The launcher and the headers are the installed ones.
pub fn programs() -> Outcome {
    let root = workspace::root();
    let prefix = install::for_tests(None)?;
    workspace::run(cargo("thread").args(["build", "--quiet", "--target", TARGET, "-p", "corelace-capi"]))?;
    let target = install::target_directory(&root).join(directory("thread"));
    let room = target.join("programs");
    fs::create_dir_all(&room).map_err(|error| format!("{}: {error}", room.display()))?;
    let built = target.join(TARGET).join("debug/libcorelace_capi.a");
    let library = library::link_instrumented(&built, &room)?;
    let runtime = runtime("tsan")?;
    for &(name, ranks, words) in PROGRAMS {
        let program = room.join(name);
        compile(&root.join("tests/c").join(name).with_extension("c"), &program, &library, &runtime, &prefix)?;
        let mut job = Command::new(prefix.join("bin/mpirun"));
        job.args(["-n", &ranks.to_string()]).arg(&program).args(words);
        job.env("TSAN_OPTIONS", suppressions());
        workspace::run(&mut job)?;
    }
    Ok(())
}

fn compile(source: &Path, program: &Path, library: &Path, runtime: &Path, prefix: &Path) -> Outcome {
    let object = program.with_extension("o");
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O1", "-fsanitize=thread", "-c", "-o"]).arg(&object).arg(source);
    compiler.arg("-I").arg(prefix.join("include"));
    workspace::run(&mut compiler)?;
    let mut linker = Command::new("cc");
    linker.arg("-o").arg(program).arg(&object);
    // The sanitizer of this Rust, not the C compiler's, for both sides; the library finds it in the program.
    linker.arg("-Wl,--whole-archive").arg(runtime).args(["-Wl,--no-whole-archive", "-rdynamic"]);
    // Before what the launcher says, which would be the library as it is installed.
    let room = library.parent().unwrap_or(Path::new("/"));
    linker.arg("-Wl,--disable-new-dtags").arg(format!("-Wl,-rpath,{}", room.display()));
    linker.arg(library).args(["-lpthread", "-ldl", "-lm", "-lrt"]);
    workspace::run(&mut linker)
}

/// A sanitizer's library of this Rust.
fn runtime(name: &str) -> Outcome<PathBuf> {
    let found = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let found = found.map_err(|error| format!("rustc: {error}"))?;
    let directory = PathBuf::from(String::from_utf8_lossy(&found.stdout).trim());
    let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let ending = format!("_rt.{name}.a");
    let is_it = |path: &PathBuf| path.to_string_lossy().ends_with(&ending);
    let found = entries.flatten().map(|entry| entry.path()).find(is_it);
    found.ok_or_else(|| format!("{} has no file that ends with {ending}", directory.display()))
}

fn suppressions() -> String {
    format!("suppressions={}", workspace::root().join("crates/ring/tsan.supp").display())
}

fn directory(sanitizer: &str) -> String {
    format!("sanitizer-{sanitizer}")
}

/// Cargo that builds for a sanitizer.
fn cargo(sanitizer: &str) -> Command {
    let mut cargo = test::cargo_in(&directory(sanitizer));
    cargo.current_dir(workspace::root()).env("RUSTC_BOOTSTRAP", "1");
    cargo.env("RUSTFLAGS", format!("-Zsanitizer={sanitizer} -Cunsafe-allow-abi-mismatch=sanitizer"));
    cargo
}

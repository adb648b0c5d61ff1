//! The standard ABI: programs move between our library and MPICH's without being compiled again.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::support::job::Job;
use crate::support::python::Environment;
use crate::support::{MODES, compiled, on, prefix, root, scratch, succeed};

const MPICH: &str = "mpich==5.0.2";

/// MPICH from PyPI, with wrappers for its standard-ABI library.
pub fn mpich() -> &'static Environment {
    static MADE: OnceLock<Environment> = OnceLock::new();
    MADE.get_or_init(|| Environment::make("peers", MPICH, |environment| environment.install(&[MPICH], &[])))
}

/// Programs that use much of the interface, and what they print on four ranks.
fn programs() -> [(PathBuf, &'static str); 3] {
    [
        (
            root().join("examples/c/ring.c"),
            "rank 0 starts the token around 4 ranks\nrank 1 adds itself: 1\nrank 2 adds itself: 3\nrank 3 adds itself: 6\n\
             rank 0 has it back: 6, expected 6\n",
        ),
        (root().join("tests/c/portable.c"), "no errors\n"),
        (root().join("tests/c/collectives.c"), "no errors\n"),
    ]
}

#[test]
fn programs_built_with_mpich_s_abi_wrapper_run_on_our_library() {
    let mpich = mpich();
    for (source, expected) in programs() {
        let program = scratch("from-mpich").join("program");
        let mut wrapper = Command::new(mpich.program("mpicc_abi"));
        wrapper.arg("-O1").arg(&source).arg("-o").arg(&program);
        wrapper.env("LD_LIBRARY_PATH", mpich.root().join("lib"));
        succeed(wrapper);
        on("process", 4, &program)
            .variable("LD_LIBRARY_PATH", prefix().join("lib"))
            .variable("CORELACE_EXPECT_LIBRARY", "Corelace")
            .run()
            .expect_success()
            .expect_output(expected);
    }
}

#[test]
fn programs_built_with_our_mpicc_run_on_mpich_s_library() {
    let mpich = mpich();
    for (source, expected) in programs() {
        let mut launcher = Command::new(mpich.program("mpiexec"));
        launcher.args(["-n", "4"]).arg(compiled(&source));
        Job::of(launcher)
            .variable("LD_LIBRARY_PATH", mpich.root().join("lib"))
            .variable("CORELACE_EXPECT_LIBRARY", "MPICH")
            .run()
            .expect_success()
            .expect_output(expected);
    }
}

#[test]
fn the_programs_of_these_tests_run_on_every_kind_of_our_ranks() {
    for (source, expected) in programs() {
        for mode in MODES {
            on(mode, 4, &compiled(&source))
                .variable("CORELACE_EXPECT_LIBRARY", "Corelace")
                .run()
                .expect_success()
                .expect_output(expected);
        }
    }
}

//! The targets under libFuzzer, which looks for inputs that reach new code:
//!
//! ```text
//! export RUSTC_BOOTSTRAP=1 CORELACE_FUZZ_TARGET=letters
//! export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
//!   -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
//! cargo run -p corelace-fuzz --features libfuzzer --bin guided --target x86_64-unknown-linux-gnu -- DIRECTORY
//! ```
//!
//! DIRECTORY collects what it finds; an input that goes wrong is written beside and can be run by `cargo xtask fuzz TARGET FILE`.
#![no_main]

use corelace_fuzz::{TARGETS, Target};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (chosen().run)(bytes));

/// The target that the environment names.
fn chosen() -> &'static Target {
    static CHOSEN: std::sync::OnceLock<&'static Target> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| {
        let name = std::env::var("CORELACE_FUZZ_TARGET").unwrap_or_default();
        let found = TARGETS.iter().find(|target| target.name == name);
        found.unwrap_or_else(|| panic!("CORELACE_FUZZ_TARGET is \"{name}\", expected the name of a target"))
    })
}

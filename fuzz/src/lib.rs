//! What comes from outside of a process, as functions of arbitrary bytes that must not panic: letters of other ranks and what they want of a file,
//! control frames, plans, invitations, recordings, traces and chip files.
//!
//! A target is an ordinary function. `cargo xtask fuzz` (the binary of this crate) feeds it the corpus, then mutations of the
//! corpus by a seeded generator. Beside not panicking, a target asserts what must hold of what was accepted: that it survives
//! its own text form, that a healthy rank blames the guilty one.

mod bootstrap;
mod files;
mod forging;
mod letters;
mod lists;
pub mod mutation;

use std::path::{Path, PathBuf};

/// A function to be fed with bytes.
pub struct Target {
    /// Its name, and that of its directory in the corpus.
    pub name: &'static str,
    /// The function.
    pub run: fn(&[u8]),
    /// Inputs that are well-formed, from which mutations begin.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub static TARGETS: [Target; 8] = [
    Target { name: "letters", run: letters::run, seeds: letters::seeds },
    Target { name: "runs", run: lists::runs, seeds: lists::run_seeds },
    Target { name: "frames", run: bootstrap::frames, seeds: bootstrap::frame_seeds },
    Target { name: "plans", run: bootstrap::plan, seeds: bootstrap::plan_seeds },
    Target { name: "invitations", run: bootstrap::invitation, seeds: bootstrap::invitation_seeds },
    Target { name: "recordings", run: files::recording, seeds: files::recording_seeds },
    Target { name: "traces", run: files::trace, seeds: files::trace_seeds },
    Target { name: "chips", run: files::chip, seeds: files::chip_seeds },
];

/// Where the inputs of a target are kept that once went wrong.
pub fn corpus_of(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// The kept inputs of a target, by name.
pub fn kept(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(entries) = std::fs::read_dir(corpus_of(target)) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path, bytes)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::Mutator;

    #[test]
    fn what_once_went_wrong_goes_well() {
        for target in &TARGETS {
            for (path, input) in kept(target.name) {
                println!("{}", path.display());
                (target.run)(&input);
            }
        }
    }

    #[test]
    fn seeds_and_some_mutations_of_each_go_well() {
        for target in &TARGETS {
            let seeds = (target.seeds)();
            seeds.iter().for_each(|seed| (target.run)(seed));
            let mut mutator = Mutator::new(1);
            for _ in 0..200 {
                (target.run)(&mutator.mutated(&seeds));
            }
        }
    }
}

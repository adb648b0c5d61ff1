//! Virtual environments of Python below the build directory, each made once and kept.
//!
//! Invariant: an environment counts only when its last step is done; a half-made one is made again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{PATIENCE, job::Job, target};

/// An environment of packages.
pub struct Environment {
    root: PathBuf,
}

impl Environment {
    /// The environment of this name, with what `fill` installs. `recipe` says what that is: another one makes it anew.
    pub fn make(name: &str, recipe: &str, fill: impl FnOnce(&Environment)) -> Environment {
        let root = target().join(name);
        fs::create_dir_all(&root).expect("a directory below the build directory");
        // Another run of the tests may be at it.
        let lock = File::create(root.with_extension("lock")).expect("a file below the build directory");
        lock.lock().expect("a lock on a local file");
        let environment = Environment { root };
        let done = environment.root.join("done");
        if fs::read_to_string(&done).is_ok_and(|made| made == recipe) {
            return environment;
        }
        fs::remove_dir_all(&environment.root).expect("ours to remove");
        let made =
            Job::of(command("python3", &["-m", "venv"])).argument(&environment.root).limit(PATIENCE).run();
        assert!(
            made.code() == 0,
            "this test needs python3 with venv (on Debian: apt-get install python3-venv python3-dev): {made}"
        );
        fill(&environment);
        fs::write(&done, recipe).expect("a file below the build directory");
        environment
    }

    /// Its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A program of it.
    pub fn program(&self, name: &str) -> PathBuf {
        self.root.join("bin").join(name)
    }

    /// `pip install` with these words; the failure shows what pip said.
    pub fn install(&self, words: &[&str], variables: &[(&str, &str)]) {
        let mut pip = Command::new(self.program("python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(words);
        pip.envs(variables.iter().copied());
        Job::of(pip).limit(PATIENCE).run().expect_success();
    }
}

fn command(program: &str, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words);
    command
}

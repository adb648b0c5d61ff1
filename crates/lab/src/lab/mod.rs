//! Experiments: the applications of `apps/`, built with this installation and run on simulated chips.
//!
//! A [`Trial`] says what to run, a [`Run`] is what came out. Chips give the same result on every run, so a trial that several
//! figures need is run once.

mod apps;
mod law;
pub mod ping_pong;
mod progress;
mod trial;

pub use law::Law;
pub use progress::{Progress, bar};
pub use trial::{Line, Run, Trial};

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tempfile::TempDir;

use crate::runners::Runners;
use cli::prefix::Prefix;
use cli::wrapper::{self, Language};

/// Where experiments are made. Shared by threads that run some at the same time.
pub struct Lab {
    launcher: PathBuf,
    runners: Runners,
    workshop: TempDir,
    prefix: Prefix,
    programs: Mutex<HashMap<&'static str, Program>>,
    runs: Mutex<HashMap<Trial, Outcome>>,
    finished: AtomicUsize,
    progress: Progress,
}

type Program = Arc<OnceLock<Result<PathBuf, String>>>;
type Outcome = Arc<OnceLock<Result<Run, String>>>;

impl Lab {
    /// A laboratory with the programs of this installation.
    pub fn new() -> Result<Lab, String> {
        // An interrupt from here on is noticed, so that the directory does not stay.
        let runners = Runners::new()?;
        let workshop = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
        apps::write_to(workshop.path())?;
        let prefix = cli::prefix::locate()?;
        Ok(Lab {
            launcher: prefix.launcher(),
            prefix,
            runners,
            workshop,
            programs: Mutex::default(),
            runs: Mutex::default(),
            finished: AtomicUsize::new(0),
            progress: Progress::default(),
        })
    }

    /// The result of a trial; runs it if nobody has yet, or waits for who does.
    pub fn run(&self, trial: &Trial) -> Result<Run, String> {
        let outcome = {
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.entry(trial.clone()).or_default().clone()
        };
        outcome
            .get_or_init(|| {
                self.announce(trial);
                let program = self.program(trial.app)?;
                let run = trial.run(&self.runners, &self.launcher, &program);
                self.finished.fetch_add(1, Ordering::Relaxed);
                run
            })
            .clone()
    }

    /// The status of the command, if somebody has interrupted it.
    pub fn status_if_interrupted(&self) -> Option<u8> {
        self.runners.status_if_interrupted()
    }

    /// A file with this text that lives as long as the laboratory.
    pub fn write(&self, name: &str, text: &str) -> Result<String, String> {
        let file = self.workshop.path().join(name);
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file.display().to_string())
    }

    /// Announces so many pieces of work, for the bar of progress.
    pub fn expect(&self, pieces: usize) {
        self.progress.expect(pieces);
    }

    /// One of them is done.
    pub fn advance(&self) {
        self.progress.advance();
    }

    /// How many trials have run.
    pub fn finished(&self) -> usize {
        self.finished.load(Ordering::Relaxed)
    }

    /// The compiled application.
    fn program(&self, app: &'static str) -> Result<PathBuf, String> {
        let program = {
            let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
            programs.entry(app).or_default().clone()
        };
        program.get_or_init(|| self.compile(app)).clone()
    }

    fn compile(&self, app: &str) -> Result<PathBuf, String> {
        let program = self.workshop.path().join(app);
        let mut words = vec!["-O2".into()];
        words.extend(apps::sources(app).map(|source| self.workshop.path().join(source).into_os_string()));
        words.extend(["-o".into(), program.clone().into(), "-lm".into()]);
        match wrapper::build(Language::C, words, &self.prefix)? {
            0 => Ok(program),
            status => Err(format!("compiling {app} failed: the compiler ended with status {status}")),
        }
    }

    fn announce(&self, trial: &Trial) {
        self.progress.show(&format!("[{} runs] {trial}", self.finished()));
    }

    /// Takes the line of progress away.
    pub fn clear_progress(&self) {
        self.progress.clear();
    }
}

/// Does `work` on every item, as many at a time as there are cores; the results in the order of the items.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    with_workers(std::thread::available_parallelism().map_or(1, usize::from), items, work)
}

/// The same, at most so many at a time.
pub fn with_workers<T: Sync, R: Send>(workers: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let workers = workers.min(items.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(index) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < items.len())
                {
                    let result = work(&items[index]);
                    *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    results
        .into_iter()
        .map(|result| {
            result.into_inner().unwrap_or_else(PoisonError::into_inner).expect("every item was worked on")
        })
        .collect()
}

/// A chip by name, or an absolute path if it is a file: trials run in a directory of their own.
pub fn chip_argument(chip: &str) -> String {
    match Path::new(chip).canonicalize() {
        Ok(path) if chip.ends_with(".toml") => path.display().to_string(),
        _ => chip.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        assert_eq!(
            in_parallel(&items, |item| item * 2),
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
        assert!(in_parallel(&[] as &[usize], |item| *item).is_empty());
    }
}

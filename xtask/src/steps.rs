//! A row of checks, each timed. The times of every run are kept in a file below the build
//! directory, so that growth shows.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::time::{Duration, Instant};

use crate::install;
use crate::workspace::{self, Outcome};

/// One step by its name.
pub struct Step {
    pub name: &'static str,
    pub run: fn() -> Outcome,
}

/// A step that has been run.
pub struct Ran {
    pub name: &'static str,
    pub took: Duration,
    pub outcome: Outcome,
}

/// Where the times are.
const TIMES: &str = "times.tsv";

/// The steps whose names hold one of the words; all if there are no words.
pub fn chosen<'a>(steps: &'a [Step], words: &[&str]) -> Outcome<Vec<&'a Step>> {
    if let Some(word) = words.iter().find(|word| !steps.iter().any(|step| step.name.contains(**word))) {
        let names: Vec<_> = steps.iter().map(|step| step.name).collect();
        return Err(format!("no step is called \"{word}\", expected part of one of: {}", names.join(", ")));
    }
    let is_chosen = |step: &&Step| words.is_empty() || words.iter().any(|word| step.name.contains(word));
    Ok(steps.iter().filter(is_chosen).collect())
}

/// Runs a step of the command `of`, says so, and notes its time.
pub fn run(of: &str, step: &Step) -> Outcome<Ran> {
    println!("{of}: {}", step.name);
    let began = Instant::now();
    let outcome = (step.run)();
    let ran = Ran { name: step.name, took: began.elapsed(), outcome };
    println!("{of}: {}: {} in {:.0} s", ran.name, ran.word(), ran.took.as_secs_f64());
    note(of, &ran)?;
    Ok(ran)
}

/// A table of what has been run.
pub fn table(ran: &[Ran]) -> String {
    let line = |ran: &Ran| format!("{:>6.0} s  {:<6}  {}\n", ran.took.as_secs_f64(), ran.word(), ran.name);
    let all: Duration = ran.iter().map(|ran| ran.took).sum();
    ran.iter().map(line).chain([format!("{:>6.0} s  all", all.as_secs_f64())]).collect()
}

impl Ran {
    /// How it went, in a word.
    pub fn word(&self) -> &'static str {
        if self.outcome.is_ok() { "passed" } else { "FAILED" }
    }
}

fn note(of: &str, ran: &Ran) -> Outcome {
    let directory = install::target_directory(&workspace::root());
    let file = directory.join(TIMES);
    let fail = |error: std::io::Error| format!("cannot append to {}: {error}", file.display());
    fs::create_dir_all(&directory).map_err(fail)?;
    let mut times = OpenOptions::new().create(true).append(true).open(&file).map_err(fail)?;
    let line = format!(
        "{}\t{}\t{of}\t{}\t{}\t{:.1}\n",
        workspace::today(),
        workspace::commit(),
        ran.name,
        ran.word(),
        ran.took.as_secs_f64()
    );
    times.write_all(line.as_bytes()).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [Step; 2] = [
        Step { name: "format", run: || Ok(()) },
        Step { name: "thread sanitizer", run: || Err("a race".to_owned()) },
    ];

    #[test]
    fn a_word_that_is_no_step_runs_nothing() {
        let error = chosen(&STEPS, &["format", "lint"]).err().unwrap();
        assert!(error.contains("\"lint\"") && error.contains("thread sanitizer"), "{error}");
        assert_eq!(chosen(&STEPS, &["thr"]).unwrap()[0].name, "thread sanitizer");
        assert_eq!(chosen(&STEPS, &[]).unwrap().len(), 2);
    }

    #[test]
    fn the_table_says_how_each_step_went() {
        let ran = |step: &Step| Ran { name: step.name, took: Duration::from_secs(61), outcome: (step.run)() };
        let table = table(&STEPS.each_ref().map(ran));
        assert_eq!(table, "    61 s  passed  format\n    61 s  FAILED  thread sanitizer\n   122 s  all");
    }
}

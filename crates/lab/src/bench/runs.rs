//! One run, or several of one comparison, which tell what of one of them was luck.
//!
//! A file holds one run as it is, and several as a list under `runs`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::run::{Entry, Run};

/// Runs of the same contestants on the same machine; at least one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Runs {
    runs: Vec<Run>,
}

impl Runs {
    /// What was measured one after the other.
    pub fn of(runs: Vec<Run>) -> Runs {
        assert!(!runs.is_empty(), "a comparison has a run");
        Runs { runs }
    }

    /// Reads files that `--json` has written, as runs of one comparison; `argument` is the one that names them.
    pub fn read(argument: &str, files: &[PathBuf]) -> Result<Runs, String> {
        let mut all: Vec<Run> = Vec::new();
        for file in files {
            let named = |what: &str| format!("{argument} is \"{}\": {what}", file.display());
            let bytes = std::fs::read(file).map_err(|error| named(&error.to_string()))?;
            let runs = runs_in(&bytes)
                .map_err(|what| named(&what) + ", expected a file from `corelace bench --json`")?;
            for run in runs {
                if let Some(difference) = all.first().and_then(|first| difference(first, &run)) {
                    let first = files[0].display();
                    return Err(named(&format!("{difference} \"{first}\", expected runs of one comparison")));
                }
                all.push(run);
            }
        }
        Ok(Runs::of(all))
    }

    /// The file.
    pub fn json(&self) -> String {
        let text = match &self.runs[..] {
            [run] => serde_json::to_string_pretty(run),
            _ => serde_json::to_string_pretty(self),
        };
        text.expect("plain data") + "\n"
    }

    /// In the order in which they were measured or named.
    pub fn all(&self) -> &[Run] {
        &self.runs
    }

    /// The one that tables and pictures show.
    pub fn first(&self) -> &Run {
        &self.runs[0]
    }

    /// The samples of all as those of one run, dated as the first.
    pub fn pooled(&self) -> Run {
        let mut pool = self.first().clone();
        for run in &self.runs[1..] {
            pool.rounds += run.rounds;
            for figure in &run.figures {
                match pool.figures.iter_mut().find(|known| known.is_same(figure)) {
                    Some(known) => known.pool(figure),
                    None => pool.figures.push(figure.clone()),
                }
            }
        }
        pool
    }
}

/// The runs of a file, or what is wrong with it.
fn runs_in(bytes: &[u8]) -> Result<Vec<Run>, String> {
    let read = || -> serde_json::Result<Vec<Run>> {
        let value: Value = serde_json::from_slice(bytes)?;
        match value.get("runs") {
            Some(_) => Ok(serde_json::from_value::<Runs>(value)?.runs),
            None => Ok(vec![serde_json::from_value(value)?]),
        }
    };
    let runs = read().map_err(|error| error.to_string())?;
    if runs.is_empty() {
        return Err("it has no run".into());
    }
    runs.iter().try_for_each(Run::check_form)?;
    Ok(runs)
}

/// Why a run is not of the same comparison as the first, in words that the name of the first's file completes.
fn difference(first: &Run, run: &Run) -> Option<String> {
    if run.machine != first.machine {
        let (here, there) = (run.machine.text(), first.machine.text());
        return Some(format!("it was measured on {here}, not on {there} as"));
    }
    let alone = |these: &Run, those: &Run| -> Vec<String> {
        let alone = these.contestants.iter().filter(|entry| !those.contestants.contains(entry));
        alone.map(|Entry { name, version, .. }| format!("{name} ({version})")).collect()
    };
    let (more, fewer) = (alone(run, first), alone(first, run));
    match (more.is_empty(), fewer.is_empty()) {
        (true, true) => {}
        (true, false) => return Some(format!("it lacks {}, which take part in", fewer.join(", "))),
        (false, true) => return Some(format!("it has {}, which do not take part in", more.join(", "))),
        (false, false) => {
            return Some(format!("it has {} in place of {} in", more.join(", "), fewer.join(", ")));
        }
    }
    let how = |quick: bool| if quick { "with --quick" } else { "without --quick" };
    (run.quick != first.quick)
        .then(|| format!("it was measured {}, not {} as", how(run.quick), how(first.quick)))
}

#[cfg(test)]
mod tests {
    use super::super::figure::tests::figure;
    use super::super::run::tests::run;
    use super::*;

    /// Files of these texts; they are gone with the directory.
    fn files(texts: &[String]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let directory = tempfile::tempdir().unwrap();
        let file = |(at, text): (usize, &String)| {
            let file = directory.path().join(format!("{at}.json"));
            std::fs::write(&file, text).unwrap();
            file
        };
        let files = texts.iter().enumerate().map(file).collect();
        (directory, files)
    }

    fn read(texts: &[String]) -> Result<Runs, String> {
        let (_directory, files) = files(texts);
        Runs::read("--from", &files)
    }

    /// A run with one figure of these samples by a contestant of ours.
    fn sampled(samples: &[f64]) -> Run {
        run(vec![figure("latency", 8, 2, &[("corelace process", samples)])])
    }

    #[test]
    fn a_file_of_one_run_is_that_run_and_nothing_around_it() {
        let one = Runs::of(vec![sampled(&[1.0, 2.5])]);
        assert_eq!(one.json(), serde_json::to_string_pretty(one.first()).unwrap() + "\n");
        assert_eq!(read(&[one.json()]), Ok(one));
    }

    #[test]
    fn several_runs_survive_their_file() {
        let runs = Runs::of(vec![sampled(&[1.0]), sampled(&[2.0]), sampled(&[0.1 + 0.2])]);
        assert_eq!(read(&[runs.json()]), Ok(runs));
    }

    #[test]
    fn files_of_one_run_and_of_several_are_runs_of_one_comparison_in_their_order() {
        let [one, two, three] = [1.0, 2.0, 3.0].map(|sample| sampled(&[sample]));
        let several = Runs::of(vec![one.clone(), two.clone()]);
        let last = Runs::of(vec![three.clone()]);
        assert_eq!(read(&[several.json(), last.json()]), Ok(Runs::of(vec![one, two, three])));
    }

    #[test]
    fn runs_of_different_machines_contestants_or_lengths_are_no_comparison() {
        let refused = |change: &dyn Fn(&mut Run)| {
            let mut other = sampled(&[2.0]);
            change(&mut other);
            read(&[sampled(&[1.0]), other].map(|run| Runs::of(vec![run]).json())).unwrap_err()
        };
        let machine = refused(&|run| run.machine.cores = 4);
        assert!(machine.starts_with("--from is \"/") && machine.contains("1.json\": it was"), "{machine}");
        assert!(
            machine.contains("measured on 4 cores of ") && machine.contains("not on 2 cores"),
            "{machine}"
        );
        assert!(machine.ends_with("0.json\", expected runs of one comparison"), "{machine}");
        let fewer = refused(&|run| run.contestants.truncate(3));
        assert!(fewer.contains("it lacks mpich (mpich 1.0), which take part in \"/"), "{fewer}");
        let other = refused(&|run| run.contestants[2].version = "openmpi 2.0".into());
        assert!(
            other.contains("it has openmpi (openmpi 2.0) in place of openmpi (openmpi 1.0) in"),
            "{other}"
        );
        let quick = refused(&|run| run.quick = true);
        assert!(quick.contains("it was measured with --quick, not without --quick as \"/"), "{quick}");
    }

    #[test]
    fn contestants_may_stand_in_another_order_and_rounds_and_suites_may_be_others() {
        let mut other = run(vec![figure("barrier", 0, 8, &[("corelace process", &[1.0])])]);
        other.contestants.reverse();
        other.rounds = 5;
        let texts = [sampled(&[1.0]), other].map(|run| Runs::of(vec![run]).json());
        assert_eq!(read(&texts).unwrap().all().len(), 2);
    }

    #[test]
    fn a_file_of_something_else_is_refused_by_its_name_and_what_is_wrong() {
        let old = |runs: usize| {
            Runs::of(vec![sampled(&[1.0]); runs]).json().replacen("\"form\": 2", "\"form\": 1", 1)
        };
        for (text, wrong) in [
            ("{\"rounds\": 3}".into(), "missing field"),
            ("not JSON".into(), "expected ident"),
            ("{\"runs\": []}".into(), "it has no run"),
            ("{\"runs\": [{\"rounds\": 3}]}".into(), "missing field"),
            (old(1), "its form is 1, this version reads 2"),
            (old(2), "its form is 1, this version reads 2"),
        ] {
            let error = read(&[text]).unwrap_err();
            assert!(error.starts_with("--from is \"/") && error.contains(wrong), "{error}");
            assert!(error.ends_with("expected a file from `corelace bench --json`"), "{error}");
        }
    }

    #[test]
    fn pooled_runs_have_the_samples_of_all_and_the_figures_of_any() {
        let mut second = sampled(&[3.0]);
        second.figures.push(figure("rate", 8, 2, &[("openmpi", &[4.0])]));
        let pool = Runs::of(vec![sampled(&[1.0, 2.0]), second]).pooled();
        assert_eq!(pool.figures[0].cell("corelace process").unwrap().samples, [1.0, 2.0, 3.0]);
        assert_eq!((pool.figures[1].best("openmpi"), pool.rounds), (Some(4.0), 6));
    }
}

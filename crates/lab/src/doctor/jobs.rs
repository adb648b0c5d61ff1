//! A small job of each kind of ranks: short messages around a ring, a large one each way, a reduction, barriers.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{Finding, Grade, finding};
use cli::prefix;
use cli::wrapper::{self, Language};

/// The program.
const SOURCE: &str = include_str!("rounds.c");

/// Far more than a job takes; one that hangs ends by it.
const SECONDS: &str = "20";

/// The kinds of ranks, and what their findings are called.
const MODES: [(&str, &str); 3] =
    [("process", "job of processes"), ("thread", "job of threads"), ("fiber", "job of fibers")];

pub fn findings() -> Vec<Finding> {
    let directory = match tempfile::tempdir() {
        Ok(directory) => directory,
        Err(error) => {
            let meaning = "not tried: a temporary directory is needed to compile the job's program (TMPDIR)";
            return vec![finding(Grade::Fair, "jobs", error.to_string(), meaning)];
        }
    };
    match compiled(directory.path()) {
        Ok(program) => MODES.iter().map(|(mode, what)| job(mode, what, &program)).collect(),
        Err(error) => {
            let meaning = "not tried: a C compiler is needed for the job's program (CC)";
            vec![finding(Grade::Fair, "jobs", error, meaning)]
        }
    }
}

fn compiled(directory: &Path) -> Result<std::path::PathBuf, String> {
    let (source, program) = (directory.join("rounds.c"), directory.join("rounds"));
    std::fs::write(&source, SOURCE).map_err(|error| format!("{}: {error}", source.display()))?;
    let words = vec!["-O1".into(), source.into(), "-o".into(), program.clone().into()];
    match wrapper::build(Language::C, words, &prefix::locate()?)? {
        0 => Ok(program),
        status => Err(format!("the compiler ended with status {status}")),
    }
}

fn job(mode: &str, what: &'static str, program: &Path) -> Finding {
    let began = Instant::now();
    let output = prefix::locate().and_then(|prefix| {
        Command::new(prefix.launcher())
            .args(["run", "--timeout", SECONDS, "--ranks", mode, "-n", "4"])
            .arg(program)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())
    });
    let failed = |said: String| finding(Grade::Bad, what, "failed", said);
    match output {
        Ok(output) if output.status.success() && output.stdout == b"no errors\n" => {
            let took = format!("4 ranks in {} ms", began.elapsed().as_millis());
            finding(Grade::Good, what, took, format!("--ranks {mode} works here"))
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            failed(said.lines().next().map_or_else(|| output.status.to_string(), str::to_owned))
        }
        Err(error) => failed(error),
    }
}

//! `cargo xtask conformance [FOLDER…]`: MPICH's suite, in C and Fortran, against our prefix.
//!
//! Fetched as Debian's source package ([`fetch`]), read from its lists ([`testlist`]), compiled with our `mpicc` ([`build`]), run
//! with our `mpirun` ([`run`]), shown as a table ([`table`]). What is fetched and built stays below the target directory. The run
//! fails if a test fails that is not in the list of known failures ([`known`]), or if one of that list passes.

mod build;
mod fetch;
mod fortran;
mod known;
mod run;
mod table;
mod testlist;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::workspace::{self, Outcome};
use crate::{install, test};

use build::Workshop;
use run::{Runner, Verdict};
use table::Finding;
use testlist::Test;

const USAGE: &str =
    "usage: cargo xtask conformance [FOLDER…] [--ranks process|thread|fiber] [--json FILE] [--prefix DIR]
                               [--jobs N] [--timeout S] [--only PATTERN] [--fast]";

/// What is run if no folder is named: everything two-sided, files, and the tools interface.
const FOLDERS: [&str; 15] = [
    "attr", "coll", "comm", "datatype", "errhan", "errors", "group", "info", "init", "io", "mpi_t", "part",
    "pt2pt", "threads", "topo",
];

/// More programs than this in a folder are too many for a quick run.
const MANY: usize = 25;

/// What the command line says.
struct Wishes {
    folders: Vec<String>,
    ranks: String,
    json: Option<PathBuf>,
    prefix: Option<PathBuf>,
    jobs: usize,
    limit: u64,
    only: Option<String>,
    is_fast: bool,
}

/// Runs the command.
pub fn command(arguments: &[&str]) -> Outcome {
    let wishes = Wishes::read(arguments)?;
    fetch::need("cc", "gcc")?;
    let root = workspace::root();
    let room = install::target_directory(&root).join("conformance");
    let suite = fetch::suite(&room)?;
    let prefix = install::for_tests(wishes.prefix.as_deref())?;
    let tests = wishes.tests(&suite)?;
    let began = Instant::now();
    let findings = try_all(&tests, &wishes, &suite, &room, &prefix)?;
    print!("{}", table::show(&findings));
    if let Some(path) = &wishes.json {
        table::keep(path, &fetch::version(&room), &wishes.ranks, &findings)?;
    }
    let wrong = findings.iter().filter(|finding| finding.is_wrong()).count();
    println!(
        "conformance: {}, {} ranks, {} tests in {}",
        fetch::version(&room),
        wishes.ranks,
        findings.len(),
        test::seconds(began)
    );
    match (wrong, findings.len()) {
        (_, 0) => Err("no test matches".to_owned()),
        (0, _) => Ok(()),
        _ => Err(format!("{wrong} tests did not end as they should")),
    }
}

impl Wishes {
    fn read(arguments: &[&str]) -> Outcome<Wishes> {
        let usage = || USAGE.to_owned();
        let mut wishes = Wishes {
            folders: Vec::new(),
            ranks: "process".to_owned(),
            json: None,
            prefix: None,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            limit: 180,
            only: None,
            is_fast: false,
        };
        let mut words = arguments.iter().copied();
        while let Some(word) = words.next() {
            let mut value = || words.next().map(str::to_owned).ok_or_else(usage);
            match word {
                "--ranks" => wishes.ranks = value()?,
                "--json" => wishes.json = Some(value()?.into()),
                "--prefix" => wishes.prefix = Some(value()?.into()),
                "--jobs" => wishes.jobs = value()?.parse().map_err(|_| usage())?,
                "--timeout" => wishes.limit = value()?.parse().map_err(|_| usage())?,
                "--only" => wishes.only = Some(value()?),
                "--fast" => wishes.is_fast = true,
                word if word.starts_with('-') => return Err(usage()),
                folder => wishes.folders.push(folder.trim_end_matches('/').to_owned()),
            }
        }
        if !["process", "thread", "fiber"].contains(&wishes.ranks.as_str()) || wishes.jobs == 0 {
            return Err(usage());
        }
        if wishes.folders.is_empty() {
            wishes.folders = FOLDERS.map(str::to_owned).to_vec();
            // Ranks that share a process cannot start others.
            wishes.folders.extend((wishes.ranks == "process").then(|| "spawn".to_owned()));
        }
        Ok(wishes)
    }

    fn tests(&self, suite: &Path) -> Outcome<Vec<Test>> {
        let mut tests = Vec::new();
        for folder in &self.folders {
            let listed = testlist::read(suite, folder)?;
            tests.extend(if self.is_fast { sample(listed) } else { listed });
        }
        if let Some(pattern) = &self.only {
            let (pattern, wanted) =
                pattern.strip_prefix('!').map_or((pattern.as_str(), true), |rest| (rest, false));
            tests.retain(|test| test.name().contains(pattern) == wanted);
        }
        Ok(tests)
    }
}

/// What is run in minutes: of a folder with many programs every third, one line of each, and nothing that is known to take long.
fn sample(listed: Vec<Test>) -> Vec<Test> {
    let mut programs = Vec::new();
    let quick = |test: &Test| test.limit.is_none() && test.memory == 0.0 && test.ranks <= 8;
    for test in listed.into_iter().filter(quick) {
        if !programs
            .iter()
            .any(|known: &Test| (&known.folder, &known.program) == (&test.folder, &test.program))
        {
            programs.push(test);
        }
    }
    let step = if programs.len() > MANY { 3 } else { 1 };
    programs.into_iter().step_by(step).collect()
}

/// As many tests at a time as there are jobs, in the order of the lists.
fn try_all(
    tests: &[Test],
    wishes: &Wishes,
    suite: &Path,
    room: &Path,
    prefix: &Path,
) -> Outcome<Vec<Finding>> {
    let (bad, outside) = (known::bad(&wishes.ranks)?, known::outside()?);
    let reason = |list: &[known::Known], name: &str| {
        list.iter().find(|known| known.names(name)).map(|known| known.reason.clone())
    };
    let workshop = Workshop::open(suite, room, prefix)?;
    let runner = Runner {
        mpirun: prefix.join("bin/mpirun"),
        ranks: wishes.ranks.clone(),
        room: room.join("run").join(std::process::id().to_string()),
        limit: wishes.limit,
        memory: spare_memory() / 2.0,
        heavy: Mutex::new(()),
    };
    let progress = Progress::new(tests.len());
    let next = AtomicUsize::new(0);
    let findings = Mutex::new(Vec::new());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(test) = tests.get(number) else { break };
            let name = test.name();
            let began = Instant::now();
            let (verdict, said) = if let Some(reason) = reason(&outside, &name) {
                (Verdict::NotRun(reason), String::new())
            } else {
                match workshop.program(&test.folder, &test.program) {
                    Err(compiler) => (Verdict::NotBuilt(compiler.clone()), compiler),
                    Ok(program) => runner.run(test, &program, number),
                }
            };
            let finding = Finding {
                folder: test.folder.split('/').next().unwrap_or_default().to_owned(),
                known: reason(&bad, &name),
                test: name,
                verdict,
                expected: test.expected_to_fail,
                seconds: began.elapsed().as_secs_f64(),
                said,
            };
            progress.step(&finding);
            findings.lock().unwrap_or_else(|error| error.into_inner()).push((number, finding));
        }
    };
    std::thread::scope(|scope| (0..wishes.jobs).for_each(|_| _ = scope.spawn(work)));
    progress.end();
    _ = std::fs::remove_dir_all(&runner.room);
    let mut findings = findings.into_inner().unwrap_or_else(|error| error.into_inner());
    findings.sort_by_key(|(number, _)| *number);
    Ok(findings.into_iter().map(|(_, finding)| finding).collect())
}

/// Memory that is free now, in GB.
fn spare_memory() -> f64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.map_or(f64::INFINITY, |kilobytes| kilobytes / 1e6)
}

/// One line that says how far it is: kept up to date on a terminal, now and then elsewhere.
struct Progress {
    all: usize,
    state: Mutex<(usize, usize, Instant)>,
}

impl Progress {
    fn new(all: usize) -> Progress {
        Progress { all, state: Mutex::new((0, 0, Instant::now())) }
    }

    fn step(&self, finding: &Finding) {
        let mut state = self.state.lock().unwrap_or_else(|error| error.into_inner());
        let (done, wrong, said) = &mut *state;
        *done += 1;
        *wrong += usize::from(finding.is_wrong());
        let mut err = std::io::stderr().lock();
        let line = format!("conformance: {done} of {}, {wrong} wrong, {}", self.all, finding.test);
        if err.is_terminal() {
            _ = write!(err, "\r\x1b[K{}", line.chars().take(100).collect::<String>());
            _ = err.flush();
        } else if said.elapsed() > Duration::from_secs(15) {
            *said = Instant::now();
            _ = writeln!(err, "{line}");
        }
    }

    fn end(&self) {
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_takes_one_line_of_a_program_and_every_third_of_many() {
        let named =
            |name: String, ranks| testlist::parse("coll", &format!("{name} {ranks}")).unwrap().unwrap();
        let few: Vec<_> = (0..6).map(|number| named(format!("program{}", number / 2), 4)).collect();
        assert_eq!(sample(few).len(), 3);
        let many: Vec<_> = (0..60).map(|number| named(format!("program{number}"), 4)).collect();
        assert_eq!(sample(many).len(), 20);
        assert!(sample(vec![named("large".to_owned(), 30)]).is_empty());
    }
}

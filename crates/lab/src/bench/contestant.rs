//! Who takes part: MPI installations, and the ways in which their ranks run.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::figure::Sample;
use super::instructions::Step;
use super::suite::{Case, Program, Takers};
use crate::runners::Runners;

/// An installation: how to compile with it and how to start jobs with it.
pub struct Installation {
    /// In tables; no other has it.
    pub name: String,
    prefix: PathBuf,
    is_ours: bool,
    /// What came of compiling a program.
    programs: HashMap<&'static str, Result<PathBuf, Failure>>,
}

/// An installation, and how its ranks run.
pub struct Contestant {
    pub name: String,
    pub is_ours: bool,
    /// Its place in the list of installations.
    pub installation: usize,
    kind: String,
}

/// Why there are no figures, or not all: for a cell of a table and for a sentence.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    pub short: String,
    pub long: String,
}

/// What a run said, as far as it came.
pub struct Printed {
    pub samples: Vec<Sample>,
    pub steps: Vec<Step>,
    pub failure: Option<Failure>,
}

/// The kind of ranks that others have, and ours unless told otherwise.
const PROCESS: &str = "process";

/// What programs include.
const HEADERS: [Program; 2] = [
    Program { file: "measure.h", text: include_str!("../../bench/measure.h") },
    Program { file: "cores.h", text: include_str!("../../bench/cores.h") },
];

/// A program that prints the version of the library, and needs no launcher for it.
pub const VERSION: Program = Program { file: "version.c", text: include_str!("../../bench/version.c") };

impl Installation {
    /// The one that this executable belongs to.
    pub fn ours(prefix: &Path) -> Installation {
        let programs = HashMap::new();
        Installation { name: "corelace".into(), prefix: prefix.to_path_buf(), is_ours: true, programs }
    }

    /// Another one.
    pub fn other(prefix: &Path) -> Result<Installation, String> {
        for tool in ["mpicc", "mpiexec"] {
            if !prefix.join("bin").join(tool).exists() {
                return Err(format!(
                    "--against is \"{}\": there is no bin/{tool}, expected the prefix of an MPI installation",
                    prefix.display()
                ));
            }
        }
        let prefix = prefix.canonicalize().map_err(|error| format!("{}: {error}", prefix.display()))?;
        let name = prefix.file_name().unwrap_or(prefix.as_os_str()).to_string_lossy().into_owned();
        Ok(Installation { name, prefix, is_ours: false, programs: HashMap::new() })
    }

    /// Whether both are in the same place.
    pub fn is_same(&self, other: &Installation) -> bool {
        self.prefix == other.prefix
    }

    /// Compiles a program, once. Whether that worked is told when it is run.
    pub fn build(&mut self, workshop: &Path, program: Program) -> Result<(), String> {
        if self.programs.contains_key(program.file) {
            return Ok(());
        }
        let file = workshop.join(program.file);
        let headers = HEADERS.map(|header| (workshop.join(header.file), header.text));
        for (file, text) in headers.into_iter().chain([(file.clone(), program.text)]) {
            std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let built = workshop.join(format!("{}.{}", self.name, program.file.trim_end_matches(".c")));
        let mut compile = self.command("mpicc");
        compile.args(["-O2", "-pthread"]).arg(&file).arg("-o").arg(&built);
        let output = compile.output().map_err(|error| format!("{}: mpicc: {error}", self.name))?;
        let outcome = match output.status.success() {
            true => Ok(built),
            false => Err(refused(program.file, &String::from_utf8_lossy(&output.stderr))),
        };
        self.programs.insert(program.file, outcome);
        Ok(())
    }

    /// What the library says of itself, in its first line.
    pub fn version(&self) -> String {
        let Some(Ok(program)) = self.programs.get(VERSION.file) else { return "unknown".into() };
        let said = self.in_environment(Command::new(program)).stdin(Stdio::null()).output();
        let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
        said.lines().next().filter(|line| !line.is_empty()).unwrap_or("unknown").trim().to_owned()
    }

    fn command(&self, tool: &str) -> Command {
        self.in_environment(Command::new(self.prefix.join("bin").join(tool)))
    }

    /// The environment that the installation needs. Some refuse to run as root or on few cores unless told.
    fn in_environment(&self, mut command: Command) -> Command {
        if self.is_ours {
            return command;
        }
        let library = self.prefix.join("lib");
        let mut paths = vec![self.prefix.join("bin")];
        paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        command
            .env("PATH", std::env::join_paths(paths).unwrap_or_default())
            .env("LD_LIBRARY_PATH", library)
            .env("I_MPI_ROOT", &self.prefix)
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
        let providers = self.prefix.join("opt/mpi/libfabric/lib/prov");
        if providers.is_dir() {
            command.env("FI_PROVIDER_PATH", providers);
        }
        command
    }
}

impl Contestant {
    /// This installation, with ranks of the given kind.
    pub fn ours(installation: usize, kind: &str) -> Contestant {
        Contestant { name: format!("corelace {kind}"), is_ours: true, installation, kind: kind.into() }
    }

    /// Another installation.
    pub fn other(at: usize, installation: &Installation) -> Contestant {
        Contestant { name: installation.name.clone(), is_ours: false, installation: at, kind: PROCESS.into() }
    }

    /// Whether it can run this program; `is_first` says whether it comes first of all.
    pub fn takes(&self, case: &Case, is_first: bool) -> bool {
        match case.takers {
            Takers::Everybody => true,
            Takers::Processes => self.kind == PROCESS,
            Takers::Ours => self.is_ours,
            Takers::OurFibers => self.is_ours && self.kind == "fiber",
            Takers::First => is_first,
        }
    }

    /// Runs a program of ours that is no case of a suite.
    pub fn run_program(
        &self,
        installation: &Installation,
        program: Program,
        ranks: u32,
        turn: &Turn<'_>,
    ) -> Result<Printed, String> {
        self.run(installation, &Case::aside(program, ranks), turn)
    }

    /// Runs a program and reads its figures.
    pub fn run(&self, installation: &Installation, case: &Case, turn: &Turn<'_>) -> Result<Printed, String> {
        let program = match &installation.programs[case.program.file] {
            Ok(program) => program,
            Err(failure) => return Ok(Printed::nothing(failure.clone())),
        };
        let mut launch = installation.command("mpiexec");
        if self.is_ours {
            launch.args(["--ranks", &self.kind]);
        }
        launch.arg("-n").arg(case.ranks.to_string());
        if case.is_traced {
            launch.arg("--trace").arg(program.with_extension("trace"));
        }
        launch.arg(program).arg(if turn.quick { "1" } else { "0" }).args(turn.arguments);
        launch.envs(turn.environment.iter().map(|(name, value)| (name, value)));
        let (said, complained) = (turn.workshop.join("said"), turn.workshop.join("complained"));
        let file = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        launch.stdin(Stdio::null()).stdout(file(&said)?).stderr(file(&complained)?);
        let begin = Instant::now();
        let status = turn.runners.status_within(&mut launch, turn.limit)?;
        let seconds = begin.elapsed().as_secs_f64();
        let read = |path: &Path| {
            std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
        };
        let mut printed = Printed::parse(&read(&said));
        match status {
            Some(status) if status.success() => printed.samples.extend(case.is_timed.then(|| Sample {
                name: "start".into(),
                size: u64::from(case.ranks),
                of: "ranks".into(),
                value: seconds * 1e3,
                unit: "ms".into(),
            })),
            Some(status) => {
                let why = read(&complained);
                let long = format!("{status}: {}", last_lines(&why));
                printed.failure = Some(Failure { short: "failed".into(), long });
            }
            None => printed.failure = Some(Failure::too_slow(turn.limit)),
        }
        Ok(printed)
    }
}

/// How programs are run now.
pub struct Turn<'t> {
    pub workshop: &'t Path,
    pub quick: bool,
    pub limit: Duration,
    pub runners: &'t Runners,
    pub environment: &'t [(String, OsString)],
    /// What the program is called with behind the usual argument.
    pub arguments: &'t [String],
}

impl Printed {
    fn parse(text: &str) -> Printed {
        Printed {
            samples: text.lines().filter_map(Sample::parse).collect(),
            steps: text.lines().filter_map(Step::parse).collect(),
            failure: None,
        }
    }

    fn nothing(failure: Failure) -> Printed {
        Printed { samples: Vec::new(), steps: Vec::new(), failure: Some(failure) }
    }
}

impl Failure {
    fn too_slow(limit: Duration) -> Failure {
        let seconds = limit.as_secs();
        let long = format!("did not end within {seconds} s (--limit)");
        Failure { short: format!("> {seconds} s"), long }
    }
}

/// A compiler that does not make a program: because a function is not there, or for another reason.
fn refused(file: &str, complaint: &str) -> Failure {
    let missing = complaint.lines().find_map(|line| line.split_once("undefined reference to "));
    match missing {
        Some((_, function)) => {
            let function = function.trim_matches(['`', '\'', '"', ' ', ';']);
            Failure { short: "lacks it".into(), long: format!("has no {function}, which {file} calls") }
        }
        None => Failure {
            short: "no build".into(),
            long: format!("mpicc cannot make {file}: {}", last_lines(complaint)),
        },
    }
}

/// What a complaint ends with, in one line.
fn last_lines(complaint: &str) -> String {
    const LINES: usize = 3;
    let lines: Vec<&str> = complaint.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::suite;

    #[test]
    fn a_function_that_is_not_there_is_named() {
        let text = "ld: x.o: in function `main':\nx.c:(.text+0x1): undefined reference to `MPI_Allreduce_init'\ncollect2: error";
        let failure = refused("persistent.c", text);
        assert_eq!(failure.short, "lacks it");
        assert_eq!(failure.long, "has no MPI_Allreduce_init, which persistent.c calls");
    }

    #[test]
    fn any_other_complaint_is_told_by_its_end() {
        let failure = refused("x.c", "one\ntwo\n\nthree\nfour\n");
        assert_eq!(
            (failure.short.as_str(), failure.long.as_str()),
            ("no build", "mpicc cannot make x.c: two; three; four")
        );
    }

    #[test]
    fn fibers_take_neither_threads_nor_instructions_and_only_they_take_growth() {
        let (process, fiber) = (Contestant::ours(0, "process"), Contestant::ours(0, "fiber"));
        let case = |name: &str| suite::chosen(&[suite::named(name).unwrap()], None).unwrap()[0];
        for name in ["threads", "instructions"] {
            assert!(process.takes(&case(name), true) && !fiber.takes(&case(name), false), "{name}");
        }
        assert!(!process.takes(&case("growth"), true) && fiber.takes(&case("growth"), false));
    }

    #[test]
    fn the_machine_is_measured_once() {
        let limits = suite::chosen(&[], Some("limit-cache-line")).unwrap()[0];
        let contestant = Contestant::ours(0, "process");
        assert!(contestant.takes(&limits, true) && !contestant.takes(&limits, false));
    }
}

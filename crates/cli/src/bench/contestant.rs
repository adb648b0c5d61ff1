//! One MPI installation that takes part: how to compile with it and how to start jobs with it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::figure::Sample;
use super::instructions::Step;

/// What a run said.
pub struct Printed {
    pub samples: Vec<Sample>,
    pub steps: Vec<Step>,
}

/// An installation, and how its ranks run.
pub struct Contestant {
    name: String,
    prefix: PathBuf,
    launch: Vec<OsString>,
    programs: HashMap<&'static str, PathBuf>,
    ours: bool,
    are_processes: bool,
}

impl Contestant {
    /// This installation, with ranks of the given kind.
    pub fn ours(prefix: &Path, ranks: &str) -> Contestant {
        Contestant {
            name: format!("corelace {ranks}"),
            prefix: prefix.to_path_buf(),
            launch: vec!["--ranks".into(), ranks.into()],
            programs: HashMap::new(),
            ours: true,
            are_processes: ranks == "process",
        }
    }

    /// Another installation.
    pub fn other(prefix: &Path) -> Result<Contestant, String> {
        for tool in ["mpicc", "mpiexec"] {
            if !prefix.join("bin").join(tool).exists() {
                return Err(format!(
                    "--against {}: there is no bin/{tool}, expected the prefix of an MPI installation",
                    prefix.display()
                ));
            }
        }
        let prefix = prefix.canonicalize().map_err(|error| format!("{}: {error}", prefix.display()))?;
        let name = prefix.file_name().unwrap_or(prefix.as_os_str()).to_string_lossy().into_owned();
        Ok(Contestant {
            name,
            prefix,
            launch: Vec::new(),
            programs: HashMap::new(),
            ours: false,
            are_processes: true,
        })
    }

    /// The name in tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it can run this program.
    pub fn takes(&self, source: &str) -> bool {
        match source {
            super::TRACED => self.ours,
            super::COUNTED => self.are_processes,
            _ => true,
        }
    }

    /// Compiles a program, once.
    pub fn build(&mut self, workshop: &Path, source: &'static str, text: &str) -> Result<(), String> {
        if self.programs.contains_key(source) {
            return Ok(());
        }
        let file = workshop.join(source);
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        let program =
            workshop.join(format!("{}.{}", self.name.replace(' ', "-"), source.trim_end_matches(".c")));
        let mut compile = self.command("mpicc");
        compile.arg("-O2").arg(&file).arg("-o").arg(&program);
        let output = compile.output().map_err(|error| self.failed("mpicc", &error.to_string()))?;
        if !output.status.success() {
            return Err(self.failed("mpicc", &String::from_utf8_lossy(&output.stderr)));
        }
        self.programs.insert(source, program);
        Ok(())
    }

    /// Runs a program and reads its figures; the time from start to end is one more.
    pub fn run(&self, source: &str, ranks: u32, quick: bool) -> Result<Printed, String> {
        let mut launch = self.command("mpiexec");
        let program = &self.programs[source];
        launch.args(&self.launch).arg("-n").arg(ranks.to_string());
        if source == super::TRACED {
            launch.arg("--trace").arg(program.with_extension("trace"));
        }
        launch.arg(program);
        launch.arg(if quick { "1" } else { "0" });
        let begin = Instant::now();
        let output = launch.output().map_err(|error| self.failed("mpiexec", &error.to_string()))?;
        let seconds = begin.elapsed().as_secs_f64();
        if !output.status.success() {
            let why = format!("{source} on {ranks} ranks: {}", String::from_utf8_lossy(&output.stderr));
            return Err(self.failed("mpiexec", &why));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut samples: Vec<Sample> = text.lines().filter_map(Sample::parse).collect();
        if source == "idle.c" {
            samples.push(Sample {
                name: "start".into(),
                size: u64::from(ranks),
                value: seconds * 1e3,
                unit: "ms".into(),
            });
        }
        Ok(Printed { samples, steps: text.lines().filter_map(Step::parse).collect() })
    }

    /// A tool of the installation, in the environment that it needs. Some refuse to run as root or on few cores unless told.
    fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(self.prefix.join("bin").join(tool));
        if self.ours {
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
        command
    }

    fn failed(&self, tool: &str, why: &str) -> String {
        format!("{}: {tool} failed: {}", self.name, why.trim())
    }
}

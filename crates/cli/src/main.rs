//! The one executable: `corelace` and, by the name it is called with, `mpirun`, `mpiexec`, `mpicc`, `mpicxx` and `mpifort`; and the
//! linker that these let compilers call, and the assembler of `mpicc --count`.
//!
//! One file under several names (links) keeps an installation relocatable: whatever is needed is found relative to
//! `/proc/self/exe`.
#![forbid(unsafe_code)]

mod bench;
mod chart;
mod chips;
mod compile;
mod count;
mod doctor;
mod fit;
mod flags;
mod keys;
mod lab;
mod link;
mod nodes;
mod prefix;
mod profile;
mod replay;
mod report;
mod reproduce;
mod run;
mod runners;
mod status;
mod surroundings;
mod sweep;
mod tracing;
mod vars;
mod wrapper;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The status of a launcher that could not start a job, as of a shell that cannot start a command.
const CANNOT_START: u8 = 127;

/// A Message Passing Interface born for manycore processors.
#[derive(Parser)]
#[command(name = "corelace", version, arg_required_else_help = true, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a program, or a C, C++ or Fortran file, on several ranks (the same as mpirun; `corelace run --help` lists the flags)
    #[command(disable_help_flag = true)]
    Run {
        /// What mpirun takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Show what this machine offers to MPI programs and what that means
    Doctor(doctor::DoctorArgs),
    /// List the chips that can be simulated, or show one with all its numbers
    Chips(chips::ChipsArgs),
    /// Measure this MPI, and others built from the same source, in one interleaved run
    Bench(bench::BenchArgs),
    /// Fit the law t = K N + h to messages between two places of a chip
    Fit(fit::FitArgs),
    /// Run a program on copies of a chip with other numbers, and compare
    Sweep(sweep::SweepArgs),
    /// Run what a trace has recorded on another machine
    Replay(replay::ReplayArgs),
    /// Measure the published figures of the systems that Corelace unites, beside what the papers say
    Reproduce(reproduce::ReproduceArgs),
    /// Show what a trace of `mpirun --trace` says: a page, a text, or a file for other viewers
    Report(report::ReportArgs),
    /// Show what the ranks of a running job do: who computes, who waits, for whom and where
    Status(status::StatusArgs),
    /// List what can be set and seen of the library while programs run: control and performance variables, events
    Vars(vars::VarsArgs),
    /// Compile C as mpicc does
    #[command(disable_help_flag = true)]
    Cc {
        /// What the compiler takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compile C++ as mpicxx does
    #[command(disable_help_flag = true)]
    Cxx {
        /// What the compiler takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compile Fortran as mpifort does
    #[command(disable_help_flag = true)]
    Fort {
        /// What the compiler takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    #[command(name = launch::guard::SUBCOMMAND, hide = true)]
    Guard { mark: String },
    #[command(name = "__host", hide = true)]
    Host { library: std::path::PathBuf, plan: u32 },
}

/// Prints what a command was asked for. A reader that has seen enough (`| head`) is no mistake.
fn say(text: &str) -> Result<(), String> {
    match std::io::Write::write_all(&mut std::io::stdout().lock(), text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    let name = Path::new(&name).file_name().unwrap_or_default();
    let rest = || words.collect::<Vec<_>>();
    let result = match name.as_bytes() {
        b"mpirun" | b"mpiexec" => run::main("mpirun", rest()),
        b"mpicc" => wrapper::main(wrapper::Language::C, rest()),
        b"mpicxx" | b"mpic++" | b"mpiCC" => wrapper::main(wrapper::Language::Cxx, rest()),
        b"mpifort" | b"mpif77" | b"mpif90" => wrapper::main(wrapper::Language::Fortran, rest()),
        count::NAME => count::main(rest()),
        _ if link::NAMES.iter().any(|linker| name == *linker) => link::main(name, rest()),
        _ => match Arguments::parse().command {
            Command::Run { arguments } => run::main("corelace run", arguments),
            Command::Doctor(options) => doctor::main(&options),
            Command::Chips(arguments) => chips::main(&arguments),
            Command::Bench(arguments) => bench::main(&arguments),
            Command::Fit(arguments) => fit::main(&arguments),
            Command::Sweep(arguments) => sweep::main(&arguments),
            Command::Replay(arguments) => replay::main(&arguments),
            Command::Reproduce(arguments) => reproduce::main(&arguments),
            Command::Report(arguments) => report::main(&arguments),
            Command::Status(arguments) => status::main(&arguments),
            Command::Vars(arguments) => vars::main(&arguments),
            Command::Cc { arguments } => wrapper::main(wrapper::Language::C, arguments),
            Command::Cxx { arguments } => wrapper::main(wrapper::Language::Cxx, arguments),
            Command::Fort { arguments } => wrapper::main(wrapper::Language::Fortran, arguments),
            Command::Guard { mark } => {
                launch::guard::main(&mark);
                Ok(0)
            }
            Command::Host { library, plan } => run::host(&library, plan),
        },
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            eprintln!("{}: {message}", name.display());
            ExitCode::from(CANNOT_START)
        }
    }
}

//! The laboratory: the commands of `corelace` that no job needs. They measure this MPI and others,
//! read traces, and explore machines and simulated chips.
//!
//! It lies in `lib/corelace` of an installation; `corelace bench` and so on become it.
#![forbid(unsafe_code)]

mod bench;
mod chart;
mod chips;
mod doctor;
mod fit;
mod keys;
mod lab;
mod replay;
mod report;
mod reproduce;
mod runners;
mod sweep;
mod vars;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "corelace", bin_name = "corelace", version, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
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
    /// List what can be set and seen of the library while programs run: control and performance variables, events
    Vars(vars::VarsArgs),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Doctor(options) => doctor::main(&options),
        Command::Chips(arguments) => chips::main(&arguments),
        Command::Bench(arguments) => bench::main(&arguments),
        Command::Fit(arguments) => fit::main(&arguments),
        Command::Sweep(arguments) => sweep::main(&arguments),
        Command::Replay(arguments) => replay::main(&arguments),
        Command::Reproduce(arguments) => reproduce::main(&arguments),
        Command::Report(arguments) => report::main(&arguments),
        Command::Vars(arguments) => vars::main(&arguments),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            cli::warn(&format!("corelace: {message}"));
            ExitCode::from(cli::CANNOT_START)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_commands_are_those_that_corelace_passes_on() {
        let command = Arguments::command();
        let mut here: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        let mut listed: Vec<_> = cli::OF_THE_LABORATORY.iter().map(|(name, _)| *name).collect();
        here.sort();
        listed.sort();
        assert_eq!(here, listed);
    }
}

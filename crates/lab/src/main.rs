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

use clap::{CommandFactory, Parser, Subcommand};

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

/// The commands and their flags as data, for completions and the manual: see [`cli::DESCRIBE`].
fn described() -> String {
    let one_line = |text: Option<&clap::builder::StyledStr>| {
        text.map(|text| text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")).unwrap_or_default()
    };
    let mut all = Arguments::command();
    all.build();
    let mut text = String::new();
    for command in all.get_subcommands() {
        text.push_str(&format!("C\t{}\t{}\n", command.get_name(), one_line(command.get_about())));
        for nested in command.get_subcommands() {
            text.push_str(&format!("S\t{}\t{}\n", nested.get_name(), one_line(nested.get_about())));
        }
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let values = argument.get_value_names().unwrap_or_default();
            let values = values.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
            let help = one_line(argument.get_help());
            let short = argument.get_short().map(|letter| format!("-{letter}"));
            let long = argument.get_long().map(|name| format!("--{name}"));
            let names: Vec<String> = short.into_iter().chain(long).collect();
            let takes = argument.get_action().takes_values();
            let given = argument.get_possible_values();
            let choices = given.iter().map(|value| value.get_name()).collect::<Vec<_>>().join("|");
            let value = match (names.is_empty() || !takes, choices.is_empty()) {
                (true, _) => String::new(),
                (false, true) => format!(" {values}"),
                (false, false) => format!(" {choices}"),
            };
            match names.is_empty() {
                true => text.push_str(&format!("P\t{values}\t{help}\n")),
                false => text.push_str(&format!("W\t{}\t{value}\t{help}\n", names.join(" "))),
            }
        }
    }
    text
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == cli::DESCRIBE) {
        print!("{}", described());
        return ExitCode::SUCCESS;
    }
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

    #[test]
    fn commands_are_described_with_their_flags_and_values() {
        let text = described();
        for (name, _) in cli::OF_THE_LABORATORY {
            assert!(text.contains(&format!("C\t{name}\t")), "{text}");
        }
        assert!(text.contains("W\t--quick\t\tLook only: run no jobs\n"), "{text}");
        assert!(text.contains("W\t-n --np\t N\t"), "{text}");
        let columns = |line: &str| line.matches('\t').count();
        assert!(
            text.lines().all(|line| columns(line) == if line.starts_with('W') { 3 } else { 2 }),
            "{text}"
        );
    }
}

//! `corelace status PID`: what the ranks of a running job do.

use clap::{Args, ValueEnum};

/// Asks a running mpirun what its ranks do. Ranks that wait answer; ranks that do not are called computing.
#[derive(Args)]
pub struct StatusArgs {
    /// The process number of mpirun
    pid: u32,
    /// How to show it
    #[arg(long, value_enum, default_value = "text")]
    format: Form,
}

/// For people, for programs, or for Graphviz.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    Text,
    Json,
    Dot,
}

pub fn main(arguments: &StatusArgs) -> Result<u8, String> {
    let format = match arguments.format {
        Form::Text => "text",
        Form::Json => "json",
        Form::Dot => "dot",
    };
    crate::say(&launch::status(arguments.pid, format)?)?;
    Ok(0)
}

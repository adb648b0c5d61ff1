//! `corelace replay`: a recorded run on another machine.

mod reader;
mod recorded;
mod script;
mod table;
mod whole;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use sim::Chip;
use sim::chip::Description;
use trace::Trace;

use cli::compile;
use cli::wrapper::Language;
use recorded::Recorded;
use script::{Script, What};
use table::Replayed;

/// The program that plays a script.
const PLAYER: &str = include_str!("player.c");

/// The arguments of `corelace replay`.
#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// A trace that `mpirun --trace` wrote, on a host or on a chip.
    #[arg(value_name = "FILE")]
    trace: PathBuf,
    /// The machine to run on: a name or a description.
    #[arg(long, value_name = "NAME|FILE.toml")]
    chip: String,
    /// How long computing takes there that took a second where the run was recorded.
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS", allow_negative_numbers = true)]
    computing: f64,
    /// Which cores ranks get, as of mpirun.
    #[arg(long, value_name = "compact|scatter")]
    map: Option<String>,
    /// How messages travel, as of mpirun.
    #[arg(long, value_name = "PROTOCOL")]
    protocol: Option<String>,
    /// The kinds of places that ranks run on, as of mpirun.
    #[arg(long, value_name = "KIND[,KIND]")]
    on: Option<String>,
    /// End the run if it takes longer, in seconds of this machine.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<String>,
    /// Write a trace of the run on that machine, for `corelace report`.
    #[arg(long = "trace", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

/// Plays the trace and prints what became of it.
pub fn main(args: &ReplayArgs) -> Result<u8, String> {
    if !args.computing.is_finite() || args.computing < 0.0 {
        return Err(format!("--computing {}: expected a number that is not negative", args.computing));
    }
    if args.output.as_deref() == Some(&*args.trace) {
        return Err(format!("--trace {}: would overwrite the recorded run", args.trace.display()));
    }
    let description = Description::find(&args.chip).map_err(|error| error.to_string())?;
    let chip = Chip::from_toml(&description.text, &description.origin).map_err(|error| error.to_string())?;
    let trace = Trace::open(&args.trace).map_err(|error| error.to_string())?;
    let named = |error| format!("{}: {error}", args.trace.display());
    let mut recorded = Recorded::of(&trace).map_err(named)?;
    if trace.job.ticks_per_second == 0 {
        return Err(named("the trace does not tell its clock".into()));
    }
    let second = trace.job.ticks_per_second as f64;
    in_cycles(&mut recorded.script, args.computing * chip.clock_hz as f64 / second);

    let workshop = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let failed = |error| format!("{}: {error}", workshop.path().display());
    recorded.script.write(workshop.path()).map_err(failed)?;
    std::fs::write(workshop.path().join("steps.h"), script::HEADER).map_err(failed)?;
    let source = workshop.path().join("player.c");
    std::fs::write(&source, PLAYER).map_err(failed)?;
    let settings = compile::Settings { quiet: true, ..Default::default() };
    let player = compile::compile(Language::C, &source, &cli::prefix::locate()?, &settings)?;
    let seconds = run(args, trace.job.ranks, &player.path(), workshop.path())?;
    let replayed =
        Replayed { job: &trace.job, chip: &chip.name, recorded: &recorded, seconds: &seconds, args };
    cli::say(&if args.json { replayed.json() } else { replayed.text() })?;
    Ok(0)
}

/// From ticks of the recording to cycles of the chip.
fn in_cycles(script: &mut Script, cycles_per_tick: f64) {
    let steps = script.parts.iter_mut().flat_map(|part| &mut part.steps);
    for step in steps.filter(|step| step.what == What::Compute) {
        step.amount = (step.amount as f64 * cycles_per_tick).round() as u64;
    }
}

/// Each rank's seconds on the chip.
fn run(args: &ReplayArgs, ranks: u32, player: &Path, scripts: &Path) -> Result<Vec<f64>, String> {
    let launcher = cli::prefix::locate()?.launcher();
    let mut command = Command::new(launcher);
    command.args(["run", "--chip", &args.chip, "-n", &ranks.to_string()]);
    let mut add = |flag: &str, value: Option<OsString>| {
        if let Some(value) = value {
            command.arg(flag).arg(value);
        }
    };
    add("--map", args.map.as_ref().map(Into::into));
    add("--protocol", args.protocol.as_ref().map(Into::into));
    add("--on", args.on.as_ref().map(Into::into));
    add("--timeout", args.timeout.as_ref().map(Into::into));
    add("--trace", args.output.as_ref().map(Into::into));
    // What the launcher says of a run that fails is for the user; an interrupt reaches both.
    let output = command
        .arg("--")
        .args([player, scripts])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("the launcher: {error}"))?;
    if !output.status.success() {
        return Err(format!("the run on {} failed: {}", args.chip, output.status));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let seconds: Vec<f64> =
        said.lines().filter_map(|line| line.split_once(" seconds=")?.1.parse().ok()).collect();
    match seconds.len() == ranks as usize {
        true => Ok(seconds),
        false => Err(format!("the player told the times of {} of {ranks} ranks", seconds.len())),
    }
}

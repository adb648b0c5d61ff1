//! `corelace report`: what a trace shows, as a page, as text, or for other viewers.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use ::report::{Analysis, Run};
use clap::{Args, ValueEnum};
use trace::Trace;

/// The arguments of `corelace report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A trace that `mpirun --trace` wrote.
    #[arg(value_name = "FILE")]
    trace: PathBuf,
    /// Where to write; `-` is the standard output. [default: FILE with the ending .html, .json or .csv]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the summary and its tables instead of making a page.
    #[arg(long, conflicts_with_all = ["format", "output"])]
    text: bool,
    /// Write for another viewer: chrome is read by Perfetto and chrome://tracing.
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Report what is whole of a damaged trace.
    #[arg(long)]
    salvage: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Chrome,
    Csv,
}

/// Reads the trace and writes what was asked for.
pub fn main(args: &ReportArgs) -> Result<u8, String> {
    let trace = open(args)?;
    if let Some(damage) = &trace.damage {
        cli::warn(&format!("corelace report: {damage}; what is whole is reported"));
    }
    let run = Run::of(&trace);
    drop(trace);
    if args.text {
        cli::say(&::report::text(&run, &Analysis::of(&run)))?;
        return Ok(0);
    }
    let ending = match args.format {
        None => "html",
        Some(Format::Chrome) => "json",
        Some(Format::Csv) => "csv",
    };
    let output = args.output.clone().unwrap_or_else(|| args.trace.with_extension(ending));
    if output == args.trace {
        return Err(format!(
            "{}: the report would overwrite the trace; name another file by -o",
            output.display()
        ));
    }
    let failed = |error| format!("{}: {error}", output.display());
    if output != Path::new("-") {
        write(&mut File::create(&output).map_err(failed)?, args.format, &run).map_err(failed)?;
        return cli::say(&format!("{}\n", output.display())).map(|()| 0);
    }
    if std::io::stdout().is_terminal() {
        // A person reads it, and names in it are foreign.
        let mut text = Vec::new();
        write(&mut text, args.format, &run).map_err(failed)?;
        return cli::say(&String::from_utf8_lossy(&text)).map(|()| 0);
    }
    match write(&mut std::io::stdout().lock(), args.format, &run) {
        // A reader that has seen enough (`| head`) is no mistake.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(failed(error)),
        _ => Ok(0),
    }
}

fn open(args: &ReportArgs) -> Result<Trace, String> {
    if args.salvage {
        return Trace::salvage(&args.trace).map_err(|error| error.to_string());
    }
    Trace::open(&args.trace).map_err(|error| match error {
        trace::TraceError::Damaged { .. } => format!("{error} (--salvage reports what is whole)"),
        other => other.to_string(),
    })
}

fn write(to: &mut dyn Write, format: Option<Format>, run: &Run) -> std::io::Result<()> {
    let mut to = BufWriter::new(to);
    match format {
        None => to.write_all(::report::page(run, &Analysis::of(run)).as_bytes())?,
        Some(Format::Chrome) => ::report::chrome(run, &mut to)?,
        Some(Format::Csv) => ::report::csv(run, &mut to)?,
    }
    to.flush()
}

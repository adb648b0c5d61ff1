//! `corelace report`: what a trace shows, as a page, as text, or for other viewers.

use std::fs::File;
use std::io::{BufWriter, Write};
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
    /// Where to write; `-` is the standard output. [default: FILE with the ending .html, .json, .csv or .profile.csv]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the summary and its tables instead of making a page.
    #[arg(long, conflicts_with_all = ["format", "output"])]
    text: bool,
    /// Write for another viewer: chrome is read by Perfetto and chrome://tracing; csv has a row an event, csv-profile a row
    /// a function and call site.
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
    CsvProfile,
}

/// Reads the trace and writes what was asked for.
pub fn main(args: &ReportArgs) -> Result<u8, String> {
    let trace = open(args)?;
    if let Some(damage) = &trace.damage {
        eprintln!("corelace report: {damage}; what is whole is reported");
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
        Some(Format::CsvProfile) => "profile.csv",
    };
    let output = args.output.clone().unwrap_or_else(|| args.trace.with_extension(ending));
    if output == args.trace {
        return Err(format!(
            "{}: the report would overwrite the trace; name another file by -o",
            output.display()
        ));
    }
    let to_stdout = output == Path::new("-");
    match write(&output, args.format, &run) {
        // A reader that has seen enough (`| head`) is no mistake.
        Err(error) if to_stdout && error.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(format!("{}: {error}", output.display())),
        Ok(()) if to_stdout => {}
        Ok(()) => cli::say(&format!("{}\n", output.display()))?,
    }
    Ok(0)
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

fn write(output: &Path, format: Option<Format>, run: &Run) -> std::io::Result<()> {
    let to: Box<dyn Write> = if output == Path::new("-") {
        Box::new(std::io::stdout().lock())
    } else {
        Box::new(File::create(output)?)
    };
    let mut to = BufWriter::new(to);
    match format {
        None => to.write_all(::report::page(run, &Analysis::of(run)).as_bytes())?,
        Some(Format::Chrome) => ::report::chrome(run, &mut to)?,
        Some(Format::Csv) => ::report::csv(run, &mut to)?,
        Some(Format::CsvProfile) => ::report::csv_profile(run, &Analysis::of(run), &mut to)?,
    }
    to.flush()
}

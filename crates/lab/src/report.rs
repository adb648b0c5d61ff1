//! `corelace report`: what a trace shows, as a page, as text, or for other viewers.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use ::report::{Analysis, Comparison, Run};
use clap::{Args, ValueEnum};
use trace::Trace;

/// The arguments of `corelace report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A trace that `mpirun --trace` wrote.
    #[arg(value_name = "FILE")]
    trace: PathBuf,
    /// Where to write; `-` is the standard output. [default: FILE with the ending .html, .json, .csv, .profile.csv or .compare.html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the summary and its tables instead of making a page.
    #[arg(long, conflicts_with_all = ["format", "output"])]
    text: bool,
    /// Write for another viewer: chrome is read by Perfetto and chrome://tracing; csv has a row an event, csv-profile a row
    /// a function and call site.
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Compare with a later trace: where time was saved and added, from FILE to TRACE.
    #[arg(long, value_name = "TRACE", conflicts_with = "format")]
    compare: Option<PathBuf>,
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
    let run = open(&args.trace, args.salvage)?;
    let later = args.compare.as_ref().map(|file| open(file, args.salvage)).transpose()?;
    if args.text {
        let analysis = Analysis::of(&run);
        cli::say(&match &later {
            None => ::report::text(&run, &analysis),
            Some(later) => Comparison::of((&run, &analysis), (later, &Analysis::of(later))).text(),
        })?;
        return Ok(0);
    }
    let ending = match args.format {
        None if later.is_some() => "compare.html",
        None => "html",
        Some(Format::Chrome) => "json",
        Some(Format::Csv) => "csv",
        Some(Format::CsvProfile) => "profile.csv",
    };
    let output = args.output.clone().unwrap_or_else(|| args.trace.with_extension(ending));
    if output == args.trace || Some(&output) == args.compare.as_ref() {
        return Err(format!(
            "{}: the report would overwrite the trace; name another file by -o",
            output.display()
        ));
    }
    let failed = |error| format!("{}: {error}", output.display());
    if output != Path::new("-") {
        let mut file = File::create(&output).map_err(failed)?;
        write(&mut file, args.format, &run, later.as_ref()).map_err(failed)?;
        return cli::say(&format!("{}\n", output.display())).map(|()| 0);
    }
    if std::io::stdout().is_terminal() {
        // A person reads it, and names in it are foreign.
        let mut text = Vec::new();
        write(&mut text, args.format, &run, later.as_ref()).map_err(failed)?;
        return cli::say(&String::from_utf8_lossy(&text)).map(|()| 0);
    }
    match write(&mut std::io::stdout().lock(), args.format, &run, later.as_ref()) {
        // A reader that has seen enough (`| head`) is no mistake.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(failed(error)),
        _ => Ok(0),
    }
}

fn open(file: &Path, salvage: bool) -> Result<Run, String> {
    let trace = if salvage {
        Trace::salvage(file).map_err(|error| error.to_string())?
    } else {
        Trace::open(file).map_err(|error| match error {
            trace::TraceError::Damaged { .. } => format!("{error} (--salvage reports what is whole)"),
            other => other.to_string(),
        })?
    };
    if let Some(damage) = &trace.damage {
        cli::warn(&format!("corelace report: {damage}; what is whole is reported"));
    }
    Ok(Run::of(&trace))
}

fn write(to: &mut dyn Write, format: Option<Format>, run: &Run, later: Option<&Run>) -> std::io::Result<()> {
    let mut to = BufWriter::new(to);
    let analysis = || Analysis::of(run);
    match (format, later) {
        (None, Some(later)) => {
            let page = Comparison::of((run, &analysis()), (later, &Analysis::of(later))).page();
            to.write_all(page.as_bytes())?;
        }
        (None, None) => to.write_all(::report::page(run, &analysis()).as_bytes())?,
        (Some(Format::Chrome), _) => ::report::chrome(run, &mut to)?,
        (Some(Format::Csv), _) => ::report::csv(run, &mut to)?,
        (Some(Format::CsvProfile), _) => ::report::csv_profile(run, &analysis(), &mut to)?,
    }
    to.flush()
}

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
    /// Where to write; `-` is the standard output. [default: FILE with the ending .html, .json, .csv, .profile.csv, .otf2 or .compare.html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the summary and its tables instead of making a page.
    #[arg(long, conflicts_with_all = ["format", "output"])]
    text: bool,
    /// Write for another viewer: chrome is read by Perfetto and chrome://tracing; csv has a row an event, csv-profile a row
    /// a function and call site; otf2 is a directory for Vampir, Scalasca and TraceCompass.
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
    Otf2,
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
        Some(Format::Otf2) => "otf2",
    };
    let output = args.output.clone().unwrap_or_else(|| args.trace.with_extension(ending));
    if output == args.trace || Some(&output) == args.compare.as_ref() {
        return Err(format!(
            "{}: the report would overwrite the trace; name another file by -o",
            output.display()
        ));
    }
    let to_stdout = output == Path::new("-");
    if to_stdout && args.format == Some(Format::Otf2) {
        return Err("-o -: an OTF2 archive is a directory, expected its name".into());
    }
    match write(&output, args.format, &run, later.as_ref()) {
        // A reader that has seen enough (`| head`) is no mistake.
        Err(error) if to_stdout && error.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(format!("{}: {error}", output.display())),
        Ok(()) if to_stdout => {}
        Ok(()) => cli::say(&format!("{}\n", output.display()))?,
    }
    Ok(0)
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

fn write(output: &Path, format: Option<Format>, run: &Run, later: Option<&Run>) -> std::io::Result<()> {
    let analysis = || Analysis::of(run);
    match (format, later) {
        (None, Some(later)) => {
            let page = Comparison::of((run, &analysis()), (later, &Analysis::of(later))).page();
            to_file(output, |to| to.write_all(page.as_bytes()))
        }
        (None, None) => {
            let page = ::report::page(run, &analysis());
            to_file(output, |to| to.write_all(page.as_bytes()))
        }
        (Some(Format::Chrome), _) => to_file(output, |to| ::report::chrome(run, to)),
        (Some(Format::Csv), _) => to_file(output, |to| ::report::csv(run, to)),
        (Some(Format::CsvProfile), _) => to_file(output, |to| ::report::csv_profile(run, &analysis(), to)),
        (Some(Format::Otf2), _) => ::report::otf2(run, output),
    }
}

/// Writes into a file, or to the standard output.
fn to_file(
    output: &Path,
    write: impl FnOnce(&mut BufWriter<Box<dyn Write>>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let is_stdout = output == Path::new("-");
    let to: Box<dyn Write> = match is_stdout {
        true if std::io::stdout().is_terminal() => Box::new(Shown(Vec::new())),
        true => Box::new(std::io::stdout().lock()),
        false => Box::new(File::create(output)?),
    };
    let mut to = BufWriter::new(to);
    write(&mut to)?;
    to.flush()
}

/// Text for a person at a terminal: names in it are foreign, so control characters are shown.
struct Shown(Vec<u8>);

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let text = std::mem::take(&mut self.0);
        cli::say(&String::from_utf8_lossy(&text)).map_err(std::io::Error::other)
    }
}

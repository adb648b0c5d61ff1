//! `corelace reproduce`: the published figures of the systems that Corelace unites, beside ours.
//!
//! A figure is a row of data and a closure that measures it; experiments are shared between figures (see [`crate::lab`]).

mod figure;
mod lwmpi;
mod mppa_mpi;
mod plots;
mod study;
mod table;

use std::path::PathBuf;

use clap::Args;

use crate::lab::{Lab, chip_argument, in_parallel};
use figure::{Figure, Finding};
use study::Study;

/// The arguments of `corelace reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// The chip to run on: a name, or a changed copy of a description.
    #[arg(long, default_value = "mppa256-andey", value_name = "NAME|FILE.toml")]
    chip: String,
    /// Fewer images, rounds and repetitions: a look in two minutes.
    #[arg(long)]
    quick: bool,
    /// Print the figures as JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Draw throughput, mapping, weak scaling and power into this directory, as SVG.
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
    /// Only figures whose name begins with this, such as `a.` or `b.km`.
    #[arg(long, value_name = "START")]
    only: Option<String>,
}

/// The status when a figure does not agree.
const MISSED: u8 = 1;

/// Measures and prints; 1 if a figure does not agree.
pub fn main(args: &ReproduceArgs) -> Result<u8, String> {
    let mut figures: Vec<Figure> = mppa_mpi::figures();
    figures.extend(lwmpi::figures());
    if let Some(start) = &args.only {
        let known: Vec<&str> = figures.iter().map(|figure| figure.id).collect();
        let known = known.join(", ");
        figures.retain(|figure| figure.id.starts_with(start.as_str()));
        if figures.is_empty() {
            return Err(format!("--only is \"{start}\", expected the beginning of one of: {known}"));
        }
    }
    let study = Study { lab: Lab::new()?, chip: chip_argument(&args.chip), quick: args.quick };
    let ours = in_parallel(&figures, |figure| (figure.measure)(&study));
    study.lab.clear_progress();
    let findings: Vec<Finding<'_>> =
        figures.iter().zip(ours).map(|(figure, ours)| Finding { figure, ours }).collect();
    crate::say(&if args.json { table::json(&findings) + "\n" } else { table::text(&findings) })?;
    if let Some(directory) = &args.plot {
        plots::draw(&study, directory)?;
        study.lab.clear_progress();
    }
    Ok(if findings.iter().all(Finding::passes) { 0 } else { MISSED })
}

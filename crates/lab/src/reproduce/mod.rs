//! `corelace reproduce`: the published figures of the systems that Corelace unites, beside ours.
//!
//! A figure is a row of data and a closure that measures it; experiments are shared between figures (see [`crate::lab`]). What agreeing with it
//! proves is derived from what the descriptions say ([`grounds`]).

mod dcfa_mpi;
#[cfg(test)]
mod document;
mod figure;
mod grounds;
mod lwmpi;
mod mpi_es;
mod mppa_mpi;
mod neighbours;
mod numbers;
mod plots;
mod spread;
mod study;
mod table;
mod transfers;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use crate::lab::{Lab, chip_argument, in_parallel};
use figure::{Figure, Finding};
use grounds::{FreeNumbers, Grounds, Kind};
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
    /// Only figures of this publication: 000 (MPPA-MPI), 001 (LWMPI), 002 (DCFA-MPI), 003 (Ho's thesis) or 004 (MPI/ES).
    #[arg(long, value_name = "NUMBER", value_parser = ["000", "001", "002", "003", "004"])]
    seed: Option<String>,
    /// Also measure how far figures move in what the calibration leaves free, `[[free]]` of the description: some three times the runs.
    #[arg(long)]
    spread: bool,
}

/// The status when a figure does not agree.
const MISSED: u8 = 1;

/// Measures and prints; 1 if a figure does not agree.
pub fn main(args: &ReproduceArgs) -> Result<u8, String> {
    let chip = sim::Chip::find(&args.chip).map_err(|error| error.to_string())?;
    let system = sim::Chip::find(&mpi_es::machine(&args.chip)).map_err(|error| error.to_string())?;
    let cards = sim::Chip::find(&dcfa_mpi::machine(&args.chip)).map_err(|error| error.to_string())?;
    let nanvix = sim::Chip::find(&lwmpi::machine(&args.chip)).map_err(|error| error.to_string())?;
    let stencils = sim::Chip::find(&transfers::machine(&args.chip)).map_err(|error| error.to_string())?;
    let neighbours = neighbours::machines(&args.chip)?;
    let machines = Machines::new(&chip, &nanvix, &system, &cards, &stencils, &neighbours);
    let grounds = machines.chip;
    let mut figures = selected(args)?;
    let shown = figures.len();
    if args.spread {
        figures.extend(further_fits(&figures, &machines));
    }
    let study = Study { lab: Arc::new(Lab::new()?), chip: chip_argument(&args.chip), quick: args.quick };
    study.lab.expect(figures.len());
    let ours = in_parallel(&figures, |figure| {
        let ours = (figure.measure)(&study);
        study.lab.advance();
        ours
    });
    let finding =
        |(figure, ours)| Finding { figure, basis: machines.of(figure).of(figure), ours, spread: None };
    let mut findings: Vec<Finding<'_>> = figures.iter().zip(ours).map(finding).collect();
    let mut remarks = if args.spread { spread::measure(&study, &chip, &mut findings)? } else { Vec::new() };
    remarks.extend(grounds.remark());
    study.lab.clear_progress();
    if let Some(status) = study.lab.status_if_interrupted() {
        return Ok(status);
    }
    for remark in remarks {
        cli::warn(&format!("corelace reproduce: {remark}"));
    }
    findings.truncate(shown);
    let text = table::text(&findings, machines.free_numbers(&figures[..shown]));
    cli::say(&if args.json { table::json(&findings) + "\n" } else { text })?;
    if let Some(directory) = &args.plot {
        plots::draw(&study, directory, args.seed.as_deref())?;
        study.lab.clear_progress();
    }
    Ok(if findings.iter().all(Finding::passes) { 0 } else { MISSED })
}

/// What figures rest on: the numbers of the machine that they are measured on.
struct Machines<'m> {
    chip: Grounds<'m>,
    /// Of LWMPI.
    nanvix: Grounds<'m>,
    /// Of MPI/ES.
    system: Grounds<'m>,
    /// Of DCFA-MPI.
    cards: Grounds<'m>,
    /// Of Ho's thesis.
    stencils: Grounds<'m>,
    /// Of what MPPA-MPI quotes of other chips.
    neighbours: [Grounds<'m>; 2],
}

impl<'m> Machines<'m> {
    fn new(
        chip: &'m sim::Chip,
        nanvix: &'m sim::Chip,
        system: &'m sim::Chip,
        cards: &'m sim::Chip,
        stencils: &'m sim::Chip,
        neighbours: &'m [sim::Chip; 2],
    ) -> Machines<'m> {
        Machines {
            chip: Grounds { chip, applications: &numbers::OF_CHIPS },
            nanvix: Grounds { chip: nanvix, applications: &numbers::OF_CHIPS },
            system: Grounds { chip: system, applications: &[] },
            cards: Grounds { chip: cards, applications: &numbers::OF_CARDS },
            stencils: Grounds { chip: stencils, applications: &numbers::OF_STENCILS },
            neighbours: neighbours.each_ref().map(|chip| Grounds { chip, applications: &[] }),
        }
    }

    fn of(&self, figure: &Figure) -> Grounds<'m> {
        if let Some(number) = neighbours::machine_of(figure.id) {
            return self.neighbours[number];
        }
        match figure.seed() {
            "001" => self.nanvix,
            "002" => self.cards,
            "003" => self.stencils,
            "004" => self.system,
            _ => self.chip,
        }
    }

    /// Of the machines that these figures are measured on.
    fn free_numbers(&self, figures: &[Figure]) -> FreeNumbers {
        let mut free = FreeNumbers::default();
        let mut counted: Vec<Grounds<'_>> = Vec::new();
        for figure in figures {
            let grounds = self.of(figure);
            if !counted.iter().any(|known| known.chip.name == grounds.chip.name) {
                // Several machines may run the same applications, whose numbers count once.
                let known =
                    counted.iter().any(|known| std::ptr::eq(known.applications, grounds.applications));
                let applications = if known { &[] } else { grounds.applications };
                free += Grounds { applications, ..grounds }.free_numbers();
                counted.push(grounds);
            }
        }
        free
    }
}

/// The fits that were not asked for, of the software of those that were: what calibration leaves free has to leave all of them as they are.
fn further_fits(asked: &[Figure], machines: &Machines<'_>) -> Vec<Figure> {
    let mut fits = figures();
    fits.retain(|fit| {
        let related = asked.iter().any(|figure| figure.software() == fit.software());
        related
            && machines.of(fit).of(fit).kind == Kind::Fit
            && asked.iter().all(|figure| figure.id != fit.id)
    });
    fits
}

/// All figures, in the order of the table.
fn figures() -> Vec<Figure> {
    let mut figures: Vec<Figure> = mppa_mpi::figures();
    figures.extend(neighbours::figures());
    figures.extend(lwmpi::figures());
    figures.extend(dcfa_mpi::figures());
    figures.extend(transfers::figures());
    figures.extend(mpi_es::figures());
    figures
}

/// Those that were asked for.
fn selected(args: &ReproduceArgs) -> Result<Vec<Figure>, String> {
    let mut figures = figures();
    if let Some(seed) = &args.seed {
        figures.retain(|figure| figure.seed() == seed);
    }
    if let Some(start) = &args.only {
        let known: Vec<&str> = figures.iter().map(|figure| figure.id).collect();
        let known = known.join(", ");
        figures.retain(|figure| figure.id.starts_with(start.as_str()));
        if figures.is_empty() {
            return Err(format!("--only is \"{start}\", expected the beginning of one of: {known}"));
        }
    }
    Ok(figures)
}

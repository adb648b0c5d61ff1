//! `corelace bench --counts`: how many cache lines go from core to core in a collective, and in how many rounds, where every rank has a core of its own. Counted in a run of the library itself on
//! whatever cores there are (`lines.c` says how), once as communicators of this machine do it, by boards, and once by messages, which is what a job does that is recorded.
//!
//! A count is no time: lines come from near and far caches, several at once, and while a rank computes.

use std::path::Path;
use std::time::Duration;

use super::contestant::{Contestant, Installation, Turn};
use super::document::{self, Marks};
use super::figure::{Figure, Figures};
use super::machine;
use super::progress::Bar;
use super::suite::{Case, LINES};
use super::table;
use crate::runners::Runners;

/// What to count.
pub struct Wish<'w> {
    /// How many ranks; the usual numbers if none is given.
    pub members: &'w [u32],
    /// For each number of ranks.
    pub limit: Duration,
    /// Only collectives with this in their name.
    pub only: Option<&'w str>,
    /// Where to put the table.
    pub document: Option<&'w Path>,
}

/// Where the table is in a document.
pub const MARKS: Marks =
    Marks { begin: "<!-- corelace bench --counts: begin -->", end: "<!-- corelace bench --counts: end -->" };

const USUAL_MEMBERS: [u32; 3] = [8, 16, 64];

const COLLECTIVES: [&str; 9] =
    ["barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "scan"];

/// How a collective is done.
const FORMS: [&str; 2] = ["board", "messages"];

/// What is counted of each, as the program names it.
const COUNTED: [&str; 3] = ["rounds", "busiest", "lines"];

/// Counts, and shows the table.
pub fn main(wish: &Wish<'_>) -> Result<u8, String> {
    let wanted: Vec<String> = COLLECTIVES
        .into_iter()
        .filter(|name| wish.only.is_none_or(|text| name.contains(text)))
        .map(String::from)
        .collect();
    if wanted.is_empty() {
        let (only, known) = (wish.only.unwrap_or_default(), COLLECTIVES.join(", "));
        return Err(format!("--only is \"{only}\", expected a part of one of: {known}"));
    }
    let members = if wish.members.is_empty() { &USUAL_MEMBERS } else { wish.members };
    let prefix = cli::prefix::locate()?;
    let runners = Runners::new()?;
    let workshop = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let mut installation = Installation::ours(prefix.root());
    installation.build(workshop.path(), LINES)?;
    let turn = Turn {
        workshop: workshop.path(),
        quick: false,
        limit: wish.limit,
        runners: &runners,
        environment: &[],
        arguments: &wanted,
    };
    let mut figures = Figures::default();
    let mut failures = Vec::new();
    let mut bar = Bar::of(members.len() * FORMS.len());
    for ranks in members {
        let case = Case::aside(LINES, *ranks);
        for (form, case) in FORMS.into_iter().zip([case, case.traced()]) {
            bar.show(&format!("{ranks} ranks, by {form}"));
            let printed = Contestant::ours(0, "process").run(&installation, &case, &turn)?;
            if let Some(status) = runners.status_if_interrupted() {
                bar.clear();
                return Ok(status);
            }
            figures.add(form, "counts", *ranks, printed.samples);
            failures
                .extend(printed.failure.map(|failure| format!("{ranks} ranks, by {form}: {}", failure.long)));
            bar.advance();
        }
    }
    bar.clear();
    let rows = rows(&figures.into_wanted(|_| true));
    let missing: String = failures.iter().map(|failure| format!("not counted: {failure}\n")).collect();
    cli::say(&format!("{}{missing}", table::aligned(&rows)))?;
    if let Some(file) = wish.document {
        let text = format!("\nCounted {}.\n\n{}\n", machine::now(), document::markdown(&rows));
        MARKS.fill(file, &text)?;
    }
    Ok(0)
}

/// The table, its header first: a row for each collective, size and number of ranks, in the order in which they came.
fn rows(figures: &[Figure]) -> Vec<Vec<String>> {
    let mut header: Vec<String> = ["collective", "size", "ranks"].map(String::from).to_vec();
    header.extend(FORMS.iter().flat_map(|form| COUNTED.map(|counted| format!("{form}: {counted}"))));
    let mut rows = vec![header];
    for figure in figures {
        let Some((collective, counted)) = figure.name.split_once('/') else { continue };
        if counted != COUNTED[0] {
            continue;
        }
        let mut row = vec![collective.to_owned(), figure.size_text(), figure.ranks.to_string()];
        for (form, counted) in FORMS.iter().flat_map(|form| COUNTED.map(|counted| (form, counted))) {
            let name = format!("{collective}/{counted}");
            let count =
                figures.iter().find(|other| other.is_same(&Figure { name: name.clone(), ..figure.clone() }));
            row.push(count.and_then(|count| count.best(form)).map_or("-".into(), number));
        }
        rows.push(row);
    }
    rows
}

/// A whole number as one, a mean with one digit more.
fn number(value: f64) -> String {
    let rounded = format!("{value:.1}");
    rounded.strip_suffix(".0").map(String::from).unwrap_or(rounded)
}

#[cfg(test)]
mod tests {
    use super::super::figure::Sample;
    use super::*;

    #[test]
    fn a_row_has_what_both_forms_take_and_says_what_is_missing() {
        let mut figures = Figures::default();
        let lines = [
            "figure bcast/rounds 8 1 rounds",
            "figure bcast/busiest 8 1 lines",
            "figure bcast/lines 8 4.19 lines",
        ];
        let samples = |lines: &[&str]| lines.iter().filter_map(|line| Sample::parse(line)).collect();
        figures.add("board", "counts", 4, samples(&lines));
        figures.add("messages", "counts", 4, samples(&lines[..1]));
        let rows = rows(&figures.into_wanted(|_| true));
        assert_eq!(
            rows[0].join(" | "),
            "collective | size | ranks | board: rounds | board: busiest | board: lines | messages: rounds | messages: busiest | messages: lines"
        );
        assert_eq!(rows[1..], [["bcast", "8 B", "4", "1", "1", "4.2", "1", "-", "-"]]);
    }
}

//! A run as a table for people: who is ahead in each line, by how much, and whether targets are met.

use std::fmt::Write;

use super::figure::Figure;
use super::run::Run;
use super::runs::Runs;
use super::targets;
use super::{suite, summary};

/// Marks who is ahead.
const AHEAD: char = '*';

/// Where one of our contestants stands in a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Standing {
    /// How many times better than the best of the others.
    pub factor: f64,
    /// The same of the medians of all rounds: a single round may have found what no other does, such as two cores of a virtual machine that are one of the real one.
    pub by_medians: f64,
    /// Whether the intervals of both medians meet: more rounds may tell another story.
    pub is_close: bool,
}

/// The whole text: the tables of the first run, and what all of them add up to.
pub fn text(runs: &Runs) -> String {
    let run = runs.first();
    let mut text = String::new();
    for suite in suite::SUITES {
        let figures: Vec<&Figure> = run.of_suite(suite.name).collect();
        if !figures.is_empty() {
            _ = writeln!(text, "{} ({})", suite.title, suite.name);
            text.push_str(&aligned(&rows(run, &figures, &plain_cell)));
            text.push('\n');
        }
    }
    text + &legend(run) + &summary::text(runs)
}

/// The lines of a table, its header first; `cell` says what a contestant's cell looks like, and whether it is ahead.
pub fn rows(
    run: &Run,
    figures: &[&Figure],
    cell: &dyn Fn(&Figure, &str, bool) -> String,
) -> Vec<Vec<String>> {
    // Who has nothing to do with any of these figures needs no column.
    let has_part = |name: &&str| figures.iter().any(|figure| figure.cell(name).is_some());
    let is_compared = |name: &&str| figures.iter().any(|figure| standing(run, figure, name).is_some());
    let names: Vec<&str> = run.names().into_iter().filter(has_part).collect();
    let compared: Vec<&str> = run.ours().into_iter().filter(is_compared).collect();
    let has_targets = figures.iter().any(|figure| targets::verdicts(run, figure).next().is_some());
    let mut header: Vec<String> = ["figure", "size", "ranks", "unit"].map(String::from).to_vec();
    header.extend(names.iter().map(|name| name.to_string()));
    header.extend(compared.iter().map(|name| format!("{} x", kind(name))));
    header.extend(has_targets.then(|| "target".into()));
    let mut rows = vec![header];
    for figure in figures {
        let ahead = figure.best_of(&names).filter(|_| figure.cells.len() > 1).map(|(_, best)| best);
        let mut row =
            vec![figure.name.clone(), figure.size_text(), figure.ranks.to_string(), figure.unit.clone()];
        row.extend(
            names.iter().map(|name| cell(figure, name, ahead.is_some() && figure.best(name) == ahead)),
        );
        row.extend(
            compared.iter().map(|name| standing(run, figure, name).map_or("-".into(), |at| at.text())),
        );
        if has_targets {
            let verdicts: Vec<String> =
                targets::verdicts(run, figure).map(|verdict| verdict.text()).collect();
            row.push(verdicts.join("; "));
        }
        rows.push(row);
    }
    rows
}

/// Where this contestant of ours stands; `None` if it or all others have no figure.
pub fn standing(run: &Run, figure: &Figure, ours: &str) -> Option<Standing> {
    let (peer, theirs) = figure.best_of(&run.peers())?;
    let factor = figure.advantage(figure.best(ours)?, theirs);
    let is_close = figure.interval(ours)?.meets(&figure.interval(peer)?);
    let median = |name: &str| Some(figure.interval(name)?.median);
    let others =
        run.peers().into_iter().filter_map(|name| Some(figure.advantage(median(ours)?, median(name)?)));
    let by_medians = others.min_by(f64::total_cmp)?;
    factor.is_finite().then_some(Standing { factor, by_medians, is_close })
}

impl Standing {
    pub fn is_ahead(&self) -> bool {
        self.factor >= 1.0
    }

    pub fn is_ahead_by_medians(&self) -> bool {
        self.by_medians >= 1.0
    }

    /// How many times better, for people.
    pub fn text(&self) -> String {
        format!("{:.2}{}", self.factor, if self.is_close { "~" } else { "" })
    }
}

/// `corelace process` is a process.
fn kind(name: &str) -> &str {
    name.strip_prefix("corelace ").unwrap_or(name)
}

/// The best and the interval of the median, or why there is none.
fn plain_cell(figure: &Figure, name: &str, is_ahead: bool) -> String {
    let mark = if is_ahead { AHEAD } else { ' ' };
    values(figure, name).map_or_else(|missing| missing + " ", |values| format!("{values}{mark}"))
}

/// A contestant's values in a cell; `Err` with why there are none.
pub fn values(figure: &Figure, name: &str) -> Result<String, String> {
    let cell = figure.cell(name);
    let missing = || cell.and_then(|cell| cell.failure.clone()).unwrap_or_else(|| "-".into());
    let (best, interval) = figure.best(name).zip(figure.interval(name)).ok_or_else(missing)?;
    let is_exact = interval.low == interval.high;
    let range = if is_exact {
        String::new()
    } else {
        format!(" {}..{}", number(interval.low), number(interval.high))
    };
    Ok(format!("{}{range}", number(best)))
}

/// As many digits as mean something.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size > 0.0 && size < 0.1 => format!("{value:.4}"),
        size if size < 10.0 => format!("{value:.3}"),
        size if size < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// The rows with their columns one below the other.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let last = rows[0].len() - 1;
    let has_targets = rows[0][last] == "target";
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let is_left = |column: usize| column == 0 || column == last && has_targets;
        let pad = |(column, (cell, width)): (usize, (&String, &usize))| {
            if is_left(column) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        };
        let cells: Vec<String> = row.iter().zip(&widths).enumerate().map(pad).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// What the signs mean.
fn legend(run: &Run) -> String {
    let sample = run.figures.iter().flat_map(|figure| &figure.cells).map(|cell| cell.samples.len()).max();
    let samples = vec![0.0; sample.unwrap_or(0)];
    let confidence = super::statistics::interval(&samples).map_or(0.0, |interval| interval.confidence);
    let mut text = match run.rounds {
        1 => "one round".to_owned(),
        rounds => {
            let sure = confidence * 100.0;
            format!(
                "best of {rounds} rounds, and low..high of the median by order statistics ({sure:.0} % sure)"
            )
        }
    };
    if !run.peers().is_empty() {
        _ = write!(
            text,
            "; {AHEAD} is ahead; x: times better than the best other, ~ if the medians may be the same"
        );
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::figure::tests::figure;
    use super::super::run::tests::run;
    use super::*;

    fn four(ours: &[f64], fiber: &[f64], openmpi: &[f64], mpich: &[f64]) -> Figure {
        let cells =
            [("corelace process", ours), ("corelace fiber", fiber), ("openmpi", openmpi), ("mpich", mpich)];
        let cells: Vec<(&str, &[f64])> =
            cells.into_iter().filter(|(_, samples)| !samples.is_empty()).collect();
        figure("latency", 2048, 2, &cells)
    }

    fn shown(run: Run) -> String {
        text(&Runs::of(vec![run]))
    }

    #[test]
    fn a_line_marks_who_is_ahead_and_compares_each_of_ours_with_the_best_other() {
        let text = shown(run(vec![four(&[0.5], &[0.1], &[1.0], &[0.75])]));
        let row: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(
            row,
            ["latency", "2", "KiB", "2", "us", "0.500", "0.100*", "1.000", "0.750", "1.50", "7.50"]
        );
    }

    #[test]
    fn intervals_are_shown_and_medians_that_may_be_the_same_are_marked() {
        let text = shown(run(vec![four(&[0.5, 0.9], &[], &[0.6, 0.8], &[])]));
        assert!(text.contains("0.500 0.500..0.900*") && text.contains("1.20~"), "{text}");
        assert!(text.contains("50 % sure"), "{text}");
    }

    #[test]
    fn a_cell_without_samples_says_why() {
        let mut figure = four(&[0.5], &[0.1], &[1.0], &[]);
        let failure = Some("> 60 s".to_owned());
        figure.cells.push(super::super::figure::Cell {
            contestant: "mpich".into(),
            samples: Vec::new(),
            failure,
        });
        assert!(shown(run(vec![figure])).contains("> 60 s"));
    }

    #[test]
    fn without_others_there_is_no_comparison() {
        let mut run = run(vec![four(&[0.5], &[0.1], &[], &[])]);
        run.contestants.truncate(2);
        let text = shown(run);
        assert!(!text.contains(" x") && !text.contains("ahead in"), "{text}");
    }
}

//! A run as a table for people: who is ahead in each line, by how much, and whether targets are met; and what that adds up to.

use std::fmt::Write;

use super::figure::Figure;
use super::run::Run;
use super::suite;
use super::targets::{self, Outcome};

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

/// The whole text.
pub fn text(run: &Run) -> String {
    let mut text = String::new();
    for suite in suite::SUITES {
        let figures: Vec<&Figure> = run.of_suite(suite.name).collect();
        if !figures.is_empty() {
            _ = writeln!(text, "{} ({})", suite.title, suite.name);
            text.push_str(&aligned(&rows(run, &figures, &plain_cell)));
            text.push('\n');
        }
    }
    text + &legend(run) + &summary(run)
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
    fn text(&self) -> String {
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

/// Lines ahead and behind, targets, and what could not be measured.
pub fn summary(run: &Run) -> String {
    let mut text = String::new();
    for ours in run.ours() {
        let standings: Vec<(&Figure, Standing)> =
            run.figures.iter().filter_map(|figure| Some((figure, standing(run, figure, ours)?))).collect();
        if standings.is_empty() {
            continue;
        }
        let behind: Vec<&(&Figure, Standing)> = standings.iter().filter(|(_, at)| at.factor < 1.0).collect();
        let ahead = standings.len() - behind.len();
        let by_medians = standings.iter().filter(|(_, at)| at.by_medians >= 1.0).count();
        let has_medians = run.rounds > 1;
        let medians = if has_medians { format!(", in {by_medians} by the medians") } else { String::new() };
        _ = writeln!(text, "{ours}: ahead in {ahead} of {} lines{medians}", standings.len());
        for (figure, at) in behind {
            let median =
                if has_medians { format!(", by the medians {:.2}", at.by_medians) } else { String::new() };
            _ = writeln!(text, "  behind: {} ({}{median})", figure.title(), at.text());
        }
    }
    let verdicts: Vec<_> = run
        .figures
        .iter()
        .flat_map(|figure| targets::verdicts(run, figure).map(move |verdict| (figure, verdict)))
        .filter(|(_, verdict)| verdict.outcome != Outcome::Unknown)
        .collect();
    if !verdicts.is_empty() {
        let met = verdicts.iter().filter(|(_, verdict)| verdict.outcome == Outcome::Met).count();
        _ = writeln!(text, "targets: {met} of {} met", verdicts.len());
        for (figure, verdict) in verdicts.iter().filter(|(_, verdict)| verdict.outcome == Outcome::Missed) {
            _ = writeln!(text, "  missed: {}: {}", figure.title(), verdict.goal);
        }
    }
    for missing in &run.failures {
        let super::run::Missing { contestant, program, ranks, why } = missing;
        _ = writeln!(text, "not measured: {contestant}, {program} on {ranks} ranks: {why}");
    }
    text
}

/// Whether a target is missed.
pub fn misses(run: &Run) -> bool {
    let mut verdicts = run.figures.iter().flat_map(|figure| targets::verdicts(run, figure));
    verdicts.any(|verdict| verdict.outcome == Outcome::Missed)
}

#[cfg(test)]
mod tests {
    use super::super::figure::tests::figure;
    use super::super::run::{Missing, tests::run};
    use super::*;

    fn four(ours: &[f64], fiber: &[f64], openmpi: &[f64], mpich: &[f64]) -> Figure {
        let cells =
            [("corelace process", ours), ("corelace fiber", fiber), ("openmpi", openmpi), ("mpich", mpich)];
        let cells: Vec<(&str, &[f64])> =
            cells.into_iter().filter(|(_, samples)| !samples.is_empty()).collect();
        figure("latency", 2048, 2, &cells)
    }

    #[test]
    fn a_line_marks_who_is_ahead_and_compares_each_of_ours_with_the_best_other() {
        let text = text(&run(vec![four(&[0.5], &[0.1], &[1.0], &[0.75])]));
        let row: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(
            row,
            ["latency", "2", "KiB", "2", "us", "0.500", "0.100*", "1.000", "0.750", "1.50", "7.50"]
        );
    }

    #[test]
    fn intervals_are_shown_and_medians_that_may_be_the_same_are_marked() {
        let text = text(&run(vec![four(&[0.5, 0.9], &[], &[0.6, 0.8], &[])]));
        assert!(text.contains("0.500 0.500..0.900*") && text.contains("1.20~"), "{text}");
        assert!(text.contains("50 % sure"), "{text}");
    }

    #[test]
    fn a_round_that_was_lucky_puts_another_ahead_but_not_by_the_medians() {
        let mut run = run(vec![four(&[1.0, 1.1, 1.2], &[], &[0.3, 1.6, 1.7], &[2.0, 2.1, 2.2])]);
        run.rounds = 3;
        let summary = summary(&run);
        let expected = "corelace process: ahead in 0 of 1 lines, in 1 by the medians\n  behind: latency 2 KiB on 2 ranks (0.30~, by the medians 1.45)\n";
        assert!(summary.starts_with(expected), "{summary}");
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
        assert!(text(&run(vec![figure])).contains("> 60 s"));
    }

    #[test]
    fn without_others_there_is_no_comparison() {
        let mut run = run(vec![four(&[0.5], &[0.1], &[], &[])]);
        run.contestants.truncate(2);
        let text = text(&run);
        assert!(!text.contains(" x") && !text.contains("ahead in"), "{text}");
    }

    #[test]
    fn the_summary_counts_lines_and_lists_those_behind_and_missed_and_not_measured() {
        let cells: &[(&str, &[f64])] = &[("corelace process", &[2.0]), ("openmpi", &[1.0])];
        let mut run = run(vec![four(&[0.5], &[], &[1.0], &[]), figure("latency", 8192, 2, cells)]);
        let (contestant, program, why) =
            ("mpich".into(), "pairs.c".into(), "exit status: 1: no cores".into());
        run.failures.push(Missing { contestant, program, ranks: 2, why });
        let expected = "corelace process: ahead in 1 of 2 lines, in 1 by the medians\n  behind: latency 8 KiB on 2 ranks (0.50, by the medians 0.50)\n\
             targets: 0 of 1 met\n  missed: latency 8 KiB on 2 ranks: process 1.3 x best other\n\
             not measured: mpich, pairs.c on 2 ranks: exit status: 1: no cores\n";
        assert_eq!(summary(&run), expected);
        assert!(misses(&run));
    }
}

//! This run beside one of before: what has become better or worse by more than both runs' noise.
//!
//! A change counts if the medians differ by more than the bound: the spreads of both (half the width of the interval of the median, as a share of it) added up as independent
//! ones are, the root of the sum of their squares, and never less than [`LEAST`].

use std::fmt::Write;

use super::figure::Figure;
use super::run::Run;
use super::table::number;

/// Less than this is never called a change.
const LEAST: f64 = 0.1;

/// What changed of one figure of one of our contestants.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    title: String,
    contestant: String,
    unit: String,
    before: f64,
    now: f64,
    /// Above one is better.
    factor: f64,
    bound: f64,
}

impl Change {
    /// By more than the noise.
    pub fn is_regression(&self) -> bool {
        self.factor < 1.0 / (1.0 + self.bound)
    }

    fn is_improvement(&self) -> bool {
        self.factor > 1.0 + self.bound
    }
}

/// Our figures that both runs have.
pub fn changes(before: &Run, now: &Run) -> Vec<Change> {
    let of_figure = |figure: &Figure| -> Vec<Change> {
        let Some(old) = before.figures.iter().find(|old| old.is_same(figure)) else { return Vec::new() };
        now.ours().iter().filter_map(|contestant| change(old, figure, contestant)).collect()
    };
    now.figures.iter().flat_map(of_figure).collect()
}

fn change(before: &Figure, now: &Figure, contestant: &str) -> Option<Change> {
    let (old, new) = (before.interval(contestant)?, now.interval(contestant)?);
    Some(Change {
        title: now.title(),
        contestant: contestant.into(),
        unit: now.unit.clone(),
        before: old.median,
        now: new.median,
        factor: now.advantage(new.median, old.median),
        bound: old.spread().hypot(new.spread()).max(LEAST),
    })
}

/// For people: what changed, worst first, and what the bound is.
pub fn text(before: &Run, changes: &[Change]) -> String {
    let mut text = format!("\nsince {} ({}), medians:\n", before.date, before.machine.text());
    let mut told: Vec<&Change> =
        changes.iter().filter(|change| change.is_regression() || change.is_improvement()).collect();
    told.sort_by(|a, b| a.factor.total_cmp(&b.factor));
    for change in &told {
        let word = if change.is_regression() { "WORSE" } else { "better" };
        _ = writeln!(
            text,
            "  {word} {:.2} x: {}, {}: {} -> {} {} (noise {:.0} %)",
            if change.is_regression() { 1.0 / change.factor } else { change.factor },
            change.title,
            change.contestant,
            number(change.before),
            number(change.now),
            change.unit,
            change.bound * 100.0
        );
    }
    let same = changes.len() - told.len();
    _ = writeln!(
        text,
        "  {same} of {} figures are within the noise: the spreads of both runs' medians together, at least {:.0} %",
        changes.len(),
        LEAST * 100.0
    );
    text
}

#[cfg(test)]
mod tests {
    use super::super::figure::tests::figure;
    use super::super::run::tests::run;
    use super::*;

    fn changed(old: &[f64], new: &[f64], unit: &str) -> Change {
        let of = |samples: &[f64]| {
            run(vec![Figure {
                unit: unit.into(),
                ..figure("latency", 8, 2, &[("corelace process", samples)])
            }])
        };
        changes(&of(old), &of(new)).remove(0)
    }

    #[test]
    fn quiet_runs_differ_if_they_are_a_tenth_apart() {
        assert!(changed(&[1.0], &[1.12], "us").is_regression());
        assert!(!changed(&[1.0], &[1.09], "us").is_regression());
        assert!(changed(&[1.0], &[0.85], "us").is_improvement());
    }

    #[test]
    fn a_lower_rate_is_a_regression() {
        assert!(changed(&[10.0], &[8.0], "M/s").is_regression());
        assert!(changed(&[10.0], &[12.0], "M/s").is_improvement());
    }

    #[test]
    fn noisy_runs_have_to_differ_by_more_than_both_spreads_together() {
        let noisy = [0.7, 1.0, 1.3];
        let change = changed(&noisy, &noisy.map(|value| value * 1.35), "us");
        assert!(!change.is_regression() && (change.bound - 0.3f64.hypot(0.3)).abs() < 1e-9, "{change:?}");
        assert!(changed(&noisy, &noisy.map(|value| value * 1.5), "us").is_regression());
    }

    #[test]
    fn others_and_figures_of_one_run_only_are_not_compared() {
        let before = run(vec![figure("latency", 8, 2, &[("openmpi", &[1.0])])]);
        let now = run(vec![
            figure("latency", 8, 2, &[("openmpi", &[9.0])]),
            figure("latency", 64, 2, &[("corelace process", &[9.0])]),
        ]);
        assert!(changes(&before, &now).is_empty());
    }

    #[test]
    fn the_text_tells_the_worst_first_and_what_the_noise_is() {
        let of = |values: [f64; 3]| {
            let sizes = [8u64, 64, 512].into_iter().zip(values);
            run(sizes
                .map(|(size, value)| figure("latency", size, 2, &[("corelace process", &[value])]))
                .collect())
        };
        let (before, now) = (of([1.0, 1.0, 1.0]), of([0.5, 1.05, 2.0]));
        let text = text(&before, &changes(&before, &now));
        let lines: Vec<&str> = text.lines().skip(2).map(str::trim).collect();
        assert_eq!(
            lines[0],
            "WORSE 2.00 x: latency 512 B on 2 ranks, corelace process: 1.000 -> 2.000 us (noise 10 %)"
        );
        assert!(lines[1].starts_with("better 2.00 x: latency 8 B"), "{text}");
        assert!(lines[2].starts_with("1 of 3 figures are within the noise"), "{text}");
    }
}

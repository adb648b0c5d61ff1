//! What a sweep prints: a table, JSON, a picture.

use serde_json::{Value, json};

use super::runs::Outcome;
use super::vary::{Axis, Variant};
use crate::chart::{AxisOf, Chart, Scale};

/// A sweep that has ended.
pub struct Results<'a> {
    /// The name of the chip.
    pub chip: &'a str,
    /// What was varied.
    pub axes: &'a [Axis],
    /// All combinations, with what came out.
    pub rows: Vec<(&'a Variant, Outcome)>,
}

impl Results<'_> {
    /// For people.
    pub fn text(&self) -> String {
        // A chip whose description has no energies spends none.
        let energy = self
            .rows
            .iter()
            .any(|(_, outcome)| outcome.as_ref().is_ok_and(|run| number(run, "/energy/total") > 0.0));
        let mut header: Vec<String> = self.axes.iter().map(|axis| axis.name.clone()).collect();
        header.extend(["virtual time", "against first"].map(String::from));
        header.extend(energy.then(|| "energy".to_owned()));
        header.push("memory".to_owned());
        let first = self
            .rows
            .iter()
            .find_map(|(_, outcome)| outcome.as_ref().ok())
            .map(|run| number(run, "/seconds"));
        let mut lines = vec![(header, None)];
        for (variant, outcome) in &self.rows {
            let mut cells: Vec<String> = variant.steps.iter().map(|step| step.label.clone()).collect();
            let mut failure = None;
            match outcome {
                Ok(run) => {
                    let seconds = number(run, "/seconds");
                    cells.push(in_unit(seconds, "s"));
                    cells.push(
                        first
                            .filter(|first| *first > 0.0)
                            .map_or("–".into(), |first| format!("{:.3}", seconds / first)),
                    );
                    cells.extend(energy.then(|| in_unit(number(run, "/energy/total"), "J")));
                    cells.push(format!("{:.1} KiB", number(run, "/peak_bytes") / 1024.0));
                }
                Err(reason) => failure = Some(reason.clone()),
            }
            lines.push((cells, failure));
        }
        let columns = lines[0].0.len();
        let width = |column: usize| {
            lines
                .iter()
                .filter_map(|(cells, _)| cells.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (cells, failure) in &lines {
            let padded: Vec<String> =
                cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
            text += &padded.join("  ");
            text += &failure.as_ref().map_or(String::new(), |reason| format!("  {reason}"));
            text.push('\n');
        }
        for axis in self.without_effect() {
            text += &format!("note: nothing here depends on {axis}\n");
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> String {
        let row = |(variant, outcome): &(&Variant, Outcome)| {
            let values: serde_json::Map<String, Value> = self
                .axes
                .iter()
                .zip(&variant.steps)
                .map(|(axis, step)| (axis.name.clone(), json!(step.label)))
                .collect();
            match outcome {
                Ok(run) => json!({ "values": values, "run": run }),
                Err(reason) => json!({ "values": values, "failure": reason }),
            }
        };
        let rows: Vec<Value> = self.rows.iter().map(row).collect();
        serde_json::to_string_pretty(&json!({ "chip": self.chip, "rows": rows })).expect("plain data") + "\n"
    }

    /// Virtual time by the first axis, a line for every combination of the others.
    pub fn picture(&self) -> String {
        let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        for (variant, outcome) in &self.rows {
            let Ok(run) = outcome else { continue };
            let others: Vec<&str> = variant.steps[1..].iter().map(|step| step.label.as_str()).collect();
            let name = if others.is_empty() { self.chip.to_owned() } else { others.join(", ") };
            let point = (variant.steps[0].number, number(run, "/seconds") * 1e6);
            match lines.iter_mut().find(|(known, _)| *known == name) {
                Some((_, points)) => points.push(point),
                None => lines.push((name, vec![point])),
            }
        }
        let unit = self
            .rows
            .first()
            .map_or("", |(variant, _)| variant.steps[0].label.split_once(' ').map_or("", |(_, unit)| unit));
        Chart {
            title: &format!("Virtual time on {}", self.chip),
            x: AxisOf { title: &format!("{} ({unit})", self.axes[0].name), scale: Scale::Doubling },
            y: AxisOf { title: "microseconds", scale: Scale::Linear },
            lines,
        }
        .svg()
    }

    /// The axes along which no two runs differ that differ in nothing else.
    fn without_effect(&self) -> impl Iterator<Item = &str> {
        let differ = |index: usize| {
            self.rows.iter().any(|(variant, outcome)| {
                self.rows.iter().any(|(other, theirs)| {
                    let alike = |(place, (a, b))| place == index || a == b;
                    let pair = variant.steps.iter().zip(&other.steps).enumerate().all(alike);
                    let chips = variant.copy.is_ok() && other.copy.is_ok();
                    pair && chips && fingerprint(outcome) != fingerprint(theirs)
                })
            })
        };
        let several = |index: usize| {
            self.rows.first().is_some_and(|(first, _)| {
                self.rows.iter().any(|(row, _)| row.steps[index] != first.steps[index])
            })
        };
        self.axes
            .iter()
            .enumerate()
            .filter(move |(index, _)| several(*index) && !differ(*index))
            .map(|(_, axis)| axis.name.as_str())
    }
}

/// What two runs have in common if nothing made them differ.
fn fingerprint(outcome: &Outcome) -> Option<(Option<&Value>, Option<&Value>, Option<&Value>)> {
    outcome.as_ref().ok().map(|run| (run.get("cycles"), run.get("energy"), run.get("peak_bytes")))
}

fn number(run: &Value, pointer: &str) -> f64 {
    run.pointer(pointer).and_then(Value::as_f64).unwrap_or(0.0)
}

/// A quantity with four digits and a prefix of its unit.
fn in_unit(value: f64, unit: &str) -> String {
    let (factor, prefix) = [(1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")]
        .into_iter()
        .find(|(factor, _)| value >= *factor)
        .unwrap_or((1e-9, "n"));
    let scaled = value / factor;
    let decimals = if scaled >= 100.0 {
        1
    } else if scaled >= 10.0 {
        2
    } else {
        3
    };
    format!("{scaled:.decimals$} {prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use sim::Chip;
    use sim::chip::Description;

    use super::*;
    use crate::sweep::vary;

    fn run(cycles: u64) -> Outcome {
        Ok(
            json!({ "seconds": cycles as f64 * 1e-9, "cycles": cycles, "energy": { "total": 2e-6 }, "peak_bytes": 2048 }),
        )
    }

    fn with_results<R>(outcomes: Vec<Outcome>, look: impl FnOnce(&Results<'_>) -> R) -> R {
        let chip = Chip::builtin("mesh16").unwrap();
        let axes = ["link=2,4", "router=1,5"].map(|word| Axis::parse(word, &chip).unwrap());
        let variants = vary::variants(&axes, &chip, &Description::find("mesh16").unwrap());
        look(&Results { chip: "mesh16", axes: &axes, rows: variants.iter().zip(outcomes).collect() })
    }

    #[test]
    fn the_table_has_a_line_for_every_combination_and_failures_among_them() {
        let outcomes = vec![run(4000), run(5000), Err("does not fit: too much".into()), run(1000)];
        let text = with_results(outcomes, |results| results.text());
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0][..2], ["network.data.link", "network.data.router"]);
        assert_eq!(
            lines[2],
            ["2", "bytes/cycle", "5", "cycles", "5.000", "us", "1.250", "2.000", "uJ", "2.0", "KiB"]
        );
        assert_eq!(lines[3].join(" "), "4 bytes/cycle 1 cycles does not fit: too much");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn a_number_that_changes_nothing_is_named() {
        let text = with_results(vec![run(4), run(4), run(2), run(2)], |results| results.text());
        assert!(text.ends_with("note: nothing here depends on network.data.router\n"), "{text}");
    }

    #[test]
    fn the_picture_has_a_line_for_every_value_of_the_second_axis() {
        let svg = with_results(vec![run(4), run(5), run(2), run(3)], |results| results.picture());
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("network.data.link (bytes/cycle)") && svg.contains(">5 cycles<"), "{svg}");
    }

    #[test]
    fn json_has_the_account_of_every_run_or_its_failure() {
        let text = with_results(vec![run(4), run(5), Err("no".into()), run(3)], |results| results.json());
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value.pointer("/rows/0/run/cycles"), Some(&json!(4)));
        assert_eq!(value.pointer("/rows/2/failure"), Some(&json!("no")));
        assert_eq!(value.pointer("/rows/1/values/network.data.router"), Some(&json!("5 cycles")));
    }

    #[test]
    fn quantities_have_a_prefix() {
        assert_eq!(in_unit(0.0123456, "s"), "12.35 ms");
        assert_eq!(in_unit(2.5e-7, "J"), "250.0 nJ");
        assert_eq!(in_unit(0.0, "s"), "0.000 ns");
        assert_eq!(in_unit(7.0, "s"), "7.000 s");
    }
}

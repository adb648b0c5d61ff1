//! Which numbers of a description are varied, and the copies of it that come of that.
//!
//! `--vary KEY=VALUE,…` names a number, or several at once, as [`keys`] says. `KEY=…:KEY=…` varies numbers together, first values with first values. Every `--vary` is combined with every other.

use sim::Chip;
use sim::chip::{Description, Fact, Provenance, rewrite};

use crate::keys;

/// One `--vary`: what changes from step to step.
#[derive(Debug, PartialEq)]
pub struct Axis {
    /// What is varied, by its path; of several that vary together, all of them.
    pub name: String,
    steps: Vec<Step>,
}

/// A value of an axis, or of several numbers that vary together.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// As people read it: `4 bytes/cycle`.
    pub label: String,
    /// The number alone, for pictures; of several, the first.
    pub number: f64,
    /// The paths with their new values and units.
    changes: Vec<(String, String, String)>,
}

/// One combination, and the description that it makes.
#[derive(Debug)]
pub struct Variant {
    /// A step of each axis, in their order.
    pub steps: Vec<Step>,
    /// The copy, or why there is none.
    pub copy: Result<String, String>,
}

impl Axis {
    /// Reads one `--vary` for a chip.
    pub fn parse(word: &str, chip: &Chip) -> Result<Axis, String> {
        let refuse = |reason: String| format!("--vary {word}: {reason}");
        let mut names = Vec::new();
        let mut together: Vec<Vec<Step>> = Vec::new();
        for part in word.split(':') {
            let (key, values) = part
                .split_once('=')
                .filter(|(key, values)| !key.is_empty() && !values.is_empty())
                .ok_or_else(|| refuse("expected KEY=VALUE,VALUE,…".into()))?;
            let facts = keys::resolve(key, chip).map_err(refuse)?;
            let steps = read_values(values, &facts).map_err(refuse)?;
            if together.first().is_some_and(|first| first.len() != steps.len()) {
                return Err(refuse("numbers that vary together need equally many values".into()));
            }
            names.extend(facts.iter().map(|fact| fact.path.clone()));
            together.push(steps);
        }
        let join = |index: usize| {
            let parts: Vec<&Step> = together.iter().map(|steps| &steps[index]).collect();
            Step {
                label: parts.iter().map(|step| step.label.as_str()).collect::<Vec<_>>().join(", "),
                number: parts[0].number,
                changes: parts.iter().flat_map(|step| step.changes.clone()).collect(),
            }
        };
        Ok(Axis { name: names.join(", "), steps: (0..together[0].len()).map(join).collect() })
    }
}

/// All combinations, the last axis changing fastest.
pub fn variants(axes: &[Axis], chip: &Chip, description: &Description) -> Vec<Variant> {
    let mut combinations: Vec<Vec<Step>> = vec![Vec::new()];
    for axis in axes {
        let longer = |combination: &Vec<Step>| {
            axis.steps
                .iter()
                .map(|step| [combination.as_slice(), std::slice::from_ref(step)].concat())
                .collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(longer).collect();
    }
    combinations.into_iter().map(|steps| Variant { copy: copy(&steps, chip, description), steps }).collect()
}

/// The description with other numbers, if it still is one.
fn copy(steps: &[Step], chip: &Chip, description: &Description) -> Result<String, String> {
    let mut changes: Vec<(&Fact, Fact)> = Vec::new();
    for (path, value, unit) in steps.iter().flat_map(|step| &step.changes) {
        let Some(old) = chip.facts.iter().find(|fact| fact.path == *path) else { continue };
        if changes.iter().any(|(changed, _)| changed.path == *path) {
            return Err(format!("{path} is varied twice"));
        }
        let why = format!("varied by corelace sweep; it was {} {}", old.value, old.unit);
        let provenance = Provenance::Chosen { why, knowing: Vec::new() };
        changes.push((old, Fact { value: value.clone(), unit: unit.clone(), provenance, ..old.clone() }));
    }
    let text = rewrite(&description.text, &changes)?;
    Chip::from_toml(&text, &description.origin).map_err(|error| error.to_string())?;
    Ok(text)
}

/// Values with units; one without takes that of the next which has one, or the file's.
fn read_values(text: &str, facts: &[&Fact]) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut unit = None;
    for word in text.split(',').rev() {
        let end = word.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(word.len());
        let (value, own) = (word[..end].trim().replace('_', ""), word[end..].trim());
        let number: f64 =
            value.parse().ok().filter(|_| !value.starts_with('.') && !value.ends_with('.')).ok_or_else(
                || format!("'{word}' is no number, expected one with a unit of the file or none"),
            )?;
        if !own.is_empty() {
            unit = Some(own);
        }
        let changes = facts
            .iter()
            .map(|fact| (fact.path.clone(), value.clone(), unit.unwrap_or(&fact.unit).to_owned()))
            .collect();
        let label = format!("{value} {}", unit.unwrap_or(&facts[0].unit));
        steps.push(Step { label, number, changes });
    }
    steps.reverse();
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(word: &str) -> Result<Axis, String> {
        Axis::parse(word, &Chip::builtin("mppa256-andey").unwrap())
    }

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.steps.iter().map(|step| step.label.as_str()).collect()
    }

    #[test]
    fn unknown_and_ambiguous_names_are_refused_with_what_there_is() {
        let unknown = axis("data.linq=1").unwrap_err();
        assert!(
            unknown.contains("has no number 'data.linq'") && unknown.contains("network.data.link"),
            "{unknown}"
        );
        let unknown = axis("control.receive=1").unwrap_err();
        assert!(unknown.contains("did you mean cluster.receive, io.north.receive"), "{unknown}");
        let unknown = axis("lnk=2,4").unwrap_err();
        assert!(unknown.contains("network.data.link") && unknown.len() < 200, "{unknown}");
        let ambiguous = axis("ddr.read=1").unwrap_err();
        assert!(ambiguous.contains("may be io.north.ddr.read, io.south.ddr.read"), "{ambiguous}");
        assert!(axis("positions=1").unwrap_err().contains("has no number"));
    }

    #[test]
    fn values_take_the_unit_behind_them_or_that_of_the_file() {
        assert_eq!(labels(&axis("scratchpad=1,2,4MiB").unwrap()), ["1 MiB", "2 MiB", "4 MiB"]);
        assert_eq!(labels(&axis("scratchpad=512KiB,2,4").unwrap()), ["512 KiB", "2 MiB", "4 MiB"]);
        assert_eq!(labels(&axis("link=2,4").unwrap()), ["2 bytes/cycle", "4 bytes/cycle"]);
        for wrong in ["link=", "link", "=2", "link=two", "link=1.", "link=2,,4"] {
            assert!(axis(wrong).unwrap_err().starts_with(&format!("--vary {wrong}: ")));
        }
    }

    #[test]
    fn numbers_vary_together_or_every_one_with_every_other() {
        let chip = Chip::builtin("mppa256-andey").unwrap();
        let description = Description::find("mppa256-andey").unwrap();
        let axes = [axis("scratchpad=1,4MiB:usable=0.5,3.5MiB").unwrap(), axis("link=2,4,8").unwrap()];
        let variants = variants(&axes, &chip, &description);
        assert_eq!(variants.len(), 6);
        let last = Chip::from_toml(variants[5].copy.as_ref().unwrap(), "copy").unwrap();
        assert_eq!((last.cluster.scratchpad, last.cluster.usable), (4 << 20, 7 << 19));
        assert_eq!(variants[5].steps[0].label, "4 MiB, 3.5 MiB");
        assert!(axis("scratchpad=1,4:usable=1").unwrap_err().contains("equally many"));
    }

    #[test]
    fn a_combination_that_is_no_chip_says_why() {
        let chip = Chip::builtin("mppa256-andey").unwrap();
        let description = Description::find("mppa256-andey").unwrap();
        let variants = variants(&[axis("scratchpad=1,2MiB").unwrap()], &chip, &description);
        assert!(variants[0].copy.as_ref().unwrap_err().contains("cluster.usable"), "{:?}", variants[0].copy);
        assert!(variants[1].copy.is_ok());
        let wrong_unit = super::variants(&[axis("link=4MB").unwrap()], &chip, &description);
        assert!(wrong_unit[0].copy.as_ref().unwrap_err().contains("bytes/cycle"));
    }
}

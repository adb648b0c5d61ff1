//! What calibration leaves open: a description may say in which ways its numbers can be changed together although every figure that it was
//! calibrated by stays as it is.
//!
//! A measured time is a sum; how it divides is often nobody's measurement. `[[free]]` names such a division with two ends, so
//! that what depends on it can be measured at both.

use super::ChipError;
use super::edit::{changed, find};
use super::fact::Fact;
use super::read::Section;

/// A division that the figures leave free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Division {
    /// The section of the numbers that change.
    pub section: String,
    /// What is divided, in words.
    pub what: String,
    /// Figures of which the description says that this division decides them.
    pub decides: Vec<String>,
    /// Numbers, by their paths, whose sum is that of the description at both ends.
    sums: Vec<Vec<String>>,
    low: Vec<(String, String)>,
    high: Vec<(String, String)>,
}

/// One of the two ends of a division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// `low`.
    Low,
    /// `high`.
    High,
}

impl Division {
    pub(super) fn read(section: &Section<'_>) -> Result<Division, ChipError> {
        let name = section.text("section")?;
        let path = |key: &String| format!("{name}.{key}");
        let end = |key| -> Result<Vec<(String, String)>, ChipError> {
            let numbers = section.plain_numbers(key)?;
            Ok(numbers.iter().map(|(key, value)| (path(key), value.clone())).collect())
        };
        let sums = section.lists_of_names("sums")?;
        let division = Division {
            what: section.text("what")?,
            decides: section.names("decides")?,
            sums: sums.iter().map(|sum| sum.iter().map(path).collect()).collect(),
            low: end("low")?,
            high: end("high")?,
            section: name.clone(),
        };
        section.finish()?;
        Ok(division)
    }

    /// Numbers, by their paths, whose sum every figure keeps.
    pub fn sums(&self) -> &[Vec<String>] {
        &self.sums
    }

    /// The text of a description with the numbers of one end; `facts` are the numbers of the same text.
    pub fn apply(&self, end: End, text: &str, facts: &[Fact]) -> Result<String, String> {
        let numbers = match end {
            End::Low => &self.low,
            End::High => &self.high,
        };
        self.check_sums(numbers, facts)?;
        let changes: Vec<(&str, &str)> =
            numbers.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
        changed(text, facts, &changes)
    }

    /// Refuses an end at which a sum is another than that of the description.
    fn check_sums(&self, numbers: &[(String, String)], facts: &[Fact]) -> Result<(), String> {
        for sum in &self.sums {
            let (mut stated, mut moved) = (0.0, 0.0);
            for path in sum {
                let value = number(&find(facts, path)?.value)?;
                let changed = numbers.iter().find(|(changed, _)| changed == path);
                stated += value;
                moved += changed.map_or(Ok(value), |(_, value)| number(value))?;
            }
            if (moved - stated).abs() > 1e-9 * stated.abs() {
                return Err(format!("the sum of {} is {stated}, and {moved} at an end", sum.join(", ")));
            }
        }
        Ok(())
    }
}

fn number(written: &str) -> Result<f64, String> {
    written.parse().map_err(|_| format!("{written} is not a number"))
}

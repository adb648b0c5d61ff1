//! How far figures move while every fit still holds.
//!
//! A description says in `[[free]]` which divisions of its numbers the calibration leaves open. Figures are measured again at both ends of each. An
//! end counts if every fit is as good there as it is with the description itself.

use sim::Chip;
use sim::chip::{Description, Division, End};

use super::figure::Finding;
use super::grounds::Kind;
use super::study::Study;
use crate::lab::in_parallel;

/// The least and the greatest of what was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    fn of(value: f64) -> Interval {
        Interval { low: value, high: value }
    }

    fn take_in(&mut self, value: f64) {
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }
}

/// Measures at all ends, and notes in each prediction and assumption how far it moved. Gives sentences about ends that do not count and about
/// predictions that are none.
pub fn measure(study: &Study, chip: &Chip, findings: &mut [Finding<'_>]) -> Result<Vec<String>, String> {
    let mut remarks = Vec::new();
    let Description { text, .. } = Description::find(&study.chip).map_err(|error| error.to_string())?;
    for finding in findings.iter_mut().filter(|finding| moves(finding.basis.kind)) {
        finding.spread = finding.ours.as_ref().ok().map(|ours| Interval::of(*ours));
    }
    for (number, division) in chip.free.iter().enumerate() {
        for (end, name) in [(End::Low, "low"), (End::High, "high")] {
            let changed = division.apply(end, &text, &chip.facts)?;
            let file = study.lab.write(&format!("free-{number}-{name}.toml"), &changed)?;
            let there = Study { lab: study.lab.clone(), chip: file, quick: study.quick };
            at_end(&there, division, name, findings, &mut remarks);
        }
    }
    for finding in findings.iter().filter(|finding| finding.basis.kind == Kind::Predicted) {
        let Some(Interval { low, high }) = finding.spread else { continue };
        if finding.agrees(low) != finding.agrees(high) {
            remarks.push(format!(
                "{} agrees at one end of what the fits leave free and not at the other: `decides` should name it",
                finding.figure.id
            ));
        }
    }
    Ok(remarks)
}

/// Measures what a division can touch at one of its ends.
fn at_end(
    there: &Study,
    division: &Division,
    end: &str,
    findings: &mut [Finding<'_>],
    remarks: &mut Vec<String>,
) {
    let touched: Vec<usize> = (0..findings.len())
        .filter(|index| {
            let finding = &findings[*index];
            let counts = moves(finding.basis.kind) || finding.basis.kind == Kind::Fit;
            counts && touches(division, finding)
        })
        .collect();
    there.lab.expect(touched.len());
    let measured = in_parallel(&touched, |index| {
        let measured = (findings[*index].figure.measure)(there);
        there.lab.advance();
        measured
    });
    let broken: Vec<String> = touched
        .iter()
        .zip(&measured)
        .filter(|(index, measured)| !holds(&findings[**index], measured))
        .map(|(index, measured)| match measured {
            Ok(value) => format!("{} is {}", findings[*index].figure.id, super::figure::number(*value)),
            Err(error) => format!("{}: {error}", findings[*index].figure.id),
        })
        .collect();
    if !broken.is_empty() {
        remarks.push(format!("the {end} end of \"{}\" does not count: {}", division.what, broken.join(", ")));
        return;
    }
    for (index, value) in touched.iter().zip(&measured) {
        if let (Some(spread), Ok(value)) = (&mut findings[*index].spread, value) {
            spread.take_in(*value);
        }
    }
}

fn moves(kind: Kind) -> bool {
    matches!(kind, Kind::Assumed | Kind::Predicted)
}

/// A division of a software's costs touches what runs on that software; any other touches everything.
fn touches(division: &Division, finding: &Finding<'_>) -> bool {
    let set = division.section.strip_prefix("ipc.").and_then(|rest| rest.split('.').next());
    set.is_none_or(|set| set == finding.figure.software())
}

/// Whether a fit is as good with this value as with the description's own: it agrees, or it did not before and is no further off than a fit may be.
/// Figures that are no fits always hold, if there is a value.
fn holds(finding: &Finding<'_>, measured: &Result<f64, String>) -> bool {
    let Ok(value) = measured else { return false };
    if finding.basis.kind != Kind::Fit || finding.agrees(*value) {
        return true;
    }
    let Ok(ours) = finding.ours else { return false };
    !finding.agrees(ours) && (value / ours - 1.0).abs() <= super::figure::FIT_WITHIN
}

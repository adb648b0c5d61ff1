//! The findings as a table for people and as JSON for programs.

use super::figure::{Finding, number};
use super::grounds::{Basis, FreeNumbers, Kind};

/// A table, misses marked; below it what makes figures less than predictions, and the sums.
pub fn text(findings: &[Finding<'_>], free: FreeNumbers) -> String {
    let (without, with): (Vec<_>, Vec<_>) =
        findings.iter().partition(|finding| finding.basis.kind == Kind::Unpublished);
    let mut text = rows(&with);
    if !without.is_empty() {
        text.push_str("\nwithout a published value\n");
        text.push_str(&rows(&without));
    }
    text.push('\n');
    for finding in findings {
        if let Err(error) = &finding.ours {
            text.push_str(&format!("{}: {error}\n", finding.figure.id));
        }
    }
    text.push_str(&reasons(findings));
    text.push('\n');
    text.push_str(&numbers(free));
    text.push_str(&sum(findings));
    text
}

/// Why figures are implied or assumed: a line for each reason, with the figures that it holds for.
fn reasons(findings: &[Finding<'_>]) -> String {
    let mut reasons: Vec<(&Basis, Vec<&str>)> = Vec::new();
    for Finding { figure, basis, .. } in findings {
        if !matches!(basis.kind, Kind::Implied | Kind::Assumed) {
            continue;
        }
        match reasons.iter_mut().find(|(known, _)| *known == basis) {
            Some((_, ids)) => ids.push(figure.id),
            None => reasons.push((basis, vec![figure.id])),
        }
    }
    let line = |(basis, ids): (&Basis, Vec<&str>)| {
        format!("{} {}: {}\n", basis.kind.word(), ids.join(", "), basis.because)
    };
    reasons.into_iter().map(line).collect()
}

/// A line for each finding, the spread only if some have one.
fn rows(findings: &[&Finding<'_>]) -> String {
    let mut rows = vec![
        ["figure", "what", "kind", "unit", "paper", "ours", "difference", "while fits hold", ""]
            .map(String::from),
    ];
    for finding in findings {
        let figure = finding.figure;
        let (ours, difference) = match &finding.ours {
            Ok(ours) => (figure.published.ours_text(*ours), figure.published.difference_text(*ours)),
            Err(_) => ("-".into(), "-".into()),
        };
        let spread = finding
            .spread
            .as_ref()
            .map(|spread| format!("{} to {}", number(spread.low), number(spread.high)));
        rows.push([
            figure.id.into(),
            figure.what.into(),
            finding.basis.kind.word().into(),
            figure.unit.into(),
            figure.published.text(),
            ours,
            difference,
            spread.unwrap_or_default(),
            finding.verdict().into(),
        ]);
    }
    let shown = |column: &usize| *column != SPREAD || findings.iter().any(|finding| finding.spread.is_some());
    let columns: Vec<usize> = (0..rows[0].len()).filter(shown).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cell = |column: &usize| {
            let (cell, width) = (&row[*column], widths[*column]);
            if NUMBERS.contains(column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The columns that are aligned to the right.
const NUMBERS: std::ops::RangeInclusive<usize> = 4..=SPREAD;
/// The column of the spread.
const SPREAD: usize = 7;

/// How many numbers the figures stand against.
pub fn numbers(free: FreeNumbers) -> String {
    let FreeNumbers { calibrated, chosen, chosen_in_applications } = free;
    format!(
        "numbers that nobody published: {calibrated} calibrated, {chosen} chosen for the machines, \
         {chosen_in_applications} chosen for the applications\n"
    )
}

/// How many of each kind agree.
fn sum(findings: &[Finding<'_>]) -> String {
    let of = |kind: Kind| {
        let all = findings.iter().filter(|finding| finding.basis.kind == kind);
        format!(
            "{}: {} of {}",
            kind.word(),
            all.clone().filter(|finding| finding.passes()).count(),
            all.count()
        )
    };
    format!("agree: {}\n", Kind::COUNTED.map(of).join("; "))
}

/// An array of findings.
pub fn json(findings: &[Finding<'_>]) -> String {
    let list: Vec<serde_json::Value> = findings.iter().map(Finding::json).collect();
    serde_json::to_string_pretty(&list).expect("plain data")
}

#[cfg(test)]
mod tests {
    use super::super::figure::{Figure, Published};
    use super::super::spread::Interval;
    use super::*;

    const FREE: FreeNumbers = FreeNumbers { calibrated: 3, chosen: 2, chosen_in_applications: 1 };

    fn figure(id: &'static str, published: Published) -> Figure {
        Figure::new(id, "a thing", "s", published, |_| Ok(2.0))
    }

    fn finding(figure: &Figure, kind: Kind, ours: Result<f64, String>) -> Finding<'_> {
        Finding { figure, basis: Basis { kind, because: "so it is".into() }, ours, spread: None }
    }

    #[test]
    fn misses_are_marked_and_counted_by_kind_and_what_has_no_value_is_apart() {
        let two = Published::Number { value: 2.0, within: 0.1 };
        let figures = [figure("a", two), figure("b", two), figure("c", two), figure("d", Published::Nothing)];
        let findings = [
            finding(&figures[0], Kind::Implied, Ok(2.1)),
            finding(&figures[1], Kind::Predicted, Ok(3.0)),
            finding(&figures[2], Kind::Predicted, Err("no chip".into())),
            finding(&figures[3], Kind::Unpublished, Ok(7.0)),
        ];
        let text = text(&findings, FREE);
        assert!(text.contains("+5.0 %  pass") && text.contains("+50.0 %  MISS"), "{text}");
        assert!(text.contains("\nc: no chip\n") && text.contains("\nimplied a: so it is\n"), "{text}");
        assert!(text.contains("\nwithout a published value\n"), "{text}");
        assert!(!text.contains("while fits hold"), "{text}");
        let end = "numbers that nobody published: 3 calibrated, 2 chosen for the machines, 1 chosen for the applications\n\
                   agree: fit: 0 of 0; implied: 1 of 1; assumed: 0 of 0; predicted: 0 of 2\n";
        assert!(text.ends_with(end), "{text}");
        let parsed: serde_json::Value = serde_json::from_str(&json(&findings)).unwrap();
        assert_eq!(parsed[1]["pass"], false);
        assert_eq!(parsed[0]["paper"], 2.0);
        assert_eq!((&parsed[0]["kind"], &parsed[3]["kind"]), (&"implied".into(), &"unpublished".into()));
        assert_eq!(parsed[2]["ours"], serde_json::Value::Null);
    }

    #[test]
    fn a_spread_is_a_column_of_its_own() {
        let figure = figure("a", Published::AtLeast(1.0));
        let spread = Some(Interval { low: 1.25, high: 2.5 });
        let findings = [Finding { spread, ..finding(&figure, Kind::Predicted, Ok(2.0)) }];
        let text = text(&findings, FREE);
        assert!(text.contains("while fits hold") && text.contains("1.250 to 2.500  pass"), "{text}");
    }
}

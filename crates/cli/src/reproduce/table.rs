//! The findings as a table for people and as JSON for programs.

use super::figure::{Finding, Kind, number};

/// A table, misses marked, with a sum at the end.
pub fn text(findings: &[Finding<'_>]) -> String {
    let mut rows =
        vec![["figure", "what", "kind", "unit", "paper", "ours", "difference", ""].map(String::from)];
    for finding in findings {
        let figure = finding.figure;
        let (ours, difference) = match &finding.ours {
            Ok(ours) => (number(*ours), figure.published.difference_text(*ours)),
            Err(_) => ("-".into(), "-".into()),
        };
        rows.push([
            figure.id.into(),
            figure.what.into(),
            figure.kind.word().into(),
            figure.unit.into(),
            figure.published.text(),
            ours,
            difference,
            if finding.passes() { "pass" } else { "MISS" }.into(),
        ]);
    }
    let mut text = String::new();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..8).map(width).collect();
    for row in &rows {
        let cells: Vec<String> =
            row.iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| {
                    if (4..7).contains(&column) {
                        format!("{cell:>width$}")
                    } else {
                        format!("{cell:<width$}")
                    }
                })
                .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    for finding in findings {
        if let Err(error) = &finding.ours {
            text.push_str(&format!("{}: {error}\n", finding.figure.id));
        }
    }
    text.push_str(&sum(findings));
    text
}

/// How many of each kind agree.
fn sum(findings: &[Finding<'_>]) -> String {
    let of = |kind: Kind| {
        let all = findings.iter().filter(|finding| finding.figure.kind == kind);
        (all.clone().filter(|finding| finding.passes()).count(), all.count())
    };
    let ((fits, all_fits), (predictions, all_predictions)) = (of(Kind::Fit), of(Kind::Predict));
    format!("fit: {fits} of {all_fits} agree; predict: {predictions} of {all_predictions} agree\n")
}

/// An array of findings.
pub fn json(findings: &[Finding<'_>]) -> String {
    let list: Vec<serde_json::Value> = findings.iter().map(Finding::json).collect();
    serde_json::to_string_pretty(&list).expect("plain data")
}

#[cfg(test)]
mod tests {
    use super::super::figure::{Figure, Published};
    use super::*;

    fn figure(id: &'static str, kind: Kind) -> Figure {
        let published = Published::Number { value: 2.0, within: 0.1 };
        Figure { id, what: "a thing", unit: "s", kind, published, measure: Box::new(|_| Ok(2.0)) }
    }

    #[test]
    fn misses_are_marked_and_counted_by_kind() {
        let (fit, prediction, broken) =
            (figure("a", Kind::Fit), figure("b", Kind::Predict), figure("c", Kind::Predict));
        let findings = [
            Finding { figure: &fit, ours: Ok(2.1) },
            Finding { figure: &prediction, ours: Ok(3.0) },
            Finding { figure: &broken, ours: Err("no chip".into()) },
        ];
        let text = text(&findings);
        assert!(text.contains("+5.0 %  pass") && text.contains("+50.0 %  MISS"), "{text}");
        assert!(text.contains("c: no chip\n"), "{text}");
        assert!(text.ends_with("fit: 1 of 1 agree; predict: 0 of 2 agree\n"), "{text}");
        let parsed: serde_json::Value = serde_json::from_str(&json(&findings)).unwrap();
        assert_eq!(parsed[1]["pass"], false);
        assert_eq!(parsed[0]["paper"], 2.0);
        assert_eq!(parsed[2]["ours"], serde_json::Value::Null);
    }
}

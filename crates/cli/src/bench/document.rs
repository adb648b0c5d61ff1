//! A run as tables of a document, between two marks: what is written by hand around them stays.

use std::fmt::Write;
use std::path::Path;

use super::figure::Figure;
use super::run::Run;
use super::{suite, table};

const BEGIN: &str = "<!-- corelace bench: begin -->";
const END: &str = "<!-- corelace bench: end -->";

/// Puts the tables into the document, which is made if it is not there.
pub fn write(run: &Run, file: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("--document is \"{}\": {error}", file.display());
    let before = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => format!("{BEGIN}\n{END}\n"),
        Err(error) => return Err(failed(error)),
    };
    let after = replaced(&before, &tables(run)).ok_or_else(|| {
        format!(
            "--document is \"{}\", expected a document with the lines \"{BEGIN}\" and \"{END}\"",
            file.display()
        )
    })?;
    std::fs::write(file, after).map_err(failed)
}

/// Whether the document has the marks.
#[cfg(test)]
pub fn has_place(document: &str) -> bool {
    replaced(document, "").is_some()
}

/// The document with other text between the marks; `None` if it has none.
fn replaced(document: &str, text: &str) -> Option<String> {
    let (head, rest) = document.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n{text}{END}{tail}"))
}

/// Everything between the marks.
fn tables(run: &Run) -> String {
    let mut text = format!(
        "\nMeasured {}, {}, {} rounds{}.\n\n",
        run.date,
        run.machine.text(),
        run.rounds,
        if run.quick { " with `--quick`, a look rather than a measurement" } else { "" }
    );
    let mut versions: Vec<&str> = run.contestants.iter().map(|entry| entry.version.as_str()).collect();
    versions.dedup();
    for version in versions {
        _ = writeln!(text, "- {version}");
    }
    text.push('\n');
    for suite in suite::SUITES {
        let figures: Vec<&Figure> = run.of_suite(suite.name).collect();
        if figures.is_empty() {
            continue;
        }
        _ = writeln!(text, "### {} (`{}`)\n", suite.title, suite.name);
        for (number, row) in table::rows(run, &figures, &cell).iter().enumerate() {
            _ = writeln!(text, "| {} |", row.join(" | "));
            if number == 0 {
                let columns = row.iter().enumerate();
                let rules: Vec<&str> = columns.map(|(at, _)| if at == 0 { "---" } else { "---:" }).collect();
                _ = writeln!(text, "| {} |", rules.join(" | "));
            }
        }
        text.push('\n');
    }
    _ = writeln!(text, "### Summary\n\n```text\n{}```", table::summary(run));
    text
}

/// Who is ahead is bold.
fn cell(figure: &Figure, name: &str, is_ahead: bool) -> String {
    match table::values(figure, name) {
        Ok(values) if is_ahead => match values.split_once(' ') {
            Some((best, interval)) => format!("**{best}** {interval}"),
            None => format!("**{values}**"),
        },
        Ok(values) => values,
        Err(missing) => missing,
    }
}

#[cfg(test)]
mod tests {
    use super::super::figure::tests::figure;
    use super::super::run::tests::run;
    use super::*;

    #[test]
    fn what_is_written_by_hand_stays_and_the_tables_are_replaced() {
        let document = format!("# Head\n{BEGIN}\nold\n{END}\ntail\n");
        let after = replaced(&document, "new\n").unwrap();
        assert_eq!(after, format!("# Head\n{BEGIN}\nnew\n{END}\ntail\n"));
        assert_eq!(replaced(&after, "new\n").unwrap(), after);
        assert_eq!(replaced("# Head\n", "new\n"), None);
        assert_eq!(replaced(&format!("{END}\n{BEGIN}\n"), "new\n"), None);
    }

    #[test]
    fn the_tables_say_when_where_and_who_and_bold_is_ahead() {
        let cells: &[(&str, &[f64])] = &[("corelace process", &[0.5, 0.6]), ("openmpi", &[1.0])];
        let text = tables(&run(vec![figure("latency", 64, 2, cells)]));
        assert!(text.contains("Measured 2026-01-02 03:04 UTC, "), "{text}");
        assert!(text.contains("- openmpi 1.0\n"), "{text}");
        assert!(
            text.contains("| latency | 64 B | 2 | us | **0.500** 0.500..0.600 | 1.000 | 2.00 |"),
            "{text}"
        );
        assert!(text.contains("ahead in 1 of 1 lines"), "{text}");
    }

    #[test]
    fn a_document_without_marks_is_refused_and_left_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# By hand\n").unwrap();
        let error = write(&run(Vec::new()), file.path()).unwrap_err();
        assert!(error.starts_with("--document is \"") && error.contains(BEGIN), "{error}");
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "# By hand\n");
    }
}

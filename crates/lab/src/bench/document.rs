//! Runs as tables of a document, between two marks: what is written by hand around them stays.

use std::fmt::Write;
use std::path::Path;

use super::figure::Figure;
use super::runs::Runs;
use super::{suite, summary, table};

/// Two lines of a document, between which a command writes.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    pub begin: &'static str,
    pub end: &'static str,
}

pub const TABLES: Marks =
    Marks { begin: "<!-- corelace bench: begin -->", end: "<!-- corelace bench: end -->" };

/// Puts the tables into the document, which is made if it is not there.
pub fn write(runs: &Runs, file: &Path) -> Result<(), String> {
    TABLES.fill(file, &tables(runs))
}

impl Marks {
    /// Puts a text between these marks of a document, which is made if it is not there.
    pub fn fill(self, file: &Path, text: &str) -> Result<(), String> {
        let Marks { begin, end } = self;
        let failed = |error: std::io::Error| format!("--document is \"{}\": {error}", file.display());
        let before = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => format!("{begin}\n{end}\n"),
            Err(error) => return Err(failed(error)),
        };
        let after = self.replaced(&before, text).ok_or_else(|| {
            format!(
                "--document is \"{}\", expected a document with the lines \"{begin}\" and \"{end}\"",
                file.display()
            )
        })?;
        std::fs::write(file, after).map_err(failed)
    }

    /// Whether a document has them.
    #[cfg(test)]
    pub fn are_in(self, document: &str) -> bool {
        self.replaced(document, "").is_some()
    }

    /// The document with other text between the marks; `None` if it has none.
    fn replaced(self, document: &str, text: &str) -> Option<String> {
        let Marks { begin, end } = self;
        let (head, rest) = document.split_once(begin)?;
        let (_, tail) = rest.split_once(end)?;
        Some(format!("{head}{begin}\n{text}{end}{tail}"))
    }
}

/// A table of a document; the first row is its header.
pub fn markdown(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        _ = writeln!(text, "| {} |", row.join(" | "));
        if number == 0 {
            let columns = row.iter().enumerate();
            let rules: Vec<&str> = columns.map(|(at, _)| if at == 0 { "---" } else { "---:" }).collect();
            _ = writeln!(text, "| {} |", rules.join(" | "));
        }
    }
    text
}

/// Everything between the marks.
fn tables(runs: &Runs) -> String {
    let run = runs.first();
    let which = match runs.all().len() {
        1 => String::new(),
        several => format!(", the first of {several} runs"),
    };
    let mut text = format!(
        "\nMeasured {}, {}, {} rounds{}{which}.\n\n",
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
        text.push_str(&markdown(&table::rows(run, &figures, &cell)));
        text.push('\n');
    }
    _ = writeln!(text, "### Summary\n\n```text\n{}```", summary::text(runs));
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
        let Marks { begin, end } = TABLES;
        let document = format!("# Head\n{begin}\nold\n{end}\ntail\n");
        let after = TABLES.replaced(&document, "new\n").unwrap();
        assert_eq!(after, format!("# Head\n{begin}\nnew\n{end}\ntail\n"));
        assert_eq!(TABLES.replaced(&after, "new\n").unwrap(), after);
        assert_eq!(TABLES.replaced("# Head\n", "new\n"), None);
        assert_eq!(TABLES.replaced(&format!("{end}\n{begin}\n"), "new\n"), None);
    }

    #[test]
    fn the_tables_say_when_where_and_who_and_bold_is_ahead() {
        let cells: &[(&str, &[f64])] = &[("corelace process", &[0.5, 0.6]), ("openmpi", &[1.0])];
        let text = tables(&Runs::of(vec![run(vec![figure("latency", 64, 2, cells)])]));
        assert!(text.contains("Measured 2026-01-02 03:04 UTC, "), "{text}");
        assert!(text.contains("- openmpi 1.0\n"), "{text}");
        assert!(
            text.contains("| latency | 64 B | 2 | us | **0.500** 0.500..0.600 | 1.000 | 2.00 |"),
            "{text}"
        );
        assert!(text.contains("ahead in 1 of 1 lines"), "{text}");
    }

    #[test]
    fn of_several_runs_the_first_gives_the_tables_and_all_of_them_the_summary() {
        let of = |ours: f64| {
            run(vec![figure("latency", 64, 2, &[("corelace process", &[ours]), ("openmpi", &[1.0])])])
        };
        let text = tables(&Runs::of(vec![of(0.5), of(2.0)]));
        assert!(text.contains(", 3 rounds, the first of 2 runs.\n"), "{text}");
        assert!(text.contains("| **0.500** | 1.000 | 2.00 |") && !text.contains("| 2.000 |"), "{text}");
        assert!(text.contains("latency 64 B on 2 ranks, ahead in 1 of 2 (2.00, 0.50)"), "{text}");
    }

    #[test]
    fn a_document_without_marks_is_refused_and_left_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# By hand\n").unwrap();
        let error = write(&Runs::of(vec![run(Vec::new())]), file.path()).unwrap_err();
        assert!(error.starts_with("--document is \"") && error.contains(TABLES.begin), "{error}");
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "# By hand\n");
    }
}

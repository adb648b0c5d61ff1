//! What is shown of a run: a table by folder, the failures with their reasons, and all results as JSON.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::run::Verdict;
use crate::workspace::{self, Outcome};

/// What became of one test.
#[derive(Debug)]
pub struct Finding {
    /// The top folder.
    pub folder: String,
    /// The test's name.
    pub test: String,
    /// How it ended.
    pub verdict: Verdict,
    /// Why it may fail, if it may: a known failure's reason.
    pub known: Option<String>,
    /// Whether the suite's authors expect it to fail with their own library.
    pub expected: bool,
    /// How long it took.
    pub seconds: f64,
    /// What it said.
    pub said: String,
}

/// The kinds of ends, in the order of the table's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// As it should.
    Passed,
    /// Not so, and nobody knew.
    Failed,
    /// The compiler refused it.
    NotBuilt,
    /// It failed and is in our list.
    KnownBad,
    /// It is in our list and passed.
    KnownBadPassed,
    /// It failed as the suite's authors expect.
    ExpectedByTheSuite,
    /// It was not tried.
    NotRun,
}

const COLUMNS: [(Kind, &str); 7] = [
    (Kind::Passed, "passed"),
    (Kind::Failed, "failed"),
    (Kind::NotBuilt, "not built"),
    (Kind::KnownBad, "known bad"),
    (Kind::KnownBadPassed, "bad passed"),
    (Kind::ExpectedByTheSuite, "suite's own"),
    (Kind::NotRun, "not run"),
];

impl Finding {
    /// The column that it is counted in.
    pub fn kind(&self) -> Kind {
        match (&self.verdict, &self.known) {
            (Verdict::NotRun(_), _) => Kind::NotRun,
            (Verdict::Passed, None) => Kind::Passed,
            (Verdict::Passed, Some(_)) => Kind::KnownBadPassed,
            (_, Some(_)) => Kind::KnownBad,
            (_, None) if self.expected => Kind::ExpectedByTheSuite,
            (Verdict::NotBuilt(_), None) => Kind::NotBuilt,
            (Verdict::Failed(_), None) => Kind::Failed,
        }
    }

    /// Whether the run has to end with an error.
    pub fn is_wrong(&self) -> bool {
        matches!(self.kind(), Kind::Failed | Kind::NotBuilt | Kind::KnownBadPassed)
    }

    fn reason(&self) -> String {
        match (&self.verdict, &self.known) {
            (Verdict::Passed, Some(known)) => format!("passes, but is known to fail: {known}"),
            (Verdict::Passed, None) => String::new(),
            (Verdict::Failed(reason) | Verdict::NotBuilt(reason) | Verdict::NotRun(reason), _) => {
                one_line(reason)
            }
        }
    }
}

/// Failures, then the table.
pub fn show(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings.iter().filter(|finding| finding.kind() != Kind::Passed) {
        let column = COLUMNS.iter().find(|(kind, _)| *kind == finding.kind()).map_or("", |column| column.1);
        text.push_str(&format!("{column:<11} {}: {}\n", finding.test, finding.reason()));
    }
    let mut folders: BTreeMap<&str, [usize; COLUMNS.len()]> = BTreeMap::new();
    for finding in findings {
        let column = COLUMNS.iter().position(|(kind, _)| *kind == finding.kind()).expect("all are there");
        folders.entry(&finding.folder).or_default()[column] += 1;
    }
    let all = folders.values().fold([0; COLUMNS.len()], |sum, row| std::array::from_fn(|i| sum[i] + row[i]));
    folders.retain(|_, row| row.iter().sum::<usize>() > 0);
    let used: Vec<usize> = (0..COLUMNS.len()).filter(|column| *column < 4 || all[*column] > 0).collect();
    let mut line = |folder: &str, cells: Vec<String>| {
        let cells: Vec<_> = cells.iter().map(|cell| format!("{cell:>12}")).collect();
        text.push_str(&format!("{folder:<10}{}\n", cells.join("")));
    };
    line("folder", used.iter().map(|column| COLUMNS[*column].1.to_owned()).collect());
    for (folder, row) in folders.iter().map(|(folder, row)| (*folder, *row)).chain([("all", all)]) {
        line(folder, used.iter().map(|column| row[*column].to_string()).collect());
    }
    text
}

/// Keeps all results.
pub fn keep(path: &Path, suite: &str, ranks: &str, findings: &[Finding]) -> Outcome {
    #[derive(Serialize)]
    struct Results<'a> {
        suite: &'a str,
        ranks: &'a str,
        tests: Vec<Test<'a>>,
    }
    #[derive(Serialize)]
    struct Test<'a> {
        test: &'a str,
        outcome: Kind,
        seconds: f64,
        #[serde(skip_serializing_if = "String::is_empty")]
        reason: String,
        #[serde(skip_serializing_if = "str::is_empty")]
        output: &'a str,
    }
    let tests = findings.iter().map(|finding| Test {
        test: &finding.test,
        outcome: finding.kind(),
        seconds: (finding.seconds * 1e3).round() / 1e3,
        reason: finding.reason(),
        output: if finding.verdict == Verdict::Passed { "" } else { beginning(&finding.said, 8000) },
    });
    let results = Results { suite, ranks, tests: tests.collect() };
    let text = serde_json::to_string_pretty(&results).map_err(|error| error.to_string())?;
    workspace::replace(path, (text + "\n").as_bytes()).map(|_| ())
}

/// The line of a compiler's words that holds the first error, or the first line of anything else, not too long.
fn one_line(text: &str) -> String {
    let errors = ["error: ", "undefined reference"];
    let line = text.lines().find(|line| errors.iter().any(|word| line.contains(word)));
    let line = line.or_else(|| text.lines().next()).unwrap_or_default();
    beginning(line, 200).to_owned()
}

fn beginning(text: &str, length: usize) -> &str {
    let end = (0..=length.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(verdict: Verdict, known: Option<&str>) -> Finding {
        Finding {
            folder: "coll".to_owned(),
            test: "coll/allred 4".to_owned(),
            verdict,
            known: known.map(str::to_owned),
            expected: false,
            seconds: 0.1,
            said: String::new(),
        }
    }

    #[test]
    fn a_known_failure_that_passes_is_wrong_and_one_that_fails_is_not() {
        assert!(finding(Verdict::Passed, Some("no lanes")).is_wrong());
        assert!(!finding(Verdict::Failed("x".to_owned()), Some("no lanes")).is_wrong());
        assert!(finding(Verdict::Failed("x".to_owned()), None).is_wrong());
        assert!(finding(Verdict::NotBuilt("x".to_owned()), None).is_wrong());
        assert!(!finding(Verdict::Passed, None).is_wrong());
    }

    #[test]
    fn the_table_counts_by_folder_and_names_failures_with_their_reason() {
        let compiler = "In function main:\nx.c:3: error: unknown type\nx.c:4: error: more";
        let findings =
            [finding(Verdict::Passed, None), finding(Verdict::NotBuilt(compiler.to_owned()), None)];
        let text = show(&findings);
        assert!(text.contains("not built   coll/allred 4: x.c:3: error: unknown type\n"), "{text}");
        let row: Vec<_> =
            text.lines().find(|line| line.starts_with("coll ")).unwrap().split_whitespace().collect();
        assert_eq!(row, ["coll", "1", "0", "1", "0"]);
    }
}

//! The suite's test lists: which program runs with how many ranks, and how its output is judged.
//!
//! A line is `program [ranks [key=value]…]`; a program that is a folder stands for that folder's own list. Lists whose name ends in
//! `.in` carry words between `@` that the suite's configuration would replace: a comment sign, or the name of a folder.

use std::collections::HashSet;
use std::path::Path;

use super::fortran::Dialect;
use crate::workspace::{self, Outcome};

/// The lists of a folder; those that are not there are left out. `testlist.dtp` is made by the suite's own generator.
const LISTS: [&str; 3] = ["testlist", "testlist.in", "testlist.dtp"];

/// What the suite's configuration would put in place of these words. An empty word keeps the line, a comment sign drops it.
const REPLACED: [(&str, &str); 16] = [
    ("@largetest@", ""),
    ("@comm_overlap@", ""),
    ("@partdir@", "part"),
    ("@rmadir@", "rma"),
    ("@spawndir@", "spawn"),
    ("@iodir@", "io"),
    ("@threadsdir@", "threads"),
    ("@errordir@", "errors"),
    ("@namepub_tests@", ""),
    ("@ALLOCMEMFC@", "allocmemf90 1"),
    ("@ALLOCMEMF@", "allocmemf 1"),
    ("@F77SPAWNARGTEST@", ""),
    ("@F03SPAWNARGTEST@", ""),
    ("@faultsdir@", "#"),
    ("@f77dir@", "#"),
    ("@f90dir@", "#"),
];

/// Sub-folders that belong to chapters of their own: entered only by whoever names them.
const ELSEWHERE: [&str; 4] = ["rma", "io", "spawn", "perf"];

/// How a test's end is told from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// It ends with status 0 and says "No Errors" and nothing else.
    NoErrors,
    /// It ends with another status; what it says does not matter.
    Fails,
    /// It ends with another status and says "No Errors" and nothing else.
    FailsWithNoErrors,
}

/// One line of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The folder below the suite's root.
    pub folder: String,
    /// The program, which is made in that folder.
    pub program: String,
    /// How many ranks run it.
    pub ranks: u32,
    /// What it is given.
    pub arguments: Vec<String>,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
    /// What the launcher is given.
    pub launcher: Vec<String>,
    /// Seconds that it may take, if the list says so.
    pub limit: Option<u64>,
    /// The memory that it needs, in GB.
    pub memory: f64,
    /// How its end is judged.
    pub judge: Judge,
    /// Whether the suite's authors expect it to fail with their own library.
    pub expected_to_fail: bool,
}

impl Test {
    /// What the test is called in tables, results and the list of known failures.
    pub fn name(&self) -> String {
        let mut name = format!("{}/{} {}", self.folder, self.program, self.ranks);
        for argument in &self.arguments {
            name.push(' ');
            name.push_str(argument);
        }
        for (variable, value) in &self.environment {
            name.push_str(&format!(" {variable}={value}"));
        }
        name
    }
}

/// The tests of a folder and of those below it.
pub fn read(suite: &Path, folder: &str) -> Outcome<Vec<Test>> {
    let directory = suite.join(folder);
    let present: Vec<_> =
        LISTS.iter().map(|name| directory.join(name)).filter(|path| path.exists()).collect();
    if present.is_empty() {
        return Err(format!("the suite has no folder {folder} with a list of tests"));
    }
    let mut tests = Vec::new();
    for list in present {
        for line in workspace::read(&list)?.lines() {
            let parsed = parse(folder, line);
            let Some(entry) = parsed.map_err(|problem| format!("{}: {problem}: {line}", list.display()))?
            else {
                continue;
            };
            if !directory.join(&entry.program).is_dir() {
                tests.push(entry);
            } else if !is_elsewhere(folder, &entry.program) {
                tests.extend(read(suite, &format!("{folder}/{}", entry.program))?);
            }
        }
    }
    // A line that is there twice tells nothing more.
    let mut seen = HashSet::new();
    tests.retain(|test| seen.insert(test.name()));
    Ok(tests)
}

/// Fortran's folders have parts of all chapters; those of files and of processes are entered by name.
fn is_elsewhere(folder: &str, below: &str) -> bool {
    ELSEWHERE.contains(&below) && !(below == "rma" && Dialect::of(folder).is_some())
}

/// One line; none if it holds a comment only.
pub(super) fn parse(folder: &str, line: &str) -> Outcome<Option<Test>> {
    let mut line = line.to_owned();
    for (word, replacement) in REPLACED {
        line = line.replace(word, replacement);
    }
    let line = line.split('#').next().unwrap_or_default();
    let mut words = line.split_whitespace();
    let Some(program) = words.next() else { return Ok(None) };
    if program.contains('@') {
        return Ok(None);
    }
    let number = |word: &str| word.parse::<u32>().map_err(|_| format!("{word} is no number of ranks"));
    let mut test = Test {
        folder: folder.to_owned(),
        program: program.to_owned(),
        ranks: words.next().map_or(Ok(2), number)?,
        arguments: Vec::new(),
        environment: Vec::new(),
        launcher: Vec::new(),
        limit: None,
        memory: 0.0,
        judge: Judge::NoErrors,
        expected_to_fail: false,
    };
    for word in words {
        // Words that are none of that lie about here and there; the suite's own driver takes no notice of them.
        let Some((key, value)) = word.split_once('=') else { continue };
        match key {
            "arg" => test.arguments.push(value.to_owned()),
            "env" => {
                let (variable, value) = value.split_once('=').unwrap_or((value, ""));
                test.environment.push((variable.to_owned(), value.to_owned()));
            }
            "mpiexecarg" => test.launcher.push(value.to_owned()),
            "timeLimit" => test.limit = Some(value.parse().map_err(|_| format!("{word} is no time"))?),
            "mem" => test.memory = value.parse().map_err(|_| format!("{word} is no size"))?,
            "xfail" => test.expected_to_fail = true,
            "resultTest" => {
                test.judge = match value {
                    "TestStatus" | "TestErrFatal" => Judge::Fails,
                    "TestStatusNoErrors" => Judge::FailsWithNoErrors,
                    _ => return Err(format!("{value} is no way to judge")),
                }
            }
            // Extensions and removed functions are tried too; every version of the standard that a line asks for is ours.
            "strict" | "mpix" | "mpiversion" | "lock" | "init" => {}
            _ => return Err(format!("the key {key} is not known")),
        }
    }
    Ok(Some(test))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Test {
        parse("coll", line).unwrap().unwrap()
    }

    #[test]
    fn a_line_says_ranks_arguments_environment_limit_and_judge() {
        let test = parsed("allred 7 arg=-count=10 arg=x env=NAME=a=b timeLimit=600 mem=1.4 xfail=ticket1");
        assert_eq!((test.ranks, test.limit, test.memory), (7, Some(600), 1.4));
        assert_eq!(test.arguments, ["-count=10", "x"]);
        assert_eq!(test.environment, [("NAME".to_owned(), "a=b".to_owned())]);
        assert!(test.expected_to_fail && test.judge == Judge::NoErrors);
        assert_eq!(test.name(), "coll/allred 7 -count=10 x NAME=a=b");
        assert_eq!(parsed("exit 2 resultTest=TestStatus mpiversion=3.0").judge, Judge::Fails);
    }

    #[test]
    fn two_ranks_run_what_says_no_number_and_comments_are_none() {
        assert_eq!(parsed("bare").ranks, 2);
        for line in ["", "   ", "# bcast 4", "@f77dir@", "@cxxdir@", "@unheard@ of"] {
            assert_eq!(parse("coll", line), Ok(None), "{line}");
        }
        assert_eq!(parsed("@largetest@gather_big 8").program, "gather_big");
        assert_eq!(parsed("@comm_overlap@ allred 2").ranks, 2);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for line in ["a four", "a 4 tempo=1", "a 4 resultTest=TestMood", "a 4 timeLimit=long"] {
            assert!(parse("coll", line).is_err(), "{line}");
        }
    }
}

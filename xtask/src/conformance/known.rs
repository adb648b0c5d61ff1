//! What is known of tests beforehand, each with the reason, as data in `xtask/conformance`.
//!
//! `known-bad.json` holds the tests that fail. It says what is not done, so it may not be wrong in either direction: a known failure
//! that passes is an error too. `outside.json` holds those that ask for what the standard does not: they are not run.

use serde::Deserialize;

use crate::workspace::{self, Outcome};

/// One entry.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The test's name as the tables show it, or the part of it that names the program: `coll/allred 7` or `coll/allred`.
    pub test: String,
    /// The modes of ranks of which this holds; all if none is named.
    #[serde(default)]
    pub ranks: Vec<String>,
    /// Why.
    pub reason: String,
}

/// The tests that fail in this mode.
pub fn bad(ranks: &str) -> Outcome<Vec<Known>> {
    let mut all = read("known-bad.json")?;
    all.retain(|known| known.ranks.is_empty() || known.ranks.iter().any(|mode| mode == ranks));
    Ok(all)
}

/// The tests that are not run.
pub fn outside() -> Outcome<Vec<Known>> {
    read("outside.json")
}

fn read(name: &str) -> Outcome<Vec<Known>> {
    let path = workspace::root().join("xtask/conformance").join(name);
    serde_json::from_str(&workspace::read(&path)?).map_err(|error| format!("{}: {error}", path.display()))
}

impl Known {
    /// Whether this entry speaks of the test of that name.
    pub fn names(&self, test: &str) -> bool {
        test.strip_prefix(self.test.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_one_line_or_all_lines_of_a_program() {
        let known = |test: &str| Known { test: test.to_owned(), ranks: Vec::new(), reason: String::new() };
        assert!(known("coll/allred").names("coll/allred 7 -count=10"));
        assert!(known("coll/allred 7 -count=10").names("coll/allred 7 -count=10"));
        assert!(!known("coll/allred 7 -count=1").names("coll/allred 7 -count=10"));
        assert!(!known("coll/allred").names("coll/allred2 4"));
    }

    #[test]
    fn the_lists_are_readable_short_and_say_why() {
        let (bad, outside) = (read("known-bad.json").unwrap(), outside().unwrap());
        assert!(bad.len() <= 10, "{} known failures", bad.len());
        for known in bad.iter().chain(&outside) {
            assert!(!known.reason.is_empty() && known.test.contains('/'), "{known:?}");
            assert!(known.ranks.iter().all(|mode| ["process", "thread", "fiber"].contains(&mode.as_str())));
        }
    }
}

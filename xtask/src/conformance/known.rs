//! The tests that are known to fail, each with the reason: `xtask/conformance/known-bad.json`.
//!
//! The list says what is not done, so it may not be wrong in either direction: a known failure that passes is an error too.

use serde::Deserialize;

use crate::workspace::{self, Outcome};

/// One entry.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The test's name as the tables show it, or the part of it that names the program: `coll/allred 7` or `coll/allred`.
    pub test: String,
    /// The modes of ranks in which it fails.
    pub ranks: Vec<String>,
    /// Why.
    pub reason: String,
}

/// Every entry for this mode.
pub fn read(ranks: &str) -> Outcome<Vec<Known>> {
    let path = workspace::root().join("xtask/conformance/known-bad.json");
    let all: Vec<Known> = serde_json::from_str(&workspace::read(&path)?)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(all.into_iter().filter(|known| known.ranks.iter().any(|mode| mode == ranks)).collect())
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
    fn the_list_is_readable_and_every_entry_has_a_reason_and_a_mode() {
        for mode in ["process", "thread", "fiber"] {
            for known in read(mode).unwrap() {
                assert!(!known.reason.is_empty() && known.test.contains('/'), "{known:?}");
            }
        }
    }
}

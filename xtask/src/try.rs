//! `cargo xtask try [CRATE|PATTERN…]`: the inner loop. It checks and tests what a change touches.
//!
//! Without words, that is what differs from the last commit. A crate that was changed is tested,
//! and the crates that depend on it are checked. A changed file of `tests/` runs its own tests; a
//! changed program of `tests/c` runs the tests that name it. A word is the name of a crate, or
//! else part of the names of the tests to run.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::test::{self, Selection};
use crate::workspace::{self, Outcome};

/// A package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Package {
    name: String,
    /// Its folder, from the root.
    folder: String,
    /// The packages of the workspace that it depends on, those for tests among them.
    needs: Vec<String>,
}

/// What is to be done.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Packages to test.
    test: BTreeSet<String>,
    /// Parts of names of launched tests.
    launched: BTreeSet<String>,
}

/// The package of launched tests.
const LAUNCHED: &str = "corelace-tests";

/// Runs the command.
pub fn command(words: &[&str]) -> Outcome {
    if let Some(option) = words.iter().find(|word| word.starts_with('-')) {
        return Err(format!("no option is called \"{option}\"\nusage: cargo xtask try [CRATE|PATTERN…]"));
    }
    let began = Instant::now();
    let packages = packages()?;
    let plan = match words {
        [] => touched(&packages, &changed()?, &programs_of_tests()?),
        words => asked(&packages, words),
    };
    if plan == Plan::default() {
        println!("try: nothing that differs from the last commit is tested; name a crate or a test");
        return Ok(());
    }
    let dependents = dependents(&packages, &plan.test);
    if !dependents.is_empty() {
        println!("try: checking {}", list(&dependents));
        let mut cargo = test::cargo();
        cargo.current_dir(workspace::root()).args(["check", "--quiet"]);
        workspace::run(cargo.args(dependents.iter().flat_map(|package| ["-p", package])))?;
    }
    if !plan.test.is_empty() {
        println!("try: testing {}", list(&plan.test));
        let packages = plan.test.iter().cloned().collect();
        let selection = Selection { packages, without_documentation: true, ..Selection::default() };
        // Those of them that launch jobs make an installation themselves.
        test::run_alone(&selection)?;
    }
    if !plan.launched.is_empty() {
        println!("try: launching {}", list(&plan.launched));
        let packages = if words.is_empty() { vec![LAUNCHED.to_owned()] } else { vec![] };
        let filters = plan.launched.into_iter().collect();
        test::run(&Selection { packages, filters, without_documentation: true })?;
    }
    println!("try: done in {}", test::seconds(began));
    Ok(())
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(|name| name.trim_start_matches("corelace-")).collect::<Vec<_>>().join(", ")
}

/// What the words name: a crate by its folder or its package, else part of names of tests.
fn asked(packages: &[Package], words: &[&str]) -> Plan {
    let mut plan = Plan::default();
    for word in words {
        let is_it =
            |package: &&Package| package.name == *word || package.folder.rsplit('/').next() == Some(word);
        match packages.iter().find(is_it) {
            Some(package) if package.name != LAUNCHED => plan.test.insert(package.name.clone()),
            Some(_) => plan.launched.insert("::".to_owned()),
            None => plan.launched.insert((*word).to_owned()),
        };
    }
    plan
}

/// What the changed files belong to. `programs` says which tests name which program of `tests/c`.
fn touched(packages: &[Package], files: &[String], programs: &[(String, String)]) -> Plan {
    let mut plan = Plan::default();
    for file in files {
        if let Some(rest) = file.strip_prefix("tests/") {
            match rest.split_once('/') {
                None => _ = rest.strip_suffix(".rs").map(|it| plan.launched.insert(format!("{it}::"))),
                Some((_, program)) => {
                    let stem = Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
                    let named = programs.iter().filter(|(_, text)| text.contains(&*stem));
                    plan.launched.extend(named.map(|(module, _)| format!("{module}::")));
                }
            }
            continue;
        }
        let of = packages.iter().filter(|package| file.starts_with(&format!("{}/", package.folder)));
        let Some(package) = of.max_by_key(|package| package.folder.len()) else { continue };
        plan.test.insert(package.name.clone());
    }
    plan
}

/// The packages that depend on one of these, and are not among them.
fn dependents(packages: &[Package], on: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found = on.clone();
    loop {
        let more = packages.iter().filter(|package| package.needs.iter().any(|need| found.contains(need)));
        let more: BTreeSet<_> = more.map(|package| package.name.clone()).collect();
        if more.is_subset(&found) {
            return found.difference(on).cloned().collect();
        }
        found.extend(more);
    }
}

fn packages() -> Outcome<Vec<Package>> {
    let mut cargo = test::cargo();
    cargo.current_dir(workspace::root()).args(["metadata", "--no-deps", "--format-version", "1"]);
    let text = said(&mut cargo)?;
    let data: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let root = format!("{}/", workspace::root().display());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = data["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let package = |package: &Value| {
        let manifest = text(&package["manifest_path"]);
        let folder = manifest.trim_end_matches("/Cargo.toml");
        let needs = package["dependencies"].as_array().into_iter().flatten();
        Package {
            name: text(&package["name"]),
            folder: folder.strip_prefix(&root).unwrap_or(folder).to_owned(),
            needs: needs.map(|need| text(&need["name"])).collect(),
        }
    };
    Ok(all.iter().map(package).collect())
}

/// Files that differ from the last commit, new ones among them.
fn changed() -> Outcome<Vec<String>> {
    let git = |words: &[&str]| said(Command::new("git").current_dir(workspace::root()).args(words));
    let text =
        git(&["diff", "--name-only", "HEAD"])? + &git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// The modules of launched tests, each with its text.
fn programs_of_tests() -> Outcome<Vec<(String, String)>> {
    let folder = workspace::root().join("tests");
    let files = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = files.flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    files
        .map(|path| {
            let module = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Ok((module, workspace::read(&path)?))
        })
        .collect()
}

fn said(command: &mut Command) -> Outcome<String> {
    let output = command.output().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house() -> Vec<Package> {
        let package = |name: &str, folder: &str, needs: &[&str]| Package {
            name: name.to_owned(),
            folder: folder.to_owned(),
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        };
        vec![
            package("corelace-ring", "crates/ring", &["libc"]),
            package("corelace-engine", "crates/engine", &["corelace-ring"]),
            package("corelace", "crates/corelace", &["corelace-engine"]),
            package("corelace-pmi", "crates/pmi", &[]),
            package(LAUNCHED, "tests", &["corelace"]),
        ]
    }

    fn names(set: &BTreeSet<String>) -> Vec<&str> {
        set.iter().map(String::as_str).collect()
    }

    #[test]
    fn all_that_depend_on_a_crate_are_checked_with_it() {
        let on = BTreeSet::from(["corelace-ring".to_owned()]);
        assert_eq!(names(&dependents(&house(), &on)), ["corelace", "corelace-engine", LAUNCHED]);
        assert!(dependents(&house(), &BTreeSet::from(["corelace-pmi".to_owned()])).is_empty());
    }

    #[test]
    fn changed_files_are_tested_by_their_crates_and_programs_by_the_tests_that_name_them() {
        let files = ["crates/ring/src/lib.rs", "README.md", "tests/hangs.rs", "tests/c/traffic.c"];
        let programs = [
            ("soak".to_owned(), "program(\"traffic.c\")".to_owned()),
            ("abi".to_owned(), "program(\"sum.c\")".to_owned()),
        ];
        let plan = touched(&house(), &files.map(str::to_owned), &programs);
        assert_eq!(names(&plan.test), ["corelace-ring"]);
        assert_eq!(names(&plan.launched), ["hangs::", "soak::"]);
        assert_eq!(touched(&house(), &["docs/map.md".to_owned()], &programs), Plan::default());
    }

    #[test]
    fn a_word_is_a_crate_or_part_of_the_names_of_tests() {
        let plan = asked(&house(), &["ring", "corelace-pmi", "deadlock"]);
        assert_eq!(names(&plan.test), ["corelace-pmi", "corelace-ring"]);
        assert_eq!(names(&plan.launched), ["deadlock"]);
    }
}

//! `cargo xtask coverage`: how much of MPI is there, chapter by chapter, from the same scan that the generator uses, and how much of that
//! a test names. A function that can only answer "none" (`spec/none.json`) is counted apart.
//!
//! With `--check`, a function that is there and that no test names is an error: what is not tested is not implemented.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::scan;
use crate::spec::Spec;
use crate::workspace::{self, Outcome};

/// Where programs are that tests run.
const TESTS: [&str; 4] = ["tests", "examples", "apps", "crates/capi/tests"];

/// Sources of programs; what a Rust test says about a function is not a call of it.
const SOURCES: [&str; 7] = ["c", "cc", "cpp", "h", "hpp", "in", "py"];

/// Runs the command.
pub fn command(arguments: &[&str]) -> Outcome {
    let check = match arguments {
        [] => false,
        ["--check"] => true,
        other => return Err(format!("coverage knows only --check, not `{}`", other.join(" "))),
    };
    let root = workspace::root();
    let spec = Spec::load(&root)?;
    let implemented = scan::implemented(&root)?;
    let named = named(&root)?;
    let mut all = Count::default();
    let mut untested = Vec::new();
    println!("{:<32} {:>5} {:>5} {:>6} {:>5}", "chapter", "of", "have", "tested", "none");
    for chapter in &spec.chapters {
        let mut count = Count::default();
        let mut missing = Vec::new();
        for function in &chapter.functions {
            let present = implemented.of(function).is_some();
            let none = present && spec.none.contains(&function.name);
            let tested = present && named.contains(&function.name);
            count.add(present && !none, tested && !none, none);
            if present && !tested {
                untested.push(function.name.as_str());
            }
            if !present && function.small.is_none() {
                missing.push(function.stem());
            }
        }
        println!("{} {}", count.line(&chapter.name), shorten(&missing.join(" ")));
        all.join(&count);
    }
    println!("{}", all.line("all"));
    println!(
        "\nof: functions of the chapter; have: implemented; tested: of these, named by a program that a test runs;"
    );
    println!("none: can only answer that there is none of something, tested or not, and not counted as had.");
    if let Some(stranger) = spec.none.iter().find(|name| !spec.has(name)) {
        return Err(format!("spec/none.json has {stranger}, which is no function"));
    }
    if untested.is_empty() {
        return Ok(());
    }
    let list = format!("implemented, and named by no test: {}", untested.join(" "));
    if check {
        return Err(list);
    }
    println!("{list}");
    Ok(())
}

#[derive(Default)]
struct Count {
    of: u32,
    have: u32,
    tested: u32,
    none: u32,
}

impl Count {
    fn add(&mut self, have: bool, tested: bool, none: bool) {
        self.join(&Count { of: 1, have: have.into(), tested: tested.into(), none: none.into() });
    }

    fn join(&mut self, other: &Count) {
        self.of += other.of;
        self.have += other.have;
        self.tested += other.tested;
        self.none += other.none;
    }

    fn line(&self, name: &str) -> String {
        format!("{name:<32} {:>5} {:>5} {:>6} {:>5} ", self.of, self.have, self.tested, self.none)
    }
}

/// The functions that the tests' programs name outside of comments.
fn named(root: &Path) -> Outcome<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for directory in TESTS {
        visit(&root.join(directory), &mut names)?;
    }
    Ok(names)
}

fn visit(directory: &Path, names: &mut BTreeSet<String>) -> Outcome {
    let entries =
        fs::read_dir(directory).map_err(|error| format!("cannot list {}: {error}", directory.display()))?;
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() {
            visit(&path, names)?;
        } else if path.extension().is_some_and(|found| SOURCES.iter().any(|known| found == *known)) {
            // A word may be a part of a name of the profiling interface.
            for word in words(&without_comments(&workspace::read(&path)?)) {
                names.insert(word.strip_prefix('P').unwrap_or(word).to_owned());
            }
        }
    }
    Ok(())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("MPI") || word.starts_with("PMPI"))
}

/// C without its comments.
fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = rest.find("/*") {
        out.push_str(&rest[..at]);
        rest = rest[at..].split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    out.lines().map(code).collect::<Vec<_>>().join("\n")
}

/// The missing ones, as far as they fit on a line.
fn shorten(names: &str) -> String {
    const WIDTH: usize = 70;
    match names {
        "" => String::new(),
        names if names.len() <= WIDTH => format!("missing: {names}"),
        names => format!("missing: {}…", &names[..WIDTH]),
    }
}

#[cfg(test)]
mod tests {
    use super::{without_comments, words};

    #[test]
    fn names_in_comments_and_parts_of_names_do_not_count() {
        let code = "MPI_Send(a); /* MPI_Recv\n MPI_Wait */ PMPI_Test(b); // MPI_Probe\nMPI_Send_c(1)";
        let code = without_comments(code);
        assert_eq!(words(&code).collect::<Vec<_>>(), ["MPI_Send", "PMPI_Test", "MPI_Send_c"]);
    }
}

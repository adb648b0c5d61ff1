//! The rooms of a crate and what they name, read off its source.
//!
//! A room is a file or folder right below a floor (`values/datatype`, `lane/run`); the tables of `progress` are rooms of their own. What
//! a floor's `mod.rs` passes on counts as named where it is defined; a path that ends at a floor names all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of a floor whose files are rooms.
const WINGS: [&str; 1] = ["progress/tables"];

pub struct Rooms {
    named: BTreeMap<String, BTreeSet<String>>,
}

impl Rooms {
    /// Those of the source in a folder.
    pub fn of(source: &str) -> Rooms {
        let source = root().join(source);
        let files: Vec<(Vec<String>, String)> = rust_files(&source)
            .iter()
            .filter(|file| !file.ends_with("lib.rs") && !file.to_str().unwrap().ends_with("tests.rs"))
            .map(|file| (module_of(file.strip_prefix(&source).unwrap()), code_of(file)))
            .collect();
        let modules: BTreeSet<Vec<String>> = files.iter().map(|(module, _)| module.clone()).collect();
        let passed_on = passed_on(&files);
        let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, code) in files.iter().filter(|(module, _)| !lists_rooms(module)) {
            let from = room_of(module).unwrap();
            for path in paths(code, module) {
                let path = passed_on.get(&path[..path.len().min(2)]).unwrap_or(&path);
                let known = (1..=path.len()).rev().find(|length| modules.contains(&path[..*length]));
                let to = known.map(|length| room_of(&path[..length]).unwrap_or_else(|| path[0].clone()));
                named.entry(from.clone()).or_default().extend(to.filter(|to| *to != from));
            }
        }
        Rooms { named }
    }

    /// Every (from, to).
    pub fn arrows(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named.iter().flat_map(|(from, to)| to.iter().map(move |to| (from.as_str(), to.as_str())))
    }

    /// Sets of rooms that can be reached from each other.
    pub fn circles(&self) -> Vec<Vec<&str>> {
        let reach: BTreeMap<&str, BTreeSet<&str>> =
            self.named.keys().map(|room| (room.as_str(), self.reached(room))).collect();
        let mut circles: BTreeSet<Vec<&str>> = BTreeSet::new();
        for (room, reached) in reach.iter().filter(|(room, reached)| reached.contains(*room)) {
            let others =
                reached.iter().filter(|other| reach.get(*other).is_some_and(|back| back.contains(room)));
            circles.insert(others.copied().collect());
        }
        circles.into_iter().collect()
    }

    fn reached(&self, from: &str) -> BTreeSet<&str> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(room) = open.pop() {
            for next in self.named.get(room).into_iter().flatten() {
                if reached.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        reached
    }
}

/// The room that a module belongs to; none for a floor itself.
fn room_of(module: &[String]) -> Option<String> {
    let rooms = if WINGS.contains(&module[..module.len().min(2)].join("/").as_str()) { 3 } else { 2 };
    (module.len() >= 2).then(|| module[..module.len().min(rooms)].join("/"))
}

/// True for the `mod.rs` of a floor or a wing.
fn lists_rooms(module: &[String]) -> bool {
    module.len() == 1 || WINGS.contains(&module.join("/").as_str())
}

/// What the floors' `mod.rs` pass on: (floor, name) to where it is defined.
fn passed_on(files: &[(Vec<String>, String)]) -> BTreeMap<Vec<String>, Vec<String>> {
    let mut found = BTreeMap::new();
    for (module, code) in files.iter().filter(|(module, _)| module.len() == 1) {
        for statement in code.split(';').map(str::trim).filter(|statement| statement.starts_with("pub")) {
            let Some((_, tree)) = statement.split_once("use ") else { continue };
            for path in expand(tree) {
                let name = path.last().unwrap().clone();
                let mut target = module.clone();
                target.extend(path);
                found.insert(vec![module[0].clone(), name], target);
            }
        }
    }
    found
}

/// Every path of the code that begins with `crate::` or `super::`, from the crate's root on; but for those that say who may see something.
fn paths(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::").filter(|(at, _)| !code[..*at].ends_with("pub(in ")) {
        found.extend(expand(&code[at + "crate::".len()..]));
    }
    for (at, _) in code.match_indices("super::").filter(|(at, _)| !code[..*at].ends_with("super::")) {
        let (mut rest, mut base) = (&code[at..], module);
        while let Some(inner) = rest.strip_prefix("super::") {
            (rest, base) = (inner, &base[..base.len() - 1]);
        }
        found.extend(expand(rest).into_iter().map(|path| [base, &path].concat()));
    }
    found
}

/// The paths of a tree like `a::{b::C, d}`, as far as it goes.
fn expand(tree: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    expand_into(tree, &mut Vec::new(), &mut found);
    found
}

/// Adds the paths of one tree; what is left of the text behind it.
fn expand_into<'a>(tree: &'a str, before: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let tree = tree.trim_start();
    if let Some(mut rest) = tree.strip_prefix('{') {
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if rest.is_empty() || rest.starts_with('}') {
                return rest.strip_prefix('}').unwrap_or(rest);
            }
            rest = expand_into(rest, before, found);
        }
    }
    let end = tree.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '#').unwrap_or(tree.len());
    if end == 0 {
        found.push(before.clone());
        let mut rest = tree.chars();
        rest.next();
        return rest.as_str();
    }
    before.push(tree[..end].trim_start_matches("r#").to_string());
    let rest = match tree[end..].strip_prefix("::") {
        Some(inner) => expand_into(inner, before, found),
        None => {
            found.push(before.clone());
            &tree[end..]
        }
    };
    before.pop();
    rest
}

/// The file without its test module and comments.
pub fn code_of(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let tests = ["\n#[cfg(test)]\nmod ", "\n#[cfg(test)]\n#[path"].iter().find_map(|begin| text.find(begin));
    let code = &text[..tests.unwrap_or(text.len())];
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn module_of(path: &Path) -> Vec<String> {
    let mut parts: Vec<String> =
        path.with_extension("").iter().map(|part| part.to_str().unwrap().to_string()).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

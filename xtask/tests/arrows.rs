//! The arrows of docs/map.md against the code, in both directions: an arrow that is not declared fails, and so does a
//! declared one that is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Arrows = BTreeMap<String, BTreeSet<String>>;

#[test]
fn crates_depend_on_each_other_as_the_map_says() {
    let mut found = Arrows::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let directory = entry.unwrap().path();
        let manifest = fs::read_to_string(directory.join("Cargo.toml")).unwrap();
        let name = directory.file_name().unwrap().to_str().unwrap().to_string();
        found.insert(name, dependencies(&manifest));
    }
    let rooms: BTreeSet<String> = found.keys().cloned().collect();
    for arrows in found.values_mut() {
        arrows.retain(|target| rooms.contains(target));
    }
    compare("arrows-crates", found);
}

#[test]
fn engine_modules_use_each_other_as_the_map_says() {
    let source = root().join("crates/engine/src");
    let mut found = Arrows::new();
    for file in rust_files(&source) {
        let path = file.strip_prefix(&source).unwrap();
        let module = module_of(path);
        if module == "lib" || path.to_str().unwrap().ends_with("tests.rs") {
            continue;
        }
        let arrows = found.entry(module.clone()).or_default();
        arrows.extend(named_modules(&code_of(&file)).into_iter().filter(|target| *target != module));
    }
    let rooms: BTreeSet<String> = found.keys().cloned().collect();
    for arrows in found.values_mut() {
        arrows.retain(|target| rooms.contains(target));
    }
    compare("arrows-engine", found);
}

/// Names of the sections and keys that make a dependency: `[dependencies]` tables only.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside =
                line == "[dependencies]" || line.starts_with("[target.") && line.ends_with(".dependencies]");
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            let name = line.split(['.', '=', ' ']).next().unwrap();
            names.insert(name.to_string());
        }
    }
    names
}

/// The first component of a file below src, without its ending.
fn module_of(path: &Path) -> String {
    let first = path.iter().next().unwrap().to_str().unwrap();
    first.trim_end_matches(".rs").to_string()
}

/// The file without its test module and comments.
fn code_of(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Every `m` of a `crate::m` in the text, also inside `crate::{a::…, b::…}`.
fn named_modules(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut item = String::new();
            for c in list.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => names.extend(identifier(&std::mem::take(&mut item))),
                    _ => {}
                }
                if c != ',' || depth > 0 {
                    item.push(c);
                }
            }
            names.extend(identifier(&item));
        } else {
            names.extend(identifier(rest));
        }
    }
    names
}

fn identifier(text: &str) -> Option<String> {
    let name: String = text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

fn compare(block: &str, found: Arrows) {
    let map = fs::read_to_string(root().join("docs/map.md")).unwrap();
    let start = format!("```{block}\n");
    let list = map.split(&start).nth(1).unwrap_or_else(|| panic!("docs/map.md has no block {block}"));
    let declared: Arrows = list
        .split("```")
        .next()
        .unwrap()
        .lines()
        .map(|line| {
            let (from, to) =
                line.split_once("->").unwrap_or_else(|| panic!("docs/map.md: no arrow in: {line}"));
            let to = to.split(',').map(|name| name.trim().to_string()).filter(|name| !name.is_empty());
            (from.trim().to_string(), to.collect())
        })
        .collect();
    if declared != found {
        let lines: Vec<String> = found
            .iter()
            .map(|(from, to)| format!("{from} -> {}", to.iter().cloned().collect::<Vec<_>>().join(", ")))
            .map(|line| line.trim_end().to_string())
            .collect();
        let undeclared = |a: &Arrows, b: &Arrows| -> Vec<String> {
            a.iter()
                .flat_map(|(from, to)| {
                    to.iter()
                        .filter(|target| !b.get(from).is_some_and(|known| known.contains(*target)))
                        .map(move |target| format!("{from} -> {target}"))
                })
                .collect()
        };
        panic!(
            "the arrows of docs/map.md ({block}) differ from the code\n  in the code, not in the map: {:?}\n  in the map, not in \
             the code: {:?}\n  rooms in the code: {:?}\nthe block as the code has it:\n{}",
            undeclared(&found, &declared),
            undeclared(&declared, &found),
            found.keys().collect::<Vec<_>>(),
            lines.join("\n"),
        );
    }
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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

//! The arrows of the house. Between crates: those of docs/map.md against the code, in both directions. Inside the engine: none points to a
//! floor above, and none closes a circle.

#[path = "arrows/rooms.rs"]
mod rooms;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rooms::{Rooms, code_of, root};

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

/// The engine's floors, lowest first: a room may name rooms of its own floor and of those below.
const ENGINE_FLOORS: [&str; 6] = ["values", "schedule", "coll", "progress", "lane", "rank"];

#[test]
fn no_arrow_of_the_engine_points_up() {
    let rooms = Rooms::of("crates/engine/src");
    let floor = |room: &str| {
        let first = room.split('/').next().unwrap();
        ENGINE_FLOORS
            .iter()
            .position(|name| *name == first)
            .unwrap_or_else(|| panic!("{room} is on no floor"))
    };
    for (from, to) in rooms.arrows() {
        assert!(floor(to) <= floor(from), "{from} names {to}, which is on a floor above it");
    }
}

#[test]
fn no_circle_of_the_engines_rooms() {
    let rooms = Rooms::of("crates/engine/src");
    let circles = rooms.circles();
    assert!(circles.is_empty(), "rooms that name each other: {circles:?}");
}

#[test]
fn the_engines_floors_only_list_their_rooms() {
    for floor in ENGINE_FLOORS {
        let code = code_of(&root().join("crates/engine/src").join(floor).join("mod.rs"));
        for word in ["fn", "struct", "enum", "impl", "const", "trait"] {
            let defines = code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word);
            assert!(!defines, "{floor}/mod.rs has a `{word}`, expected nothing but `mod` and `use`");
        }
    }
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

//! The arrows of the house. Between crates: those of docs/map.md against the code, in both directions. Inside the engine and the C
//! interface: none points to a floor above, and none closes a circle.

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

/// A crate whose folders are floors, lowest first: a room may name rooms of its own floor and of those below.
struct House {
    source: &'static str,
    /// The heading of its table in docs/map.md.
    heading: &'static str,
    floors: &'static [&'static str],
}

const ENGINE: House = House {
    source: "crates/engine/src",
    heading: "## The engine's floors",
    floors: &["values", "schedule", "coll", "progress", "lane", "rank"],
};

const CAPI: House = House {
    source: "crates/capi/src",
    heading: "## The C interface's floors",
    floors: &["abi", "errors", "handles", "process", "check", "call", "convert", "imp", "entries"],
};

impl House {
    fn no_arrow_points_up(&self) {
        let floor = |room: &str| {
            let first = room.split('/').next().unwrap();
            let found = self.floors.iter().position(|name| *name == first);
            found.unwrap_or_else(|| panic!("{room} is on no floor"))
        };
        let rooms = Rooms::of(self.source);
        let up: Vec<String> = rooms
            .arrows()
            .filter(|(from, to)| floor(to) > floor(from))
            .map(|(from, to)| format!("{from} names {to}"))
            .collect();
        assert!(up.is_empty(), "{}: arrows to a floor above: {}", self.source, up.join(", "));
    }

    fn no_circle(&self) {
        let rooms = Rooms::of(self.source);
        let circles = rooms.circles();
        assert!(circles.is_empty(), "{}: rooms that name each other: {circles:?}", self.source);
        let vague: Vec<_> = rooms.arrows().filter(|(from, to)| from.split('/').next() == Some(*to)).collect();
        assert!(vague.is_empty(), "{}: rooms that name all of their own floor: {vague:?}", self.source);
    }

    fn floors_only_list_their_rooms(&self) {
        let source = root().join(self.source);
        let mut found: Vec<String> = fs::read_dir(&source)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "lib.rs")
            .collect();
        found.sort();
        let mut floors = self.floors.to_vec();
        floors.sort_unstable();
        assert_eq!(found, floors, "{} has something beside lib.rs and its floors", self.source);
        for floor in self.floors {
            let code = code_of(&source.join(floor).join("mod.rs"));
            for word in ["fn", "struct", "enum", "impl", "const", "trait", "static", "macro_rules"] {
                let defines =
                    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word);
                assert!(!defines, "{floor}/mod.rs has a `{word}`, expected nothing but `mod` and `use`");
            }
        }
    }
}

#[test]
fn no_arrow_of_the_engine_points_up() {
    ENGINE.no_arrow_points_up();
}

#[test]
fn no_circle_of_the_engines_rooms() {
    ENGINE.no_circle();
}

#[test]
fn the_engines_floors_only_list_their_rooms() {
    ENGINE.floors_only_list_their_rooms();
}

#[test]
fn no_arrow_of_the_c_interface_points_up() {
    CAPI.no_arrow_points_up();
}

#[test]
fn no_circle_of_the_c_interfaces_rooms() {
    CAPI.no_circle();
}

#[test]
fn the_c_interfaces_floors_only_list_their_rooms() {
    CAPI.floors_only_list_their_rooms();
}

#[test]
fn the_map_lists_the_floors_in_their_order() {
    let map = fs::read_to_string(root().join("docs/map.md")).unwrap();
    for house in [ENGINE, CAPI] {
        let after = map.split(&format!("{}\n", house.heading)).nth(1);
        let section = after.unwrap_or_else(|| panic!("docs/map.md has no heading `{}`", house.heading));
        let rows = section.split("\n## ").next().unwrap().lines().filter_map(|line| line.strip_prefix("| `"));
        let listed: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        assert_eq!(listed, house.floors, "docs/map.md, {}", house.heading);
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

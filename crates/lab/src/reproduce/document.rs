//! Holds docs/reproduction.md to what the program prints: the same figures, kinds and published values, sums that are those of its rows, and a
//! sentence for every miss.

use std::path::Path;

use super::grounds::Kind;
use super::{Machines, table};

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// The printed table of the document.
fn printed(document: &str) -> &str {
    let start = document.find("```text\n").unwrap() + "```text\n".len();
    &document[start..start + document[start..].find("```").unwrap()]
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_table_of_the_document_is_that_of_the_program() {
    let document = read("docs/reproduction.md");
    let table = printed(&document);
    let chip = sim::Chip::builtin("mppa256-andey").unwrap();
    let system = sim::Chip::builtin("earth-simulator").unwrap();
    let cards = sim::Chip::builtin("xeonphi-ib8").unwrap();
    let nanvix = sim::Chip::builtin("mppa256-nanvix").unwrap();
    let stencils = sim::Chip::builtin("mppa256-bostan-400").unwrap();
    let neighbours = super::neighbours::machines("mppa256-andey").unwrap();
    let machines = Machines::new(&chip, &nanvix, &system, &cards, &stencils, &neighbours);
    let mut sums = Kind::COUNTED.map(|kind| (kind, 0, 0));
    for figure in super::figures() {
        let kind = machines.of(&figure).of(&figure).kind;
        let row = format!(
            "{} {} {} {} {} ",
            figure.id,
            figure.what,
            kind.word(),
            figure.unit,
            figure.published.text()
        );
        let row = words(&row) + " ";
        let line = table.lines().map(words).find(|line| line.starts_with(&row));
        let line = line.unwrap_or_else(|| panic!("docs/reproduction.md has no row that begins with: {row}"));
        if let Some((_, agree, all)) = sums.iter_mut().find(|(counted, ..)| *counted == kind) {
            *agree += usize::from(line.ends_with("pass"));
            *all += 1;
        }
        if line.ends_with("MISS") {
            let misses = &document[document.find("## The misses").unwrap()..];
            assert!(
                misses.contains(&format!("`{}`", figure.id)),
                "no sentence says why {} misses",
                figure.id
            );
        }
    }
    let sums = sums.map(|(kind, agree, all)| format!("{}: {agree} of {all}", kind.word())).join("; ");
    assert!(table.ends_with(&format!("agree: {sums}\n")), "the rows of the document give: {sums}");
    assert!(read("README.md").contains(&format!("agree: {sums}\n")), "README.md has other sums than {sums}");
    let free = table::numbers(machines.free_numbers(&super::figures()));
    assert!(table.contains(&free), "docs/reproduction.md does not say: {free}");
}

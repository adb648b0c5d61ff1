//! The floor plan: routers, what is attached to each, and the links between them.

use std::fmt::Write as _;

use sim::chip::Shape;
use sim::{Chip, Node, Position};

/// The network as a picture where it is a grid, in words otherwise.
pub(super) fn text(chip: &Chip) -> String {
    let places = chip.places();
    match chip.network.shape {
        Shape::Mesh | Shape::Torus => grid(chip),
        Shape::Crossbar => format!("  a crossbar with {places} ports, one a place\n"),
        Shape::FatTree { arity } => format!(
            "  a fat tree of {} levels of {} switches, each with {arity} links down and {arity} up; {places} places\n",
            chip.network.rows, chip.network.columns
        ),
        Shape::Graph => links(chip),
    }
}

/// The links of a graph, one a line; those of both directions come in pairs.
fn links(chip: &Chip) -> String {
    let mut text = String::new();
    for link in chip.links.iter().step_by(2) {
        let end = |router| Node::Router(Position { x: router, y: 0 }).describe(chip);
        _ = writeln!(text, "  {} -- {}", end(link.from), end(link.to));
    }
    text
}

/// Draws the grid. A router with a cluster is `[number]`, one without is `+`; letters beside it are ports of I/O subsystems.
fn grid(chip: &Chip) -> String {
    let letters = letters(chip);
    let digits = (chip.clusters().max(1) - 1).to_string().len();
    let columns = 0..chip.network.columns;
    let rows = 0..chip.network.rows;
    let marks = |x, y| marks(chip, &letters, Position { x, y });
    let widest = rows.clone().flat_map(|y| columns.clone().map(move |x| (x, y)));
    let marks_width = widest.map(|(x, y)| marks(x, y).len()).max().unwrap_or(0);
    let wraps = chip.network.shape == Shape::Torus;
    let edge = if wraps { "- " } else { "  " };

    let mut text = String::new();
    // The upright links stand below the middle of each box.
    let upright = |text: &mut String| {
        text.push_str("    ");
        for _ in columns.clone() {
            let column = format!("{:>middle$}", "|", middle = digits / 2 + 2);
            _ = write!(text, "{column:<width$}    ", width = digits + 2 + marks_width);
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    };
    if wraps {
        upright(&mut text);
    }
    for y in rows {
        let cells: Vec<String> = columns
            .clone()
            .map(|x| format!("{}{:<marks_width$}", cell(chip, Position { x, y }, digits), marks(x, y)))
            .collect();
        let line = format!("  {edge}{} {edge}", cells.join(" -- "));
        _ = writeln!(text, "{}", line.trim_end());
        if wraps || y + 1 < chip.network.rows {
            upright(&mut text);
        }
    }
    text.push('\n');
    if wraps {
        text.push_str("  rows and columns are closed to rings\n");
    }
    for (io, letter) in chip.io.iter().zip(letters) {
        let ddr = if io.ddr.is_some() { ", with DDR" } else { "" };
        _ = writeln!(text, "  {letter}  io {}{ddr}", io.name);
    }
    text
}

fn cell(chip: &Chip, position: Position, digits: usize) -> String {
    match chip.positions.iter().position(|taken| *taken == position) {
        Some(cluster) => format!("[{cluster:>digits$}]"),
        None => format!("{:^width$}", "+", width = digits + 2),
    }
}

fn marks(chip: &Chip, letters: &[char], position: Position) -> String {
    let here = |index: &usize| chip.ports(chip.io_place(*index as u16)).contains(&position);
    (0..letters.len()).filter(here).map(|index| letters[index]).collect()
}

/// A letter for each I/O subsystem: the first of its name, or the next of the alphabet that is free.
fn letters(chip: &Chip) -> Vec<char> {
    let mut letters: Vec<char> = Vec::new();
    for io in &chip.io {
        let own = io.name.chars().next().into_iter().flat_map(char::to_uppercase);
        let free = own.chain('A'..='Z').find(|letter| !letters.contains(letter));
        letters.push(free.unwrap_or('*'));
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mesh_ends_at_its_edges() {
        let expected = "    [ 0]N -- [ 1]  -- [ 2]  -- [ 3]
      |        |        |        |
    [ 4]  -- [ 5]  -- [ 6]  -- [ 7]
      |        |        |        |
    [ 8]  -- [ 9]  -- [10]  -- [11]
      |        |        |        |
    [12]  -- [13]  -- [14]  -- [15]

  N  io north, with DDR
";
        assert_eq!(text(&Chip::builtin("mesh16").unwrap()), expected);
    }

    #[test]
    fn a_torus_goes_on_behind_its_edges_and_ports_have_the_letters_of_their_subsystems() {
        let text = text(&Chip::builtin("mppa256-andey").unwrap());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "      |         |         |         |");
        assert_eq!(lines[1], "  - [ 0]NW -- [ 1]N  -- [ 2]N  -- [ 3]NE -");
        assert_eq!(lines[8], "      |         |         |         |");
        assert!(text.contains("closed to rings"));
    }

    #[test]
    fn a_router_without_a_cluster_is_a_crossing() {
        let mut chip = Chip::builtin("mesh16").unwrap();
        chip.positions.pop();
        assert!(text(&chip).contains("[14]  --  +"), "{}", text(&chip));
    }

    #[test]
    fn two_subsystems_with_one_initial_get_two_letters() {
        let mut chip = Chip::builtin("mesh16").unwrap();
        chip.io.push(chip.io[0].clone());
        assert_eq!(letters(&chip), ['N', 'A']);
    }
}

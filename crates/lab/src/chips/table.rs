//! The list of chips: one a line.

use sim::Chip;

use super::{bytes, clock, network};

const HEADER: [&str; 7] = ["name", "clusters", "ranks", "memory", "clock", "network", "description"];

pub(super) fn text(chips: &[Chip]) -> String {
    let rows: Vec<[String; 7]> =
        std::iter::once(HEADER.map(String::from)).chain(chips.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADER.len()).map(width).collect();
    let line = |row: &[String; 7]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    let hint =
        "\n`corelace chips show NAME` prints a chip with all its numbers, and where each comes from.\n";
    rows.iter().map(line).chain([hint.to_string()]).collect()
}

fn row(chip: &Chip) -> [String; 7] {
    [
        chip.name.clone(),
        format!("{} + {} I/O", chip.clusters(), chip.io.len()),
        chip.ranks_max().to_string(),
        format!("{} x {}", chip.clusters(), bytes(chip.cluster.scratchpad)),
        clock(chip),
        network(chip),
        chip.description.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chip_has_a_line_with_its_figures() {
        let text = text(&[Chip::builtin("mppa256-andey").unwrap(), Chip::builtin("epiphany-iv").unwrap()]);
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split("  ").map(str::trim).collect()).collect();
        let cells = |line: usize| -> Vec<&str> {
            lines[line].iter().copied().filter(|cell| !cell.is_empty()).take(6).collect()
        };
        assert_eq!(cells(1), ["mppa256-andey", "16 + 4 I/O", "192", "16 x 2 MiB", "400 MHz", "4 x 4 torus"]);
        assert_eq!(cells(2), ["epiphany-iv", "64 + 1 I/O", "64", "64 x 32 KiB", "800 MHz", "8 x 8 mesh"]);
    }
}

//! Where it was crowded: the links that were busiest, for people.

use std::fmt::Write as _;

use crate::link::LinkUse;
use crate::{CYCLE, Chip, Machine};

/// A table of the `count` links that were occupied longest, busiest first. Links that carried nothing are left out.
pub fn busiest_links(chip: &Chip, machine: &Machine, count: usize) -> String {
    let mut links: Vec<&LinkUse> = machine.links().iter().filter(|link| link.packets > 0).collect();
    // Stable, so that equally busy links stay in the order of the chip.
    links.sort_by_key(|link| std::cmp::Reverse(link.busy));
    links.truncate(count);
    let names: Vec<String> = links.iter().map(|link| name(chip, link)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0).max("link".len());
    let mut text = String::new();
    _ = writeln!(text, "{:<width$}  plane    {:>10}  {:>7}  mean wait", "link", "flits", "busy");
    for (link, name) in links.iter().zip(names) {
        let plane = if link.control { "control" } else { "data" };
        let busy = link.busy as f64 * 100.0 / machine.now().max(1) as f64;
        let wait = link.waited as f64 / link.packets as f64 / CYCLE as f64;
        _ = writeln!(text, "{name:<width$}  {plane:<7}  {:>10}  {busy:>5.1} %  {wait:.1} cycles", link.flits);
    }
    text
}

fn name(chip: &Chip, link: &LinkUse) -> String {
    format!("{} -> {}", link.from.describe(chip), link.to.describe(chip))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Memory, Mover, Place, Transfer};

    #[test]
    fn the_busiest_links_come_first_and_idle_ones_not_at_all() {
        let chip = Chip::builtin("mesh16").unwrap();
        let mut machine = Machine::new(&chip);
        for (from, to, bytes) in [(0, 2, 400), (1, 3, 800), (16, 0, 400)] {
            let (from, to) = (Place(from), Place(to));
            let (from_memory, to_memory) = (Memory::Scratchpad, Memory::Scratchpad);
            let mover = Mover::Dma;
            machine
                .transfer(0, Transfer { from, to, bytes, rows: 1, mover, from_memory, to_memory, token: 0 });
        }
        while machine.step().is_some() {}
        let text = busiest_links(&chip, &machine, 100);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("router (1, 0) -> router (2, 0)  data            300"), "{text}");
        assert_eq!(lines.iter().filter(|line| line.contains("io north")).count(), 1, "{text}");
        // Ways of four, four and two links and interfaces, one link in common.
        assert_eq!(lines.len(), 1 + 4 + 4 + 2 - 1, "{text}");
        assert_eq!(busiest_links(&chip, &machine, 2).lines().count(), 3);
    }
}

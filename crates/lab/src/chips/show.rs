//! One chip with all its numbers: what, how much, and who says so.

use std::fmt::Write as _;

use sim::Chip;
use sim::chip::Fact;

use super::{bytes, clock, network, plan};

pub(super) fn text(chip: &Chip) -> String {
    let mut text = format!("{}: {}\n\n", chip.name, chip.description);
    _ = writeln!(
        text,
        "  {} clusters of {} + {} cores, {} each ({} usable), {} I/O subsystem{}",
        chip.clusters(),
        chip.cluster.cores,
        chip.cluster.system_cores,
        bytes(chip.cluster.scratchpad),
        bytes(chip.cluster.usable),
        chip.io.len(),
        if chip.io.len() == 1 { "" } else { "s" },
    );
    _ = writeln!(text, "  {} at {}, at most {} ranks", network(chip), clock(chip), chip.ranks_max());
    for kind in &chip.kinds {
        let cores = if kind.cores > 0 { format!(" of {} cores", kind.cores) } else { String::new() };
        _ = writeln!(text, "  {} places of the kind {}{cores}", kind.ports.len(), kind.name);
    }
    let sets: Vec<&str> = chip.ipc.iter().map(|(name, _)| name.as_str()).collect();
    _ = writeln!(text, "  communication software: {} (default {})\n", sets.join(", "), chip.default_ipc);
    text += &plan::text(chip);
    text += &facts(&chip.facts);
    if !chip.sources.is_empty() {
        text += "\nsources\n";
    }
    for (name, title) in &chip.sources {
        _ = writeln!(text, "  {name}: {title}");
    }
    text
}

/// The numbers by section, in the order of the file.
fn facts(facts: &[Fact]) -> String {
    let mut text = String::new();
    let key_width = facts.iter().map(|fact| split(fact).1.len()).max().unwrap_or(0);
    let value_width = facts.iter().map(|fact| value(fact).len()).max().unwrap_or(0);
    let mut current = "";
    for fact in facts {
        let (section, key) = split(fact);
        if section != current {
            _ = writeln!(text, "\n{section}");
            current = section;
        }
        _ = writeln!(text, "  {key:<key_width$}  {:<value_width$}  {}", value(fact), fact.provenance);
    }
    text
}

fn split(fact: &Fact) -> (&str, &str) {
    fact.path.rsplit_once('.').unwrap_or(("", &fact.path))
}

/// The value with its unit. Lists of positions are drawn in the floor plan; here they are counted.
fn value(fact: &Fact) -> String {
    if fact.value.starts_with('[') {
        let positions = fact.value.matches('[').count() - 1;
        return format!("{positions} position{}", if positions == 1 { "" } else { "s" });
    }
    format!("{} {}", fact.value, fact.unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_shown_with_unit_and_provenance() {
        let chip = Chip::builtin("mppa256-andey").unwrap();
        let text = text(&chip);
        let line = |key: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(key));
            line.unwrap_or_else(|| panic!("no {key} in {text}"))
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(line("frequency"), "frequency 400 MHz MPPA-MPI");
        assert_eq!(
            line("receive"),
            "receive 0.27 cycles/byte calibrated: K = 0.27 cycles a byte, CC0 -> CC15 by DMA (a.cc0-cc15.dma.K, a.cc15-cc0.dma.K)"
        );
        assert!(line("positions").starts_with("positions 16 positions a 4 x 4 grid"));
        for fact in &chip.facts {
            assert!(text.contains(&value(fact)) && text.contains(&fact.provenance.to_string()), "{fact:?}");
        }
    }

    #[test]
    fn short_names_of_sources_are_explained() {
        let text = text(&Chip::builtin("mppa256-bostan").unwrap());
        assert!(text.contains("\nsources\n  MPPA-MPI: M. Q. Ho et al., "), "{text}");
    }
}

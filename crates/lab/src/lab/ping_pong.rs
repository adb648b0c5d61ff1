//! The ping-pong between two places of a chip.

use super::trial::{Line, Run, Trial};

/// A ping-pong between two ranks that are alone on their clusters, or the I/O rank (`io`). Both send in the way that the
/// protocol is about: by DMA without blocking, otherwise blocking.
pub fn trial(
    chip: &str,
    (from, to): (&str, &str),
    protocol: &'static str,
    sizes: &str,
    repeat: u32,
) -> Result<Trial, String> {
    let description = sim::Chip::find(chip).map_err(|error| error.to_string())?;
    let megahertz = description.ticks_per_second() / (sim::CYCLE * 1_000_000);
    let clusters = description.clusters();
    let (begin, end) = (place(from, clusters)?, place(to, clusters)?);
    if begin == end {
        return Err(format!("both ends are {from}, expected two places"));
    }
    // One trial serves both directions.
    let (first, second) = if begin < end { (from, to) } else { (to, from) };
    let words = [
        ("--from", first.to_owned()),
        ("--to", second.to_owned()),
        ("--sizes", sizes.to_owned()),
        ("--repeat", repeat.to_string()),
        ("--send", if protocol == "dma" { "isend" } else { "send" }.to_owned()),
        ("--mhz", megahertz.to_string()),
    ];
    Ok(Trial {
        app: "pingpong",
        chip: chip.to_owned(),
        ranks: clusters.into(),
        map: "scatter",
        protocol,
        io: first == "io" || second == "io",
        flags: &[],
        settings: &[],
        arguments: words.into_iter().flat_map(|(key, value)| [key.to_owned(), value]).collect(),
    })
}

/// The lines of the messages that `from` sent.
pub fn direction(run: &Run, from: &str) -> Vec<Line> {
    run.lines.iter().filter(|line| line.text("from") == Ok(from)).cloned().collect()
}

/// The number of a cluster; the I/O rank comes after all of them.
fn place(name: &str, clusters: u16) -> Result<u16, String> {
    if name == "io" {
        return Ok(clusters);
    }
    let number = name.parse().ok().filter(|number| *number < clusters);
    number.ok_or_else(|| format!("an end is \"{name}\", expected a cluster, 0 to {}, or io", clusters - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trial_serves_both_directions() {
        let trial = |from, to| trial("mesh16", (from, to), "pe", "1,2", 3).unwrap();
        assert_eq!(trial("3", "0"), trial("0", "3"));
        assert_eq!(trial("io", "0").arguments[..4], ["--from", "0", "--to", "io"]);
        assert!(trial("io", "0").io && !trial("0", "3").io);
    }

    #[test]
    fn ends_that_the_chip_does_not_have_are_refused() {
        let refusal = |from, to| trial("mesh16", (from, to), "pe", "1,2", 3).unwrap_err();
        assert_eq!(refusal("0", "16"), "an end is \"16\", expected a cluster, 0 to 15, or io");
        assert_eq!(refusal("x", "1"), "an end is \"x\", expected a cluster, 0 to 15, or io");
        assert_eq!(refusal("2", "2"), "both ends are 2, expected two places");
    }
}

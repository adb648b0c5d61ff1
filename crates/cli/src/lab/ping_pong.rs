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
    // One trial serves both directions.
    let (first, second) = if place(from)? <= place(to)? { (from, to) } else { (to, from) };
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
        ranks: description.clusters().into(),
        map: "scatter",
        protocol,
        io: first == "io" || second == "io",
        settings: &[],
        arguments: words.into_iter().flat_map(|(key, value)| [key.to_owned(), value]).collect(),
    })
}

/// The lines of the messages that `from` sent.
pub fn direction(run: &Run, from: &str) -> Vec<Line> {
    run.lines.iter().filter(|line| line.text("from") == Ok(from)).cloned().collect()
}

/// The number of a cluster; the I/O rank comes after all of them.
fn place(name: &str) -> Result<u32, String> {
    match name {
        "io" => Ok(u32::MAX),
        number => {
            number.parse().map_err(|_| format!("place is \"{name}\", expected the number of a cluster or io"))
        }
    }
}

//! `corelace chips`: which chips can be simulated, and what each is made of.

mod load;
mod plan;
mod show;
mod table;

use clap::{Args, Subcommand};
use sim::chip::{Network, Shape};
use sim::{BUILTIN, Chip};

/// What `corelace chips` takes.
#[derive(Args)]
pub struct ChipsArgs {
    #[command(subcommand)]
    command: Option<ChipsCommand>,
}

#[derive(Subcommand)]
enum ChipsCommand {
    /// Print everything that is known of a chip: floor plan, and every number with its unit and where it comes from
    Show {
        /// A name from the list, or a file of your own
        #[arg(value_name = "NAME|FILE.toml")]
        chip: String,
    },
    /// Measure how a chip's network bears a load, with routers that are never full and with finite buffers
    Load(load::LoadArgs),
}

/// Prints the list, or one chip.
pub fn main(arguments: &ChipsArgs) -> Result<u8, String> {
    let text = match &arguments.command {
        Some(ChipsCommand::Load(arguments)) => return load::main(arguments),
        Some(ChipsCommand::Show { chip }) => {
            show::text(&Chip::find(chip).map_err(|error| error.to_string())?)
        }
        None => {
            let chips: Vec<Chip> = BUILTIN.iter().filter_map(|(name, _)| Chip::builtin(name)).collect();
            table::text(&chips)
        }
    };
    cli::say(&text)?;
    Ok(0)
}

/// Bytes in the largest unit that says them with at most two decimals.
fn bytes(count: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let exact = units.iter().find(|(size, _)| count >= *size && (count * 100).is_multiple_of(*size));
    match exact {
        Some((size, unit)) => format!("{} {unit}", count as f64 / *size as f64),
        None => format!("{count} bytes"),
    }
}

/// The network's size and shape.
fn network(chip: &Chip) -> String {
    let Network { shape, columns, rows, .. } = chip.network;
    match shape {
        Shape::Mesh => format!("{columns} x {rows} mesh"),
        Shape::Torus => format!("{columns} x {rows} torus"),
        Shape::Crossbar => "crossbar".to_owned(),
        Shape::FatTree { .. } => format!("fat tree of {rows} levels"),
        Shape::Graph => format!("graph of {} links", chip.links.len() / 2),
    }
}

/// The reference clock.
fn clock(chip: &Chip) -> String {
    format!("{} MHz", chip.clock_hz as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_are_said_in_the_largest_unit_that_is_exact() {
        assert_eq!(super::bytes(2 << 20), "2 MiB");
        assert_eq!(super::bytes(3 << 19), "1.5 MiB");
        assert_eq!(super::bytes(32 << 10), "32 KiB");
        assert_eq!(super::bytes(1001), "1001 bytes");
    }
}

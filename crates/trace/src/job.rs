//! What a trace says about its job besides events: the JSON block of the merged file. Fields that a later version adds
//! are ignored, fields that are missing take their default.

use serde::{Deserialize, Serialize};

/// The job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Job {
    /// Ranks of `MPI_COMM_WORLD`.
    pub ranks: u32,
    /// The command line.
    pub command: String,
    /// How ranks ran: `process`, `thread`, `fiber` or `chip`.
    pub mode: String,
    /// Seconds since 1970 when the job was started.
    pub started: u64,
    /// The clock of all times.
    pub ticks_per_second: u64,
    /// The place of each rank: an index into `Chip::places` on a chip, the number of a group of ranks elsewhere.
    pub places: Vec<u32>,
    /// How the job ended, if not well: "rank 3 was killed by SIGSEGV".
    pub failure: Option<String>,
    /// The chip that was simulated.
    pub chip: Option<Chip>,
}

/// A simulated chip's floor plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chip {
    /// Its name.
    pub name: String,
    /// Clusters and I/O subsystems.
    pub places: Vec<Place>,
    /// Directed links of the data network.
    pub links: Vec<Link>,
    /// Bytes of a flit.
    pub flit_bytes: u32,
    /// Flits that a link moves in a thousand ticks of the clock.
    pub flits_per_kilotick: u32,
}

/// A place of the floor plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// What people call it: `C0`, `IO-N`.
    pub name: String,
    /// What it is.
    pub kind: PlaceKind,
    /// Its column, in units of the distance between neighbours.
    pub x: f32,
    /// Its row.
    pub y: f32,
    /// Bytes of its memory; 0 if without bound.
    pub memory_bytes: u64,
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlaceKind {
    /// Cores with a memory of their own.
    #[default]
    Cluster,
    /// An I/O subsystem, usually with DDR.
    Io,
    /// A router without cores.
    Router,
}

/// A directed link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Link {
    /// Index of the place it leaves.
    pub from: u32,
    /// Index of the place it enters.
    pub to: u32,
}

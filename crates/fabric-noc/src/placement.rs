//! Which rank runs where.

use std::fmt;

use sim::{Chip, Place};

/// In which order the clusters of a chip get ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Map {
    /// A cluster is filled before the next one gets a rank.
    #[default]
    Compact,
    /// Round robin: neighbours in rank are on different clusters.
    Scatter,
}

/// The place of every node: the ranks of the job, and after them the I/O rank if there is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    places: Vec<Place>,
    /// By place: the nodes that are there.
    residents: Vec<Vec<u32>>,
    io: Option<u32>,
}

/// A job that the chip has no room for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlacementError {
    /// More ranks than the clusters take, or none at all.
    Ranks {
        /// How many were asked for.
        ranks: u32,
        /// The chip.
        chip: String,
        /// Its clusters.
        clusters: u16,
        /// Ranks that one of them takes.
        each: u32,
    },
    /// An I/O rank on a chip without I/O subsystems.
    Io {
        /// The chip.
        chip: String,
    },
}

impl Placement {
    /// Places `ranks` ranks, and with `io` an I/O rank on the first I/O subsystem.
    pub fn new(chip: &Chip, ranks: u32, map: Map, io: bool) -> Result<Placement, PlacementError> {
        let homes = chip.homes();
        if !(1..=chip.ranks_max()).contains(&ranks) {
            return Err(PlacementError::Ranks {
                ranks,
                chip: chip.name.clone(),
                clusters: homes.iter().map(|home| home.places).sum(),
                each: homes.iter().map(|home| home.each).min().unwrap_or(0),
            });
        }
        if io && chip.io.is_empty() {
            return Err(PlacementError::Io { chip: chip.name.clone() });
        }
        // Where ranks run on several kinds of places, each kind gets an equal part of them.
        let share = ranks.div_ceil(homes.len() as u32);
        let place = |rank: u32| {
            let (home, rank) = (homes[(rank / share) as usize], rank % share);
            let number = match map {
                Map::Compact => rank / home.each,
                Map::Scatter => rank % u32::from(home.places),
            };
            Place(home.first.0 + number as u16)
        };
        let mut places: Vec<Place> = (0..ranks).map(place).collect();
        places.extend(io.then(|| chip.io_place(0)));
        let mut residents = vec![Vec::new(); usize::from(chip.places())];
        for (node, place) in (0..).zip(&places) {
            residents[usize::from(place.0)].push(node);
        }
        Ok(Placement { places, residents, io: io.then_some(ranks) })
    }

    /// How many nodes there are, the I/O rank included.
    pub fn nodes(&self) -> u32 {
        self.places.len() as u32
    }

    /// The I/O rank, which is the last node.
    pub fn io_rank(&self) -> Option<u32> {
        self.io
    }

    /// The place of a node.
    pub fn place(&self, node: u32) -> Place {
        self.places[node as usize]
    }

    /// The nodes of a place.
    pub fn residents(&self, place: Place) -> &[u32] {
        &self.residents[usize::from(place.0)]
    }
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlacementError::Ranks { ranks, chip, clusters, each } => write!(
                f,
                "{ranks} ranks on the chip {chip}, expected 1 to {} ({clusters} clusters of {each})",
                u32::from(*clusters) * each
            ),
            PlacementError::Io { chip } => {
                write!(f, "an I/O rank on the chip {chip}, which has no I/O subsystem")
            }
        }
    }
}

impl std::error::Error for PlacementError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(map: Map, ranks: u32) -> Vec<u16> {
        let chip = Chip::builtin("mppa256-andey").expect("it ships");
        let placement = Placement::new(&chip, ranks, map, true).expect("it fits");
        (0..placement.nodes()).map(|node| placement.place(node).0).collect()
    }

    #[test]
    fn compact_fills_a_cluster_and_scatter_goes_round() {
        let compact = places(Map::Compact, 14);
        assert_eq!(compact, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 16]);
        let scatter = places(Map::Scatter, 18);
        assert_eq!(scatter[14..], [14, 15, 0, 1, 16]);
    }

    #[test]
    fn a_job_that_does_not_fit_is_told_how_much_would() {
        let chip = Chip::builtin("mppa256-andey").expect("it ships");
        let error = Placement::new(&chip, 193, Map::Compact, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "193 ranks on the chip mppa256-andey, expected 1 to 192 (16 clusters of 12)"
        );
    }
}

//! Who sends to whom: the patterns by which networks are compared (W. J. Dally and B. Towles, Principles and Practices of Interconnection Networks, section 3.2).

use clap::ValueEnum;
use sim::chip::Shape;
use sim::{Chip, Position};

/// A pattern of traffic between the clusters of a chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Traffic {
    /// Every packet to another cluster at random
    Uniform,
    /// From column x, row y to column y, row x of a square grid
    Transpose,
    /// From cluster N to the one as far from the last as N is from the first
    Complement,
    /// Almost half way round the row of a grid
    Tornado,
    /// To the next cluster of the row of a grid
    Neighbour,
    /// All to the cluster in the middle of the list
    HotSpot,
}

/// Numbers at random, the same on every computer (splitmix64: S. Vigna, public domain).
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// One of so many.
    pub fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(count)) >> 64) as u64
    }

    /// More than 0, at most 1.
    pub fn share(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// Where each cluster sends to.
pub struct Pattern {
    clusters: u16,
    /// The only destination of each, `None` if it does not send; empty: any other.
    fixed: Vec<Option<u16>>,
}

impl Pattern {
    /// The pattern on a chip, or why there is none.
    pub fn new(traffic: Traffic, chip: &Chip) -> Result<Pattern, String> {
        let clusters = chip.clusters();
        let refuse = |reason: &str| Err(format!("{} traffic {reason}", name(traffic)));
        if clusters < 2 {
            return refuse("needs two clusters");
        }
        let is_grid = matches!(chip.network.shape, Shape::Mesh | Shape::Torus);
        let (columns, rows) = (chip.network.columns, chip.network.rows);
        let to =
            |position: Position| chip.positions.iter().position(|at| *at == position).map(|at| at as u16);
        let in_row = |distance: u16| {
            let next = |at: &Position| to(Position { x: (at.x + distance) % columns, y: at.y });
            chip.positions.iter().map(next).collect::<Vec<_>>()
        };
        let fixed: Vec<Option<u16>> = match traffic {
            Traffic::Uniform => return Ok(Pattern { clusters, fixed: Vec::new() }),
            Traffic::Complement => (0..clusters).rev().map(Some).collect(),
            Traffic::HotSpot => vec![Some(clusters / 2); clusters.into()],
            _ if !is_grid => return refuse("needs a mesh or a torus"),
            Traffic::Transpose if columns != rows => return refuse("needs as many columns as rows"),
            Traffic::Transpose => chip.positions.iter().map(|at| to(Position { x: at.y, y: at.x })).collect(),
            Traffic::Tornado => in_row(columns.div_ceil(2) - 1),
            Traffic::Neighbour => in_row(1),
        };
        // Nobody sends to itself.
        let fixed: Vec<Option<u16>> =
            (0..).zip(fixed).map(|(from, to)| to.filter(|to| *to != from)).collect();
        if fixed.iter().all(Option::is_none) {
            return refuse("leaves nobody here who sends");
        }
        Ok(Pattern { clusters, fixed })
    }

    /// The clusters that send.
    pub fn senders(&self) -> Vec<u16> {
        let sends = |from: &u16| self.fixed.is_empty() || self.fixed[usize::from(*from)].is_some();
        (0..self.clusters).filter(sends).collect()
    }

    /// Where a sender's next packet goes.
    pub fn draw(&self, from: u16, random: &mut Random) -> u16 {
        match self.fixed.get(usize::from(from)) {
            Some(to) => to.expect("a sender"),
            None => self.other(from, random.below(u64::from(self.clusters) - 1)),
        }
    }

    /// Destinations of a sender that stand for all of its packets: all of them, or if those are very many some.
    pub fn sample(&self, from: u16, most: u64, random: &mut Random) -> Vec<u16> {
        let others = u64::from(self.clusters) - 1;
        match self.fixed.get(usize::from(from)) {
            Some(to) => vec![to.expect("a sender")],
            None if others <= most => (0..others).map(|index| self.other(from, index)).collect(),
            None => (0..most).map(|_| self.draw(from, random)).collect(),
        }
    }

    fn other(&self, from: u16, index: u64) -> u16 {
        index as u16 + u16::from(index >= u64::from(from))
    }
}

/// The pattern as the flag names it.
pub fn name(traffic: Traffic) -> String {
    traffic.to_possible_value().expect("no pattern is hidden").get_name().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(traffic: Traffic, chip: &str) -> Pattern {
        Pattern::new(traffic, &Chip::builtin(chip).unwrap()).unwrap()
    }

    fn to(traffic: Traffic, from: u16) -> Option<u16> {
        pattern(traffic, "mesh16").fixed[usize::from(from)]
    }

    #[test]
    fn fixed_patterns_send_where_their_definitions_say_and_never_to_oneself() {
        assert_eq!(to(Traffic::Transpose, 6), Some(9));
        assert_eq!(to(Traffic::Transpose, 5), None);
        assert_eq!(to(Traffic::Complement, 3), Some(12));
        assert_eq!(to(Traffic::Tornado, 7), Some(4));
        assert_eq!(to(Traffic::Neighbour, 7), Some(4));
        assert_eq!(to(Traffic::HotSpot, 0), Some(8));
        assert_eq!(pattern(Traffic::HotSpot, "mesh16").senders().len(), 15);
        assert_eq!(pattern(Traffic::Transpose, "mesh16").senders().len(), 12);
    }

    #[test]
    fn uniform_traffic_meets_every_other_cluster_about_equally_often() {
        let pattern = pattern(Traffic::Uniform, "mesh16");
        let mut random = Random::new(1);
        let mut met = [0; 16];
        for _ in 0..15_000 {
            met[usize::from(pattern.draw(5, &mut random))] += 1;
        }
        assert_eq!(met[5], 0);
        assert!(met.iter().enumerate().all(|(to, count)| to == 5 || (850..1150).contains(count)), "{met:?}");
        assert_eq!(pattern.sample(5, 100, &mut random).len(), 15);
        assert_eq!(pattern.sample(5, 7, &mut random).len(), 7);
    }

    #[test]
    fn patterns_of_grids_are_refused_elsewhere() {
        let chip = Chip::builtin("earth-simulator").unwrap();
        let error = Pattern::new(Traffic::Transpose, &chip).err().unwrap();
        assert_eq!(error, "transpose traffic needs a mesh or a torus");
    }
}

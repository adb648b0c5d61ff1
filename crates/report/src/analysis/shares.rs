//! Where each rank's time went: computing, moving messages, waiting.

use crate::run::{Rank, State};

/// Ticks of a rank by what it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Its own work.
    pub compute: u64,
    /// In MPI and not waiting.
    pub transfer: u64,
    /// Waiting for others.
    pub wait: u64,
}

impl Shares {
    pub(super) fn of(rank: &Rank) -> Shares {
        let mut shares = Shares::default();
        for segment in &rank.segments {
            *match segment.state {
                State::Compute => &mut shares.compute,
                State::Transfer => &mut shares.transfer,
                State::Wait => &mut shares.wait,
            } += segment.ticks();
        }
        shares
    }

    /// All of the rank's time.
    pub fn total(&self) -> u64 {
        self.compute.saturating_add(self.transfer).saturating_add(self.wait)
    }

    /// The sum over ranks.
    pub fn sum(shares: &[Shares]) -> Shares {
        shares.iter().fold(Shares::default(), |sum, rank| Shares {
            compute: sum.compute.saturating_add(rank.compute),
            transfer: sum.transfer.saturating_add(rank.transfer),
            wait: sum.wait.saturating_add(rank.wait),
        })
    }
}

/// How unequal the ranks' own work was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Imbalance {
    /// The rank that computed longest.
    pub busiest: u32,
    /// Its ticks.
    pub most: u64,
    /// Ticks of a rank on average.
    pub mean: f64,
}

impl Imbalance {
    pub(super) fn of(shares: &[Shares]) -> Option<Imbalance> {
        let (busiest, most) = shares
            .iter()
            .map(|rank| rank.compute)
            .enumerate()
            .max_by_key(|&(rank, ticks)| (ticks, usize::MAX - rank))?;
        let mean = Shares::sum(shares).compute as f64 / shares.len() as f64;
        (most > 0).then_some(Imbalance { busiest: busiest as u32, most, mean })
    }

    /// How many times the mean the busiest rank worked.
    pub fn factor(&self) -> f64 {
        self.most as f64 / self.mean
    }

    /// Ticks that could be saved if the work were spread evenly.
    pub fn avoidable(&self) -> f64 {
        self.most as f64 - self.mean
    }
}

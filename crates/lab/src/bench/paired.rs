//! Where a contestant of ours stands in a line, round by round. Who was measured in the same round ran within the same minute, so what slows the machine down for a while slows both, where the best of all rounds, or the median of
//! them, may come from a quick minute of one and from slow ones of the other.
//!
//! **Invariant:** the samples of a cell are those of the rounds from the first on, since who fails is not run again: the same place in two cells of a run is the same round.

use super::figure::Figure;
use super::run::Run;
use super::statistics;

/// How we stand beside the one of the others who is least behind us, or most ahead.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Paired {
    /// The median of how many times better we are in a round.
    pub ratio: f64,
    /// Rounds in which we are not worse, of so many in which both have a sample.
    pub ahead: usize,
    pub rounds: usize,
}

impl Paired {
    /// In so many words.
    pub fn text(&self) -> String {
        format!("round by round {:.2}, ahead in {} of {}", self.ratio, self.ahead, self.rounds)
    }
}

/// Over all rounds of all runs; `None` where no round has both.
pub fn paired(runs: &[Run], figure: &Figure, ours: &str) -> Option<Paired> {
    let mut peers: Vec<&str> = runs.iter().flat_map(Run::peers).collect();
    peers.sort_unstable();
    peers.dedup();
    let each = peers.iter().filter_map(|peer| beside(runs, figure, ours, peer));
    each.min_by(|a, b| a.ratio.total_cmp(&b.ratio))
}

fn beside(runs: &[Run], figure: &Figure, ours: &str, peer: &str) -> Option<Paired> {
    let mut ratios = Vec::new();
    for figure in runs.iter().filter_map(|run| run.same(figure)) {
        let (Some(mine), Some(theirs)) = (figure.cell(ours), figure.cell(peer)) else { continue };
        let rounds = mine.samples.iter().zip(&theirs.samples);
        ratios.extend(rounds.map(|(mine, theirs)| figure.advantage(*mine, *theirs)));
    }
    // Shares that are nothing on both sides.
    ratios.retain(|ratio| !ratio.is_nan());
    let ratio = statistics::interval(&ratios)?.median;
    let ahead = ratios.iter().filter(|ratio| **ratio >= 1.0).count();
    Some(Paired { ratio, ahead, rounds: ratios.len() })
}

#[cfg(test)]
mod tests {
    use super::super::figure::tests::figure;
    use super::super::run::tests::run;
    use super::*;

    const OURS: &str = "corelace process";

    fn line(ours: &[f64], openmpi: &[f64], mpich: &[f64]) -> Figure {
        figure("latency", 8, 2, &[(OURS, ours), ("openmpi", openmpi), ("mpich", mpich)])
    }

    #[test]
    fn a_machine_that_is_slow_for_a_round_changes_no_ratio() {
        let figure = line(&[1.0, 4.0, 1.1], &[2.0, 8.0, 2.2], &[3.0, 9.0, 3.3]);
        let found = paired(&[run(vec![figure.clone()])], &figure, OURS);
        assert_eq!(found, Some(Paired { ratio: 2.0, ahead: 3, rounds: 3 }));
    }

    #[test]
    fn rounds_of_all_runs_count_and_the_other_who_is_most_ahead() {
        let first = line(&[1.0, 1.0], &[0.5, 2.0], &[9.0, 9.0]);
        let second = line(&[1.0, 1.0], &[0.8], &[9.0, 9.0]);
        let runs = [run(vec![first.clone()]), run(vec![second])];
        let found = paired(&runs, &first, OURS).unwrap();
        assert_eq!(found, Paired { ratio: 0.8, ahead: 1, rounds: 3 });
        assert_eq!(found.text(), "round by round 0.80, ahead in 1 of 3");
    }

    #[test]
    fn a_line_without_a_round_of_both_says_nothing() {
        let alone = figure("latency", 8, 2, &[(OURS, &[1.0]), ("openmpi", &[])]);
        assert_eq!(paired(&[run(vec![alone.clone()])], &alone, OURS), None);
    }
}

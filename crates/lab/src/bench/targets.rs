//! What figures are held to: the goals of this MPI as one table, and whether a run meets them.

use super::allowed;
use super::figure::Figure;
use super::run::Run;

/// A goal for one figure of one of our contestants.
pub struct Target {
    figure: &'static str,
    size: u64,
    /// Only where ranks are crowded.
    crowded: bool,
    ours: &'static str,
    bound: Bound,
}

/// What it must be.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// So many times as good as the best of the others.
    TimesBestPeer(f64),
    /// Not worse than this one of the others.
    NotWorseThan(&'static str),
    /// So many times another figure of the same run at most.
    AtMostTimes(f64, &'static str),
    /// Less than this, in its unit.
    Below(f64),
}

/// How a figure stands to its target.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// The goal in words.
    pub goal: String,
    pub outcome: Outcome,
    /// What it asks for, as a multiple of what [the machine allows](allowed): below one it asks for more than those do who only move the data.
    pub asks: Option<f64>,
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Met,
    Missed,
    /// What it is compared with, or itself, is not in this run.
    Unknown,
}

/// So many ranks share a core where they are crowded, as 64 on two cores do.
const CROWD: usize = 32;

pub const PROCESS: &str = "corelace process";
const FIBER: &str = "corelace fiber";

const fn target(figure: &'static str, size: u64, ours: &'static str, bound: Bound) -> Target {
    Target { figure, size, crowded: false, ours, bound }
}

const fn crowded(figure: &'static str, size: u64, times: f64) -> Target {
    Target { figure, size, crowded: true, ours: FIBER, bound: Bound::TimesBestPeer(times) }
}

const KIB: u64 = 1024;
const HALF_MIB: u64 = 512 * KIB;

/// What is not of an MPI's making can be no better than it is; the rest is what it differs by from run to run.
const AS_GOOD: Bound = Bound::TimesBestPeer(0.9);

/// All goals.
const TARGETS: &[Target] = &[
    target("latency", 8, PROCESS, Bound::AtMostTimes(1.5, "limit-cache-line")),
    target("latency", 8 * KIB, PROCESS, Bound::TimesBestPeer(1.3)),
    target("latency", 16 * KIB, PROCESS, Bound::TimesBestPeer(1.3)),
    target("latency", 32 * KIB, PROCESS, Bound::TimesBestPeer(1.3)),
    target("latency", 64 * KIB, PROCESS, Bound::TimesBestPeer(1.3)),
    target("rate", 8, PROCESS, Bound::TimesBestPeer(1.3)),
    target("rate", 64, PROCESS, Bound::TimesBestPeer(1.3)),
    target("bcast", HALF_MIB, PROCESS, Bound::TimesBestPeer(1.2)),
    target("reduce", HALF_MIB, PROCESS, Bound::TimesBestPeer(1.2)),
    target("allreduce", HALF_MIB, PROCESS, Bound::TimesBestPeer(1.2)),
    target("scan", HALF_MIB, PROCESS, Bound::TimesBestPeer(1.2)),
    target("gather-whole", HALF_MIB, PROCESS, Bound::TimesBestPeer(1.2)),
    target("scatter-whole", HALF_MIB, PROCESS, Bound::TimesBestPeer(1.2)),
    target("allgather-whole", HALF_MIB, PROCESS, Bound::TimesBestPeer(1.2)),
    target("alltoall-whole", HALF_MIB, PROCESS, Bound::TimesBestPeer(1.2)),
    crowded("barrier", 0, 20.0),
    crowded("bcast", 8, 20.0),
    crowded("reduce", 8, 20.0),
    crowded("allreduce", 8, 20.0),
    crowded("gather", 8, 20.0),
    crowded("scatter", 8, 20.0),
    crowded("allgather", 8, 20.0),
    crowded("alltoall", 8, 20.0),
    crowded("scan", 8, 20.0),
    crowded("alltoall", 4 * KIB, 5.0),
    target("pause-round-trip", 0, PROCESS, Bound::NotWorseThan("openmpi")),
    target("pause-round-trip", 100, PROCESS, Bound::NotWorseThan("openmpi")),
    target("pause-round-trip", 300, PROCESS, Bound::NotWorseThan("openmpi")),
    target("pause-round-trip", 1000, PROCESS, Bound::NotWorseThan("openmpi")),
    target("pause-send", 0, PROCESS, Bound::NotWorseThan("openmpi")),
    target("pause-send", 100, PROCESS, Bound::NotWorseThan("openmpi")),
    target("pause-send", 300, PROCESS, Bound::NotWorseThan("openmpi")),
    target("pause-send", 1000, PROCESS, Bound::NotWorseThan("openmpi")),
    target("instructions", 8, PROCESS, Bound::Below(400.0)),
    target("plain-malloc", 64, PROCESS, AS_GOOD),
    target("plain-malloc", 64 * KIB, PROCESS, AS_GOOD),
    target("plain-thread-local", 8, PROCESS, AS_GOOD),
    target("start", 192, PROCESS, Bound::Below(300.0)),
    target("start", 192, FIBER, Bound::Below(300.0)),
];

/// How a figure of a run stands to its targets, one for each of our contestants that has one.
pub fn verdicts<'r>(run: &'r Run, figure: &'r Figure) -> impl Iterator<Item = Verdict> + 'r {
    TARGETS.iter().filter(|target| target.concerns(run, figure)).map(|target| target.verdict(run, figure))
}

impl Target {
    fn concerns(&self, run: &Run, figure: &Figure) -> bool {
        let is_crowded = figure.ranks as usize >= CROWD * run.machine.cores;
        figure.name == self.figure && figure.size == self.size && (is_crowded || !self.crowded)
    }

    fn verdict(&self, run: &Run, figure: &Figure) -> Verdict {
        let goal = self.goal(figure);
        let peer = figure.best_of(&run.peers()).map(|(_, theirs)| theirs);
        let asks = match self.bound {
            Bound::TimesBestPeer(factor) if self.ours == PROCESS => {
                peer.zip(allowed::limit(run, figure)).map(|(theirs, limit)| theirs / factor / limit)
            }
            _ => None,
        };
        let Some(ours) = figure.best(self.ours) else {
            return Verdict { goal, outcome: Outcome::Unknown, asks };
        };
        let against =
            |theirs: Option<f64>, factor: f64| theirs.map(|theirs| figure.advantage(ours, theirs) >= factor);
        let is_met = match self.bound {
            Bound::TimesBestPeer(factor) => against(peer, factor),
            Bound::NotWorseThan(peer) => against(figure.best(peer), 1.0),
            Bound::AtMostTimes(factor, other) => {
                let other = run.figures.iter().find(|figure| figure.name == other);
                let limit = other.and_then(|other| Some(other.best_of(&run.names())?.1));
                limit.map(|limit| ours <= factor * limit)
            }
            Bound::Below(most) => Some(ours < most),
        };
        let outcome = match is_met {
            Some(true) => Outcome::Met,
            Some(false) => Outcome::Missed,
            None => Outcome::Unknown,
        };
        Verdict { goal, outcome, asks }
    }

    fn goal(&self, figure: &Figure) -> String {
        let who = self.ours.trim_start_matches("corelace ");
        match self.bound {
            Bound::TimesBestPeer(factor) => format!("{who} {factor} x best other"),
            Bound::NotWorseThan(peer) => format!("{who} not worse than {peer}"),
            Bound::AtMostTimes(factor, other) => format!("{who} at most {factor} x {other}"),
            Bound::Below(most) => format!("{who} below {most} {}", figure.unit),
        }
    }
}

impl Verdict {
    /// For a column of a table.
    pub fn text(&self) -> String {
        match self.outcome {
            Outcome::Met => format!("met: {}", self.goal),
            Outcome::Missed => format!("MISSED: {}", self.goal),
            Outcome::Unknown => format!("unknown: {}", self.goal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::figure::tests::figure;
    use super::super::run::tests::run;
    use super::*;

    fn outcomes(figures: Vec<Figure>) -> Vec<String> {
        let run = run(figures);
        run.figures.iter().flat_map(|figure| verdicts(&run, figure)).map(|verdict| verdict.text()).collect()
    }

    #[test]
    fn a_ratio_is_held_against_the_best_of_the_others() {
        let cells = |ours| [(PROCESS, ours), ("openmpi", 2.0), ("mpich", 1.3)];
        let of = |ours: f64| {
            let cells = cells(ours).map(|(name, value)| (name, vec![value]));
            let cells: Vec<(&str, &[f64])> =
                cells.iter().map(|(name, samples)| (*name, &samples[..])).collect();
            outcomes(vec![figure("latency", 8192, 2, &cells)])
        };
        assert_eq!(of(0.9), ["met: process 1.3 x best other"]);
        assert_eq!(of(1.1), ["MISSED: process 1.3 x best other"]);
    }

    #[test]
    fn what_a_ratio_asks_for_is_held_against_what_the_machine_allows() {
        let latency = figure("latency", 8192, 2, &[(PROCESS, &[1.5]), ("mpich", &[1.3])]);
        let limit = figure("limit-two-copies", 8192, 1, &[(PROCESS, &[1.25])]);
        let asked = |run: &Run| verdicts(run, &latency).next().unwrap().asks;
        assert_eq!(asked(&run(vec![latency.clone(), limit])), Some(0.8));
        assert_eq!(asked(&run(vec![latency.clone()])), None);
    }

    #[test]
    fn a_limit_of_the_machine_comes_from_the_same_run() {
        let latency = figure("latency", 8, 2, &[(PROCESS, &[0.2])]);
        assert_eq!(outcomes(vec![latency.clone()]), ["unknown: process at most 1.5 x limit-cache-line"]);
        for (limit, outcome) in [(0.14, "met"), (0.13, "MISSED")] {
            let figures = vec![latency.clone(), figure("limit-cache-line", 64, 1, &[(PROCESS, &[limit])])];
            assert_eq!(outcomes(figures), [format!("{outcome}: process at most 1.5 x limit-cache-line")]);
        }
    }

    #[test]
    fn a_bound_of_its_own_needs_nobody_else() {
        let of = |count: f64| outcomes(vec![figure("instructions", 8, 2, &[(PROCESS, &[count])])]);
        assert!(of(399.0)[0].starts_with("met") && of(400.0)[0].starts_with("MISSED"));
    }

    #[test]
    fn fibers_have_their_targets_where_ranks_are_crowded() {
        let cells: &[(&str, &[f64])] = &[(FIBER, &[1.0]), ("openmpi", &[10.0])];
        assert_eq!(outcomes(vec![figure("alltoall", 4096, 64, cells)]), ["met: fiber 5 x best other"]);
        assert!(outcomes(vec![figure("alltoall", 4096, 8, cells)]).is_empty());
    }

    #[test]
    fn without_the_peer_that_is_named_nothing_is_known() {
        let cells: &[(&str, &[f64])] = &[(PROCESS, &[1.0]), ("mpich", &[10.0])];
        assert_eq!(
            outcomes(vec![figure("pause-send", 100, 2, cells)]),
            ["unknown: process not worse than openmpi"]
        );
    }

    #[test]
    fn every_target_names_a_figure_that_a_program_prints() {
        for target in TARGETS {
            assert!(
                crate::bench::suite::chosen(&[], Some(target.figure)).is_ok(),
                "no program prints {}",
                target.figure
            );
        }
    }
}

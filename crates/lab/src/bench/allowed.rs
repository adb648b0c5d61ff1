//! What the machine allows of a line: the figure of the same run that was measured without any MPI, by programs that do nothing but move the data.

use super::figure::Figure;
use super::run::Run;

/// Figures of processes, on so many ranks, and the limits that they are held against: whichever is the least, of the same size.
const HELD: &[(&str, u32, &[&str])] = &[
    ("latency", 2, &["limit-two-copies", "limit-cross-memory/one", "limit-cross-memory/both"]),
    ("latency-written", 2, &["limit-written"]),
    ("exchange", 2, &["limit-exchange", "limit-cross-memory/exchange"]),
    ("allgather-written", 2, &["limit-exchange"]),
    ("alltoall-written", 2, &["limit-exchange"]),
    ("bcast", 8, &["limit-broadcast-untouched/8"]),
    ("bcast-written", 8, &["limit-broadcast/8"]),
];

/// Limits are measured with two cores; only what is for so many ranks on more of them says nothing there.
const CORES: usize = 2;

/// The limit of a line, if there is one in this run.
pub fn limit(run: &Run, figure: &Figure) -> Option<f64> {
    let (_, ranks, limits) =
        HELD.iter().find(|(name, ranks, _)| (*name, *ranks) == (figure.name.as_str(), figure.ranks))?;
    if *ranks as usize > CORES && run.machine.cores != CORES {
        return None;
    }
    let names = run.names();
    let measured = run.figures.iter().filter(|known| {
        limits.contains(&known.name.as_str()) && (known.size, &known.of) == (figure.size, &figure.of)
    });
    measured.filter_map(|known| Some(known.best_of(&names)?.1)).min_by(f64::total_cmp)
}

/// Numbers of several runs, one after the other.
pub fn each(numbers: &[Option<f64>]) -> Option<String> {
    numbers.iter().any(Option::is_some).then(|| {
        let texts = numbers.iter().map(|number| number.map_or("-".into(), |number| format!("{number:.2}")));
        texts.collect::<Vec<String>>().join(", ")
    })
}

#[cfg(test)]
mod tests {
    use super::super::figure::tests::figure;
    use super::super::run::tests::run;
    use super::super::suite;
    use super::*;

    const OURS: &str = "corelace process";

    #[test]
    fn a_line_is_held_against_the_least_limit_of_its_kind_and_size() {
        let latency = |size| figure("latency", size, 2, &[(OURS, &[3.0])]);
        let limit_of = |name, size, value: f64| figure(name, size, 1, &[(OURS, &[value + 0.5, value])]);
        let run = run(vec![
            limit_of("limit-two-copies", 16384, 2.2),
            limit_of("limit-cross-memory/both", 16384, 1.6),
            limit_of("limit-cross-memory/both", 32768, 1.1),
            limit_of("limit-exchange", 16384, 0.1),
        ]);
        assert_eq!(limit(&run, &latency(16384)), Some(1.6));
        assert_eq!(limit(&run, &latency(8192)), None);
        assert_eq!(limit(&run, &figure("barrier", 16384, 2, &[(OURS, &[3.0])])), None);
    }

    #[test]
    fn a_broadcast_to_eight_is_held_against_that_of_two_cores_alone() {
        let limit_of = figure("limit-broadcast/8", 65536, 1, &[(OURS, &[12.0])]);
        let bcast = figure("bcast-written", 65536, 8, &[(OURS, &[16.0])]);
        let mut run = run(vec![limit_of]);
        for (cores, expected) in [(2, Some(12.0)), (16, None)] {
            run.machine.cores = cores;
            assert_eq!(limit(&run, &bcast), expected);
        }
    }

    #[test]
    fn every_limit_that_is_named_is_printed_by_a_program() {
        for (name, _, limits) in HELD {
            for name in limits.iter().chain([name]) {
                assert!(suite::chosen(&[], Some(name)).is_ok_and(|cases| !cases.is_empty()), "{name}");
            }
        }
    }
}

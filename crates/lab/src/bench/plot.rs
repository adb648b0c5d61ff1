//! A run as one sheet of pictures: whatever of it is a line by size, ranks, pause or pending messages.

use super::figure::Figure;
use super::run::Run;
use crate::chart::{AxisOf, Chart, Scale, sheet};

/// A picture that is drawn if there is something for it.
struct Panel {
    title: &'static str,
    /// The names of its figures, and what is added to a contestant's name where there are several.
    figures: &'static [(&'static str, &'static str)],
    /// Of one size only: then the number of ranks goes from left to right.
    size: Option<u64>,
    x: (&'static str, Scale),
    y: (&'static str, Scale),
}

const SIZES: (&str, Scale) = ("message size", Scale::Bytes);
const RANKS: (&str, Scale) = ("ranks", Scale::Doubling);
const TIME: (&str, Scale) = ("microseconds", Scale::Log);

const PANELS: [Panel; 10] = [
    Panel {
        title: "Half round trip between two ranks",
        figures: &[("latency", "")],
        size: None,
        x: SIZES,
        y: TIME,
    },
    Panel {
        title: "Rate with 64 messages in flight",
        figures: &[("rate", "")],
        size: None,
        x: SIZES,
        y: ("million messages a second", Scale::Log),
    },
    Panel { title: "Barrier", figures: &[("barrier", "")], size: Some(0), x: RANKS, y: TIME },
    Panel { title: "Allreduce of 8 B", figures: &[("allreduce", "")], size: Some(8), x: RANKS, y: TIME },
    Panel {
        title: "Allreduce of 512 KiB",
        figures: &[("allreduce", "")],
        size: Some(524_288),
        x: RANKS,
        y: TIME,
    },
    Panel { title: "Alltoall of 4 KiB", figures: &[("alltoall", "")], size: Some(4096), x: RANKS, y: TIME },
    Panel {
        title: "Round trip after the peer has computed",
        figures: &[("pause-round-trip", "")],
        size: None,
        x: ("microseconds of computation", Scale::Linear),
        y: TIME,
    },
    Panel {
        title: "Start and end of a job",
        figures: &[("start", "")],
        size: None,
        x: RANKS,
        y: ("milliseconds", Scale::Log),
    },
    Panel {
        title: "Growth with ranks",
        figures: &[("growth-barrier", "barrier"), ("growth-allreduce", "allreduce 8 B")],
        size: None,
        x: RANKS,
        y: TIME,
    },
    Panel {
        title: "Matching among pending messages",
        figures: &[("matching-posted", "posted receives"), ("matching-unexpected", "unexpected ones")],
        size: None,
        x: ("pending", Scale::Log),
        y: ("microseconds a message", Scale::Log),
    },
];

/// The sheet, as SVG.
pub fn svg(run: &Run) -> String {
    let charts: Vec<Chart<'_>> = PANELS.iter().filter_map(|panel| panel.chart(run)).collect();
    sheet(&charts)
}

impl Panel {
    /// `None` if no line has two points.
    fn chart(&self, run: &Run) -> Option<Chart<'_>> {
        let mut lines = Vec::new();
        for contestant in run.names() {
            for (figure, added) in self.figures {
                let points = self.points(run, figure, contestant);
                if points.len() > 1 {
                    lines.push((contestant, *added, points));
                }
            }
        }
        // Where one contestant has all lines, it need not be said at each.
        let is_alone =
            lines.iter().all(|(contestant, added, _)| *contestant == lines[0].0 && !added.is_empty());
        let named = |(contestant, added, points): (&str, &str, _)| match is_alone {
            true => (added.to_owned(), points),
            false => (format!("{contestant} {added}").trim_end().to_owned(), points),
        };
        let lines: Vec<_> = lines.into_iter().map(named).collect();
        let axis = |(title, scale)| AxisOf { title, scale };
        let chart = Chart { title: self.title, x: axis(self.x), y: axis(self.y), lines };
        (!chart.lines.is_empty()).then_some(chart)
    }

    fn points(&self, run: &Run, name: &str, contestant: &str) -> Vec<(f64, f64)> {
        let is_drawn =
            |figure: &&Figure| figure.name == name && self.size.is_none_or(|size| figure.size == size);
        let at = |figure: &Figure| match self.x {
            RANKS => f64::from(figure.ranks),
            (_, Scale::Linear) => figure.size as f64,
            _ => figure.size.max(1) as f64,
        };
        let figures = run.figures.iter().filter(is_drawn);
        figures.filter_map(|figure| Some((at(figure), figure.best(contestant)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::figure::tests::figure;
    use super::super::run::tests::run;
    use super::*;

    #[test]
    fn every_contestant_has_a_line_in_each_panel_that_has_figures() {
        let cells: &[(&str, &[f64])] = &[("corelace process", &[0.5]), ("openmpi", &[1.0])];
        let mut figures: Vec<Figure> =
            [0, 8, 65536].iter().map(|size| figure("latency", *size, 2, cells)).collect();
        figures.extend([2, 8].map(|ranks| figure("allreduce", 8, ranks, cells)));
        figures.push(figure("barrier", 0, 2, cells));
        let svg = svg(&run(figures));
        assert_eq!(svg.matches("<polyline").count(), 4);
        assert!(svg.contains("Half round trip") && svg.contains("Allreduce of 8 B"), "{svg}");
        assert!(!svg.contains("Barrier"), "a single point is no line: {svg}");
    }

    #[test]
    fn growth_is_drawn_against_ranks_and_against_pending_messages() {
        let fibers: &[(&str, &[f64])] = &[("corelace fiber", &[0.5])];
        let ranks = [2, 64, 4096].map(|ranks| figure("growth-barrier", 0, ranks, fibers));
        let pending = [1, 1000, 1_000_000].map(|pending| figure("matching-posted", pending, 2, fibers));
        let svg = svg(&run(ranks.into_iter().chain(pending).collect()));
        assert_eq!(svg.matches("<polyline").count(), 2);
        for label in [">ranks<", ">4096<", ">barrier<", ">pending<", ">1000000<", ">posted receives<"] {
            assert!(svg.contains(label), "{label}: {svg}");
        }
        assert!(!svg.contains("corelace fiber"), "one contestant need not be named at each line: {svg}");
    }

    #[test]
    fn what_has_no_lines_is_a_sheet_that_says_so() {
        assert!(svg(&run(Vec::new())).contains("nothing was measured"));
    }
}

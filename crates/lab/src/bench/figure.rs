//! Figures: what the programs print, and all that was measured of one of them.

use serde::{Deserialize, Serialize};

use super::statistics;

/// The unit of a size that is a number of bytes, which goes without saying.
const BYTES: &str = "B";

/// One line `figure NAME SIZE[:OF] VALUE UNIT` of a program. `OF` says what a size counts that is no number of bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    pub name: String,
    pub size: u64,
    pub of: String,
    pub value: f64,
    pub unit: String,
}

impl Sample {
    /// Reads a line; `None` if it is no figure.
    pub fn parse(line: &str) -> Option<Sample> {
        let mut words = line.split_whitespace();
        if words.next()? != "figure" {
            return None;
        }
        let (name, size, value, unit) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let (size, of) = size.split_once(':').unwrap_or((size, BYTES));
        let value: f64 = value.parse().ok()?;
        Some(Sample {
            name: name.into(),
            size: size.parse().ok()?,
            of: of.into(),
            value: value.is_finite().then_some(value)?,
            unit: unit.into(),
        })
    }
}

/// One figure of all contestants.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Figure {
    pub suite: String,
    pub name: String,
    pub size: u64,
    /// What the size counts: bytes, threads, pending messages.
    pub of: String,
    pub ranks: u32,
    pub unit: String,
    pub cells: Vec<Cell>,
}

/// One figure of one contestant: a sample each round, or why there is none.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cell {
    pub contestant: String,
    pub samples: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Figure {
    pub fn cell(&self, contestant: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.contestant == contestant)
    }

    /// The best of all rounds.
    pub fn best(&self, contestant: &str) -> Option<f64> {
        let samples = self.cell(contestant)?.samples.iter().copied();
        if self.is_more_better() { samples.max_by(f64::total_cmp) } else { samples.min_by(f64::total_cmp) }
    }

    /// Where its median lies.
    pub fn interval(&self, contestant: &str) -> Option<statistics::Interval> {
        statistics::interval(&self.cell(contestant)?.samples)
    }

    /// More of a rate or a share is better, less of everything else.
    pub fn is_more_better(&self) -> bool {
        self.unit.ends_with("/s") || self.unit == "%"
    }

    /// How much better `ours` is than `theirs`: above one is better, for times and rates alike.
    pub fn advantage(&self, ours: f64, theirs: f64) -> f64 {
        if self.is_more_better() { ours / theirs } else { theirs / ours }
    }

    /// The best of these contestants, and which it is.
    pub fn best_of<'c>(&self, contestants: &[&'c str]) -> Option<(&'c str, f64)> {
        let known = contestants.iter().filter_map(|name| Some((*name, self.best(name)?)));
        known.max_by(|a, b| self.advantage(a.1, 1.0).total_cmp(&self.advantage(b.1, 1.0)))
    }

    /// The size for people; nothing if there is none to speak of.
    pub fn size_text(&self) -> String {
        match (self.of.as_str(), self.size) {
            ("ranks" | "none", _) => String::new(),
            (BYTES, size) if size >= 1 << 20 && size % (1 << 20) == 0 => format!("{} MiB", size >> 20),
            (BYTES, size) if size >= 1024 && size % 1024 == 0 => format!("{} KiB", size >> 10),
            (of, size) => format!("{size} {of}"),
        }
    }

    /// Name, size and ranks in one, as sentences name it.
    pub fn title(&self) -> String {
        let size = self.size_text();
        let space = if size.is_empty() { "" } else { " " };
        format!("{}{space}{size} on {} ranks", self.name, self.ranks)
    }

    /// Adds the samples of the same figure of another run.
    pub fn pool(&mut self, other: &Figure) {
        for cell in &other.cells {
            match self.cells.iter_mut().find(|known| known.contestant == cell.contestant) {
                Some(known) => known.samples.extend(&cell.samples),
                None => self.cells.push(cell.clone()),
            }
        }
    }

    /// Whether the other is the same figure of another run.
    pub fn is_same(&self, other: &Figure) -> bool {
        (&self.name, self.size, &self.of, self.ranks) == (&other.name, other.size, &other.of, other.ranks)
    }
}

/// All figures, in the order in which they first came.
#[derive(Default, Debug)]
pub struct Figures(Vec<Figure>);

impl Figures {
    /// Adds the samples of one run of a program.
    pub fn add(&mut self, contestant: &str, suite: &str, ranks: u32, samples: Vec<Sample>) {
        for sample in samples {
            let Sample { name, size, of, value, unit } = sample;
            let suite = suite.to_owned();
            let figure = Figure { suite, name, size, of, ranks, unit, cells: Vec::new() };
            let at = self.0.iter().position(|known| known.is_same(&figure)).unwrap_or_else(|| {
                self.0.push(figure);
                self.0.len() - 1
            });
            let cells = &mut self.0[at].cells;
            match cells.iter_mut().find(|cell| cell.contestant == contestant) {
                Some(cell) => cell.samples.push(value),
                None => {
                    cells.push(Cell { contestant: contestant.into(), samples: vec![value], failure: None })
                }
            }
        }
    }

    /// Says why a contestant has no sample of the figures that `concerns` picks.
    pub fn excuse(&mut self, contestant: &str, why: &str, concerns: impl Fn(&Figure) -> bool) {
        let failure = Some(why.to_owned());
        for figure in self.0.iter_mut().filter(|figure| concerns(figure)) {
            if figure.cell(contestant).is_none() {
                let failure = failure.clone();
                figure.cells.push(Cell { contestant: contestant.into(), samples: Vec::new(), failure });
            }
        }
    }

    /// What is wanted of them.
    pub fn into_wanted(mut self, wanted: impl Fn(&str) -> bool) -> Vec<Figure> {
        self.0.retain(|figure| wanted(&figure.name));
        self.0
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A figure in microseconds with these samples.
    pub fn figure(name: &str, size: u64, ranks: u32, cells: &[(&str, &[f64])]) -> Figure {
        let cell = |(contestant, samples): &(&str, &[f64])| Cell {
            contestant: contestant.to_string(),
            samples: samples.to_vec(),
            failure: None,
        };
        let (suite, name, of) = ("p2p".into(), name.into(), "B".into());
        Figure { suite, name, size, of, ranks, unit: "us".into(), cells: cells.iter().map(cell).collect() }
    }

    #[test]
    fn the_best_of_times_is_the_least_and_of_rates_the_most() {
        let mut figures = Figures::default();
        for (latency, rate) in [(3.0, 10.0), (2.0, 11.0), (4.0, 9.0)] {
            let lines = [format!("figure latency 8 {latency} us"), format!("figure rate 8 {rate} M/s")];
            figures.add("a", "p2p", 2, lines.iter().filter_map(|line| Sample::parse(line)).collect());
        }
        let best: Vec<Option<f64>> = figures.0.iter().map(|figure| figure.best("a")).collect();
        assert_eq!(best, [Some(2.0), Some(11.0)]);
    }

    #[test]
    fn lines_that_are_no_figures_are_passed_over() {
        for line in
            ["hello world", "figure latency eight 1.0 us", "figure latency 8 nan us", "figure latency 8 1.0"]
        {
            assert_eq!(Sample::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_size_says_what_it_counts() {
        let sizes = ["8", "2048", "3145728", "4:threads", "16:ranks"].map(|size| {
            let sample = Sample::parse(&format!("figure x {size} 1.0 us")).unwrap();
            Figure { of: sample.of, ..figure("x", sample.size, 2, &[]) }.size_text()
        });
        assert_eq!(sizes, ["8 B", "2 KiB", "3 MiB", "4 threads", ""]);
    }

    #[test]
    fn an_advantage_above_one_is_better_for_times_and_rates() {
        let of = |unit: &str| Figure { unit: unit.into(), ..figure("x", 0, 2, &[]) };
        assert_eq!(of("us").advantage(1.0, 2.0), 2.0);
        assert_eq!(of("M/s").advantage(4.0, 2.0), 2.0);
    }

    #[test]
    fn the_best_contestant_has_the_least_time_or_the_highest_rate() {
        let cells: &[(&str, &[f64])] = &[("a", &[3.0]), ("b", &[2.0, 5.0]), ("c", &[4.0])];
        let times = figure("x", 8, 2, cells);
        assert_eq!(times.best_of(&["a", "b", "c", "d"]), Some(("b", 2.0)));
        let rates = Figure { unit: "M/s".into(), ..times };
        assert_eq!(rates.best_of(&["a", "b", "c"]), Some(("b", 5.0)));
        assert_eq!(rates.best_of(&["d"]), None);
    }

    #[test]
    fn who_has_measured_a_figure_needs_no_excuse_for_it() {
        let mut figures = Figures::default();
        figures.add("a", "p2p", 2, vec![Sample::parse("figure latency 8 1.0 us").unwrap()]);
        for contestant in ["a", "b"] {
            figures.excuse(contestant, "> 60 s", |figure| figure.suite == "p2p");
        }
        let figure = &figures.into_wanted(|_| true)[0];
        assert_eq!(figure.cell("a").unwrap().failure, None);
        assert_eq!(figure.cell("b").unwrap().failure.as_deref(), Some("> 60 s"));
    }
}

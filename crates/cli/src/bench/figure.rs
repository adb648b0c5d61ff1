//! Figures: what the programs print, and the best of several.

/// One line `figure NAME SIZE VALUE UNIT` of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    pub name: String,
    pub size: u64,
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
        Some(Sample {
            name: name.into(),
            size: size.parse().ok()?,
            value: value.parse().ok()?,
            unit: unit.into(),
        })
    }

    /// More of a rate is better, less of everything else.
    fn better_than(&self, other: f64) -> bool {
        if self.unit.ends_with("/s") { self.value > other } else { self.value < other }
    }
}

/// One figure of all contestants.
#[derive(Clone, Debug)]
pub struct Figure {
    pub name: String,
    pub size: u64,
    pub unit: String,
    pub ranks: u32,
    /// Best value by contestant.
    pub best: Vec<(String, f64)>,
}

impl Figure {
    pub fn of(&self, contestant: &str) -> Option<f64> {
        self.best.iter().find(|(name, _)| name == contestant).map(|(_, value)| *value)
    }

    /// How much better `ours` is than `theirs`: above one is better, for times and rates alike.
    pub fn advantage(&self, ours: f64, theirs: f64) -> f64 {
        if self.unit.ends_with("/s") { ours / theirs } else { theirs / ours }
    }
}

/// All figures, in the order in which they first came.
#[derive(Default, Debug)]
pub struct Figures(Vec<Figure>);

impl Figures {
    /// Adds the samples of one run.
    pub fn add(&mut self, contestant: &str, ranks: u32, samples: Vec<Sample>) {
        for sample in samples {
            let known = self
                .0
                .iter_mut()
                .find(|f| f.name == sample.name && f.size == sample.size && f.ranks == ranks);
            let figure = match known {
                Some(figure) => figure,
                None => {
                    let Sample { name, size, unit, .. } = sample.clone();
                    self.0.push(Figure { name, size, unit, ranks, best: Vec::new() });
                    self.0.last_mut().expect("just pushed")
                }
            };
            match figure.best.iter_mut().find(|(name, _)| name == contestant) {
                Some((_, best)) if sample.better_than(*best) => *best = sample.value,
                Some(_) => {}
                None => figure.best.push((contestant.into(), sample.value)),
            }
        }
    }

    /// Drops the figures whose name is not wanted.
    pub fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        self.0.retain(|figure| wanted(&figure.name));
    }

    pub fn iter(&self) -> impl Iterator<Item = &Figure> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_times_is_the_least_and_of_rates_the_most() {
        let mut figures = Figures::default();
        for (latency, rate) in [(3.0, 10.0), (2.0, 11.0), (4.0, 9.0)] {
            let lines = [format!("figure latency 8 {latency} us"), format!("figure rate 8 {rate} M/s")];
            figures.add("a", 2, lines.iter().filter_map(|line| Sample::parse(line)).collect());
        }
        let best: Vec<f64> = figures.iter().filter_map(|figure| figure.of("a")).collect();
        assert_eq!(best, [2.0, 11.0]);
    }

    #[test]
    fn lines_that_are_no_figures_are_passed_over() {
        assert_eq!(Sample::parse("hello world"), None);
        assert_eq!(Sample::parse("figure latency eight 1.0 us"), None);
    }

    #[test]
    fn an_advantage_above_one_is_better_for_times_and_rates() {
        let figure =
            |unit: &str| Figure { name: "x".into(), size: 0, unit: unit.into(), ranks: 2, best: vec![] };
        assert_eq!(figure("us").advantage(1.0, 2.0), 2.0);
        assert_eq!(figure("M/s").advantage(4.0, 2.0), 2.0);
    }
}

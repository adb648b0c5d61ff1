//! A published figure, and how ours compares with it.

use serde_json::{Value, json};

use super::grounds::{Basis, Kind};
use super::spread::Interval;
use super::study::Study;

/// How far a fit may be from its figure, as a part of it: who sets a number by a figure can set it well.
pub const FIT_WITHIN: f64 = 0.01;

/// What was published, and how close is close.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Published {
    /// A number; ours may differ by this part of it.
    Number { value: f64, within: f64 },
    /// A number; ours may differ by this much.
    Points { value: f64, within: f64 },
    /// A range; ours may lie outside of it by this part.
    Range { low: f64, high: f64, within: f64 },
    /// A count: ours is the same.
    Count(f64),
    /// A statement that holds if ours is at most this.
    AtMost(f64),
    /// A statement that holds if ours is at least this.
    AtLeast(f64),
    /// No value.
    Nothing,
}

impl Published {
    /// The same for a figure that a number was set by.
    fn of_fit(self) -> Published {
        match self {
            Published::Number { value, .. } => Published::Number { value, within: FIT_WITHIN },
            Published::Points { value, .. } => Published::Points { value, within: FIT_WITHIN * value.abs() },
            other => other,
        }
    }

    /// Whether our number agrees.
    pub fn agrees(&self, ours: f64) -> bool {
        match *self {
            Published::Number { value, within } => (ours / value - 1.0).abs() <= within,
            Published::Points { value, within } => (ours - value).abs() <= within,
            Published::Range { low, high, within } => {
                (low * (1.0 - within)..=high * (1.0 + within)).contains(&ours)
            }
            Published::Count(value) => ours == value,
            Published::AtMost(most) => ours <= most,
            Published::AtLeast(least) => ours >= least,
            Published::Nothing => true,
        }
    }

    /// Ours less what was published: as a part of it, or in points; 0 inside a range or where a statement holds.
    pub fn difference(&self, ours: f64) -> f64 {
        match *self {
            Published::Number { value, .. } => ours / value - 1.0,
            Published::Points { value, .. } | Published::Count(value) => ours - value,
            Published::Range { low, .. } if ours < low => ours / low - 1.0,
            Published::Range { high, .. } if ours > high => ours / high - 1.0,
            Published::AtMost(bound) if ours > bound => ours / bound - 1.0,
            Published::AtLeast(bound) if ours < bound => ours / bound - 1.0,
            _ => 0.0,
        }
    }

    /// Our number for people, in the digits of the published one.
    pub fn ours_text(&self, ours: f64) -> String {
        match self {
            Published::Count(_) if ours.fract() == 0.0 => format!("{ours:.0}"),
            _ => number(ours),
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        match *self {
            Published::Number { value, .. } | Published::Points { value, .. } => number(value),
            Published::Count(value) => format!("{value:.0}"),
            Published::Nothing => "-".into(),
            Published::Range { low, high, .. } => format!("{} to {}", number(low), number(high)),
            Published::AtMost(most) => format!("at most {}", number(most)),
            Published::AtLeast(least) => format!("at least {}", number(least)),
        }
    }

    fn json(&self) -> Value {
        match *self {
            Published::Number { value, .. } | Published::Points { value, .. } | Published::Count(value) => {
                json!(value)
            }
            Published::Nothing => Value::Null,
            Published::Range { low, high, .. } => json!([low, high]),
            Published::AtMost(most) => json!([null, most]),
            Published::AtLeast(least) => json!([least, null]),
        }
    }

    /// The difference for people.
    pub fn difference_text(&self, ours: f64) -> String {
        match self {
            Published::Points { .. } => format!("{:+.1} points", self.difference(ours)),
            Published::Count(_) => format!("{:+.0}", self.difference(ours)),
            Published::Nothing => "-".into(),
            _ => format!("{:+.1} %", 100.0 * self.difference(ours)),
        }
    }
}

/// One row of the table.
pub struct Figure {
    /// Stable name, such as `a.cc0-cc15.pe.K`.
    pub id: &'static str,
    /// What it is, in words.
    pub what: &'static str,
    /// Unit of both numbers.
    pub unit: &'static str,
    /// What was published.
    pub published: Published,
    /// Measures ours.
    pub measure: Box<Measure>,
}

impl Figure {
    /// A figure and how to measure it. Its kind follows from what its numbers rest on.
    pub fn new(
        id: &'static str,
        what: &'static str,
        unit: &'static str,
        published: Published,
        measure: impl Fn(&Study) -> Result<f64, String> + Sync + Send + 'static,
    ) -> Figure {
        Figure { id, what, unit, published, measure: Box::new(measure) }
    }

    /// The communication software that it runs on, one of the chip's `[ipc.*]`.
    pub fn software(&self) -> &'static str {
        match self.seed() {
            "000" if super::neighbours::machine_of(self.id).is_some() => "a neighbour's",
            "000" => "mppaipc",
            "002" => "dcfa",
            "004" => "mpi-es",
            "003" => "async",
            _ => "nanvix",
        }
    }

    /// The number of the publication that it is from, as of `--seed`.
    pub fn seed(&self) -> &'static str {
        match self.id.split('.').next() {
            Some("a") => "000",
            Some("c") => "002",
            Some("d") => "004",
            Some("e") => "003",
            _ => "001",
        }
    }
}

/// How a figure is measured.
pub type Measure = dyn Fn(&Study) -> Result<f64, String> + Sync + Send;

/// A figure with our number, or why there is none.
pub struct Finding<'f> {
    pub figure: &'f Figure,
    pub basis: Basis,
    pub ours: Result<f64, String>,
    /// How far a prediction moves while every fit holds, if that was measured.
    pub spread: Option<Interval>,
}

impl Finding<'_> {
    /// Whether our number agrees with the published one.
    pub fn passes(&self) -> bool {
        self.ours.as_ref().is_ok_and(|ours| self.agrees(*ours))
    }

    /// Whether a number would.
    pub fn agrees(&self, ours: f64) -> bool {
        let published = self.figure.published;
        if self.basis.kind == Kind::Fit { published.of_fit().agrees(ours) } else { published.agrees(ours) }
    }

    /// In one word, as the table has it.
    pub fn verdict(&self) -> &'static str {
        match (self.basis.kind, self.passes()) {
            (_, false) => "MISS",
            (Kind::Unpublished, true) => "",
            (_, true) => "pass",
        }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let Figure { id, what, unit, published, .. } = self.figure;
        let ours = self.ours.as_ref().ok();
        json!({
            "id": id, "kind": self.basis.kind.word(), "because": self.basis.because, "paper": published.json(), "ours": ours,
            "difference": ours.map(|ours| published.difference(*ours)), "pass": self.passes(),
            "spread": self.spread.as_ref().map(|spread| [spread.low, spread.high]),
            "what": what, "unit": unit, "seed": self.figure.seed(), "error": self.ours.as_ref().err(),
        })
    }
}

/// A number with as many digits as a table has room for.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_agrees_within_its_tolerance_and_not_beyond() {
        let published = Published::Number { value: 31430.0, within: 0.01 };
        assert!(published.agrees(31700.0) && !published.agrees(31800.0));
        assert_eq!(published.difference_text(31744.3), "+1.0 %");
    }

    #[test]
    fn points_are_not_parts() {
        let published = Published::Points { value: 52.0, within: 10.0 };
        assert!(published.agrees(61.9) && !published.agrees(62.1));
        assert_eq!(published.difference_text(60.0), "+8.0 points");
    }

    #[test]
    fn inside_a_range_there_is_no_difference() {
        let published = Published::Range { low: 1.7, high: 2.1, within: 0.1 };
        assert_eq!(published.difference(2.0), 0.0);
        assert!(published.agrees(2.3) && !published.agrees(2.32) && !published.agrees(1.5));
        assert!(published.difference(1.6) < 0.0);
    }

    #[test]
    fn a_count_is_the_same_or_not() {
        assert!(Published::Count(4.0).agrees(4.0) && !Published::Count(4.0).agrees(3.0));
        assert_eq!(Published::Count(4.0).difference_text(3.0), "-1");
    }

    #[test]
    fn a_fit_has_to_be_within_one_percent_whatever_a_prediction_may() {
        let figure = Figure::new("a.x", "", "", Published::Number { value: 2.0, within: 0.15 }, |_| Ok(0.0));
        let finding = |kind| {
            let basis = Basis { kind, because: String::new() };
            Finding { figure: &figure, basis, ours: Ok(2.1), spread: None }
        };
        assert!(!finding(Kind::Fit).passes() && finding(Kind::Predicted).passes());
    }

    #[test]
    fn a_statement_holds_on_its_side_of_the_bound() {
        assert!(Published::AtMost(1.1).agrees(1.05) && !Published::AtMost(1.1).agrees(1.2));
        assert!(Published::AtLeast(2.0).agrees(2.0) && !Published::AtLeast(2.0).agrees(1.9));
    }
}

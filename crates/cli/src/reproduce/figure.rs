//! A published figure, and how ours compares with it.

use serde_json::{Value, json};

use super::study::Study;

/// Whether a figure went into the chip's description.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The description was calibrated by it.
    Fit,
    /// It has to come out of the model and the protocols by itself.
    Predict,
}

impl Kind {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Fit => "fit",
            Kind::Predict => "predict",
        }
    }
}

/// What was published, and how close is close.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Published {
    /// A number; ours may differ by this part of it.
    Number { value: f64, within: f64 },
    /// A number; ours may differ by this much.
    Points { value: f64, within: f64 },
    /// A range; ours may lie outside of it by this part.
    Range { low: f64, high: f64, within: f64 },
    /// A statement that holds if ours is at most this.
    AtMost(f64),
    /// A statement that holds if ours is at least this.
    AtLeast(f64),
}

impl Published {
    /// Whether our number agrees.
    pub fn agrees(&self, ours: f64) -> bool {
        match *self {
            Published::Number { value, within } => (ours / value - 1.0).abs() <= within,
            Published::Points { value, within } => (ours - value).abs() <= within,
            Published::Range { low, high, within } => {
                (low * (1.0 - within)..=high * (1.0 + within)).contains(&ours)
            }
            Published::AtMost(most) => ours <= most,
            Published::AtLeast(least) => ours >= least,
        }
    }

    /// Ours less what was published: as a part of it, or in points; 0 inside a range or where a statement holds.
    pub fn difference(&self, ours: f64) -> f64 {
        match *self {
            Published::Number { value, .. } => ours / value - 1.0,
            Published::Points { value, .. } => ours - value,
            Published::Range { low, .. } if ours < low => ours / low - 1.0,
            Published::Range { high, .. } if ours > high => ours / high - 1.0,
            Published::AtMost(bound) if ours > bound => ours / bound - 1.0,
            Published::AtLeast(bound) if ours < bound => ours / bound - 1.0,
            _ => 0.0,
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        match *self {
            Published::Number { value, .. } | Published::Points { value, .. } => number(value),
            Published::Range { low, high, .. } => format!("{} to {}", number(low), number(high)),
            Published::AtMost(most) => format!("at most {}", number(most)),
            Published::AtLeast(least) => format!("at least {}", number(least)),
        }
    }

    fn json(&self) -> Value {
        match *self {
            Published::Number { value, .. } | Published::Points { value, .. } => json!(value),
            Published::Range { low, high, .. } => json!([low, high]),
            Published::AtMost(most) => json!([null, most]),
            Published::AtLeast(least) => json!([least, null]),
        }
    }

    /// The difference for people.
    pub fn difference_text(&self, ours: f64) -> String {
        match self {
            Published::Points { .. } => format!("{:+.1} points", self.difference(ours)),
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
    /// Fitted or predicted.
    pub kind: Kind,
    /// What was published.
    pub published: Published,
    /// Measures ours.
    pub measure: Box<Measure>,
}

impl Figure {
    /// A figure that the chip's description was calibrated by.
    pub fn fitted(
        id: &'static str,
        what: &'static str,
        unit: &'static str,
        value: f64,
        measure: impl Fn(&Study) -> Result<f64, String> + Sync + Send + 'static,
    ) -> Figure {
        let published = Published::Number { value, within: 0.01 };
        Figure { id, what, unit, kind: Kind::Fit, published, measure: Box::new(measure) }
    }

    /// A figure that has to come out by itself.
    pub fn predicted(
        id: &'static str,
        what: &'static str,
        unit: &'static str,
        published: Published,
        measure: impl Fn(&Study) -> Result<f64, String> + Sync + Send + 'static,
    ) -> Figure {
        Figure { id, what, unit, kind: Kind::Predict, published, measure: Box::new(measure) }
    }
}

/// How a figure is measured.
pub type Measure = dyn Fn(&Study) -> Result<f64, String> + Sync + Send;

/// A figure with our number, or why there is none.
pub struct Finding<'f> {
    pub figure: &'f Figure,
    pub ours: Result<f64, String>,
}

impl Finding<'_> {
    /// Whether our number agrees with the published one.
    pub fn passes(&self) -> bool {
        self.ours.as_ref().is_ok_and(|ours| self.figure.published.agrees(*ours))
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let Figure { id, what, unit, kind, published, .. } = self.figure;
        let ours = self.ours.as_ref().ok();
        json!({
            "id": id, "kind": kind.word(), "paper": published.json(), "ours": ours,
            "difference": ours.map(|ours| published.difference(*ours)), "pass": self.passes(),
            "what": what, "unit": unit, "error": self.ours.as_ref().err(),
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
    fn a_statement_holds_on_its_side_of_the_bound() {
        assert!(Published::AtMost(1.1).agrees(1.05) && !Published::AtMost(1.1).agrees(1.2));
        assert!(Published::AtLeast(2.0).agrees(2.0) && !Published::AtLeast(2.0).agrees(1.9));
    }
}

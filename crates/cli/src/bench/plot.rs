//! Latency by message size as a picture.

use super::figure::Figures;
use crate::chart::{AxisOf, Chart, Scale};

/// The picture, as SVG.
pub fn latency(figures: &Figures, contestants: &[&str]) -> String {
    let points = |name: &str| -> Vec<(f64, f64)> {
        figures
            .iter()
            .filter(|figure| figure.name == "latency")
            .filter_map(|figure| Some((figure.size.max(1) as f64, figure.of(name)?)))
            .collect()
    };
    Chart {
        title: "Half round trip between two ranks",
        x: AxisOf { title: "message size", scale: Scale::Bytes },
        y: AxisOf { title: "microseconds", scale: Scale::Log },
        lines: contestants.iter().map(|name| (name.to_string(), points(name))).collect(),
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use super::super::figure::Sample;
    use super::*;

    #[test]
    fn every_contestant_has_a_line_through_its_latencies() {
        let mut figures = Figures::default();
        for (size, value) in [(0, 0.2), (8, 0.25), (65536, 9.0)] {
            for name in ["a", "b"] {
                figures.add(name, 2, vec![Sample { name: "latency".into(), size, value, unit: "us".into() }]);
            }
        }
        let svg = latency(&figures, &["a", "b"]);
        assert_eq!(svg.matches("<polyline").count(), 2);
    }
}

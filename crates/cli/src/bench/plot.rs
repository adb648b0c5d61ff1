//! Latency by message size as one self-contained SVG picture, both axes logarithmic.

use std::fmt::Write;

use super::figure::Figures;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 60.0;

/// Colours that people with any kind of colour vision tell apart (Okabe and Ito), and dashes for prints without colour.
const STYLES: [(&str, &str); 6] = [
    ("#0072b2", ""),
    ("#d55e00", "6 3"),
    ("#009e73", "2 3"),
    ("#cc79a7", "8 3 2 3"),
    ("#e69f00", "4 2"),
    ("#56b4e9", "1 2"),
];

/// The picture.
pub fn latency(figures: &Figures, contestants: &[&str]) -> String {
    let points = |name: &str| -> Vec<(f64, f64)> {
        figures
            .iter()
            .filter(|figure| figure.name == "latency")
            .filter_map(|figure| Some((figure.size.max(1) as f64, figure.of(name)?)))
            .collect()
    };
    let lines: Vec<(&str, Vec<(f64, f64)>)> = contestants.iter().map(|name| (*name, points(name))).collect();
    let all: Vec<(f64, f64)> = lines.iter().flat_map(|(_, points)| points.iter().copied()).collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"16\">Half round trip between two ranks</text>\n"
    );
    let (Some(x), Some(y)) = (
        Axis::over(all.iter().map(|p| p.0), LEFT, WIDTH - RIGHT),
        Axis::over(all.iter().map(|p| p.1), HEIGHT - BOTTOM, TOP),
    ) else {
        svg.push_str("<text x=\"70\" y=\"80\">no latency was measured</text>\n</svg>\n");
        return svg;
    };
    grid(&mut svg, &x, &y);
    for ((name, points), (index, (colour, dash))) in lines.iter().zip(STYLES.iter().cycle().enumerate()) {
        let path: Vec<String> =
            points.iter().map(|(size, time)| format!("{:.1},{:.1}", x.at(*size), y.at(*time))).collect();
        _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
            path.join(" ")
        );
        let (at, legend) = (TOP + 20.0 * index as f64, WIDTH - RIGHT + 16.0);
        _ = writeln!(
            svg,
            "<line x1=\"{legend}\" y1=\"{at}\" x2=\"{}\" y2=\"{at}\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-dasharray=\"{dash}\"/><text x=\"{}\" y=\"{}\">{}</text>",
            legend + 30.0,
            legend + 36.0,
            at + 4.0,
            escape(name)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn grid(svg: &mut String, x: &Axis, y: &Axis) {
    for power in x.powers(2.0, 3) {
        let (at, size) = (x.at(power), power as u64);
        let label = match size {
            size if size >= 1 << 20 => format!("{} MiB", size >> 20),
            size if size >= 1 << 10 => format!("{} KiB", size >> 10),
            size => format!("{size} B"),
        };
        _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 20.0
        );
    }
    for power in y.powers(10.0, 1) {
        let at = y.at(power);
        _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{power} us</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0
        );
    }
    _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">message size</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 14.0
    );
}

/// A logarithmic axis from `from` to `to` in the picture.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Option<Axis> {
        let positive = values.filter(|value| *value > 0.0);
        let low = positive.clone().min_by(f64::total_cmp)?;
        let high = positive.max_by(f64::total_cmp)?.max(low * 2.0);
        Some(Axis { low, high, from, to })
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// Every `step`-th power of `base` on the axis.
    fn powers(&self, base: f64, step: i32) -> Vec<f64> {
        let first = (self.low.ln() / base.ln()).ceil() as i32;
        let last = (self.high.ln() / base.ln() + 1e-9).floor() as i32;
        (first..=last).filter(|power| power % step == 0).map(|power| base.powi(power)).collect()
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::figure::Sample;
    use super::*;

    #[test]
    fn the_picture_has_a_line_and_a_name_for_each_contestant() {
        let mut figures = Figures::default();
        for (size, value) in [(0, 0.2), (8, 0.25), (65536, 9.0)] {
            for name in ["a", "b<c"] {
                figures.add(name, 2, vec![Sample { name: "latency".into(), size, value, unit: "us".into() }]);
            }
        }
        let svg = latency(&figures, &["a", "b<c"]);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("b&lt;c") && svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn without_figures_the_picture_says_so() {
        assert!(latency(&Figures::default(), &["a"]).contains("no latency was measured"));
    }
}

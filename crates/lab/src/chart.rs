//! Lines by number as one self-contained SVG picture.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 60.0;

/// The dashes of lines, for prints without colour. The colours are in [`STYLE`].
const DASHES: [&str; 6] = ["", "6 3", "2 3", "8 3 2 3", "4 2", "1 2"];

/// Paper, ink and lines, by day and by night. The colours of lines are those that people with any kind of colour vision tell apart (Okabe and Ito), lighter by night.
const STYLE: &str = "<style>
.paper{fill:#fff} text{fill:#222} .grid{stroke:#ddd}
.line0{stroke:#0072b2} .line1{stroke:#d55e00} .line2{stroke:#009e73} .line3{stroke:#cc79a7} .line4{stroke:#e69f00} .line5{stroke:#56b4e9}
@media (prefers-color-scheme:dark){
.paper{fill:#161b22} text{fill:#e6edf3} .grid{stroke:#3d444d}
.line0{stroke:#4aa8e0} .line1{stroke:#ff8c42} .line2{stroke:#2bc49a} .line3{stroke:#e39ac4} .line4{stroke:#f0b840} .line5{stroke:#bfe3f7}
}
</style>
";

/// How an axis grows and is labelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Evenly, from zero on.
    Linear,
    /// By powers of ten.
    Log,
    /// By powers of two, labelled in bytes.
    Bytes,
    /// By doubling of the least value, each labelled.
    Doubling,
}

/// What an axis shows.
#[derive(Clone, Copy, Debug)]
pub struct AxisOf<'a> {
    /// In words, with the unit.
    pub title: &'a str,
    /// How it grows.
    pub scale: Scale,
}

/// A picture to be drawn.
#[derive(Debug)]
pub struct Chart<'a> {
    /// Above the picture.
    pub title: &'a str,
    /// From left to right.
    pub x: AxisOf<'a>,
    /// From bottom to top.
    pub y: AxisOf<'a>,
    /// Named lines, each a list of points.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

impl Chart<'_> {
    /// The picture as SVG. On logarithmic axes, points that are not positive lie at the low end.
    pub fn svg(&self) -> String {
        let all: Vec<(f64, f64)> = self.lines.iter().flat_map(|(_, points)| points.iter().copied()).collect();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             {STYLE}<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n\
             <text x=\"{LEFT}\" y=\"24\" font-size=\"16\">{}</text>\n",
            escape(self.title)
        );
        let (Some(x), Some(y)) = (
            Axis::over(self.x.scale, all.iter().map(|p| p.0), LEFT, WIDTH - RIGHT),
            Axis::over(self.y.scale, all.iter().map(|p| p.1), HEIGHT - BOTTOM, TOP),
        ) else {
            svg.push_str("<text x=\"80\" y=\"80\">nothing was measured</text>\n</svg>\n");
            return svg;
        };
        self.grid(&mut svg, &x, &y);
        for (index, (name, points)) in self.lines.iter().enumerate() {
            line(&mut svg, name, points, (&x, &y), index);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn grid(&self, svg: &mut String, x: &Axis, y: &Axis) {
        for value in x.ticks() {
            let at = x.at(value);
            _ = writeln!(
                svg,
                "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{}\" class=\"grid\"/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - BOTTOM,
                HEIGHT - BOTTOM + 20.0,
                label(self.x.scale, value)
            );
        }
        for value in y.ticks() {
            let at = y.at(value);
            _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" class=\"grid\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                at + 4.0,
                label(self.y.scale, value)
            );
        }
        _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 14.0,
            escape(self.x.title),
            (TOP + HEIGHT - BOTTOM) / 2.0,
            escape(self.y.title)
        );
    }
}

/// Several pictures on one sheet, two beside each other.
pub fn sheet(charts: &[Chart<'_>]) -> String {
    const COLUMNS: usize = 2;
    let rows = charts.len().div_ceil(COLUMNS).max(1) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n",
        WIDTH * COLUMNS as f64,
        HEIGHT * rows
    );
    if charts.is_empty() {
        svg.push_str("<text x=\"80\" y=\"80\">nothing was measured</text>\n");
    }
    for (number, chart) in charts.iter().enumerate() {
        let (x, y) = (WIDTH * (number % COLUMNS) as f64, HEIGHT * (number / COLUMNS) as f64);
        _ = write!(
            svg,
            "<svg x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">\n{}</svg>\n",
            chart.svg()
        );
    }
    svg + "</svg>\n"
}

fn line(svg: &mut String, name: &str, points: &[(f64, f64)], (x, y): (&Axis, &Axis), index: usize) {
    let (class, dash) = (index % DASHES.len(), DASHES[index % DASHES.len()]);
    let path: Vec<String> = points.iter().map(|(h, v)| format!("{:.1},{:.1}", x.at(*h), y.at(*v))).collect();
    _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" class=\"line{class}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
        path.join(" ")
    );
    let (at, legend) = (TOP + 20.0 * index as f64, WIDTH - RIGHT + 16.0);
    _ = writeln!(
        svg,
        "<line x1=\"{legend}\" y1=\"{at}\" x2=\"{}\" y2=\"{at}\" class=\"line{class}\" stroke-width=\"2\" \
         stroke-dasharray=\"{dash}\"/><text x=\"{}\" y=\"{}\">{}</text>",
        legend + 30.0,
        legend + 36.0,
        at + 4.0,
        escape(name)
    );
}

/// An axis from `from` to `to` in the picture.
struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(scale: Scale, values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Option<Axis> {
        let shown = values.filter(|value| scale == Scale::Linear || *value > 0.0);
        let low = shown.clone().min_by(f64::total_cmp)?;
        let high = shown.max_by(f64::total_cmp)?;
        Some(match scale {
            Scale::Linear => Axis { scale, low: 0.0, high: high.max(f64::MIN_POSITIVE), from, to },
            _ => Axis { scale, low, high: high.max(low * 2.0), from, to },
        })
    }

    fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => value / self.high,
            _ => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + share * (self.to - self.from)
    }

    /// Where lines and labels go: about six of them.
    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = round_up(self.high / 6.0);
                (0..).map(|tick| f64::from(tick) * step).take_while(|value| *value <= self.high).collect()
            }
            Scale::Log => self.powers(10.0),
            Scale::Bytes => self.powers(2.0),
            Scale::Doubling => {
                let doubled = std::iter::successors(Some(self.low), |value| Some(value * 2.0));
                doubled.take_while(|value| *value <= self.high * 1.001).collect()
            }
        }
    }

    fn powers(&self, base: f64) -> Vec<f64> {
        let first = (self.low.ln() / base.ln() - 1e-9).ceil() as i32;
        let last = (self.high.ln() / base.ln() + 1e-9).floor() as i32;
        let step = ((last - first) / 6).max(1);
        (first..=last).filter(|power| power % step == 0).map(|power| base.powi(power)).collect()
    }
}

/// The next of 1, 2, 5, 10, 20, … that is not less.
fn round_up(step: f64) -> f64 {
    let decade = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .iter()
        .map(|factor| factor * decade)
        .find(|rounded| *rounded >= step)
        .unwrap_or(step)
}

fn label(scale: Scale, value: f64) -> String {
    let size = value as u64;
    match scale {
        Scale::Bytes if size >= 1 << 20 => format!("{} MiB", size >> 20),
        Scale::Bytes if size >= 1 << 10 => format!("{} KiB", size >> 10),
        Scale::Bytes => format!("{size} B"),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(lines: Vec<(String, Vec<(f64, f64)>)>, y: Scale) -> String {
        let x = AxisOf { title: "message size", scale: Scale::Bytes };
        Chart { title: "Times", x, y: AxisOf { title: "us", scale: y }, lines }.svg()
    }

    #[test]
    fn the_picture_has_a_line_and_a_name_for_each_series() {
        let points = vec![(1.0, 0.2), (8.0, 0.25), (65536.0, 9.0)];
        let svg = chart(vec![("a".into(), points.clone()), ("b<c".into(), points)], Scale::Log);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(
            svg.contains("b&lt;c") && svg.contains("4 KiB") && svg.trim_end().ends_with("</svg>"),
            "{svg}"
        );
    }

    #[test]
    fn a_linear_axis_starts_at_zero_and_has_round_labels() {
        let svg = chart(vec![("a".into(), vec![(1.0, 3.0), (2.0, 12.0)])], Scale::Linear);
        assert!(svg.contains(">0<") && svg.contains(">2<") && svg.contains(">12<"), "{svg}");
    }

    #[test]
    fn a_doubling_axis_has_its_labels_at_the_doubled_least_value() {
        let line = vec![(12.0, 1.0), (24.0, 2.0), (48.0, 1.0)];
        let axis = |scale| AxisOf { title: "ranks", scale };
        let (x, y) = (axis(Scale::Doubling), axis(Scale::Linear));
        let svg = Chart { title: "Scaling", x, y, lines: vec![("a".into(), line)] }.svg();
        assert!(svg.contains(">12<") && svg.contains(">24<") && svg.contains(">48<"), "{svg}");
    }

    #[test]
    fn a_sheet_has_its_pictures_two_beside_each_other() {
        let axis = AxisOf { title: "x", scale: Scale::Linear };
        let of = |title| Chart { title, x: axis, y: axis, lines: vec![("a".into(), vec![(1.0, 1.0)])] };
        let svg = sheet(&[of("one"), of("two"), of("three")]);
        assert!(svg.starts_with(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\"",
            2.0 * WIDTH,
            2.0 * HEIGHT
        )));
        assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
        for title in ["one", "two", "three"] {
            assert!(svg.contains(title), "{svg}");
        }
    }

    #[test]
    fn without_points_the_picture_says_so() {
        assert!(chart(vec![("a".into(), vec![])], Scale::Log).contains("nothing was measured"));
    }
}

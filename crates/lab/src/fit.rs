//! `corelace fit`: the law t = K N + h of messages between two places of a chip; with `--measured`, a chip's numbers from measured messages.

mod data;
mod measured;
mod squares;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::lab::{Lab, Law, Line, chip_argument, ping_pong};
use measured::{Fitted, Fitting, Knowledge};

/// The arguments of `corelace fit`.
#[derive(Args, Debug)]
pub struct FitArgs {
    /// The chip: a name or a description.
    #[arg(long, default_value = "mppa256-andey", value_name = "NAME|FILE.toml")]
    chip: String,
    /// How messages travel.
    #[arg(long, default_value = "auto", value_parser = PROTOCOLS)]
    protocol: String,
    /// One end: the number of a cluster, or io.
    #[arg(long, default_value = "0", value_name = "CLUSTER|io")]
    from: String,
    /// The other end.
    #[arg(long, default_value = "1", value_name = "CLUSTER|io")]
    to: String,
    /// Message sizes in bytes.
    #[arg(long, default_value = SIZES, value_name = "BYTES,…")]
    sizes: String,
    /// Exchanges of each size.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Print the laws and the points as JSON.
    #[arg(long)]
    json: bool,
    /// Fit the chip's numbers to measured times: a file with the columns from, to, method, bytes and time_UNIT.
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["protocol", "from", "to", "sizes", "repeat"])]
    measured: Option<PathBuf>,
    /// With --measured: which numbers may change (default: those of the software and of the interfaces that nobody has published).
    #[arg(long, value_name = "KEY,…", value_delimiter = ',', requires = "measured")]
    numbers: Vec<String>,
    /// With --measured: write the description with the fitted numbers.
    #[arg(long, value_name = "FILE.toml", requires = "measured")]
    write: Option<PathBuf>,
}

const PROTOCOLS: [&str; 7] = ["auto", "pe", "dma", "eager", "lazy", "lwmpi", "lwmpi-unopt"];
const SIZES: &str = "0,64,256,1024,4096,16384,65536,131072,262144";

/// Measures both directions and prints their laws.
pub fn main(args: &FitArgs) -> Result<u8, String> {
    if let Some(file) = &args.measured {
        return fit_measured(args, file);
    }
    let lab = Lab::new()?;
    let protocol = PROTOCOLS.into_iter().find(|name| *name == args.protocol).expect("clap has checked it");
    let chip = chip_argument(&args.chip);
    let trial = ping_pong::trial(&chip, (&args.from, &args.to), protocol, &args.sizes, args.repeat)?;
    let run = lab.run(&trial)?;
    lab.clear_progress();
    let mut directions = Vec::new();
    for (from, to) in [(&args.from, &args.to), (&args.to, &args.from)] {
        let points: Result<Vec<Point>, String> =
            ping_pong::direction(&run, from).iter().map(Point::of).collect();
        let points = points?;
        let law = Law::through(&points.iter().map(|point| (point.bytes, point.send)).collect::<Vec<_>>())
            .ok_or_else(|| format!("--sizes is \"{}\", expected at least two sizes", args.sizes))?;
        directions.push(Direction { from, to, law, points });
    }
    if args.json {
        let list: Vec<serde_json::Value> = directions.iter().map(Direction::json).collect();
        cli::say(&(serde_json::to_string_pretty(&list).expect("plain data") + "\n"))?;
    } else {
        let title =
            format!("{}, protocol {protocol}: duration of the send call, t = K N + h cycles\n", args.chip);
        cli::say(&directions.iter().fold(title, |text, direction| text + &direction.text()))?;
    }
    Ok(0)
}

/// Fits a description to measured times and says what they determine.
fn fit_measured(args: &FitArgs, file: &std::path::Path) -> Result<u8, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let in_file = |error: String| format!("{}: {error}", file.display());
    let fitting = Fitting::new(&chip_argument(&args.chip), &text, &args.numbers).map_err(in_file)?;
    let lab = Lab::new()?;
    lab.expect(fitting.pieces());
    let fitted = fitting.fit(&lab, &file.display().to_string())?;
    lab.clear_progress();
    if let Some(copy) = &args.write {
        std::fs::write(copy, &fitted.text).map_err(|error| format!("--write {}: {error}", copy.display()))?;
    }
    cli::say(&if args.json { fitted.json() } else { fitted.table(&args.chip, fitting.points.len()) })?;
    Ok(0)
}

impl Fitted {
    fn table(&self, chip: &str, points: usize) -> String {
        let mut text = format!(
            "{chip}: {points} measured times, each weighted by its size; +- and intervals are 95 %\n\n"
        );
        for law in &self.laws {
            let way = format!("{} -> {} {}", law.way.from, law.way.to, law.way.method);
            text += &format!(
                "{way:<18}  K = {:.4} +- {:.4} cycles/B   h = {:.0} +- {:.0} cycles   worst point off by {:.2} % from the line, {:.2} % from the model\n",
                law.per_byte.0,
                law.per_byte.1,
                law.per_call.0,
                law.per_call.1,
                100.0 * law.worst.0,
                100.0 * law.worst.1
            );
        }
        let width = self.numbers.iter().map(|number| number.path.len()).max().unwrap_or(0);
        text += &format!("\n{:<width$}  {:>12}  {:>12}  \n", "number", "was", "fitted");
        for number in &self.numbers {
            let known = match number.knowledge {
                Knowledge::Within(half) => {
                    format!("{} to {}, determined", digits(number.is - half), digits(number.is + half))
                }
                Knowledge::InSums => "not determined, only sums with it".to_owned(),
                Knowledge::Untouched => continue,
            };
            text += &format!(
                "{:<width$}  {:>12}  {:>12}  {:<11}  {known}\n",
                number.path,
                digits(number.was),
                digits(number.is),
                number.unit
            );
        }
        let untouched = self.numbers.iter().filter(|number| number.knowledge == Knowledge::Untouched);
        let untouched: Vec<&str> = untouched.map(|number| number.path.as_str()).collect();
        if !untouched.is_empty() {
            text += &format!("\nnothing that was measured depends on {}\n", untouched.join(", "));
        }
        if !self.sums.is_empty() {
            text += "\ndetermined, while their parts are not:\n";
        }
        for sum in &self.sums {
            text +=
                &format!("  {} = {} +- {} {}\n", sum.what, digits(sum.value), digits(sum.within), sum.unit);
        }
        text
    }

    fn json(&self) -> String {
        let laws: Vec<serde_json::Value> = self
            .laws
            .iter()
            .map(|law| {
                json!({
                    "from": law.way.from, "to": law.way.to, "method": law.way.method,
                    "K": law.per_byte.0, "K_within": law.per_byte.1, "h": law.per_call.0, "h_within": law.per_call.1,
                    "worst_from_line": law.worst.0, "worst_from_model": law.worst.1,
                })
            })
            .collect();
        let numbers: Vec<serde_json::Value> = self
            .numbers
            .iter()
            .map(|number| {
                let (determined, within) = match number.knowledge {
                    Knowledge::Within(half) => ("itself", Some(half)),
                    Knowledge::InSums => ("in sums", None),
                    Knowledge::Untouched => ("no", None),
                };
                json!({
                    "number": number.path, "was": number.was, "fitted": number.is, "unit": number.unit,
                    "determined": determined, "within": within,
                })
            })
            .collect();
        let sums: Vec<serde_json::Value> = self
            .sums
            .iter()
            .map(|sum| json!({ "sum": sum.what, "value": sum.value, "within": sum.within, "unit": sum.unit }))
            .collect();
        let all = json!({ "laws": laws, "numbers": numbers, "sums": sums });
        serde_json::to_string_pretty(&all).expect("plain data") + "\n"
    }
}

/// A number with as many digits as say something.
fn digits(number: f64) -> String {
    match number.abs() {
        size if size >= 1000.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.4}"),
    }
}

/// One size.
struct Point {
    bytes: f64,
    /// Duration of the send call.
    send: f64,
    half_trip: f64,
}

impl Point {
    fn of(line: &Line) -> Result<Point, String> {
        Ok(Point {
            bytes: line.number("bytes")?,
            send: line.number("cycles")?,
            half_trip: line.number("half_cycles")?,
        })
    }
}

struct Direction<'a> {
    from: &'a str,
    to: &'a str,
    law: Law,
    points: Vec<Point>,
}

impl Direction<'_> {
    fn text(&self) -> String {
        let Direction { from, to, law, points } = self;
        let mut text = format!(
            "{from:>4} -> {to:<4}  K = {:.4} +- {:.4} cycles/B   h = {:.0} +- {:.0} cycles   worst point off by {:.2} %\n\
             {:>14}  {:>12}  {:>12}\n",
            law.per_byte,
            law.per_byte_error,
            law.per_call,
            law.per_call_error,
            100.0 * law.worst,
            "bytes",
            "send call",
            "half trip"
        );
        for point in points {
            text += &format!("{:>14}  {:>12.0}  {:>12.0}\n", point.bytes, point.send, point.half_trip);
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let Direction { from, to, law, points } = self;
        let points: Vec<serde_json::Value> = points
            .iter()
            .map(|point| json!({ "bytes": point.bytes, "send": point.send, "half_trip": point.half_trip }))
            .collect();
        json!({
            "from": from, "to": to, "K": law.per_byte, "K_error": law.per_byte_error, "h": law.per_call,
            "h_error": law.per_call_error, "worst": law.worst, "points": points,
        })
    }
}

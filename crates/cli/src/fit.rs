//! `corelace fit`: the law t = K N + h of messages between two places of a chip.

use clap::Args;
use serde_json::json;

use crate::lab::{Lab, Law, Line, chip_argument, ping_pong};

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
}

const PROTOCOLS: [&str; 7] = ["auto", "pe", "dma", "eager", "lazy", "lwmpi", "lwmpi-unopt"];
const SIZES: &str = "0,64,256,1024,4096,16384,65536,131072,262144";

/// Measures both directions and prints their laws.
pub fn main(args: &FitArgs) -> Result<u8, String> {
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
        crate::say(&(serde_json::to_string_pretty(&list).expect("plain data") + "\n"))?;
    } else {
        let title =
            format!("{}, protocol {protocol}: duration of the send call, t = K N + h cycles\n", args.chip);
        crate::say(&directions.iter().fold(title, |text, direction| text + &direction.text()))?;
    }
    Ok(0)
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

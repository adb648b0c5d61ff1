//! Curves as a table, as JSON and as a picture.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::curve::Point;
use super::{Found, Row};
use crate::chart::{AxisOf, Chart, Scale};

/// Lines until both models are saturated, and the sentence.
pub(super) fn table(found: &Found) -> String {
    let Found { chip, traffic, bytes, flits, senders, buffers, quiet, .. } = found;
    let mut text = format!(
        "{chip}: {traffic} traffic of packets of {bytes} bytes ({flits} flits), {senders} senders\n\
         alone a packet takes {:.1} cycles; the busiest link bounds the load to {:.3} of what a sender's interface can send\n\n",
        quiet.latency, quiet.bound
    );
    let title = format!(
        "{} channel{} of {} flits",
        buffers.channels,
        if buffers.channels == 1 { "" } else { "s" },
        buffers.flits
    );
    _ = writeln!(text, "         {:<32}  {title}", "never full (fast)");
    let head = format!("{:>10}  {:>10}  {:>8}", "mean", "99 %", "accepted");
    _ = writeln!(text, "{:>7}  {head}  {head}  {:>8}", "load", "differs");
    for row in shown(&found.rows) {
        let Row { load, fast, buffered } = row;
        let differs = match fast.saturated || buffered.saturated {
            true => "-".to_owned(),
            false => format!("{:.1} %", 100.0 * (fast.mean / buffered.mean - 1.0).abs()),
        };
        _ = writeln!(text, "{load:>7.3}  {}  {}  {differs:>8}", cells(fast), cells(buffered));
    }
    text + "\n" + &found.sentence()
}

/// Rows until both models have been saturated once.
fn shown(rows: &[Row]) -> &[Row] {
    let last = rows.iter().position(|row| row.fast.saturated && row.buffered.saturated);
    &rows[..last.map_or(rows.len(), |last| last + 1)]
}

fn cells(point: &Point) -> String {
    if point.saturated {
        return format!("{:>10}  {:>10}  {:>8.3}", "saturated", "", point.accepted);
    }
    format!("{:>10.1}  {:>10.1}  {:>8.3}", point.mean, point.high, point.accepted)
}

/// Everything that was measured.
pub(super) fn json(found: &Found) -> String {
    let point = |point: &Point| {
        let Point { offered, accepted, mean, high, saturated } = point;
        json!({ "offered": offered, "accepted": accepted, "mean": mean, "p99": high, "saturated": saturated })
    };
    let row =
        |row: &Row| json!({ "load": row.load, "fast": point(&row.fast), "buffered": point(&row.buffered) });
    let Found { chip, traffic, bytes, flits, senders, buffers, quiet, rows } = found;
    let value = json!({
        "chip": chip, "traffic": traffic, "bytes": bytes, "flits": flits, "senders": senders,
        "buffers": buffers.flits, "channels": buffers.channels, "alone": quiet.latency, "bound": quiet.bound,
        "safe": { "mean": found.safe(|point| point.mean), "p99": found.safe(|point| point.high) },
        "saturated_from": { "fast": found.saturation(|row| &row.fast), "buffered": found.saturation(|row| &row.buffered) },
        "throughput": { "fast": found.throughput(|row| &row.fast), "buffered": found.throughput(|row| &row.buffered) },
        "points": rows.iter().map(row).collect::<Vec<Value>>(),
    });
    serde_json::to_string_pretty(&value).expect("plain data") + "\n"
}

/// Mean and 99th percentile of both models over the load, as far as they are not saturated.
pub(super) fn plot(found: &Found) -> String {
    let line = |name: &str, model: fn(&Row) -> &Point, value: fn(&Point) -> f64| {
        let rows = found.rows.iter().take_while(|row| !model(row).saturated);
        (name.to_owned(), rows.map(|row| (row.load, value(model(row)))).collect())
    };
    let title = format!("{}: {} traffic", found.chip, found.traffic);
    Chart {
        title: &title,
        x: AxisOf { title: "load (share of what an interface sends)", scale: Scale::Linear },
        y: AxisOf { title: "latency (cycles)", scale: Scale::Linear },
        lines: vec![
            line("fast, mean", |row| &row.fast, |point| point.mean),
            line("buffers, mean", |row| &row.buffered, |point| point.mean),
            line("fast, 99 %", |row| &row.fast, |point| point.high),
            line("buffers, 99 %", |row| &row.buffered, |point| point.high),
        ],
    }
    .svg()
}

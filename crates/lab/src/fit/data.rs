//! Measured times of messages, from a file of comma-separated values.
//!
//! The header names the columns, in any order: `from`, `to`, `method`, `bytes`, and the time with its unit, `time_us` for the duration of the send call or
//! `half_trip_us` for half a round trip. Units are `cycles`, `ns`, `us`, `ms` and `s`. Other columns and lines that begin with `#` are passed over.

use super::PROTOCOLS;

/// One measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// From where to where, and how.
    pub way: Way,
    /// The message.
    pub bytes: u64,
    /// Cycles of the chip's clock.
    pub cycles: f64,
}

/// From where to where, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    /// A cluster's number, or io.
    pub from: String,
    /// The other end.
    pub to: String,
    /// As `--protocol` names it.
    pub method: &'static str,
}

/// What the times are of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// The send call.
    Send,
    /// Half of a round trip.
    HalfTrip,
}

impl Measure {
    /// Its name in a line of the ping-pong.
    pub fn key(self) -> &'static str {
        match self {
            Measure::Send => "cycles",
            Measure::HalfTrip => "half_cycles",
        }
    }
}

/// All measurements of a file; `clock_hz` is what cycles are of.
pub fn read(text: &str, clock_hz: u64) -> Result<(Measure, Vec<Point>), String> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let (_, header) = lines.next().ok_or("it is empty, expected a header: from,to,method,bytes,time_us")?;
    let header: Vec<&str> = header.split(',').map(str::trim).collect();
    let column = |name: &str| {
        let found = header.iter().position(|column| *column == name);
        found.ok_or_else(|| format!("the header has no column \"{name}\": {}", header.join(",")))
    };
    let (from, to, method, bytes) = (column("from")?, column("to")?, column("method")?, column("bytes")?);
    let (time, measure, scale) = time_column(&header, clock_hz)?;
    let mut points = Vec::new();
    for (number, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |column: usize| {
            cells
                .get(column)
                .copied()
                .ok_or_else(|| format!("line {number}: {} cells, expected {}", cells.len(), header.len()))
        };
        let refuse = |what: &str, column: usize| format!("line {number}: \"{}\" is no {what}", cells[column]);
        let known = |name: &str| PROTOCOLS.into_iter().find(|known| *known == name);
        let way = Way {
            from: cell(from)?.to_owned(),
            to: cell(to)?.to_owned(),
            method: known(cell(method)?).ok_or_else(|| {
                format!("{}, expected one of: {}", refuse("method", method), PROTOCOLS.join(" "))
            })?,
        };
        let size = cell(bytes)?.parse().map_err(|_| refuse("number of bytes", bytes))?;
        let duration: Option<f64> =
            cell(time)?.parse().ok().filter(|time| *time > 0.0 && f64::is_finite(*time));
        let duration = duration.ok_or_else(|| refuse("time above 0", time))?;
        points.push(Point { way, bytes: size, cycles: duration * scale });
    }
    Ok((measure, points))
}

/// Which column is the time, what of, and how many cycles its unit has.
fn time_column(header: &[&str], clock_hz: u64) -> Result<(usize, Measure, f64), String> {
    let hz = clock_hz as f64;
    let units = [("cycles", 1.0), ("ns", hz * 1e-9), ("us", hz * 1e-6), ("ms", hz * 1e-3), ("s", hz)];
    for (index, column) in header.iter().enumerate() {
        for (name, measure) in [("time_", Measure::Send), ("half_trip_", Measure::HalfTrip)] {
            let unit = column.strip_prefix(name);
            if let Some((_, scale)) = units.iter().find(|(known, _)| unit == Some(*known)) {
                return Ok((index, measure, *scale));
            }
        }
    }
    Err(format!(
        "the header has no time: {}, expected time_UNIT or half_trip_UNIT with cycles, ns, us, ms or s as unit",
        header.join(",")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_may_come_in_any_order_and_times_in_any_unit() {
        let text =
            "# board 7\nbytes,method,from,to,who,time_us\n64, dma, 0, 15, me, 2.5\n\n64,pe,io,0,me,5\n";
        let (measure, points) = read(text, 400_000_000).unwrap();
        assert_eq!(measure, Measure::Send);
        assert_eq!(points.len(), 2);
        assert_eq!(points[0].way, Way { from: "0".into(), to: "15".into(), method: "dma" });
        assert_eq!((points[0].bytes, points[0].cycles, points[1].cycles), (64, 1000.0, 2000.0));
        let halves = read("from,to,method,bytes,half_trip_cycles\n0,1,pe,1,7\n", 1).unwrap();
        assert_eq!((halves.0, halves.1[0].cycles), (Measure::HalfTrip, 7.0));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let refusal = |text: &str| read(text, 1).unwrap_err();
        assert!(refusal("").contains("empty"));
        assert!(refusal("from,to,bytes,time_us\n").contains("no column \"method\""));
        assert!(refusal("from,to,method,bytes,time\n").contains("expected time_UNIT"));
        let header = "from,to,method,bytes,time_us\n";
        assert_eq!(refusal(&format!("{header}0,1,pe\n")), "line 2: 3 cells, expected 5");
        assert!(
            refusal(&format!("{header}0,1,psm,1,1\n"))
                .starts_with("line 2: \"psm\" is no method, expected one of: auto pe")
        );
        assert_eq!(refusal(&format!("{header}0,1,pe,1,-1\n")), "line 2: \"-1\" is no time above 0");
    }
}

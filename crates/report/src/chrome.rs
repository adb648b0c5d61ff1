//! The trace in the event format of Chrome, which Perfetto and `chrome://tracing` read: a thread a rank, a slice a call and
//! a wait, a flow a message, counters for power and memory.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::run::{Message, Run};

/// Writes it.
pub fn chrome(run: &Run, output: &mut impl Write) -> io::Result<()> {
    let mut events = Events { output, first: true };
    let microseconds = |ticks: u64| run.seconds(ticks) * 1e6;
    events.begin()?;
    events.write(json!({"ph": "M", "pid": 0, "name": "process_name", "args": {"name": run.job.command}}))?;
    for (number, rank) in run.ranks.iter().enumerate() {
        let name = format!("rank {number}");
        events.write(
            json!({"ph": "M", "pid": 0, "tid": number, "name": "thread_name", "args": {"name": name}}),
        )?;
        let slice = |name: &str, kind: &str, begin: u64, end: u64, args: Value| {
            json!({"ph": "X", "pid": 0, "tid": number, "name": name, "cat": kind, "ts": microseconds(begin),
                   "dur": microseconds(end - begin), "args": args})
        };
        for call in &rank.calls {
            let args = json!({"site": run.name(call.site)});
            events.write(slice(run.name(call.function), "call", call.begin, call.end, args))?;
        }
        for wait in &rank.waits {
            let args = wait.held.map_or(json!({}), |held| json!({"for": held.by, "why": held.how.label()}));
            events.write(slice("waiting", "wait", wait.begin, wait.end, args))?;
        }
        // Epochs overlap calls and each other, so they are tracks of their own.
        for (index, epoch) in rank.epochs.iter().enumerate() {
            let id = format!("epoch {number} {index}");
            let args = json!({"window": epoch.window, "peer": epoch.peer});
            for (phase, time) in [("b", epoch.begin), ("e", epoch.end)] {
                events.write(
                    json!({"ph": phase, "pid": 0, "tid": number, "id": id, "name": epoch.kind.label(),
                    "cat": "epoch", "ts": microseconds(time), "args": args}),
                )?;
            }
        }
        for (index, region) in rank.regions.iter().enumerate() {
            let id = format!("region {number} {index}");
            for (phase, time) in [("b", region.begin), ("e", region.end)] {
                events.write(
                    json!({"ph": phase, "pid": 0, "tid": number, "id": id, "name": format!("region {}", region.number),
                    "cat": "region", "ts": microseconds(time)}),
                )?;
            }
        }
        for phase in &rank.phases {
            events.write(json!({"ph": "i", "pid": 0, "tid": number, "s": "t", "cat": "collective",
                "name": format!("{} round {}", run.name(phase.collective), phase.round), "ts": microseconds(phase.time)}))?;
        }
    }
    for (id, message) in run.messages.iter().enumerate() {
        if let Some([start, finish]) = flow(id, message, &microseconds) {
            events.write(start)?;
            events.write(finish)?;
        }
    }
    for (id, access) in run.accesses.iter().enumerate() {
        let args =
            json!({"from": access.from, "to": access.to, "bytes": access.bytes, "window": access.window});
        for (phase, rank, time) in [("s", access.from, access.begin), ("f", access.to, access.end)] {
            events
                .write(json!({"ph": phase, "bp": "e", "pid": 0, "tid": rank, "id": format!("access {id}"),
                "name": access.kind.label(), "cat": "one-sided", "ts": microseconds(time), "args": args}))?;
        }
    }
    if let Some(chip) = &run.chip {
        for &(time, microwatts) in &chip.power {
            events.write(json!({"ph": "C", "pid": 0, "name": "power", "ts": microseconds(time), "args": {"W": microwatts as f64 * 1e-6}}))?;
        }
        for &(time, place, bytes) in &chip.memory {
            let name = format!("memory {}", chip.plan.places[place as usize].name);
            events.write(json!({"ph": "C", "pid": 0, "name": name, "ts": microseconds(time), "args": {"bytes": bytes}}))?;
        }
    }
    events.end()
}

fn flow(id: usize, message: &Message, microseconds: &impl Fn(u64) -> f64) -> Option<[Value; 2]> {
    let (start, end) = (message.send_start?, message.arrived.or(message.matched)?);
    let args = json!({"from": message.from, "to": message.to, "tag": message.tag, "bytes": message.bytes,
        "protocol": message.protocol.label()});
    let one = |phase: &str, rank: u32, time: u64| {
        json!({"ph": phase, "bp": "e", "pid": 0, "tid": rank, "id": id, "name": "message", "cat": "message",
               "ts": microseconds(time), "args": args})
    };
    Some([one("s", message.from, start), one("f", message.to, end)])
}

struct Events<'a, W> {
    output: &'a mut W,
    first: bool,
}

impl<W: Write> Events<'_, W> {
    fn begin(&mut self) -> io::Result<()> {
        self.output.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")
    }

    fn write(&mut self, event: Value) -> io::Result<()> {
        let separator: &[u8] = if std::mem::take(&mut self.first) { b"" } else { b",\n" };
        self.output.write_all(separator)?;
        Ok(serde_json::to_writer(&mut *self.output, &event)?)
    }

    fn end(&mut self) -> io::Result<()> {
        self.output.write_all(b"\n]}\n")
    }
}

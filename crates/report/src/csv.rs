//! Calls, waits, messages, one-sided operations and epochs as comma-separated values, for spreadsheets and data frames: a row each, times in seconds.

use std::io::{self, Write};

use crate::run::{Run, Side};

const HEADER: &str = "kind,rank,begin_s,end_s,function,site,peer,tag,bytes,protocol";

/// Writes it.
pub fn csv(run: &Run, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "{HEADER}")?;
    let time = |ticks: u64| format!("{:.9}", run.seconds(ticks));
    for (number, rank) in run.ranks.iter().enumerate() {
        for call in &rank.calls {
            let (function, site) = (quoted(run.name(call.function)), quoted(run.name(call.site)));
            writeln!(output, "call,{number},{},{},{function},{site},,,,", time(call.begin), time(call.end))?;
        }
        for wait in &rank.waits {
            let call = wait.call.map(|call| rank.calls[call as usize]);
            let name = |index: Option<u32>| index.map_or(String::new(), |index| quoted(run.name(index)));
            let (function, site) = (name(call.map(|call| call.function)), name(call.map(|call| call.site)));
            let peer = wait.ended_by.map_or(String::new(), |(message, side)| {
                let message = &run.messages[message as usize];
                match side {
                    Side::Sender => message.to.to_string(),
                    Side::Receiver => message.from.to_string(),
                }
            });
            writeln!(
                output,
                "wait,{number},{},{},{function},{site},{peer},,,",
                time(wait.begin),
                time(wait.end)
            )?;
        }
    }
    for (number, rank) in run.ranks.iter().enumerate() {
        for epoch in &rank.epochs {
            let peer = epoch.peer.map_or(String::new(), |peer| peer.to_string());
            let (begin, end) = (time(epoch.begin), time(epoch.end));
            writeln!(output, "epoch,{number},{begin},{end},{},,{peer},,,", epoch.kind.label())?;
        }
        for (begin, held) in rank.waits.iter().filter_map(|wait| Some((wait.begin, wait.held?))) {
            let (begin, end) = (time(begin), time(held.until));
            writeln!(output, "held,{number},{begin},{end},{},,{},,,", held.how.label(), held.by)?;
        }
    }
    for access in &run.accesses {
        writeln!(
            output,
            "access,{},{},{},{},,{},,{},",
            access.from,
            time(access.begin),
            time(access.end),
            access.kind.label(),
            access.to,
            access.bytes
        )?;
    }
    for message in &run.messages {
        let optional = |ticks: Option<u64>| ticks.map_or(String::new(), time);
        writeln!(
            output,
            "message,{},{},{},,,{},{},{},{}",
            message.from,
            optional(message.send_start),
            optional(message.arrived),
            message.to,
            message.tag,
            message.bytes,
            quoted(message.protocol.label()),
        )?;
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

//! Calls, waits, messages, one-sided operations and epochs as comma-separated values, for spreadsheets and data frames: a row each, times in seconds.

use std::io::{self, Write};

use crate::analysis::Analysis;
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
        for region in &rank.regions {
            let (begin, end) = (time(region.begin), time(region.end));
            writeln!(output, "region,{number},{begin},{end},{},,,,,", region.number)?;
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

/// Writes the profile instead: a row for each function and call site, longest first, times in seconds.
pub fn csv_profile(run: &Run, analysis: &Analysis, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "function,site,calls,bytes,total_s,mean_s,longest_s,waiting_s")?;
    let name = |index: u32| quoted(run.names.get(index as usize).map_or("", String::as_str));
    for place in &analysis.profile {
        writeln!(
            output,
            "{},{},{},{},{:.9},{:.9},{:.9},{:.9}",
            name(place.function),
            name(place.site),
            place.calls,
            place.bytes,
            run.seconds(place.ticks),
            place.mean() / run.job.ticks_per_second.max(1) as f64,
            run.seconds(place.longest),
            run.seconds(place.waited),
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

//! What became of a replayed run: beside what was recorded, as text and as JSON.

use std::fmt::Write;

use serde_json::json;
use trace::Job;

use super::ReplayArgs;
use super::reader::Tally;
use super::recorded::Recorded;

/// A run where it was recorded and on another machine.
pub struct Replayed<'a> {
    pub job: &'a Job,
    pub chip: &'a str,
    pub recorded: &'a Recorded,
    /// By rank, on the other machine.
    pub seconds: &'a [f64],
    pub args: &'a ReplayArgs,
}

/// A run in three numbers, in seconds.
struct Account {
    /// Of the rank that took longest.
    time: f64,
    slowest: usize,
    /// The mean of all ranks.
    computing: f64,
    inside: f64,
}

impl Account {
    fn of(ranks: &[(f64, f64)]) -> Account {
        let mean = |sum: f64| sum / ranks.len().max(1) as f64;
        let (slowest, time) = ranks
            .iter()
            .map(|rank| rank.0)
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or_default();
        let computing = mean(ranks.iter().map(|rank| rank.1).sum());
        Account { time, slowest, computing, inside: mean(ranks.iter().map(|rank| rank.0 - rank.1).sum()) }
    }
}

impl Replayed<'_> {
    fn before(&self) -> Vec<(f64, f64)> {
        let second = self.job.ticks_per_second as f64;
        let times = &self.recorded.times;
        times.iter().map(|times| (times.all as f64 / second, times.computing as f64 / second)).collect()
    }

    fn after(&self) -> Vec<(f64, f64)> {
        let computing = self.before().into_iter().map(|(_, computing)| computing * self.args.computing);
        self.seconds.iter().copied().zip(computing).collect()
    }

    pub fn text(&self) -> String {
        let (before, after) = (Account::of(&self.before()), Account::of(&self.after()));
        let Tally { messages, bytes, collectives, accesses, left_out } = self.recorded.tally;
        let mut text = String::new();
        let mut line = |line: String| _ = writeln!(text, "{line}");
        let where_from = match &self.job.chip {
            Some(chip) => format!("on {}", chip.name),
            None => format!("by ranks of kind {}", self.job.mode),
        };
        line(format!(
            "{} ({} ranks, recorded {where_from}) on {}",
            self.job.command, self.job.ranks, self.chip
        ));
        line(String::new());
        line(format!("{:<28}{:>14}{:>14}{:>10}", "", "recorded", "replayed", "ratio"));
        for (name, before, after) in [
            ("slowest rank", before.time, after.time),
            ("computing, mean of ranks", before.computing, after.computing),
            ("inside MPI, mean of ranks", before.inside, after.inside),
        ] {
            let ratio = if before > 0.0 { format!("{:.2}", after / before) } else { "-".into() };
            line(format!("{name:<28}{:>14}{:>14}{ratio:>10}", duration(before), duration(after)));
        }
        line(format!("{:<28}{:>14}{:>14}", "which rank is slowest", before.slowest, after.slowest));
        line(String::new());
        line(format!(
            "played: {messages} messages with {bytes} bytes, {collectives} calls of collectives, {accesses} one-sided operations"
        ));
        if left_out > 0 {
            line(format!(
                "left out: {left_out} messages of which the trace does not hold both sides, or beside MPI"
            ));
        }
        text
    }

    pub fn json(&self) -> String {
        let ranks: Vec<_> = self
            .before()
            .into_iter()
            .zip(self.after())
            .map(|(before, after)| {
                json!({
                    "recorded": {"seconds": before.0, "computing": before.1},
                    "replayed": {"seconds": after.0, "computing": after.1},
                })
            })
            .collect();
        let seconds = |ranks: &[(f64, f64)]| Account::of(ranks).time;
        let Tally { messages, bytes, collectives, accesses, left_out } = self.recorded.tally;
        let all = json!({
            "command": self.job.command,
            "chip": self.chip,
            "computing": self.args.computing,
            "recorded": {"seconds": seconds(&self.before())},
            "replayed": {"seconds": seconds(&self.after())},
            "ranks": ranks,
            "played": {"messages": messages, "bytes": bytes, "collectives": collectives, "accesses": accesses},
            "left_out": left_out,
        });
        format!("{all:#}\n")
    }
}

/// Three digits and a unit.
fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    format!("{value:.3} {unit}")
}

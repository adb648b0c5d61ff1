//! `corelace bench --cliffs`: real times of collectives at sizes and numbers of members that hardly differ, and where a little more takes more than twice as long.
//!
//! Sizes are 2^k and 2^k + 8 bytes. A *cliff* is a call that takes more than twice the time of its neighbour, beyond what there is more to do: twice the bytes may take twice as long again, a
//! member more as many times longer as there are more pairs. Whatever looks like one is measured once more, both neighbours in turn, before it is told.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::contestant::{Contestant, Installation, Turn};
use super::machine::Machine;
use super::progress::Bar;
use super::suite::CROSSING;
use crate::runners::Runners;

/// How to look.
pub struct Wish<'w> {
    /// How often both neighbours of what looks like a cliff are measured again.
    pub rounds: u32,
    pub quick: bool,
    /// When to end; what was found until then is told.
    pub limit: Duration,
    /// Only collectives with this in their name.
    pub only: Option<&'w str>,
    /// What ranks are.
    pub ranks: &'w str,
}

/// The collectives, and whether their sizes are those of blocks.
const CALLS: [(&str, bool); 4] =
    [("allreduce", false), ("bcast", false), ("allgather", true), ("alltoall", true)];

const MEMBERS: std::ops::RangeInclusive<u32> = 2..=16;

/// The largest size is 2 to this power.
const LARGEST: u32 = 22;

/// Bytes of all blocks of a member together, at most.
const BLOCKS: u64 = 16 << 20;

/// A call: its collective, members and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Call {
    name: &'static str,
    members: u32,
    bytes: u64,
}

/// Two calls of which the second has a little more to do.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Pair {
    before: Call,
    after: Call,
    /// How many times more.
    more: f64,
}

/// Looks for cliffs, and tells them. The status is that of success: what a cliff is worth is for people to say.
pub fn main(wish: &Wish<'_>) -> Result<u8, String> {
    let calls: Vec<(&'static str, bool)> =
        CALLS.into_iter().filter(|(name, _)| wish.only.is_none_or(|text| name.contains(text))).collect();
    if calls.is_empty() {
        let only = wish.only.unwrap_or_default();
        let known = CALLS.map(|(name, _)| name).join(", ");
        return Err(format!("--only is \"{only}\", expected a part of one of: {known}"));
    }
    let prefix = cli::prefix::locate()?;
    let runners = Runners::new()?;
    let workshop = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let mut installation = Installation::ours(prefix.root());
    installation.build(workshop.path(), CROSSING)?;
    let mut look = Look {
        installation,
        workshop: workshop.path(),
        runners: &runners,
        wish,
        begin: Instant::now(),
        times: HashMap::new(),
    };
    let mut bar = Bar::of(calls.len() * MEMBERS.count());
    let mut failures = Vec::new();
    for members in MEMBERS {
        for (name, has_blocks) in &calls {
            bar.show(&format!("{name} on {members} ranks"));
            failures.extend(look.measure(name, members, &sizes(members, *has_blocks)).err());
            if let Some(status) = runners.status_if_interrupted() {
                bar.clear();
                return Ok(status);
            }
            bar.advance();
        }
    }
    bar.clear();
    let mut found = Vec::new();
    let mut unsure = 0;
    for pair in calls.iter().flat_map(|(name, has_blocks)| pairs(name, *has_blocks)) {
        if look.is_cliff(&pair).is_none() {
            continue;
        }
        match look.again(&pair) {
            Ok(()) => found.extend(look.is_cliff(&pair).map(|steepness| (steepness, pair))),
            Err(why) => {
                unsure += 1;
                failures.push(why);
            }
        }
    }
    failures.dedup();
    if unsure > 0 {
        failures.push(format!("{unsure} calls once more that looked like cliffs"));
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    cli::say(&text(&look.times, &found, &failures))?;
    Ok(0)
}

/// What calls are measured with.
struct Look<'l> {
    installation: Installation,
    workshop: &'l Path,
    runners: &'l Runners,
    wish: &'l Wish<'l>,
    begin: Instant,
    /// The best times, in microseconds.
    times: HashMap<Call, f64>,
}

impl Look<'_> {
    /// Measures a collective at some sizes, and keeps the better of what is known.
    fn measure(&mut self, name: &'static str, members: u32, sizes: &[u64]) -> Result<(), String> {
        let left = self.wish.limit.checked_sub(self.begin.elapsed()).filter(|left| !left.is_zero());
        let left = left.ok_or("no time was left (--limit)")?;
        let arguments: Vec<String> =
            std::iter::once(name.to_owned()).chain(sizes.iter().map(|size| size.to_string())).collect();
        let turn = Turn {
            workshop: self.workshop,
            quick: self.wish.quick,
            limit: left,
            runners: self.runners,
            environment: &[],
            arguments: &arguments,
        };
        let contestant = Contestant::ours(0, self.wish.ranks);
        let printed = contestant.run_program(&self.installation, CROSSING, members, &turn)?;
        for sample in printed.samples {
            let best = self.times.entry(Call { name, members, bytes: sample.size }).or_insert(f64::INFINITY);
            *best = best.min(sample.value);
        }
        printed.failure.map_or(Ok(()), |failure| Err(format!("{name} on {members} ranks: {}", failure.long)))
    }

    fn again(&mut self, pair: &Pair) -> Result<(), String> {
        for _ in 0..self.wish.rounds {
            for Call { name, members, bytes } in [pair.before, pair.after] {
                self.measure(name, members, &[bytes])?;
            }
        }
        Ok(())
    }

    /// How many times longer the second call of a pair takes, beyond what it has more to do, if that is more than twice.
    fn is_cliff(&self, pair: &Pair) -> Option<f64> {
        let steepness = self.times.get(&pair.after)? / self.times.get(&pair.before)? / pair.more;
        (steepness > 2.0).then_some(steepness)
    }
}

/// The sizes of a collective.
fn sizes(members: u32, has_blocks: bool) -> Vec<u64> {
    let powers = (3..=LARGEST).flat_map(|power| [1 << power, (1 << power) + 8]);
    let mut sizes: Vec<u64> =
        powers.filter(|bytes| !has_blocks || bytes * u64::from(members) <= BLOCKS).collect();
    // Eight bytes more than eight are sixteen.
    sizes.dedup();
    sizes
}

/// All neighbours.
fn pairs(name: &'static str, has_blocks: bool) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for members in MEMBERS {
        for bytes in sizes(members, has_blocks) {
            let before = Call { name, members, bytes };
            let many = f64::from(members);
            let more = if has_blocks { (many + 1.0) / (many - 1.0) } else { many / (many - 1.0) };
            pairs.push(Pair { before, after: Call { members: members + 1, ..before }, more });
            if bytes > 8 {
                pairs.push(Pair { before, after: Call { bytes: bytes + 8, ..before }, more: 1.0 });
            }
            pairs.push(Pair { before, after: Call { bytes: 2 * bytes, ..before }, more: 2.0 });
        }
    }
    pairs
}

fn text(times: &HashMap<Call, f64>, found: &[(f64, Pair)], failures: &[String]) -> String {
    let mut out = format!("{}\n{} calls measured, ", Machine::this().text(), times.len());
    _ = match found.len() {
        0 => writeln!(out, "no cliff among them."),
        1 => writeln!(out, "1 cliff:"),
        cliffs => writeln!(out, "{cliffs} cliffs:"),
    };
    for (steepness, Pair { before, after, more }) in found {
        let time = |call: &Call| times.get(call).copied().unwrap_or(f64::NAN);
        _ = writeln!(
            out,
            "  {steepness:>4.1} x  {} of {} B on {} ranks {:.1} us, of {} B on {} ranks {:.1} us ({more:.1} times as much to do)",
            before.name,
            before.bytes,
            before.members,
            time(before),
            after.bytes,
            after.members,
            time(after)
        );
    }
    for failure in failures {
        _ = writeln!(out, "not measured: {failure}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_have_eight_bytes_more_twice_as_many_or_a_member_more() {
        let all = pairs("allgather", true);
        let before = Call { name: "allgather", members: 4, bytes: 4096 };
        let mores: Vec<(u32, u64, f64)> = all
            .iter()
            .filter(|pair| pair.before == before)
            .map(|pair| (pair.after.members, pair.after.bytes, pair.more))
            .collect();
        assert_eq!(mores, [(5, 4096, 5.0 / 3.0), (4, 4104, 1.0), (4, 8192, 2.0)]);
        assert!(sizes(16, true).iter().all(|bytes| bytes * 16 <= BLOCKS));
        assert_eq!(sizes(16, false).last(), Some(&((4 << 20) + 8)));
    }

    #[test]
    fn a_cliff_is_told_with_both_times() {
        let before = Call { name: "bcast", members: 2, bytes: 64 };
        let after = Call { bytes: 72, ..before };
        let times = HashMap::from([(before, 1.0), (after, 2.5)]);
        let text = text(&times, &[(2.5, Pair { before, after, more: 1.0 })], &["x".into()]);
        let line = "   2.5 x  bcast of 64 B on 2 ranks 1.0 us, of 72 B on 2 ranks 2.5 us (1.0 times as much to do)\n";
        assert!(text.contains(line) && text.contains("2 calls measured, 1 cliff:"), "{text}");
        assert!(text.ends_with("not measured: x\n"), "{text}");
    }
}

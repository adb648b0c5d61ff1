//! What a run on a chip tells at its end: figures (`--stats`) and the map of the memories (`--memory`).

use std::fmt::Write;

use json::Json;

use super::computing::Computing;
use super::decimal::{duration, fraction};
use crate::chip::{Chip, Scratchpad, Stats};

/// In femtojoules.
const JOULE: u128 = 1_000_000_000_000_000;

/// The figures of a run, for people.
pub(super) fn text(chip: &Chip, ranks: u32, stats: &Stats, computing: &Computing) -> String {
    let Stats {
        letters, local_letters, transfers, bytes, barriers, copies, calls, energy, trace_hash, ..
    } = stats;
    let Stats { registrations, registered_before, evictions, .. } = stats;
    let joules = fraction(energy.total(), JOULE, 6);
    // Only some machines have these.
    let count = |count: u64, of: &str| if count > 0 { format!("{count} {of}, ") } else { String::new() };
    format!(
        "corelace: {ranks} ranks on {}: {} virtual ({} cycles), {letters} letters ({local_letters} inside clusters), \
         {transfers} transfers of {bytes} bytes, {}{}{}{}{}{}{}{}{joules} J, {} W mean, {} W peak, trace {trace_hash:016x}\n",
        chip.name,
        duration(stats.time, stats.ticks_per_second),
        stats.cycles(),
        count(*barriers, "barriers of the machine"),
        count(*copies, "copies by kind of memory"),
        count(*calls, "calls of the system"),
        count(*registrations, "registrations of memory"),
        count(*registered_before, "times registered before"),
        count(*evictions, "regions evicted"),
        count(computing.declared, "cycles of declared work"),
        count(computing.counted, "cycles of counted work"),
        fraction(mean_microwatts(stats), 1_000_000, 3),
        fraction(stats.peak_microwatts.into(), 1_000_000, 3),
    )
}

/// The figures of a run, for programs: one line.
pub(super) fn json(
    chip: &Chip,
    ranks: u32,
    (stats, memory): (&Stats, &[Scratchpad]),
    computing: &Computing,
) -> String {
    let Stats {
        letters,
        local_letters,
        transfers,
        bytes,
        barriers,
        copies,
        calls,
        name_letters,
        energy,
        trace_hash,
        events,
        ..
    } = stats;
    let Stats { registrations, registered_before, evictions, shadowed, .. } = stats;
    let part = |femtojoules: u128| fraction(femtojoules, JOULE, 15);
    format!(
        "{{\"chip\":{},\"ranks\":{ranks},\"seconds\":{},\"cycles\":{},\"letters\":{letters},\
         \"local_letters\":{local_letters},\"transfers\":{transfers},\"bytes\":{bytes},\"barriers\":{barriers},\"copies\":{copies},\"calls\":{calls},\"name_letters\":{name_letters},\
         \"registrations\":{registrations},\"registered_before\":{registered_before},\"evictions\":{evictions},\"shadowed\":{shadowed},\
         \"declared_cycles\":{},\"counted_cycles\":{},\"events\":{events},\
         \"energy\":{{\"total\":{},\"idle\":{},\"cores\":{},\"network\":{},\"dma\":{},\"ddr\":{}}},\
         \"watts\":{},\"peak_watts\":{},\"peak_bytes\":{},\"trace_hash\":\"{trace_hash:016x}\"}}\n",
        Json::from(&*chip.name),
        fraction(stats.time.into(), stats.ticks_per_second.into(), 15),
        stats.cycles(),
        computing.declared,
        computing.counted,
        part(energy.total()),
        part(energy.idle),
        part(energy.cores),
        part(energy.network),
        part(energy.dma),
        part(energy.ddr),
        fraction(mean_microwatts(stats), 1_000_000, 6),
        fraction(stats.peak_microwatts.into(), 1_000_000, 6),
        peak_bytes(chip, memory),
    )
}

/// The most that was in use of what a cluster leaves to programs and libraries.
fn peak_bytes(chip: &Chip, memory: &[Scratchpad]) -> usize {
    let system = (chip.cluster.scratchpad - chip.cluster.usable) as usize;
    let clusters = memory.iter().filter(|memory| chip.io_at(memory.place).is_none());
    clusters.map(|memory| held(memory).saturating_sub(system)).max().unwrap_or(0)
}

/// The most that was in use of a memory.
fn held(memory: &Scratchpad) -> usize {
    memory.holders.iter().map(|holder| holder.bytes).sum()
}

fn mean_microwatts(stats: &Stats) -> u128 {
    const FEMTOJOULES_OF_A_MICROWATT_SECOND: u128 = 1_000_000_000;
    let a_second = stats.energy.total() * u128::from(stats.ticks_per_second) / u128::from(stats.time.max(1));
    a_second / FEMTOJOULES_OF_A_MICROWATT_SECOND
}

/// Characters of the longest bar.
const BAR: usize = 40;

/// A map of each memory when most of it was in use.
pub(super) fn map(chip: &Chip, memory: &[Scratchpad]) -> String {
    let mut text = String::new();
    for scratchpad in memory {
        let (Scratchpad { place, limit, holders }, used) = (scratchpad, held(scratchpad));
        let name = match chip.io_at(*place) {
            Some(io) => format!("I/O subsystem {}", io.name),
            None => chip.name_of(*place),
        };
        _ = writeln!(
            text,
            "{name}: {used} of {limit} bytes in use at the peak ({} %)",
            fraction(100 * used as u128, (*limit).max(1) as u128, 1)
        );
        // What all ranks use first, then rank by rank. (A sort of the standard library is kilobytes of every copy of ours.)
        let mut ordered: Vec<&fabric::Holder> = Vec::new();
        for holder in holders {
            ordered.insert(ordered.partition_point(|before| before.rank <= holder.rank), holder);
        }
        for holder in ordered {
            let purpose = match holder.rank {
                Some(rank) => format!("{} of rank {rank}", holder.purpose),
                None => holder.purpose.to_string(),
            };
            let bar = "#".repeat((holder.bytes * BAR).div_ceil((*limit).max(1)).min(BAR));
            _ = writeln!(text, "  {purpose:<34} {:>10}  {bar}", holder.bytes);
        }
        let free = limit - used;
        _ = writeln!(text, "  {:<34} {free:>10}  {}", "free", ".".repeat(free * BAR / (*limit).max(1)));
    }
    text
}

#[cfg(test)]
mod tests {
    use fabric::Holder;

    use super::*;

    #[test]
    fn the_map_shows_every_holder_and_what_is_free() {
        let chip = Chip::builtin("mesh16").expect("it ships");
        let holders = vec![
            Holder { purpose: "program text", rank: None, bytes: 500 },
            Holder { purpose: "heap", rank: Some(3), bytes: 250 },
        ];
        let text = map(&chip, &[Scratchpad { place: sim::Place(2), limit: 1000, holders }]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "cluster 2: 750 of 1000 bytes in use at the peak (75.0 %)");
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>(),
            ["program", "text", "500", &"#".repeat(20)]
        );
        assert!(
            lines[2].starts_with("  heap of rank 3 ")
                && lines[2].ends_with(&format!("250  {}", "#".repeat(10)))
        );
        assert!(lines[3].ends_with(&format!("250  {}", ".".repeat(10))));
    }
}

//! Who came last to a collective. On one machine ranks meet in shared memory, without messages that could end a wait; then
//! the rank that entered the same function last, while the others waited, is the one that they waited for.

use super::{Collective, Run};

/// Fills in `last_to_arrive` of the waits that no message ended.
pub(super) fn explain(run: &mut Run) {
    let collective: Vec<bool> = run.names.iter().map(|name| Collective::of(name).is_some()).collect();
    let entries: Vec<Vec<(u64, u32)>> = run
        .ranks
        .iter()
        .map(|rank| {
            let calls = rank.calls.iter().filter(|call| collective[call.function as usize]);
            calls.map(|call| (call.begin, call.function)).collect()
        })
        .collect();
    for number in 0..run.ranks.len() {
        let rank = &mut run.ranks[number];
        for wait in rank.waits.iter_mut().filter(|wait| wait.ended_by.is_none() && wait.held.is_none()) {
            let Some(function) = wait.call.map(|call| rank.calls[call as usize].function) else { continue };
            if collective[function as usize] {
                let last = |entries: &Vec<(u64, u32)>| last_entry(entries, function, wait.begin, wait.end);
                let others = entries.iter().enumerate().filter(|(other, _)| *other != number);
                wait.last_to_arrive = others
                    .filter_map(|(other, entries)| last(entries).map(|time| (time, other as u32)))
                    .max()
                    .map(|(time, other)| (other, time));
            }
        }
    }
}

/// When a rank entered a function last within `begin..end`.
fn last_entry(entries: &[(u64, u32)], function: u32, begin: u64, end: u64) -> Option<u64> {
    let after = entries.partition_point(|entry| entry.0 <= end);
    let within = entries[..after].iter().rev().take_while(|entry| entry.0 > begin);
    within.into_iter().find(|entry| entry.1 == function).map(|entry| entry.0)
}

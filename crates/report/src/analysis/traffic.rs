//! Who sent how much to whom, in which sizes, by which protocols.

use std::collections::BTreeMap;

use trace::Protocol;

use crate::run::Run;

/// Messages of sizes up to a power of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeClass {
    /// The largest size of the class.
    pub up_to: u64,
    /// Messages by protocol.
    pub messages: [u64; Protocol::ALL.len()],
}

/// The messages of a run.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Messages and bytes of each sender and receiver that have any in common.
    pub pairs: BTreeMap<(u32, u32), (u64, u64)>,
    /// Sizes that occur, smallest first, without gaps between them.
    pub sizes: Vec<SizeClass>,
    /// Messages and bytes by protocol.
    pub protocols: [(u64, u64); Protocol::ALL.len()],
}

impl Traffic {
    pub(super) fn of(run: &Run) -> Traffic {
        let mut traffic = Traffic::default();
        let mut classes = [[0u64; Protocol::ALL.len()]; 66];
        for message in run.messages.iter().filter(|message| message.send_start.is_some()) {
            let pair = traffic.pairs.entry((message.from, message.to)).or_default();
            *pair = (pair.0 + 1, pair.1.saturating_add(message.bytes));
            let protocol = message.protocol as usize;
            traffic.protocols[protocol].0 += 1;
            traffic.protocols[protocol].1 = traffic.protocols[protocol].1.saturating_add(message.bytes);
            classes[class(message.bytes)][protocol] += 1;
        }
        let used = |class: &[u64; Protocol::ALL.len()]| class.iter().any(|&count| count > 0);
        if let (Some(first), Some(last)) = (classes.iter().position(used), classes.iter().rposition(used)) {
            traffic.sizes = (first..=last)
                .map(|class| SizeClass { up_to: largest(class), messages: classes[class] })
                .collect();
        }
        traffic
    }

    /// Messages altogether.
    pub fn total_messages(&self) -> u64 {
        self.protocols.iter().map(|(messages, _)| messages).sum()
    }

    /// Bytes altogether.
    pub fn total_bytes(&self) -> u64 {
        self.protocols.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// The pair of ranks with most bytes: sender, receiver, messages, bytes.
    pub fn busiest_pair(&self) -> Option<(u32, u32, u64, u64)> {
        let most = self.pairs.iter().rev().max_by_key(|(_, (_, bytes))| *bytes)?;
        let (&(from, to), &(messages, bytes)) = most;
        (bytes > 0).then_some((from, to, messages, bytes))
    }
}

/// 0 for empty messages, then one class a power of two.
fn class(bytes: u64) -> usize {
    match bytes {
        0 => 0,
        _ => 1 + (64 - (bytes - 1).leading_zeros()) as usize,
    }
}

fn largest(class: usize) -> u64 {
    match class {
        0 => 0,
        _ => 1u64.checked_shl(class as u32 - 1).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_belongs_to_the_next_power_of_two() {
        for (bytes, up_to) in [(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (1000, 1024), (u64::MAX, u64::MAX)] {
            assert_eq!(largest(class(bytes)), up_to, "{bytes} bytes");
        }
    }
}

//! What each rank of a job waits for, so that a deadlock can be told by name.
//!
//! A rank notes what it waits for just before it may block, in two relaxed stores. When the job has stalled nobody runs any
//! more, and the notes are read: they say which rank waits for whom.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a rank waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// Nothing: it runs code of the user's.
    Running,
    /// To send to this rank with this tag.
    Send {
        /// The destination, in the communicator of the send.
        to: u32,
        /// The tag.
        tag: i32,
    },
    /// To receive.
    Receive {
        /// The source, `None` for any.
        from: Option<u32>,
        /// The tag, `None` for any.
        tag: Option<i32>,
    },
    /// For a message to be there.
    Probe {
        /// The source, `None` for any.
        from: Option<u32>,
        /// The tag, `None` for any.
        tag: Option<i32>,
    },
    /// For its buffered messages to be sent.
    Detach,
    /// For the first of several requests.
    FirstOf {
        /// How many there are.
        requests: u32,
    },
    /// For a request that the program completes itself.
    Generalized,
    /// For a lock of a window.
    Lock {
        /// The rank whose part is to be locked, `None` for all of them.
        of: Option<u32>,
    },
    /// For another rank to change a window.
    Change {
        /// The rank in whose part that is.
        of: u32,
    },
    /// In a collective.
    Collective(Collective),
}

macro_rules! collectives {
    ($($name:ident $text:literal),* $(,)?) => {
        /// The collectives, by name.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "the names are MPI's")]
        pub enum Collective { $($name),* }

        impl Collective {
            const ALL: &'static [Collective] = &[$(Collective::$name),*];

            /// The method's name.
            pub fn name(self) -> &'static str {
                match self { $(Collective::$name => $text),* }
            }
        }
    };
}

collectives! {
    Barrier "barrier", Broadcast "broadcast", Reduce "reduce", Allreduce "allreduce", Gather "gather", Gatherv "gatherv",
    Scatter "scatter", Scatterv "scatterv", Allgather "allgather", Allgatherv "allgatherv", Alltoall "alltoall",
    Alltoallv "alltoallv", Scan "scan", Exscan "exscan", Duplicate "duplicate", Split "split", Create "create",
    NeighborAllgather "neighbor_allgather", NeighborAllgatherv "neighbor_allgatherv", NeighborAlltoall "neighbor_alltoall",
    NeighborAlltoallv "neighbor_alltoallv", NeighborAlltoallw "neighbor_alltoallw", Topology "the making of a topology",
    ReduceScatterBlock "reduce_scatter_block",
    Intercommunicator "the making of an intercommunicator", Merge "merge",
    AllocateWindow "allocate_window", Fence "a fence of a window",
    Finalize "the end of its program",
}

impl Activity {
    /// The name of the call, for traces.
    pub fn name(&self) -> &'static str {
        match self {
            Activity::Running => "run",
            Activity::Send { .. } => "send",
            Activity::Receive { .. } => "recv",
            Activity::Probe { .. } => "probe",
            Activity::Detach => "detach",
            Activity::FirstOf { .. } => "wait_any",
            Activity::Generalized => "wait",
            Activity::Lock { of: Some(_) } => "lock",
            Activity::Lock { of: None } => "lock_all",
            Activity::Change { .. } => "wait_until",
            Activity::Collective(Collective::Fence) => "fence",
            Activity::Collective(Collective::Finalize) => "finalize",
            Activity::Collective(collective) => collective.name(),
        }
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |f: &mut fmt::Formatter<'_>, from: &Option<u32>, tag: &Option<i32>| {
            match from {
                Some(rank) => write!(f, " from rank {rank}")?,
                None => f.write_str(" from any rank")?,
            }
            match tag {
                Some(tag) => write!(f, " with tag {tag}"),
                None => f.write_str(" with any tag"),
            }
        };
        match self {
            Activity::Running => f.write_str("computes"),
            Activity::Send { to, tag } => write!(f, "waits in a send to rank {to} with tag {tag}"),
            Activity::Receive { from, tag } => {
                f.write_str("waits to receive")?;
                place(f, from, tag)
            }
            Activity::Probe { from, tag } => {
                f.write_str("probes for a message")?;
                place(f, from, tag)
            }
            Activity::Detach => f.write_str("waits for its buffered messages to be sent"),
            Activity::FirstOf { requests } => write!(f, "waits for the first of {requests} requests"),
            Activity::Generalized => f.write_str("waits for a request that it has to complete itself"),
            Activity::Lock { of: Some(rank) } => {
                write!(f, "waits to lock the part of rank {rank} of a window")
            }
            Activity::Lock { of: None } => f.write_str("waits to lock all parts of a window"),
            Activity::Change { of } => write!(f, "waits for a change in the part of rank {of} of a window"),
            Activity::Collective(Collective::Finalize) => {
                f.write_str("waits at the end of its program for the other ranks")
            }
            Activity::Collective(collective) => write!(f, "waits in {}", collective.name()),
        }
    }
}

/// One rank's note. Written by that rank, read by others once it does not run any more.
#[derive(Debug, Default)]
pub struct Note {
    /// Kind in the low byte, then which of the optional numbers are there, then the peer.
    what: AtomicU64,
    tag: AtomicU64,
}

const HAS_PEER: u64 = 1 << 8;
const HAS_TAG: u64 = 1 << 9;

impl Note {
    /// Writes it down.
    #[inline]
    pub fn set(&self, activity: Activity) {
        let optional = |from: Option<u32>, tag: Option<i32>| {
            let bits = from.map_or(0, |peer| HAS_PEER | u64::from(peer) << 32) | tag.map_or(0, |_| HAS_TAG);
            (bits, tag.unwrap_or(0))
        };
        let (what, tag) = match activity {
            Activity::Running => (0, 0),
            Activity::Send { to, tag } => (1 | u64::from(to) << 32, tag),
            Activity::Receive { from, tag } => {
                let (bits, tag) = optional(from, tag);
                (2 | bits, tag)
            }
            Activity::Probe { from, tag } => {
                let (bits, tag) = optional(from, tag);
                (3 | bits, tag)
            }
            Activity::FirstOf { requests } => (4 | u64::from(requests) << 32, 0),
            Activity::Detach => (6, 0),
            Activity::Generalized => (7, 0),
            Activity::Lock { of } => (8 | optional(of, None).0, 0),
            Activity::Change { of } => (9 | u64::from(of) << 32, 0),
            Activity::Collective(collective) => (5 | (collective as u64) << 32, 0),
        };
        self.tag.store(tag as u64, Relaxed);
        self.what.store(what, Relaxed);
    }

    /// Reads it.
    pub fn get(&self) -> Activity {
        let (what, tag) = (self.what.load(Relaxed), self.tag.load(Relaxed) as i32);
        let number = (what >> 32) as u32;
        let from = (what & HAS_PEER != 0).then_some(number);
        let some_tag = (what & HAS_TAG != 0).then_some(tag);
        match what & 0xff {
            1 => Activity::Send { to: number, tag },
            2 => Activity::Receive { from, tag: some_tag },
            3 => Activity::Probe { from, tag: some_tag },
            4 => Activity::FirstOf { requests: number },
            5 => Collective::ALL.get(number as usize).map_or(Activity::Running, |c| Activity::Collective(*c)),
            6 => Activity::Detach,
            7 => Activity::Generalized,
            8 => Activity::Lock { of: from },
            9 => Activity::Change { of: number },
            _ => Activity::Running,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_reads_as_it_was_written() {
        let note = Note::default();
        assert_eq!(note.get(), Activity::Running);
        for activity in [
            Activity::Send { to: u32::MAX, tag: i32::MAX },
            Activity::Receive { from: Some(0), tag: None },
            Activity::Receive { from: None, tag: Some(0) },
            Activity::Probe { from: Some(7), tag: Some(9) },
            Activity::FirstOf { requests: 3 },
            Activity::Detach,
            Activity::Generalized,
            Activity::Lock { of: Some(0) },
            Activity::Lock { of: None },
            Activity::Change { of: u32::MAX },
            Activity::Collective(Collective::Barrier),
            Activity::Collective(Collective::Finalize),
            Activity::Running,
        ] {
            note.set(activity);
            assert_eq!(note.get(), activity);
        }
    }
}

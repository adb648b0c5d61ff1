//! What a rank does again: a list of steps, and the file that the player reads it from.
//!
//! ```text
//! words of 64 bits:  mark, steps, requests, bytes of memory, communicators, windows
//!                    for each communicator: members, then their world ranks (all ranks know all communicators)
//!                    for each window: its communicator | bytes << 32
//!                    for each step: what | request << 8 | communicator or window << 32,  peer | tag << 32,  amount
//! ```

use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The first word of a file, which names the version of its form.
const MARK: u64 = u64::from_le_bytes(*b"CLRPLAY1");
/// The request of a step that waits itself.
pub const NO_REQUEST: u32 = 0x00ff_ffff;

/// What steps do, once for the scripts and for the player.
macro_rules! steps {
    ($($(#[$about:meta])* $name:ident = $number:literal,)*) => {
        /// What a step does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum What {
            $($(#[$about])* $name = $number,)*
        }

        /// The numbers for the player, which is C.
        pub const HEADER: &str = concat!("enum {\n", $("    ", stringify!($name), " = ", $number, ",\n",)* "};\n");
    };
}

steps! {
    /// `amount` cycles.
    Compute = 0,
    /// `amount` bytes to `peer`.
    Send = 1,
    /// `amount` bytes from `peer`.
    Receive = 2,
    /// For its request.
    Wait = 3,
    /// For those of the next `amount` steps, which are [waits](What::Wait), at once.
    WaitAll = 4,
    Barrier = 16,
    Broadcast = 17,
    Reduce = 18,
    Allreduce = 19,
    Gather = 20,
    Scatter = 21,
    Allgather = 22,
    Alltoall = 23,
    Scan = 24,
    Exscan = 25,
    ReduceScatterBlock = 26,
    Put = 32,
    Get = 33,
    Accumulate = 34,
    Fetch = 35,
    Swap = 36,
    Fence = 40,
    /// `amount` is 1 if it is exclusive.
    Lock = 41,
    Unlock = 42,
    LockAll = 43,
    UnlockAll = 44,
    /// Of all members.
    Flush = 45,
    /// The peers are those of the next `amount` steps, as of [`What::Start`].
    Post = 46,
    Start = 47,
    Complete = 48,
    WaitForAccesses = 49,
    /// A peer of the step before.
    Peer = 50,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub what: What,
    /// Where its request is kept, or [`NO_REQUEST`].
    pub request: u32,
    /// The communicator of a collective, or a window.
    pub object: u32,
    /// The other rank; the root of a collective.
    pub peer: u32,
    pub tag: u32,
    pub amount: u64,
}

impl Step {
    /// A step that has nothing but an amount.
    pub fn of(what: What, amount: u64) -> Step {
        Step { what, request: NO_REQUEST, object: 0, peer: 0, tag: 0, amount }
    }
}

/// What one rank does.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub steps: Vec<Step>,
    /// Requests that are under way at a time.
    pub requests: u32,
    /// Bytes that its longest steps move.
    pub memory: u64,
}

/// What all ranks do.
#[derive(Debug, Default)]
pub struct Script {
    /// By rank.
    pub parts: Vec<Part>,
    /// World ranks of the members; the first communicator is the world.
    pub comms: Vec<Vec<u32>>,
    /// The communicator of each window, and the bytes of every member's part.
    pub windows: Vec<(u32, u64)>,
}

impl Script {
    /// Writes the file of each rank, named by its number.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        for (rank, part) in self.parts.iter().enumerate() {
            let mut file = BufWriter::new(std::fs::File::create(directory.join(rank.to_string()))?);
            let mut words =
                |words: &[u64]| words.iter().try_for_each(|word| file.write_all(&word.to_ne_bytes()));
            let counts = [self.comms.len(), self.windows.len()].map(|count| count as u64);
            words(&[MARK, part.steps.len() as u64, u64::from(part.requests), part.memory])?;
            words(&counts)?;
            for members in &self.comms {
                words(&[members.len() as u64])?;
                members.iter().try_for_each(|member| words(&[u64::from(*member)]))?;
            }
            for (comm, bytes) in &self.windows {
                words(&[u64::from(*comm) | bytes << 32])?;
            }
            for step in &part.steps {
                let head = step.what as u64 | u64::from(step.request) << 8 | u64::from(step.object) << 32;
                words(&[head, u64::from(step.peer) | u64::from(step.tag) << 32, step.amount])?;
            }
            file.flush()?;
        }
        Ok(())
    }
}

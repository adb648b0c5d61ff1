//! Ranks to test with: fibers of this process, on a fabric whose habits a test can change.

pub mod cells;
pub mod habitual;

use corelace_engine as engine;
use engine::datatype::Basic;
use engine::{Datatype, Protocol, Rank, RecvBuffer, SendBuffer, Tuning};
use fabric::Fabric;
use fabric_local::{LocalFabric, NoHooks, Options, Outcome};
use fabric_noc::{Map, NocFabric};
use habitual::Habitual;
use sim::Chip;

/// How the fabric behaves.
#[derive(Clone, Copy)]
pub struct Habits {
    /// Most payload bytes of a letter; 0 leaves the backend's.
    pub letter_max: usize,
    /// The same of letters in bulk, if it is more.
    pub letter_bulk: usize,
    /// Letters to nodes with odd numbers are half as long.
    pub mixed_letters: bool,
    /// The node that is gone.
    pub lost_node: Option<u32>,
    /// Transfers that take their time come to nothing.
    pub breaks_transfers: bool,
    /// Puts come to nothing.
    pub breaks_puts: bool,
    /// Which transfers the portal offers.
    pub portal: PortalHabit,
    /// Ranks do not address each other's memory, but for what they share.
    pub apart: bool,
    /// Nothing can be allocated for several ranks.
    pub shares_nothing: bool,
    /// Every rank seems to have a core of its own.
    pub own_cores: bool,
    /// Collectives may go by memory that the ranks share.
    pub boards: bool,
    /// Puts carry notices.
    pub notices: bool,
    /// Nodes have words that others may claim.
    pub claims: bool,
    /// Transfers are done only after this many questions, and their bytes move then.
    pub slow_transfers: u32,
    /// Transfers that letters ask for are begun together.
    pub gathers: bool,
    /// The clock leaps from one look to the next by the same time, so that whatever is timed takes as long as anything else.
    pub leaping_clock: bool,
    /// A helper core handles letters while a rank computes; a DMA engine moves data.
    pub agent: bool,
    /// Ranks of a cluster.
    pub cluster_ranks: u32,
    /// The protocol that carries messages.
    pub protocol: Protocol,
    /// Messages up to this size are lazy; 0 for none.
    pub lazy_max: usize,
    /// Bytes that may wait in lazy copies; 0 leaves the backend's.
    pub lazy_buffer: usize,
    /// Messages up to this size go in letters where they are slow to read; 0 for none.
    pub fresh_max: usize,
    /// The last rank is the I/O rank.
    pub io_rank: bool,
    /// Every n-th post is refused; 0 for none.
    pub refuse_every: u32,
    /// Eager limit; 0 leaves the backend's.
    pub eager_max: usize,
    /// Receives from this size on announce themselves; 0 leaves the backend's.
    pub receiver_first_min: usize,
    /// But only after so many messages in one direction.
    pub one_way_min: usize,
    /// Messages from this size on are copied by both ranks; 0 leaves the backend's.
    pub share_min: usize,
    /// Memory budget.
    pub budget: Option<usize>,
    /// OS threads to spread the fibers over.
    pub workers: usize,
}

/// What a portal can do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PortalHabit {
    PutAndGet,
    /// As on a network on chip between clusters.
    PutOnly,
    /// Rendezvous must stream.
    Nothing,
}

pub const PLAIN: Habits = Habits {
    letter_max: 0,
    letter_bulk: 0,
    mixed_letters: false,
    lost_node: None,
    breaks_transfers: false,
    breaks_puts: false,
    portal: PortalHabit::PutAndGet,
    apart: false,
    shares_nothing: false,
    own_cores: false,
    boards: false,
    notices: false,
    claims: true,
    slow_transfers: 0,
    gathers: false,
    leaping_clock: false,
    agent: false,
    cluster_ranks: u32::MAX,
    protocol: Protocol::Auto,
    lazy_max: 0,
    lazy_buffer: 0,
    fresh_max: 0,
    io_rank: false,
    refuse_every: 0,
    eager_max: 0,
    receiver_first_min: 0,
    one_way_min: 0,
    share_min: 0,
    budget: None,
    workers: 1,
};

/// Every combination of habits that makes the engine take another path.
pub fn all_habits() -> Vec<(&'static str, Habits)> {
    vec![
        ("plain", PLAIN),
        ("boards", Habits { boards: true, ..PLAIN }),
        ("boards, own cores", Habits { boards: true, own_cores: true, workers: 2, ..PLAIN }),
        ("two workers", Habits { workers: 2, ..PLAIN }),
        ("split eager", Habits { letter_max: 96, eager_max: 1000, ..PLAIN }),
        (
            "split eager, two kinds of way",
            Habits { letter_max: 96, mixed_letters: true, eager_max: 1000, ..PLAIN },
        ),
        ("split eager, refused posts", Habits { letter_max: 96, eager_max: 1000, refuse_every: 3, ..PLAIN }),
        ("rendezvous", Habits { eager_max: 16, receiver_first_min: usize::MAX, ..PLAIN }),
        (
            "rendezvous, fetched together",
            Habits { eager_max: 16, receiver_first_min: usize::MAX, gathers: true, ..PLAIN },
        ),
        (
            "rendezvous, fetched together, shared copy, slow transfers",
            Habits { gathers: true, share_min: 1500, one_way_min: 2, slow_transfers: 2, ..ANNOUNCED },
        ),
        ("fresh data", FRESH),
        ("fresh data, refused posts", Habits { refuse_every: 3, ..FRESH }),
        ("fresh data, shared copy, two workers", Habits { share_min: 1500, workers: 2, ..FRESH }),
        ("receiver first", ANNOUNCED),
        ("receiver first, one way", Habits { one_way_min: 2, ..ANNOUNCED }),
        ("receiver first, no claims", Habits { claims: false, ..ANNOUNCED }),
        ("rendezvous, no claims", Habits { claims: false, receiver_first_min: usize::MAX, ..ANNOUNCED }),
        (
            "receiver first, two workers",
            Habits { eager_max: 16, receiver_first_min: 17, workers: 2, ..PLAIN },
        ),
        ("slow transfers", Habits { eager_max: 16, receiver_first_min: 17, slow_transfers: 3, ..PLAIN }),
        ("shared copy", Habits { eager_max: 16, receiver_first_min: 17, share_min: 17, workers: 2, ..PLAIN }),
        (
            "shared copy, sender first",
            Habits { eager_max: 16, receiver_first_min: usize::MAX, share_min: 17, ..PLAIN },
        ),
        (
            "shared slow copy",
            Habits { eager_max: 16, receiver_first_min: 17, share_min: 17, slow_transfers: 4, ..PLAIN },
        ),
        ("streamed", Habits { eager_max: 16, portal: PortalHabit::Nothing, letter_max: 96, ..PLAIN }),
        (
            "streamed, refused posts",
            Habits { eager_max: 16, portal: PortalHabit::Nothing, refuse_every: 2, ..PLAIN },
        ),
        ("granted", GRANTED),
        ("granted, slow", Habits { slow_transfers: 3, ..GRANTED }),
        ("granted, noticed, slow", Habits { slow_transfers: 3, notices: true, ..GRANTED }),
        ("granted, refused posts", Habits { refuse_every: 3, slow_transfers: 2, ..GRANTED }),
        ("granted, two workers", Habits { workers: 2, ..GRANTED }),
        ("granted, announced", Habits { receiver_first_min: 17, ..GRANTED }),
        ("announced, noticed, slow", Habits { receiver_first_min: 17, ..CHIP }),
        ("lazy", Habits { lazy_max: 3000, lazy_buffer: 4000, slow_transfers: 2, ..GRANTED }),
        ("forced pe", Habits { protocol: Protocol::Pe, ..CHIP }),
        ("forced pe, announced", Habits { protocol: Protocol::Pe, receiver_first_min: 1, ..CHIP }),
        ("forced dma", Habits { protocol: Protocol::Dma, ..CHIP }),
        ("forced dma, announced", Habits { protocol: Protocol::Dma, receiver_first_min: 1, ..CHIP }),
        ("forced dma, host", Habits { protocol: Protocol::Dma, ..PLAIN }),
        ("forced eager", Habits { protocol: Protocol::Eager, ..CHIP }),
        ("forced eager, refused posts", Habits { protocol: Protocol::Eager, refuse_every: 3, ..CHIP }),
        ("forced lazy", Habits { protocol: Protocol::Lazy, ..CHIP }),
        ("forced lazy, small buffer", Habits { protocol: Protocol::Lazy, lazy_buffer: 2000, ..CHIP }),
        ("forced lazy, announced", Habits { protocol: Protocol::Lazy, receiver_first_min: 1, ..CHIP }),
        ("forced lazy, host", Habits { protocol: Protocol::Lazy, ..PLAIN }),
        ("lwmpi, one cluster", Habits { protocol: Protocol::Lwmpi, portal: PortalHabit::PutAndGet, ..CHIP }),
        ("lwmpi, two a cluster", Habits { protocol: Protocol::Lwmpi, cluster_ranks: 2, ..CHIP }),
        ("lwmpi, one a cluster", Habits { protocol: Protocol::Lwmpi, cluster_ranks: 1, ..CHIP }),
        ("lwmpi-unopt", Habits { protocol: Protocol::LwmpiUnopt, ..CHIP }),
        ("lwmpi-unopt, host", Habits { protocol: Protocol::LwmpiUnopt, ..PLAIN }),
    ]
}

/// Receives announce themselves.
pub const ANNOUNCED: Habits = Habits { eager_max: 16, receiver_first_min: 17, ..PLAIN };

/// What is offered is read slowly, so that most messages of middle length go in letters.
pub const FRESH: Habits = Habits {
    eager_max: 16,
    receiver_first_min: usize::MAX,
    letter_max: 96,
    leaping_clock: true,
    fresh_max: 2000,
    ..PLAIN
};

/// A portal that writes and does not read.
pub const GRANTED: Habits = Habits { eager_max: 16, portal: PortalHabit::PutOnly, ..PLAIN };

/// A network on chip: letters of 96 bytes, puts by a slow DMA engine with notices, a helper core; no claims.
pub const CHIP: Habits =
    Habits { letter_max: 96, notices: true, claims: false, slow_transfers: 3, agent: true, ..GRANTED };

/// Runs `body` on `ranks` ranks and hands back their results; a rank that panics or waits for ever fails the test.
pub fn run<T: Send>(ranks: u32, habits: Habits, body: impl Fn(&Rank) -> T + Sync) -> Vec<T> {
    let options = Options { workers: habits.workers, budget: habits.budget, ..Options::new(ranks) };
    let outcomes = fabric_local::run_fibers(&options, &NoHooks, &|local: LocalFabric| {
        let fabric = Habitual::new(local, habits);
        let mut tuning = Tuning::for_route(fabric.route(fabric.me()));
        if habits.eager_max > 0 {
            tuning.eager_max = habits.eager_max;
        }
        if habits.receiver_first_min > 0 {
            tuning.receiver_first_min = habits.receiver_first_min;
        }
        tuning.one_way_min = habits.one_way_min;
        if habits.share_min > 0 {
            tuning.share_min = habits.share_min;
        }
        tuning.protocol = habits.protocol;
        tuning.lazy_max = habits.lazy_max;
        tuning.lazy_buffer = habits.lazy_buffer;
        tuning.fresh_max = habits.fresh_max;
        let rank = if habits.io_rank {
            Rank::beside_io_rank(Box::new(fabric), tuning)
        } else {
            Rank::new(Box::new(fabric), tuning)
        };
        let value = body(&rank);
        if rank.poisoned().is_none() {
            rank.drain().expect("what was started can be finished");
        }
        value
    });
    values(outcomes)
}

/// As [`run`], on a chip in virtual time.
pub fn run_on_chip<T>(chip: &str, map: Map, ranks: u32, body: impl Fn(&Rank) -> T) -> Vec<T> {
    let chip = Chip::builtin(chip).expect("a chip that ships");
    let options = fabric_noc::Options { map, ..fabric_noc::Options::new(&chip, ranks) };
    let report = fabric_noc::run(&options, &NoHooks, &|fabric: NocFabric| {
        let tuning = Tuning::for_route(fabric.route(fabric.me()));
        let rank = Rank::new(Box::new(fabric), tuning);
        let value = body(&rank);
        rank.drain().expect("what was started can be finished");
        value
    });
    values(report.expect("a job that fits").outcomes)
}

/// What the ranks return, who all do.
fn values<T>(outcomes: Vec<Outcome<T>>) -> Vec<T> {
    outcomes
        .into_iter()
        .enumerate()
        .map(|(rank, outcome)| match outcome {
            Outcome::Ended(value) => value,
            Outcome::Panicked(cause) => {
                let text = cause
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| cause.downcast_ref::<&str>().map(|text| text.to_string()))
                    .unwrap_or_default();
                panic!("rank {rank} panicked: {text}")
            }
            Outcome::Stalled => panic!("rank {rank} waits for ever"),
        })
        .collect()
}

/// Bytes to send.
pub fn bytes_out(data: &[u8]) -> SendBuffer {
    // SAFETY: the tests keep `data` until the operation is complete.
    unsafe { SendBuffer::new(data.as_ptr(), data.len() as u64, &Datatype::basic(Basic::Byte)) }
}

/// Bytes to receive into.
pub fn bytes_in(data: &mut [u8]) -> RecvBuffer {
    // SAFETY: as above.
    unsafe { RecvBuffer::new(data.as_mut_ptr(), data.len() as u64, &Datatype::basic(Basic::Byte)) }
}

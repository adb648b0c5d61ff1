//! Which protocol carries a message: the rules, worked out once from the tuning.
//!
//! A rendezvous is begun by the sender and steered by the receiver, so both sides ask the same rules: whether the sender exposes
//! its buffer, and which way the receiver then fetches the data. Invariant: what the receiver chooses, the sender can do; an RTS
//! without an exposure is never answered by a get.

use fabric::{Caps, Delivery, Fabric, Key, MemoryKind, Mover, Node};

use crate::values::tuning::{Protocol, Tuning};

/// The rules of one rank. Limits are 64 bits and half open, so that 0 says "none" and `u64::MAX` "all".
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// Shorter messages go eagerly.
    pub eager_below: u64,
    /// Shorter ones, if not eager, are copied at the sender as long as the copies fit into `lazy_buffer`.
    pub lazy_below: u64,
    pub lazy_buffer: u64,
    /// Shorter ones that are too long to be eager go in letters, too, where these turn out to be quicker.
    pub fresh_below: u64,
    /// Receives of at least this many bytes announce themselves.
    pub announce_min: u64,
    /// But only after so many rendezvous in one direction.
    pub one_way_min: u64,
    /// Messages of at least this many bytes are copied by both ranks.
    pub share_min: u64,
    /// Messages of at least this many bytes are moved by the DMA engine.
    dma_min: u64,
    /// Transfers that are begun one after the other go together.
    gathers: bool,
    rendezvous: Rendezvous,
}

/// How the data of a matched rendezvous travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rendezvous {
    /// The receiver gets where its portal reaches; else the sender puts; else letters.
    Shortest,
    /// The sender puts, also nothing; else as above.
    Put,
    /// The path of five messages; inside a cluster the receiver gets, if `local_slot`.
    Lwmpi { local_slot: bool },
    /// Letters.
    Letters,
}

/// What the receiver of an RTS does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fetch {
    /// Read the sender's memory.
    Get(Key),
    /// Let the sender write; with LWMPI's confirmation and acknowledgement, or without.
    Grant { confirmed: bool },
    /// Ask for letters.
    Stream,
}

impl Choice {
    pub fn new(tuning: &Tuning, caps: &Caps) -> Choice {
        let limit = |max: usize| if max == 0 { 0 } else { (max as u64).saturating_add(1) };
        let eager_below = (tuning.eager_max as u64).saturating_add(1);
        let auto = Choice {
            eager_below,
            lazy_below: limit(tuning.lazy_max),
            lazy_buffer: tuning.lazy_buffer as u64,
            fresh_below: limit(tuning.fresh_max),
            announce_min: eager_below.max(tuning.receiver_first_min as u64),
            one_way_min: tuning.one_way_min as u64,
            share_min: tuning.share_min as u64,
            dma_min: if caps.dma { tuning.dma_min as u64 } else { u64::MAX },
            gathers: caps.gathers,
            rendezvous: Rendezvous::Shortest,
        };
        let put = Choice {
            eager_below: 0,
            lazy_below: 0,
            fresh_below: 0,
            announce_min: tuning.receiver_first_min as u64,
            share_min: u64::MAX,
            rendezvous: Rendezvous::Put,
            ..auto
        };
        let lwmpi = |local_slot| Choice {
            announce_min: u64::MAX,
            rendezvous: Rendezvous::Lwmpi { local_slot },
            ..put
        };
        match tuning.protocol {
            Protocol::Auto => auto,
            Protocol::Pe => Choice { dma_min: u64::MAX, ..put },
            Protocol::Dma => Choice { dma_min: if caps.dma { 0 } else { u64::MAX }, ..put },
            Protocol::Eager => Choice {
                eager_below: u64::MAX,
                announce_min: u64::MAX,
                rendezvous: Rendezvous::Letters,
                ..put
            },
            // The copies are pushed by the agent's core, as MPPA-MPI does it; the DMA engine is the rank's own.
            Protocol::Lazy => Choice {
                lazy_below: u64::MAX,
                lazy_buffer: if tuning.lazy_buffer == 0 { u64::MAX } else { tuning.lazy_buffer as u64 },
                dma_min: u64::MAX,
                ..put
            },
            Protocol::Lwmpi => lwmpi(true),
            Protocol::LwmpiUnopt => lwmpi(false),
        }
    }

    /// Who moves this many bytes.
    pub fn mover(&self, bytes: u64) -> Mover {
        if bytes >= self.dma_min { Mover::Dma } else { Mover::Core }
    }

    /// The same for a transfer that a letter asks for: those of the next letters may go with it.
    pub fn mover_by_letter(&self, bytes: u64) -> Mover {
        match self.mover(bytes) {
            Mover::Core if self.gathers => Mover::Together,
            other => other,
        }
    }

    /// How this many bytes are put, with a notice if the peer's portal has them.
    pub fn delivery(&self, fabric: &dyn Fabric, to: Node, bytes: u64, notice: fabric::Header) -> Delivery {
        let notice = fabric.route(to).notice.then_some(notice);
        Delivery { mover: self.mover(bytes), notice }
    }

    /// Which memory of the sender an RTS to `to` should name; none if it should not.
    pub fn exposes(&self, fabric: &dyn Fabric, to: Node) -> Option<MemoryKind> {
        let route = fabric.route(to);
        let all = match self.rendezvous {
            Rendezvous::Shortest if !route.get && route.get_shared => return Some(MemoryKind::Shared),
            Rendezvous::Shortest => route.get,
            Rendezvous::Put => route.get && !route.put,
            Rendezvous::Lwmpi { local_slot } => {
                route.get && (!route.put || local_slot && in_one_cluster(fabric, to))
            }
            Rendezvous::Letters => false,
        };
        all.then_some(MemoryKind::Host)
    }

    /// True if data that lies scattered on one side, of a send that its rank waits in, goes in letters: packed, carried and unpacked piece by
    /// piece, by both ranks at once. A rank that does not wait would be needed for that while it computes, and a rank alone is not two.
    pub fn streams_scattered(&self, fabric: &dyn Fabric, peer: Node, waiting: bool) -> bool {
        waiting
            && self.rendezvous == Rendezvous::Shortest
            && peer != fabric.me()
            && fabric.route(peer).pipelined
    }

    /// How to fetch the data of an RTS from `from` that named this memory.
    pub fn fetch(&self, fabric: &dyn Fabric, from: Node, exposed: Option<Key>) -> Fetch {
        let route = fabric.route(from);
        match exposed {
            Some(key) if route.get || route.get_shared => return Fetch::Get(key),
            _ if !route.put => return Fetch::Stream,
            _ => {}
        }
        match self.rendezvous {
            Rendezvous::Letters => Fetch::Stream,
            Rendezvous::Lwmpi { .. } => Fetch::Grant { confirmed: true },
            Rendezvous::Shortest | Rendezvous::Put => Fetch::Grant { confirmed: false },
        }
    }

    /// True if a message of this length is begun before one that is received at the same time: it may be offered, and whoever is offered one in return is not to fetch it first.
    pub fn offers_first(&self, bytes: u64) -> bool {
        self.one_way_min > 0 && bytes >= self.eager_below
    }

    /// True if messages go through ports that are opened and closed for each.
    pub fn opens_ports(&self) -> bool {
        matches!(self.rendezvous, Rendezvous::Lwmpi { .. })
    }

    /// True if a message without data goes the same way as one with data, for its cost to be measured.
    pub fn moves_nothing_too(&self) -> bool {
        matches!(self.rendezvous, Rendezvous::Put | Rendezvous::Lwmpi { .. })
    }
}

fn in_one_cluster(fabric: &dyn Fabric, peer: Node) -> bool {
    fabric.route(peer).cluster == fabric.route(fabric.me()).cluster
}

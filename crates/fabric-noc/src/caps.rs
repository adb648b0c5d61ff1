//! The capabilities and routes of a chip, from its description: which sizes go by which protocol follows from the costs.

use fabric::{Atomics, Caps, CostLaw, Route, Thresholds};
use sim::{Chip, Ipc, IpcCosts, Rate, Time};

/// Bytes that a rank may hold in copies that leave later.
const LAZY_BUFFER: usize = 32 << 10;

/// The caps of ranks on compute clusters; an I/O rank has the same.
pub(crate) fn caps(chip: &Chip, ipc: &Ipc) -> Caps {
    Caps {
        dma: chip.dma.channels > 0,
        agent: ipc.cluster.agent > 0,
        world_signals: true,
        cheap_park: false,
        own_cores: false,
        maps_shared: false,
        boards: false,
        gathers: false,
        ticks_per_second: chip.ticks_per_second(),
    }
}

/// The routes to the ranks of one place.
#[derive(Clone, Copy)]
pub(crate) struct Routes {
    /// From elsewhere.
    pub(crate) remote: Route,
    /// From the place itself.
    pub(crate) local: Route,
    /// From the rank itself, which reaches all its memory.
    pub(crate) own: Route,
}

/// The routes to every place: those of compute clusters hold for an I/O rank, too, for protocols are agreed between ranks.
pub(crate) fn routes(chip: &Chip, ipc: &Ipc) -> Box<[Routes]> {
    let remote = route(chip, ipc);
    // Where memories differ the sender begins, for only it reaches its own.
    let one_kind = chip.memory.is_none();
    let to = |cluster: u32| {
        let remote = Route { cluster, ..remote };
        let own = Route {
            get: true,
            get_shared: false,
            get_on_request: false,
            same_memory: true,
            notice: false,
            ..remote
        };
        Routes { remote, local: Route { get: one_kind, get_on_request: !one_kind, ..own }, own }
    };
    (0..u32::from(chip.places())).map(to).collect()
}

/// The route between two clusters.
fn route(chip: &Chip, ipc: &Ipc) -> Route {
    let costs = &ipc.cluster;
    let dma_per_byte = dma_per_byte(chip);
    let law =
        |per_byte: Rate, per_call: Time| CostLaw { per_byte: per_byte.of(1000), per_call: per_call * 1000 };
    Route {
        cluster: 0,
        letter_max: costs.letter_payload as usize,
        letter_bulk: costs.letter_payload as usize,
        letter_inline: costs.letter_payload as usize,
        letter_spare: costs.letter_spare as usize,
        mailbox_letters: costs.letter_slots.max(1) as usize,
        pipelined: false,
        put: true,
        // An adapter reads what a sender has exposed; other networks ask somebody there. It tells nobody of the end of a put.
        get: costs.adapter.is_some(),
        get_shared: false,
        get_on_request: costs.adapter.is_none(),
        same_memory: false,
        notice: costs.adapter.is_none(),
        atomics: Atomics::All,
        array_atomics: true,
        signals: true,
        granularity: 1,
        letter_cost: law(Rate::default(), costs.post + costs.reach + costs.agent + costs.take),
        copy_cost: law(costs.put_per_byte, costs.put_core),
        dma_cost: law(dma_per_byte, costs.put_dma),
        thresholds: Thresholds {
            eager_max: costs.eager_max.map_or_else(|| eager_max(costs), |bytes| bytes as usize),
            // A put needs the receiver's word whatever the size, so it is given as early as possible.
            receiver_first_min: 0,
            dma_min: dma_min(costs, dma_per_byte),
            share_min: usize::MAX,
            lazy_max: if costs.agent > 0 { dma_min(costs, dma_per_byte) } else { 0 },
            lazy_buffer: if costs.agent > 0 { LAZY_BUFFER } else { 0 },
            fresh_max: 0,
            one_way_min: 0,
        },
    }
}

/// A DMA transfer's time a byte: the slower of link and receiving interface.
pub(crate) fn dma_per_byte(chip: &Chip) -> Rate {
    let plane = &chip.network.data;
    let link = Rate::from_steps(plane.flit_time.steps() / u64::from(plane.flit_bytes.max(1)));
    link.max(chip.cluster.receive_per_byte)
}

/// Letters pay while their pieces, one after the other through the slowest of sender, resource manager and receiver, take less
/// than the receiver's word and setting up a put; with a piece to spare, because pieces keep more cores busy than a put.
fn eager_max(costs: &IpcCosts) -> usize {
    let piece = costs.post.max(costs.agent).max(costs.take) + costs.kernel;
    let saved = costs.expose + costs.put_core;
    costs.letter_payload as usize * (saved / piece.max(1)).max(1) as usize
}

/// Where a put by the DMA engine becomes cheaper than one by the core.
fn dma_min(costs: &IpcCosts, dma_per_byte: Rate) -> usize {
    let dearer_call = u128::from(costs.put_dma.saturating_sub(costs.put_core)) * u128::from(Rate::STEPS);
    let cheaper_byte = costs.put_per_byte.steps().saturating_sub(dma_per_byte.steps());
    dearer_call.checked_div(cheaper_byte.into()).map_or(usize::MAX, |bytes| bytes as usize)
}

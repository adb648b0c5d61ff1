//! Which keys a chip file has, and what must be true of them together.

use super::adapter;
use super::buffers;
use super::division::Division;
use super::fact::Fact;
use super::kind::{self, Kind as PlaceKind};
use super::multicast;
use super::read::{Section, Source};
use super::shape::{self, Stand};
use super::unit::Kind;
use super::{
    Chip, ChipError, Cluster, Code, CopyLaw, Core, Ddr, Dma, Io, Ipc, IpcCosts, Long, Memories, Network,
    Plane, Position, Power, Team,
};
use crate::{CYCLE, Rate, Time};

pub(super) type Result<T> = std::result::Result<T, ChipError>;

/// The most interfaces of I/O subsystems together, for the same reason.
const PORTS_MAX: usize = 1024;

/// Durations and energies stay far from where sums over a run would overflow.
pub(super) const COST_MAX: u64 = 1_000_000_000_000;

/// The most of anything that is counted.
pub(super) const COUNT_MAX: u64 = u16::MAX as u64;

/// The largest memory of a place.
pub(super) const MEMORY_MAX: u64 = 1 << 50;

/// The widest link, in millionths of a byte a cycle.
const WIDTH_MAX: u64 = 1_000_000_000_000;

pub(super) fn chip(text: &str, origin: &str) -> Result<Chip> {
    let source = Source::new(text, origin);
    let parsed = source.parse()?;
    let mut chip = {
        let root = Section::root(&source, parsed.get_ref());
        let chip = read_chip(&root)?;
        root.finish()?;
        chip
    };
    chip.facts = source.into_facts();
    Ok(chip)
}

/// The numbers of a file that is nothing but sections of numbers.
pub(super) fn numbers(text: &str, origin: &str) -> Result<Vec<Fact>> {
    let source = Source::new(text, origin);
    let parsed = source.parse()?;
    read_numbers(&Section::root(&source, parsed.get_ref()))?;
    Ok(source.into_facts())
}

fn read_numbers(section: &Section<'_>) -> Result<()> {
    for (_, below) in section.named_sections()? {
        if below.has("value") { below.any_number()? } else { read_numbers(&below)? }
    }
    Ok(())
}

fn read_chip(root: &Section<'_>) -> Result<Chip> {
    let name = root.text("name")?;
    let description = root.text("description")?;
    let sources = if root.has("sources") { root.section("sources")?.texts()? } else { Vec::new() };
    let clock = root.section("clock")?;
    let clock_hz = clock.number("frequency", Kind::Frequency, 1..=100_000_000_000)?;
    clock.finish()?;
    root.set_clock(clock_hz);
    let (mut network, stand) = read_network(root)?;
    let section = root.section("cluster")?;
    let cluster_name = if section.has("name") { section.text("name")? } else { kind::CLUSTER.to_owned() };
    let (cluster, positions) = read_cluster(&section, &network, stand)?;
    let clusters = positions.len() as u16;
    let io = read_all_io(root, &network, stand, clusters)?;
    let kinds = kind::read(root, &network, stand, (&cluster_name, clusters, &io))?;
    let places = shape::Places { cluster: &cluster_name, clusters, io: &io, kinds: &kinds };
    let links = shape::complete(root, &mut network, stand, places)?;
    let ipc = read_all_ipc(&root.section("ipc")?, &kinds)?;
    let default_ipc = root.text("default_ipc")?;
    if !ipc.iter().any(|(name, _)| *name == default_ipc) {
        return Err(root.refuse("default_ipc", format!("there is no section [ipc.{default_ipc}]")));
    }
    let chip = Chip {
        name,
        description,
        sources,
        clock_hz,
        cluster_name,
        cluster,
        positions,
        io,
        kinds,
        runs_on: Vec::new(),
        network,
        links,
        dma: read_dma(&root.section("dma")?)?,
        memory: if root.has("memory") { Some(read_memories(&root.section("memory")?)?) } else { None },
        barrier: if root.has("barrier") { Some(read_barrier(&root.section("barrier")?)?) } else { None },
        core: if root.has("core") { Some(Core::read(&root.section("core")?)?) } else { None },
        power: read_power(&root.section("power")?)?,
        ipc,
        default_ipc,
        free: root.sections("free")?.iter().map(Division::read).collect::<Result<_>>()?,
        facts: Vec::new(),
    };
    buffers::check(&root.section("network")?.section("data")?, &chip)?;
    Ok(chip)
}

fn read_network(root: &Section<'_>) -> Result<(Network, Stand)> {
    let section = root.section("network")?;
    let (shape, columns, rows, stand) = shape::read(root, &section)?;
    let data = section.section("data")?;
    let control = section.section("control")?;
    let mut network = Network {
        shape,
        columns,
        rows,
        packet_payload: data.number("packet_payload", Kind::Bytes, 1..=COUNT_MAX)? as u16,
        credits: data.number("credits", Kind::Count("packets"), 1..=COUNT_MAX)? as u16,
        buffers: buffers::read(&data)?,
        data: read_plane(&data)?,
        control: read_plane(&control)?,
    };
    if network.buffers.is_some() {
        // A packet that waits for room in several buffers at once can hold up others for ever, which is not modelled.
        network.data.multicast = None;
    }
    multicast::check(&data, &network)?;
    multicast::check(&control, &network)?;
    data.finish()?;
    control.finish()?;
    section.finish()?;
    Ok((network, stand))
}

fn read_plane(section: &Section<'_>) -> Result<Plane> {
    let flit_bytes = section.number("flit", Kind::Bytes, 1..=COUNT_MAX)?;
    let width = section.number("link", Kind::BytesPerCycle, 1..=WIDTH_MAX)?;
    // A width is in millionths of a byte a cycle.
    let steps = u128::from(flit_bytes * CYCLE * 1_000_000) * u128::from(Rate::STEPS) / u128::from(width);
    Ok(Plane {
        flit_bytes: flit_bytes as u32,
        flit_time: Rate::from_steps(steps.max(1) as u64),
        header_bytes: section.number("packet_header", Kind::Bytes, 0..=COUNT_MAX)? as u32,
        router: section.number("router", Kind::Cycles, 0..=COST_MAX)?,
        wire: section.number("wire", Kind::Cycles, 0..=COST_MAX)?,
        multicast: multicast::read(section)?,
    })
}

/// The positions of the clusters: a list in a grid, a count elsewhere.
fn read_positions(section: &Section<'_>, network: &Network, stand: Stand) -> Result<Vec<Position>> {
    if stand != Stand::Listed {
        let count = section.number("count", Kind::Count("clusters"), 1..=shape::PLACES_MAX)? as u16;
        return (0..count).map(|index| shape::place(section, "count", network, stand, index)).collect();
    }
    let placed = section.positions("positions")?;
    if placed.is_empty() {
        return Err(section.refuse("positions", "is empty: a chip has at least one cluster"));
    }
    for (index, (position, line)) in placed.iter().enumerate() {
        check_reachable(section, "positions", &format!("cluster {index}"), (*position, *line), network)?;
        if let Some(other) = placed[..index].iter().position(|(taken, _)| taken == position) {
            let reason = format!("clusters {other} and {index} are both at {position}");
            return Err(section.refuse_line(*line, "positions", reason));
        }
    }
    Ok(placed.into_iter().map(|(position, _)| position).collect())
}

fn read_cluster(section: &Section<'_>, network: &Network, stand: Stand) -> Result<(Cluster, Vec<Position>)> {
    let positions = read_positions(section, network, stand)?;
    let code = match section.text("code")?.as_str() {
        "scratchpad" => Code::Scratchpad,
        "external" => Code::External,
        other => {
            let reason = format!("\"{other}\": expected \"scratchpad\" or \"external\"");
            return Err(section.refuse("code", reason));
        }
    };
    let cluster = Cluster {
        cores: section.number("cores", Kind::Count("cores"), 1..=COUNT_MAX)? as u32,
        system_cores: section.number("system_cores", Kind::Count("cores"), 0..=COUNT_MAX)? as u32,
        ranks_max: section.number("ranks_max", Kind::Count("ranks"), 1..=COUNT_MAX)? as u32,
        scratchpad: section.number("scratchpad", Kind::Bytes, 1..=MEMORY_MAX)?,
        usable: section.number("usable", Kind::Bytes, 1..=MEMORY_MAX)?,
        stack: section.number("stack", Kind::Bytes, 0..=MEMORY_MAX)?,
        code,
        receive_per_byte: section.rate("receive")?,
        team: if section.has("team") { Some(Team::read(&section.section("team")?)?) } else { None },
    };
    if cluster.ranks_max > cluster.cores {
        let reason = format!("{} ranks do not fit on {} cores", cluster.ranks_max, cluster.cores);
        return Err(section.refuse("ranks_max", reason));
    }
    if cluster.usable > cluster.scratchpad {
        let reason =
            format!("{} bytes are more than the scratchpad's {}", cluster.usable, cluster.scratchpad);
        return Err(section.refuse("usable", reason));
    }
    section.finish()?;
    Ok((cluster, positions))
}

fn read_all_io(root: &Section<'_>, network: &Network, stand: Stand, clusters: u16) -> Result<Vec<Io>> {
    let mut all: Vec<Io> = Vec::new();
    for section in root.sections("io")? {
        let place = clusters + all.len() as u16;
        let io = read_io(section, network, (stand, place), &all)?;
        all.push(io);
    }
    let ports: usize = all.iter().map(|io| io.ports.len()).sum();
    if ports > PORTS_MAX {
        return Err(root.refuse("io", format!("{ports} ports: at most {PORTS_MAX}")));
    }
    Ok(all)
}

fn read_io(
    section: Section<'_>,
    network: &Network,
    (stand, place): (Stand, u16),
    before: &[Io],
) -> Result<Io> {
    let name = section.text("name")?;
    if before.iter().any(|io| io.name == name) {
        return Err(section.refuse("name", format!("there is another I/O subsystem \"{name}\"")));
    }
    let section = section.called(&name);
    let ports = match stand {
        Stand::Listed => read_ports(&section, &name, network)?,
        _ => vec![shape::place(&section, "name", network, stand, place)?],
    };
    let ddr = if section.has("ddr") { Some(Ddr::read(&section.section("ddr")?)?) } else { None };
    let io = Io {
        name,
        ports,
        cores: section.number("cores", Kind::Count("cores"), 1..=COUNT_MAX)? as u32,
        scratchpad: section.number("scratchpad", Kind::Bytes, 1..=u64::from(u32::MAX))?,
        receive_per_byte: section.rate("receive")?,
        ddr,
    };
    section.finish()?;
    Ok(io)
}

fn read_ports(section: &Section<'_>, name: &str, network: &Network) -> Result<Vec<Position>> {
    let placed = section.positions("ports")?;
    if placed.is_empty() {
        return Err(section.refuse("ports", format!("is empty: io {name} is unreachable")));
    }
    for (index, (position, line)) in placed.iter().enumerate() {
        check_reachable(section, "ports", &format!("a port of io {name}"), (*position, *line), network)?;
        if placed[..index].iter().any(|(taken, _)| taken == position) {
            let reason = format!("two ports of io {name} are at {position}");
            return Err(section.refuse_line(*line, "ports", reason));
        }
    }
    Ok(placed.into_iter().map(|(position, _)| position).collect())
}

fn check_reachable(
    section: &Section<'_>,
    key: &str,
    who: &str,
    (position, line): (Position, usize),
    network: &Network,
) -> Result<()> {
    if position.x < network.columns && position.y < network.rows {
        return Ok(());
    }
    let Network { columns, rows, .. } = network;
    let reason =
        format!("{who} at {position} is unreachable: the network has {columns} columns and {rows} rows");
    Err(section.refuse_line(line, key, reason))
}

fn read_dma(section: &Section<'_>) -> Result<Dma> {
    let dma = Dma {
        channels: section.number("channels", Kind::Count("channels"), 0..=COUNT_MAX)? as u32,
        piece: section.number("piece", Kind::Cycles, 0..=COST_MAX)?,
    };
    section.finish()?;
    Ok(dma)
}

fn read_barrier(section: &Section<'_>) -> Result<Time> {
    let time = section.number("time", Kind::Cycles, 0..=COST_MAX)?;
    section.finish()?;
    Ok(time)
}

fn read_power(section: &Section<'_>) -> Result<Power> {
    let power = Power {
        idle_microwatts: section.number("idle", Kind::Power, 0..=COST_MAX)?,
        core_cycle: section.number("core_cycle", Kind::Energy, 0..=COST_MAX)?,
        flit_hop: section.number("flit_hop", Kind::Energy, 0..=COST_MAX)?,
        dma_byte: section.number("dma_byte", Kind::Energy, 0..=COST_MAX)?,
        ddr_byte: section.number("ddr_byte", Kind::Energy, 0..=COST_MAX)?,
    };
    section.finish()?;
    Ok(power)
}

/// The sets of costs. One that is like another, which stands before it, says only what differs; a further kind of places only what differs from clusters.
fn read_all_ipc(section: &Section<'_>, kinds: &[PlaceKind]) -> Result<Vec<(String, Ipc)>> {
    let mut sets: Vec<(String, Section<'_>)> = Vec::new();
    let mut all = Vec::new();
    for (name, mut set) in section.named_sections()? {
        if set.has("like") {
            let like = set.text("like")?;
            let Some((_, other)) = sets.iter().find(|(before, _)| *before == like) else {
                return Err(set.refuse("like", format!("there is no section [ipc.{like}] before this one")));
            };
            set = set.like(other);
        }
        let on_cluster = set.merged("cluster")?;
        let cluster = read_ipc_costs(&on_cluster, kinds)?;
        let io = if set.has("io") { read_ipc_costs(&set.merged("io")?, kinds)? } else { cluster };
        let of_kind = |kind: &PlaceKind| {
            if !set.has(&kind.name) {
                return Ok(cluster);
            }
            read_ipc_costs(&set.merged(&kind.name)?.like(&on_cluster), kinds)
        };
        let further = kinds.iter().map(of_kind).collect::<Result<_>>()?;
        set.finish()?;
        all.push((name.clone(), Ipc { cluster, io, kinds: further }));
        sets.push((name, set));
    }
    Ok(all)
}

fn read_ipc_costs(section: &Section<'_>, kinds: &[PlaceKind]) -> Result<IpcCosts> {
    let cycles = |key| section.number(key, Kind::Cycles, 0..=COST_MAX);
    let per_byte = |key| section.rate(key);
    let optional = |key| if section.has(key) { cycles(key).map(Some) } else { Ok(None) };
    let bytes = |key, most: u64| section.number(key, Kind::Bytes, 1..=most).map(|bytes| bytes as u32);
    // The ring of an adapter is memory as any other.
    let through_buffer = |key| match (section.has(key), section.has("adapter")) {
        (true, _) => section.rate(key),
        (false, true) => section.rate("copy_per_byte"),
        (false, false) => Ok(Rate::default()),
    };
    let costs = IpcCosts {
        post: cycles("post")?,
        agent: cycles("agent")?,
        take: cycles("take")?,
        expose: cycles("expose")?,
        put_core: cycles("put_core")?,
        put_dma: cycles("put_dma")?,
        put_per_byte: per_byte("put_per_byte")?,
        complete_dma: cycles("complete_dma")?,
        copy_call: cycles("copy_call")?,
        copy_per_byte: per_byte("copy_per_byte")?,
        kernel: cycles("kernel")?,
        page_call: cycles("page_call")?,
        page_copy: per_byte("page_copy")?,
        local_call: cycles("local_call")?,
        page: section.number("page", Kind::Bytes, 1..=u64::from(u32::MAX))? as u32,
        letter_slots: section.number("letter_slots", Kind::Count("letters"), 1..=COUNT_MAX)? as u32,
        letter_payload: if section.has("letter_payload") { bytes("letter_payload", COUNT_MAX)? } else { 96 },
        letter_spare: if section.has("letter_spare") { bytes("letter_spare", 1)? } else { 0 },
        letter_write: through_buffer("letter_write")?,
        letter_read: through_buffer("letter_read")?,
        reach: optional("reach")?.unwrap_or(0),
        eager_max: if section.has("eager_max") { Some(bytes("eager_max", u32::MAX.into())?) } else { None },
        long: read_long(section)?,
        get_dma: optional("get_dma")?,
        slots: if section.has("slots") {
            Some(section.number("slots", Kind::Count("messages"), 1..=COUNT_MAX)? as u32)
        } else {
            None
        },
        accumulate: if section.has("accumulate") {
            Some(read_law(&section.section("accumulate")?)?)
        } else {
            None
        },
        adapter: if section.has("adapter") {
            Some(adapter::read(&section.merged("adapter")?, kinds)?)
        } else {
            None
        },
    };
    section.finish()?;
    Ok(costs)
}

/// The other way for long data, if there is one.
fn read_long(section: &Section<'_>) -> Result<Option<Long>> {
    if !section.has("long_min") {
        return Ok(None);
    }
    let min = section.number("long_min", Kind::Bytes, 0..=COST_MAX)?;
    Ok(Some(Long { min, call: section.number("long_call", Kind::Cycles, 0..=COST_MAX)? }))
}

fn read_law(section: &Section<'_>) -> Result<CopyLaw> {
    let call = section.number("call", Kind::Cycles, 0..=COST_MAX)?;
    let law = CopyLaw { call, per_byte: section.rate("rate")?, long: read_long(section)? };
    section.finish()?;
    Ok(law)
}

fn read_memories(section: &Section<'_>) -> Result<Memories> {
    let law = |kind| read_law(&section.section(kind)?);
    let memories = Memories { global: law("global")?, local: law("local")? };
    section.finish()?;
    Ok(memories)
}

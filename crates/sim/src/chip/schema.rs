//! Which keys a chip file has, and what must be true of them together.

use super::division::Division;
use super::fact::Fact;
use super::read::{Section, Source};
use super::unit::Kind;
use super::{
    Chip, ChipError, Cluster, Code, Ddr, Dma, Io, Ipc, IpcCosts, Network, Plane, Position, Power, Shape,
};
use crate::CYCLE;

type Result<T> = std::result::Result<T, ChipError>;

/// The most routers along a side: routes then have fewer than 256 links and a plane fewer than 65536 of them.
const SIDE_MAX: u64 = 64;

/// The most interfaces of I/O subsystems together, for the same reason.
const PORTS_MAX: usize = 1024;

/// Durations and energies stay far from where sums over a run would overflow.
const COST_MAX: u64 = 1_000_000_000_000;

/// The most of anything that is counted.
const COUNT_MAX: u64 = u16::MAX as u64;

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
    let network = read_network(&root.section("network")?)?;
    let (cluster, positions) = read_cluster(&root.section("cluster")?, &network)?;
    let io = read_all_io(root, &network)?;
    let ipc = read_all_ipc(&root.section("ipc")?)?;
    let default_ipc = root.text("default_ipc")?;
    if !ipc.iter().any(|(name, _)| *name == default_ipc) {
        return Err(root.refuse("default_ipc", format!("there is no section [ipc.{default_ipc}]")));
    }
    Ok(Chip {
        name,
        description,
        sources,
        clock_hz,
        cluster,
        positions,
        io,
        network,
        dma: read_dma(&root.section("dma")?)?,
        power: read_power(&root.section("power")?)?,
        ipc,
        default_ipc,
        free: root.sections("free")?.iter().map(Division::read).collect::<Result<_>>()?,
        facts: Vec::new(),
    })
}

fn read_network(section: &Section<'_>) -> Result<Network> {
    let shape = match section.text("shape")?.as_str() {
        "mesh" => Shape::Mesh,
        "torus" => Shape::Torus,
        other => return Err(section.refuse("shape", format!("\"{other}\": expected \"mesh\" or \"torus\""))),
    };
    let data = section.section("data")?;
    let control = section.section("control")?;
    let network = Network {
        shape,
        columns: section.number("columns", Kind::Count("routers"), 1..=SIDE_MAX)? as u16,
        rows: section.number("rows", Kind::Count("routers"), 1..=SIDE_MAX)? as u16,
        packet_payload: data.number("packet_payload", Kind::Bytes, 1..=COUNT_MAX)? as u16,
        credits: data.number("credits", Kind::Count("packets"), 1..=COUNT_MAX)? as u16,
        data: read_plane(&data)?,
        control: read_plane(&control)?,
    };
    data.finish()?;
    control.finish()?;
    section.finish()?;
    Ok(network)
}

fn read_plane(section: &Section<'_>) -> Result<Plane> {
    let flit_bytes = section.number("flit", Kind::Bytes, 1..=COUNT_MAX)?;
    let width = section.number("link", Kind::BytesPerCycle, 1..=COUNT_MAX * CYCLE)?;
    Ok(Plane {
        flit_bytes: flit_bytes as u32,
        flit_time: (flit_bytes * CYCLE * CYCLE / width).max(1),
        header_bytes: section.number("packet_header", Kind::Bytes, 0..=COUNT_MAX)? as u32,
        router: section.number("router", Kind::Cycles, 0..=COST_MAX)?,
        wire: section.number("wire", Kind::Cycles, 0..=COST_MAX)?,
    })
}

fn read_cluster(section: &Section<'_>, network: &Network) -> Result<(Cluster, Vec<Position>)> {
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
        scratchpad: section.number("scratchpad", Kind::Bytes, 1..=u64::from(u32::MAX))?,
        usable: section.number("usable", Kind::Bytes, 1..=u64::from(u32::MAX))?,
        stack: section.number("stack", Kind::Bytes, 0..=u64::from(u32::MAX))?,
        code,
        receive_per_byte: section.number("receive", Kind::CyclesPerByte, 0..=COST_MAX)?,
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
    Ok((cluster, placed.into_iter().map(|(position, _)| position).collect()))
}

fn read_all_io(root: &Section<'_>, network: &Network) -> Result<Vec<Io>> {
    let mut all: Vec<Io> = Vec::new();
    for section in root.sections("io")? {
        let io = read_io(section, network, &all)?;
        all.push(io);
    }
    let ports: usize = all.iter().map(|io| io.ports.len()).sum();
    if ports > PORTS_MAX {
        return Err(root.refuse("io", format!("{ports} ports: at most {PORTS_MAX}")));
    }
    Ok(all)
}

fn read_io(section: Section<'_>, network: &Network, before: &[Io]) -> Result<Io> {
    let name = section.text("name")?;
    if before.iter().any(|io| io.name == name) {
        return Err(section.refuse("name", format!("there is another I/O subsystem \"{name}\"")));
    }
    let section = section.called(&name);
    let placed = section.positions("ports")?;
    if placed.is_empty() {
        return Err(section.refuse("ports", format!("is empty: io {name} is unreachable")));
    }
    for (index, (position, line)) in placed.iter().enumerate() {
        check_reachable(&section, "ports", &format!("a port of io {name}"), (*position, *line), network)?;
        if placed[..index].iter().any(|(taken, _)| taken == position) {
            let reason = format!("two ports of io {name} are at {position}");
            return Err(section.refuse_line(*line, "ports", reason));
        }
    }
    let ddr = if section.has("ddr") { Some(read_ddr(&section.section("ddr")?)?) } else { None };
    let io = Io {
        name,
        ports: placed.into_iter().map(|(position, _)| position).collect(),
        cores: section.number("cores", Kind::Count("cores"), 1..=COUNT_MAX)? as u32,
        scratchpad: section.number("scratchpad", Kind::Bytes, 1..=u64::from(u32::MAX))?,
        receive_per_byte: section.number("receive", Kind::CyclesPerByte, 0..=COST_MAX)?,
        ddr,
    };
    section.finish()?;
    Ok(io)
}

fn read_ddr(section: &Section<'_>) -> Result<Ddr> {
    let ddr = Ddr {
        size: section.number("size", Kind::Bytes, 1..=1 << 50)?,
        read_per_byte: section.number("read", Kind::CyclesPerByte, 0..=COST_MAX)?,
        write_per_byte: section.number("write", Kind::CyclesPerByte, 0..=COST_MAX)?,
        piece: section.number("piece", Kind::Cycles, 0..=COST_MAX)?,
    };
    section.finish()?;
    Ok(ddr)
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
        channels: section.number("channels", Kind::Count("channels"), 1..=COUNT_MAX)? as u32,
        piece: section.number("piece", Kind::Cycles, 0..=COST_MAX)?,
    };
    section.finish()?;
    Ok(dma)
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

fn read_all_ipc(section: &Section<'_>) -> Result<Vec<(String, Ipc)>> {
    let read = |(name, set): (String, Section<'_>)| {
        let cluster = read_ipc_costs(&set.section("cluster")?)?;
        let io = read_ipc_costs(&set.section("io")?)?;
        set.finish()?;
        Ok((name, Ipc { cluster, io }))
    };
    section.named_sections()?.into_iter().map(read).collect()
}

fn read_ipc_costs(section: &Section<'_>) -> Result<IpcCosts> {
    let cycles = |key| section.number(key, Kind::Cycles, 0..=COST_MAX);
    let per_byte = |key| section.number(key, Kind::CyclesPerByte, 0..=COST_MAX);
    let costs = IpcCosts {
        post: cycles("post")?,
        put_per_place: cycles("put_per_place")?,
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
    };
    section.finish()?;
    Ok(costs)
}

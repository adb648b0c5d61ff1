//! Shapes of networks: what `[network]` says of each, where places stand in it, and the `[[link]]` list of a graph.
//!
//! Ends of links are named by kind and number or name: `cluster 3`, `io north`, `switch 0`. A place of a graph has a router of its own,
//! so it may have links to several others, and others' ways may lead through it.

use super::read::Section;
use super::schema::{COST_MAX, COUNT_MAX, Result};
use super::unit::Kind;
use super::{Io, Link, Network, Position, Shape};
use crate::topology::Graph;

/// The most routers along the side of a grid: routes then have fewer than 256 links and a plane fewer than 65536 of them.
const SIDE_MAX: u64 = 64;

/// The most places of other shapes.
pub(super) const PLACES_MAX: u64 = 4096;

/// The most routers of a graph, which has a table of all ways.
const GRAPH_MAX: u64 = 1024;

/// The most links between two routers of a graph.
const LINKS_MAX: u32 = 250;

/// How places are attached to routers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// The file lists their positions.
    Listed,
    /// So many at each router of the first row, in order.
    Shared(u16),
    /// Each at a router of its own, and there are so many more.
    Own { switches: u16 },
}

/// The shape with its columns and rows, and how places are attached. A graph's columns are not known before all places are.
pub(super) fn read(root: &Section<'_>, section: &Section<'_>) -> Result<(Shape, u16, u16, Stand)> {
    let listed = root.has("link");
    let name = if section.has("shape") || !listed { section.text("shape")? } else { "graph".to_owned() };
    if listed && name != "graph" {
        return Err(
            root.refuse("link", format!("a {name} has its links by its shape: expected shape = \"graph\""))
        );
    }
    let side = |key| section.number(key, Kind::Count("routers"), 1..=SIDE_MAX).map(|side| side as u16);
    match name.as_str() {
        "mesh" => Ok((Shape::Mesh, side("columns")?, side("rows")?, Stand::Listed)),
        "torus" => Ok((Shape::Torus, side("columns")?, side("rows")?, Stand::Listed)),
        "crossbar" => Ok((Shape::Crossbar, 1, 1, Stand::Shared(u16::MAX))),
        "fat-tree" => read_tree(section),
        "graph" => {
            let switches = section.number("switches", Kind::Count("switches"), 0..=GRAPH_MAX)? as u16;
            Ok((Shape::Graph, 0, 1, Stand::Own { switches }))
        }
        other => {
            let known = "expected \"mesh\", \"torus\", \"crossbar\", \"fat-tree\" or \"graph\"";
            Err(section.refuse("shape", format!("\"{other}\": {known}")))
        }
    }
}

fn read_tree(section: &Section<'_>) -> Result<(Shape, u16, u16, Stand)> {
    let arity = section.number("arity", Kind::Count("links"), 2..=PLACES_MAX)?;
    let levels = section.number("levels", Kind::Count("levels"), 1..=12)?;
    // All places, and as many links between any two levels, each way.
    let places = arity.checked_pow(levels as u32).filter(|places| 5 * places * levels <= COUNT_MAX);
    let Some(places) = places else {
        let reason = format!(
            "{levels} levels of {arity} links are more than the model counts: at most 65535 links and places"
        );
        return Err(section.refuse("levels", reason));
    };
    let arity = arity as u16;
    Ok((Shape::FatTree { arity }, places as u16 / arity, levels as u16, Stand::Shared(arity)))
}

/// Where the place of that number stands.
pub(super) fn place(
    section: &Section<'_>,
    key: &str,
    network: &Network,
    stand: Stand,
    number: u16,
) -> Result<Position> {
    match stand {
        Stand::Listed | Stand::Own { .. } => Ok(Position { x: number, y: 0 }),
        Stand::Shared(each) if number / each < network.columns => Ok(Position { x: number / each, y: 0 }),
        Stand::Shared(each) => {
            let room = u32::from(each) * u32::from(network.columns);
            Err(section.refuse(key, format!("there is no room for place {number}: the network has {room}")))
        }
    }
}

/// Reads the links, now that all places are known.
pub(super) fn complete(
    root: &Section<'_>,
    network: &mut Network,
    stand: Stand,
    clusters: u16,
    io: &[Io],
) -> Result<Vec<Link>> {
    let Stand::Own { switches } = stand else { return Ok(Vec::new()) };
    let places = clusters + io.len() as u16;
    let routers = u64::from(places) + u64::from(switches);
    if routers > GRAPH_MAX {
        return Err(root.refuse("network", format!("{routers} places and switches: at most {GRAPH_MAX}")));
    }
    network.columns = routers as u16;
    let mut links = Vec::new();
    for (index, section) in root.sections("link")?.into_iter().enumerate() {
        let section = section.called(&index.to_string());
        let end = |key| end(&section, key, clusters, io, switches);
        let (from, to) = (end("from")?, end("to")?);
        let there = read_pace(&section)?;
        let back = if section.has("back") {
            let back = section.section("back")?;
            let pace = read_pace(&back)?;
            back.finish()?;
            pace
        } else {
            there
        };
        section.finish()?;
        links.push(Link { from, to, ..there });
        links.push(Link { from: to, to: from, ..back });
    }
    if links.len() > usize::from(u16::MAX / 4) {
        return Err(root.refuse("link", format!("{} links: at most {}", links.len() / 2, u16::MAX / 8)));
    }
    match Graph::new(network.columns, &links, 0).too_far(places, LINKS_MAX) {
        None => Ok(links),
        Some((from, to)) => {
            let name = |place| name(place, clusters, io);
            let reason =
                format!("there is no way from {} to {} of at most {LINKS_MAX} links", name(from), name(to));
            Err(root.refuse(if root.has("link") { "link" } else { "network" }, reason))
        }
    }
}

/// What a link says of itself in one direction, with ends that are still to be told.
fn read_pace(section: &Section<'_>) -> Result<Link> {
    let per_byte = if section.has("bandwidth") { Some(section.rate("bandwidth")?) } else { None };
    let latency = if section.has("latency") {
        Some(section.number("latency", Kind::Cycles, 0..=COST_MAX)?)
    } else {
        None
    };
    Ok(Link { from: 0, to: 0, per_byte, latency })
}

/// The router that an end of a link names.
fn end(section: &Section<'_>, key: &str, clusters: u16, io: &[Io], switches: u16) -> Result<u16> {
    let text = section.text(key)?;
    let places = clusters + io.len() as u16;
    let number = |word: &str, count: u16| word.parse().ok().filter(|number| *number < count);
    let router = match text.split_once(' ') {
        Some(("cluster", word)) => number(word, clusters),
        Some(("switch", word)) => number(word, switches).map(|switch| places + switch),
        Some(("io", word)) => io.iter().position(|io| io.name == word).map(|index| clusters + index as u16),
        _ => None,
    };
    router.ok_or_else(|| {
        let mut known = format!("\"cluster 0\" to \"cluster {}\"", clusters - 1);
        if switches > 0 {
            known += &format!(", \"switch 0\" to \"switch {}\"", switches - 1);
        }
        known.extend(io.iter().map(|io| format!(", \"io {}\"", io.name)));
        section.refuse(key, format!("\"{text}\" is no end of a link: expected {known}"))
    })
}

fn name(place: u16, clusters: u16, io: &[Io]) -> String {
    match place.checked_sub(clusters) {
        Some(index) => format!("io {}", io[usize::from(index)].name),
        None => format!("cluster {place}"),
    }
}

/// Whether a network that was not read from a file is one that could have been.
pub(super) fn holds_together(network: &Network, places: u16, links: &[Link]) -> bool {
    let Network { shape, columns, rows, .. } = *network;
    if shape != Shape::Graph && !links.is_empty() {
        return false;
    }
    match shape {
        Shape::Mesh | Shape::Torus => u64::from(columns) <= SIDE_MAX && u64::from(rows) <= SIDE_MAX,
        Shape::Crossbar => (columns, rows) == (1, 1) && u64::from(places) <= PLACES_MAX,
        Shape::FatTree { arity } => {
            let width = u64::from(arity).checked_pow(u32::from(rows).saturating_sub(1));
            let all = u64::from(columns) * u64::from(arity);
            arity > 1
                && rows > 0
                && width == Some(columns.into())
                && u64::from(places) <= all
                && 5 * all * u64::from(rows) <= COUNT_MAX
        }
        Shape::Graph => {
            rows == 1
                && u64::from(columns) <= GRAPH_MAX
                && places <= columns
                && links.len() <= usize::from(u16::MAX / 4)
                && links.iter().all(|link| link.from < columns && link.to < columns)
                && Graph::new(columns, links, 0).too_far(places, LINKS_MAX).is_none()
        }
    }
}

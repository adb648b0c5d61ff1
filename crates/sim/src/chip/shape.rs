//! Shapes of networks: what `[network]` says of each, where places stand in it, and the `[[link]]` list of a graph.
//!
//! Ends of links are named by kind and number or name: `cluster 3`, `io north`, `switch 0`, `host 2`. A kind without a number stands for all its places,
//! each linked to that of its own number or to the one other end. A place of a graph has a router of its own, so it may have links to several others,
//! and others' ways may lead through it.

use std::ops::Range;

use super::read::Section;
use super::schema::{COST_MAX, COUNT_MAX, Result};
use super::unit::Kind;
use super::{Io, Kind as PlaceKind, Link, Network, Position, Shape};
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
    named: Places<'_>,
) -> Result<Vec<Link>> {
    let Stand::Own { switches } = stand else { return Ok(Vec::new()) };
    let places = named.count();
    let routers = u64::from(places) + u64::from(switches);
    if routers > GRAPH_MAX {
        return Err(root.refuse("network", format!("{routers} places and switches: at most {GRAPH_MAX}")));
    }
    network.columns = routers as u16;
    let mut links = Vec::new();
    for (index, section) in root.sections("link")?.into_iter().enumerate() {
        let section = section.called(&index.to_string());
        let end = |key| end(&section, key, &named, switches);
        let (from, to) = (end("from")?, end("to")?);
        let count = from.len().max(to.len());
        if from.len().min(to.len()) != 1 && from.len() != to.len() {
            let reason = format!("{} ends meet {}: expected as many, or one", from.len(), to.len());
            return Err(section.refuse("to", reason));
        }
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
        let nth =
            |ends: &Range<u16>, index: u16| if ends.len() == 1 { ends.start } else { ends.start + index };
        for index in 0..count as u16 {
            let (from, to) = (nth(&from, index), nth(&to, index));
            links.push(Link { from, to, ..there });
            links.push(Link { from: to, to: from, ..back });
        }
    }
    if links.len() > usize::from(u16::MAX / 4) {
        return Err(root.refuse("link", format!("{} links: at most {}", links.len() / 2, u16::MAX / 8)));
    }
    match Graph::new(network.columns, &links, 0).too_far(places, LINKS_MAX) {
        None => Ok(links),
        Some((from, to)) => {
            let reason = format!(
                "there is no way from {} to {} of at most {LINKS_MAX} links",
                named.name(from),
                named.name(to)
            );
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

/// The routers that an end of a link names: one, or those of all places of a kind.
fn end(section: &Section<'_>, key: &str, named: &Places<'_>, switches: u16) -> Result<Range<u16>> {
    let text = section.text(key)?;
    let (kind, word) = text.split_once(' ').map_or((text.as_str(), None), |(kind, word)| (kind, Some(word)));
    let all = named.all(switches);
    let range = match (kind, word) {
        ("io", Some(word)) => {
            let index = named.io.iter().position(|io| io.name == word);
            index.map(|index| named.clusters + index as u16).map(|place| place..place + 1)
        }
        _ => all.iter().find(|(name, _)| *name == kind).and_then(|(_, range)| match word {
            None => Some(range.clone()),
            Some(word) => {
                let number: u16 = word.parse().ok()?;
                (usize::from(number) < range.len()).then(|| range.start + number..range.start + number + 1)
            }
        }),
    };
    range.filter(|range| !range.is_empty()).ok_or_else(|| {
        let known = all.iter().filter(|(_, range)| !range.is_empty());
        let mut known: Vec<String> =
            known.map(|(name, range)| format!("\"{name} 0\" to \"{name} {}\"", range.len() - 1)).collect();
        known.extend(named.io.iter().map(|io| format!("\"io {}\"", io.name)));
        section.refuse(key, format!("\"{text}\" is no end of a link: expected {}", known.join(", ")))
    })
}

/// All places by their names.
#[derive(Clone, Copy)]
pub(super) struct Places<'p> {
    /// What clusters are called.
    pub(super) cluster: &'p str,
    pub(super) clusters: u16,
    pub(super) io: &'p [Io],
    pub(super) kinds: &'p [PlaceKind],
}

impl Places<'_> {
    fn count(&self) -> u16 {
        self.all(0)
            .iter()
            .map(|(_, range)| range.end)
            .max()
            .unwrap_or(0)
            .max(self.clusters + self.io.len() as u16)
    }

    /// The routers of each kind of places that has numbers, and of the switches.
    fn all(&self, switches: u16) -> Vec<(&str, Range<u16>)> {
        let mut all = vec![(self.cluster, 0..self.clusters)];
        let mut next = self.clusters + self.io.len() as u16;
        let mut then = |name, count: u16| {
            all.push((name, next..next + count));
            next += count;
        };
        for kind in self.kinds {
            then(&kind.name, kind.ports.len() as u16);
        }
        then("switch", switches);
        all
    }

    fn name(&self, place: u16) -> String {
        let kinds = self.all(0);
        match kinds.iter().find(|(_, range)| range.contains(&place)) {
            Some((name, range)) => format!("{name} {}", place - range.start),
            None => format!("io {}", self.io[usize::from(place - self.clusters)].name),
        }
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

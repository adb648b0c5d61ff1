//! Places of several kinds: hosts, cards and adapters beside the clusters, and which of them ranks run on.
//!
//! The places of a kind are numbered from 0, and what belongs together (a card and its host) has one number. Clusters are the first kind, under the name
//! that the file gives them.

use super::read::Section;
use super::schema::{COUNT_MAX, MEMORY_MAX, Result};
use super::shape::{self, Stand};
use super::unit;
use super::{Chip, Io, Network, Place, Position};
use crate::Rate;

/// What clusters are called unless the file says otherwise.
pub(super) const CLUSTER: &str = "cluster";

/// A further kind of places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// "host", "adapter", ….
    pub name: String,
    /// The routers that its places hang at, one each.
    pub ports: Vec<Position>,
    /// Cores for programs.
    pub cores: u32,
    /// How many processes a place takes; none where no program runs.
    pub ranks_max: u32,
    /// Bytes of a place's memory.
    pub memory: u64,
    /// Time a byte takes from the network into memory.
    pub receive_per_byte: Rate,
}

/// Places that ranks may run on: consecutive, and alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Home {
    /// The first of them.
    pub first: Place,
    /// How many there are.
    pub places: u16,
    /// Ranks that each takes.
    pub each: u32,
}

impl Home {
    /// Ranks that all of them take.
    pub fn ranks(&self) -> u32 {
        u32::from(self.places).saturating_mul(self.each)
    }
}

/// Reads the kinds, whose places follow those of clusters and I/O subsystems.
pub(super) fn read(
    root: &Section<'_>,
    network: &Network,
    stand: Stand,
    (cluster, clusters, io): (&str, u16, &[Io]),
) -> Result<Vec<Kind>> {
    let mut kinds: Vec<Kind> = Vec::new();
    let mut next = clusters + io.len() as u16;
    for section in root.sections("place")? {
        let name = section.text("name")?;
        let taken = [cluster, "io", "switch"].contains(&name.as_str());
        if taken || kinds.iter().any(|kind| kind.name == name) {
            return Err(section.refuse("name", format!("there is another kind of places \"{name}\"")));
        }
        if stand == Stand::Listed {
            let reason = "a grid has places for clusters and I/O subsystems only: expected another shape";
            return Err(section.refuse("name", reason));
        }
        let section = section.called(&name);
        let kind = read_one(&section, network, stand, (name, next))?;
        next += kind.ports.len() as u16;
        kinds.push(kind);
    }
    Ok(kinds)
}

fn read_one(
    section: &Section<'_>,
    network: &Network,
    stand: Stand,
    (name, first): (String, u16),
) -> Result<Kind> {
    let room = shape::PLACES_MAX.saturating_sub(first.into()).max(1);
    let count = section.number("count", unit::Kind::Count("places"), 1..=room)? as u16;
    let ports = (first..first + count).map(|place| shape::place(section, "count", network, stand, place));
    let optional =
        |key, kind, most| if section.has(key) { section.number(key, kind, 0..=most) } else { Ok(0) };
    let kind = Kind {
        ports: ports.collect::<Result<_>>()?,
        cores: optional("cores", unit::Kind::Count("cores"), COUNT_MAX)? as u32,
        ranks_max: optional("ranks_max", unit::Kind::Count("ranks"), COUNT_MAX)? as u32,
        memory: optional("memory", unit::Kind::Bytes, MEMORY_MAX)?,
        receive_per_byte: if section.has("receive") { section.rate("receive")? } else { Rate::default() },
        name,
    };
    if kind.ranks_max > kind.cores {
        let reason = format!("{} ranks do not fit on {} cores", kind.ranks_max, kind.cores);
        return Err(section.refuse("ranks_max", reason));
    }
    section.finish()?;
    Ok(kind)
}

impl Chip {
    /// The further kind that a place is of, by its index, and its number there.
    pub fn kind_at(&self, place: Place) -> Option<(u16, u16)> {
        let mut number = place.0.checked_sub(self.clusters() + self.io.len() as u16)?;
        for (index, kind) in (0..).zip(&self.kinds) {
            let count = kind.ports.len() as u16;
            if number < count {
                return Some((index, number));
            }
            number -= count;
        }
        None
    }

    /// The place of that number of a further kind; `None` if it has fewer.
    pub fn place_of_kind(&self, kind: u16, number: u16) -> Option<Place> {
        let before: usize = self.kinds.get(..usize::from(kind))?.iter().map(|kind| kind.ports.len()).sum();
        let there = usize::from(number) < self.kinds.get(usize::from(kind))?.ports.len();
        there.then(|| Place(self.clusters() + self.io.len() as u16 + before as u16 + number))
    }

    /// Where ranks run: the clusters, or the kinds that were chosen, each of which gets an equal part of the ranks.
    pub fn homes(&self) -> Vec<Home> {
        let clusters = Home { first: Place(0), places: self.clusters(), each: self.cluster.ranks_max };
        if self.runs_on.is_empty() {
            return vec![clusters];
        }
        let home = |kind: &u16| match kind.checked_sub(1) {
            None => Some(clusters),
            Some(kind) => {
                let Kind { ports, ranks_max, .. } = self.kinds.get(usize::from(kind))?;
                let first = self.place_of_kind(kind, 0)?;
                Some(Home { first, places: ports.len() as u16, each: *ranks_max })
            }
        };
        self.runs_on.iter().filter_map(home).collect()
    }

    /// Lets ranks run on places of these kinds, named with commas between.
    pub fn run_on(&mut self, names: &str) -> std::result::Result<(), String> {
        let takes_ranks: Vec<(u16, &str)> = std::iter::once((0, self.cluster_name.as_str()))
            .chain(
                (1..)
                    .zip(&self.kinds)
                    .filter(|(_, kind)| kind.ranks_max > 0)
                    .map(|(at, kind)| (at, kind.name.as_str())),
            )
            .collect();
        let mut kinds = Vec::new();
        for name in names.split(',') {
            let Some((index, _)) = takes_ranks.iter().find(|(_, known)| *known == name) else {
                let known: Vec<&str> = takes_ranks.iter().map(|(_, name)| *name).collect();
                return Err(format!("\"{name}\", expected one of: {}", known.join(" ")));
            };
            kinds.push(*index);
        }
        self.runs_on = kinds;
        Ok(())
    }

    /// Chooses the communication software by its name.
    pub fn use_software(&mut self, name: &str) -> std::result::Result<(), String> {
        if self.ipc(name).is_none() {
            let known: Vec<&str> = self.ipc.iter().map(|(name, _)| name.as_str()).collect();
            return Err(format!("\"{name}\", expected one of: {}", known.join(" ")));
        }
        self.default_ipc = name.to_owned();
        Ok(())
    }

    /// The name of a place, as links have it: `cluster 3`, `io north`, `host 2`.
    pub fn name_of(&self, place: Place) -> String {
        match (self.io_at(place), self.kind_at(place)) {
            (Some(io), _) => format!("io {}", io.name),
            (None, Some((kind, number))) => format!("{} {number}", self.kinds[usize::from(kind)].name),
            (None, None) => format!("{} {}", self.cluster_name, place.0),
        }
    }
}

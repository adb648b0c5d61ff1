//! The description of a chip: what a file of `chips/` says, checked and in the units of the model.
//!
//! The typed fields are what the model computes with; [`Chip::facts`] keeps every number as it was written, with its unit and
//! where it comes from, for people. Both are made in one pass over the file, so they cannot disagree.

mod adapter;
mod base;
mod buffers;
mod core;
mod ddr;
mod division;
mod edit;
mod fact;
mod find;
mod kind;
mod multicast;
mod nearest;
mod read;
mod schema;
mod shape;
mod team;
#[cfg(test)]
mod tests;
mod unit;
mod wire;

use std::fmt;

pub use adapter::Adapter;
pub use buffers::Buffers;
pub use core::{Core, KINDS_OF_WORK, Work};
pub use ddr::{Ddr, Rows};
pub use division::{Division, End};
pub use edit::{changed, rewrite};
pub use fact::{Fact, Provenance};
pub use find::{Description, FindError};
pub use kind::{Home, Kind};
pub use multicast::Multicast;
pub use team::Team;

use crate::{CYCLE, Rate, Time};

/// The descriptions that come with the program: name and text of the file.
pub const BUILTIN: [(&str, &str); 13] = [
    ("mppa256-andey", include_str!("../../../../chips/mppa256-andey.toml")),
    ("mppa256-bostan", include_str!("../../../../chips/mppa256-bostan.toml")),
    ("epiphany-iv", include_str!("../../../../chips/epiphany-iv.toml")),
    ("mesh16", include_str!("../../../../chips/mesh16.toml")),
    ("earth-simulator", include_str!("../../../../chips/earth-simulator.toml")),
    ("xeonphi-ib8", include_str!("../../../../chips/xeonphi-ib8.toml")),
    ("tenstorrent-wormhole", include_str!("../../../../chips/tenstorrent-wormhole.toml")),
    ("tenstorrent-blackhole", include_str!("../../../../chips/tenstorrent-blackhole.toml")),
    ("mppa256-bostan-400", include_str!("../../../../chips/mppa256-bostan-400.toml")),
    ("mppa256-bostan-500", include_str!("../../../../chips/mppa256-bostan-500.toml")),
    ("mppa256-nanvix", include_str!("../../../../chips/mppa256-nanvix.toml")),
    ("intel-scc", include_str!("../../../../chips/intel-scc.toml")),
    ("tile64", include_str!("../../../../chips/tile64.toml")),
];

/// A validated description.
#[derive(Debug, Clone)]
pub struct Chip {
    /// A short name, as in `--chip NAME`.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Short names of publications, as in provenances, and what they stand for.
    pub sources: Vec<(String, String)>,
    /// The reference clock; all cycles are its cycles.
    pub clock_hz: u64,
    /// What clusters are called: `cluster`, or what a system has in their place.
    pub cluster_name: String,
    /// What all compute clusters have in common.
    pub cluster: Cluster,
    /// Where each compute cluster is: place `i` is at `positions[i]`.
    pub positions: Vec<Position>,
    /// The I/O subsystems, whose places follow those of the clusters.
    pub io: Vec<Io>,
    /// Places of further kinds, which follow those of the I/O subsystems.
    pub kinds: Vec<Kind>,
    /// The kinds that ranks run on, clusters being number 0; none: clusters alone.
    pub runs_on: Vec<u16>,
    /// The network's shape and its two planes.
    pub network: Network,
    /// The links of a graph; empty where the shape says them all.
    pub links: Vec<Link>,
    /// The DMA engine of every interface.
    pub dma: Dma,
    /// The kinds of memory of a cluster; `None`: it has one, and everybody reaches it.
    pub memory: Option<Memories>,
    /// Time from the last arrival at the machine's own barrier until all may go on; `None`: it has none.
    pub barrier: Option<Time>,
    /// What instructions cost, for programs that count theirs; `None`: nobody says.
    pub core: Option<Core>,
    /// Where the energy goes.
    pub power: Power,
    /// The cost sets of communication software, by name, in the file's order.
    pub ipc: Vec<(String, Ipc)>,
    /// The set that is used when nobody names one.
    pub default_ipc: String,
    /// In which ways its numbers can be changed while every figure that they were calibrated by stays.
    pub free: Vec<Division>,
    /// Every number of the file, in its order.
    pub facts: Vec<Fact>,
}

/// The numbers of a file that is nothing but numbers with provenance in sections, such as the laws of applications.
pub fn numbers(text: &str, origin: &str) -> Result<Vec<Fact>, ChipError> {
    schema::numbers(text, origin)
}

/// An end point of the network: compute clusters first, then I/O subsystems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub u16);

/// A router of the grid: column and row, from the north-west corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Column, growing eastwards.
    pub x: u16,
    /// Row, growing southwards.
    pub y: u16,
}

/// A compute cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cluster {
    /// Cores for programs.
    pub cores: u32,
    /// Cores that the system keeps (resource managers).
    pub system_cores: u32,
    /// How many processes a cluster takes.
    pub ranks_max: u32,
    /// Bytes of the scratchpad.
    pub scratchpad: u64,
    /// Bytes of it that are left to programs and libraries.
    pub usable: u64,
    /// Bytes of a process's stack.
    pub stack: u64,
    /// Where the code of programs is.
    pub code: Code,
    /// Time a byte takes from the network into memory.
    pub receive_per_byte: Rate,
    /// What it costs that several cores work for a rank; `None`: nobody says, and each has one.
    pub team: Option<Team>,
}

/// Where the code of programs is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// In the scratchpad, once for all processes of a cluster that run the same.
    Scratchpad,
    /// In memory outside the chip, through an instruction cache or at the price of slow fetches.
    External,
}

/// An I/O subsystem: an end point outside the grid, attached to one or more routers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Io {
    /// "north", "host", ….
    pub name: String,
    /// The routers it hangs at. It has an interface with a DMA engine at each.
    pub ports: Vec<Position>,
    /// Cores for programs.
    pub cores: u32,
    /// Bytes of its own on-chip memory.
    pub scratchpad: u64,
    /// Time a byte takes from the network into memory.
    pub receive_per_byte: Rate,
    /// The memory outside the chip that it controls.
    pub ddr: Option<Ddr>,
}

/// Two kinds of memory at a cluster. Which one a buffer is in is told by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memories {
    /// What MPI_Alloc_mem and windows have: other ranks of the cluster and the network reach it.
    pub global: CopyLaw,
    /// Everything else: its own rank alone reaches it, so data is copied from there to global memory and back.
    pub local: CopyLaw,
}

/// What a copy between a kind of memory and global memory takes a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyLaw {
    /// Each copy.
    pub call: Time,
    /// Each byte.
    pub per_byte: Rate,
    /// Copies of so many bytes and more are made in another way.
    pub long: Option<Long>,
}

/// Another way for long data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Long {
    /// From so many bytes on.
    pub min: u64,
    /// How much more it costs to set up.
    pub call: Time,
}

impl Long {
    /// What it adds to the set-up for so many bytes.
    pub fn of(long: Option<Long>, bytes: u64) -> Time {
        long.filter(|long| bytes >= long.min).map_or(0, |long| long.call)
    }
}

impl CopyLaw {
    /// A copy of so many bytes.
    pub fn of(&self, bytes: u64) -> Time {
        self.call + self.per_byte.of(bytes) + Long::of(self.long, bytes)
    }
}

/// How routers are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A grid that ends at its edges.
    Mesh,
    /// A grid whose rows and columns are closed to rings.
    Torus,
    /// One switch that everything hangs at.
    Crossbar,
    /// Levels of switches, each as wide upwards as downwards; the column of a router is its number in its level, the row the level.
    FatTree {
        /// Links of a switch downwards.
        arity: u16,
    },
    /// As [`Chip::links`] lists it: a router at every place, then the switches, all in one row.
    Graph,
}

/// A link of a graph, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Column of the router it comes from.
    pub from: u16,
    /// Column of the router it goes to.
    pub to: u16,
    /// Time a byte takes; `None`: as the planes say.
    pub per_byte: Option<Rate>,
    /// Time a head needs along it; `None`: as the planes' wires.
    pub latency: Option<Time>,
}

/// The routers, and what is laid over them twice: data and control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// How they are connected.
    pub shape: Shape,
    /// Routers from west to east, or of a level.
    pub columns: u16,
    /// Routers from north to south, or levels.
    pub rows: u16,
    /// The plane for bulk transfers.
    pub data: Plane,
    /// The plane for letters.
    pub control: Plane,
    /// The largest payload of a data packet, in bytes.
    pub packet_payload: u16,
    /// Data packets that a transfer may have between source and memory of the receiver.
    pub credits: u16,
    /// The buffers of the data plane's routers; `None`: they are never full.
    pub buffers: Option<Buffers>,
}

/// The links of one plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plane {
    /// Bytes of a flit, the unit that a link moves.
    pub flit_bytes: u32,
    /// Time a flit occupies a link.
    pub flit_time: Rate,
    /// Bytes of a packet's header.
    pub header_bytes: u32,
    /// Time a packet's head needs through a router.
    pub router: Time,
    /// Time a packet's head needs along a wire to the next router.
    pub wire: Time,
    /// Its routers copy packets to several destinations; `None`: they do not.
    pub multicast: Option<Multicast>,
}

/// A DMA engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dma {
    /// Transfers at once.
    pub channels: u32,
    /// Time to set up each contiguous piece.
    pub piece: Time,
}

/// Power and energies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Power {
    /// What the chip takes when nothing happens, in microwatts.
    pub idle_microwatts: u64,
    /// Femtojoules of a cycle of an active core.
    pub core_cycle: u64,
    /// Femtojoules of a flit on one link or interface.
    pub flit_hop: u64,
    /// Femtojoules of a byte moved by a DMA engine.
    pub dma_byte: u64,
    /// Femtojoules of a byte read from or written to DDR.
    pub ddr_byte: u64,
}

/// What calls of one communication software cost, by where the caller is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ipc {
    /// On a core of a compute cluster.
    pub cluster: IpcCosts,
    /// On a core of an I/O subsystem.
    pub io: IpcCosts,
    /// On a core of a place of each further kind.
    pub kinds: Vec<IpcCosts>,
}

/// The costs of communication software: time of a core where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpcCosts {
    /// Sending one letter.
    pub post: Time,
    /// The receiving place's resource manager, a letter. 0: there is none.
    pub agent: Time,
    /// Taking a letter out of the mailbox.
    pub take: Time,
    /// Exposing a region to writers.
    pub expose: Time,
    /// Setting up a put that the core makes.
    pub put_core: Time,
    /// Setting up a put that the DMA engine makes.
    pub put_dma: Time,
    /// Each byte of a put that the core makes.
    pub put_per_byte: Rate,
    /// Noticing that a DMA put is over.
    pub complete_dma: Time,
    /// Starting a local copy.
    pub copy_call: Time,
    /// Each byte of a local copy.
    pub copy_per_byte: Rate,
    /// The place's system core, a mailbox or portal call. 0: there is none in the way.
    pub kernel: Time,
    /// The place's system core, a page of a portal transfer, at either end.
    pub page_call: Time,
    /// The place's system core, a byte of the pages of a portal transfer inside the cluster: into its buffers and out again.
    pub page_copy: Rate,
    /// A call inside the cluster without the system.
    pub local_call: Time,
    /// Portal transfers are charged in multiples of this many bytes.
    pub page: u32,
    /// Letters that one sender may have in a receiver's queue.
    pub letter_slots: u32,
    /// Most payload bytes of a letter.
    pub letter_payload: u32,
    /// Bytes that stay free in the last letter of a message, by which its receiver knows it.
    pub letter_spare: u32,
    /// Each byte of a letter's payload into the buffer that it goes through: the ring of an adapter, the sender's part of shared memory on the chip.
    pub letter_write: Rate,
    /// Each byte out of it, by the receiver.
    pub letter_read: Rate,
    /// Sending a letter to another place, besides `post`.
    pub reach: Time,
    /// The longest message that goes in letters; `None`: as follows from the costs.
    pub eager_max: Option<u32>,
    /// Messages that go to another place in another way.
    pub long: Option<Long>,
    /// Setting up a get from another place that the network makes by itself; `None`: it asks somebody there for a put.
    pub get_dma: Option<Time>,
    /// Messages inside a cluster that may use its slots at a time, where messages go through ports of an operating system, which are opened for each
    /// and asked again and again by whoever waits; `None`: there are no such ports.
    pub slots: Option<u32>,
    /// What somebody at the target does with the operands of an accumulate; `None`: what it does with a letter, and a local copy.
    pub accumulate: Option<CopyLaw>,
    /// What moves memory to other places by itself, and what it needs for that; `None`: nothing is to be registered.
    pub adapter: Option<Adapter>,
}

impl Chip {
    /// One of the descriptions that come with the program.
    pub fn builtin(name: &str) -> Option<Chip> {
        let (name, text) = BUILTIN.iter().find(|(builtin, _)| *builtin == name)?;
        Some(Self::from_toml(text, &format!("chips/{name}.toml")).expect("a tested description"))
    }

    /// Reads a description. `origin` is the file's name, for messages.
    pub fn from_toml(text: &str, origin: &str) -> Result<Chip, ChipError> {
        let complete = base::complete(text, origin)?;
        schema::chip(complete.as_deref().unwrap_or(text), origin)
    }

    /// The costs of the communication software of that name.
    pub fn ipc(&self, name: &str) -> Option<&Ipc> {
        self.ipc.iter().find(|(set, _)| set == name).map(|(_, costs)| costs)
    }

    /// Number of compute clusters.
    pub fn clusters(&self) -> u16 {
        self.positions.len() as u16
    }

    /// Number of places: clusters, I/O subsystems, and those of further kinds.
    pub fn places(&self) -> u16 {
        let further: usize = self.kinds.iter().map(|kind| kind.ports.len()).sum();
        self.clusters() + (self.io.len() + further) as u16
    }

    /// What calls of a software cost at a place.
    pub fn costs(&self, ipc: &Ipc, place: Place) -> IpcCosts {
        match (self.io_at(place), self.kind_at(place)) {
            (Some(_), _) => ipc.io,
            (None, Some((kind, _))) => ipc.kinds[usize::from(kind)],
            (None, None) => ipc.cluster,
        }
    }

    /// The place of an I/O subsystem.
    pub fn io_place(&self, index: u16) -> Place {
        Place(self.clusters() + index)
    }

    /// The I/O subsystem at a place, if it is one.
    pub fn io_at(&self, place: Place) -> Option<&Io> {
        self.io.get((place.0.checked_sub(self.clusters())?) as usize)
    }

    /// Cores for programs at a place.
    pub fn cores_at(&self, place: Place) -> u32 {
        match (self.io_at(place), self.kind_at(place)) {
            (Some(io), _) => io.cores,
            (None, Some((kind, _))) => self.kinds[usize::from(kind)].cores,
            (None, None) => self.cluster.cores,
        }
    }

    /// The routers that a place is attached to.
    pub fn ports(&self, place: Place) -> &[Position] {
        match (self.io_at(place), self.kind_at(place)) {
            (Some(io), _) => &io.ports,
            (None, Some((kind, number))) => {
                std::slice::from_ref(&self.kinds[usize::from(kind)].ports[usize::from(number)])
            }
            (None, None) => std::slice::from_ref(&self.positions[place.0 as usize]),
        }
    }

    /// The cluster that a router belongs to: the only one there, if the shape has a router for every cluster.
    pub fn cluster_at(&self, router: Position) -> Option<u16> {
        match self.network.shape {
            Shape::Crossbar | Shape::FatTree { .. } => None,
            Shape::Graph => (router.x < self.clusters()).then_some(router.x),
            Shape::Mesh | Shape::Torus => {
                self.positions.iter().position(|at| *at == router).map(|cluster| cluster as u16)
            }
        }
    }

    /// The most processes that the places which ranks run on take together.
    pub fn ranks_max(&self) -> u32 {
        let homes = self.homes();
        (homes.len() as u32).saturating_mul(homes.iter().map(Home::ranks).min().unwrap_or(0))
    }

    /// Ticks of [`Time`] in a second.
    pub fn ticks_per_second(&self) -> u64 {
        self.clock_hz * CYCLE
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

/// Why a description was refused. Displays as `FILE:LINE: reason`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChipError {
    /// The file, as the reader was told.
    pub origin: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, with which value, and what was expected.
    pub reason: String,
}

impl fmt::Display for ChipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.origin, self.line, self.reason)
    }
}

impl std::error::Error for ChipError {}

//! Positions, links and routes.
//!
//! A route is static: it leaves the source by one interface, goes from router to router as the shape says, and enters the destination by
//! one interface. An end point with several interfaces uses the pair with the fewest links between them, the first of these if there are
//! more. What a shape knows of its routers is in `grid` (mesh and torus), `tree` (fat tree) and `graph`; a crossbar is one router.

pub(crate) mod channels;
mod graph;
mod grid;
mod spread;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use graph::Graph;
pub(crate) use spread::Branch;

use crate::Chip;
use crate::chip::{Place, Position, Shape};
use crate::link::{LinkUse, Node, Pace};
use grid::Grid;
use tree::Tree;

/// Index of a link in [`Topology::links`], the same in both planes up to an offset.
pub(crate) type LinkId = u16;

/// The links of a chip and the ways over them.
pub(crate) struct Topology {
    ways: Ways,
    /// Where each interface is attached.
    interfaces: Vec<(Place, Position)>,
    /// The first interface of each place, and one more entry for the end.
    first_interface: Vec<u16>,
    links: Vec<(Node, Node)>,
}

/// How routers are connected.
enum Ways {
    Grid(Grid),
    Crossbar,
    Tree(Tree),
    Graph(Graph),
}

/// The interfaces of two end points that a transfer between them uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interfaces {
    pub(crate) source: u16,
    pub(crate) destination: u16,
}

/// The links of a way, and where buffers are finite the channel of each.
#[derive(Debug, Default)]
pub(crate) struct Route {
    pub(crate) links: Vec<LinkId>,
    pub(crate) channels: Vec<u8>,
}

impl Topology {
    pub(crate) fn new(chip: &Chip) -> Self {
        let mut interfaces = Vec::new();
        let mut first_interface = vec![0];
        for place in (0..chip.places()).map(Place) {
            interfaces.extend(chip.ports(place).iter().map(|port| (place, *port)));
            first_interface.push(interfaces.len() as u16);
        }
        let mut links = Vec::new();
        for &(place, position) in &interfaces {
            links.push((Node::Place(place), Node::Router(position)));
            links.push((Node::Router(position), Node::Place(place)));
        }
        let ways = Ways::new(chip, &mut links);
        Topology { ways, interfaces, first_interface, links }
    }

    /// The links of both planes, unused: data first, then control from [`Self::links_of_a_plane`] on.
    pub(crate) fn links(&self, chip: &Chip) -> Vec<LinkUse> {
        let first_between = 2 * self.interfaces.len();
        let mut all = Vec::with_capacity(2 * self.links.len());
        for control in [false, true] {
            let plane = if control { chip.network.control } else { chip.network.data };
            for (index, (from, to)) in self.links.iter().enumerate() {
                let mut pace = Pace::of(&plane);
                match index.checked_sub(first_between).map(|between| chip.links.get(between)) {
                    None => pace.wire = 0,
                    // Only a graph has links that differ, and they are all that it has.
                    Some(Some(link)) => {
                        pace.flit =
                            link.per_byte.map_or(pace.flit, |rate| rate.times(plane.flit_bytes.into()));
                        pace.wire = link.latency.unwrap_or(pace.wire);
                    }
                    Some(None) => {}
                }
                all.push(LinkUse::new(*from, *to, control, pace));
            }
        }
        all
    }

    pub(crate) fn links_of_a_plane(&self) -> u16 {
        self.links.len() as u16
    }

    pub(crate) fn interface_count(&self) -> usize {
        self.interfaces.len()
    }

    /// The pair of interfaces with the shortest way between them.
    pub(crate) fn interfaces(&self, from: Place, to: Place) -> Interfaces {
        let pairs = self.interfaces_of(from).flat_map(|source| {
            self.interfaces_of(to).map(move |destination| Interfaces { source, destination })
        });
        pairs.min_by_key(|pair| self.distance(*pair)).expect("a place has an interface")
    }

    /// Links between the routers of two interfaces.
    pub(crate) fn distance(&self, pair: Interfaces) -> u32 {
        let (from, to) = self.ends(pair);
        match &self.ways {
            Ways::Grid(grid) => grid.distance(from, to),
            Ways::Crossbar => 0,
            Ways::Tree(tree) => tree.distance(from, to),
            Ways::Graph(graph) => graph.distance(from.x, to.x),
        }
    }

    /// Puts the links from one interface to the other into `route`: out of the source, between routers, into the destination.
    pub(crate) fn route(&self, pair: Interfaces, route: &mut Vec<LinkId>) {
        let (from, to) = self.ends(pair);
        route.clear();
        route.push(2 * pair.source);
        match &self.ways {
            Ways::Grid(grid) => grid.walk(from, to, route),
            Ways::Crossbar => {}
            Ways::Tree(tree) => tree.walk(from, to, self.interfaces[pair.destination as usize].0, route),
            Ways::Graph(graph) => graph.walk(from.x, to.x, route),
        }
        route.push(2 * pair.destination + 1);
    }

    fn ends(&self, pair: Interfaces) -> (Position, Position) {
        (self.interfaces[pair.source as usize].1, self.interfaces[pair.destination as usize].1)
    }

    pub(crate) fn interfaces_of(&self, place: Place) -> std::ops::Range<u16> {
        self.first_interface[place.0 as usize]..self.first_interface[place.0 as usize + 1]
    }
}

impl Ways {
    /// Adds the links between routers.
    fn new(chip: &Chip, links: &mut Vec<(Node, Node)>) -> Ways {
        match chip.network.shape {
            Shape::Mesh | Shape::Torus => Ways::Grid(Grid::new(chip.network, links)),
            Shape::Crossbar => Ways::Crossbar,
            Shape::FatTree { arity } => Ways::Tree(Tree::new(arity, chip.network.rows, links)),
            Shape::Graph => {
                let first = links.len() as LinkId;
                let router = |x| Node::Router(Position { x, y: 0 });
                links.extend(chip.links.iter().map(|link| (router(link.from), router(link.to))));
                Ways::Graph(Graph::new(chip.network.columns, &chip.links, first))
            }
        }
    }
}

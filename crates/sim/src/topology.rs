//! Positions, links and routes.
//!
//! A route is static: it leaves the source by one interface, goes along the row and then along the column (the shorter way round
//! on a torus, eastwards or southwards when both are equally long), and enters the destination by one interface. An end point
//! with several interfaces uses the pair with the fewest links between them, the first of these if there are more.

use crate::Chip;
use crate::chip::{Network, Place, Position, Shape};
use crate::link::{LinkUse, Node};

/// Index of a link in [`Topology::links`], the same in both planes up to an offset.
pub(crate) type LinkId = u16;

/// The links of a chip and the ways over them.
pub(crate) struct Topology {
    network: Network,
    /// Where each interface is attached.
    interfaces: Vec<(Place, Position)>,
    /// The first interface of each place, and one more entry for the end.
    first_interface: Vec<u16>,
    /// The link out of each router in each direction.
    out: Vec<[Option<LinkId>; 4]>,
    links: Vec<(Node, Node)>,
}

/// The interfaces of two end points that a transfer between them uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interfaces {
    pub(crate) source: u16,
    pub(crate) destination: u16,
}

#[derive(Clone, Copy)]
enum Direction {
    East,
    West,
    South,
    North,
}

impl Topology {
    pub(crate) fn new(chip: &Chip) -> Self {
        let mut topology = Self {
            network: chip.network,
            interfaces: Vec::new(),
            first_interface: vec![0],
            out: Vec::new(),
            links: Vec::new(),
        };
        for place in (0..chip.places()).map(Place) {
            topology.interfaces.extend(chip.ports(place).iter().map(|port| (place, *port)));
            topology.first_interface.push(topology.interfaces.len() as u16);
        }
        for &(place, position) in &topology.interfaces {
            topology.links.push((Node::Place(place), Node::Router(position)));
            topology.links.push((Node::Router(position), Node::Place(place)));
        }
        for y in 0..chip.network.rows {
            for x in 0..chip.network.columns {
                topology.add_router(Position { x, y });
            }
        }
        topology
    }

    /// The links of both planes, unused: data first, then control from [`Self::links_of_a_plane`] on.
    pub(crate) fn links(&self) -> Vec<LinkUse> {
        let plane = |control| self.links.iter().map(move |(from, to)| LinkUse::new(*from, *to, control));
        plane(false).chain(plane(true)).collect()
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
        let along_row = self.along(from.x, to.x, self.network.columns);
        let along_column = self.along(from.y, to.y, self.network.rows);
        along_row.unsigned_abs() + along_column.unsigned_abs()
    }

    /// Puts the links from one interface to the other into `route`: out of the source, between routers, into the destination.
    pub(crate) fn route(&self, pair: Interfaces, route: &mut Vec<LinkId>) {
        let (mut at, to) = self.ends(pair);
        route.clear();
        route.push(2 * pair.source);
        let along_row = self.along(at.x, to.x, self.network.columns);
        self.walk(&mut at, along_row, Direction::East, Direction::West, route);
        let along_column = self.along(at.y, to.y, self.network.rows);
        self.walk(&mut at, along_column, Direction::South, Direction::North, route);
        route.push(2 * pair.destination + 1);
    }

    fn ends(&self, pair: Interfaces) -> (Position, Position) {
        (self.interfaces[pair.source as usize].1, self.interfaces[pair.destination as usize].1)
    }

    pub(crate) fn interfaces_of(&self, place: Place) -> std::ops::Range<u16> {
        self.first_interface[place.0 as usize]..self.first_interface[place.0 as usize + 1]
    }

    /// Signed number of links from one coordinate to another.
    fn along(&self, from: u16, to: u16, size: u16) -> i32 {
        let (from, to, size) = (i32::from(from), i32::from(to), i32::from(size));
        match self.network.shape {
            Shape::Mesh => to - from,
            Shape::Torus => {
                let forwards = (to - from).rem_euclid(size);
                if 2 * forwards <= size { forwards } else { forwards - size }
            }
        }
    }

    fn walk(&self, at: &mut Position, count: i32, up: Direction, down: Direction, route: &mut Vec<LinkId>) {
        let direction = if count > 0 { up } else { down };
        for _ in 0..count.unsigned_abs() {
            let router = self.router(*at);
            route.push(self.out[router][direction as usize].expect("a route stays in the grid"));
            *at = self.neighbour(*at, direction).expect("a route stays in the grid");
        }
    }

    fn add_router(&mut self, position: Position) {
        let mut out = [None; 4];
        for direction in [Direction::East, Direction::West, Direction::South, Direction::North] {
            if let Some(neighbour) = self.neighbour(position, direction) {
                out[direction as usize] = Some(self.links.len() as LinkId);
                self.links.push((Node::Router(position), Node::Router(neighbour)));
            }
        }
        self.out.push(out);
    }

    fn router(&self, position: Position) -> usize {
        position.y as usize * self.network.columns as usize + position.x as usize
    }

    fn neighbour(&self, position: Position, direction: Direction) -> Option<Position> {
        let Network { columns, rows, .. } = self.network;
        let Position { x, y } = position;
        match direction {
            Direction::East => self.step(x, 1, columns).map(|x| Position { x, y }),
            Direction::West => self.step(x, -1, columns).map(|x| Position { x, y }),
            Direction::South => self.step(y, 1, rows).map(|y| Position { x, y }),
            Direction::North => self.step(y, -1, rows).map(|y| Position { x, y }),
        }
    }

    fn step(&self, coordinate: u16, by: i32, size: u16) -> Option<u16> {
        let next = i32::from(coordinate) + by;
        let size = i32::from(size);
        match self.network.shape {
            Shape::Torus if size > 1 => Some(next.rem_euclid(size) as u16),
            _ => (0..size).contains(&next).then_some(next as u16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The routers that a route goes through.
    fn routers(chip: &Chip, from: u16, to: u16) -> Vec<(u16, u16)> {
        let topology = Topology::new(chip);
        let mut route = Vec::new();
        let pair = topology.interfaces(Place(from), Place(to));
        topology.route(pair, &mut route);
        let links: Vec<(Node, Node)> = route.iter().map(|link| topology.links[*link as usize]).collect();
        assert_eq!(links.first().unwrap().0, Node::Place(Place(from)));
        assert_eq!(links.last().unwrap().1, Node::Place(Place(to)));
        assert!(links.windows(2).all(|pair| pair[0].1 == pair[1].0), "a route is one path: {links:?}");
        assert_eq!(links.len() as u32, topology.distance(pair) + 2);
        let router = |node| match node {
            Node::Router(position) => (position.x, position.y),
            Node::Place(place) => panic!("a route goes through {place:?}"),
        };
        links[1..].iter().map(|(from, _)| router(*from)).collect()
    }

    fn torus() -> Chip {
        Chip::builtin("mppa256-andey").unwrap()
    }

    fn mesh() -> Chip {
        Chip::builtin("mesh16").unwrap()
    }

    #[test]
    fn a_mesh_goes_along_the_row_and_then_along_the_column() {
        assert_eq!(routers(&mesh(), 0, 10), [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]);
        assert_eq!(routers(&mesh(), 10, 0), [(2, 2), (1, 2), (0, 2), (0, 1), (0, 0)]);
    }

    #[test]
    fn a_torus_takes_the_shorter_way_round() {
        assert_eq!(routers(&torus(), 0, 15), [(0, 0), (3, 0), (3, 3)]);
        assert_eq!(routers(&mesh(), 0, 15).len(), 7);
        assert_eq!(routers(&torus(), 13, 1), [(1, 3), (1, 0)]);
    }

    #[test]
    fn equally_long_ways_round_go_east_and_south() {
        assert_eq!(routers(&torus(), 0, 10), [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]);
        assert_eq!(routers(&torus(), 10, 0), [(2, 2), (3, 2), (0, 2), (0, 3), (0, 0)]);
    }

    #[test]
    fn a_place_with_several_interfaces_uses_the_nearest() {
        // North has a port above every column, and the torus closes the columns.
        assert_eq!(routers(&torus(), 16, 6), [(2, 0), (2, 1)]);
        assert_eq!(routers(&torus(), 14, 16), [(2, 3), (2, 0)]);
    }

    #[test]
    fn a_place_reaches_itself_through_its_own_router() {
        assert_eq!(routers(&torus(), 5, 5), [(1, 1)]);
        assert_eq!(routers(&torus(), 16, 16), [(0, 0)]);
    }

    #[test]
    fn every_place_reaches_every_other_in_at_most_eight_hops_on_the_mppa() {
        for from in 0..20 {
            for to in 0..20 {
                // Local hops at both ends included, as the paper counts.
                assert!(routers(&torus(), from, to).len() < 8);
            }
        }
    }

    #[test]
    fn a_ring_of_one_router_has_no_links() {
        let mut chip = torus();
        chip.positions.truncate(1);
        chip.io.clear();
        chip.network.columns = 1;
        chip.network.rows = 1;
        assert_eq!(Topology::new(&chip).links_of_a_plane(), 2);
        assert_eq!(routers(&chip, 0, 0), [(0, 0)]);
    }

    #[test]
    fn the_largest_grid_has_numbers_for_all_its_links_and_routes() {
        let mut chip = mesh();
        (chip.network.columns, chip.network.rows) = (64, 64);
        chip.positions = (0..64).flat_map(|y| (0..64).map(move |x| Position { x, y })).collect();
        chip.io[0].ports = chip.positions[..1024].to_vec();
        let last_spot = u32::from(chip.places()) + 2 * u32::from(Topology::new(&chip).links_of_a_plane());
        assert!(last_spot <= u32::from(u16::MAX), "{last_spot}");
        // 126 links lie between the corners: a hop's number fits into a byte.
        assert_eq!(routers(&chip, 0, 4095).len(), 127);
    }
}

//! Mesh and torus: along the row and then along the column, the shorter way round on a torus. When both are equally long, packets from one half of the routers,
//! as on a chess board, go eastwards and southwards and those from the other half westwards and northwards, so that no direction has them all.

use super::LinkId;
use crate::chip::{Network, Position, Shape};
use crate::link::Node;

/// Routers in columns and rows.
pub(super) struct Grid {
    network: Network,
    /// The link out of each router in each direction.
    out: Vec<[Option<LinkId>; 4]>,
}

#[derive(Clone, Copy)]
enum Direction {
    East,
    West,
    South,
    North,
}

impl Grid {
    pub(super) fn new(network: Network, links: &mut Vec<(Node, Node)>) -> Grid {
        let mut grid = Grid { network, out: Vec::new() };
        for y in 0..network.rows {
            for x in 0..network.columns {
                grid.add_router(Position { x, y }, links);
            }
        }
        grid
    }

    pub(super) fn distance(&self, from: Position, to: Position) -> u32 {
        let along_row = self.along(from.x, to.x, self.network.columns, false);
        let along_column = self.along(from.y, to.y, self.network.rows, false);
        along_row.unsigned_abs() + along_column.unsigned_abs()
    }

    pub(super) fn walk(&self, from: Position, to: Position, route: &mut Vec<LinkId>) {
        let mut at = from;
        let turns_back = (from.x + from.y) % 2 == 1;
        let along_row = self.along(at.x, to.x, self.network.columns, turns_back);
        self.go(&mut at, along_row, Direction::East, Direction::West, route);
        let along_column = self.along(at.y, to.y, self.network.rows, turns_back);
        self.go(&mut at, along_column, Direction::South, Direction::North, route);
    }

    /// Signed number of links from one coordinate to another; of two equally long ways round the one forwards, or the one back.
    fn along(&self, from: u16, to: u16, size: u16, back: bool) -> i32 {
        let (from, to, size) = (i32::from(from), i32::from(to), i32::from(size));
        match self.network.shape {
            Shape::Torus => {
                let forwards = (to - from).rem_euclid(size);
                let is_shorter = 2 * forwards < size || (2 * forwards == size && !back);
                if is_shorter { forwards } else { forwards - size }
            }
            _ => to - from,
        }
    }

    fn go(&self, at: &mut Position, count: i32, up: Direction, down: Direction, route: &mut Vec<LinkId>) {
        let direction = if count > 0 { up } else { down };
        for _ in 0..count.unsigned_abs() {
            let router = self.router(*at);
            route.push(self.out[router][direction as usize].expect("a route stays in the grid"));
            *at = self.neighbour(*at, direction).expect("a route stays in the grid");
        }
    }

    fn add_router(&mut self, position: Position, links: &mut Vec<(Node, Node)>) {
        let mut out = [None; 4];
        for direction in [Direction::East, Direction::West, Direction::South, Direction::North] {
            if let Some(neighbour) = self.neighbour(position, direction) {
                out[direction as usize] = Some(links.len() as LinkId);
                links.push((Node::Router(position), Node::Router(neighbour)));
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

//! Which channel a way takes on each of its links, so that no circle of packets waits for each other's room.
//!
//! Along the row and then along the column, ways on a mesh depend on each other in no circle, nor do those of a fat tree, up and then down. A ring is one: on a torus the
//! channels of a link are of two classes, and a way that goes over the seam of a ring is in the first class before it and in the second from it on (W. J. Dally and
//! C. L. Seitz, Deadlock-free message routing in multiprocessor interconnection networks, 1987). One that does not may have either for the whole ring: the first class
//! has no seam and the second nothing that leads to it again. Rings of fewer than four routers are crossed by one link at a time, and need no classes.
//!
//! Invariant: a way always has the same channels, so packets of a flow stay in order.

use super::{Interfaces, LinkId, Topology};
use crate::Chip;
use crate::chip::{Network, Place, Shape};
use crate::link::Node;

/// The shortest ring in which ways have two links one after the other.
const LONG_RING: u16 = 4;

/// Classes of channels that a network needs.
pub(crate) fn classes(network: &Network) -> u8 {
    let longest = network.columns.max(network.rows);
    if network.shape == Shape::Torus && longest >= LONG_RING { 2 } else { 1 }
}

impl Topology {
    /// Puts the channel of each link of a route into `channels`. There are as many as `count`, a multiple of the classes.
    pub(crate) fn channels(
        &self,
        pair: Interfaces,
        route: &[LinkId],
        (count, classes): (u8, u8),
        channels: &mut Vec<u8>,
    ) {
        let number = u32::from(pair.source) + u32::from(pair.destination);
        // Ways spread over the classes that they are free to take, and over the channels of a class.
        let free_class = (number % u32::from(classes)) as u8;
        let in_class = (number / u32::from(classes) % u32::from(count / classes)) as u8;
        channels.clear();
        channels.resize(route.len(), in_class * classes + free_class);
        if classes == 1 {
            return;
        }
        // Each ring once, its seam and all after it in the second class. Interfaces are no rings.
        let mut first = 1;
        while first + 1 < route.len() {
            let along_row = self.is_along_row(route[first]);
            let same = route[first..route.len() - 1]
                .iter()
                .take_while(|link| self.is_along_row(**link) == along_row);
            let end = first + same.count();
            if let Some(seam) = (first..end).find(|hop| self.is_seam(route[*hop])) {
                channels[first..seam].fill(in_class * classes);
                channels[seam..end].fill(in_class * classes + 1);
            }
            first = end;
        }
    }

    fn is_along_row(&self, link: LinkId) -> bool {
        matches!(self.links[link as usize], (Node::Router(from), Node::Router(to)) if from.y == to.y)
    }

    /// Whether a link leads from one edge of the grid to the other.
    fn is_seam(&self, link: LinkId) -> bool {
        match self.links[link as usize] {
            (Node::Router(from), Node::Router(to)) => from.x.abs_diff(to.x) > 1 || from.y.abs_diff(to.y) > 1,
            _ => false,
        }
    }
}

/// A link with a channel in which packets could wait for each other in a circle, if there is one. Whose room leads to whose is told by all ways of a chip.
pub(crate) fn circle(chip: &Chip, counts: (u8, u8)) -> Option<(Node, Node)> {
    let topology = Topology::new(chip);
    let count = usize::from(counts.0);
    let mut leads_to = vec![Vec::new(); usize::from(topology.links_of_a_plane()) * count];
    let (mut route, mut channels) = (Vec::new(), Vec::new());
    for (from, to) in (0..chip.places()).flat_map(|from| (0..chip.places()).map(move |to| (from, to))) {
        let pair = topology.interfaces(Place(from), Place(to));
        topology.route(pair, &mut route);
        topology.channels(pair, &route, counts, &mut channels);
        let lanes = route
            .iter()
            .zip(&channels)
            .map(|(link, channel)| usize::from(*link) * count + usize::from(*channel));
        for (lane, next) in lanes.clone().zip(lanes.skip(1)) {
            if !leads_to[lane].contains(&next) {
                leads_to[lane].push(next);
            }
        }
    }
    // What leads nowhere is taken away until nothing changes. The rest leads to itself.
    loop {
        let leads: Vec<bool> = leads_to.iter().map(|next| !next.is_empty()).collect();
        let before: usize = leads_to.iter().map(Vec::len).sum();
        leads_to.iter_mut().for_each(|next| next.retain(|lane| leads[*lane]));
        if before == leads_to.iter().map(Vec::len).sum::<usize>() {
            // From anywhere, as many steps as there are channels end in a circle.
            let anywhere = leads.iter().position(|leads| *leads)?;
            let within = leads.iter().fold(anywhere, |lane, _| leads_to[lane][0]);
            return Some(topology.links[within / count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::Position;

    fn grid(shape: Shape, columns: u16, rows: u16) -> Chip {
        let mut chip = Chip::builtin("mesh16").unwrap();
        chip.io.clear();
        (chip.network.shape, chip.network.columns, chip.network.rows) = (shape, columns, rows);
        chip.positions = (0..rows).flat_map(|y| (0..columns).map(move |x| Position { x, y })).collect();
        chip
    }

    #[test]
    fn no_circle_of_waiting_packets_is_possible_with_the_classes_that_a_network_needs() {
        for (shape, columns, rows) in [
            (Shape::Mesh, 5, 4),
            (Shape::Torus, 4, 4),
            (Shape::Torus, 5, 3),
            (Shape::Torus, 8, 2),
            (Shape::Torus, 1, 7),
            (Shape::Torus, 3, 3),
            (Shape::Torus, 2, 2),
        ] {
            let chip = grid(shape, columns, rows);
            let classes = classes(&chip.network);
            for each in 1..=2 {
                let found = circle(&chip, (classes * each, classes));
                assert_eq!(found, None, "{shape:?} {columns} x {rows}, {each} channels a class");
            }
        }
        let tree = {
            let mut chip = grid(Shape::FatTree { arity: 2 }, 4, 3);
            chip.positions = (0..8).map(|place| Position { x: place / 2, y: 0 }).collect();
            chip
        };
        assert_eq!(circle(&tree, (1, 1)), None);
    }

    #[test]
    fn a_torus_with_one_class_has_a_circle() {
        assert!(circle(&grid(Shape::Torus, 4, 4), (1, 1)).is_some());
        assert!(circle(&grid(Shape::Torus, 1, 5), (1, 1)).is_some());
    }
}

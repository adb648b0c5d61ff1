//! Routes by hand, shape by shape.

use super::*;
use crate::Rate;
use crate::chip::Link;

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
fn equally_long_ways_round_go_forwards_and_back_by_the_colour_of_their_field() {
    assert_eq!(routers(&torus(), 0, 10), [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]);
    assert_eq!(routers(&torus(), 10, 0), [(2, 2), (3, 2), (0, 2), (0, 3), (0, 0)]);
    assert_eq!(routers(&torus(), 1, 11), [(1, 0), (0, 0), (3, 0), (3, 3), (3, 2)]);
}

#[test]
fn ways_between_all_pairs_of_a_torus_use_its_links_evenly() {
    let mut chip = torus();
    chip.io.clear();
    let topology = Topology::new(&chip);
    let mut used = vec![0; topology.links.len()];
    let mut route = Vec::new();
    for (from, to) in (0..16).flat_map(|from| (0..16).map(move |to| (from, to))) {
        topology.route(topology.interfaces(Place(from), Place(to)), &mut route);
        route.iter().for_each(|link| used[usize::from(*link)] += 1);
    }
    // After those of the interfaces, the links between routers: each is on equally many ways.
    let between: Vec<i32> = used[32..].to_vec();
    assert!(between.iter().all(|uses| *uses == between[0]), "{between:?}");
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

/// The teaching chip with its clusters at the places of another shape, and no I/O.
fn shaped(shape: Shape, (columns, rows): (u16, u16), positions: Vec<Position>) -> Chip {
    let mut chip = mesh();
    (chip.network.shape, chip.network.columns, chip.network.rows) = (shape, columns, rows);
    (chip.positions, chip.io) = (positions, Vec::new());
    chip
}

fn in_a_row(count: u16) -> Vec<Position> {
    (0..count).map(|x| Position { x, y: 0 }).collect()
}

#[test]
fn a_crossbar_is_one_router_for_all() {
    let chip = shaped(Shape::Crossbar, (1, 1), vec![Position { x: 0, y: 0 }; 640]);
    assert_eq!(Topology::new(&chip).links_of_a_plane(), 2 * 640);
    assert_eq!(routers(&chip, 3, 639), [(0, 0)]);
}

/// Eight places, two at each of four switches, under two more levels.
fn fat_tree() -> Chip {
    let positions = (0..8).map(|place| Position { x: place / 2, y: 0 }).collect();
    shaped(Shape::FatTree { arity: 2 }, (4, 3), positions)
}

#[test]
fn a_fat_tree_goes_up_as_far_as_needed_and_down_again() {
    assert_eq!(routers(&fat_tree(), 0, 1), [(0, 0)]);
    assert_eq!(routers(&fat_tree(), 0, 2), [(0, 0), (0, 1), (1, 0)]);
    assert_eq!(routers(&fat_tree(), 0, 7), [(0, 0), (1, 1), (3, 2), (3, 1), (3, 0)]);
    // Twelve links up, twelve down, and two interfaces a place.
    assert_eq!(Topology::new(&fat_tree()).links_of_a_plane(), 2 * 8 + 2 * 2 * 8);
}

#[test]
fn ways_of_a_fat_tree_to_different_places_go_up_by_different_links() {
    let chip = fat_tree();
    let topology = Topology::new(&chip);
    let up = |to| {
        let mut route = Vec::new();
        topology.route(topology.interfaces(Place(0), Place(to)), &mut route);
        route[1]
    };
    assert_ne!(up(6), up(7));
    for from in 0..8 {
        for to in 0..8 {
            routers(&chip, from, to);
        }
    }
}

fn link(from: u16, to: u16) -> Link {
    Link { from, to, per_byte: None, latency: None }
}

/// Four places in a ring of links that go one way, and a switch that shortens it.
fn graph() -> Chip {
    let mut chip = shaped(Shape::Graph, (5, 1), in_a_row(4));
    chip.links = vec![link(0, 1), link(1, 2), link(2, 3), link(3, 0), link(0, 4), link(4, 2)];
    chip
}

#[test]
fn a_graph_is_crossed_by_the_fewest_links_and_of_these_by_the_first_in_the_list() {
    assert_eq!(routers(&graph(), 0, 2), [(0, 0), (1, 0), (2, 0)]);
    assert_eq!(routers(&graph(), 2, 1), [(2, 0), (3, 0), (0, 0), (1, 0)]);
    let mut chip = graph();
    chip.links.rotate_left(4);
    assert_eq!(routers(&chip, 0, 2), [(0, 0), (4, 0), (2, 0)]);
}

#[test]
fn routers_without_a_way_between_them_are_found() {
    let graph = graph();
    assert_eq!(Graph::new(5, &graph.links, 0).too_far(4, 253), None);
    assert_eq!(Graph::new(5, &graph.links, 0).too_far(4, 2), Some((0, 3)));
    assert_eq!(Graph::new(5, &graph.links[1..], 0).too_far(4, 253), Some((0, 1)));
}

#[test]
fn links_of_a_graph_have_their_own_rate_and_latency() {
    let mut chip = graph();
    chip.links[0] = Link { per_byte: Some(Rate::ticks(7)), latency: Some(9), ..link(0, 1) };
    let links = Topology::new(&chip).links(&chip);
    let plane = chip.network.data;
    assert_eq!((links[8].duration(10), links[8].wire()), (7 * 10 * u64::from(plane.flit_bytes), 9));
    assert_eq!((links[9].duration(10), links[9].wire()), (plane.flit_time.of(10), plane.wire));
    assert_eq!(links[0].wire(), 0);
}

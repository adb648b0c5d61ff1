//! What a trace shows of a chip: its floor plan, and what changed from window to window.

use std::cell::RefCell;

use fabric_noc::{PlaceSample, Sample};
use sim::chip::{Network, Plane, Shape};
use sim::{Chip, Machine, Node, Position, Rate};
use trace::{Event, Link, Place, PlaceKind, Recording, ServerKind};

/// Writes what the simulator sees of a chip.
pub(crate) struct ChipRecorder(RefCell<State>);

struct State {
    recording: Recording,
    plan: FloorPlan,
    flits: Vec<u64>,
    places: Vec<PlaceSample>,
    ddr: Vec<u32>,
}

impl ChipRecorder {
    pub(crate) fn new(recording: Recording, chip: &Chip) -> ChipRecorder {
        let plan = FloorPlan::of(chip);
        let flits = vec![0; plan.numbers.len()];
        ChipRecorder(RefCell::new(State { recording, plan, flits, places: Vec::new(), ddr: Vec::new() }))
    }

    /// Records a window: what is not recorded is as it was.
    pub(crate) fn record(&self, sample: &Sample<'_>) {
        let mut state = self.0.borrow_mut();
        let State { recording, plan, flits, places, ddr } = &mut *state;
        let Sample { begin, end, microwatts, .. } = *sample;
        recording.record(Event::Power { time: begin, microwatts });
        places.resize(sample.places.len(), PlaceSample::default());
        for ((place, now), before) in (0..).zip(sample.places).zip(places) {
            if now.memory != before.memory {
                recording.record(Event::Memory { time: end, place, bytes: now.memory });
            }
            if now.dma != before.dma {
                recording.record(Event::DmaQueue { time: end, place, depth: now.dma });
            }
            let servers = [
                (ServerKind::Agent, now.agent, before.agent),
                (ServerKind::Kernel, now.kernel, before.kernel),
            ];
            // A server that works ahead for a rank whose clock is ahead is counted when the time has come.
            for (server, worked, before) in servers {
                if worked > before {
                    recording.record(Event::ServerUse { begin, end, server, place, busy: worked - before });
                }
            }
            let (agent, kernel) = (now.agent.max(before.agent), now.kernel.max(before.kernel));
            *before = PlaceSample { agent, kernel, ..*now };
        }
        ddr.resize(sample.ddr.len(), 0);
        for ((controller, now), before) in (0..).zip(sample.ddr).zip(ddr) {
            if now != before {
                recording.record(Event::DdrQueue { time: end, controller, depth: *now });
            }
            *before = *now;
        }
        for ((link, before), number) in sample.links.iter().zip(flits).zip(&plan.numbers) {
            let crossed = link.flits - std::mem::replace(before, link.flits);
            if let (Some(link), true) = (*number, crossed > 0) {
                let flits = u32::try_from(crossed).unwrap_or(u32::MAX);
                recording.record(Event::LinkUse { begin, end, link, flits });
            }
        }
    }
}

/// A chip as a trace draws it. A router that a cluster stands at is not drawn apart from it.
pub struct FloorPlan {
    /// For the trace's description of its job.
    pub chip: trace::Chip,
    /// By link as the simulator numbers them: its number in the plan, if it is drawn. Those of the control plane are numbered after those of the data plane.
    numbers: Vec<Option<u32>>,
}

impl FloorPlan {
    /// The floor plan of a chip.
    pub fn of(chip: &Chip) -> FloorPlan {
        let machine = Machine::new(chip);
        let mut plan = FloorPlan { chip: describe(chip), numbers: vec![None; machine.links().len()] };
        for control in [false, true] {
            let of_plane = machine.links().iter().enumerate().filter(|(_, link)| link.control == control);
            for (index, link) in of_plane {
                let ends = Link { from: plan.place(chip, link.from), to: plan.place(chip, link.to) };
                // Between a cluster and its own router there is nothing to draw.
                if ends.from != ends.to {
                    plan.numbers[index] = Some(plan.add(ends, control));
                }
            }
        }
        plan
    }

    /// The number of a new link.
    fn add(&mut self, link: Link, control: bool) -> u32 {
        let trace::Chip { links, control_links, .. } = &mut self.chip;
        if control { &mut *control_links } else { &mut *links }.push(link);
        (links.len() + control_links.len()) as u32 - 1
    }

    /// The index of a node among the places, where a router without a cluster gets one, too.
    fn place(&mut self, chip: &Chip, node: Node) -> u32 {
        let position = match node {
            Node::Place(place) => return place.0.into(),
            Node::Router(position) => position,
        };
        if let Some(cluster) = chip.cluster_at(position) {
            return cluster.into();
        }
        let name = format!("R{},{}", position.x, position.y);
        let places = &mut self.chip.places;
        let known = places.iter().position(|place| place.name == name);
        known.unwrap_or_else(|| {
            let (x, y) = match chip.network.shape {
                Shape::Mesh | Shape::Torus => (position.x.into(), position.y.into()),
                // Above the places, which stand in rows of their own.
                _ => (position.x.into(), -1.0 - f32::from(position.y)),
            };
            places.push(Place { name, kind: PlaceKind::Router, x, y, memory_bytes: 0 });
            places.len() - 1
        }) as u32
    }
}

/// A chip without its links.
fn describe(chip: &Chip) -> trace::Chip {
    let clusters = (0..).zip(&chip.positions).map(|(index, position)| {
        let (x, y) = standing(chip, index, *position);
        let memory_bytes = chip.cluster.scratchpad;
        Place { name: format!("C{index}"), kind: PlaceKind::Cluster, x, y, memory_bytes }
    });
    let io = (chip.clusters()..).zip(&chip.io).map(|(index, io)| {
        let (x, y) = match chip.network.shape {
            Shape::Mesh | Shape::Torus => beside(chip, &io.ports),
            _ => standing(chip, index, io.ports[0]),
        };
        let memory_bytes = io.ddr.map_or(io.scratchpad, |ddr| ddr.size);
        Place { name: format!("IO-{}", io.name), kind: PlaceKind::Io, x, y, memory_bytes }
    });
    let first_further = chip.clusters() + chip.io.len() as u16;
    let further = (first_further..chip.places()).map(|index| {
        let place = sim::Place(index);
        let (x, y) = standing(chip, index, chip.ports(place)[0]);
        let kind = chip.kind_at(place).map(|(kind, _)| &chip.kinds[usize::from(kind)]);
        let (ranks, memory_bytes) = kind.map_or((0, 0), |kind| (kind.ranks_max, kind.memory));
        let kind = if ranks > 0 { PlaceKind::Cluster } else { PlaceKind::Router };
        Place { name: chip.name_of(place), kind, x, y, memory_bytes }
    });
    let flits_per_kilotick =
        |plane: &Plane| (1000 * Rate::STEPS / plane.flit_time.steps().max(1)).max(1) as u32;
    let Network { data, control, .. } = &chip.network;
    trace::Chip {
        name: chip.name.clone(),
        places: clusters.chain(io).chain(further).collect(),
        flit_bytes: data.flit_bytes,
        flits_per_kilotick: flits_per_kilotick(data),
        control_flits_per_kilotick: flits_per_kilotick(control),
        ..trace::Chip::default()
    }
}

/// Where a place is drawn: at its router in a grid, otherwise in rows of equal length.
fn standing(chip: &Chip, index: u16, router: Position) -> (f32, f32) {
    if let Shape::Mesh | Shape::Torus = chip.network.shape {
        return (router.x.into(), router.y.into());
    }
    let row = chip.places().isqrt().max(1);
    (f32::from(index % row), f32::from(index / row))
}

/// Where an I/O subsystem is drawn: in the middle of its ports, outside of the grid if they are all at one edge.
fn beside(chip: &Chip, ports: &[Position]) -> (f32, f32) {
    let mean = |of: fn(&Position) -> u16| {
        ports.iter().map(|port| f32::from(of(port))).sum::<f32>() / ports.len().max(1) as f32
    };
    let (x, y) = (mean(|port| port.x), mean(|port| port.y));
    let (last_x, last_y) = (chip.network.columns - 1, chip.network.rows - 1);
    match ports {
        ports if ports.iter().all(|port| port.y == 0) => (x, -1.0),
        ports if ports.iter().all(|port| port.y == last_y) => (x, f32::from(last_y) + 1.0),
        ports if ports.iter().all(|port| port.x == 0) => (-1.0, y),
        ports if ports.iter().all(|port| port.x == last_x) => (f32::from(last_x) + 1.0, y),
        _ => (x, y),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_plan_of_the_mppa_has_every_link_between_different_places() {
        let chip = Chip::builtin("mppa256-andey").expect("it ships");
        let FloorPlan { chip: plan, numbers } = FloorPlan::of(&chip);
        assert_eq!(plan.places.len(), 20);
        assert!(plan.links.iter().all(|link| link.from != link.to));
        // Both planes have the same links, numbered one after the other.
        assert_eq!(plan.links, plan.control_links);
        let numbers: Vec<u32> = numbers.into_iter().flatten().collect();
        assert_eq!(numbers.len(), plan.links.len() + plan.control_links.len());
        assert!((0..numbers.len() as u32).all(|number| numbers.contains(&number)));
        // A torus of 4 x 4: four links out of each cluster.
        let between_clusters = plan.links.iter().filter(|link| link.from < 16 && link.to < 16).count();
        assert_eq!(between_clusters, 64);
        let north =
            plan.places.iter().find(|place| place.kind == PlaceKind::Io).expect("it has I/O subsystems");
        assert_eq!(north.y, -1.0);
    }
}

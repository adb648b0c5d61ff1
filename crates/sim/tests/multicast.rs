//! The laws of multicast, by hand, on the teaching chip: packets of 400 bytes are 100 flits and take 100 cycles on a link or an interface, routers and
//! wires 5 cycles each, a DMA engine needs 100 cycles to set up a piece. A router that copies takes 3 cycles more. All times below are in cycles.

use std::collections::BTreeMap;

use corelace_sim::chip::Multicast;
use corelace_sim::{CYCLE, Chip, Event, Layout, Machine, Memory, Mover, Node, Place, Rate, Time, Transfer};

const COPY: Time = 3;

fn mesh16() -> Chip {
    let mut chip = Chip::builtin("mesh16").unwrap();
    let multicast = Multicast { setup: 0, copy: COPY * CYCLE, destinations: 15 };
    (chip.network.data.multicast, chip.network.control.multicast) = (Some(multicast), Some(multicast));
    chip
}

fn dma(from: u16, to: u16, bytes: u64) -> Transfer {
    Transfer {
        from: Place(from),
        to: Place(to),
        bytes,
        rows: 1,
        mover: Mover::Dma,
        from_memory: Memory::Scratchpad,
        to_memory: Memory::Scratchpad,
        token: 7,
    }
}

fn places(numbers: impl IntoIterator<Item = u16>) -> Vec<Place> {
    numbers.into_iter().map(Place).collect()
}

/// When the bytes had landed at each destination, and the machine as it is then.
fn spread(chip: &Chip, from: u16, to: &[Place], bytes: u64) -> (BTreeMap<u16, Time>, Machine) {
    let mut machine = Machine::new(chip);
    machine.multicast(0, dma(from, to[0].0, bytes), &to[1..], Layout::default());
    let mut landed = BTreeMap::new();
    let mut left = 0;
    while let Some((time, event)) = machine.step() {
        match event {
            Event::Landed { to, token: 7 } => assert_eq!(landed.insert(to.0, time / CYCLE), None),
            Event::Left { from: source, token: 7 } if source.0 == from => left += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((landed.len(), left), (to.len(), 1));
    (landed, machine)
}

/// When the same bytes land if they go to one place alone.
fn alone(chip: &Chip, from: u16, to: u16, bytes: u64) -> Time {
    let mut machine = Machine::new(chip);
    machine.transfer(0, dma(from, to, bytes));
    let landed =
        std::iter::from_fn(|| machine.step()).find(|(_, event)| matches!(event, Event::Landed { .. }));
    landed.expect("it lands").0 / CYCLE
}

#[test]
fn a_link_that_several_destinations_share_carries_each_flit_once() {
    let (_, machine) = spread(&mesh16(), 0, &places(1..16), 4000);
    let used: Vec<_> = machine.links().iter().filter(|link| link.packets > 0).collect();
    assert!(used.iter().all(|link| (link.flits, link.packets) == (1000, 10)), "{used:?}");
    let between =
        |link: &&&corelace_sim::LinkUse| matches!((link.from, link.to), (Node::Router(_), Node::Router(_)));
    // The interface of the source, those of all others, and a link to each other router.
    assert_eq!((used.len(), used.iter().filter(between).count()), (1 + 15 + 15, 15));
    let chip = mesh16();
    let energy = machine.energy();
    assert_eq!(energy.network, 31 * 1000 * u128::from(chip.power.flit_hop));
    // Read once and written fifteen times, where a byte that is read and written costs `dma_byte`.
    assert_eq!(energy.dma, 4000 * 8 * u128::from(chip.power.dma_byte));
}

#[test]
fn one_packet_takes_the_longest_way_and_what_the_copying_routers_on_it_take() {
    let chip = mesh16();
    let (landed, _) = spread(&chip, 0, &places(1..16), 400);
    // Routers (0, 0) to (3, 0), (3, 1) and (3, 2) copy; the last one, (3, 3), does not.
    assert_eq!(landed[&15], alone(&chip, 0, 15, 400) + 6 * COPY);
    // Next door, two do.
    assert_eq!(landed[&1], alone(&chip, 0, 1, 400) + 2 * COPY);
    assert_eq!(landed.values().max(), Some(&landed[&15]));
}

#[test]
fn every_further_packet_takes_its_length_and_a_copy() {
    let chip = mesh16();
    let (landed, _) = spread(&chip, 0, &places(1..16), 4000);
    assert_eq!(landed[&15], alone(&chip, 0, 15, 4000) + 6 * COPY + 9 * COPY);
}

#[test]
fn a_row_of_destinations_is_fed_by_one_stream_instead_of_one_each() {
    let chip = mesh16();
    let bytes = 40_000;
    let (landed, _) = spread(&chip, 0, &places([1, 2, 3]), bytes);
    let mut machine = Machine::new(&chip);
    for to in [1, 2, 3] {
        machine.transfer(0, dma(0, to, bytes));
    }
    while machine.step().is_some() {}
    let (together, apart) = (*landed.values().max().unwrap(), machine.now() / CYCLE);
    // Three times as long, but for the copies, which take 3 cycles of 103.
    assert!(together * 28 < apart * 10, "{together} cycles by one stream, {apart} by three");
}

#[test]
fn twice_the_width_of_all_links_halves_the_time_of_a_long_one() {
    let mut chip = mesh16();
    let narrow = spread(&chip, 5, &places([0, 3, 10, 15]), 400_000).0;
    chip.network.data.flit_time = Rate::ticks(CYCLE / 2);
    chip.network.data.multicast =
        Some(Multicast { copy: COPY * CYCLE / 2, ..chip.network.data.multicast.unwrap() });
    chip.cluster.receive_per_byte = Rate::from_steps(chip.cluster.receive_per_byte.steps() / 2);
    let wide = spread(&chip, 5, &places([0, 3, 10, 15]), 400_000).0;
    for (place, time) in &narrow {
        let half = wide[place] * 2;
        assert!(half.abs_diff(*time) < 400, "{time} cycles to place {place}, then {}", wide[place]);
    }
}

#[test]
fn a_slow_destination_holds_the_others_up_by_the_credits_and_not_before() {
    let mut chip = mesh16();
    let fast = spread(&chip, 0, &places([1, 4]), 4000).0;
    chip.network.credits = 1;
    let slow = spread(&chip, 0, &places([1, 15]), 1200).0;
    // In memory of place 15 at 115 + 100 + 50 and a copy (in router 1), its credit back after seven routers and six wires.
    let there = alone(&chip, 0, 15, 400) + COPY;
    assert_eq!(slow[&15], there + 2 * (there - 100 + 7 * 5 + 6 * 5));
    assert_eq!(fast[&1], alone(&mesh16(), 0, 1, 4000) + COPY + 9 * COPY);
}

#[test]
fn a_letter_to_several_places_uses_each_link_once_and_comes_as_one_to_each() {
    let chip = mesh16();
    let to = places(1..16);
    let mut machine = Machine::new(&chip);
    machine.multicast_letter(0, Place(0), &to, 120, 9);
    let mut came = BTreeMap::new();
    while let Some((time, event)) = machine.step() {
        let Event::Letter { from: Place(0), to, token: 9 } = event else { panic!("{event:?}") };
        assert_eq!(came.insert(to.0, time / CYCLE), None);
    }
    let mut single = Machine::new(&chip);
    single.letter(0, Place(0), Place(15), 120, 9);
    let (time, _) = single.step().expect("it comes");
    assert_eq!((came.len(), came[&15]), (15, time / CYCLE + 6 * COPY));
    let packets = machine.links().iter().map(|link| link.packets);
    assert_eq!((packets.clone().max(), packets.sum::<u64>()), (Some(1), 31));
}

#[test]
fn a_torus_is_spread_over_both_ways_round() {
    let chip = Chip::builtin("mppa256-andey").unwrap();
    assert!(chip.has_multicast());
    for from in 0..16 {
        let to = places((0..16).filter(|place| *place != from));
        let (landed, machine) = spread(&chip, from, &to, 1000);
        let used = machine.links().iter().filter(|link| link.packets > 0);
        assert_eq!(used.count(), 31, "from {from}");
        assert_eq!(landed.len(), 15);
    }
}

#[test]
fn two_runs_are_the_same_run() {
    let run = || {
        let mut machine = Machine::new(&mesh16());
        for from in 0..4 {
            let to = places((0..16).filter(|place| *place % 3 == 0 && *place != from));
            machine.multicast(0, dma(from, to[0].0, 5000), &to[1..], Layout::default());
            machine.multicast_letter(0, Place(from), &to, 8, 1);
        }
        while machine.step().is_some() {}
        (machine.trace_hash(), machine.now())
    };
    assert_eq!(run(), run());
}

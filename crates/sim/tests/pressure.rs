//! Routers with finite buffers: what they have in common with those that are never full, what they do otherwise, and that everything always ends.
//!
//! The teaching chip: packets of 400 bytes are 100 flits and take a link 100 cycles, routers and wires take 5 cycles each.

use corelace_sim::chip::{Buffers, Shape};
use corelace_sim::{CYCLE, Chip, Event, Machine, Memory, Mover, Place, Position, Rate, Time, Transfer};
use proptest::prelude::*;

/// A grid of clusters with the teaching chip's numbers and room for so many packets in each of some channels.
fn grid(shape: Shape, side: u16, packets: u32, channels: u8) -> Chip {
    let mut chip = Chip::builtin("mesh16").expect("it ships");
    chip.io.clear();
    (chip.network.shape, chip.network.columns, chip.network.rows) = (shape, side, side);
    chip.positions = (0..side).flat_map(|y| (0..side).map(move |x| Position { x, y })).collect();
    let buffers = Buffers { flits: packets * chip.network.packet_flits(), channels };
    chip.set_buffers(Some(buffers)).expect("enough channels");
    chip
}

fn without_buffers(chip: &Chip) -> Chip {
    let mut chip = chip.clone();
    chip.set_buffers(None).expect("nothing can be wrong");
    chip
}

/// Bytes that are in the interface at once.
fn transfer(from: u16, to: u16, bytes: u64, token: u64) -> Transfer {
    Transfer {
        from: Place(from),
        to: Place(to),
        bytes,
        rows: 1,
        mover: Mover::Core { per_byte: Rate::ticks(0) },
        from_memory: Memory::Scratchpad,
        to_memory: Memory::Scratchpad,
        token,
    }
}

/// When each landed, in cycles, all asked for at time 0.
fn landings(chip: &Chip, transfers: &[Transfer]) -> Vec<Time> {
    let mut machine = Machine::new(chip);
    for transfer in transfers {
        machine.transfer(0, *transfer);
    }
    let mut landed = vec![None; transfers.len()];
    while let Some((time, event)) = machine.step() {
        if let Event::Landed { token, .. } = event {
            landed[token as usize] = Some(time / CYCLE);
        }
    }
    landed.into_iter().map(|time| time.expect("everything lands")).collect()
}

/// Everybody to everybody else, so many bytes.
fn all_to_all(places: u16, bytes: u64) -> Vec<Transfer> {
    let pairs = (1..places).flat_map(|shift| (0..places).map(move |from| (from, (from + shift) % places)));
    pairs.zip(0..).map(|((from, to), token)| transfer(from, to, bytes, token)).collect()
}

#[test]
fn alone_a_packet_takes_the_time_of_the_closed_form_and_of_routers_that_are_never_full() {
    for shape in [Shape::Mesh, Shape::Torus] {
        let chip = grid(shape, 5, 1, 2);
        for to in 0..25 {
            let (columns, rows) = (u64::from(to % 5), u64::from(to / 5));
            let along = |links: u64| if shape == Shape::Torus { links.min(5 - links) } else { links };
            let links = along(columns) + along(rows);
            let expected = 5 * (links + 1) + 5 * links + 100;
            let one = [transfer(0, to, 400, 0)];
            assert_eq!(landings(&chip, &one), [expected], "{shape:?} to {to}");
            assert_eq!(landings(&without_buffers(&chip), &one), [expected]);
        }
    }
}

#[test]
fn a_long_transfer_needs_room_for_the_packets_of_a_round_trip() {
    // With room for one packet, a link waits after each until its last flit has left the buffer, and a wire's time for the news of that.
    let alone = [transfer(0, 3, 4000, 0)];
    let one = landings(&grid(Shape::Mesh, 4, 1, 1), &alone)[0];
    let two = landings(&grid(Shape::Mesh, 4, 2, 1), &alone)[0];
    let never_full = landings(&without_buffers(&grid(Shape::Mesh, 4, 2, 1)), &alone)[0];
    assert_eq!(two, never_full);
    // Router, wire, and the wire back, for each of nine packets: from the grant of a link until it is given again there are 100 cycles
    // and 15 more.
    assert_eq!(one, never_full + 9 * 15);
}

#[test]
fn what_waits_for_a_hot_spot_holds_up_what_is_behind_it() {
    // Many send to 3; so does 0, which then sends to 2, over links that only packets to 3 crowd.
    let hot: Vec<Transfer> = [7, 11, 15, 2, 1]
        .into_iter()
        .zip(0..)
        .map(|(from, token)| transfer(from, 3, 40_000, token))
        .collect();
    let mut all = hot;
    all.push(transfer(0, 3, 4000, 5));
    all.push(transfer(0, 2, 400, 6));
    let chip = grid(Shape::Mesh, 4, 1, 1);
    let (finite, endless) = (landings(&chip, &all)[6], landings(&without_buffers(&chip), &all)[6]);
    assert!(finite > 2 * endless, "{finite} and {endless}");
}

#[test]
fn channels_let_packets_pass_others_that_wait() {
    let transfers = all_to_all(16, 1600);
    let last =
        |channels| landings(&grid(Shape::Mesh, 4, 1, channels), &transfers).into_iter().max().expect("some");
    assert!(last(4) < last(1), "{} and {}", last(4), last(1));
}

#[test]
fn saturating_traffic_on_every_torus_ends() {
    for side in [2, 3, 4, 5, 6, 8] {
        for channels in [2, 4] {
            let chip = grid(Shape::Torus, side, 1, channels);
            landings(&chip, &all_to_all(side * side, 900));
        }
    }
}

#[test]
fn traffic_to_one_place_comes_as_fast_as_its_interface_takes_it() {
    for shape in [Shape::Mesh, Shape::Torus] {
        let transfers: Vec<Transfer> =
            (1..16).zip(0..).map(|(from, token)| transfer(from, 0, 4000, token)).collect();
        let last = landings(&grid(shape, 4, 2, 2), &transfers).into_iter().max().expect("some");
        // 15 transfers of 10 packets, 100 cycles each, and the first packet's way there.
        assert!((15_000..15_200).contains(&last), "{shape:?}: {last}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_sent_over_a_torus_with_the_smallest_buffers_lands(
        pairs in prop::collection::vec((0u16..36, 0u16..36, 0u64..3000), 1..300),
    ) {
        let transfers: Vec<Transfer> =
            pairs.into_iter().zip(0..).map(|((from, to, bytes), token)| transfer(from, to, bytes, token)).collect();
        landings(&grid(Shape::Torus, 6, 1, 2), &transfers);
    }
}

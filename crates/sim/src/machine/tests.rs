//! The laws of the model, by hand, on the teaching chip: packets of 400 bytes are 100 flits and take 100 cycles on a link or an
//! interface, routers and wires 5 cycles each, a DMA engine needs 100 cycles to set up a piece, DDR needs half a cycle a byte and
//! 100 cycles for a piece. All times below are in cycles.

use super::*;
use crate::chip::{Link, Shape};
use crate::{CYCLE, Position, Rate};

/// Events in the order in which they come, with their times in cycles.
fn run(machine: &mut Machine) -> Vec<(Time, Event)> {
    std::iter::from_fn(|| machine.step()).map(|(time, event)| (time / CYCLE, event)).collect()
}

fn mesh16() -> Chip {
    Chip::builtin("mesh16").unwrap()
}

fn dma(from: u16, to: u16, bytes: u64, token: u64) -> Transfer {
    Transfer {
        from: Place(from),
        to: Place(to),
        bytes,
        rows: 1,
        mover: Mover::Dma,
        from_memory: Memory::Scratchpad,
        to_memory: Memory::Scratchpad,
        token,
    }
}

fn landed_of(events: &[(Time, Event)], token: u64) -> Time {
    let landed = |event: &Event| matches!(event, Event::Landed { token: other, .. } if *other == token);
    events.iter().find(|(_, event)| landed(event)).expect("it landed").0
}

/// When each of the transfers landed, all asked for at time 0.
fn landings(chip: &Chip, transfers: &[Transfer]) -> Vec<Time> {
    let mut machine = Machine::new(chip);
    for transfer in transfers {
        machine.transfer(0, *transfer);
    }
    let events = run(&mut machine);
    transfers.iter().map(|transfer| landed_of(&events, transfer.token)).collect()
}

#[test]
fn a_packet_over_one_link_takes_set_up_routers_wire_and_its_own_length() {
    let mut machine = Machine::new(&mesh16());
    machine.transfer(0, dma(0, 1, 400, 7));
    let from = Place(0);
    let to = Place(1);
    // Set up 0..100, interface 100..200, link 105..205, interface of the receiver 115..215.
    assert_eq!(
        run(&mut machine),
        [(200, Event::Left { from, token: 7 }), (215, Event::Landed { to, token: 7 })]
    );
}

#[test]
fn every_further_packet_costs_its_length_and_every_further_link_its_latency() {
    let chip = mesh16();
    assert_eq!(landings(&chip, &[dma(0, 1, 4000, 0)]), [115 + 10 * 100]);
    assert_eq!(landings(&chip, &[dma(0, 15, 4000, 0)]), [115 + 10 * 100 + 5 * 10]);
}

#[test]
fn nothing_at_all_travels_as_an_empty_packet() {
    // Without a header it has no flits.
    assert_eq!(landings(&mesh16(), &[dma(0, 1, 0, 0)]), [115]);
}

#[test]
fn without_any_latency_a_transfer_leaves_and_lands_at_once() {
    let mut chip = mesh16();
    (chip.network.data.router, chip.network.data.wire) = (0, 0);
    let mut machine = Machine::new(&chip);
    machine.transfer(0, dma(5, 0, 400, 0));
    machine.transfer(0, dma(0, 5, 400, 1));
    let times: Vec<Time> = run(&mut machine).iter().map(|(time, _)| *time).collect();
    assert_eq!(times, [200, 200, 200, 200]);
}

#[test]
fn a_header_takes_its_flits_of_every_link() {
    let mut chip = mesh16();
    chip.network.data.header_bytes = 20;
    assert_eq!(landings(&chip, &[dma(0, 1, 4000, 0)]), [115 + 10 * 105]);
}

#[test]
fn a_receiver_slower_than_the_link_sets_the_pace() {
    let mut chip = mesh16();
    chip.cluster.receive_per_byte = Rate::ticks(300);
    assert_eq!(landings(&chip, &[dma(0, 1, 4000, 0)]), [115 + 10 * 120]);
}

#[test]
fn a_core_pushes_at_its_own_rate() {
    let put = Transfer { mover: Mover::Core { per_byte: Rate::ticks(CYCLE) }, ..dma(0, 1, 800, 0) };
    // Pushed at 400 and 800; the last packet then goes 5 + 10 to the receiver's interface, which takes 100.
    assert_eq!(landings(&mesh16(), &[put]), [800 + 15 + 100]);
}

#[test]
fn two_flows_share_a_link_packet_by_packet_in_the_order_in_which_they_come() {
    // 0 -> 2 and 1 -> 3 share the link from router 1 to router 2; the packets of place 1 are there first.
    let landings = landings(&mesh16(), &[dma(0, 2, 20 * 400, 0), dma(1, 3, 20 * 400, 1)]);
    // Its packet k takes the link at 105 + 200 k, the other's at 205 + 200 k.
    assert_eq!(landings, [205 + 200 * 19 + 10 + 100, 105 + 200 * 19 + 20 + 100]);
}

#[test]
fn flows_in_opposite_directions_do_not_disturb_each_other() {
    let alone = landings(&mesh16(), &[dma(0, 1, 8000, 0)]);
    let both = landings(&mesh16(), &[dma(0, 1, 8000, 0), dma(1, 0, 8000, 1)]);
    assert_eq!(both, [alone[0], alone[0]]);
}

#[test]
fn waiting_and_busy_times_of_a_link_are_reported() {
    let mut machine = Machine::new(&mesh16());
    machine.transfer(0, dma(0, 2, 400, 0));
    machine.transfer(0, dma(1, 3, 400, 1));
    run(&mut machine);
    let shared = machine.links().iter().max_by_key(|link| link.waited).unwrap();
    let router = |x| crate::Node::Router(Position { x, y: 0 });
    assert_eq!((shared.from, shared.to, shared.control), (router(1), router(2), false));
    assert_eq!((shared.flits, shared.packets), (200, 2));
    // One came at 105 and went at once, the other at 115 and waited until 205.
    assert_eq!((shared.busy, shared.waited), (200 * CYCLE, 90 * CYCLE));
}

#[test]
fn with_one_credit_each_packet_waits_for_the_way_there_and_back() {
    let mut chip = mesh16();
    chip.network.credits = 1;
    // In memory at 215, the credit back over a wire and two routers at 230, and the next in memory 115 later.
    assert_eq!(landings(&chip, &[dma(0, 1, 400, 0)]), [215]);
    assert_eq!(landings(&chip, &[dma(0, 1, 3 * 400, 0)]), [215 + 2 * 130]);
}

#[test]
fn two_credits_hide_the_way_back() {
    let mut chip = mesh16();
    chip.network.credits = 2;
    assert_eq!(landings(&chip, &[dma(0, 1, 4000, 0)]), [115 + 10 * 100]);
}

#[test]
fn a_transfer_waits_for_a_dma_channel() {
    let mut chip = mesh16();
    let transfers = [dma(0, 1, 800, 0), dma(0, 4, 400, 1)];
    // With channels for both, the second is set up beside the first; their packets take turns at the interface.
    assert_eq!(landings(&chip, &transfers), [415, 315]);
    // With one, its set-up begins when the first has left, at 300.
    chip.dma.channels = 1;
    assert_eq!(landings(&chip, &transfers), [315, 300 + 100 + 100 + 15]);
}

#[test]
fn a_core_needs_no_dma_channel() {
    let mut chip = mesh16();
    chip.dma.channels = 1;
    let put = Transfer { mover: Mover::Core { per_byte: Rate::ticks(CYCLE / 4) }, ..dma(0, 4, 400, 1) };
    let landings = landings(&chip, &[dma(0, 1, 8000, 0), put]);
    assert!(landings[1] < landings[0] / 4, "{landings:?}");
}

#[test]
fn every_piece_of_a_transfer_is_set_up() {
    let pieces = |rows| landings(&mesh16(), &[Transfer { rows, ..dma(0, 1, 4000, 0) }])[0];
    assert_eq!(pieces(1), 1115);
    assert_eq!(pieces(10), 1115 + 9 * 100);
    // Twenty rows of 200 bytes are twenty packets of 50 cycles.
    assert_eq!(pieces(20), 20 * (100 + 50) + 15);
}

#[test]
fn reads_of_ddr_come_one_after_the_other() {
    let chip = mesh16();
    let io = chip.io_place(0).0;
    let read = |to, token| Transfer { from_memory: Memory::Ddr(0), ..dma(io, to, 400, token) };
    // DDR 0..300, interfaces 300..400 and 305..405: place 0 is at the router of the I/O subsystem.
    assert_eq!(landings(&chip, &[read(0, 0)]), [405]);
    assert_eq!(landings(&chip, &[read(0, 0), read(0, 1)]), [405, 705]);
}

#[test]
fn writes_to_ddr_wait_for_reads_of_it() {
    let chip = mesh16();
    let io = chip.io_place(0).0;
    let write = Transfer { to_memory: Memory::Ddr(0), ..dma(0, io, 400, 0) };
    let read = Transfer { from_memory: Memory::Ddr(0), ..dma(io, 0, 400, 1) };
    // Out of the network at 205, DDR 205..505.
    assert_eq!(landings(&chip, &[write]), [505]);
    // The read has it until 300.
    assert_eq!(landings(&chip, &[write, read]), [600, 405]);
}

#[test]
fn reading_ddr_goes_on_while_the_packet_before_is_sent() {
    let chip = mesh16();
    let read = Transfer { from_memory: Memory::Ddr(0), ..dma(chip.io_place(0).0, 0, 4000, 0) };
    assert_eq!(landings(&chip, &[read]), [100 + 10 * 200 + 5 + 100]);
}

#[test]
#[should_panic(expected = "place 3 does not control DDR 0")]
fn a_place_cannot_read_memory_that_another_controls() {
    let transfer = Transfer { from_memory: Memory::Ddr(0), ..dma(3, 0, 400, 0) };
    Machine::new(&mesh16()).transfer(0, transfer);
}

#[test]
fn letters_have_a_network_of_their_own() {
    let mut machine = Machine::new(&mesh16());
    machine.transfer(0, dma(0, 1, 40_000, 0));
    machine.letter(0, Place(0), Place(1), 120, 9);
    let letter = Event::Letter { from: Place(0), to: Place(1), token: 9 };
    // 30 flits: interface 0..30, link 5..35, interface of the receiver 15..45.
    assert_eq!(run(&mut machine)[0], (45, letter));
}

#[test]
fn letters_queue_for_a_link_as_packets_do() {
    let mut machine = Machine::new(&mesh16());
    for token in 0..3 {
        machine.letter(0, Place(0), Place(1), 120, token);
    }
    let times: Vec<Time> = run(&mut machine).iter().map(|(time, _)| *time).collect();
    assert_eq!(times, [45, 75, 105]);
}

#[test]
fn timers_of_one_time_come_by_place_and_then_as_asked() {
    let mut machine = Machine::new(&mesh16());
    for (owner, token) in [(3, 0), (1, 1), (3, 2), (0, 3)] {
        machine.timer(5, Place(owner), token);
    }
    let tokens: Vec<u64> = std::iter::from_fn(|| machine.step())
        .map(|(_, event)| match event {
            Event::Timer { token, .. } => token,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(tokens, [3, 1, 0, 2]);
}

#[test]
fn nothing_happens_after_the_limit_of_a_step() {
    let mut machine = Machine::new(&mesh16());
    machine.transfer(0, dma(0, 1, 400, 0));
    assert_eq!(machine.step_until(199 * CYCLE), None);
    assert!(machine.now() <= 199 * CYCLE);
    assert!(machine.next_time().unwrap() > 199 * CYCLE);
    assert!(machine.step_until(200 * CYCLE).is_some());
}

#[test]
#[should_panic(expected = "has happened already")]
fn nothing_can_be_injected_into_the_past() {
    let mut machine = Machine::new(&mesh16());
    machine.timer(10, Place(0), 0);
    machine.step();
    machine.timer(9, Place(0), 1);
}

#[test]
fn a_server_turns_to_a_job_when_it_has_done_those_before() {
    let mut machine = Machine::new(&mesh16());
    let agent = Server::Agent(Place(1));
    assert_eq!(machine.serve(agent, 10, 100), Served { start: 10, end: 110 });
    assert_eq!(machine.serve(agent, 50, 100), Served { start: 110, end: 210 });
    assert_eq!(machine.serve(Server::Kernel(Place(1)), 50, 100), Served { start: 50, end: 150 });
    assert_eq!(machine.serve(agent, 500, 100), Served { start: 500, end: 600 });
}

#[test]
fn active_cores_are_counted_by_place() {
    let mut machine = Machine::new(&mesh16());
    machine.active(Place(2), 10 * CYCLE);
    machine.active(Place(2), 5 * CYCLE);
    assert_eq!(machine.active_time(Place(2)), 15 * CYCLE);
    // 100 pJ a cycle.
    assert_eq!(machine.energy().cores, 1_500_000);
}

/// Two places with one link, four times as fast forth as back.
fn pair() -> Chip {
    let mut chip = mesh16();
    (chip.network.shape, chip.network.columns, chip.network.rows) = (Shape::Graph, 2, 1);
    chip.positions = vec![Position { x: 0, y: 0 }, Position { x: 1, y: 0 }];
    chip.io.clear();
    let link =
        |from, to, ticks| Link { from, to, per_byte: Some(Rate::ticks(ticks)), latency: Some(7 * CYCLE) };
    chip.links = vec![link(0, 1, 250), link(1, 0, 1000)];
    chip
}

#[test]
fn a_link_may_be_slower_one_way_than_the_other() {
    // As in the mesh but for the wire; back, 400 bytes take 400 cycles on the link, and the last byte comes when all ten have passed it.
    assert_eq!(landings(&pair(), &[dma(0, 1, 4000, 0)]), [115 + 2 + 10 * 100]);
    assert_eq!(landings(&pair(), &[dma(1, 0, 4000, 0)]), [115 + 2 + 10 * 400]);
}

#[test]
fn a_letter_is_not_there_before_its_end_is_out_of_the_slowest_link() {
    // 400 bytes are 100 flits, each of them a cycle on interfaces and fast links, and four on the slow one.
    let arrival = |from, to| {
        let mut machine = Machine::new(&pair());
        machine.letter(0, Place(from), Place(to), 400, 0);
        machine.step().unwrap().0 / CYCLE
    };
    let (fast, slow) = (arrival(0, 1), arrival(1, 0));
    assert_eq!(slow - fast, 100 * 4 - 100);
}

#[test]
fn links_carry_more_than_a_thousand_bytes_a_cycle() {
    let mut chip = pair();
    // Eight bytes a tick: 400 bytes take 50 ticks, and nothing else takes time.
    let rate = Rate::from_steps(Rate::STEPS / 8);
    chip.links.iter_mut().for_each(|link| (link.per_byte, link.latency) = (Some(rate), Some(0)));
    (chip.network.data.flit_time, chip.network.data.router) = (rate.times(4), 0);
    (chip.cluster.receive_per_byte, chip.dma.piece) = (Rate::default(), 0);
    let mut machine = Machine::new(&chip);
    machine.transfer(0, dma(0, 1, 40_000, 0));
    let events: Vec<(Time, Event)> = std::iter::from_fn(|| machine.step()).collect();
    assert_eq!(landed_of(&events, 0), 5000);
}

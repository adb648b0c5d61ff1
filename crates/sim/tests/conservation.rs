//! What must be true of every run: nothing is lost, everything is paid for, and the same calls give the same run.

use std::collections::BTreeMap;

use corelace_sim::chip::Buffers;
use corelace_sim::{CYCLE, Chip, Event, Machine, Memory, Mover, Node, Place, Rate, Time, Transfer};
use proptest::prelude::*;

/// The first generation of the MPPA with flits of a byte and no headers, so that flits are bytes.
fn byte_chip() -> Chip {
    let mut chip = Chip::builtin("mppa256-andey").unwrap();
    chip.network.data.flit_bytes = 1;
    chip.network.data.flit_time = Rate::ticks(CYCLE / 4);
    chip.network.data.header_bytes = 0;
    chip
}

/// That chip, with routers that are never full and with such that have room for one packet a channel.
fn chip() -> impl Strategy<Value = Chip> {
    any::<bool>().prop_map(|finite| {
        let mut chip = byte_chip();
        let buffers = Buffers { flits: chip.network.packet_flits(), channels: 2 };
        chip.set_buffers(finite.then_some(buffers)).expect("two channels suffice for a torus");
        chip
    })
}

fn transfers() -> impl Strategy<Value = Vec<(Time, Transfer)>> {
    // Places 16 and 17 are the I/O subsystems with DDR 0 and 1.
    let place = 0u16..20;
    let mover = prop_oneof![
        Just(Mover::Dma),
        (1u64..2000).prop_map(|ticks| Mover::Core { per_byte: Rate::ticks(ticks) })
    ];
    let one =
        (0u64..200_000, place.clone(), place, 0u64..5000, 1u32..20, mover, any::<bool>(), any::<bool>());
    let build = |(at, from, to, bytes, rows, mover, from_ddr, to_ddr): (_, u16, u16, _, _, _, bool, bool)| {
        let memory = |place: u16, ddr| match place {
            16 | 17 if ddr => Memory::Ddr(place - 16),
            _ => Memory::Scratchpad,
        };
        let transfer = Transfer {
            from: Place(from),
            to: Place(to),
            bytes,
            rows,
            mover,
            from_memory: memory(from, from_ddr),
            to_memory: memory(to, to_ddr),
            token: 0,
        };
        (at, transfer)
    };
    prop::collection::vec(one.prop_map(build), 1..60).prop_map(|mut all| {
        for (token, (_, transfer)) in all.iter_mut().enumerate() {
            transfer.token = token as u64;
        }
        all
    })
}

/// Runs them, and a letter and some work with each. When each left and landed, and the machine as it is then.
fn run(chip: &Chip, transfers: &[(Time, Transfer)]) -> (Vec<(Time, Time)>, Machine) {
    let mut machine = Machine::new(chip);
    for (at, transfer) in transfers {
        machine.transfer(*at, *transfer);
        machine.letter(*at, transfer.to, transfer.from, 120, transfer.token);
        machine.active(transfer.from, 1234);
    }
    let mut left = BTreeMap::new();
    let mut landed = BTreeMap::new();
    let mut before = 0;
    while let Some((time, event)) = machine.step() {
        assert!(time >= before, "time runs forwards");
        before = time;
        match event {
            Event::Left { token, .. } => assert_eq!(left.insert(token, time), None),
            Event::Landed { token, .. } => assert_eq!(landed.insert(token, time), None),
            Event::Letter { .. } | Event::Timer { .. } => {}
        }
    }
    let times = (0..transfers.len() as u64).map(|token| (left[&token], landed[&token])).collect();
    (times, machine)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_injected_lands_once_and_completely(chip in chip(), transfers in transfers()) {
        let (times, machine) = run(&chip, &transfers);
        for ((at, transfer), (left, landed)) in transfers.iter().zip(times) {
            prop_assert!(*at <= left && left < landed, "{transfer:?}: {at} {left} {landed}");
        }
        for place in (0..chip.places()).map(Place) {
            let bytes = |end: fn(&Transfer) -> Place| -> u64 {
                transfers.iter().filter(|(_, t)| end(t) == place).map(|(_, t)| t.bytes).sum()
            };
            let flits = |end: fn(&corelace_sim::LinkUse) -> Node| -> u64 {
                let ours = machine.links().iter().filter(|link| !link.control && end(link) == Node::Place(place));
                ours.map(|link| link.flits).sum()
            };
            prop_assert_eq!(bytes(|t| t.from), flits(|link| link.from));
            prop_assert_eq!(bytes(|t| t.to), flits(|link| link.to));
        }
    }

    #[test]
    fn every_flit_byte_and_cycle_is_paid_for_once(chip in chip(), transfers in transfers()) {
        let (_, machine) = run(&chip, &transfers);
        let energy = machine.energy();
        let sum = |bytes: &dyn Fn(&Transfer) -> u64| -> u128 {
            transfers.iter().map(|(_, transfer)| u128::from(bytes(transfer))).sum()
        };
        let flits: u128 = machine.links().iter().map(|link| u128::from(link.flits)).sum();
        let by_dma = sum(&|t| if t.mover == Mover::Dma { t.bytes } else { 0 });
        let ddr = |memory| u64::from(memory != Memory::Scratchpad);
        let of_ddr = sum(&|t| t.bytes * (ddr(t.from_memory) + ddr(t.to_memory)));
        let active = 1234 * transfers.len() as u128;
        prop_assert_eq!(energy.network, flits * u128::from(chip.power.flit_hop));
        prop_assert_eq!(energy.dma, by_dma * u128::from(chip.power.dma_byte));
        prop_assert_eq!(energy.ddr, of_ddr * u128::from(chip.power.ddr_byte));
        prop_assert_eq!(energy.cores, active * u128::from(chip.power.core_cycle) / u128::from(CYCLE));
        let idle = chip.power.idle_microwatts as f64 * 1e9 * machine.now() as f64 / chip.ticks_per_second() as f64;
        prop_assert!((energy.idle as f64 - idle).abs() <= 1.0 + idle * 1e-9);
        let parts = energy.idle + energy.cores + energy.network + energy.dma + energy.ddr;
        prop_assert_eq!(energy.total(), parts);
    }

    #[test]
    fn the_power_over_time_adds_up_to_the_energy(chip in chip(), transfers in transfers()) {
        let (_, machine) = run(&chip, &transfers);
        let per_tick = 1e9 / chip.ticks_per_second() as f64;
        let samples = machine.power_samples();
        let sampled: f64 =
            samples.iter().map(|s| s.microwatts as f64 * (s.end - s.start) as f64 * per_tick).sum();
        let total = machine.energy().total() as f64;
        // Each sample is rounded down to a microwatt, and what a core did after the last event is not sampled.
        prop_assert!((sampled - total).abs() <= total * 0.01 + 1e6, "{sampled} {total}");
    }

    #[test]
    fn the_same_calls_give_the_same_trace_and_others_do_not(chip in chip(), transfers in transfers()) {
        let (times, machine) = run(&chip, &transfers);
        let (again, twin) = run(&chip, &transfers);
        prop_assert_eq!(times, again);
        prop_assert_eq!(machine.trace_hash(), twin.trace_hash());
        let mut changed = transfers;
        changed[0].1.bytes += 1;
        prop_assert_ne!(machine.trace_hash(), run(&chip, &changed).1.trace_hash());
    }

    #[test]
    fn a_link_is_never_busier_than_the_time_that_passed(chip in chip(), transfers in transfers()) {
        let (_, machine) = run(&chip, &transfers);
        for link in machine.links() {
            prop_assert!(link.busy <= machine.now());
        }
    }
}

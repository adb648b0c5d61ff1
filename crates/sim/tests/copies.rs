//! Copies of a chip file with a changed number: the results change as the model says, and by as much. And what was calibrated
//! comes out.

use corelace_sim::{BUILTIN, CYCLE, Chip, Event, Layout, Machine, Memory, Mover, Place, Time, Transfer};

/// A copy of a chip file in which a text, which must be there, is replaced.
fn copy(name: &str, old: &str, new: &str) -> Chip {
    let (_, text) = BUILTIN.iter().find(|(builtin, _)| *builtin == name).unwrap();
    assert!(text.contains(old), "{name} has no {old}");
    Chip::from_toml(&text.replace(old, new), "copy.toml").unwrap_or_else(|error| panic!("{error}"))
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
        token: 0,
    }
}

/// When the last of them has landed.
fn time(chip: &Chip, transfers: &[Transfer]) -> Time {
    let mut machine = Machine::new(chip);
    transfers.iter().for_each(|transfer| machine.transfer(0, *transfer));
    let landed = std::iter::from_fn(|| machine.step()).filter(|(_, e)| matches!(e, Event::Landed { .. }));
    landed.map(|(time, _)| time).max().unwrap()
}

/// Cycles for each further byte of a transfer, in thousandths.
fn slope(chip: &Chip, transfer: impl Fn(u64) -> Transfer) -> f64 {
    let (short, long) = (1 << 18, 1 << 20);
    (time(chip, &[transfer(long)]) - time(chip, &[transfer(short)])) as f64 / (long - short) as f64
}

const WIDTH: &str = "link           = { value = 4, unit = \"bytes/cycle\"";

#[test]
fn doubling_the_width_of_links_halves_the_time_on_a_congested_one() {
    let narrow = Chip::builtin("mesh16").unwrap();
    let wide = copy("mesh16", WIDTH, &WIDTH.replace("value = 4", "value = 8"));
    // 0 -> 3 and 1 -> 7 share two links, and nothing at their ends.
    let congested = |bytes| [dma(0, 3, bytes), dma(1, 7, bytes)];
    let rate = |chip: &Chip| time(chip, &congested(800_000)) - time(chip, &congested(400_000));
    assert_eq!(rate(&narrow), 2 * 400_000 / 4 * CYCLE);
    assert_eq!(rate(&wide), 2 * 400_000 / 8 * CYCLE);
}

#[test]
fn doubling_the_width_of_links_does_not_help_a_transfer_that_waits_for_its_receiver() {
    let narrow = Chip::builtin("mesh16").unwrap();
    let wide = copy("mesh16", WIDTH, &WIDTH.replace("value = 4", "value = 8"));
    assert_eq!(slope(&narrow, |bytes| dma(0, 3, bytes)), 250.0);
    assert_eq!(slope(&wide, |bytes| dma(0, 3, bytes)), 250.0);
}

#[test]
fn moving_a_cluster_away_costs_a_router_and_a_wire_a_hop() {
    let near = Chip::builtin("mesh16").unwrap();
    // Clusters 1 and 15 change places: cluster 1 is then six links away from cluster 0 instead of one.
    let text = BUILTIN.iter().find(|(name, _)| *name == "mesh16").unwrap().1;
    let far = text
        .replace("[0, 0], [1, 0],", "[0, 0], [9, 9],")
        .replace("[3, 3]", "[1, 0]")
        .replace("[9, 9]", "[3, 3]");
    let far = Chip::from_toml(&far, "far.toml").unwrap();
    let difference = time(&far, &[dma(0, 1, 4000)]) - time(&near, &[dma(0, 1, 4000)]);
    assert_eq!(difference, 5 * (5 + 5) * CYCLE);
}

/// A copy of the first MPPA in which numbers have other values.
fn andey_with(changes: &[(&str, &str)]) -> Chip {
    let chip = Chip::builtin("mppa256-andey").unwrap();
    let text = corelace_sim::chip::changed(BUILTIN[0].1, &chip.facts, changes).unwrap();
    Chip::from_toml(&text, "copy.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// What is asked, numbers that change, and what a byte takes alone and where two share a link.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], f64, f64);

/// What a byte more takes, in thousandths of a cycle: by DMA between clusters 0 and 15, and of both together where 0 -> 2 and 1 -> 6 share a link.
#[test]
fn what_a_byte_takes_on_the_first_mppa_follows_what_limits_it() {
    let alone = |chip: &Chip| slope(chip, |bytes| dma(0, 15, bytes));
    let shared = |chip: &Chip| {
        let both = |bytes| [dma(0, 2, bytes), dma(1, 6, bytes)];
        (time(chip, &both(1 << 20)) - time(chip, &both(1 << 18))) as f64 / ((1 << 20) - (1 << 18)) as f64
    };
    // A packet of 256 bytes is 264 on the link: 258 thousandths of a cycle a byte, below the 270 of the receiving interface.
    let cases: [Case; 5] = [
        ("as shipped", &[], 270.0, 2.0 * 257.8),
        ("links twice as wide", &[("network.data.link", "8")], 270.0, 270.0),
        (
            "links and interfaces twice as fast",
            &[("network.data.link", "8"), ("cluster.receive", "0.135")],
            135.0,
            2.0 * 128.9,
        ),
        ("interfaces twice as slow", &[("cluster.receive", "0.54")], 540.0, 540.0),
        ("packets without headers", &[("network.data.packet_header", "0")], 270.0, 2.0 * 250.0),
    ];
    for (what, changes, one, both) in cases {
        let chip = andey_with(changes);
        let found = (alone(&chip), shared(&chip));
        assert!(
            (found.0 / one - 1.0).abs() < 0.02 && (found.1 / both - 1.0).abs() < 0.03,
            "{what}: {found:?}, expected {one} and {both}"
        );
    }
}

#[test]
fn slower_routers_and_wires_cost_their_time_a_hop() {
    // From cluster 0 to 15 on the torus: a link west and a link north, and the routers at both ends and between them.
    let routers = time(&andey_with(&[("network.data.router", "107")]), &[dma(0, 15, 4)]);
    let wires = time(&andey_with(&[("network.data.wire", "108")]), &[dma(0, 15, 4)]);
    let shipped = time(&andey_with(&[]), &[dma(0, 15, 4)]);
    let hundreds = |time: Time| (time - shipped) / (100 * CYCLE);
    assert_eq!((hundreds(routers), hundreds(wires)), (3, 2));
}

#[test]
fn halving_a_scratchpad_halves_what_a_cluster_holds() {
    let chip = Chip::builtin("mppa256-andey").unwrap();
    let full = "scratchpad     = { value = 2, unit = \"MiB\"";
    let text = BUILTIN[0].1.replacen(full, &full.replace('2', "1"), 1);
    let text = text.replace("value = 1.5, unit = \"MiB\"", "value = 0.75, unit = \"MiB\"");
    let half = Chip::from_toml(&text, "half.toml").unwrap();
    assert_eq!((chip.cluster.scratchpad, chip.cluster.usable), (2 << 20, 3 << 19));
    assert_eq!((half.cluster.scratchpad, half.cluster.usable), (1 << 20, 3 << 18));
}

#[test]
fn the_first_mppa_moves_a_byte_between_clusters_as_measured() {
    let chip = Chip::builtin("mppa256-andey").unwrap();
    let by_dma = slope(&chip, |bytes| dma(0, 15, bytes));
    assert!((by_dma - 270.0).abs() < 2.7, "{by_dma}");
    let costs = chip.ipc("mppaipc").unwrap().cluster;
    let mover = Mover::Core { per_byte: costs.put_per_byte };
    let by_core = slope(&chip, |bytes| Transfer { mover, ..dma(0, 15, bytes) });
    assert!((by_core - 980.0).abs() < 9.8, "{by_core}");
}

#[test]
fn the_first_mppa_moves_a_byte_from_and_to_ddr_as_measured() {
    let chip = Chip::builtin("mppa256-andey").unwrap();
    let io = chip.io_place(0).0;
    let read = |bytes| Transfer { from_memory: Memory::Ddr(0), ..dma(io, 15, bytes) };
    let write = |bytes| Transfer { to_memory: Memory::Ddr(0), ..dma(15, io, bytes) };
    let by_dma = slope(&chip, read);
    assert!((by_dma - 840.0).abs() < 8.4, "{by_dma}");
    let into = slope(&chip, write);
    assert!((into - 260.0).abs() < 2.6, "{into}");
    let mover = Mover::Core { per_byte: chip.ipc("mppaipc").unwrap().io.put_per_byte };
    let by_core = slope(&chip, |bytes| Transfer { mover, ..read(bytes) });
    assert!((by_core - 13_520.0).abs() < 135.2, "{by_core}");
}

/// GB/s at which sixteen clusters read boxes of rows of one DDR together, so that the memory and not a link is what everybody waits for.
fn box_rate(chip: &Chip, row: u64, (first, pitch): (fn(u16) -> u64, u64), writes: bool) -> f64 {
    let (io, rows) = (chip.io_place(0).0, 256);
    let mut machine = Machine::new(chip);
    for cluster in 0..16 {
        let layout = Layout { offset: first(cluster), stride: pitch, ..Layout::default() };
        let read = Transfer { rows, from_memory: Memory::Ddr(0), ..dma(io, cluster, row * u64::from(rows)) };
        machine.transfer_in(0, read, layout);
        let far = Layout { offset: layout.offset + (1 << 28), ..layout };
        let write = Transfer { rows, to_memory: Memory::Ddr(0), ..dma(cluster, io, row * u64::from(rows)) };
        if writes {
            machine.transfer_in(0, write, far);
        }
    }
    let landed = std::iter::from_fn(|| machine.step()).filter(|(_, e)| matches!(e, Event::Landed { .. }));
    let seconds = landed.map(|(time, _)| time).max().unwrap() as f64 / chip.ticks_per_second() as f64;
    let moved = row * u64::from(rows) * 16 * if writes { 2 } else { 1 };
    moved as f64 / seconds * 1e-9
}

/// Rows that begin where bursts do, no two in one row of the memory.
const ALIGNED: (fn(u16) -> u64, u64) = (|cluster| u64::from(cluster) * 4096, 1 << 16);

#[test]
fn rows_of_a_box_cost_their_opening_and_the_bursts_at_their_ends() {
    let chip = Chip::builtin("mppa256-bostan-400").unwrap();
    // Rows that fill bursts, one a DRAM row: bursts, and one opening.
    let aligned = box_rate(&chip, 1024, ALIGNED, false);
    let expected = 1024.0 / (1024.0 / 8.5 + 130.0);
    assert!((aligned / expected - 1.0).abs() < 0.02, "{aligned} GB/s, expected {expected}");
    // Rows that fill neither bursts nor DRAM rows take longer.
    let ragged = box_rate(&chip, 760, (|cluster| u64::from(cluster) * (4096 + 76), 9728), false);
    assert!(ragged < 0.9 * aligned, "{ragged} GB/s, and {aligned}");
}

#[test]
fn the_memory_outside_keeps_its_speed_when_the_clock_rises_and_serves_several_at_once() {
    let read = |chip: &Chip, to, bytes| Transfer {
        from_memory: Memory::Ddr(0),
        ..dma(chip.io_place(0).0, to, bytes)
    };
    let fast = andey_with(&[("clock.frequency", "800")]);
    let memory = slope(&fast, |bytes| read(&fast, 15, bytes));
    let clusters = slope(&fast, |bytes| dma(0, 15, bytes));
    // In cycles: those of the memory are twice as many, those of the chip's own network as before.
    assert!(
        (memory / 1680.0 - 1.0).abs() < 0.01 && (clusters / 270.0 - 1.0).abs() < 0.01,
        "{memory}, {clusters}"
    );
    // One transfer waits for each burst; four together have the memory's bursts in between.
    let chip = andey_with(&[]);
    let alone = time(&chip, &[read(&chip, 0, 1 << 20)]);
    let four = time(&chip, &[0, 1, 2, 3].map(|to| read(&chip, to, 1 << 20)));
    assert!((four as f64 / alone as f64 - 1.0).abs() < 0.15, "{alone} alone, {four} for four");
    // More questions at a time, and a transfer is as fast as its way.
    let eager = andey_with(&[("io.north.ddr.rows.asked", "2048")]);
    let hasty = slope(&eager, |bytes| read(&eager, 15, bytes));
    assert!((hasty / 270.0 - 1.0).abs() < 0.02, "{hasty}");
}

#[test]
fn what_if_the_memory_outside_were_another() {
    let rate =
        |old: &str, new: &str, writes| box_rate(&copy("mppa256-bostan", old, new), 1024, ALIGNED, writes);
    let law = |gbps: f64, activate: f64| 1024.0 / (1024.0 / gbps + activate);
    let (activate, turn) = ("value = 130, unit = \"ns\"", "value = 140, unit = \"ns\"");
    // Twice the opening: as the law says.
    let slow = rate(activate, "value = 260, unit = \"ns\"", false);
    assert!((slow / law(8.5, 260.0) - 1.0).abs() < 0.02, "{slow}");
    // Half the rate: bursts take twice as long, opening does not.
    let half = rate("value = 8.5, unit = \"GB/s\"", "value = 4.25, unit = \"GB/s\"", false);
    assert!((half / law(4.25, 130.0) - 1.0).abs() < 0.02, "{half}");
    // No turns: reading and writing together are as fast as reading alone, with them slower.
    let free = rate(turn, "value = 0, unit = \"ns\"", true);
    let turning = rate(turn, turn, true);
    assert!((free / law(8.5, 130.0) - 1.0).abs() < 0.03 && turning < 0.9 * free, "{free} and {turning} GB/s");
}

#[test]
fn both_mppas_take_the_stated_power_when_all_cores_are_busy() {
    for (name, watts) in [("mppa256-andey", 10.0), ("mppa256-bostan", 20.0), ("epiphany-iv", 2.0)] {
        let chip = Chip::builtin(name).unwrap();
        let cores = u64::from(chip.clusters()) * u64::from(chip.cluster.cores + chip.cluster.system_cores);
        let second = chip.power.idle_microwatts as f64 * 1e-6
            + cores as f64 * chip.power.core_cycle as f64 * 1e-15 * chip.clock_hz as f64;
        assert!((second - watts).abs() < 0.1 * watts, "{name}: {second} W");
    }
}

//! Registered memory: what it costs, who pays, what stays registered; and the shadow that long data of a card leaves from.

use corelace_fabric_noc as fabric_noc;
use fabric::{
    Audience, Clock, Delivery, Fabric, Idle, Key, Mailbox, Mover, Node, Park, Portal, Region, Shape,
};
use fabric_local::{NoHooks, Outcome};
use fabric_noc::{Map, NocFabric, Options, Report, Software};
use sim::{BUILTIN, Chip, Place, Rate, Time};

const LENGTH: usize = 1 << 20;

fn text() -> &'static str {
    BUILTIN.iter().find(|(name, _)| *name == "xeonphi-ib8").unwrap().1
}

/// The system with a text of its description, which must be there, replaced.
fn changed(old: &str, new: &str) -> Chip {
    assert!(text().contains(old), "no {old}");
    Chip::from_toml(&text().replace(old, new), "copy.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn chip() -> Chip {
    Chip::builtin("xeonphi-ib8").unwrap()
}

/// Runs two ranks on two nodes with one of the sets of costs.
fn run<T>(chip: &Chip, ipc: &str, body: impl Fn(NocFabric) -> T) -> Report<T> {
    let software = Software { ipc: ipc.into(), name_service: false };
    let options = Options { map: Map::Scatter, software, ..Options::new(chip, 2) };
    fabric_noc::run(&options, &NoHooks, &body).expect("it fits")
}

/// What rank 0 made of it.
fn first<T>(report: Report<T>) -> T {
    report.outcomes.into_iter().map(Outcome::unwrap).next().unwrap()
}

/// Exposes memory for writing, as a receive does; what it took.
fn expose(fabric: &NocFabric, memory: &mut [u8]) -> Time {
    let begin = fabric.now();
    let region = Region::host(memory.as_mut_ptr(), memory.len());
    // SAFETY: nobody is told of the key.
    let key = unsafe { fabric.expose(region, Audience::One(Node(1 - fabric.me().0))) }.unwrap();
    fabric.withdraw(key);
    fabric.now() - begin
}

#[test]
fn memory_is_registered_once_for_a_call_and_its_pages_and_parts_of_it_are_registered_with_it() {
    let report = run(&chip(), "dcfa", |fabric| {
        if fabric.me() != Node(0) {
            return [0; 3];
        }
        let mut memory = vec![0; 64 * 4096];
        [expose(&fabric, &mut memory), expose(&fabric, &mut memory), expose(&fabric, &mut memory[4096..8192])]
    });
    let (registrations, before) = (report.stats.registrations, report.stats.registered_before);
    // 50 us and 64 pages of 250 ns, in picoseconds.
    assert_eq!(first(report), [66_000_000, 0, 0]);
    assert_eq!((registrations, before), (1, 2));
}

#[test]
fn the_region_used_longest_ago_makes_room() {
    let report = run(&chip(), "dcfa", |fabric| {
        if fabric.me() != Node(0) {
            return Vec::new();
        }
        let mut memory: Vec<Vec<u8>> = vec![vec![0; 4096]; 17];
        let mut took = Vec::new();
        // Sixteen fit; the first is used again before a seventeenth comes, so that the second goes.
        for index in (0..16).chain([0, 16, 0, 1]) {
            took.push(expose(&fabric, &mut memory[index]) > 0);
        }
        took
    });
    assert_eq!(report.stats.evictions, 2);
    let took = first(report);
    assert!(took[..16].iter().all(|registered| *registered), "{took:?}");
    assert_eq!(took[16..], [false, true, false, true]);
}

#[test]
fn what_registering_costs_is_what_the_description_says() {
    let took =
        |chip: &Chip| {
            first(run(chip, "dcfa", |fabric| {
                if fabric.me() == Node(0) { expose(&fabric, &mut vec![0; 8192]) } else { 0 }
            }))
        };
    let dear = changed("register       = { value = 50,", "register       = { value = 150,");
    assert_eq!(took(&dear) - took(&chip()), 100_000_000);
    let pages = changed("register_page  = { value = 250,", "register_page  = { value = 1250,");
    assert_eq!(took(&pages) - took(&chip()), 2 * 1_000_000);
}

/// A put of rank 0 into memory of rank 1, until it is there: what it took. Both memories are registered before.
fn put(chip: &Chip, ipc: &str, bytes: usize) -> (Time, Report<Time>) {
    let mut report = run(chip, ipc, |fabric| {
        let mut memory = vec![fabric.me().0 as u8; LENGTH];
        let took = if fabric.me() == Node(0) {
            put_twice(&fabric, &memory, bytes)
        } else {
            receive(&fabric, &mut memory)
        };
        assert!(memory[..bytes].iter().all(|byte| *byte == 0), "the bytes have come");
        took
    });
    let Outcome::Ended(took) = &report.outcomes[0] else { panic!("rank 0 did not end") };
    let took = *took;
    report.outcomes.truncate(1);
    (took, report)
}

fn put_twice(fabric: &NocFabric, memory: &[u8], bytes: usize) -> Time {
    let mut key = Key([0; 4]);
    wait_for_letter(fabric, &mut |payload| {
        key =
            Key(std::array::from_fn(|word| u64::from_le_bytes(payload[8 * word..][..8].try_into().unwrap())));
    });
    let mut took = 0;
    for _ in 0..2 {
        let begin = fabric.now();
        let (shape, delivery) = (Shape::contiguous(0, bytes), Delivery { mover: Mover::Dma, notice: None });
        // SAFETY: both memories stay until the run is over.
        let ticket =
            unsafe { fabric.put(Node(1), memory.as_ptr(), &shape, &key, &shape, &delivery) }.unwrap();
        while !fabric.done(ticket).unwrap() {
            fabric.park(0, Idle::UntilWoken);
        }
        took = fabric.now() - begin;
    }
    fabric.try_post(Node(1), &[0; 3], &[]).unwrap();
    took
}

fn receive(fabric: &NocFabric, memory: &mut [u8]) -> Time {
    let region = Region::host(memory.as_mut_ptr(), memory.len());
    // SAFETY: the memory stays until the run is over.
    let Key(words) = unsafe { fabric.expose(region, Audience::One(Node(0))) }.unwrap();
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    fabric.try_post(Node(0), &[0; 3], &payload).unwrap();
    wait_for_letter(fabric, &mut |_| ());
    0
}

fn wait_for_letter(fabric: &NocFabric, sink: &mut dyn FnMut(&[u8])) {
    while fabric.poll(1, &mut |_, _, payload| sink(payload)) == 0 {
        fabric.park(0, Idle::UntilWoken);
    }
}

#[test]
fn long_data_leaves_from_the_shadow_after_all_of_it_is_there() {
    let wire = Rate::from_steps((1000.0 / 5.757 * Rate::STEPS as f64) as u64);
    let packets = |bytes: usize| wire.of((bytes + bytes.div_ceil(2048) * 30) as u64);
    let (direct, _) = put(&chip(), "dcfa-direct", LENGTH);
    let (shadowed, report) = put(&chip(), "dcfa", LENGTH);
    assert_eq!(report.stats.shadowed, 2 * LENGTH as u64);
    let overhead = shadowed - 2 * packets(LENGTH);
    // Setting up both, and the latencies of both ways.
    assert!((9_000_000..12_000_000).contains(&overhead), "{overhead}");
    assert!(direct > 2 * shadowed, "{direct} and {shadowed}");
    let (short, report) = put(&chip(), "dcfa", 4096);
    assert_eq!((report.stats.shadowed, short), (0, put(&chip(), "dcfa-direct", 4096).0));
}

#[test]
fn a_faster_way_out_of_the_card_helps_direct_sends_and_a_faster_engine_those_by_the_shadow() {
    let times = |chip: &Chip| (put(chip, "dcfa-direct", LENGTH).0 as f64, put(chip, "dcfa", LENGTH).0 as f64);
    let (direct, shadowed) = times(&chip());
    let twice = changed("value = 0.964, unit", "value = 1.928, unit");
    let (faster, same) = times(&twice);
    assert!((direct / faster - 2.0).abs() < 0.02 && same == shadowed, "{direct} {faster} {same}");
    let engine = changed(
        "bandwidth      = { value = 5.757, unit = \"GB/s\", from = \"chosen: as fast",
        "bandwidth      = { value = 11.514, unit = \"GB/s\", from = \"chosen: as fast",
    );
    let (same, faster) = times(&engine);
    // The copy was half of it.
    assert!((shadowed / faster - 4.0 / 3.0).abs() < 0.03 && same == direct, "{shadowed} {faster} {same}");
}

#[test]
fn the_host_has_no_part_in_a_message() {
    let commands = |bytes| put(&chip(), "dcfa", bytes).1.stats.registrations;
    // One for each memory, whatever is sent and how often.
    assert_eq!((commands(4096), commands(LENGTH)), (2, 2));
    assert_eq!(chip().name_of(Place(8)), "host 0");
}

//! Kinds of memory: how often data is copied and who pays, by where its two ends are.

use corelace_fabric_noc as fabric_noc;
use fabric::{
    Audience, Clock, Delivery, Fabric, Idle, Key, Mailbox, Memory as _, Mover, Node, Park, Portal, Region,
    Shape,
};
use fabric_local::{NoHooks, Outcome};
use fabric_noc::{Map, NocFabric, Options};
use sim::{Chip, Time};

const BYTES: usize = 100_000;

/// What a message of rank 0 to rank 1 took: copies, and time of the sender and of the receiver, without that of letters.
fn message(chip: &Chip, map: Map, from_global: bool, to_global: bool) -> (u64, Time, Time) {
    let body = |fabric: NocFabric| {
        let mut memory = vec![fabric.me().0 as u8; BYTES];
        let global = if fabric.me() == Node(0) { from_global } else { to_global };
        if global {
            fabric.lies_globally(memory.as_ptr(), BYTES, true);
        }
        if fabric.me() == Node(0) { send(&fabric, &memory) } else { receive(&fabric, &mut memory) }
    };
    let options = Options { map, ..Options::new(chip, 2) };
    let report = fabric_noc::run(&options, &NoHooks, &body).expect("it fits");
    let times: Vec<Time> = report.outcomes.into_iter().map(Outcome::unwrap).collect();
    (report.stats.copies, times[0], times[1])
}

/// Takes a key, puts and says so; the time of the put.
fn send(fabric: &NocFabric, memory: &[u8]) -> Time {
    let mut key = Key([0; 4]);
    wait_for_letter(fabric, &mut |payload| {
        key =
            Key(std::array::from_fn(|word| u64::from_le_bytes(payload[8 * word..][..8].try_into().unwrap())));
    });
    let begin = fabric.now();
    let notice = fabric.route(Node(1)).notice.then_some([1, 0, 0]);
    let delivery = Delivery { mover: Mover::Dma, notice };
    let shape = Shape::contiguous(0, BYTES);
    // SAFETY: both memories stay until the run is over.
    let ticket = unsafe { fabric.put(Node(1), memory.as_ptr(), &shape, &key, &shape, &delivery) }.unwrap();
    let put = fabric.now() - begin;
    while !fabric.done(ticket).unwrap() {
        fabric.park(0, Idle::UntilWoken);
    }
    if notice.is_none() {
        fabric.try_flag(Node(1), &[1, 0, 0]).unwrap();
    }
    put
}

/// Sends a key and waits for the bytes; the time of taking the letter that tells of them.
fn receive(fabric: &NocFabric, memory: &mut [u8]) -> Time {
    let region = Region::host(memory.as_mut_ptr(), BYTES);
    // SAFETY: the memory stays until the run is over.
    let Key(words) = unsafe { fabric.expose(region, Audience::One(Node(0))) }.unwrap();
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    fabric.try_post(Node(0), &[0; 3], &payload).unwrap();
    let taken = wait_for_letter(fabric, &mut |_| ());
    assert!(memory.iter().all(|byte| *byte == 0), "the bytes have come");
    taken
}

/// The time that taking the letter takes.
fn wait_for_letter(fabric: &NocFabric, sink: &mut dyn FnMut(&[u8])) -> Time {
    loop {
        let begin = fabric.now();
        if fabric.poll(1, &mut |_, _, payload| sink(payload)) > 0 {
            return fabric.now() - begin;
        }
        fabric.park(0, Idle::UntilWoken);
    }
}

#[test]
fn copies_are_counted_by_where_both_ends_are() {
    let chip = Chip::builtin("earth-simulator").unwrap();
    let copies = |map, from, to| message(&chip, map, from, to).0;
    assert_eq!((copies(Map::Compact, false, false), copies(Map::Scatter, false, false)), (2, 3));
    assert_eq!((copies(Map::Compact, true, true), copies(Map::Scatter, true, true)), (1, 1));
    assert_eq!((copies(Map::Compact, true, false), copies(Map::Scatter, true, false)), (1, 2));
    assert_eq!((copies(Map::Compact, false, true), copies(Map::Scatter, false, true)), (1, 2));
}

#[test]
fn each_rank_pays_for_its_own_local_memory() {
    let chip = Chip::builtin("earth-simulator").unwrap();
    let laws = chip.memory.unwrap();
    let (local, global) = (laws.local.of(BYTES as u64), laws.global.of(BYTES as u64));
    let costs = chip.ipc("mpi-es").unwrap().cluster;
    let times = |map, from, to| {
        let (_, sender, receiver) = message(&chip, map, from, to);
        (sender, receiver)
    };
    assert_eq!(times(Map::Compact, false, false), (local, costs.local_call + local));
    assert_eq!(times(Map::Compact, true, true), (global, costs.local_call));
    assert_eq!(times(Map::Scatter, false, false), (costs.put_dma + local, local));
    assert_eq!(times(Map::Scatter, true, true), (costs.put_dma, 0));
}

#[test]
fn a_machine_with_one_kind_of_memory_counts_no_copies() {
    let chip = Chip::builtin("mesh16").unwrap();
    assert_eq!(message(&chip, Map::Scatter, false, true).0, 0);
}

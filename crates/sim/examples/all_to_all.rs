//! What the model itself costs: everybody sends 32 KiB to everybody else, 12 end points on each cluster of a chip.
//!
//! `cargo run --release -p corelace-sim --example all_to_all [CHIP]`

use std::time::Instant;

use corelace_sim::{Chip, Event, Machine, Memory, Mover, Place, Transfer};

const BYTES: u64 = 32 * 1024;

fn main() {
    let word = std::env::args().nth(1).unwrap_or_else(|| "mppa256-andey".to_string());
    let chip = Chip::find(&word).unwrap_or_else(|error| panic!("{error}"));
    let ranks = chip.ranks_max();
    let mut machine = Machine::new(&chip);
    let begin = Instant::now();
    for shift in 1..ranks {
        for from in 0..ranks {
            let to = (from + shift) % ranks;
            machine.transfer(0, transfer(&chip, from, to));
        }
    }
    let mut landed = 0;
    while let Some((_, event)) = machine.step() {
        landed += u64::from(matches!(event, Event::Landed { .. }));
    }
    let seconds = begin.elapsed().as_secs_f64();
    assert_eq!(landed, u64::from(ranks) * u64::from(ranks - 1));

    let reservations: u64 = machine.links().iter().map(|link| link.packets).sum();
    let virtual_seconds = machine.now() as f64 / chip.ticks_per_second() as f64;
    let energy = machine.energy();
    println!("{}: {ranks} end points, {BYTES} bytes each to each other", chip.name);
    println!("reservations    {reservations}");
    println!("seconds         {seconds:.2}");
    println!("reservations/s  {:.1} million", reservations as f64 / seconds / 1e6);
    println!("virtual time    {:.3} ms", virtual_seconds * 1e3);
    println!("energy          {:.3} mJ", energy.joules() * 1e3);
    println!("trace hash      {:016x}", machine.trace_hash());
    println!("peak memory     {}", peak_memory());
}

fn transfer(chip: &Chip, from: u32, to: u32) -> Transfer {
    let place = |rank: u32| Place((rank / chip.cluster.ranks_max) as u16);
    Transfer {
        from: place(from),
        to: place(to),
        bytes: BYTES,
        rows: 1,
        mover: Mover::Dma,
        from_memory: Memory::Scratchpad,
        to_memory: Memory::Scratchpad,
        token: u64::from(from) << 32 | u64::from(to),
    }
}

/// As Linux tells it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_string(), |text| text.trim().to_string())
}

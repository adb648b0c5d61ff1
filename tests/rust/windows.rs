//! A program in Rust whose ranks are processes that reach into each other's memory; `tests/examples.rs` launches it.

use std::process::ExitCode;

use corelace::{BoxError, Communicator, ErrorKind, op};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), BoxError> {
    let universe = corelace::init()?;
    let world = universe.world();
    atomics(&world)?;
    phases(&world)?;
    token(&world)?;
    mistakes(&world)?;
    gone_too_early(&world)?;
    world.barrier()?;
    if world.rank() == 0 {
        println!("{} processes reach into each other's memory", world.size());
    }
    drop(world);
    Ok(universe.finalize()?)
}

/// Nothing that many do to one element is lost, with locks and without.
fn atomics(world: &Communicator<'_>) -> Result<(), BoxError> {
    const TIMES: u64 = 500;
    let ranks = world.size() as u64;
    let mut counters = world.allocate_window::<u64>(3)?;
    let mut sums = world.allocate_window::<f64>(100)?;
    for _ in 0..TIMES {
        counters.lock_all()?.at(0)?.fetch_add(0, 1)?;
        let last = counters.lock_shared(world.size() - 1)?;
        last.accumulate(1, &(world.rank() as u64), op::max())?;
        drop(last);
        let mut pair = counters.lock_exclusive(0)?;
        pair[1] += 1;
        pair[2] += pair[1];
        drop(pair);
        sums.lock_shared(0)?.accumulate(0, &[0.5; 100][..], op::sum())?;
    }
    counters.fence()?;
    let (all, turns) = (counters.lock_all()?, TIMES * ranks);
    assert_eq!(all.at(0)?.get(0)?, turns);
    if world.size() > 1 {
        assert_eq!(all.at(0)?.get_vec(1, 2)?, [turns, turns * (turns + 1) / 2]);
        assert_eq!(all.at(world.size() - 1)?.get(1)?, ranks - 1);
    }
    drop(all);
    sums.read(|sums| assert_eq!(sums.of(0), Some(&[turns as f64 / 2.0; 100][..])))?;
    sums.free()?;
    Ok(counters.free()?)
}

/// Own parts, all parts, and parts of others in turn: a matrix is transposed again and again.
fn phases(world: &Communicator<'_>) -> Result<(), BoxError> {
    let (rank, ranks) = (world.rank(), world.size());
    let mut window = world.allocate_shared_window::<[u32; 2]>(ranks)?;
    for round in 0..20 {
        window.local(|row| {
            row.iter_mut()
                .enumerate()
                .for_each(|(column, cell)| *cell = [round, (rank * 1000 + column) as u32]);
        })?;
        let row = window.read(|all| {
            let whole = all.whole().expect("a shared window");
            (0..ranks).map(|there| whole[there * ranks + rank]).collect::<Vec<_>>()
        })?;
        window.fenced(|epoch| (0..ranks).try_for_each(|there| epoch.at(there)?.put(rank, &row[there])))?;
        window.local(|row| {
            for (column, cell) in row.iter().enumerate() {
                // What column `rank` of the matrix had there, put back by who read it.
                assert_eq!(*cell, [round, (rank * 1000 + column) as u32]);
            }
        })?;
    }
    Ok(window.free()?)
}

/// A token goes around by puts alone, while nobody receives anything.
fn token(world: &Communicator<'_>) -> Result<(), BoxError> {
    let window = world.allocate_window::<u32>(1)?;
    let next = (world.rank() + 1) % world.size();
    for round in 1..=20u32 {
        if world.rank() > 0 {
            window.lock_shared(world.rank())?.wait_until(0, |token| token == round)?;
        }
        window.lock_shared(next)?.put(0, &round)?;
        if world.rank() == 0 {
            window.lock_shared(0)?.wait_until(0, |token| token == round)?;
        }
    }
    Ok(window.free()?)
}

/// Ranks that disagree are told, all of them.
fn mistakes(world: &Communicator<'_>) -> Result<(), BoxError> {
    if world.size() == 1 {
        return Ok(());
    }
    let first = world.rank() == 0;
    let made = match first {
        true => world.allocate_window::<u32>(1).map(drop),
        false => world.allocate_window::<u64>(1).map(drop),
    };
    assert_eq!(made.unwrap_err().kind(), ErrorKind::Length);
    let mut window = world.allocate_window::<u32>(1)?;
    let result = if first { window.fence() } else { window.local(|_| unreachable!("nobody has agreed")) };
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Epoch);
    assert_eq!(window.lock_all()?.at(1)?.get(1).unwrap_err().kind(), ErrorKind::Range);
    let too_much = world.allocate_window::<u64>(usize::MAX / 16).err().ok_or("more than there is")?;
    assert_eq!(too_much.kind(), ErrorKind::Reach);
    Ok(window.free()?)
}

/// The rank that has allocated the memory drops its window; the others still use theirs.
fn gone_too_early(world: &Communicator<'_>) -> Result<(), BoxError> {
    let window = world.allocate_window::<u64>(1000)?;
    let window = if world.rank() == 0 { None } else { Some(window) };
    world.barrier()?;
    if let Some(window) = window {
        let all = window.lock_all()?;
        all.at(0)?.put(world.rank(), &7u64)?;
        assert_eq!(all.at(0)?.get(world.rank())?, 7);
    }
    Ok(())
}

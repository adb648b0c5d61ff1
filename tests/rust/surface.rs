//! A program in Rust whose ranks are processes, with what the types of its communicators and threads allow; `tests/examples.rs` launches it.

use std::process::ExitCode;
use std::sync::Barrier;

use corelace::{BoxError, Communicator, Datatype, Selection, op};

/// A gap behind `kind`, which is nobody's business.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default, Datatype)]
struct Cell {
    kind: u8,
    value: f64,
}

fn cell(number: usize) -> Cell {
    Cell { kind: number as u8, value: number as f64 }
}

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
    circle(&universe.world())?;
    two_groups(&universe.world())?;

    // Three threads take turns; rank by rank they begin the same things in the same order, which the barrier sees to.
    let (universe, turn) = (universe.serialized().ok().expect("no session"), Barrier::new(3));
    std::thread::scope(|threads| {
        let begin = |number: u64| {
            let (universe, turn) = (universe.clone(), &turn);
            threads.spawn(move || -> Result<(), BoxError> {
                for step in 0..30 {
                    if step % 3 == number {
                        let join = op::commutative(move |a: u64, b: u64| a + b);
                        let sum = universe.with(|world| world.allreduce(&number, join))?;
                        let ranks = universe.with(|world| Ok(world.size() as u64))?;
                        assert_eq!(sum, ranks * number);
                    }
                    turn.wait();
                }
                Ok(())
            })
        };
        let threads: Vec<_> = (0..3).map(begin).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    let universe = universe.into_universe().ok().ok_or("the threads are gone")?;
    if universe.world().rank() == 0 {
        println!("{} processes agree", universe.world().size());
    }
    Ok(universe.finalize()?)
}

/// Edges go around, in place, again and again; then the same in partitions.
fn circle(world: &Communicator<'_>) -> corelace::Result<()> {
    let ring = world.cartesian(&[world.size()], &[true])?.expect("all ranks fit");
    let (left, right) = ring.shift(0, 1)?;
    let column = |number| Selection::strided(number, 2000, 1, 4);
    let mut grid = vec![cell(ring.rank()); 8000];
    ring.scope(|s| {
        let mut halo = s.exchange(&mut grid);
        halo.recv(&column(0), left, 0)?;
        halo.recv(&column(3), right, 1)?;
        halo.send(&column(1), left, 1)?;
        halo.send(&column(2), right, 0)?;
        for _ in 0..5 {
            halo.start()?.wait()?;
        }
        let fits = |row: &[Cell]| Some(row[0]) == left.map(cell) && Some(row[3]) == right.map(cell);
        assert!(halo.items()?.chunks(4).all(fits));
        Ok(())
    })?;
    let around = ring.neighbor_allgather(&cell(ring.rank()))?;
    assert_eq!(around, [left, right].map(|rank| rank.map_or(Cell::default(), cell)));

    let (mut out, mut into) = (vec![0usize; 60_000], vec![0usize; 60_000]);
    ring.scope(|s| {
        let mut receive = s.partitioned_recv(&mut into, 3, left, 5)?;
        let mut send = s.partitioned_send(&mut out, 4, right, 5)?;
        for round in 0..3 {
            let (coming, mut parts) = (receive.start()?, send.start()?);
            for index in [2, 0, 3, 1] {
                parts.partition(index)?.fill(100 * ring.rank() + 10 * round + index);
                parts.ready(index)?;
            }
            parts.wait()?;
            coming.wait()?;
            let expected = 100 * left.unwrap_or(0) + 10 * round;
            assert!(
                receive.items()?.chunks(15_000).zip(expected..).all(|(part, value)| part == [value; 15_000])
            );
        }
        Ok(())
    })
}

/// The first rank on one side, the others on the other.
fn two_groups(world: &Communicator<'_>) -> corelace::Result<()> {
    let alone = world.rank() == 0;
    let side = world.split(Some(u32::from(alone)), 0)?.expect("a colour");
    if world.size() == 1 {
        return Ok(());
    }
    let between = side.intercommunicator(0, world, usize::from(alone), 9)?;
    let theirs = between.allgather(&cell(world.rank()))?;
    let expected: Vec<Cell> = if alone { (1..world.size()).map(cell).collect() } else { vec![cell(0)] };
    assert_eq!(theirs, expected);
    assert_eq!(between.merge(alone)?.rank(), (world.rank() + world.size() - 1) % world.size());
    Ok(())
}

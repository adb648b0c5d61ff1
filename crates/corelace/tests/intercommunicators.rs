//! Two groups that talk to each other: what one puts in, the other gets.

use corelace::{Any, Blocks, Communicator, Comparison, Datatype, ErrorKind, Intercommunicator, Root, op};

const RANKS: [usize; 3] = [2, 4, 7];

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default, Datatype)]
struct Cell {
    kind: u8,
    value: f64,
}

fn cell(number: usize) -> Cell {
    Cell { kind: number as u8, value: number as f64 / 2.0 }
}

/// The first third of the ranks (one at least) on one side, the others on the other; and how many are on this rank's side and on the other, with the world's
/// rank of the first one there.
struct Sides<'job> {
    between: Intercommunicator<'job>,
    low: bool,
    first_there: usize,
}

fn connect<'job>(world: &Communicator<'job>) -> Sides<'job> {
    let third = (world.size() / 3).max(1);
    let low = world.rank() < third;
    let side = world.split(Some(u32::from(low)), 0).unwrap().unwrap();
    // The leader of the higher side is its last rank.
    let (leader, remote) = if low { (0, world.size() - 1) } else { (side.size() - 1, 0) };
    let between = side.intercommunicator(leader, world, remote, 3).unwrap();
    Sides { between, low, first_there: if low { third } else { 0 } }
}

#[test]
fn messages_go_to_the_other_group() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            let Sides { between, first_there, .. } = connect(&world);
            assert_eq!(between.size() + between.remote_size(), ranks);
            assert_eq!(between.remote_group().translate(0, &world.group()), Some(first_there));
            assert_eq!(between.group().size(), between.size());
            let there = between.remote_size();
            let out = cell(world.rank());
            let mut into = vec![Cell::default(); there];
            between
                .scope(|s| {
                    for (from, cell) in into.iter_mut().enumerate() {
                        s.irecv(cell, from, 0)?;
                    }
                    for to in 0..there {
                        s.isend(&out, to, 0)?;
                    }
                    s.ibarrier()?.wait()
                })
                .unwrap();
            let expected: Vec<Cell> = (0..there).map(|from| cell(first_there + from)).collect();
            assert_eq!(into, expected);
            assert_eq!(between.send(&1u8, there, 0).unwrap_err().kind(), ErrorKind::Rank);
            // Messages of a copy are kept apart.
            let copy = between.duplicate().unwrap();
            assert_eq!(copy.compare(&between), Comparison::Congruent);
            assert_eq!(copy.compare(&world), Comparison::Unequal);
            if between.rank() == 0 {
                copy.send(&1u8, 0, 0).unwrap();
                assert_eq!(between.try_probe(Any, Any).unwrap(), None);
                assert_eq!(copy.recv::<u8>(0, 0).unwrap().0, 1);
            }
        })
        .unwrap();
    }
}

#[test]
fn collectives_without_a_root_give_what_the_other_group_has() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            let Sides { between, first_there, .. } = connect(&world);
            let (here, there) = (world.rank(), first_there..first_there + between.remote_size());
            between.barrier().unwrap();
            for each in [1, 1000] {
                let cells = |rank: usize| (0..each).map(move |number| cell(10 * rank + number % 7));
                let mine: Vec<Cell> = cells(here).collect();
                let theirs: Vec<Cell> = there.clone().flat_map(cells).collect();
                assert_eq!(between.allgather(&mine[..]).unwrap(), theirs);
                let some = between.allgatherv(&mine[..each.min(here)]).unwrap();
                for (block, rank) in some.iter().zip(there.clone()) {
                    assert_eq!(block, cells(rank).take(rank).collect::<Vec<_>>());
                }
                let out: Vec<Cell> = (0..there.len()).flat_map(|_| mine.clone()).collect();
                assert_eq!(between.alltoall(&out).unwrap(), theirs);
                let blocks = Blocks::from_iter(there.clone().map(|to| mine[..each.min(to)].to_vec()));
                let dealt = between.alltoallv(&blocks).unwrap();
                for (block, rank) in dealt.iter().zip(there.clone()) {
                    assert_eq!(block, cells(rank).take(here).collect::<Vec<_>>());
                }
                let sums = between.allreduce(&vec![here as u64; each][..], op::sum()).unwrap();
                assert_eq!(sums, vec![there.clone().sum::<usize>() as u64; each]);
                let first = op::ordered(|a: Cell, _: Cell| a);
                assert_eq!(between.allreduce(&cell(here), first).unwrap(), cell(first_there));

                let mut result = vec![0u64; each];
                let (ones, mut gathered) = (vec![1u64; each], vec![Cell::default(); theirs.len()]);
                between
                    .scope(|s| {
                        let counting = s.iallreduce(&ones[..], &mut result[..], op::sum())?;
                        let gathering = s.iallgather(&mine, &mut gathered)?;
                        assert_eq!(gathering.wait()?, theirs);
                        assert!(counting.wait()?.iter().all(|count| *count == there.len() as u64));
                        Ok(())
                    })
                    .unwrap();
                let (mut own, mut all) = (mine.clone(), vec![Cell::default(); theirs.len()]);
                between
                    .scope(|s| {
                        let mut gathering = s.allgather_init(&mut own, &mut all)?;
                        for _ in 0..3 {
                            gathering.incoming()?.fill(Cell::default());
                            gathering.start()?.wait()?;
                            assert_eq!(gathering.incoming()?, theirs);
                        }
                        Ok(())
                    })
                    .unwrap();
            }
            assert_eq!(
                between.alltoallv(&Blocks::<u8>::from_iter(vec![vec![]; 9])).unwrap_err().kind(),
                ErrorKind::Length
            );
        })
        .unwrap();
    }
}

#[test]
fn collectives_with_a_root_go_from_it_or_to_it() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            let Sides { between, low, first_there } = connect(&world);
            let (here, there) = (world.rank(), first_there..first_there + between.remote_size());
            // The last rank of each side in turn.
            for root_is_low in [true, false] {
                let last = if low == root_is_low { between.size() } else { between.remote_size() } - 1;
                let root = match (low == root_is_low, between.rank() == last) {
                    (true, true) => Root::Here,
                    (true, false) => Root::Beside,
                    (false, _) => Root::Remote(last),
                };
                let on_side = |side: usize| if low == root_is_low { here } else { side };
                let root_world =
                    if low == root_is_low { here - between.rank() + last } else { first_there + last };
                let receives = matches!(root, Root::Remote(_));

                let mut told = [cell(here); 5];
                between.broadcast(&mut told[..], root).unwrap();
                assert_eq!(told, [if receives { cell(root_world) } else { cell(here) }; 5]);
                let mut told = here;
                between.scope(|s| s.ibroadcast(&mut told, root)?.wait().map(drop)).unwrap();
                assert_eq!(told, if receives { root_world } else { on_side(root_world) });

                let all: Vec<Cell> = there.clone().flat_map(|rank| [cell(rank); 2]).collect();
                let gathered = between.gather(&[cell(here); 2][..], root).unwrap();
                assert_eq!(gathered, (root == Root::Here).then_some(all));
                let varying = between.gatherv(&vec![cell(here); here], root).unwrap();
                assert_eq!(varying.is_some(), root == Root::Here);
                for (block, rank) in varying.iter().flat_map(|blocks| blocks.iter()).zip(there.clone()) {
                    assert_eq!(block, vec![cell(rank); rank]);
                }
                let sum = between.reduce(&here, op::sum(), root).unwrap();
                assert_eq!(sum, (root == Root::Here).then(|| there.clone().sum()));

                let out: Vec<Cell> = there.clone().map(|to| cell(100 + to)).collect();
                let mut share = Cell::default();
                between.scatter_into(&out, &mut share, root).unwrap();
                assert_eq!(share, if receives { cell(100 + here) } else { Cell::default() });
                let blocks = Blocks::from_iter(there.clone().map(|to| vec![cell(to); to]));
                let dealt = between.scatterv((root == Root::Here).then_some(&blocks), root).unwrap();
                assert_eq!(dealt, if receives { vec![cell(here); here] } else { vec![] });
                // A root that has no blocks says so to all who wait for them.
                let missing = between.scatterv::<u8>(None, root);
                assert_eq!(
                    missing.err().map(|error| error.kind()),
                    (root != Root::Beside).then_some(ErrorKind::Length)
                );
            }
            let beyond = Root::Remote(between.remote_size());
            assert_eq!(between.broadcast(&mut 1u8, beyond).unwrap_err().kind(), ErrorKind::Root);
        })
        .unwrap();
    }
}

#[test]
fn two_groups_merge_and_split() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            let Sides { between, low, .. } = connect(&world);
            let together = between.merge(!low).unwrap();
            assert_eq!((together.size(), together.rank()), (ranks, world.rank()));
            assert_eq!(together.allreduce(&1usize, op::sum()).unwrap(), ranks);
            let turned = between.merge(low).unwrap();
            let high_ranks = if low { between.remote_size() } else { between.size() };
            assert_eq!(turned.rank(), (world.rank() + high_ranks) % ranks);
            // The first ranks of both sides find each other; a colour of one side makes nothing.
            let color = if between.rank() == 0 { Some(0) } else { Some(1 + u32::from(low)) };
            let firsts = between.split(color, 0).unwrap();
            assert_eq!(firsts.is_some(), between.rank() == 0);
            if let Some(firsts) = firsts {
                assert_eq!((firsts.size(), firsts.remote_size()), (1, 1));
                assert_eq!(firsts.allgather(&u8::from(low)).unwrap(), [u8::from(!low)]);
            }
        })
        .unwrap();
    }
}

#[test]
fn groups_that_meet_cannot_be_connected() {
    corelace::run(3, |world| {
        let error = world.intercommunicator(0, &world, 0, 0).unwrap_err();
        assert!(error.to_string().contains("disjoint"), "{error}");
        assert_eq!(world.intercommunicator(3, &world, 0, 0).unwrap_err().kind(), ErrorKind::Root);
    })
    .unwrap();
}

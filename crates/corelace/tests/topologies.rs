//! Grids and graphs: who is whose neighbour, and what goes between them, in all three forms.

use corelace::{
    Blocks, CartesianCommunicator, Communicator, Datatype, Edge, ErrorKind, Neighbors, Selection,
    dims_create, op,
};

const RANKS: [usize; 4] = [1, 2, 4, 7];

/// A type with gaps, so that blocks are not bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default, Datatype)]
struct Mark {
    from: u32,
    place: u8,
    number: u16,
}

/// What a rank sends to its neighbour at a place.
fn mark(from: usize, place: usize, number: usize) -> Mark {
    Mark { from: from as u32, place: place as u8, number: number as u16 }
}

/// Every way to make a grid of all ranks, some with circles.
fn grids<'job>(world: &Communicator<'job>) -> Vec<CartesianCommunicator<'job>> {
    let size = world.size();
    let shapes = [(vec![size], vec![true]), (vec![size], vec![false]), (vec![1, size], vec![true, false])];
    let balanced = dims_create(size, &[0, 0]).unwrap();
    let shapes = shapes.into_iter().chain([(balanced, vec![true, false])]);
    shapes.map(|(dims, periods)| world.cartesian(&dims, &periods).unwrap().unwrap()).collect()
}

#[test]
fn places_and_ranks_of_a_grid_belong_together() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            for grid in grids(&world) {
                assert_eq!(grid.dims().iter().product::<usize>(), ranks);
                for rank in 0..ranks {
                    let place: Vec<i64> =
                        grid.coordinates_of(rank).unwrap().into_iter().map(|at| at as i64).collect();
                    assert_eq!(grid.rank_at(&place).unwrap(), rank);
                }
                for (dimension, (dim, periodic)) in grid.dims().into_iter().zip(grid.periods()).enumerate() {
                    let mut beyond: Vec<i64> = grid.coordinates().into_iter().map(|at| at as i64).collect();
                    let here = beyond[dimension];
                    beyond[dimension] = here - 1;
                    let before = grid.rank_at(&beyond);
                    beyond[dimension] = here + 1;
                    let behind = grid.rank_at(&beyond);
                    assert_eq!(before.is_err(), !periodic && here == 0);
                    assert_eq!(grid.shift(dimension, 1).unwrap(), (before.ok(), behind.ok()));
                    let once_around = grid.shift(dimension, dim as i64).unwrap();
                    assert_eq!(once_around.0, periodic.then_some(grid.rank()));
                }
                let copy = grid.duplicate().unwrap();
                assert_eq!(copy.coordinates(), grid.coordinates());
                // A grid is a communicator like any other.
                assert_eq!(grid.allreduce(&1usize, op::sum()).unwrap(), ranks);
                assert_eq!(grid.plain().size(), ranks);
            }
        })
        .unwrap();
    }
}

#[test]
fn a_grid_of_fewer_ranks_leaves_the_others_out_and_one_of_more_is_refused() {
    corelace::run(7, |world| {
        let grid = world.cartesian(&[2, 3], &[false, false]).unwrap();
        assert_eq!(grid.is_some(), world.rank() < 6);
        if let Some(grid) = &grid {
            let column = grid.sub(&[true, false]).unwrap();
            assert_eq!((column.size(), column.rank()), (2, grid.coordinates()[0]));
            assert!(grid.sub(&[true]).is_err());
            assert!(grid.shift(2, 1).is_err());
            assert!(grid.rank_at(&[0]).is_err());
            assert!(grid.coordinates_of(6).is_err());
        }
        for (dims, periods) in [
            (vec![2, 4], vec![true, true]),
            (vec![0], vec![true]),
            (vec![7], vec![]),
            (vec![usize::MAX, 2], vec![true, true]),
        ] {
            assert!(world.cartesian(&dims, &periods).is_err(), "{dims:?}");
        }
    })
    .unwrap();
}

#[test]
fn dimensions_are_as_equal_as_they_can_be() {
    assert_eq!(dims_create(24, &[0, 0, 0]).unwrap(), [4, 3, 2]);
    assert_eq!(dims_create(7, &[0, 0]).unwrap(), [7, 1]);
    assert_eq!(dims_create(6, &[0, 3]).unwrap(), [2, 3]);
    assert_eq!(dims_create(6, &[2, 3]).unwrap(), [2, 3]);
    for (ranks, dims) in
        [(6, vec![2, 2]), (6, vec![4, 0]), (0, vec![0]), (2, vec![]), (5, vec![usize::MAX, 3, 0])]
    {
        assert!(dims_create(ranks, &dims).is_err(), "{ranks} {dims:?}");
    }
}

/// What comes from each place, for a topology whose neighbours are these: (who, which of its places this rank is).
type Sources = Vec<Option<(usize, usize)>>;

/// The sources of a grid: what goes down a dimension comes from above.
fn around(grid: &CartesianCommunicator<'_>) -> Sources {
    let dimensions = grid.dims().len();
    let pair = |dimension: usize| {
        let (before, behind) = grid.shift(dimension, 1).unwrap();
        [before.map(|rank| (rank, 2 * dimension + 1)), behind.map(|rank| (rank, 2 * dimension))]
    };
    (0..dimensions).flat_map(pair).collect()
}

/// Sends marks between neighbours in every way and compares with what has to come.
fn exchange_in_every_way<K: Neighbors>(comm: &Communicator<'_, K>, sources: &Sources) {
    let (rank, outdegree) = (comm.rank(), comm.outdegree());
    assert_eq!(comm.indegree(), sources.len());
    for each in [1, 3, 2000] {
        let own: Vec<Mark> = (0..each).map(|number| mark(rank, 0, number)).collect();
        let from_each = |what: &dyn Fn(usize, usize) -> Vec<Mark>| -> Vec<Mark> {
            let nothing = || vec![Mark::default(); each];
            sources
                .iter()
                .flat_map(|from| from.map_or_else(nothing, |(rank, place)| what(rank, place)))
                .collect()
        };
        let gathered = from_each(&|from, _| (0..each).map(|number| mark(from, 0, number)).collect());
        let out: Vec<Mark> =
            (0..outdegree).flat_map(|place| (0..each).map(move |number| mark(rank, place, number))).collect();
        let dealt = from_each(&|from, place| (0..each).map(|number| mark(from, place, number)).collect());

        assert_eq!(comm.neighbor_allgather(&own[..]).unwrap(), gathered);
        assert_eq!(comm.neighbor_alltoall(&out).unwrap(), dealt);
        // Blocks of lengths that differ by rank and place; nothing comes from nobody.
        let length = |rank: usize, place: usize| (rank + 2 * place) % 4 * each / 2;
        let some = &own[..length(rank, 0).min(each)];
        let blocks = comm.neighbor_allgatherv(some).unwrap();
        for (block, from) in blocks.iter().zip(sources) {
            let expected = from.map_or(0, |(from, _)| length(from, 0).min(each));
            assert_eq!(block.len(), expected);
            assert!(block.iter().all(|mark| Some(mark.from as usize) == from.map(|from| from.0)));
        }
        let marks = |rank: usize, place: usize| {
            (0..length(rank, place)).map(|number| mark(rank, place, number)).collect::<Vec<_>>()
        };
        let blocks = Blocks::from_iter((0..outdegree).map(|place| marks(rank, place)));
        let expected: Vec<Vec<Mark>> =
            sources.iter().map(|from| from.map_or(vec![], |(from, place)| marks(from, place))).collect();
        let came = comm.neighbor_alltoallv(&blocks).unwrap();
        assert!(came.iter().eq(expected.iter().map(|block| &block[..])));

        // The same without waiting, and persistent.
        let counts: Vec<usize> = expected.iter().map(Vec::len).collect();
        let (mut gathering, mut dealing) =
            (vec![Mark::default(); gathered.len()], vec![Mark::default(); dealt.len()]);
        let mut varying = vec![Mark::default(); counts.iter().sum()];
        comm.scope(|s| {
            let first = s.ineighbor_allgather(&own, &mut gathering)?;
            let second = s.ineighbor_alltoall(&out, &mut dealing)?;
            let third = s.ineighbor_alltoallv(&blocks, &mut varying, &counts)?;
            assert_eq!(third.wait()?, expected.concat());
            assert_eq!(second.wait()?, dealt);
            assert_eq!(first.wait()?, gathered);
            Ok(())
        })
        .unwrap();
        let (mut own, mut out, mut flat) = (own.clone(), out.clone(), blocks.flat().to_vec());
        let (mut gathering, mut dealing) =
            (vec![Mark::default(); gathered.len()], vec![Mark::default(); dealt.len()]);
        let mut varying = vec![Mark::default(); counts.iter().sum()];
        comm.scope(|s| {
            let mut first = s.neighbor_allgather_init(&mut own, &mut gathering)?;
            let mut second = s.neighbor_alltoall_init(&mut out, &mut dealing)?;
            let mut third = s.neighbor_alltoallv_init(&mut flat, blocks.counts(), &mut varying, &counts)?;
            for _ in 0..3 {
                first.incoming()?.fill(Mark::default());
                third.incoming()?.fill(Mark::default());
                corelace::wait_all([first.start()?, second.start()?, third.start()?])?;
                assert_eq!(first.incoming()?, gathered);
                assert_eq!(second.incoming()?, dealt);
                assert_eq!(third.incoming()?, expected.concat());
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn neighbours_of_grids_exchange_in_every_way() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            for grid in grids(&world) {
                exchange_in_every_way(&grid, &around(&grid));
            }
        })
        .unwrap();
    }
}

#[test]
fn neighbours_of_graphs_exchange_in_every_way() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            // A star with rank 0 in the middle, which is also its own neighbour.
            let star: Vec<Vec<usize>> =
                (0..ranks).map(|rank| if rank == 0 { (0..ranks).collect() } else { vec![0] }).collect();
            let graph = world.graph(&star).unwrap().unwrap();
            assert_eq!(graph.neighbors_of(0).unwrap(), star[0]);
            let here = world.rank();
            let sources: Sources =
                star[here].iter().map(|from| Some((*from, if *from == 0 { here } else { 0 }))).collect();
            exchange_in_every_way(&graph, &sources);
            assert_eq!(graph.neighbors_of(ranks).unwrap_err().kind(), ErrorKind::Rank);
            assert_eq!(world.graph(&[vec![0, ranks]]).unwrap_err().kind(), ErrorKind::Rank);
        })
        .unwrap();
    }
}

#[test]
fn neighbours_of_distributed_graphs_exchange_in_every_way() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            let here = world.rank();
            // Everybody sends to all above, so that the first receives nothing and the last sends nothing.
            let (below, above): (Vec<usize>, Vec<usize>) = ((0..here).collect(), (here + 1..ranks).collect());
            let sources: Sources = below.iter().map(|from| Some((*from, here - from - 1))).collect();
            let adjacent = world.distributed_graph_adjacent(&below, &above).unwrap();
            assert_eq!((adjacent.sources(), adjacent.destinations()), (below.clone(), above.clone()));
            assert_eq!(adjacent.weights(), None);
            exchange_in_every_way(&adjacent, &sources);

            // The same, known to its last rank alone.
            let all = (0..ranks)
                .flat_map(|source| (source + 1..ranks).map(move |destination| (source, destination)));
            let weigh = |(source, destination)| Edge {
                source,
                destination,
                weight: (10 * source + destination) as u32,
            };
            let edges: Vec<Edge> = if here == ranks - 1 { all.map(weigh).collect() } else { vec![] };
            let general = world.distributed_graph(&edges).unwrap();
            assert_eq!((general.sources(), general.destinations()), (below.clone(), above.clone()));
            let weights = |from: &[usize], weigh: &dyn Fn(usize) -> usize| -> Vec<u32> {
                from.iter().map(|other| weigh(*other) as u32).collect()
            };
            let expected =
                (weights(&below, &|other| 10 * other + here), weights(&above, &|other| 10 * here + other));
            assert_eq!(general.weights(), Some(expected));
            exchange_in_every_way(&general, &sources);
            let wrong = Edge { source: ranks, destination: 0, weight: 0 };
            assert_eq!(world.distributed_graph(&[wrong]).unwrap_err().kind(), ErrorKind::Rank);
        })
        .unwrap();
    }
}

#[test]
fn blocks_that_do_not_fit_the_neighbours_are_errors() {
    corelace::run(4, |world| {
        let grid = world.cartesian(&[4], &[true]).unwrap().unwrap();
        let kind = |result: corelace::Result<()>| result.unwrap_err().kind();
        assert_eq!(kind(grid.neighbor_alltoall(&[1u8; 3]).map(drop)), ErrorKind::Length);
        assert_eq!(
            kind(grid.neighbor_alltoallv(&Blocks::from_iter([vec![1u8]])).map(drop)),
            ErrorKind::Length
        );
        assert_eq!(kind(grid.neighbor_alltoallw::<u8>(&[], &mut [])), ErrorKind::Length);
        let (data, mut result) = ([1u8; 2], [0u8; 5]);
        let wrong = grid.scope(|s| s.ineighbor_allgather(&data, &mut result).map(drop));
        assert_eq!(kind(wrong), ErrorKind::Length);
        let mut result = [0u8; 5];
        let wrong = grid.scope(|s| s.ineighbor_allgatherv(&data, &mut result, &[2, 2]).map(drop));
        assert_eq!(kind(wrong), ErrorKind::Length);
        let mut result = [0u8; 5];
        let wrong = grid.scope(|s| s.ineighbor_allgatherv(&data, &mut result, &[usize::MAX, 6]).map(drop));
        assert_eq!(kind(wrong), ErrorKind::Length);
        grid.barrier().unwrap();
    })
    .unwrap();
}

#[test]
fn views_go_to_neighbours_straight_from_where_they_lie() {
    for (ranks, waits) in RANKS.into_iter().flat_map(|ranks| [(ranks, true), (ranks, false)]) {
        corelace::run(ranks, |world| {
            let ring = world.cartesian(&[ranks], &[true]).unwrap().unwrap();
            let here: Vec<Mark> = (0..12).map(|number| mark(ring.rank(), 0, number)).collect();
            let mut there = vec![Mark::default(); 12];
            let column = |number| Selection::strided(number, 3, 1, 4);
            let mut parts = corelace::Parts::of(&mut there);
            let mut into = [parts.take(&column(3)).unwrap(), parts.take(&column(0)).unwrap()];
            let out = [column(0).of(&here).unwrap(), column(3).of(&here).unwrap()];
            if waits {
                ring.neighbor_alltoallw(&out, &mut into).unwrap();
            } else {
                ring.scope(|s| s.ineighbor_alltoallw(&out, &mut into)?.wait()).unwrap();
            }
            let (left, right) = ((ring.rank() + ranks - 1) % ranks, (ring.rank() + 1) % ranks);
            for (index, found) in there.iter().enumerate() {
                let expected = match index % 4 {
                    // From the left comes its last column, from the right its first.
                    3 => mark(left, 0, index),
                    0 => mark(right, 0, index),
                    _ => Mark::default(),
                };
                assert_eq!(*found, expected, "element {index}");
            }
        })
        .unwrap();
    }
}

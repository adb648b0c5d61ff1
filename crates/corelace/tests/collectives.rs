//! Collectives against what a loop over the ranks would give, on 1, 2, 5 and 16 ranks.

use corelace::{Blocks, Communicator, Comparison, Datatype, ErrorKind, op};

const SIZES: [usize; 4] = [1, 2, 5, 16];

fn on_all_sizes(body: impl Fn(&Communicator<'_>) + Sync) {
    for ranks in SIZES {
        corelace::run(ranks, |world| body(&world)).unwrap();
    }
}

#[test]
fn broadcast_copies_values_and_slices_from_any_root() {
    on_all_sizes(|world| {
        for root in 0..world.size() {
            let mut value = if world.rank() == root { root as f64 } else { -1.0 };
            world.broadcast(&mut value, root).unwrap();
            assert_eq!(value, root as f64);
            let mut slice = if world.rank() == root { vec![root; 20_000] } else { vec![0; 20_000] };
            world.broadcast(&mut slice[..], root).unwrap();
            assert_eq!(slice, vec![root; 20_000]);
        }
    });
}

#[test]
fn gather_and_scatter_are_each_others_inverse() {
    on_all_sizes(|world| {
        let root = world.size() - 1;
        let mine = [world.rank() as u16, 7];
        let gathered = world.gather(&mine[..], root).unwrap();
        assert_eq!(gathered.is_some(), world.rank() == root);
        let back = world.scatter(gathered.as_deref().unwrap_or(&[]), root).unwrap();
        assert_eq!(back, mine);
        let mut one = 0u16;
        let all: Vec<u16> = (0..world.size() as u16).collect();
        world.scatter_into(&all, &mut one, root).unwrap();
        assert_eq!(one, world.rank() as u16);
    });
}

#[test]
fn blocks_of_any_length_are_gathered_and_scattered() {
    on_all_sizes(|world| {
        let mine: Vec<u32> = vec![world.rank() as u32; world.rank() % 3];
        let expected = Blocks::from_iter((0..world.size()).map(|rank| vec![rank as u32; rank % 3]));
        let gathered = world.gatherv(&mine, 0).unwrap();
        assert_eq!(gathered, (world.rank() == 0).then(|| expected.clone()));
        assert_eq!(world.allgatherv(&mine).unwrap(), expected);
        assert_eq!(world.scatterv(gathered.as_ref(), 0).unwrap(), mine);
    });
}

#[test]
fn all_to_all_is_a_transposition() {
    on_all_sizes(|world| {
        let (rank, size) = (world.rank(), world.size());
        let out: Vec<[usize; 2]> = (0..size).map(|to| [rank, to]).collect();
        let into = world.alltoall(&out).unwrap();
        assert_eq!(into, (0..size).map(|from| [from, rank]).collect::<Vec<_>>());

        let blocks = Blocks::from_iter((0..size).map(|to| vec![rank as u8; to]));
        let received = world.alltoallv(&blocks).unwrap();
        assert_eq!(received, Blocks::from_iter((0..size).map(|from| vec![from as u8; rank])));
    });
}

#[test]
fn predefined_reductions_give_what_a_loop_gives() {
    on_all_sizes(|world| {
        let values: Vec<i64> = (0..world.size() as i64).map(|rank| rank * 3 - 4).collect();
        let mine = values[world.rank()];
        let wrap = |f: fn(i64, i64) -> i64| values.iter().copied().reduce(f).unwrap();
        assert_eq!(world.allreduce(&mine, op::sum()).unwrap(), values.iter().sum::<i64>());
        assert_eq!(world.allreduce(&mine, op::product()).unwrap(), wrap(i64::wrapping_mul));
        assert_eq!(world.allreduce(&mine, op::max()).unwrap(), wrap(i64::max));
        assert_eq!(world.allreduce(&mine, op::min()).unwrap(), wrap(i64::min));
        assert_eq!(world.allreduce(&mine, op::bitwise_and()).unwrap(), wrap(|a, b| a & b));
        assert_eq!(world.allreduce(&mine, op::bitwise_or()).unwrap(), wrap(|a, b| a | b));
        assert_eq!(world.allreduce(&mine, op::bitwise_xor()).unwrap(), wrap(|a, b| a ^ b));
        let yes = u8::from(world.rank() == 0);
        let only = u8::from(world.size() == 1);
        assert_eq!(world.allreduce(&yes, op::logical_and()).unwrap(), only);
        assert_eq!(world.allreduce(&yes, op::logical_or()).unwrap(), 1);
        assert_eq!(world.allreduce(&yes, op::logical_xor()).unwrap(), 1);
    });
}

#[test]
fn every_number_type_can_be_summed() {
    macro_rules! check {
        ($world:ident: $($type:ty)*) => {{
            $(
                let sums = $world.allreduce(&[1 as $type, 2 as $type][..], op::sum()).unwrap();
                assert_eq!(sums, [5 as $type, 10 as $type]);
            )*
        }};
    }
    corelace::run(5, |world| check!(world: i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64)).unwrap();
}

#[test]
fn reductions_can_go_to_one_rank_into_a_buffer_or_in_place() {
    on_all_sizes(|world| {
        let (size, total) = (world.size(), (world.size() * (world.size() - 1) / 2) as f64);
        let mine = vec![world.rank() as f64; 5000];
        for root in [0, size - 1] {
            let reduced = world.reduce(&mine[..], op::sum(), root).unwrap();
            assert_eq!(reduced, (world.rank() == root).then(|| vec![total; 5000]));
        }
        let mut result = vec![0.0; 5000];
        world.allreduce_into(&mine[..], &mut result[..], op::sum()).unwrap();
        assert_eq!(result, vec![total; 5000]);
        let mut data = mine;
        world.allreduce_in_place(&mut data[..], op::sum()).unwrap();
        assert_eq!(data, vec![total; 5000]);
    });
}

/// An affine map x -> a x + b over 32-bit integers: composition is associative, not commutative.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
struct Affine {
    a: u32,
    b: u32,
}

impl Affine {
    fn then(self, next: Affine) -> Affine {
        Affine { a: self.a.wrapping_mul(next.a), b: next.a.wrapping_mul(self.b).wrapping_add(next.b) }
    }

    fn of(rank: usize) -> Affine {
        Affine { a: rank as u32 * 2 + 1, b: rank as u32 + 3 }
    }
}

#[test]
fn ordered_closures_see_lower_ranks_first() {
    on_all_sizes(|world| {
        let mine = Affine::of(world.rank());
        let upto = |end: usize| (0..end).map(Affine::of).reduce(Affine::then);
        let op = op::ordered(Affine::then);
        assert_eq!(world.allreduce(&mine, op.clone()).unwrap(), upto(world.size()).unwrap());
        assert_eq!(
            world.reduce(&mine, op.clone(), 0).unwrap(),
            upto(world.size()).filter(|_| world.rank() == 0)
        );
        assert_eq!(world.scan(&mine, op.clone()).unwrap(), upto(world.rank() + 1).unwrap());
        assert_eq!(world.exscan(&mine, op).unwrap(), upto(world.rank()));
        let many = vec![mine; 3000];
        assert_eq!(
            world.allreduce(&many[..], op::ordered(Affine::then)).unwrap(),
            vec![upto(world.size()).unwrap(); 3000]
        );
    });
}

#[test]
fn a_panic_in_a_closure_reaches_its_rank_after_the_collective() {
    let error = corelace::run(4, |world| {
        let bad = world.rank();
        let op = op::commutative(move |a: u32, b: u32| if bad == 2 { panic!("no sum today") } else { a + b });
        world.allreduce(&1u32, op).unwrap();
    })
    .unwrap_err();
    // Whether the closure runs at rank 2 is the algorithm's choice; if all ranks combine, it does.
    assert!(error.to_string().starts_with("rank 2 panicked: no sum today"), "{error}");
}

#[test]
fn wrong_lengths_are_errors() {
    corelace::run(2, |world| {
        assert_eq!(world.alltoall(&[1, 2, 3]).unwrap_err().kind(), ErrorKind::Length);
        assert_eq!(world.alltoallv(&Blocks::from_iter([[1u8]])).unwrap_err().kind(), ErrorKind::Length);
        assert_eq!(world.scatter(&[1, 2, 3], 0).unwrap_err().kind(), ErrorKind::Length);
        assert_eq!(world.scatterv::<u8>(None, 0).unwrap_err().kind(), ErrorKind::Length);
        let error = world.allreduce_into(&[1, 2][..], &mut [0; 3][..], op::sum()).unwrap_err();
        assert_eq!(error.to_string(), "2 elements are combined into 3, expected equal lengths");
        // Nobody was left behind in a collective.
        world.barrier().unwrap();
    })
    .unwrap();
}

#[test]
fn messages_of_duplicates_do_not_meet() {
    on_all_sizes(|world| {
        let copy = world.duplicate().unwrap();
        assert_eq!((copy.rank(), copy.size()), (world.rank(), world.size()));
        assert_eq!(copy.compare(world), Comparison::Congruent);
        let next = (world.rank() + 1) % world.size();
        let previous = (world.rank() + world.size() - 1) % world.size();
        world.isend_owned(vec![1u8], next, 0).unwrap().wait().unwrap();
        copy.isend_owned(vec![2u8], next, 0).unwrap().wait().unwrap();
        assert_eq!(copy.recv::<u8>(previous, 0).unwrap().0, 2);
        assert_eq!(world.recv::<u8>(previous, 0).unwrap().0, 1);
    });
}

#[test]
fn splitting_orders_by_key_and_leaves_out_those_without_a_colour() {
    on_all_sizes(|world| {
        let color = (world.rank() > 0).then_some(world.rank() as u32 % 2);
        let part = world.split(color, -(world.rank() as i32)).unwrap();
        assert_eq!(part.is_some(), world.rank() > 0);
        if let Some(part) = part {
            let members = part.allgather(&world.rank()).unwrap();
            let expected: Vec<usize> =
                (1..world.size()).rev().filter(|rank| rank % 2 == world.rank() % 2).collect();
            assert_eq!(members, expected);
            let inner = part.split(Some(0), 0).unwrap().unwrap();
            assert_eq!(inner.allreduce(&1usize, op::sum()).unwrap(), expected.len());
        }
    });
}

#[test]
fn groups_become_communicators() {
    corelace::run(5, |world| {
        let odd = world.group().include(&[3, 1]).unwrap();
        let rest = world.group().difference(&odd);
        assert_eq!(rest, world.group().exclude(&[1, 3]).unwrap());
        let mine = if world.rank() % 2 == 1 { &odd } else { &rest };
        let part = world.create(mine).unwrap().unwrap();
        assert_eq!(part.size(), mine.size());
        assert_eq!(world.group().translate(world.rank(), mine), Some(part.rank()));
        assert!(world.group().include(&[9]).is_err());
    })
    .unwrap();
}

#[test]
fn time_goes_on() {
    corelace::run(2, |world| {
        let start = world.wtime();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let passed = world.wtime() - start;
        assert!((0.019..10.0).contains(&passed), "{passed} s");
    })
    .unwrap();
}

//! Structs with gaps travel field by field, wherever a number does; selections of a slice travel as if they lay side by side.

use std::marker::PhantomData;

use corelace::{Blocks, Datatype, ErrorKind, Job, Parts, Selection, op};
use proptest::prelude::*;

/// The numbers of ranks that everything is tried with.
const RANKS: [usize; 4] = [1, 2, 4, 7];

/// Three gaps: behind `kind`, behind `weight`, and at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default, Datatype)]
struct Cell {
    kind: u8,
    value: f64,
    weight: u16,
    count: u32,
    flag: i8,
}

const CELL_BYTES: usize = 1 + 8 + 2 + 4 + 1;

fn cell(number: usize) -> Cell {
    let n = number as u32;
    Cell {
        kind: n as u8,
        value: f64::from(n) / 4.0,
        weight: n as u16 + 1,
        count: n * 3,
        flag: -(n as i8 & 63),
    }
}

fn cells(rank: usize, count: usize) -> Vec<Cell> {
    (0..count).map(|index| cell(100 * rank + index)).collect()
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
struct Nested<T, const N: usize> {
    head: T,
    cells: [Cell; N],
    nothing: PhantomData<T>,
}

#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
struct Aligned(u8, [i16; 3]);

#[repr(C, packed)]
#[derive(Clone, Copy, Datatype)]
struct Packed {
    a: u8,
    b: u64,
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
struct Wrapper(Aligned);

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
struct Nothing;

#[test]
fn gaps_are_not_sent() {
    corelace::run(2, |world| {
        if world.rank() == 0 {
            world.send(&cells(0, 3)[..], 1, 0).unwrap();
            return;
        }
        // What travels is the fields, one behind the other.
        let (bytes, status) = world.recv_vec::<u8>(0, 0).unwrap();
        assert_eq!(status.bytes(), 3 * CELL_BYTES);
        assert_eq!(status.count::<Cell>(), Some(3));
        assert!(status.bytes() < 3 * size_of::<Cell>());
        let mut expected = Vec::new();
        for Cell { kind, value, weight, count, flag } in cells(0, 3) {
            expected.push(kind);
            expected.extend(value.to_ne_bytes());
            expected.extend(weight.to_ne_bytes());
            expected.extend(count.to_ne_bytes());
            expected.push(flag as u8);
        }
        assert_eq!(bytes, expected);
    })
    .unwrap();
}

fn goes_around<T: Datatype + PartialEq + std::fmt::Debug + Sync>(value: T) {
    let size = T::SHAPE.bytes();
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            let (next, previous) = ((world.rank() + 1) % ranks, (world.rank() + ranks - 1) % ranks);
            // Short and long messages take different ways.
            for count in [1, 3, 20_000] {
                let out = vec![value; count];
                let sending = world.isend_owned(out.clone(), next, 0).unwrap();
                let receiving = world.irecv_owned::<T>(count, previous, 0).unwrap();
                let (received, status) = receiving.wait().unwrap();
                assert_eq!(status.bytes(), count * size);
                assert_eq!(received, out);
                sending.wait().unwrap();
            }
            let mut into = [value; 2];
            world.send_recv(&[value; 2][..], next, 1, &mut into[..], previous, 1).unwrap();
            assert_eq!(into, [value; 2]);
        })
        .unwrap();
    }
}

#[test]
fn nested_generic_aligned_and_wrapped_structs_arrive_as_they_were() {
    goes_around(cell(5));
    goes_around(Nested { head: 3u16, cells: [cell(1), cell(2)], nothing: PhantomData });
    goes_around(Nested { head: cell(9), cells: [cell(4); 3], nothing: PhantomData });
    goes_around(Aligned(9, [-1, 2, -3]));
    goes_around(Wrapper(Aligned(1, [1, 2, 3])));
    goes_around([[cell(3); 2]; 2]);
    assert_eq!(Aligned::SHAPE.bytes(), 7);
    assert!(!Wrapper::SHAPE.is_dense());
}

#[test]
fn structs_without_gaps_are_dense() {
    assert!(Packed::SHAPE.is_dense());
    assert!(<[Packed; 7]>::SHAPE.is_dense());
    assert!(Nothing::SHAPE.is_dense());
    corelace::run(2, |world| {
        if world.rank() == 0 {
            world.send(&[Packed { a: 1, b: 2 }; 4][..], 1, 0).unwrap();
            world.send(&[Nothing; 5][..], 1, 0).unwrap();
        } else {
            let (packed, _) = world.recv_vec::<Packed>(0, 0).unwrap();
            assert!(packed.iter().all(|packed| (packed.a, { packed.b }) == (1, 2)));
            assert_eq!(world.recv::<Nothing>(0, 0).unwrap().0, Nothing);
        }
    })
    .unwrap();
}

#[test]
fn collectives_move_structs_with_gaps() {
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            let (rank, root) = (world.rank(), ranks - 1);
            for each in [1, 2, 3000] {
                let mine = cells(rank, each);
                let all: Vec<Cell> = (0..ranks).flat_map(|rank| cells(rank, each)).collect();

                let mut told = if rank == root { mine.clone() } else { vec![Cell::default(); each] };
                world.broadcast(&mut told[..], root).unwrap();
                assert_eq!(told, cells(root, each));

                assert_eq!(world.gather(&mine[..], root).unwrap(), (rank == root).then(|| all.clone()));
                assert_eq!(world.allgather(&mine[..]).unwrap(), all);
                assert_eq!(world.scatter(&all, root).unwrap(), mine);
                let turned = world.alltoall(&all).unwrap();
                assert_eq!(turned, (0..ranks).flat_map(|_| mine.clone()).collect::<Vec<_>>());

                let some = &mine[..each.min(rank)];
                let gathered = world.allgatherv(some).unwrap();
                for (from, block) in gathered.iter().enumerate() {
                    assert_eq!(block, &cells(from, each)[..each.min(from)]);
                }
                let blocks = Blocks::from_iter((0..ranks).map(|to| mine[..each.min(to)].to_vec()));
                let dealt = world.scatterv((rank == root).then_some(&blocks), root).unwrap();
                assert_eq!(dealt, cells(root, each)[..each.min(rank)]);
                let exchanged = world.alltoallv(&blocks).unwrap();
                for (from, block) in exchanged.iter().enumerate() {
                    assert_eq!(block, &cells(from, each)[..each.min(rank)]);
                }
                let collected = world.gatherv(some, root).unwrap();
                assert_eq!(collected.is_some(), rank == root);
            }
        })
        .unwrap();
    }
}

#[test]
fn closures_combine_structs_with_gaps() {
    // The lower rank's kind stays; everything else is added: associative, not commutative.
    fn join(a: Cell, b: Cell) -> Cell {
        Cell {
            kind: a.kind,
            value: a.value + b.value,
            weight: b.weight,
            count: a.count + b.count,
            flag: a.flag,
        }
    }
    for ranks in RANKS {
        corelace::run(ranks, |world| {
            let rank = world.rank();
            let upto = |last: usize| {
                (1..=last).map(|rank| cells(rank, 9)).fold(cells(0, 9), |sum, next| {
                    sum.into_iter().zip(next).map(|(a, b)| join(a, b)).collect()
                })
            };
            let mine = cells(rank, 9);
            assert_eq!(world.allreduce(&mine[..], op::ordered(join)).unwrap(), upto(ranks - 1));
            let reduced = world.reduce(&mine[..], op::ordered(join), 0).unwrap();
            assert_eq!(reduced, (rank == 0).then(|| upto(ranks - 1)));
            assert_eq!(world.scan(&mine[..], op::ordered(join)).unwrap(), upto(rank));
            let before = world.exscan(&mine[..], op::ordered(join)).unwrap();
            assert_eq!(before, (rank > 0).then(|| upto(rank - 1)));
            let mut result = vec![Cell::default(); 9];
            world.scope(|s| s.iallreduce(&mine[..], &mut result[..], op::ordered(join)).map(|_| ())).unwrap();
            assert_eq!(result, upto(ranks - 1));
        })
        .unwrap();
    }
}

#[test]
fn a_message_that_ends_within_a_struct_is_an_error() {
    corelace::run(2, |world| {
        if world.rank() == 0 {
            world.send(&[0u8; CELL_BYTES + 3][..], 1, 0).unwrap();
            world.send(&[0u8; CELL_BYTES - 1][..], 1, 0).unwrap();
            world.send(&[0u8; CELL_BYTES + 3][..], 1, 0).unwrap();
        } else {
            assert_eq!(world.recv::<Cell>(0, 0).unwrap_err().kind(), ErrorKind::Truncated);
            assert_eq!(world.recv::<Cell>(0, 0).unwrap_err().kind(), ErrorKind::Length);
            assert_eq!(world.recv_vec::<Cell>(0, 0).unwrap_err().kind(), ErrorKind::Length);
        }
    })
    .unwrap();
}

#[test]
fn columns_and_blocks_are_sent_from_and_received_into() {
    corelace::run(2, |world| {
        let (other, rank) = (1 - world.rank(), world.rank());
        // 4 x 5 cells, with gaps of their own.
        let mut grid: Vec<Cell> = cells(rank, 20);
        let column = Selection::strided(1, 4, 1, 5);
        let block = Selection::block(&[2, 2, 5], &[0, 1, 2], &[2, 1, 3]).unwrap();
        assert_eq!((column.len(), block.len()), (4, 6));
        let out = cells(rank, 20);
        world
            .scope(|s| {
                let mut parts = Parts::of(&mut grid);
                let (mut first, mut second) = (parts.take(&column)?, parts.take(&block)?);
                let (column, block) = (column.of(&out)?, block.of(&out)?);
                world.scope(|inner| {
                    inner.irecv(&mut first, other, 0)?;
                    inner.irecv(&mut second, other, 1)?;
                    inner.isend(&column, other, 0)?;
                    inner.isend(&block, other, 1)?;
                    Ok(())
                })?;
                assert_eq!((first.len(), second.len()), (4, 6));
                s.ibarrier()?;
                Ok(())
            })
            .unwrap();
        let theirs = cells(other, 20);
        let picked = [1, 6, 11, 16, 7, 8, 9, 17, 18, 19];
        for (index, cell) in grid.iter().enumerate() {
            let expected = if picked.contains(&index) { theirs[index] } else { out[index] };
            assert_eq!(*cell, expected, "element {index}");
        }
    })
    .unwrap();
}

#[test]
fn selections_outside_of_a_slice_or_upon_each_other_are_refused() {
    let mut items = [0u64; 10];
    let refused = |selection: &Selection, items: &mut [u64]| {
        let (of, of_mut) = (selection.of(items).is_err(), selection.of_mut(items).is_err());
        (of, of_mut)
    };
    for outside in [
        Selection::strided(0, 3, 1, 5),
        Selection::strided(usize::MAX, 1, 1, 1),
        Selection::strided(0, usize::MAX, 1, usize::MAX),
        Selection::strided(0, 1, 11, 0),
        Selection::strided(0, usize::MAX, 2, 0),
        Selection::indexed(&[(0, 1), (10, 1)]),
        Selection::indexed(&[(usize::MAX, 2)]),
        Selection::block(&[2, 6], &[0, 0], &[1, 1]).unwrap(),
        Selection::block(&[usize::MAX, usize::MAX], &[0, 0], &[1, 1]).unwrap(),
    ] {
        assert_eq!(refused(&outside, &mut items), (true, true), "{outside:?}");
    }
    for twice in [Selection::strided(0, 3, 2, 1), Selection::indexed(&[(3, 2), (4, 1)])] {
        assert_eq!(refused(&twice, &mut items), (false, true), "{twice:?}");
    }
    for fine in [
        Selection::strided(9, 1, 1, 0),
        Selection::strided(50, 0, 1, 1),
        Selection::indexed(&[(99, 0), (9, 1)]),
        Selection::block(&[], &[], &[]).unwrap(),
        Selection::block(&[2, 5], &[2, 0], &[0, 5]).unwrap(),
    ] {
        assert_eq!(refused(&fine, &mut items), (false, false), "{fine:?}");
    }
    assert!(Selection::block(&[3], &[2], &[2]).is_err());
    assert!(Selection::block(&[3], &[usize::MAX], &[2]).is_err());
    assert!(Selection::block(&[3, 4], &[0], &[1, 1]).is_err());
    let mut parts = Parts::of(&mut items);
    let mut view = parts.take(&Selection::strided(0, 5, 1, 2)).unwrap();
    assert!(parts.take(&Selection::indexed(&[(1, 1), (8, 1)])).is_err());
    let odd = parts.take(&Selection::strided(1, 5, 1, 2)).unwrap();
    view.copy_from_slice(&[1, 2, 3, 4, 5]).unwrap();
    assert_eq!(odd.to_vec(), [0; 5]);
    assert!(view.copy_from_slice(&[1]).is_err());
    assert_eq!(items, [1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
}

/// Any selection of a slice of up to 60 elements, with what it selects, said in the plainest way.
fn selections() -> impl Strategy<Value = (Selection, Vec<usize>)> {
    let strided = (0usize..10, 0usize..5, 0usize..4, 0usize..6).prop_map(|(start, count, length, stride)| {
        let picked = (0..count).flat_map(|i| (0..length).map(move |j| start + i * stride + j)).collect();
        (Selection::strided(start, count, length, stride), picked)
    });
    let indexed = proptest::collection::vec((0usize..50, 0usize..5), 0..5).prop_map(|pieces| {
        let picked = pieces.iter().flat_map(|(start, length)| *start..start + length).collect();
        (Selection::indexed(&pieces), picked)
    });
    let block = proptest::collection::vec((1usize..4, 0usize..4, 0usize..4), 1..4).prop_map(|axes| {
        let sizes: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
        let starts: Vec<usize> = axes.iter().map(|axis| axis.1.min(axis.0)).collect();
        let counts: Vec<usize> =
            axes.iter().zip(&starts).map(|(axis, start)| axis.2.min(axis.0 - start)).collect();
        let picked = (0..sizes.iter().product::<usize>()).filter(|index| {
            let mut left = *index;
            (0..sizes.len()).rev().all(|axis| {
                let at = left % sizes[axis];
                left /= sizes[axis];
                (starts[axis]..starts[axis] + counts[axis]).contains(&at)
            })
        });
        (Selection::block(&sizes, &starts, &counts).unwrap(), picked.collect())
    });
    prop_oneof![strided, indexed, block]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn any_selection_sends_what_it_names_in_that_order((selection, picked) in selections()) {
        let items = cells(1, 60);
        let expected: Vec<Cell> = picked.iter().map(|index| items[*index]).collect();
        let received = Job::new(1).run(|world| {
            world.scope(|s| {
                let view = selection.of(&items)?;
                assert_eq!(view.to_vec(), expected);
                let sending = world.isend_owned(view.to_vec(), 0, 1)?;
                world.recv_vec::<Cell>(0, 1)?;
                sending.wait()?;
                s.ibarrier()?.wait()
            })?;
            let view = selection.of(&items)?;
            let mut into = vec![Cell::default(); expected.len()];
            world.send_recv(&view, 0, 0, &mut into[..], 0, 0)?;
            let mut scattered = vec![Cell::default(); 60];
            if let Ok(mut target) = selection.of_mut(&mut scattered) {
                world.send_recv(&view, 0, 0, &mut target, 0, 0)?;
                assert_eq!(target.to_vec(), expected);
            }
            Ok::<_, corelace::Error>(into)
        }).unwrap().remove(0);
        prop_assert_eq!(received.unwrap(), expected);
    }
}

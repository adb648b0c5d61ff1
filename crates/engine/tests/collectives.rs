//! Every collective against a model computed locally: algorithms, numbers of members, roots, counts, layouts, blocking and not.

use corelace_engine::{Comm, Op, Rank};

use crate::support::cells::{Cells, KINDS, Kind, compose, composition, user_sum};
use crate::support::{PLAIN, all_habits, run};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Blocking,
    NonBlocking,
}

/// Calls one of the two forms and waits.
macro_rules! go {
    ($form:expr, $rank:expr, $collective:ident, ($($argument:expr),*)) => {
        match $form {
            Form::Blocking => $rank.$collective($($argument),*).unwrap().wait().unwrap(),
            Form::NonBlocking => {
                let id = $rank.$collective($($argument),*).unwrap().start().unwrap();
                $rank.wait(id).unwrap();
            }
        }
    };
}

/// Element `index` of the data of `member`.
fn datum(member: u32, index: usize) -> [u32; 2] {
    let seed = member.wrapping_mul(0x9e37_79b9) ^ (index as u32).wrapping_mul(0x85eb_ca6b);
    [seed | 1, seed.rotate_left(13)]
}

fn data(member: u32, from: usize, count: usize) -> Vec<[u32; 2]> {
    (from..from + count).map(|index| datum(member, index)).collect()
}

/// One way to call a collective.
#[derive(Clone, Copy, Debug)]
struct Case {
    count: usize,
    form: Form,
    root: u32,
    in_place: bool,
    mix: usize,
}

/// Collectives that have a root.
const ROOTED: [&str; 6] = ["bcast", "gather", "scatter", "gatherv", "scatterv", "reduce"];

/// Runs `check` on 1 to 9 members for every algorithm of `collective`, count and form, and for the
/// first, middle and last root if it has one; then on all habits of the fabric.
fn in_every_way(collective: &str, counts: &[usize], check: impl Fn(&Rank, &Comm, Case) + Sync) {
    let mut algorithms: Vec<Option<&str>> = vec![None];
    algorithms.extend(Rank::algorithms().filter(|(name, _)| *name == collective).map(|(_, name)| Some(name)));
    let body = |rank: &Rank, roots: &[u32]| {
        let world = rank.world();
        for algorithm in &algorithms {
            assert!(algorithm.is_none() || rank.prefer_algorithm(collective, *algorithm));
            for (mix, &count) in counts.iter().enumerate() {
                for &root in roots {
                    for form in [Form::Blocking, Form::NonBlocking] {
                        for in_place in [false, true] {
                            check(rank, world, Case { count, form, root, in_place, mix });
                        }
                    }
                }
            }
        }
    };
    // Without a root, one case would be run as often as there are roots.
    let has_root = ROOTED.contains(&collective);
    for members in 1..=9 {
        let mut roots = vec![0, members / 2, members - 1];
        roots.dedup();
        run(members, PLAIN, |rank| body(rank, if has_root { &roots } else { &[0] }));
    }
    for (_, habits) in all_habits() {
        run(5, habits, |rank| body(rank, if has_root { &[0, 3] } else { &[0] }));
    }
    run(20, PLAIN, |rank| body(rank, &[7]));
}

const COUNTS: [usize; 5] = [0, 1, 3, 40, 200];

fn kind(case: Case, member: u32) -> Kind {
    Kind::mixed(case.mix + member as usize)
}

#[test]
fn a_broadcast_gives_everybody_the_roots_data() {
    in_every_way("bcast", &COUNTS, |rank, comm, case| {
        let me = comm.rank();
        let mut cells = Cells::of(kind(case, me), &data(me, 0, case.count));
        go!(case.form, rank, bcast, (&cells.room(case.count), case.root, comm));
        assert_eq!(cells.values(), data(case.root, 0, case.count), "{case:?}");
        cells.check_gaps();
    });
}

#[test]
fn a_gather_collects_the_blocks_in_rank_order() {
    in_every_way("gather", &COUNTS, |rank, comm, case| {
        let (me, p) = (comm.rank(), comm.size());
        let own = Cells::of(kind(case, me), &data(me, 0, case.count));
        let mut all = Cells::new(kind(case, me + 1), case.count * p as usize);
        let at_root = me == case.root;
        let in_place = case.in_place && at_root;
        if in_place {
            for index in 0..case.count {
                all.set(me as usize * case.count + index, datum(me, index));
            }
        }
        let out = own.out(case.count);
        let send = (!in_place).then_some(&out);
        let room = all.room(case.count);
        go!(case.form, rank, gather, (send, at_root.then_some(&room), case.root, comm));
        if at_root {
            let expected: Vec<_> = (0..p).flat_map(|member| data(member, 0, case.count)).collect();
            assert_eq!(all.values(), expected, "{case:?}");
        }
        all.check_gaps();
    });
}

#[test]
fn a_scatter_deals_out_the_blocks_in_rank_order() {
    in_every_way("scatter", &COUNTS, |rank, comm, case| {
        let (me, p) = (comm.rank(), comm.size());
        let all = Cells::of(kind(case, me), &data(case.root, 0, case.count * p as usize));
        let mut own = Cells::new(kind(case, me + 1), case.count);
        let at_root = me == case.root;
        let in_place = case.in_place && at_root;
        let out = all.out(case.count);
        let room = own.room(case.count);
        let recv = (!in_place).then_some(&room);
        go!(case.form, rank, scatter, (at_root.then_some(&out), recv, case.root, comm));
        if !in_place {
            assert_eq!(own.values(), data(case.root, me as usize * case.count, case.count), "{case:?}");
        }
        assert_eq!(all.values(), data(case.root, 0, case.count * p as usize));
        own.check_gaps();
    });
}

/// Counts and displacements of parts of different lengths, in falling order of rank with holes of one element.
fn uneven(p: u32, scale: usize) -> (Vec<u64>, Vec<i64>, usize) {
    let counts: Vec<u64> = (0..p as usize).map(|member| ((member * 7 + 3) % 4 * scale) as u64).collect();
    let mut displacements = vec![0; p as usize];
    let mut end = 0;
    for member in (0..p as usize).rev() {
        displacements[member] = end;
        end += counts[member] as i64 + 1;
    }
    (counts, displacements, end as usize)
}

#[test]
fn a_gatherv_puts_every_part_at_its_displacement() {
    in_every_way("gatherv", &[0, 1, 5, 200], |rank, comm, case| {
        let (me, p) = (comm.rank(), comm.size());
        let (counts, displacements, room) = uneven(p, case.count);
        let mine = counts[me as usize] as usize;
        let own = Cells::of(kind(case, me), &data(me, 0, mine));
        let mut all = Cells::of(kind(case, me + 1), &vec![[7, 7]; room]);
        let at_root = me == case.root;
        let in_place = case.in_place && at_root;
        if in_place {
            for index in 0..mine {
                all.set(displacements[me as usize] as usize + index, datum(me, index));
            }
        }
        let out = own.out(mine);
        let parts = all.room_parts(&counts, &displacements);
        let send = (!in_place).then_some(&out);
        go!(case.form, rank, gatherv, (send, at_root.then_some(&parts), case.root, comm));
        if at_root {
            assert_eq!(all.values(), placed(&counts, &displacements, room), "{case:?}");
        }
        all.check_gaps();
    });
}

/// What a buffer looks like that has every member's data at its displacement and sevens elsewhere.
fn placed(counts: &[u64], displacements: &[i64], room: usize) -> Vec<[u32; 2]> {
    let mut expected = vec![[7, 7]; room];
    for (member, count) in counts.iter().enumerate() {
        for index in 0..*count as usize {
            expected[displacements[member] as usize + index] = datum(member as u32, index);
        }
    }
    expected
}

#[test]
fn a_scatterv_sends_every_part_from_its_displacement() {
    in_every_way("scatterv", &[0, 1, 5, 200], |rank, comm, case| {
        let (me, p) = (comm.rank(), comm.size());
        let (counts, displacements, room) = uneven(p, case.count);
        let mine = counts[me as usize] as usize;
        let all = Cells::of(kind(case, me), &placed(&counts, &displacements, room));
        let mut own = Cells::new(kind(case, me + 1), mine);
        let at_root = me == case.root;
        let in_place = case.in_place && at_root;
        let parts = all.out_parts(&counts, &displacements);
        let room = own.room(mine);
        let recv = (!in_place).then_some(&room);
        go!(case.form, rank, scatterv, (at_root.then_some(&parts), recv, case.root, comm));
        if !in_place {
            assert_eq!(own.values(), data(me, 0, mine), "{case:?}");
        }
        own.check_gaps();
    });
}

#[test]
fn an_allgather_collects_the_blocks_everywhere() {
    in_every_way("allgather", &COUNTS, |rank, comm, case| {
        let (me, p) = (comm.rank(), comm.size());
        let own = Cells::of(kind(case, me), &data(me, 0, case.count));
        let mut all = Cells::new(kind(case, me + 1), case.count * p as usize);
        if case.in_place {
            for index in 0..case.count {
                all.set(me as usize * case.count + index, datum(me, index));
            }
        }
        let out = own.out(case.count);
        let send = (!case.in_place).then_some(&out);
        go!(case.form, rank, allgather, (send, &all.room(case.count), comm));
        let expected: Vec<_> = (0..p).flat_map(|member| data(member, 0, case.count)).collect();
        assert_eq!(all.values(), expected, "{case:?}");
        all.check_gaps();
    });
}

#[test]
fn an_allgatherv_puts_every_part_at_its_displacement_everywhere() {
    in_every_way("allgatherv", &[0, 1, 5, 200], |rank, comm, case| {
        let (me, p) = (comm.rank(), comm.size());
        let (counts, displacements, room) = uneven(p, case.count);
        let mine = counts[me as usize] as usize;
        let own = Cells::of(kind(case, me), &data(me, 0, mine));
        let mut all = Cells::of(kind(case, me + 1), &vec![[7, 7]; room]);
        if case.in_place {
            for index in 0..mine {
                all.set(displacements[me as usize] as usize + index, datum(me, index));
            }
        }
        let out = own.out(mine);
        let send = (!case.in_place).then_some(&out);
        let parts = all.room_parts(&counts, &displacements);
        go!(case.form, rank, allgatherv, (send, &parts, comm));
        assert_eq!(all.values(), placed(&counts, &displacements, room), "{case:?}");
        all.check_gaps();
    });
}

/// The block that `from` sends `to`.
fn letter(from: u32, to: u32, count: usize) -> Vec<[u32; 2]> {
    data(from * 1000 + to, 0, count)
}

#[test]
fn an_alltoall_transposes_the_blocks() {
    in_every_way("alltoall", &COUNTS, |rank, comm, case| {
        let (me, p) = (comm.rank(), comm.size());
        let leaving: Vec<_> = (0..p).flat_map(|to| letter(me, to, case.count)).collect();
        let source = Cells::of(kind(case, me), &leaving);
        let mut target = if case.in_place {
            Cells::of(kind(case, me + 1), &leaving)
        } else {
            Cells::new(kind(case, me + 1), leaving.len())
        };
        let out = source.out(case.count);
        let send = (!case.in_place).then_some(&out);
        go!(case.form, rank, alltoall, (send, &target.room(case.count), comm));
        let expected: Vec<_> = (0..p).flat_map(|from| letter(from, me, case.count)).collect();
        assert_eq!(target.values(), expected, "{case:?}");
        target.check_gaps();
    });
}

/// Elements that two members exchange: the same both ways, so that the exchange can be done in place.
fn between(a: u32, b: u32, scale: usize) -> usize {
    (a + b) as usize % 3 * scale
}

fn consecutive(counts: &[u64]) -> Vec<i64> {
    counts
        .iter()
        .scan(0, |end, count| {
            let start = *end;
            *end += *count as i64;
            Some(start)
        })
        .collect()
}

#[test]
fn an_alltoallv_exchanges_parts_of_any_length() {
    in_every_way("alltoallv", &[0, 1, 5, 300], |rank, comm, case| {
        let (me, p) = (comm.rank(), comm.size());
        let counts: Vec<u64> = (0..p).map(|peer| between(me, peer, case.count) as u64).collect();
        let displacements = consecutive(&counts);
        let leaving: Vec<_> = (0..p).flat_map(|to| letter(me, to, between(me, to, case.count))).collect();
        let source = Cells::of(kind(case, me), &leaving);
        let mut target = if case.in_place {
            Cells::of(kind(case, me + 1), &leaving)
        } else {
            Cells::new(kind(case, me + 1), leaving.len())
        };
        let parts = source.out_parts(&counts, &displacements);
        let send = (!case.in_place).then_some(&parts);
        let room = target.room_parts(&counts, &displacements);
        go!(case.form, rank, alltoallv, (send, &room, comm));
        let expected: Vec<_> =
            (0..p).flat_map(|from| letter(from, me, between(from, me, case.count))).collect();
        assert_eq!(target.values(), expected, "{case:?}");
        target.check_gaps();
    });
}

#[test]
fn an_alltoallw_uses_a_type_and_a_byte_displacement_for_each_part() {
    in_every_way("alltoallw", &[0, 1, 300], |rank, comm, case| {
        let (me, p) = (comm.rank(), comm.size());
        let counts: Vec<u64> = (0..p).map(|peer| between(me, peer, case.count) as u64).collect();
        let leaving: Vec<_> = (0..p).flat_map(|to| letter(me, to, between(me, to, case.count))).collect();
        let source = Cells::of(Kind::Plain, &leaving);
        let mut target = Cells::new(Kind::Gapped, leaving.len());
        let elements = consecutive(&counts);
        let places = |cells: &Cells| -> Vec<i64> {
            elements.iter().map(|element| element * cells.datatype.extent()).collect()
        };
        let (leave, arrive) = (places(&source), places(&target));
        let leave_types = vec![source.datatype.clone(); p as usize];
        let arrive_types = vec![target.datatype.clone(); p as usize];
        let send = source.out_typed(&counts, &leave, &leave_types);
        let recv = target.room_typed(&counts, &arrive, &arrive_types);
        go!(case.form, rank, alltoallw, (Some(&send), &recv, comm));
        let expected: Vec<_> =
            (0..p).flat_map(|from| letter(from, me, between(from, me, case.count))).collect();
        assert_eq!(target.values(), expected, "{case:?}");
        target.check_gaps();
    });
}

/// The operations to reduce with, and what they compute.
type Combine = fn([u32; 2], [u32; 2]) -> [u32; 2];

fn operations() -> [(Op, Combine); 2] {
    [(composition(), compose), (user_sum(), |a, b| [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])])]
}

/// The reduction over a range of members, in rank order.
fn reduced(members: std::ops::Range<u32>, from: usize, count: usize, combine: Combine) -> Vec<[u32; 2]> {
    (from..from + count)
        .map(|index| members.clone().map(|member| datum(member, index)).reduce(combine).unwrap_or([7, 7]))
        .collect()
}

/// Reductions need one type everywhere, but any.
fn same_kind(case: Case) -> Kind {
    KINDS[(case.mix + usize::from(case.in_place)) % 3]
}

#[test]
fn a_reduction_is_evaluated_in_rank_order_at_any_root() {
    in_every_way("reduce", &COUNTS, |rank, comm, case| {
        for (op, combine) in operations() {
            let (me, p) = (comm.rank(), comm.size());
            let own = Cells::of(same_kind(case), &data(me, 0, case.count));
            let at_root = me == case.root;
            let in_place = case.in_place && at_root;
            let start = if in_place { data(me, 0, case.count) } else { vec![[7, 7]; case.count] };
            let mut result = Cells::of(same_kind(case), &start);
            let out = own.out(case.count);
            let send = (!in_place).then_some(&out);
            let room = result.room(case.count);
            go!(case.form, rank, reduce, (send, at_root.then_some(&room), &op, case.root, comm));
            if at_root {
                assert_eq!(result.values(), reduced(0..p, 0, case.count, combine), "{op:?} {case:?}");
            }
            assert_eq!(own.values(), data(me, 0, case.count), "the send buffer is read only");
            result.check_gaps();
        }
    });
}

#[test]
fn an_allreduction_is_evaluated_in_rank_order_everywhere() {
    in_every_way("allreduce", &COUNTS, |rank, comm, case| {
        for (op, combine) in operations() {
            let (me, p) = (comm.rank(), comm.size());
            let own = Cells::of(same_kind(case), &data(me, 0, case.count));
            let mut result = Cells::of(same_kind(case), &data(me, 0, case.count));
            let out = own.out(case.count);
            let send = (!case.in_place).then_some(&out);
            go!(case.form, rank, allreduce, (send, &result.room(case.count), &op, comm));
            assert_eq!(result.values(), reduced(0..p, 0, case.count, combine), "{op:?} {case:?}");
            assert_eq!(own.values(), data(me, 0, case.count), "the send buffer is read only");
            result.check_gaps();
        }
    });
}

#[test]
fn a_scan_reduces_over_lower_ranks_and_oneself() {
    in_every_way("scan", &COUNTS, |rank, comm, case| {
        for (op, combine) in operations() {
            let me = comm.rank();
            let own = Cells::of(same_kind(case), &data(me, 0, case.count));
            let mut result = Cells::of(same_kind(case), &data(me, 0, case.count));
            let out = own.out(case.count);
            let send = (!case.in_place).then_some(&out);
            go!(case.form, rank, scan, (send, &result.room(case.count), &op, comm));
            assert_eq!(result.values(), reduced(0..me + 1, 0, case.count, combine), "{op:?} {case:?}");
            assert_eq!(own.values(), data(me, 0, case.count), "the send buffer is read only");
            result.check_gaps();
        }
    });
}

#[test]
fn an_exclusive_scan_leaves_rank_0_alone() {
    in_every_way("exscan", &COUNTS, |rank, comm, case| {
        for (op, combine) in operations() {
            let me = comm.rank();
            let own = Cells::of(same_kind(case), &data(me, 0, case.count));
            let mut result = Cells::of(same_kind(case), &data(me, 0, case.count));
            let out = own.out(case.count);
            let send = (!case.in_place).then_some(&out);
            go!(case.form, rank, exscan, (send, &result.room(case.count), &op, comm));
            let expected =
                if me == 0 { data(0, 0, case.count) } else { reduced(0..me, 0, case.count, combine) };
            assert_eq!(result.values(), expected, "{op:?} {case:?}");
            result.check_gaps();
        }
    });
}

#[test]
fn a_reduce_scatter_gives_everybody_its_block_of_the_result() {
    in_every_way("reduce_scatter", &[0, 1, 3, 150], |rank, comm, case| {
        for (op, combine) in operations() {
            let (me, p) = (comm.rank(), comm.size());
            let (counts, _, _) = uneven(p, case.count);
            let total = counts.iter().sum::<u64>() as usize;
            let first = counts[..me as usize].iter().sum::<u64>() as usize;
            let mine = counts[me as usize] as usize;
            let own = Cells::of(same_kind(case), &data(me, 0, total));
            let mut result =
                Cells::of(same_kind(case), &data(me, 0, if case.in_place { total } else { mine }));
            let out = own.out(total);
            let send = (!case.in_place).then_some(&out);
            let room = result.room(mine);
            go!(case.form, rank, reduce_scatter, (send, &room, &counts, &op, comm));
            assert_eq!(result.values()[..mine], reduced(0..p, first, mine, combine), "{op:?} {case:?}");
            result.check_gaps();

            let block = case.count;
            let own = Cells::of(same_kind(case), &data(me, 0, block * p as usize));
            let room = if case.in_place { block * p as usize } else { block };
            let mut result = Cells::of(same_kind(case), &data(me, 0, room));
            let out = own.out(block);
            let send = (!case.in_place).then_some(&out);
            let room = result.room(block);
            go!(case.form, rank, reduce_scatter_block, (send, &room, &op, comm));
            let expected = reduced(0..p, me as usize * block, block, combine);
            assert_eq!(result.values()[..block], expected, "{op:?} {case:?}");
            result.check_gaps();
        }
    });
}

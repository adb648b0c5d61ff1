//! The collectives that the tests call, what each should give, and the ways in which members may share memory.

use corelace_engine::datatype::Basic;
use corelace_engine::{
    Builtin, Comm, Datatype, Error, Op, Plan, Rank, RecvBuffer, Reduction, RequestId, SendBuffer,
};
use proptest::prelude::*;

use crate::support::{Habits, PLAIN, PortalHabit};

pub const SHARED: Habits = Habits { boards: true, ..PLAIN };

/// Members who share a core, who have one each, who are too many to look at each other, who cannot read each other's memory, and who can but do not address it. Those who are many meet in groups, of which
/// the last is smaller, or one member alone.
pub const WAYS: [(u32, Habits); 9] = [
    (2, Habits { own_cores: true, workers: 2, ..SHARED }),
    (5, SHARED),
    (7, Habits { workers: 2, ..SHARED }),
    (5, Habits { own_cores: true, workers: 2, ..SHARED }),
    (18, Habits { own_cores: true, ..SHARED }),
    (3, Habits { portal: PortalHabit::Nothing, workers: 2, ..SHARED }),
    (21, Habits { own_cores: true, workers: 2, ..SHARED }),
    (2, Habits { own_cores: true, apart: true, workers: 2, ..SHARED }),
    (8, Habits { apart: true, workers: 2, ..SHARED }),
];

/// Elements: none, in a note, just not, in rooms, too long for them if all are together, longer than those, in several pieces of a hall.
pub const COUNTS: [usize; 9] = [0, 1, 14, 15, 300, 700, 2100, 9000, 40_000];

#[derive(Clone, Copy, Debug)]
pub enum Which {
    Barrier,
    Bcast,
    Allreduce,
    Reduce,
    Allgather,
    Gather,
    Scatter,
    Alltoall,
    Scan,
    Exscan,
    ReduceScatter,
}

/// MPI's three forms of a collective; the blocking one may be done at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Form {
    Blocking,
    AtOnce,
    NonBlocking,
    Persistent,
}

#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub form: Form,
    pub which: Which,
    pub count: usize,
    pub root: u32,
    pub in_place: bool,
    pub seed: i64,
}

/// So many cases of what takes long, unless `PROPTEST_CASES` asks for another number.
/// A run at night asks for more.
pub fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig { cases: if asked { config.cases } else { usual }, ..config }
}

pub fn calls() -> impl Strategy<Value = Vec<Call>> {
    let which = prop_oneof![
        Just(Which::Barrier),
        Just(Which::Bcast),
        Just(Which::Allreduce),
        Just(Which::Reduce),
        Just(Which::Allgather),
        Just(Which::Gather),
        Just(Which::Scatter),
        Just(Which::Alltoall),
        Just(Which::Scan),
        Just(Which::Exscan),
        Just(Which::ReduceScatter),
    ];
    let form = prop_oneof![3 => Just(Form::Blocking), 3 => Just(Form::AtOnce), 2 => Just(Form::NonBlocking), 1 => Just(Form::Persistent)];
    let call = (form, which, prop::sample::select(&COUNTS[..]), 0..18_u32, any::<bool>(), 0..1000_i64);
    let call = call.prop_map(|(form, which, count, root, in_place, seed)| Call {
        form,
        which,
        count,
        root,
        in_place,
        seed,
    });
    prop::collection::vec(call, 30..60)
}

/// Element `index` of what `member` brings.
pub fn datum(seed: i64, member: u32, index: usize) -> i64 {
    seed * 1_000_003 + i64::from(member) * 7919 + index as i64
}

pub fn data(seed: i64, member: u32, count: usize) -> Vec<i64> {
    part(seed, member, 0, count)
}

/// Elements of what a member brings, from one on.
pub fn part(seed: i64, member: u32, first: usize, count: usize) -> Vec<i64> {
    (first..first + count).map(|index| datum(seed, member, index)).collect()
}

pub fn long() -> Datatype {
    Datatype::basic(Basic::I64)
}

pub fn out(values: &[i64], count: usize) -> SendBuffer {
    // SAFETY: the tests keep the values until the collective is done.
    unsafe { SendBuffer::new(values.as_ptr().cast(), count as u64, &long()) }
}

pub fn room(values: &mut [i64], count: usize) -> RecvBuffer {
    // SAFETY: as above.
    unsafe { RecvBuffer::new(values.as_mut_ptr().cast(), count as u64, &long()) }
}

pub fn sum() -> Op {
    Op::builtin(Builtin::Sum)
}

pub fn summing() -> Reduction {
    Reduction::new(Builtin::Sum, &Datatype::basic(Basic::I64)).unwrap()
}

pub fn summed(seed: i64, members: u32, count: usize) -> Vec<i64> {
    summed_part(seed, members, 0, count)
}

/// Elements of the sum, from one on.
pub fn summed_part(seed: i64, members: u32, first: usize, count: usize) -> Vec<i64> {
    // What members bring at one index differs by what does not depend on the index.
    let of_first: i64 = (0..members).map(|member| datum(seed, member, 0)).sum();
    (first..first + count).map(|index| of_first + i64::from(members) * index as i64).collect()
}

/// Takes part in one form or the other.
pub fn complete(rank: &Rank, plan: Plan<'_>, form: Form) {
    match form {
        Form::Blocking | Form::AtOnce => plan.wait().unwrap(),
        Form::NonBlocking => {
            let request = plan.start().unwrap();
            rank.wait(request).unwrap();
        }
        Form::Persistent => {
            let request = plan.keep().unwrap();
            rank.start(request).unwrap();
            rank.wait(request).unwrap();
            rank.free(request).unwrap();
        }
    }
}

pub fn bytes(values: &mut [i64]) -> &mut [u8] {
    // SAFETY: any bytes are numbers, and the other way round.
    unsafe { core::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Does this member's part of one, as [`check`] does, if it can do so at once.
pub fn is_done_at_once(rank: &Rank, comm: &Comm, call: Call) -> bool {
    let Call { which, count, in_place, seed, .. } = call;
    let (me, p) = (comm.rank(), comm.size());
    let (root, all) = (call.root % p, count * p as usize);
    let (mut own, mut values) = (data(seed, me, count), vec![0; all]);
    let dealt = part(seed, root, me as usize * count, count);
    match which {
        Which::Bcast => {
            let done = rank.bcast_at_once(bytes(&mut own), root, comm);
            assert!(!done || own == data(seed, root, count), "{call:?}");
            done
        }
        Which::Gather if me == root => {
            values[me as usize * count..][..count].copy_from_slice(&own);
            let own = (!in_place).then_some(&*bytes(&mut own));
            let done = rank.gather_here_at_once(own, bytes(&mut values), comm);
            let expected: Vec<i64> = (0..p).flat_map(|member| data(seed, member, count)).collect();
            assert!(!done || values == expected, "{call:?}");
            done
        }
        Which::Gather => rank.gather_at_once(bytes(&mut own), root, comm),
        Which::Scatter if me == root => {
            let mut all = data(seed, root, all);
            let place = (!in_place).then_some(bytes(&mut own));
            let done = rank.scatter_here_at_once(place, bytes(&mut all), comm);
            assert!(!done || in_place || own == dealt, "{call:?}");
            done
        }
        Which::Scatter => {
            let done = rank.scatter_at_once(bytes(&mut own), root, comm);
            assert!(!done || own == dealt, "{call:?}");
            done
        }
        Which::Reduce => {
            let target = (me == root).then(|| bytes(&mut values[..count]));
            let done = rank.reduce_at_once(bytes(&mut own), target, summing(), root, comm);
            assert!(!done || me != root || values[..count] == summed(seed, p, count), "{call:?}");
            done
        }
        Which::Scan | Which::Exscan => {
            let (with_own, to) = if let Which::Scan = which { (true, me + 1) } else { (false, me) };
            let (value, target) = (bytes(&mut own), bytes(&mut values[..count]));
            let done = rank.scan_at_once(value, target, summing(), with_own, comm);
            assert!(!done || to == 0 || values[..count] == summed(seed, to, count), "{call:?}");
            done
        }
        Which::Barrier => rank.barrier_at_once(comm),
        Which::Allreduce => {
            let mut target = own.clone();
            let value = (!in_place).then_some(&*bytes(&mut own));
            let done = rank.allreduce_at_once(value, bytes(&mut target), summing(), comm);
            assert!(!done || target == summed(seed, p, count), "{call:?}");
            done
        }
        Which::Allgather => {
            values[me as usize * count..][..count].copy_from_slice(&own);
            let own = (!in_place).then_some(&*bytes(&mut own));
            let done = rank.allgather_at_once(own, bytes(&mut values), comm);
            let expected: Vec<i64> = (0..p).flat_map(|member| data(seed, member, count)).collect();
            assert!(!done || values == expected, "{call:?}");
            done
        }
        Which::Alltoall => {
            let mut dealt = data(seed, me, all);
            let done = rank.alltoall_at_once(bytes(&mut dealt), bytes(&mut values), comm);
            let block = |member| part(seed, member, me as usize * count, count);
            assert!(!done || values == (0..p).flat_map(block).collect::<Vec<_>>(), "{call:?}");
            done
        }
        Which::ReduceScatter => false,
    }
}

/// Calls one, and compares with what it should give.
pub fn check(rank: &Rank, comm: &Comm, call: Call) {
    if call.form == Form::AtOnce && is_done_at_once(rank, comm, call) {
        return;
    }
    let Call { form, which, count, in_place, seed, .. } = call;
    let (me, p) = (comm.rank(), comm.size());
    let root = call.root % p;
    let (own, at_root) = (data(seed, me, count), me == root);
    let everything = || (0..p).flat_map(|member| data(seed, member, count)).collect::<Vec<_>>();
    match which {
        Which::Barrier => complete(rank, rank.barrier(comm).unwrap(), form),
        Which::Bcast => {
            let mut values = own;
            complete(rank, rank.bcast(&room(&mut values, count), root, comm).unwrap(), form);
            assert_eq!(values, data(seed, root, count), "{call:?}");
        }
        Which::Allreduce => {
            let mut values = own.clone();
            let send = (!in_place).then(|| out(&own, count));
            complete(
                rank,
                rank.allreduce(send.as_ref(), &room(&mut values, count), &sum(), comm).unwrap(),
                form,
            );
            assert_eq!(values, summed(seed, p, count), "{call:?}");
        }
        Which::Reduce => {
            let mut values = own.clone();
            let send = (!in_place || !at_root).then(|| out(&own, count));
            let recv = at_root.then(|| room(&mut values, count));
            complete(rank, rank.reduce(send.as_ref(), recv.as_ref(), &sum(), root, comm).unwrap(), form);
            if at_root {
                assert_eq!(values, summed(seed, p, count), "{call:?}");
            }
        }
        Which::Allgather => {
            let mut values = vec![0; count * p as usize];
            values[me as usize * count..][..count].copy_from_slice(&own);
            let send = (!in_place).then(|| out(&own, count));
            complete(rank, rank.allgather(send.as_ref(), &room(&mut values, count), comm).unwrap(), form);
            assert_eq!(values, everything(), "{call:?}");
        }
        Which::Gather => {
            let mut values = vec![0; count * p as usize];
            values[me as usize * count..][..count].copy_from_slice(&own);
            let send = (!in_place || !at_root).then(|| out(&own, count));
            let recv = at_root.then(|| room(&mut values, count));
            complete(rank, rank.gather(send.as_ref(), recv.as_ref(), root, comm).unwrap(), form);
            if at_root {
                assert_eq!(values, everything(), "{call:?}");
            }
        }
        Which::Scatter => {
            let (all, mut values) = (data(seed, root, count * p as usize), vec![0; count]);
            let send = at_root.then(|| out(&all, count));
            let recv = (!in_place || !at_root).then(|| room(&mut values, count));
            complete(rank, rank.scatter(send.as_ref(), recv.as_ref(), root, comm).unwrap(), form);
            if !in_place || !at_root {
                assert_eq!(values, all[me as usize * count..][..count], "{call:?}");
            }
        }
        Which::Alltoall => {
            let (all, mut values) = (data(seed, me, count * p as usize), vec![0; count * p as usize]);
            complete(
                rank,
                rank.alltoall(Some(&out(&all, count)), &room(&mut values, count), comm).unwrap(),
                form,
            );
            let block = |from: u32| part(seed, from, me as usize * count, count);
            assert_eq!(values, (0..p).flat_map(block).collect::<Vec<_>>(), "{call:?}");
        }
        Which::ReduceScatter => {
            // Blocks of the same length, or each a bit longer than the one before.
            let counts: Vec<u64> =
                (0..p).map(|member| count as u64 + seed as u64 % 2 * u64::from(member)).collect();
            let first = counts[..me as usize].iter().sum::<u64>() as usize;
            let (total, mine) = (counts.iter().sum::<u64>() as usize, counts[me as usize] as usize);
            let (all, mut values) = (data(seed, me, total), data(seed, me, total));
            let send = (!in_place).then(|| out(&all, mine));
            let recv = room(&mut values, mine);
            let plan = match seed % 2 {
                0 => rank.reduce_scatter_block(send.as_ref(), &recv, &sum(), comm),
                _ => rank.reduce_scatter(send.as_ref(), &recv, &counts, &sum(), comm),
            };
            complete(rank, plan.unwrap(), form);
            assert_eq!(values[..mine], summed_part(seed, p, first, mine), "{call:?}");
            let rest = part(seed, me, mine, total - mine);
            assert!(in_place || values[mine..] == rest, "{call:?} writes no more than its block");
        }
        Which::Scan | Which::Exscan => {
            let mut values = own.clone();
            let send = (!in_place).then(|| out(&own, count));
            let (plan, to) = match which {
                Which::Scan => (rank.scan(send.as_ref(), &room(&mut values, count), &sum(), comm), me + 1),
                _ => (rank.exscan(send.as_ref(), &room(&mut values, count), &sum(), comm), me),
            };
            complete(rank, plan.unwrap(), form);
            // The first member of an exclusive one gets nothing.
            assert_eq!(values, if to == 0 { own } else { summed(seed, to, count) }, "{call:?}");
        }
    }
}

/// What a non-blocking collective reads and writes, and what it should give, if it gives this member anything.
pub struct Begun {
    pub call: Call,
    pub request: RequestId,
    pub own: Vec<i64>,
    pub values: Vec<i64>,
    pub expected: Option<Vec<i64>>,
}

/// Begins one of several that go on at the same time.
pub fn begin(rank: &Rank, comm: &Comm, call: Call) -> Begun {
    begin_by(rank, comm, call, Plan::start)
}

/// The same by another form.
pub fn begin_by<'a>(
    rank: &'a Rank,
    comm: &'a Comm,
    call: Call,
    form: impl FnOnce(Plan<'a>) -> Result<RequestId, Error>,
) -> Begun {
    // Blocks for all members are long enough if those of a few make a long buffer.
    let (me, p, count, seed) = (comm.rank(), comm.size(), call.count.min(9000), call.seed);
    let (root, all) = (call.root % p, count * p as usize);
    let at_root = me == root;
    let everything = || (0..p).flat_map(|member| data(seed, member, count)).collect::<Vec<_>>();
    let own = data(seed, me, all);
    let mut values = own.clone();
    let (send, recv) = (out(&own, count), room(&mut values, count));
    let (plan, expected) = match call.which {
        Which::Barrier => (rank.barrier(comm), None),
        Which::Bcast => (rank.bcast(&recv, root, comm), Some(data(seed, root, count))),
        Which::Allreduce => (rank.allreduce(Some(&send), &recv, &sum(), comm), Some(summed(seed, p, count))),
        Which::Reduce => {
            let plan = rank.reduce(Some(&send), at_root.then_some(&recv), &sum(), root, comm);
            (plan, at_root.then(|| summed(seed, p, count)))
        }
        Which::Allgather => (rank.allgather(Some(&send), &recv, comm), Some(everything())),
        Which::Gather => {
            let plan = rank.gather(Some(&send), at_root.then_some(&recv), root, comm);
            (plan, at_root.then(everything))
        }
        Which::Scatter => {
            let plan = rank.scatter(at_root.then_some(&send), Some(&recv), root, comm);
            (plan, Some(part(seed, root, me as usize * count, count)))
        }
        Which::Alltoall => {
            let block = |from: u32| part(seed, from, me as usize * count, count);
            (rank.alltoall(Some(&send), &recv, comm), Some((0..p).flat_map(block).collect()))
        }
        Which::ReduceScatter => {
            let plan = rank.reduce_scatter_block(Some(&send), &recv, &sum(), comm);
            (plan, Some(summed_part(seed, p, me as usize * count, count)))
        }
        Which::Scan => (rank.scan(Some(&send), &recv, &sum(), comm), Some(summed(seed, me + 1, count))),
        Which::Exscan => {
            let plan = rank.exscan(Some(&send), &recv, &sum(), comm);
            (plan, (me > 0).then(|| summed(seed, me, count)))
        }
    };
    Begun { call, request: form(plan.unwrap()).unwrap(), own, values, expected }
}

pub fn finish(rank: &Rank, begun: Begun) {
    wait_and_compare(rank, &begun);
}

pub fn wait_and_compare(rank: &Rank, begun: &Begun) {
    rank.wait(begun.request).unwrap();
    if let Some(expected) = &begun.expected {
        let wrong = begun.values.iter().zip(expected).position(|(value, expected)| value != expected);
        assert!(
            wrong.is_none(),
            "element {wrong:?} of {:?} at {} of {}",
            begun.call,
            rank.world().rank(),
            rank.world().size()
        );
    }
}

/// Calls after which a communicator has its board.
pub fn warm_up(rank: &Rank, comm: &Comm) {
    for _ in 0..8 {
        rank.barrier(comm).unwrap().wait().unwrap();
    }
}

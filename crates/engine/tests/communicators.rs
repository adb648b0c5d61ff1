//! Creating communicators, and traffic on parents and children at the same time.

use corelace_engine::datatype::Basic;
use corelace_engine::{
    Builtin, Comm, Comparison, Datatype, Dest, Error, Group, Mode, Op, Plan, Rank, RecvBuffer, SendBuffer,
    Source, Tag, TagMatch,
};

use crate::support::{Habits, PLAIN, all_habits, bytes_in, bytes_out, run};

fn number_out(number: &u64) -> SendBuffer {
    // SAFETY: the tests keep the number until the operation is complete.
    unsafe { SendBuffer::new(std::ptr::from_ref(number).cast(), 1, &Datatype::basic(Basic::U64)) }
}

fn number_in(number: &mut u64) -> RecvBuffer {
    // SAFETY: as above.
    unsafe { RecvBuffer::new(std::ptr::from_mut(number).cast(), 1, &Datatype::basic(Basic::U64)) }
}

fn sum(rank: &Rank, number: u64, comm: &Comm) -> u64 {
    let mut total = 0;
    rank.allreduce(Some(&number_out(&number)), &number_in(&mut total), &Op::builtin(Builtin::Sum), comm)
        .and_then(Plan::wait)
        .unwrap();
    total
}

/// The sum over the members of their world ranks, which tells one set of members from another.
fn fingerprint(rank: &Rank, comm: &Comm) -> u64 {
    sum(rank, 1 << rank.world().rank(), comm)
}

#[test]
fn a_duplicate_has_the_same_members_and_separate_traffic() {
    for (name, habits) in all_habits() {
        run(4, habits, |rank| {
            let world = rank.world();
            let copy = rank.dup(world).unwrap();
            assert_eq!(copy.compare(world), Comparison::Congruent);
            assert_ne!(copy.context(), world.context());
            let (me, p) = (world.rank(), world.size());
            let (next, before) = (Dest::Rank((me + 1) % p), Source::Rank((me + p - 1) % p));
            let tag = Tag::new(5).unwrap();
            // The message on the world is sent first, but the receive on the copy must not take it.
            let ids = [
                rank.isend(Mode::Standard, &bytes_out(b"world"), next, tag, world).unwrap(),
                rank.isend(Mode::Standard, &bytes_out(b"copy!"), next, tag, &copy).unwrap(),
            ];
            let (mut on_copy, mut on_world) = ([0; 5], [0; 5]);
            rank.recv(&bytes_in(&mut on_copy), before, TagMatch::Any, &copy).unwrap();
            rank.recv(&bytes_in(&mut on_world), before, TagMatch::Any, world).unwrap();
            assert_eq!((&on_copy, &on_world), (b"copy!", b"world"), "{name}");
            for id in ids {
                rank.wait(id).unwrap();
            }
        });
    }
}

#[test]
fn a_split_orders_members_by_key_and_then_by_rank() {
    for members in 1..=9 {
        run(members, PLAIN, |rank| {
            let world = rank.world();
            let me = world.rank();
            let child = rank.split(world, Some(me % 3), -((me / 3) as i32)).unwrap().unwrap();
            let mut expected: Vec<u32> = (0..members).filter(|member| member % 3 == me % 3).collect();
            expected.reverse();
            let found: Vec<u32> = child.group().nodes().map(|node| node.0).collect();
            assert_eq!(found, expected);
            assert_eq!(found[child.rank() as usize], me);
            assert_eq!(fingerprint(rank, &child), expected.iter().map(|member| 1u64 << member).sum());
            let equal = rank.split(world, Some(7), 0).unwrap().unwrap();
            assert_eq!(equal.compare(world), Comparison::Congruent, "equal keys keep the order");
        });
    }
}

#[test]
fn a_member_without_a_colour_gets_no_communicator() {
    run(5, PLAIN, |rank| {
        let me = rank.world().rank();
        let child = rank.split(rank.world(), (me != 2).then_some(0), 0).unwrap();
        assert_eq!(child.is_none(), me == 2);
        if let Some(child) = child {
            assert_eq!(child.size(), 4);
            assert_eq!(fingerprint(rank, &child), 0b11011);
        }
        assert_eq!(fingerprint(rank, rank.world()), 0b11111, "the parent goes on");
    });
}

#[test]
fn disjoint_groups_create_their_communicators_at_once() {
    run(6, PLAIN, |rank| {
        let world = rank.world();
        let odd = i64::from(world.rank() % 2);
        let group = world.group().include(&[4 + odd, odd, 2 + odd]).unwrap();
        let child = rank.create(world, &group).unwrap().unwrap();
        assert_eq!(child.rank(), [1, 2, 0][(world.rank() / 2) as usize]);
        assert_eq!(fingerprint(rank, &child), 0b010101 << odd);
        assert!(rank.create(world, &Group::empty()).unwrap().is_none());
    });
}

#[test]
fn a_group_creates_its_communicator_without_the_others() {
    run(7, Habits { workers: 2, ..PLAIN }, |rank| {
        let world = rank.world();
        let me = i64::from(world.rank());
        // Rank 6 takes no part at all. Rank 3 is in both groups, which use the same tag one after the other.
        let tag = Tag::new(9).unwrap();
        for members in [&[5, 1, 3][..], &[3, 0, 2, 4][..]] {
            if members.contains(&me) {
                let group = world.group().include(members).unwrap();
                let child = rank.create_group(world, &group, tag).unwrap().unwrap();
                assert_eq!(members[child.rank() as usize], me);
                assert_eq!(fingerprint(rank, &child), members.iter().map(|member| 1u64 << member).sum());
            }
        }
    });
}

#[test]
fn communicators_created_apart_by_some_members_do_not_confuse_later_ones() {
    run(6, PLAIN, |rank| {
        let world = rank.world();
        // Members use up different numbers of contexts, then all need one in common.
        for _ in 0..world.rank() {
            rank.dup(rank.self_comm()).unwrap();
        }
        let first = rank.dup(world).unwrap();
        let second = rank.dup(&first).unwrap();
        assert_ne!(first.context(), second.context());
        for comm in [&first, &second, world] {
            assert_eq!(fingerprint(rank, comm), 0b111111);
        }
    });
}

#[test]
fn duplicates_under_way_together_get_different_contexts() {
    for (name, habits) in all_habits() {
        run(5, habits, |rank| {
            let world = rank.world();
            let half = rank.split(world, Some(world.rank() % 2), 0).unwrap().unwrap();
            // Three at a time, and one that blocks while they are under way.
            let (a, first) = rank.idup(world).unwrap();
            let (b, second) = rank.idup(&half).unwrap();
            let (c, third) = rank.idup(world).unwrap();
            let d = rank.dup(&half).unwrap();
            for id in [third, first, second] {
                rank.wait(id).unwrap();
            }
            let contexts = [world, &half, &a, &b, &c, &d].map(Comm::context);
            for (index, context) in contexts.iter().enumerate() {
                assert!(!contexts[..index].contains(context), "{name}: {contexts:?}");
            }
            assert_eq!(fingerprint(rank, &a), 0b11111);
            assert_eq!(fingerprint(rank, &c), 0b11111);
            assert_eq!(fingerprint(rank, &b), fingerprint(rank, &d));
        });
    }
}

#[test]
fn a_group_that_leaves_the_communicator_is_refused() {
    run(3, PLAIN, |rank| {
        let half = rank.split(rank.world(), Some(rank.world().rank() / 2), 0).unwrap().unwrap();
        let error = rank.create(&half, rank.world().group()).unwrap_err();
        assert!(matches!(error, Error::Group { .. }), "{error}");
    });
}

#[test]
fn collectives_of_parent_and_child_interleave() {
    run(9, Habits { workers: 2, ..PLAIN }, |rank| {
        let world = rank.world();
        let child = rank.split(world, Some(world.rank() % 2), 0).unwrap().unwrap();
        for round in 0..50 {
            let expected = if world.rank() % 2 == 0 { 0b101010101 } else { 0b10101010 };
            assert_eq!(fingerprint(rank, &child), expected, "round {round}");
            rank.barrier(world).and_then(Plan::wait).unwrap();
            assert_eq!(fingerprint(rank, world), 0b111111111, "round {round}");
            rank.barrier(&child).and_then(Plan::wait).unwrap();
        }
    });
}

/// Duplicates and frees, with traffic on some of the duplicates.
fn duplicate_and_free(rounds: u32) {
    let highest = run(2, PLAIN, |rank| {
        let world = rank.world();
        let mut highest = 0;
        for round in 0..rounds {
            let copy = rank.dup(world).unwrap();
            highest = highest.max(copy.context().to_bits());
            if round % 1000 == 0 {
                assert_eq!(fingerprint(rank, &copy), 0b11);
            }
        }
        highest
    });
    assert!(highest[0] < 1024, "numbers of communicators that are gone are used again: {}", highest[0]);
}

#[test]
fn a_hundred_thousand_duplicates_share_a_few_context_numbers() {
    duplicate_and_free(100_000);
}

#[test]
#[ignore = "takes minutes: for soak runs"]
fn ten_million_duplicates_share_a_few_context_numbers() {
    duplicate_and_free(10_000_000);
}

#[test]
fn a_number_is_not_used_again_while_a_message_of_its_communicator_is_left() {
    run(2, PLAIN, |rank| {
        let world = rank.world();
        let me = world.rank();
        let (next, tag) = (1 - me, Tag::new(3).unwrap());
        let copy = rank.dup(world).unwrap();
        let context = copy.context();
        let mut late = [0; 4];
        let pending = rank.irecv(&bytes_in(&mut late), Source::Rank(next), TagMatch::Is(tag), &copy).unwrap();
        let kept = copy.clone();
        // Rank 0 frees it with the receive pending; rank 1 keeps it for the send.
        let kept = (me == 1).then_some(kept);
        drop(copy);
        for _ in 0..1000 {
            let other = rank.dup(world).unwrap();
            assert_ne!(other.context(), context);
            let mut number = [0; 4];
            let id = rank.isend(Mode::Standard, &bytes_out(b"none"), Dest::Rank(next), tag, &other).unwrap();
            rank.recv(&bytes_in(&mut number), Source::Rank(next), TagMatch::Is(tag), &other).unwrap();
            rank.wait(id).unwrap();
        }
        if let Some(copy) = kept {
            rank.send(Mode::Standard, &bytes_out(b"late"), Dest::Rank(0), tag, &copy).unwrap();
            rank.cancel(pending).unwrap();
        }
        rank.wait(pending).unwrap();
        assert_eq!(&late, if me == 0 { b"late" } else { &[0; 4] });
    });
}

#[test]
fn members_with_many_live_communicators_still_agree() {
    run(4, PLAIN, |rank| {
        let world = rank.world();
        let pair = rank.split(world, Some(world.rank() / 2), 0).unwrap().unwrap();
        let mut kept = Vec::new();
        for round in 0..400 {
            // The pairs have different numbers taken, with gaps.
            let comm =
                rank.dup(if round % 3 == world.rank() / 2 { rank.self_comm() } else { &pair }).unwrap();
            if round % 2 == 0 {
                kept.push(comm);
            }
        }
        let copies: Vec<Comm> = (0..50).map(|_| rank.dup(world).unwrap()).collect();
        for comm in &copies {
            assert_eq!(fingerprint(rank, comm), 0b1111);
        }
        let mut numbers: Vec<u32> = kept.iter().chain(&copies).map(|comm| comm.context().to_bits()).collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]));
    });
}

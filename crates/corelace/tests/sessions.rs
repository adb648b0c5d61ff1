//! Sessions of ranks that this program runs, and splits by where ranks are.

use corelace::{Comparison, ErrorKind, Hardware, Job, ProcessSet, Resource, SplitType, op, run, run_on};

#[test]
fn sets_have_names_and_the_processes_that_these_say() {
    for set in ProcessSet::ALL {
        assert_eq!(ProcessSet::named(set.name()), Some(set));
        assert_eq!(ProcessSet::named(&set.name().to_lowercase()), Some(set), "case does not matter");
    }
    assert_eq!(ProcessSet::named("mpi://NOBODY"), None);
    run(3, |world| {
        let session = world.session();
        assert!(session.process_sets().contains(&ProcessSet::World));
        assert_eq!(session.group(ProcessSet::World), world.group());
        assert_eq!(session.group(ProcessSet::Shared), world.group(), "one program, one memory");
        let own = session.group(ProcessSet::Own);
        assert_eq!((own.size(), own.rank_in(&world)), (1, Some(0)));
    })
    .unwrap();
}

#[test]
fn members_of_a_group_make_a_communicator_without_the_others() {
    let sums = run(5, |world| {
        let session = world.session();
        let low = session.group(ProcessSet::World).include(&[2, 0]).unwrap();
        let high = session.group(ProcessSet::World).include(&[1, 3, 4]).unwrap();
        let mine = if low.rank_in(&world).is_some() { &low } else { &high };
        let comm = session.communicator(mine, "a half").unwrap();
        assert_eq!(comm.compare(&world), Comparison::Unequal);
        comm.allreduce(&world.rank(), op::sum()).unwrap()
    });
    assert_eq!(sums.unwrap(), [2, 8, 2, 8, 8]);
}

#[test]
fn names_keep_communicators_of_the_same_processes_apart() {
    Job::new(2)
        .run(|world| {
            let (here, there) = (world.session(), world.session());
            let (a, b) = (here.group(ProcessSet::World), there.group(ProcessSet::World));
            let (a, b) = (here.communicator(&a, "first").unwrap(), there.communicator(&b, "second").unwrap());
            assert_eq!(a.compare(&b), Comparison::Congruent);
            let (me, peer) = (world.rank(), 1 - world.rank());
            // Sent in one order and received in the other: each finds its own.
            let sent =
                [a.isend_owned(vec![me], peer, 0).unwrap(), b.isend_owned(vec![me + 10], peer, 0).unwrap()];
            assert_eq!(b.recv::<usize>(peer, 0).unwrap().0, peer + 10);
            assert_eq!(a.recv::<usize>(peer, 0).unwrap().0, peer);
            sent.into_iter().for_each(|sent| drop(sent.wait().unwrap()));
        })
        .unwrap();
}

#[test]
fn who_is_not_in_a_group_gets_an_error_and_holds_up_nobody() {
    run(2, |world| {
        let session = world.session();
        let first = session.group(ProcessSet::World).include(&[0]).unwrap();
        let made = session.communicator(&first, "one of us");
        match world.rank() {
            0 => assert_eq!(made.unwrap().size(), 1),
            _ => {
                let error = made.unwrap_err();
                assert!(error.to_string().contains("not in the group"), "{error}");
            }
        }
    })
    .unwrap();
}

#[test]
fn two_groups_of_a_session_are_connected() {
    run(5, |world| {
        let session = world.session();
        let all = session.group(ProcessSet::World);
        let (low, high) = (all.range(0, 1, 1).unwrap(), all.range(2, 4, 1).unwrap());
        let is_low = world.rank() < 2;
        // The leaders are rank 1 of the world and rank 4.
        let (mine, leader, theirs) = if is_low { (&low, 1, (&high, 2)) } else { (&high, 2, (&low, 1)) };
        let between = session.intercommunicator(mine, leader, theirs, "between").unwrap();
        assert_eq!(between.remote_size(), if is_low { 3 } else { 2 });
        let sum = between.allreduce(&world.rank(), op::sum()).unwrap();
        assert_eq!(sum, if is_low { 2 + 3 + 4 } else { 1 });

        let error = session.intercommunicator(mine, 7, theirs, "between").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rank);
        assert!(error.to_string().starts_with("leader is 7, expected a rank from 0 to "), "{error}");
    })
    .unwrap();
}

#[test]
fn a_session_outlives_the_communicator_that_it_was_made_beside() {
    run(2, |world| {
        let session = world.duplicate().unwrap().session();
        let group = session.group(ProcessSet::World);
        let comm = session.communicator(&group, "later").unwrap();
        session.communicator(&group, "at once").unwrap().barrier().unwrap();
        comm.barrier().unwrap();
        drop((comm, group));
        session.finalize().unwrap();
        world.barrier().unwrap();
    })
    .unwrap();
}

#[test]
fn ranks_of_a_program_share_its_memory_and_nothing_smaller() {
    run(4, |world| {
        let key = -(world.rank() as i32);
        for by in [
            SplitType::Shared,
            SplitType::HardwareGuided(Hardware::SharedMemory),
            SplitType::ResourceGuided(Resource::Hardware(Hardware::SharedMemory)),
            SplitType::ResourceGuided(Resource::ProcessSet(ProcessSet::World)),
        ] {
            let part = world.split_type(Some(by), key).unwrap().unwrap();
            assert_eq!((part.size(), part.rank()), (4, 3 - world.rank()), "{by:?}, ordered by key");
        }
        assert!(world.split_type(Some(SplitType::HardwareUnguided), 0).unwrap().is_none());
    })
    .unwrap();
}

#[test]
fn a_rank_that_gives_nothing_takes_part_and_gets_nothing() {
    let sizes = run(3, |world| {
        let by = (world.rank() != 1).then_some(SplitType::Shared);
        world.split_type(by, 0).unwrap().map(|part| part.size())
    });
    assert_eq!(sizes.unwrap(), [Some(2), None, Some(2)]);
}

#[test]
fn clusters_of_a_chip_are_the_parts_of_its_world() {
    let run = run_on("mesh16", 32, |world| {
        let cluster = world.split_type(Some(SplitType::HardwareUnguided), 0).unwrap().unwrap();
        assert_eq!(cluster.group(), world.session().group(ProcessSet::Shared));
        assert!(
            cluster.split_type(Some(SplitType::HardwareUnguided), 0).unwrap().is_none(),
            "no smaller part"
        );
        (cluster.size(), cluster.allreduce(&1usize, op::sum()).unwrap())
    });
    for (size, sum) in run.unwrap().values {
        assert!(size > 1 && size < 32, "{size}");
        assert_eq!(sum, size);
    }
}

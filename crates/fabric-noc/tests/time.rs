//! What virtual time means: the same on every run, moved by costs and waiting, and by nothing else.

use corelace_fabric_noc as fabric_noc;
use fabric::{Clock, Fabric, Idle, Lane, Mailbox, Memory as _, Node, Park, Signal, VirtualTime, Woke};
use fabric_local::{NoHooks, Outcome, Stall};
use fabric_noc::{Map, Memory, NocFabric, Options, Report, RunError, Software};
use sim::{CYCLE, Chip, Place};

fn andey() -> Chip {
    Chip::builtin("mppa256-andey").expect("it ships")
}

fn run<T>(options: &Options<'_>, body: impl Fn(NocFabric) -> T) -> Report<T> {
    fabric_noc::run(options, &NoHooks, &body).expect("the ranks fit")
}

fn receive(fabric: &NocFabric) -> [u64; 3] {
    let mut found = None;
    while found.is_none() {
        if fabric.poll(1, &mut |_, header, _| found = Some(*header)) == 0
            && fabric.park(0, Idle::UntilWoken) == Woke::Stalled
        {
            Stall::unwind();
        }
    }
    found.expect("a letter")
}

fn post(fabric: &NocFabric, to: u32) {
    while fabric.try_post(Node(to), &[0; 3], &[]).is_err() {
        if fabric.poll(1, &mut |_, _, _| ()) == 0 {
            fabric.park(0, Idle::Briefly);
        }
    }
}

/// Room that comes back between a refusal and the rest wakes nobody: the rank must not begin to rest.
#[test]
fn a_rank_whose_letter_was_refused_looks_again_if_room_came_back_before_it_parked() {
    for (name, map) in
        [("mppa256-andey", Map::Scatter), ("mppa256-bostan", Map::Scatter), ("mesh16", Map::Compact)]
    {
        let chip = Chip::builtin(name).expect("it ships");
        let report = run(&Options { map, ..Options::new(&chip, 2) }, |fabric| {
            const FULL: Lane = Lane(0);
            if fabric.me() == Node(0) {
                while fabric.try_post(Node(1), &[0; 3], &[]).is_ok() {}
                fabric.raise(Node(1), FULL).unwrap();
                // The other empties its mailbox during this call.
                fabric.copied(10_000_000);
                fabric.park(0, Idle::Briefly);
                assert_eq!(fabric.try_post(Node(1), &[1, 0, 0], &[]), Ok(()), "there was room long ago");
            } else {
                while fabric.raised(FULL) == 0 {
                    fabric.park(0, Idle::UntilWoken);
                }
                while receive(&fabric)[0] == 0 {}
            }
        });
        let stuck = report.outcomes.iter().position(|outcome| !matches!(outcome, Outcome::Ended(())));
        assert_eq!(stuck, None, "a rank of {name} waits for ever");
    }
}

#[test]
fn two_runs_have_the_same_trace_hash_and_others_have_not() {
    let chip = andey();
    let hash = |ranks: u32| {
        let options = Options { map: Map::Scatter, ..Options::new(&chip, ranks) };
        let report = run(&options, |fabric| {
            // Everybody floods everybody, so that the order of events is contested.
            let nodes = fabric.nodes();
            for turn in 0..40 {
                post(&fabric, (fabric.me().0 + turn) % nodes);
            }
            fabric.park(0, Idle::Briefly);
            while fabric.poll(100, &mut |_, _, _| ()) > 0 {}
        });
        report.stats.trace_hash
    };
    assert_eq!(hash(32), hash(32));
    assert_ne!(hash(32), hash(31));
}

#[test]
fn a_letter_takes_what_its_way_costs() {
    let chip = andey();
    let costs = chip.ipc(&chip.default_ipc).expect("a default").cluster;
    let options = Options { map: Map::Scatter, ..Options::new(&chip, 2) };
    let report = run(&options, |fabric| {
        if fabric.me() == Node(0) {
            post(&fabric, 1);
        } else {
            receive(&fabric);
        }
        fabric.now()
    });
    let times: Vec<u64> = report.outcomes.into_iter().map(Outcome::unwrap).collect();
    let post = costs.post;
    assert_eq!(times[0], post);
    let wire = times[1] - post - costs.agent - costs.take;
    assert!((10 * CYCLE..300 * CYCLE).contains(&wire), "a letter to the neighbour took {wire} on the wire");
}

#[test]
fn letters_are_written_and_read_byte_by_byte_and_overlap_only_in_two_buffers() {
    const LETTERS: u64 = 10;
    let chip = Chip::builtin("intel-scc").expect("it ships");
    let end = |ipc: &str| {
        let software = Software { ipc: ipc.into(), ..Software::default_of(&chip) };
        let costs = chip.ipc(ipc).expect("it is there").cluster;
        let payload = vec![7; costs.letter_payload as usize];
        let report = run(&Options { map: Map::Scatter, software, ..Options::new(&chip, 2) }, |fabric| {
            for _ in 0..LETTERS {
                if fabric.me() == Node(1) {
                    receive(&fabric);
                }
                while fabric.me() == Node(0) && fabric.try_post(Node(1), &[0; 3], &payload).is_err() {
                    fabric.park(0, Idle::Briefly);
                }
            }
            fabric.now()
        });
        let bytes = u64::from(costs.letter_payload);
        let (write, read) = (costs.letter_write.of(bytes), costs.letter_read.of(bytes));
        (report.outcomes.into_iter().map(Outcome::unwrap).max().unwrap(), write, read)
    };
    let (one_buffer, write, read) = end("rcce");
    assert!(one_buffer >= LETTERS * (write + read), "{one_buffer}: writing and reading take turns");
    let (two_buffers, write, read) = end("ircce");
    let beside = write + LETTERS * read;
    assert!((beside..beside + beside / 10).contains(&two_buffers), "{two_buffers}: the slower one counts");
}

#[test]
fn declared_work_takes_its_cycles_and_other_code_takes_none() {
    let chip = Chip::builtin("mesh16").expect("it ships");
    let report = run(&Options::new(&chip, 1), |fabric| {
        let sum: u64 = std::hint::black_box((0..100_000).sum());
        fabric.work(12_345, 1, false);
        (sum, fabric.now())
    });
    let (_, now) = report.outcomes.into_iter().next().expect("one rank").unwrap();
    assert_eq!(now, 12_345 * CYCLE);
    assert_eq!(report.stats.cycles(), 12_345);
}

#[test]
fn cores_of_a_team_work_side_by_side_and_cost_their_calling_and_the_barrier() {
    let chip = Chip::builtin("mesh16").expect("it ships");
    let alone = |cores| {
        let report = run(&Options::new(&chip, 1), move |fabric| {
            assert_eq!(fabric.cores(), 4);
            fabric.work(10_000, cores, false);
            fabric.now()
        });
        let cycles = report.stats.cycles();
        (cycles, report.stats.energy.cores)
    };
    let (one, one_energy) = alone(1);
    let (four, four_energy) = alone(4);
    let overhead = 3 * 20 + 100;
    assert_eq!((one, four), (10_000, 10_000 + overhead));
    let core_cycle = u128::from(chip.power.core_cycle);
    assert_eq!(one_energy, 10_000 * core_cycle);
    assert_eq!(four_energy, (4 * 10_000 + u128::from(overhead)) * core_cycle, "all cores take energy");
}

#[test]
fn ranks_of_a_cluster_share_its_cores_and_have_one_each_where_no_cost_is_said() {
    let mut chip = Chip::builtin("mesh16").expect("it ships");
    let cores = |chip: &Chip, ranks| {
        let report = run(&Options::new(chip, ranks), |fabric| fabric.cores());
        report.outcomes.into_iter().map(Outcome::unwrap).collect::<Vec<u32>>()
    };
    assert_eq!(cores(&chip, 2), [2, 2]);
    assert_eq!(cores(&chip, 3), [1, 1, 1]);
    chip.cluster.team = None;
    assert_eq!(cores(&chip, 1), [1]);
}

#[test]
fn a_waiting_rank_costs_no_turns_while_another_works() {
    let chip = andey();
    let options = Options { map: Map::Scatter, ..Options::new(&chip, 2) };
    let report = run(&options, |fabric| {
        if fabric.me() == Node(0) {
            fabric.work(1_000_000_000, 1, false);
            fabric.raise(Node(1), Lane(0)).unwrap();
        } else {
            while fabric.raised(Lane(0)) == 0 {
                fabric.park(0, Idle::UntilWoken);
            }
        }
    });
    assert!(report.stats.events < 10, "{} events for one signal", report.stats.events);
    assert!(report.stats.seconds() > 2.4, "1e9 cycles at 400 MHz");
}

#[test]
fn an_agent_is_called_for_a_letter_while_its_rank_works() {
    let chip = andey();
    let options = Options { map: Map::Scatter, ..Options::new(&chip, 2) };
    let report = run(&options, |fabric| {
        if fabric.me() == Node(0) {
            post(&fabric, 1);
            return (0, 0);
        }
        let mut handled = 0;
        let mut left = 100_000;
        while let fabric::Worked::Interrupted { left: rest } = fabric.work(left, 1, false) {
            fabric.as_agent(true);
            handled += fabric.poll(10, &mut |_, _, _| ());
            fabric.as_agent(false);
            left = rest;
        }
        (handled, fabric.now())
    });
    let outcomes: Vec<(usize, u64)> = report.outcomes.into_iter().map(Outcome::unwrap).collect();
    assert_eq!(outcomes[1], (1, 100_000 * CYCLE), "the core does not pay for its agent");
}

#[test]
fn ranks_that_wait_for_ever_are_stalled() {
    let chip = Chip::builtin("mesh16").expect("it ships");
    let report = run(&Options::new(&chip, 3), |fabric| {
        if fabric.me() != Node(2) {
            receive(&fabric);
        }
    });
    let stalled: Vec<bool> =
        report.outcomes.iter().map(|outcome| matches!(outcome, Outcome::Stalled)).collect();
    assert_eq!(stalled, [true, true, false]);
}

#[test]
fn the_first_letter_to_a_rank_pays_for_its_look_up() {
    let chip = Chip::builtin("mppa256-nanvix").expect("it ships");
    let software = Software { ipc: "nanvix".into(), name_service: true };
    let options = Options { map: Map::Scatter, software, ..Options::new(&chip, 2) };
    let report = run(&options, |fabric| {
        if fabric.me() == Node(0) {
            post(&fabric, 1);
            let first = fabric.now();
            post(&fabric, 1);
            return (first, fabric.now() - first);
        }
        receive(&fabric);
        receive(&fabric);
        (0, 0)
    });
    let (first, second) = report.outcomes.into_iter().next().expect("rank 0").unwrap();
    assert!(first > 3 * second, "cold {first}, warm {second}");
    assert_eq!(
        (report.stats.letters, report.stats.name_letters),
        (4 + 2, 4),
        "four messages of the look-up, two letters"
    );
}

#[test]
fn ranks_of_a_cluster_share_its_memory_and_others_do_not() {
    let chip = andey();
    let options = Options { memory: Memory::Bytes(1 << 20), ..Options::new(&chip, 13) };
    let report = run(&options, |fabric| {
        let taken = fabric.budget().reserve("test", 100_000).is_ok();
        fabric.park(0, Idle::Briefly);
        taken
    });
    let taken: Vec<bool> = report.outcomes.into_iter().map(Outcome::unwrap).collect();
    assert!(taken[..8].iter().all(|taken| *taken) && !taken[11], "{taken:?}");
    assert!(taken[12], "the second cluster has memory of its own");
    assert_eq!(report.memory.iter().map(|pad| pad.place).collect::<Vec<_>>(), [Place(0), Place(1)]);
}

#[test]
fn software_that_a_chip_does_not_have_is_refused_by_name() {
    let chip = Chip::builtin("mesh16").expect("it ships");
    let software = Software { ipc: "tcp".into(), name_service: false };
    let options = Options { software, ..Options::new(&chip, 1) };
    let error = fabric_noc::run(&options, &NoHooks, &|_| ()).expect_err("no such costs");
    assert!(matches!(error, RunError::Software { .. }));
    assert!(error.to_string().starts_with("the chip mesh16 has no costs named \"tcp\", expected one of: "));
}

#[test]
fn the_io_rank_starts_before_the_others() {
    let chip = andey();
    let order = std::cell::RefCell::new(Vec::new());
    run(&Options { io: true, ..Options::new(&chip, 3) }, |fabric| order.borrow_mut().push(fabric.me().0));
    assert_eq!(order.into_inner(), [3, 0, 1, 2]);
}

#[test]
fn a_transfer_that_ends_while_its_rank_is_about_to_park_wakes_it() {
    use fabric::{Audience, Delivery, Mover, Portal, Region, Shape};
    let chip = Chip::builtin("mesh16").expect("it ships");
    let report = run(&Options { map: Map::Scatter, ..Options::new(&chip, 2) }, |fabric| {
        let mut room = [0u8; 64];
        if fabric.me() == Node(1) {
            // SAFETY: the room outlives the exposure, and nobody reads it before the put is over.
            let key =
                unsafe { fabric.expose(Region::host(room.as_mut_ptr(), room.len()), Audience::One(Node(0))) };
            let key = key.expect("an exposure");
            fabric.try_post(Node(0), &[key.0[0], key.0[1], 0], &[]).expect("an empty mailbox");
            assert_eq!(receive(&fabric), [7, 0, 0]);
            return room[63];
        }
        let [base, length, _] = receive(&fabric);
        let (data, shape, target) = ([9u8; 64], Shape::contiguous(0, 64), fabric::Key([base, length, 0, 0]));
        let delivery = Delivery { mover: Mover::Dma, notice: Some([7, 0, 0]) };
        // SAFETY: the data outlives the ticket, and the peer exposes its room until it has the notice.
        let ticket = unsafe { fabric.put(Node(1), data.as_ptr(), &shape, &target, &shape, &delivery) };
        let ticket = ticket.expect("a put");
        while !fabric.done(ticket).unwrap() {
            // Long enough for the transfer to end between the look and the park.
            fabric.copied(100_000);
            fabric.park(0, Idle::Briefly);
        }
        9
    });
    assert!(report.outcomes.into_iter().all(|outcome| outcome.unwrap() == 9));
}

#[test]
fn the_barrier_of_a_machine_takes_its_time_whoever_comes_last() {
    let mut chip = andey();
    chip.barrier = Some(1000 * CYCLE);
    for ranks in [2, 16] {
        let options = Options { map: Map::Scatter, ..Options::new(&chip, ranks) };
        let report = run(&options, |fabric| {
            let barrier = fabric.world_barrier().expect("the machine has one");
            for turn in 1..=3 {
                let late = (fabric.me().0 + turn) % fabric.nodes();
                fabric.work(u64::from(late) * 100, 1, false);
                let meeting = barrier.arrive();
                while !barrier.passed(meeting) {
                    fabric.park(0, Idle::UntilWoken);
                }
            }
            fabric.now() / CYCLE
        });
        assert_eq!(report.stats.barriers, 3);
        let times: Vec<u64> = report.outcomes.into_iter().map(Outcome::unwrap).collect();
        assert_eq!(times, vec![3 * (1000 + u64::from(ranks - 1) * 100); ranks as usize]);
    }
}

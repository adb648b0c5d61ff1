//! Messages through ports of an operating system: calls, polling, the two gates, and what changes if the description does.

use corelace_fabric_noc as fabric_noc;
use fabric::{Clock, Fabric, Idle, Mailbox, Node, Park, PortStep, VirtualTime, Woke};
use fabric_local::{NoHooks, Outcome, Stall};
use fabric_noc::{Map, NocFabric, Options, Report, Software};
use sim::{CYCLE, Chip, Time};

fn nanvix() -> Chip {
    Chip::builtin("mppa256-nanvix").expect("it ships")
}

fn run<T>(chip: &Chip, ranks: u32, map: Map, body: impl Fn(NocFabric) -> T) -> Report<T> {
    let software = Software { ipc: "nanvix".into(), name_service: false };
    let options = Options { map, software, ..Options::new(chip, ranks) };
    fabric_noc::run(&options, &NoHooks, &body).expect("the ranks fit")
}

/// What the ranks of a run say, in their order.
fn results<T>(report: Report<T>) -> Vec<T> {
    report.outcomes.into_iter().map(Outcome::unwrap).collect()
}

/// The next letter's number.
fn receive(fabric: &NocFabric) -> u64 {
    let mut found = None;
    while found.is_none() {
        if fabric.poll(1, &mut |_, header, _| found = Some(header[0])) == 0
            && fabric.park(0, Idle::UntilWoken) == Woke::Stalled
        {
            Stall::unwind();
        }
    }
    found.expect("a letter")
}

fn post(fabric: &NocFabric, to: u32, number: u64) {
    fabric.try_post(Node(to), &[number, 0, 0], &[]).expect("room in the mailbox");
}

/// Long after everything that was begun before.
const LATER: u64 = 10_000_000;

/// The time of a post by rank 0, while all others wait, after they have made this step.
fn post_while_others_wait(chip: &Chip, others: u32, step: Option<PortStep>) -> Time {
    let report = run(chip, 1 + others, Map::Compact, |fabric| {
        if fabric.me() != Node(0) {
            if let Some(step) = step {
                fabric.port(step);
            }
            receive(&fabric);
            return 0;
        }
        fabric.work(LATER, 1, false);
        let begin = fabric.now();
        post(&fabric, 1, 0);
        let duration = fabric.now() - begin;
        for other in 2..=others {
            post(&fabric, other, 0);
        }
        duration
    });
    results(report)[0]
}

#[test]
fn a_call_waits_for_half_a_round_of_those_who_ask_by_hand() {
    let chip = nanvix();
    let call = chip.ipc("nanvix").unwrap().cluster.kernel;
    for others in [1, 4, 11] {
        let time = post_while_others_wait(&chip, others, Some(PortStep::Raw(0)));
        assert_eq!(time, call + Time::from(others) * call / 2, "{others} others");
    }
}

#[test]
fn of_those_who_wait_for_requests_one_reads_the_inbox_and_one_call_hands_over_the_lock() {
    let chip = nanvix();
    let call = chip.ipc("nanvix").unwrap().cluster.kernel;
    for (others, askers) in [(1, 1), (2, 1), (3, 2), (11, 2)] {
        let time = post_while_others_wait(&chip, others, None);
        assert_eq!(time, call + askers * call / 2, "{others} others");
    }
}

#[test]
fn a_cluster_has_sixteen_slots_for_local_messages() {
    let report = run(&nanvix(), 1, Map::Compact, |fabric| {
        let granted = (0..17).filter(|_| fabric.port(PortStep::SendNear)).count();
        let calls = fabric.now();
        assert!(!fabric.port(PortStep::SendNear), "none is free");
        assert_eq!(fabric.now(), calls, "who finds none makes no call");
        fabric.port(PortStep::SentNear);
        (granted, fabric.port(PortStep::SendNear))
    });
    assert_eq!(results(report), [(16, true)]);
}

/// The header of a grant, and of another letter.
const GRANT: [u64; 3] = [1, 1, 0];
const OTHER: u64 = 7;

#[test]
fn a_cluster_receives_one_remote_message_at_a_time() {
    // Ranks 0 and 2 share the first cluster, 1 is on the second: two ranks a cluster of a chip with two.
    let mut chip = nanvix();
    chip.positions.truncate(2);
    let grant = |fabric: &NocFabric| {
        fabric.port(PortStep::Confirm(Node(1), GRANT));
        while fabric.try_post(Node(1), &GRANT, &[]).is_err() {
            fabric.park(0, Idle::Briefly);
        }
    };
    let report = run(&chip, 4, Map::Scatter, |fabric| match fabric.me() {
        Node(0) => {
            grant(&fabric);
            fabric.work(LATER, 1, false);
            fabric.port(PortStep::Acknowledged(Node(1)));
            (0, 0)
        }
        Node(2) => {
            fabric.work(LATER / 2, 1, false);
            grant(&fabric);
            // What is not the grant passes, although a mailbox has room for one letter of the cluster's.
            post(&fabric, 1, OTHER);
            let posted = fabric.now();
            fabric.work(LATER, 1, false);
            fabric.port(PortStep::Acknowledged(Node(1)));
            (posted, 0)
        }
        Node(1) => {
            assert_eq!((receive(&fabric), receive(&fabric)), (GRANT[0], OTHER));
            let other = fabric.now();
            assert_eq!(receive(&fabric), GRANT[0]);
            (other, fabric.now())
        }
        _ => (0, 0),
    });
    let times = results(report);
    assert!(times[2].0 < LATER * CYCLE, "whoever waits at the gate does not wait in the call");
    assert!(times[1].0 < LATER * CYCLE && times[1].1 > LATER * CYCLE, "{:?}", times[1]);
}

#[test]
fn the_calls_of_a_step_are_counted_and_take_their_time() {
    let chip = nanvix();
    let call = chip.ipc("nanvix").unwrap().cluster.kernel;
    for (step, calls) in [
        (PortStep::SendFar, 5),
        (PortStep::SentFar, 3),
        (PortStep::SendNear, 2),
        (PortStep::SentNear, 1),
        (PortStep::Confirm(Node(0), GRANT), 2),
        (PortStep::Acknowledged(Node(0)), 1),
        (PortStep::Raw(3), 3),
    ] {
        let report = run(&chip, 1, Map::Compact, |fabric| {
            fabric.port(step);
            fabric.now()
        });
        assert_eq!(report.stats.calls, calls, "{step:?}");
        assert_eq!(results(report)[0], calls * call, "{step:?}");
    }
}

#[test]
fn waiting_for_requests_spins_and_asking_by_hand_sleeps() {
    let energy = |step: Option<PortStep>| {
        let report = run(&nanvix(), 12, Map::Compact, |fabric| {
            if fabric.me() != Node(0) {
                if let Some(step) = step {
                    fabric.port(step);
                }
                receive(&fabric);
                return;
            }
            fabric.work(LATER, 1, false);
            (1..12).for_each(|other| post(&fabric, other, 0));
        });
        report.stats.energy.cores
    };
    // Rank 0 and the system core work all the time; of eleven that wait for requests, ten spin.
    let ratio = energy(None) as f64 / energy(Some(PortStep::Raw(0))) as f64;
    assert!((ratio - 12.0 / 2.0).abs() < 0.1, "{ratio}");
}

/// What-ifs of a message without data: a number of the description changes, and the time by so much.
#[test]
fn what_a_message_takes_follows_the_numbers_of_its_description() {
    let time = |changes: &[(&str, &str)]| {
        let text = sim::chip::BUILTIN.iter().find(|(name, _)| *name == "mppa256-nanvix").unwrap().1;
        let text = sim::chip::changed(text, &nanvix().facts, changes).unwrap();
        let chip = Chip::from_toml(&text, "changed.toml").unwrap();
        let report = run(&chip, 2, Map::Scatter, |fabric| {
            if fabric.me() == Node(0) {
                post(&fabric, 1, 0);
                receive(&fabric);
            } else {
                receive(&fabric);
                post(&fabric, 0, 0);
            }
            fabric.now()
        });
        let nanoseconds = |ticks: u64| ticks as f64 * 1e9 / chip.ticks_per_second() as f64;
        nanoseconds(results(report)[0])
    };
    let (shipped, cycle) = (time(&[]), 2.5);
    // There and back: a call to post and one to take each way, and on one way the waiting rank asks beside nobody.
    let dearer = time(&[("ipc.nanvix.cluster.kernel", "2520")]);
    assert!(
        (dearer - shipped - 4.0 * 1000.0 * cycle).abs() < 1.0,
        "a call dearer by 1000 cycles: {dearer} for {shipped}"
    );
    let faster = time(&[("clock.frequency", "800")]);
    assert!((faster - shipped / 2.0).abs() < 1.0, "twice the clock: {faster} for {shipped}");
    let further = time(&[("network.control.router", "107")]);
    assert!(
        (further - shipped - 2.0 * 2.0 * 100.0 * cycle).abs() < 1.0,
        "routers slower by 100 cycles: {further} for {shipped}"
    );
    let wider = time(&[("network.control.link", "8"), ("network.control.flit", "8")]);
    assert!(wider < shipped, "links twice as wide: {wider} for {shipped}");
    let unheard = time(&[("cluster.scratchpad", "4"), ("cluster.usable", "3")]);
    assert!((unheard - shipped).abs() < 1e-9, "more memory changes no time");
}

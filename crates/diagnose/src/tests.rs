//! Hand-made pictures of jobs, and any pictures at all.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::graph::edges;
use crate::words::doing;
use crate::*;

fn job(states: Vec<State>) -> Job {
    Job { ranks: states }
}

fn waits(call: &str, awaited: Vec<Operation>) -> Statement {
    Statement { call: call.into(), awaited, site: "/home/user/heat+0x11d2".into(), ..Statement::default() }
}

fn waiting(statement: Statement) -> State {
    State::Waiting(Box::new(statement))
}

fn operation(kind: Kind, peer: impl Into<Option<u32>>, tag: impl Into<Option<i32>>) -> Operation {
    let peer = peer.into();
    Operation { kind, comm: 0, collective: false, peer, peer_rank: peer, tag: tag.into(), bytes: 4 }
}

fn receive(peer: u32, tag: i32) -> State {
    waiting(waits("MPI_Recv", vec![operation(Kind::Receive, peer, tag)]))
}

fn send(peer: u32, bytes: u64) -> State {
    waiting(waits("MPI_Send", vec![Operation { bytes, ..operation(Kind::Send, peer, 3) }]))
}

fn in_collective(call: &str, comm: u32, members: &[(u32, u32)]) -> State {
    let name = call.trim_start_matches("MPI_").to_lowercase();
    let collective = Some(Collective { name, comm, number: 4, bytes: None, members: members.to_vec() });
    waiting(Statement { collective, ..waits(call, vec![]) })
}

fn said(job: &Job, wanted: &[&str]) {
    let text = report(job, "hang");
    for words in wanted {
        assert!(text.contains(words), "expected {words:?} in:\n{text}");
    }
    assert!(text.lines().count() <= 40, "{text}");
}

#[test]
fn two_receives_that_face_each_other_are_a_cycle() {
    let job = job(vec![receive(1, 0), receive(0, 0)]);
    assert_eq!(cycle(&job), [0, 1]);
    said(
        &job,
        &[
            "ranks 0 and 1 wait for each other: each wants to receive before it sends",
            "rank 0 is in MPI_Recv and waits for a message from rank 1 with tag 0 (heat+0x11d2)",
        ],
    );
}

/// A rank that waits for messages from these ranks, with tags from 0.
fn receives(call: &str, first_suffices: bool, peers: &[u32]) -> State {
    let awaited = (0..).zip(peers).map(|(tag, peer)| operation(Kind::Receive, *peer, tag)).collect();
    waiting(Statement { first_suffices, ..waits(call, awaited) })
}

#[test]
fn a_wait_for_all_names_what_is_missing_and_gives_a_cycle_through_any_of_it() {
    let far = receive(0, 7);
    let busy = State::Computing;
    let job = job(vec![receives("MPI_Waitall", false, &[2, 2, 3, 2, 2, 2]), busy.clone(), busy, far]);
    assert_eq!(cycle(&job), [0, 3]);
    said(
        &job,
        &[
            "rank 0 is in MPI_Waitall and waits for a message from rank 2 with tag 0, a message from rank 2 with tag 1, a message from \
             rank 3 with tag 2, a message from rank 2 with tag 3 and 2 more (heat",
        ],
    );
}

#[test]
fn a_wait_for_the_first_is_in_a_cycle_only_if_none_of_them_can_come() {
    let waiter = || receives("MPI_Waitany", true, &[1, 2]);
    assert_eq!(cycle(&job(vec![waiter(), receive(0, 1), State::Computing])), [0u32; 0]);
    assert_eq!(cycle(&job(vec![waiter(), receive(0, 1), receive(3, 1), State::Computing])), [0u32; 0]);
    let stuck = job(vec![waiter(), receive(0, 1), receive(0, 1)]);
    assert_eq!(cycle(&stuck), [0, 1]);
    said(
        &stuck,
        &[
            "rank 0 is in MPI_Waitany and waits for the first of: a message from rank 1 with tag 0, a message from rank 2",
        ],
    );
    let hopeful = job(vec![
        receives("MPI_Waitany", true, &[1, 2]),
        receives("MPI_Waitany", true, &[0, 2]),
        State::Early,
    ]);
    assert_eq!(cycle(&hopeful), [0u32; 0]);
    assert_eq!(
        cycle(&job(vec![receives("MPI_Waitany", true, &[1, 1]), receives("MPI_Waitany", true, &[0, 0])])),
        [0, 1]
    );
}

#[test]
fn a_wait_for_a_collective_and_a_message_names_both() {
    let collective =
        Some(Collective { name: "barrier".into(), comm: 0, members: vec![], bytes: None, number: 0 });
    let inner = Operation { collective: true, ..operation(Kind::Receive, 1, 0) };
    let both = waits("MPI_Waitall", vec![inner, operation(Kind::Receive, 2, 5)]);
    let job = job(vec![waiting(Statement { collective, ..both }), State::Computing, receive(0, 9)]);
    assert_eq!(cycle(&job), [0, 2]);
    said(
        &job,
        &[
            "rank 0 is in MPI_Waitall for a non-blocking barrier on MPI_COMM_WORLD and a message from rank 2 with tag 5",
        ],
    );
}

#[test]
fn how_long_ranks_have_waited_is_told_and_does_not_tear_groups_apart() {
    let since = |quiet| waiting(Statement { quiet, ..waits("MPI_Barrier", vec![]) });
    let told = table(&job(vec![since(3000), since(12_900)]));
    assert!(told.ends_with("(heat+0x11d2), for 3 to 12 s\n"), "{told}");
    let told = table(&job(vec![since(12_000), since(12_900)]));
    assert!(told.ends_with("(heat+0x11d2), for 12 s\n"), "{told}");
    assert!(table(&job(vec![since(999)])).ends_with("(heat+0x11d2)\n"));
    assert!(json(&job(vec![since(1500)])).contains("\"waiting_seconds\":1.5"));
}

#[test]
fn large_sends_that_face_each_other_would_need_buffering() {
    let job = job(vec![send(1, 1 << 20), send(0, 1 << 20)]);
    said(&job, &["too large to be buffered", "waits for rank 1 to receive 1048576 bytes with tag 3"]);
}

#[test]
fn a_long_cycle_is_named_by_its_beginning_and_its_ranks_are_grouped() {
    let job = job((0..1000).map(|rank| receive((rank + 1) % 1000, 5)).collect());
    said(
        &job,
        &[
            "1000 ranks wait in a circle: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> ... -> 0",
            "ranks 0-999 are in MPI_Recv and wait for a message from a rank with tag 5 (heat+0x11d2)",
        ],
    );
}

#[test]
fn the_one_that_did_not_come_to_a_collective_is_named_with_what_it_does() {
    let world = |call| in_collective(call, 0, &[]);
    let absent = job(vec![world("MPI_Barrier"), world("MPI_Barrier"), world("MPI_Barrier"), receive(0, 5)]);
    said(
        &absent,
        &[
            "ranks 0-2 are in MPI_Barrier on MPI_COMM_WORLD, but not all its members are: rank 3 is in MPI_Recv and waits \
           for a message from rank 0 with tag 5",
        ],
    );
    let ended = job(vec![world("MPI_Barrier"), State::Ended]);
    said(
        &ended,
        &["rank 0 is in MPI_Barrier on MPI_COMM_WORLD, but not all its members are: rank 1 has ended"],
    );
    let busy = job(vec![world("MPI_Barrier"), State::Computing, State::Computing]);
    said(&busy, &["ranks 1 and 2 compute: they do not wait in MPI"]);
}

#[test]
fn members_that_disagree_about_the_size_of_a_collective_are_told_apart() {
    let with = |bytes| {
        let mut state = in_collective("MPI_Bcast", 0, &[]);
        if let State::Waiting(statement) = &mut state
            && let Some(collective) = &mut statement.collective
        {
            collective.bytes = Some(bytes);
        }
        state
    };
    let odd = job(vec![with(4096), with(4096), with(0), with(4096)]);
    let words = "the members of MPI_Bcast on MPI_COMM_WORLD disagree about its size: ranks 0, 1 and 3 have 4096 bytes; rank 2 has 0 bytes";
    said(&odd, &[words]);
    let one_has_left = job(vec![with(4096), with(8), State::Computing]);
    said(&one_has_left, &["rank 0 has 4096 bytes; rank 1 has 8 bytes", "rank 2 computes"]);
    // The number tells the call that it has been through from others of the same name.
    let gone_on = |number| {
        let mut state = receive(0, 1);
        if let State::Waiting(statement) = &mut state {
            let State::Waiting(inside) = with(100) else { unreachable!("it waits") };
            statement.passed = inside.collective.map(|collective| Collective { number, ..collective });
        }
        state
    };
    let smaller = job(vec![with(4096), gone_on(4), with(4096)]);
    said(&smaller, &["disagree about its size: ranks 0 and 2 have 4096 bytes; rank 1 has 100 bytes"]);
    assert!(!report(&smaller, "").contains("in one order"));
    let before = job(vec![with(4096), gone_on(3), with(4096)]);
    assert!(!report(&before, "").contains("disagree"));
    let agreed = job(vec![with(8), with(8)]);
    assert!(!report(&agreed, "").contains("disagree"));
}

#[test]
fn different_collectives_on_one_communicator_are_one_finding() {
    let world = |call| in_collective(call, 0, &[]);
    let job = job(vec![world("MPI_Bcast"), world("MPI_Barrier"), world("MPI_Bcast")]);
    said(
        &job,
        &["rank 1 is in MPI_Barrier on MPI_COMM_WORLD", "ranks 0 and 2 are in MPI_Bcast", "in one order"],
    );
    assert_eq!(findings(&job).iter().filter(|text| text.contains("in one order")).count(), 1);
}

#[test]
fn members_of_a_smaller_communicator_are_looked_for_among_themselves() {
    let mut evens = in_collective("MPI_Allreduce", 6, &[(0, 0), (2, 2)]);
    if let State::Waiting(statement) = &mut evens {
        statement.names = vec![(6, "evens".into())];
    }
    let complete = job(vec![evens.clone(), receive(0, 1), evens.clone()]);
    assert!(!report(&complete, "").contains("not all its members"));
    let lacking = job(vec![evens, receive(0, 1), receive(0, 1)]);
    said(
        &lacking,
        &["rank 0 is in MPI_Allreduce on evens, but not all its members are: rank 2 is in MPI_Recv"],
    );
}

#[test]
fn a_receive_whose_persistent_send_is_not_started_names_that_request() {
    let idle = |to, tag| Statement {
        offered: vec![operation(Kind::Unstarted, to, tag)],
        ..waits("MPI_Barrier", vec![operation(Kind::Receive, 1, 99)])
    };
    let words = "rank 1 waits for a message from rank 0 with tag 6; rank 0 has a persistent request for a send of 4 bytes to \
                 rank 1 with tag 6 that is not started (MPI_Start)";
    said(&job(vec![waiting(idle(1, 6)), receive(0, 6)]), &[words]);
    for other in [idle(1, 7), idle(2, 6), Statement { offered: vec![], ..idle(1, 6) }] {
        assert!(!report(&job(vec![waiting(other), receive(0, 6)]), "").contains("persistent"));
    }
}

fn holding(wanted: Operation, held: Operation) -> Job {
    let first = Statement { held: vec![held], ..waits("MPI_Recv", vec![wanted]) };
    job(vec![waiting(first), in_collective("MPI_Barrier", 0, &[]), State::Computing])
}

#[test]
fn a_message_that_differs_in_one_thing_is_the_nearest_miss() {
    let wanted = operation(Kind::Receive, 1, 7);
    let message = |peer, tag| operation(Kind::Message, peer, tag);
    said(
        &holding(wanted, message(1, 8)),
        &[
            "rank 0 waits for a message from rank 1 with tag 7; rank 1 has sent 4 bytes with tag 8, which nobody receives",
        ],
    );
    said(
        &holding(wanted, message(2, 7)),
        &["; a message with tag 7 has come from rank 2, which nobody receives"],
    );
    said(
        &holding(wanted, Operation { comm: 6, ..message(1, 7) }),
        &[
            "with tag 7 on MPI_COMM_WORLD; rank 1 has sent 4 bytes with tag 7 on communicator 6, which nobody receives there",
        ],
    );
    let far = holding(wanted, message(2, 9));
    said(&far, &["rank 0 has not received a message: 4 bytes from rank 2 with tag 9"]);
    assert!(!report(&far, "").contains("which nobody"));
}

#[test]
fn those_who_wait_for_one_that_has_left_are_told_so() {
    let gone = job(vec![receive(2, 0), send(2, 1 << 20), State::Finalized]);
    said(
        &gone,
        &[
            "rank 0 waits for rank 2 to send something, but rank 2 has left MPI_Finalize",
            "rank 1 waits for rank 2 to receive its message, but rank 2 has left MPI_Finalize",
        ],
    );
    let leaving = job(vec![receive(1, 0), in_collective("MPI_Finalize", 0, &[])]);
    said(&leaving, &["rank 0 waits for rank 1 to send something, but rank 1 is in MPI_Finalize"]);
}

#[test]
fn a_receive_from_anybody_is_no_edge_and_neither_is_one_of_several() {
    let any =
        job(vec![waiting(waits("MPI_Recv", vec![operation(Kind::Receive, None, None)])), receive(0, 0)]);
    assert!(cycle(&any).is_empty());
    said(&any, &["a message from any rank with any tag"]);
    let both = vec![operation(Kind::Receive, 1, 0), operation(Kind::Receive, 2, 0)];
    let one_of = Statement { first_suffices: true, ..waits("MPI_Waitany", both.clone()) };
    let some = job(vec![waiting(one_of), receive(0, 0), State::Computing]);
    assert!(cycle(&some).is_empty());
    said(
        &some,
        &[
            "is in MPI_Waitany and waits for the first of: a message from rank 1 with tag 0, a message from rank 2",
        ],
    );
    let all = job(vec![waiting(waits("MPI_Waitall", both)), receive(0, 0), State::Computing]);
    assert_eq!(cycle(&all), [0, 1]);
}

#[test]
fn one_that_polls_is_told_so_and_a_probe_is_called_by_its_name() {
    let asks = Statement { polls: true, ..waits("MPI_Test", vec![operation(Kind::Receive, 1, 0)]) };
    let probes = waits("MPI_Probe", vec![operation(Kind::Probe, 0, 4)]);
    said(
        &job(vec![waiting(asks), waiting(probes)]),
        &[
            "rank 0 asks again and again by MPI_Test for a message from rank 1 with tag 0",
            "rank 1 is in MPI_Probe and waits for a message from rank 0 with tag 4",
            "may go on by itself",
        ],
    );
}

#[test]
fn a_wait_for_oneself_is_the_shortest_cycle() {
    let job = job(vec![receive(1, 0), receive(2, 0), receive(2, 1)]);
    assert_eq!(cycle(&job), [2]);
    said(&job, &["rank 2 waits for itself"]);
}

#[test]
fn forms_for_programs_tell_the_same() {
    let job = job(vec![receive(1, 0), receive(0, 0), State::Ended]);
    let value: serde_json::Value = serde_json::from_str(&json(&job)).unwrap();
    assert_eq!(value["cycle"], serde_json::json!([0, 1]));
    assert_eq!(value["ranks"][0]["awaited"][0]["peer"], 1);
    assert_eq!(value["ranks"][0]["site"], "/home/user/heat+0x11d2");
    assert_eq!(value["ranks"][2]["state"], "ended");
    let drawn = dot(&job);
    assert!(drawn.contains("0 -> 1 [label=\"receive\", color=red];"), "{drawn}");
    assert!(drawn.contains("0 [label=\"rank 0\\nis in MPI_Recv"), "{drawn}");
}

#[test]
fn programs_are_told_all_that_a_rank_said_of_its_wait() {
    let call = "MPI_\"Wait\"\n\u{1} \\ Wärme";
    let collective =
        Some(Collective { name: "bcast".into(), comm: 0, number: 4, bytes: Some(8), members: vec![] });
    let awaited = vec![operation(Kind::Receive, 1, None), operation(Kind::Send, None, -3)];
    let statement = Statement { collective, quiet: 2250, held_more: 7, ..waits(call, awaited) };
    let job = job(vec![waiting(statement), State::Computing]);
    let value: serde_json::Value = serde_json::from_str(&json(&job)).unwrap();
    let operation = |kind, peer, tag| {
        serde_json::json!({
            "kind": kind, "comm": "MPI_COMM_WORLD", "context": 0, "collective": false, "peer": peer,
            "peer_in_comm": peer, "tag": tag, "bytes": 4,
        })
    };
    let (receive, send) = (operation("receive", Some(1), None), operation("send", None, Some(-3)));
    let expected = serde_json::json!({
        "findings": findings(&job),
        "cycle": [],
        "ranks": [
            {
                "rank": 0, "state": "waiting", "words": doing(&job, 0, false), "call": call,
                "site": "/home/user/heat+0x11d2", "waiting_seconds": 2.25,
                "collective": { "name": "bcast", "comm": "MPI_COMM_WORLD" }, "first_suffices": false,
                "awaited": [receive, send], "awaited_more": 0, "held": [], "held_more": 7, "offered": [],
                "offered_more": 0,
            },
            { "rank": 1, "state": "computing", "words": doing(&job, 1, false) },
        ],
    });
    assert_eq!(value, expected);
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let kinds = prop::sample::select(vec![
        Kind::Receive,
        Kind::Probe,
        Kind::Send,
        Kind::Message,
        Kind::Transfer,
        Kind::Post,
        Kind::Complete,
        Kind::Unstarted,
    ]);
    let peers = (prop::option::of(0..12u32), prop::option::of(0..12u32));
    (kinds, 0..4u32, any::<bool>(), peers, prop::option::of(0..3i32)).prop_map(
        |(kind, comm, collective, (peer, peer_rank), tag)| Operation {
            kind,
            comm,
            collective,
            peer,
            peer_rank,
            tag,
            bytes: 8,
        },
    )
}

fn any_state() -> impl Strategy<Value = State> {
    let runs = vec((0..12u32, any::<u32>()), 0..3);
    let collective =
        (prop::sample::select(vec!["barrier", "bcast"]), 0..4u32, runs).prop_map(|(name, comm, members)| {
            Collective { name: name.into(), comm, number: 4, bytes: None, members }
        });
    let lists = (vec(any_operation(), 0..4), vec(any_operation(), 0..4), vec(any_operation(), 0..4));
    let calls = prop::sample::select(vec!["", "MPI_Recv", "MPI_Wait", "MPI_Barrier", "MPI_Finalize"]);
    let flags = any::<(bool, bool, bool)>();
    let waits = (calls, flags, lists, prop::option::of(collective), any::<u32>()).prop_map(
        |(call, flags, lists, collective, more)| {
            let (awaited, held, offered) = lists;
            waiting(Statement {
                polls: flags.0,
                first_suffices: flags.1,
                leaving: flags.2,
                awaited_more: more,
                held_more: more,
                held,
                offered,
                collective,
                ..waits(call, awaited)
            })
        },
    );
    prop_oneof![
        5 => waits,
        1 => Just(State::Early),
        1 => Just(State::Computing),
        1 => Just(State::Stopped),
        1 => Just(State::Finalized),
        1 => Just(State::Ended),
    ]
}

proptest! {
    #[test]
    fn any_picture_yields_a_report_of_bounded_length(states in vec(any_state(), 0..10)) {
        let job = job(states);
        prop_assert!(report(&job, "hang").lines().count() <= 45);
        let _: serde_json::Value = serde_json::from_str(&json(&job)).unwrap();
        dot(&job);
    }

    #[test]
    fn a_cycle_that_is_named_is_one(states in vec(any_state(), 0..10)) {
        let job = job(states);
        let (cycle, edges) = (cycle(&job), edges(&job));
        for (at, rank) in cycle.iter().enumerate() {
            let next = cycle[(at + 1) % cycle.len()];
            prop_assert!(edges[*rank as usize].iter().any(|(to, _)| *to == next));
        }
    }
}

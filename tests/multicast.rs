//! Broadcasts by a chip's own multicast: faster than messages by what the network saves, the same run every time, and only where they are asked for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::chips::stats;
use crate::support::job::{Ended, Job};
use crate::support::{compiled, corelace, mpirun, root, scratch};

/// Broadcasts from one cluster to fifteen others.
fn broadcast(chip: &Path, flags: &[&str]) -> Job {
    let program = compiled(&root().join("apps/bcast.c"));
    let chip = chip.to_str().expect("a name in letters");
    mpirun(["--chip", chip, "-n", "16", "--map", "scatter", "--stats=json"])
        .arguments(flags)
        .argument(program)
        .argument("--repeat")
        .argument("2")
}

/// Cycles of the short broadcast and of the long one.
fn cycles(ended: &Ended) -> [f64; 2] {
    let of = |line: &str| {
        assert!(line.contains("result=ok"), "{line}");
        let word = line.split_whitespace().find_map(|word| word.strip_prefix("cycles="));
        word.expect("cycles").parse().expect("a number")
    };
    let lines: Vec<f64> = ended.stdout.lines().map(of).collect();
    lines.try_into().expect("two lines")
}

/// The chip as it is described, and without the sections that say what multicast costs.
fn descriptions() -> [PathBuf; 2] {
    let text = fs::read_to_string(root().join("chips/mppa256-andey.toml")).expect("a description");
    let mut left = true;
    let bare: Vec<&str> = text
        .lines()
        .filter(|line| {
            if line.starts_with('[') {
                left = !line.ends_with(".multicast]");
            }
            left
        })
        .collect();
    assert!(bare.len() < text.lines().count());
    let file = scratch("multicast").join("bare.toml");
    fs::write(&file, bare.join("\n")).expect("room for a copy");
    [PathBuf::from("mppa256-andey"), file]
}

#[test]
fn a_broadcast_by_multicast_is_faster_than_messages_by_what_the_network_saves() {
    let [andey, bare] = descriptions();
    let by_multicast = broadcast(&andey, &["--multicast"]).run().expect_success();
    let again = broadcast(&andey, &["--multicast"]).run().expect_success();
    assert_eq!(stats(&by_multicast)["trace_hash"], stats(&again)["trace_hash"], "two runs are the same run");
    let by_messages = broadcast(&bare, &[]).run().expect_success();
    let unasked = broadcast(&andey, &[]).run().expect_success();
    assert_eq!(
        stats(&by_messages)["trace_hash"],
        stats(&unasked)["trace_hash"],
        "who does not ask for it has a chip without it"
    );
    let ([short, long], [short_messages, long_messages]) = (cycles(&by_multicast), cycles(&by_messages));
    // One letter instead of four that follow each other: post, resource manager and mailbox of three of them.
    let letter = 3800.0 + 4800.0 + 4000.0;
    assert!(
        short_messages - short > 2.0 * letter,
        "{short} cycles by multicast, {short_messages} by messages"
    );
    // The bytes move once, at 0.27 cycles each, after a word of each of fifteen clusters, instead of four times in a row, each time after a set-up.
    let (bytes, words, set_up) = (65536.0 * 0.27, letter + 4000.0 + 14.0 * 4800.0, 16885.0);
    assert!(long_messages > 4.0 * (set_up + bytes), "{long_messages} by messages");
    assert!(long < 1.05 * (words + set_up + 500.0 + bytes), "{long} cycles by multicast");
    assert!(long < long_messages, "{long} cycles by multicast, {long_messages} by messages");
}

#[test]
fn multicast_that_a_chip_does_not_have_is_refused_and_one_that_it_has_is_seen_in_traces() {
    let [andey, bare] = descriptions();
    let expected = ["--multicast with --chip", "its description has no [network.data.multicast]"];
    broadcast(&bare, &["--multicast"]).run().expect_code(127).expect_said(&expected);
    let file = scratch("multicast").join("bcast.trace");
    let name = file.to_str().expect("a name in letters");
    broadcast(&andey, &["--multicast", "--trace", name]).run().expect_success();
    let report = corelace(["report", "--text", name]).run().expect_success().stdout;
    assert!(report.contains("multicast"), "{report}");
}

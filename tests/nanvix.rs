//! LWMPI under its operating system on a simulated chip: programs find there what they find on the host, and other numbers of the description change
//! what they take as they should.

use std::fs;
use std::path::Path;

use crate::apps::{app, lines, word};
use crate::support::{mpirun, root, scratch};

const CHIP: &str = "mppa256-nanvix";

/// The line that a program prints on a chip.
fn on_chip(chip: &str, protocol: &str, ranks: &str, program: &Path, words: &[&str]) -> String {
    let job =
        mpirun(["--chip", chip, "-n", ranks, "--protocol", protocol]).argument(program).arguments(words);
    job.run().expect_success().stdout.lines().next().expect("a line").to_owned()
}

/// A file in which a number of the chip has another value.
fn changed(name: &str, old: &str, new: &str) -> String {
    let text = fs::read_to_string(root().join(format!("chips/{CHIP}.toml"))).expect("it ships");
    assert!(text.contains(old), "no {old}");
    let file = scratch("nanvix").join(format!("{name}.toml"));
    fs::write(&file, text.replace(old, new)).expect("a file");
    file.to_str().expect("a name").to_owned()
}

#[test]
fn programs_find_by_lwmpi_and_by_hand_what_they_find_on_the_host() {
    for (name, words) in
        [("fn", ["--scale", "0.05"]), ("gf", ["--scale", "0.002"]), ("km", ["--scale", "0.05"])]
    {
        let program = app(name);
        let host = lines("fiber", 24, &program, &words).concat();
        for (protocol, by_hand) in [("lwmpi", ""), ("lwmpi-unopt", ""), ("lwmpi", "--ipc")] {
            let more: Vec<&str> =
                words.iter().copied().chain((!by_hand.is_empty()).then_some(by_hand)).collect();
            let line = on_chip(CHIP, protocol, "24", &program, &more);
            assert_eq!(word(&line, "check"), "passed", "{line}");
            assert_eq!(word(&line, "result"), word(&host, "result"), "{line}");
            assert_eq!(on_chip(CHIP, protocol, "24", &program, &more), line, "another time");
        }
    }
}

/// The gain of the local slot in K-means on one cluster, by what a call costs: none if calls are nearly free, and more and more the dearer they are.
#[test]
fn the_gain_of_the_local_slot_is_that_of_fewer_calls() {
    let (program, words) = (app("km"), ["--rounds", "3"]);
    let seconds = |chip: &str, protocol| -> f64 {
        let line = on_chip(chip, protocol, "12", &program, &words);
        word(&line, "time").trim_end_matches('s').parse().expect("a number")
    };
    let gain = |cycles: &str| {
        let chip = changed(
            &format!("calls-{cycles}"),
            "kernel         = { value = 1520",
            &format!("kernel         = {{ value = {cycles}"),
        );
        seconds(&chip, "lwmpi-unopt") / seconds(&chip, "lwmpi")
    };
    let gains = ["1", "760", "1520", "3040"].map(gain);
    assert!(gains[0] < 1.2, "{gains:?}");
    assert!(gains.windows(2).all(|pair| pair[1] > pair[0] + 0.2), "{gains:?}");
}

#[test]
fn twice_the_clock_halves_every_time_and_twice_the_links_hardly_any() {
    let (program, words) = (app("gf"), ["--scale", "0.002"]);
    let seconds = |chip: &str| -> f64 {
        let line = on_chip(chip, "lwmpi", "24", &program, &words);
        word(&line, "time").trim_end_matches('s').parse().expect("a number")
    };
    let shipped = seconds(CHIP);
    let faster = seconds(&changed("clock", "frequency = { value = 400", "frequency = { value = 800"));
    assert!((shipped / faster - 2.0).abs() < 1e-3, "{shipped} and {faster}");
    let wider = seconds(&changed("links", "link           = { value = 4", "link           = { value = 8"));
    // Pages wait for copies and calls, not for links: what is left is the way of the last packets.
    assert!(wider <= shipped && wider > 0.97 * shipped, "{shipped} and {wider}");
}

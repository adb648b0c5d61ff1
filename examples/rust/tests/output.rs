//! The examples print what they promise, whatever the number of ranks.

use std::process::{Command, Output};

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

fn lines(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(String::from).collect()
}

#[test]
fn hello_comes_from_every_rank() {
    let mut said = lines(&run(env!("CARGO_BIN_EXE_hello"), &["--ranks", "3"]));
    said.sort();
    assert_eq!(said, ["hello from rank 0 of 3", "hello from rank 1 of 3", "hello from rank 2 of 3"]);
    assert_eq!(lines(&run(env!("CARGO_BIN_EXE_hello"), &[])), ["hello from rank 0 of 1"]);
}

#[test]
fn the_ring_prints_in_order() {
    let expected = [
        "rank 0 starts the token around 3 ranks",
        "rank 1 adds itself: 1",
        "rank 2 adds itself: 3",
        "rank 0 has it back: 3, expected 3",
    ];
    assert_eq!(lines(&run(env!("CARGO_BIN_EXE_ring"), &["--ranks", "3"])), expected);
}

#[test]
fn pi_is_found_and_nonsense_is_refused() {
    let said = lines(&run(env!("CARGO_BIN_EXE_pi"), &["--ranks", "4", "200000"]));
    assert_eq!(said, ["pi is about 3.1415926536 with 200000 intervals, error below 1e-8"]);
    for wrong in [&["--ranks", "4", "0"][..], &["many"], &["--ranks"], &["--ranks", "0"]] {
        let output = run(env!("CARGO_BIN_EXE_pi"), wrong);
        assert!(!output.status.success());
        assert!(!output.stderr.is_empty(), "{wrong:?} is refused without a word");
    }
}

#[test]
fn the_plate_is_the_same_on_any_number_of_ranks() {
    let alone = lines(&run(env!("CARGO_BIN_EXE_stencil"), &["40", "50"]));
    assert!(alone[0].starts_with("40 x 40 cells after 50 steps: heat "));
    for ranks in ["1", "2", "3", "4", "6", "16"] {
        assert_eq!(
            lines(&run(env!("CARGO_BIN_EXE_stencil"), &["--ranks", ranks, "40", "50"])),
            alone,
            "{ranks} ranks"
        );
    }
}

#[test]
fn the_halo_is_the_same_on_any_grid_of_ranks() {
    let alone = lines(&run(env!("CARGO_BIN_EXE_halo"), &["30", "40"]));
    assert_eq!(alone.len(), 1);
    assert!(alone[0].starts_with("30 x 30 cells after 40 steps: heat "));
    for ranks in ["1", "2", "4", "6", "7", "12"] {
        let many = lines(&run(env!("CARGO_BIN_EXE_halo"), &["--ranks", ranks, "30", "40"]));
        assert_eq!(many, alone, "{ranks} ranks");
    }
}

#[test]
fn the_hash_table_counts_the_same_on_any_number_of_ranks() {
    let expected = ["5000 numbers: 993 different, the most frequent is 748 (13 times), 0 wrong counts"];
    assert_eq!(lines(&run(env!("CARGO_BIN_EXE_hashtable"), &["5000"])), expected, "a job of one");
    for ranks in ["1", "2", "3", "8", "40"] {
        let said = lines(&run(env!("CARGO_BIN_EXE_hashtable"), &["--ranks", ranks, "5000"]));
        assert_eq!(said, expected, "{ranks} ranks");
    }
}

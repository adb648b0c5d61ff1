//! Every example of `examples/c` and `examples/cxx` prints the same on 1 to 192 ranks of every kind.

use std::path::Path;

use crate::support::{MODES, compiled, mpirun, on, root};

/// One rank, two, an odd number, more than cores, and the number that no other MPI runs well on two cores.
const SIZES: [usize; 5] = [1, 2, 7, 64, 192];

fn everywhere(example: &str, arguments: &[&str], expected: impl Fn(usize) -> String) {
    let program = compiled(&root().join("examples").join(example));
    for ranks in SIZES {
        for mode in MODES {
            let ended = on(mode, ranks, &program).arguments(arguments).run().expect_success();
            assert_eq!(ended.stderr, "", "{ended}");
            ended.expect_output(&expected(ranks));
        }
    }
}

#[test]
fn ring_shows_the_whole_way_of_the_token_whatever_the_ranks_are() {
    everywhere("c/ring.c", &[], |ranks| {
        let mut text = format!("rank 0 starts the token around {ranks} ranks\n");
        for rank in 1..ranks {
            text += &format!("rank {rank} adds itself: {}\n", rank * (rank + 1) / 2);
        }
        let sum = ranks * (ranks - 1) / 2;
        text + &format!("rank 0 has it back: {sum}, expected {sum}\n")
    });
}

#[test]
fn stencil_computes_the_same_heat_whatever_the_ranks_are() {
    let line = "192 x 192 cells after 100 steps: heat 96472269600, cells above one degree 3412\n".to_string();
    everywhere("c/stencil.c", &[], |_| line.clone());
}

#[test]
fn a_halo_exchange_moves_the_same_cells_whatever_the_ranks_are() {
    let mean = |cells: usize, ranks: usize| {
        let all = (0..ranks).flat_map(|rank| (0..cells).map(move |cell| (rank * 7 + cell) % 100));
        format!("{:.1}", all.sum::<usize>() as f64 / (cells * ranks) as f64)
    };
    everywhere("c/halo.c", &["--width", "8", "--cells", "30", "--steps", "3"], |ranks| {
        let mean = mean(30, ranks);
        format!("{ranks} ranks exchanged edges of 8 cells 3 times: the mean of all cells is {mean}\n")
    });
}

#[test]
fn pi_sums_to_the_same_digits_whatever_the_ranks_are() {
    let line = "pi is about 3.1415926536 with 200000 intervals, error below 1e-08\n".to_string();
    everywhere("c/pi.c", &["200000"], |_| line.clone());
}

#[test]
fn collectives_agree_whatever_the_ranks_are() {
    everywhere("c/collectives.c", &[], |ranks| {
        let sum = ranks * (ranks - 1) / 2;
        let last = ranks - 1;
        format!("bcast        42\nallreduce    {sum}\nallgather    {last}\nalltoall     {}\n", last * ranks)
    });
}

#[test]
fn the_hash_table_counts_the_same_whatever_the_ranks_are() {
    let line = format!("{HASH_TABLE}\n");
    everywhere("c/hashtable.c", &[], |_| line.clone());
}

/// What the hash tables of C and of Rust print.
const HASH_TABLE: &str = "20000 numbers: 997 different, the most frequent is 841 (40 times), 0 wrong counts";

#[test]
fn the_hash_table_in_rust_counts_as_the_one_in_c_does() {
    let program = Path::new(env!("CARGO_BIN_EXE_rust-hashtable"));
    for ranks in [1, 2, 7, 64] {
        let ended = mpirun(["-n", &ranks.to_string()]).argument(program).run().expect_success();
        ended.expect_output(&format!("{HASH_TABLE}\n"));
    }
}

#[test]
fn the_halo_in_shared_memory_is_that_of_one_rank_whatever_the_ranks_are() {
    let line =
        "96 x 96 cells after 60 steps: heat 24490.689822, 0 cells differ from those of one rank alone\n"
            .to_string();
    everywhere("c/shared_halo.c", &[], |_| line.clone());
}

#[test]
fn statics_of_cxx_are_private_to_a_rank_whatever_the_ranks_are() {
    everywhere("cxx/statics.cc", &[], |ranks| {
        format!("{ranks} of {ranks} ranks have statics of their own\n")
    });
}

#[test]
fn hello_says_one_line_a_rank_whatever_the_ranks_are() {
    let program = compiled(&root().join("examples/c/hello.c"));
    for ranks in SIZES {
        for mode in MODES {
            let ended = on(mode, ranks, &program).run().expect_success();
            let host =
                ended.stdout.lines().next().and_then(|line| line.rsplit(" on ").next()).unwrap_or_default();
            assert!(!host.is_empty(), "{ended}");
            let mut expected: Vec<_> =
                (0..ranks).map(|rank| format!("hello from rank {rank} of {ranks} on {host}")).collect();
            expected.sort();
            assert_eq!(ended.sorted(), expected, "{ended}");
        }
    }
}

#[test]
fn a_source_file_runs_without_being_compiled_first_and_leaves_nothing() {
    for example in ["c/ring.c", "cxx/statics.cc"] {
        let job = on("fiber", 3, &root().join("examples").join(example)).start();
        job.wait().expect_success();
        job.expect_nothing_left();
    }
}

#[test]
fn a_program_in_rust_exchanges_structs_halos_partitions_and_turns_between_processes() {
    let program = Path::new(env!("CARGO_BIN_EXE_rust-surface"));
    for ranks in [1, 2, 4, 7] {
        let ended = mpirun(["-n", &ranks.to_string()]).argument(program).run().expect_success();
        ended.expect_output(&format!("{ranks} processes agree\n"));
    }
}

#[test]
fn a_program_in_rust_comes_and_goes_by_sessions_before_beside_and_after_its_universe() {
    let program = Path::new(env!("CARGO_BIN_EXE_rust-sessions"));
    for ranks in [1, 2, 5] {
        let ended = mpirun(["-n", &ranks.to_string()]).argument(program).run().expect_success();
        ended.expect_output(&format!("{ranks} processes came and went\n"));
    }
}

#[test]
fn a_program_in_rust_reaches_into_the_memory_of_other_processes() {
    let program = Path::new(env!("CARGO_BIN_EXE_rust-windows"));
    for ranks in [1, 2, 5, 8] {
        let ended = mpirun(["-n", &ranks.to_string()]).argument(program).run().expect_success();
        ended.expect_output(&format!("{ranks} processes reach into each other's memory\n"));
    }
}

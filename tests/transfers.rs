//! The programs over block transfers (`copy3d`, `lbm`, `gemm_async`, `blas`) and remote atomics (`queue`): right against a naive computation in every mode of ranks and
//! on a chip, whose I/O rank has the memory, and the counts and formulas of the thesis that they follow.

use std::path::Path;

use crate::apps::{app, assert_time, checked, lines, refused, word};
use crate::support::{MODES, mpirun, on, root};

/// A chip whose I/O rank has the common memory, one rank a cluster: lines of the run.
#[track_caller]
fn on_a_chip(ranks: usize, program: &Path, arguments: &[&str]) -> Vec<String> {
    let words = ["--chip", "mppa256-bostan", "-n", &ranks.to_string(), "--map", "scatter", "--io"];
    let ended = mpirun(words).argument(program).argument(program).arguments(arguments).run().expect_success();
    ended.stdout.lines().map(str::to_owned).collect()
}

#[track_caller]
fn number(line: &str, key: &str) -> f64 {
    word(line, key).parse().unwrap_or_else(|_| panic!("{key} is no number in: {line}"))
}

/// The line of a formula that has all these words.
#[track_caller]
fn formula<'a>(lines: &'a [String], words: &[&str]) -> &'a str {
    let has_all = |line: &&String| words.iter().all(|word| line.split(' ').any(|one| one == *word));
    lines.iter().find(has_all).unwrap_or_else(|| panic!("no line with {words:?}: {lines:?}"))
}

#[test]
fn copy3d_finds_every_element_at_its_place_and_measures_both_kinds_both_ways() {
    let program = app("copy3d");
    let small = "--box-x 3 --box-y 4 --box-z 5 --boxes-x 3 --boxes-y 2 --boxes-z 2 --rounds 2 --depth 2";
    let small: Vec<_> = small.split(' ').collect();
    let check = |lines: &[String], ranks: &str| {
        let found: Vec<_> =
            lines.iter().map(|line| ["kind", "way", "ranks", "check"].map(|key| word(line, key))).collect();
        let expected: Vec<_> = [("linear", "put"), ("linear", "get"), ("box", "put"), ("box", "get")]
            .map(|(kind, way)| [kind, way, ranks, "passed"])
            .into();
        assert_eq!(found, expected);
        for line in lines {
            assert_eq!(word(line, "bytes"), (2 * 12 * 60 * 19 * 4).to_string(), "{line}");
            let looked_at = if word(line, "way") == "put" { 12 * 60 * 19 } else { 2 * 12 * 60 * 19 };
            assert_eq!(word(line, "result"), looked_at.to_string(), "{line}");
            assert_time(line);
        }
    };
    for mode in MODES {
        for ranks in [1, 5] {
            check(&lines(mode, ranks, &program, &small), &ranks.to_string());
        }
    }
    let chip = on_a_chip(5, &program, &small);
    check(&chip, "5");
    assert_eq!(chip, on_a_chip(5, &program, &small), "virtual time is the same again");
}

/// The DDR begins anew for each row of a box. (Gets are bound by the software of the I/O subsystem instead.)
#[test]
fn boxes_take_longer_than_one_piece_on_a_chip() {
    let lines = on_a_chip(4, &app("copy3d"), &["--boxes-x", "2", "--boxes-y", "2", "--boxes-z", "2"]);
    let rate = |kind: &str| number(formula(&lines, &[kind, "way=put"]), "rate");
    assert!(rate("kind=box") < 0.7 * rate("kind=linear"), "{lines:?}");
}

/// A small fluid whose edges are all different.
const FLUID: [&str; 8] = ["--x", "8", "--y", "6", "--z", "12", "--steps", "3"];

/// Nodes read for all blocks of 4 x 3 x 4 of it: two more along each edge for each cut through it.
const BLOCKS_OF_IT: [&str; 6] = ["--block-x", "4", "--block-y", "3", "--block-z", "4"];

#[test]
fn every_algorithm_of_the_lattice_gives_the_bits_of_the_serial_one_in_every_mode() {
    let program = app("lbm");
    let mut results = Vec::new();
    for mode in MODES {
        for (variant, ranks) in [
            ("two-lattice", 4),
            ("aa", 3),
            ("two-wall", 2),
            ("three-wall", 4),
            ("blocks", 5),
            ("blocks-walls", 3),
        ] {
            let line = checked(
                mode,
                ranks,
                &program,
                &[&FLUID[..], &BLOCKS_OF_IT, &["--variant", variant]].concat(),
            );
            assert_eq!(word(&line, "variant"), variant);
            results.push(word(&line, "result").to_owned());
        }
    }
    for depth in ["1", "2", "7"] {
        for variant in ["blocks", "blocks-walls"] {
            let words = [&FLUID[..], &BLOCKS_OF_IT, &["--variant", variant, "--depth", depth]].concat();
            results.push(word(&checked("fiber", 2, &program, &words), "result").to_owned());
        }
    }
    assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    let even = checked(
        "fiber",
        2,
        &program,
        &["--x", "4", "--y", "4", "--z", "4", "--steps", "2", "--variant", "aa"],
    );
    assert_ne!(word(&even, "result"), results[0]);
}

/// Table 6.1 of the thesis: q loads and q stores for each copied and each updated node; 2 Lz and Lz barriers.
#[test]
fn the_algorithms_of_the_lattice_move_and_meet_as_often_as_their_table_says() {
    let program = app("lbm");
    for (variant, moved, barriers) in
        [("two-lattice", 2.0, 1.0), ("aa", 2.0, 1.0), ("two-wall", 4.0, 24.0), ("three-wall", 4.0, 12.0)]
    {
        let line = checked("fiber", 3, &program, &[&FLUID[..], &["--variant", variant]].concat());
        assert_eq!([number(&line, "moved"), number(&line, "barriers")], [moved * 19.0, barriers], "{line}");
    }
}

/// What is read for blocks is the domain and two more layers for each cut; far from walls that is equation 5.1.
#[test]
fn blocks_read_as_much_halo_as_their_cuts_say() {
    let line = checked("fiber", 3, &app("lbm"), &[&FLUID[..], &BLOCKS_OF_IT].concat());
    let read = f64::from((8 + 2) * (6 + 2) * (12 + 4));
    let halo = 1.0 - f64::from(8 * 6 * 12) / read;
    assert!((number(&line, "halo") - halo).abs() < 1e-4, "{line}: expected {halo}");
    assert_eq!(word(&line, "local"), (3 * (6 * 5 * 6 + 4 * 3 * 4) * 19 * 4).to_string(), "{line}");
}

#[test]
fn a_chip_computes_the_lattice_of_the_host_from_its_ddr_and_inside_of_a_cluster() {
    let program = app("lbm");
    let host = checked("fiber", 2, &program, &[&FLUID[..], &["--variant", "two-lattice"]].concat());
    for variant in ["blocks", "blocks-walls"] {
        let words = [&FLUID[..], &BLOCKS_OF_IT, &["--variant", variant]].concat();
        let lines = on_a_chip(4, &program, &words);
        assert_eq!(["check", "result"].map(|key| word(&lines[0], key)), ["passed", word(&host, "result")]);
        assert_eq!(lines, on_a_chip(4, &program, &words), "virtual time is the same again");
    }
    for variant in ["two-lattice", "aa", "two-wall", "three-wall"] {
        let words = [&FLUID[..], &["--variant", variant]].concat();
        let job = mpirun(["--chip", "mppa256-bostan", "-n", "3", "--map", "compact"]).argument(&program);
        let ended = job.arguments(&words).run().expect_success();
        assert_eq!(
            ["check", "result"].map(|key| word(ended.stdout.trim_end(), key)),
            ["passed", word(&host, "result")]
        );
        let apart = mpirun(["--chip", "mppa256-bostan", "-n", "3", "--map", "scatter"]).argument(&program);
        refused(apart.arguments(&words), "ranks that do not share one memory, expected ranks of one cluster");
    }
}

/// With two slots, transfers and work overlap; further ones gain nothing (section 5.5.2 of the thesis).
#[test]
fn two_slots_are_faster_than_one_and_as_fast_as_more_on_a_chip() {
    let program = app("lbm");
    let cycles = |depth: &str| {
        let words = [
            "--x",
            "16",
            "--y",
            "16",
            "--z",
            "16",
            "--block-x",
            "8",
            "--block-z",
            "8",
            "--steps",
            "1",
            "--depth",
            depth,
        ];
        number(&on_a_chip(1, &program, &words)[0], "cycles")
    };
    let [one, two, four] = ["1", "2", "4"].map(cycles);
    assert!(
        two < 0.9 * one && (four / two - 1.0).abs() < 0.02,
        "{one} cycles with one, {two} with two, {four} with four"
    );
}

/// What the search says (`--formulas`): with three slots, 16 x 16 x 16 nodes fit into a cluster if they are updated in place, and only then.
#[test]
fn blocks_updated_in_place_fit_where_blocks_with_two_buffers_do_not() {
    let program = app("lbm");
    let words = |variant| ["--block-y", "16", "--steps", "1", "--variant", variant];
    assert_eq!(word(&on_a_chip(1, &program, &words("blocks-walls"))[0], "check"), "passed");
    let job = mpirun(["--chip", "mppa256-bostan", "-n", "1", "--io"]).argument(&program).argument(&program);
    job.arguments(&words("blocks")).run().expect_code(1).expect_said(&["bytes for heap do not fit"]);
}

#[test]
fn gemm_async_equals_the_definition_in_both_precisions_and_at_ragged_edges() {
    let program = app("gemm_async");
    for real in ["single", "double"] {
        let words = "--m 50 --n 37 --k 41 --mb 16 --nb 16 --kb 12 --check full --real";
        let words: Vec<_> = words.split(' ').chain([real]).collect();
        let mut results: Vec<_> =
            MODES.map(|mode| word(&checked(mode, 3, &program, &words), "result").to_owned()).into();
        let chip = on_a_chip(4, &program, &words);
        assert_eq!(word(&chip[0], "check"), "passed");
        results.push(word(&chip[0], "result").to_owned());
        results.push(word(&checked("fiber", 20, &program, &words), "result").to_owned());
        assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    }
    refused(
        on("fiber", 2, &program).arguments(&["--mb", "6"]),
        "blocks of 6 x 64, expected multiples of 4 x 8",
    );
}

const ROUTINES: [&str; 6] = ["gemm", "symm", "syrk", "syr2k", "trmm", "trsm"];

#[test]
fn six_routines_equal_their_definitions_in_both_precisions() {
    let program = app("blas");
    let words = "--m 53 --n 45 --k 38 --mc 12 --nc 10 --kc 17";
    for real in ["single", "double"] {
        let words: Vec<_> = words.split(' ').chain(["--real", real]).collect();
        let check = |lines: Vec<String>| {
            let found: Vec<_> =
                lines.iter().map(|line| ["routine", "check"].map(|key| word(line, key).to_owned())).collect();
            assert_eq!(found, ROUTINES.map(|routine| [routine, "passed"].map(str::to_owned)));
            lines.iter().for_each(|line| assert_time(line));
            lines.iter().map(|line| word(line, "result").to_owned()).collect::<Vec<_>>()
        };
        let mut results: Vec<_> = MODES.map(|mode| check(lines(mode, 3, &program, &words))).into();
        results.push(check(on_a_chip(4, &program, &words)));
        results.push(check(lines("fiber", 2, &program, &[&words[..], &["--resident"]].concat())));
        assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    }
}

/// The thesis' own back ends have fewer than 100 lines; so does the one for MPI.
#[test]
fn the_back_end_of_the_routines_is_six_functions_in_less_than_a_hundred_lines() {
    let text =
        |name: &str| std::fs::read_to_string(root().join("apps/blas").join(name)).expect("it is there");
    assert!(text("backend_mpi.h").lines().count() < 100);
    let declared = text("backend.h").lines().filter(|line| line.starts_with("static inline")).count();
    assert_eq!(declared, 6);
}

/// Three places for more writers and readers than that, so that all of them wait for each other.
#[test]
fn a_queue_of_remote_atomics_hands_every_item_to_one_reader_in_order() {
    let program = app("queue");
    let words = ["--items", "20", "--places", "3"];
    for mode in MODES {
        for ranks in [2, 7] {
            let line = checked(mode, ranks, &program, &words);
            assert_eq!(word(&line, "result"), (ranks / 2 * 20).to_string(), "{line}");
        }
    }
    let chip = on_a_chip(7, &program, &words);
    assert_eq!(["check", "result"].map(|key| word(&chip[0], key)), ["passed", "60"]);
    assert_eq!(chip, on_a_chip(7, &program, &words), "virtual time is the same again");
    refused(on("fiber", 1, &program), "1 rank, expected 2 or more");
}

/// What the thesis computes on paper: equation 5.1 and figure 5.6, equation 5.5, section 5.4.3, section 6.3, section 8.2.1, tables 9.1 and 9.2.
#[test]
fn formulas_give_the_numbers_of_the_thesis() {
    let formulas = |name: &str| lines("fiber", 1, &app(name), &["--formulas"]);
    let lattice = formulas("lbm");
    for (edge, share) in [("edge=16", 0.29), ("edge=64", 0.10)] {
        let found = number(formula(&lattice, &["formula=halo", edge]), "share");
        assert!((found - share).abs() < 0.015, "{edge}: {found}, published {share}");
    }
    for (depth, block, halo) in [("depth=3", "16x8x16", 0.36), ("depth=4", "16x8x8", 0.43)] {
        let line = formula(&lattice, &["formula=search", "in_place=0", depth]);
        assert_eq!(word(line, "block"), block);
        assert!((number(line, "halo") - halo).abs() < 0.01, "{line}");
    }
    let in_place = formula(&lattice, &["formula=search", "in_place=1"]);
    assert_eq!(["block", "halo", "mib"].map(|key| word(in_place, key)), ["16x16x16", "0.2977", "1.339"]);
    for (edge, share) in [("edge=128", 0.023), ("edge=256", 0.011)] {
        let found = number(formula(&lattice, &["formula=walls", edge]), "share");
        assert!((found - share).abs() < 0.001, "{edge}: {found}, published {share}");
    }
    assert_eq!(word(formula(&lattice, &["formula=bound", "gbps=6.0", "edge=8"]), "mlups"), "20.21");
    let product = formulas("gemm_async");
    assert_eq!(word(formula(&product, &["real=single"]), "kib"), "1280");
    assert_eq!(word(formula(&product, &["real=double"]), "kib"), "1536");
    let routines = formulas("blas");
    for real in ["real=single", "real=double"] {
        let kib = number(formula(&routines, &[real]), "kib");
        assert!((kib / 480.0 - 1.0).abs() < 0.04, "{real}: {kib} KiB, published 480");
    }
}

#[test]
fn sizes_that_do_not_go_together_are_refused() {
    let program = app("lbm");
    refused(
        on("fiber", 2, &program).arguments(&["--x", "20"]),
        "an edge that blocks do not fill, expected a multiple",
    );
    refused(
        on("fiber", 2, &program).arguments(&["--x", "1", "--block-x", "1"]),
        "an edge of one node, expected two or more",
    );
    let huge = ["--box-x", "1024", "--box-y", "1024", "--box-z", "1024"];
    refused(
        on("fiber", 2, &app("copy3d")).arguments(&huge),
        "an array of more floats than 2^31, expected a smaller one",
    );
    refused(on("fiber", 2, &app("blas")).arguments(&["--kc", "8"]), "--kc is 8, expected 64 (--mc) or more");
}

//! Programs on simulated chips: the same output as on the host, the same run every time, and the limits of small memories.

use std::fs;
use std::path::Path;

use crate::support::job::{Ended, Job};
use crate::support::{compiled, compiled_with, corelace, mpirun, on, program, root, scratch};

/// Chips and the numbers of ranks that the examples run on.
const CHIPS: [(&str, usize); 5] = [
    ("mppa256-andey", 16),
    ("mppa256-andey", 192),
    ("epiphany-iv", 64),
    ("mesh16", 7),
    ("earth-simulator", 20),
];

/// `mpirun` of a program on some ranks of a chip.
fn on_chip(chip: &str, ranks: usize, flags: &[&str], program: &Path) -> Job {
    mpirun(["--chip", chip, "-n", &ranks.to_string()]).arguments(flags).argument(program)
}

/// The figures of a run that was asked for them in JSON.
pub fn stats(ended: &Ended) -> serde_json::Value {
    let line = ended.stderr.lines().find(|line| line.starts_with('{')).expect("figures in JSON");
    serde_json::from_str(line).expect("one line of JSON")
}

#[test]
fn examples_print_on_chips_what_they_print_on_the_host() {
    for example in ["ring", "stencil", "pi", "collectives"] {
        let program = compiled_with(&root().join(format!("examples/c/{example}.c")), &["--count"]);
        for (chip, ranks) in CHIPS {
            let expected = on("fiber", ranks, &program).run().expect_success().stdout;
            let ended = on_chip(chip, ranks, &[], &program).run().expect_success();
            // That description does not say what instructions cost.
            let is_silent = chip != "earth-simulator";
            assert_eq!(ended.stderr.is_empty(), is_silent, "{example} on {chip}: {ended}");
            ended.expect_output(&expected);
        }
    }
}

#[test]
fn a_ping_pong_on_every_chip_that_comes_along_has_a_law_by_core_and_by_dma() {
    let list = corelace(["chips"]).run().expect_success().stdout;
    let names = list
        .lines()
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.collect();
    assert!(names.contains(&"mesh16") && names.contains(&"tenstorrent-wormhole"), "{list}");
    for name in names {
        for protocol in ["pe", "dma"] {
            let words = ["--sizes", "64,4096,16384", "--repeat", "1", "--json"];
            let ended = corelace(["fit", "--chip", name, "--protocol", protocol])
                .arguments(&words)
                .run()
                .expect_success();
            let laws: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
            for law in laws.as_array().expect("both directions") {
                assert!(
                    law["K"].as_f64() > Some(0.0) && law["h"].as_f64() > Some(0.0),
                    "{name} by {protocol}: {law}"
                );
            }
        }
    }
}

#[test]
fn every_protocol_carries_every_message_on_both_maps() {
    let program = program("all_to_all.c");
    for protocol in PROTOCOLS {
        for (chip, map) in [
            ("mppa256-andey", "compact"),
            ("mppa256-andey", "scatter"),
            ("mppa256-nanvix", "compact"),
            ("mppa256-nanvix", "scatter"),
            ("mesh16", "scatter"),
            ("earth-simulator", "compact"),
        ] {
            for bytes in ["1", "96", "97", "5000"] {
                let flags = ["--protocol", protocol, "--map", map];
                let job = on_chip(chip, 26, &flags, &program).argument(bytes);
                job.run().expect_success().expect_output("no errors\n");
            }
        }
    }
}

#[test]
fn collectives_work_by_every_protocol_on_every_chip() {
    let program = compiled(&root().join("examples/c/collectives.c"));
    let expected = on("fiber", 16, &program).run().expect_success().stdout;
    for protocol in PROTOCOLS {
        for chip in [
            "mppa256-andey",
            "mppa256-bostan",
            "mppa256-nanvix",
            "epiphany-iv",
            "mesh16",
            "earth-simulator",
            "intel-scc",
            "tile64",
        ] {
            for map in ["compact", "scatter"] {
                let flags = ["--protocol", protocol, "--map", map];
                on_chip(chip, 16, &flags, &program).run().expect_success().expect_output(&expected);
            }
        }
    }
}

/// Every protocol that `--protocol` forces, and the choice between them.
const PROTOCOLS: [&str; 7] = ["auto", "pe", "dma", "eager", "lazy", "lwmpi", "lwmpi-unopt"];

#[test]
fn messages_that_come_while_ranks_compute_are_handed_over_whole_and_the_same_way_twice() {
    let program = program("busy.c");
    for protocol in PROTOCOLS {
        for (map, ranks) in [("compact", 40), ("scatter", 5)] {
            let flags = ["--stats=json", "--protocol", protocol, "--map", map];
            let run = || {
                let ended = on_chip("mppa256-andey", ranks, &flags, &program).run().expect_success();
                assert_eq!(ended.stdout, "no errors\n", "{protocol}: {ended}");
                stats(&ended)
            };
            assert_eq!(run(), run(), "{protocol} on {ranks} ranks");
        }
    }
}

#[test]
fn two_runs_are_the_same_run() {
    let program = program("all_to_all.c");
    for protocol in ["auto", "lwmpi"] {
        let run = || {
            let flags = ["--stats=json", "--protocol", protocol];
            stats(&on_chip("mppa256-andey", 60, &flags, &program).argument("3000").run().expect_success())
        };
        let first = run();
        assert!(first["cycles"].as_u64().expect("a number") > 0, "{first}");
        assert_eq!(first, run());
    }
}

/// Processes that keep every core busy, and then some, until they are dropped.
struct Busy(Vec<std::process::Child>);

impl Busy {
    fn all_cores() -> Busy {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let busy = || std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        Busy((0..cores + 2).map(|_| busy().expect("a shell")).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().and_then(|()| child.wait().map(drop)).expect("a child of ours");
        }
    }
}

/// The first MPPA with routers that have room for two packets in each of two channels.
fn chip_with_buffers() -> String {
    let original = fs::read_to_string(root().join("chips/mppa256-andey.toml")).expect("it ships");
    let described = "[network.data]\nbuffers = { value = 132, unit = \"flits\", from = \"chosen\" }\nchannels = { value = 2, unit = \"channels\", from = \"chosen\" }\n";
    let file = scratch("buffers").join("buffers.toml");
    fs::write(&file, original.replace("[network.data]\n", described)).expect("a file");
    file.display().to_string()
}

#[test]
fn a_run_on_a_crowded_machine_is_the_run_on_an_idle_one() {
    let buffers = chip_with_buffers();
    let programs = [
        compiled(&root().join("examples/c/collectives.c")),
        compiled(&root().join("examples/c/stencil.c")),
        program("busy.c"),
        program("all_to_all.c"),
    ];
    let runs = || -> Vec<serde_json::Value> {
        let on = |program, chip| stats(&on_chip(chip, 24, &["--stats=json"], program).run().expect_success());
        programs
            .iter()
            .flat_map(|program| ["mppa256-andey", "mesh16", buffers.as_str()].map(|chip| on(program, chip)))
            .collect()
    };
    let idle = runs();
    assert!(idle.iter().all(|stats| stats["trace_hash"].is_string()), "{idle:?}");
    let crowd = Busy::all_cores();
    assert_eq!(runs(), idle);
    drop(crowd);
}

#[test]
fn finite_buffers_of_routers_make_another_run_with_the_same_result() {
    let buffers = chip_with_buffers();
    let cycles = |chip: &str| {
        let job = on_chip(chip, 96, &["--stats=json"], &program("all_to_all.c")).argument("20000");
        let ended = job.run().expect_success();
        assert_eq!(ended.stdout, "no errors\n", "{ended}");
        stats(&ended)["cycles"].as_u64().expect("a number")
    };
    let (finite, endless) = (cycles(&buffers), cycles("mppa256-andey"));
    // Interfaces bound this traffic, so that it takes about as long: who waits where differs, and not how much is moved.
    assert!(
        finite != endless && (0.8..1.25).contains(&(finite as f64 / endless as f64)),
        "{finite} and {endless}"
    );
}

#[test]
fn the_load_that_a_network_bears_is_measured_the_same_way_twice() {
    let picture = scratch("load").join("load.svg");
    let run = || {
        let command =
            ["chips", "load", "mesh16", "--traffic", "transpose", "--packets", "600", "--json", "--plot"];
        corelace(command).argument(&picture).run().expect_success().stdout
    };
    let first = run();
    assert_eq!(first, run());
    let found: serde_json::Value = serde_json::from_str(&first).expect("JSON");
    let number = |key: &str| found[key].as_f64().expect("a number");
    // On the paths of a transposed square, the link at a corner carries the packets of three clusters.
    assert_eq!((number("bound"), found["points"].as_array().expect("points").len()), (1.0 / 3.0, 20));
    let low = &found["points"][0];
    assert!((low["fast"]["mean"].as_f64().expect("a number") / number("alone") - 1.0).abs() < 0.1, "{first}");
    assert_eq!(fs::read_to_string(&picture).expect("a picture").matches("<polyline").count(), 4);
    let table = corelace(["chips", "load", "mesh16", "--packets", "100"]).run().expect_success().stdout;
    assert!(table.contains("\nThe fast model is ") && table.contains("1 channel of 200 flits"), "{table}");
}

#[test]
fn buffers_that_could_stand_still_are_refused_with_the_reason() {
    let ended = corelace(["chips", "load", "mppa256-andey", "--channels", "3"]).run().expect_code(127);
    ended.expect_said(&["3 channels on a torus", "expected a multiple of 2"]);
    let ended = corelace(["chips", "load", "mesh16", "--buffers", "10"]).run().expect_code(127);
    ended.expect_said(&["10 flits have no room for a packet: expected at least 100"]);
}

#[test]
fn an_all_to_all_of_192_ranks_and_32_kib_ends_in_time() {
    let flags = ["--stats=json"];
    let ended = on_chip("mppa256-andey", 192, &flags, &program("all_to_all.c")).run().expect_success();
    let stats = stats(&ended);
    // 191 messages of each rank, less those that stay inside its cluster.
    assert_eq!(stats["bytes"].as_u64(), Some(192 * 180 * 32768), "{stats}");
}

#[test]
fn the_clock_of_a_chip_is_virtual_unless_processor_time_is_charged() {
    let program = program("clock.c");
    let declared = on_chip("mesh16", 2, &[], &program).run().expect_success();
    assert_eq!(declared.stdout, "computed 0, sent 1\n", "{declared}");
    let charged = on_chip("mesh16", 2, &["--scale", "2"], &program).run().expect_success();
    assert_eq!(charged.stdout, "computed 1, sent 1\n", "{charged}");
    charged.expect_said(&["--scale charges measured processor time: this run is not reproducible"]);
}

#[test]
fn what_does_not_fit_into_a_cluster_is_refused_in_every_way_to_ask() {
    let job = on_chip("mppa256-andey", 2, &[], &program("too_much.c")).argument("status").start();
    let ended = job.wait().expect_code(4);
    let ways = ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "MPI_Alloc_mem"];
    let expected: String = ways.map(|way| format!("{way}: refused\n")).concat() + "done\n";
    assert_eq!(ended.stdout, expected, "{ended}");
    ended.expect_said(&[
        "corelace: rank 0: 3145728 bytes for heap do not fit: ",
        " of 2097152 bytes are in use (524288 by system, ",
        " by program text, ",
        " by stack of rank 0",
    ]);
    job.expect_nothing_left();
    // Where memory is not counted, nothing is refused.
    on("fiber", 2, &program("too_much.c")).argument("status").run().expect_success();
}

#[test]
fn a_flooded_mailbox_ends_the_job_and_says_what_holds_the_memory() {
    for map in ["compact", "scatter"] {
        let job = on_chip("mppa256-andey", 2, &["--map", map], &program("flood.c")).start();
        let ended = job.wait();
        assert_ne!(ended.code(), 0, "{ended}");
        ended.expect_said(&[
            " bytes for unexpected messages do not fit",
            "by unexpected messages of rank 1",
            "MPI_ERR_NO_MEM",
        ]);
        job.expect_nothing_left();
    }
}

#[test]
fn a_deadlock_on_a_chip_is_told_with_what_each_rank_waits_for() {
    let job = on_chip("mesh16", 2, &[], &program("deadlock.c")).start();
    job.wait().expect_code(125).expect_said(&[
        "corelace: deadlock: all 2 ranks wait",
        "rank 0 is in MPI_Recv and waits for a message from rank 1 with tag 0",
    ]);
    job.expect_nothing_left();
}

#[test]
fn an_io_rank_is_the_last_of_the_local_communicator_and_not_in_the_world() {
    let program = program("io_rank.c");
    for protocol in ["auto", "lwmpi"] {
        let flags = ["--protocol", protocol, "--io", program.to_str().expect("a plain name")];
        let ended = on_chip("mppa256-andey", 20, &flags, &program).run().expect_success();
        let expected =
            ["20 ranks, and the sum is 190", "the I/O rank is 20, its world has 1, the sum is 190"];
        assert_eq!(ended.sorted(), expected, "{ended}");
    }
}

/// Ranks of one cluster and of several, with and without helper cores.
const WINDOWS: [(&str, &str, usize); 4] = [
    ("mppa256-andey", "scatter", 5),
    ("mppa256-andey", "compact", 5),
    ("mesh16", "compact", 6),
    ("mppa256-bostan", "scatter", 4),
];

#[test]
fn one_sided_programs_do_on_chips_what_they_do_on_the_host() {
    // What is large on the host does not fit into a cluster.
    let programs: [(&str, &[&str]); 4] = [
        ("onesided_moves.c", &["20000"]),
        ("onesided_atomics.c", &["700"]),
        ("onesided_errors.c", &[]),
        ("windows.c", &[]),
    ];
    for (name, size) in programs {
        let program = program(name);
        for (chip, map, ranks) in WINDOWS {
            let job = on_chip(chip, ranks, &["--map", map], &program).arguments(size);
            job.run().expect_success().expect_output("no errors\n");
        }
    }
}

#[test]
fn windows_of_chips_need_no_code_of_their_targets_and_take_the_time_of_messages() {
    let program = program("chip_windows.c");
    for chip in ["mppa256-andey", "mppa256-bostan", "mesh16"] {
        let flags = ["--map", "scatter", "--stats=json"];
        let run = || {
            let ended = on_chip(chip, 16, &flags, &program).run().expect_success();
            assert_eq!(ended.stdout, "no errors\n", "{chip}: {ended}");
            stats(&ended)
        };
        let first = run();
        // Fourteen ranks wait for a lock for forty million cycles, again and again for those before them: each asks a few hundred times.
        let letters = first["letters"].as_u64().expect("a number");
        assert!(letters < 100_000, "{chip}: {first}");
        assert_eq!(first, run(), "{chip}: two runs are the same run");
    }
}

#[test]
fn blocks_of_arrays_move_on_chips_as_their_extents_and_starts_say() {
    let program = program("blocks.c");
    for (chip, map, ranks) in WINDOWS {
        let job = on_chip(chip, ranks, &["--map", map], &program);
        job.run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn tiles_streamed_from_the_ddr_come_and_go_while_the_rank_computes() {
    let program = program("streamed_blocks.c");
    for chip in ["mppa256-andey", "mppa256-bostan"] {
        let flags = ["--io", program.to_str().expect("a plain name")];
        let ended = on_chip(chip, 2, &flags, &program).run().expect_success();
        assert_eq!(ended.sorted(), ["0 elements are wrong", "streaming pays"], "{chip}: {ended}");
    }
}

#[test]
fn the_memory_of_an_io_rank_is_a_window_that_nobody_serves() {
    let program = program("ddr_window.c");
    let flags = ["--io", program.to_str().expect("a plain name")];
    let ended = on_chip("mppa256-andey", 16, &flags, &program).run().expect_success();
    ended.expect_output("65536 elements are one\n");
}

#[test]
fn the_map_of_memories_names_every_holder_of_every_cluster() {
    let program = compiled(&root().join("examples/c/ring.c"));
    on_chip("mppa256-andey", 13, &["--memory"], &program).run().expect_success().expect_said(&[
        "cluster 0: ",
        "cluster 1: ",
        " of 2097152 bytes in use at the peak",
        "  system ",
        "  program text ",
        "  program data of rank 12 ",
        "  stack of rank 12 ",
        "  mailbox of rank 1 ",
        "  free ",
    ]);
}

#[test]
fn figures_for_people_name_chip_time_energy_and_trace() {
    let program = compiled(&root().join("examples/c/ring.c"));
    on_chip("epiphany-iv", 4, &["--stats"], &program).run().expect_success().expect_said(&[
        "corelace: 4 ranks on epiphany-iv: ",
        " cycles), ",
        " letters (",
        " J, ",
        " W mean, ",
        " W peak, trace ",
    ]);
}

#[test]
fn a_copied_description_with_half_the_memory_refuses_what_the_original_takes() {
    let original = fs::read_to_string(root().join("chips/mppa256-andey.toml")).expect("it ships");
    let halved = original
        .replacen("scratchpad     = { value = 2,", "scratchpad     = { value = 1,", 1)
        .replacen("usable         = { value = 1.5,", "usable         = { value = 0.75,", 1);
    assert_ne!(original, halved);
    let file = scratch("chip").join("halved.toml");
    fs::write(&file, halved).expect("a file of ours");
    let program = compiled(&root().join("examples/c/stencil.c"));
    // 12 ranks of a cluster: 1.0 MB of cells.
    let cells = "280";
    on_chip("mppa256-andey", 16, &[], &program).arguments(&[cells, "2"]).run().expect_success();
    let file = file.to_str().expect("a plain name");
    let small = on_chip(file, 16, &[], &program).arguments(&[cells, "2"]).run().expect_code(3);
    small.expect_said(&["bytes for heap do not fit", "of 1048576 bytes are in use", "stencil: rank "]);
}

#[test]
fn mistakes_are_answered_with_argument_value_and_expectation() {
    let program = compiled(&root().join("examples/c/ring.c"));
    let broken = scratch("chip").join("broken.toml");
    fs::write(&broken, "name = \"broken\"\nclock = 7\n").expect("a file of ours");
    let broken = broken.to_str().expect("a plain name").to_string();
    let cases: [(&[&str], &[&str]); 7] = [
        (&["--chip", "mppa"], &["--chip mppa: no chip is called \'mppa\'; ", "FILE.toml"]),
        (&["--chip", "no/such.toml"], &["--chip no/such.toml: no/such.toml: No such file"]),
        (&["--chip", &broken], &["--chip ", "broken.toml:"]),
        (
            &["--chip", "mesh16", "-n", "65"],
            &["-n 65 with --chip mesh16: expected at most 64 ranks (16 clusters of 4)"],
        ),
        (
            &["--chip", "mesh16", "--ranks", "process"],
            &["--ranks process with --chip mesh16: ranks on a chip are fibers of one process"],
        ),
        (&["--memory"], &["--memory without --chip"]),
        (&["--chip", "mesh16", "--map", "round"], &["--map \"round\", expected one of: compact scatter"]),
    ];
    for (flags, said) in cases {
        mpirun(flags).argument(&program).run().expect_code(127).expect_said(said);
    }
}

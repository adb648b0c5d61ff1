//! What must hold when something is short or wrong: full mailboxes, bad buffers, counts that disagree, cancelled operations.

use crate::support::{MODES, mpirun, on, program, scratch};

#[test]
fn a_rolling_window_of_collectives_outlives_full_mailboxes_on_chips() {
    let program = program("rolling.c");
    for chip in ["mppa256-andey", "mppa256-bostan"] {
        for period in ["2", "3", "5"] {
            let job = mpirun(["--chip", chip, "--map", "scatter", "-n", "8"]).argument(&program);
            let job = job.arguments(&["400", "30", period]);
            job.run().expect_success().expect_output("no errors\n");
        }
    }
    for mode in MODES {
        let job = on(mode, 4, &program).arguments(&["100", "20", "3"]);
        job.run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn messages_to_a_rank_do_not_wait_for_another_that_does_not_look() {
    let program = program("held_up.c");
    for cma in ["on", "off"] {
        let pipe = scratch(&format!("held-up-{cma}")).join("pipe");
        let job = on("process", 3, &program).variable("CORELACE_CMA", cma).argument(&pipe);
        job.run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn a_bad_buffer_is_named_to_its_owner_and_the_peer_is_told_whose_it_was() {
    // Only processes survive it: ranks that share their memory copy themselves.
    let job = on("process", 2, &program("bad_buffers.c"));
    let ended = job.run().expect_success().expect_output("no errors\n");
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_collective_whose_counts_disagree_ends_on_every_rank() {
    let program = program("disagreement.c");
    for (mode, ranks) in [("fiber", 2), ("fiber", 3), ("fiber", 6), ("process", 5)] {
        on(mode, ranks, &program).run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn a_collective_whose_counts_are_far_apart_says_so_whichever_algorithms_its_members_take() {
    let program = program("disagreement.c");
    for collective in 0..10 {
        for (odd, count, other) in
            [(0, 25, 150_000), (0, 150_000, 25), (1, 25, 150_000), (1, 0, 150_000), (2, 150_000, 0)]
        {
            let arguments = [collective, odd, count, other].map(|number: u32| number.to_string());
            let ended = on("fiber", 8, &program).arguments(&arguments.each_ref().map(String::as_str)).run();
            let said = ["disagree about its size: ", "(MPI_ERR_TRUNCATE)", "bytes where this rank expects"];
            let is_told = said.iter().any(|text| ended.stderr.contains(text));
            assert!(!ended.status.success() && is_told, "{arguments:?}: {ended}");
        }
    }
}

#[test]
fn reductions_in_place_write_their_own_block_only() {
    let program = program("in_place.c");
    for (mode, ranks) in [("fiber", 1), ("fiber", 3), ("fiber", 8), ("process", 4)] {
        on(mode, ranks, &program).run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn the_wait_after_a_cancel_returns_while_the_peer_is_outside_of_the_library() {
    let program = program("cancel_alone.c");
    let pipe = scratch("cancel_alone");
    for mode in MODES {
        // A rank that blocks its core needs it for itself: fibers of one core would never run again.
        if mode == "fiber" && std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
            eprintln!("fibers: not tested on a machine with one core");
            continue;
        }
        let job = on(mode, 2, &program).argument(pipe.join(mode));
        job.run().expect_success().expect_output("no errors\n");
    }
    // Where data goes in letters.
    let job = on("process", 2, &program).argument(pipe.join("letters")).variable("CORELACE_CMA", "off");
    job.run().expect_success().expect_output("no errors\n");
}

#[test]
fn a_sender_to_a_full_mailbox_leaves_its_core_to_others() {
    let program = program("refused.c");
    // More fibers than workers could not be told apart by the time of their threads.
    for (mode, ranks) in [("process", 2), ("process", 3), ("thread", 2), ("thread", 3), ("fiber", 2)] {
        on(mode, ranks, &program).run().expect_success().expect_output("no errors\n");
    }
}

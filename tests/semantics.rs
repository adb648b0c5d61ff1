//! What the standard promises, through C programs that check themselves, in every kind of ranks.
//!
//! Each program of `c` has one subject, states what it expects beside the call, and prints "no errors" once.

use std::process::Command;

use crate::support::{MODES, mpirun, on, program, scratch, started_by};

/// Runs a program on these numbers of ranks of every kind.
fn holds(name: &str, sizes: &[usize]) {
    let program = program(name);
    for ranks in sizes {
        for mode in MODES {
            let ended = on(mode, *ranks, &program).run().expect_success().expect_output("no errors\n");
            assert_eq!(ended.stderr, "", "{mode}, {ranks} ranks: {ended}");
        }
    }
}

#[test]
fn every_mode_of_send_delivers_and_synchronises_as_it_says() {
    holds("send_modes.c", &[2, 5]);
}

/// Fibers share a core from three on where there are two, and all of them where a job is given one.
#[test]
fn ranks_that_share_a_core_receive_what_comes_when_others_have_run_and_wait_for_nobody_else() {
    holds("receive_turns.c", &[1, 2, 3, 8]);
    let program = program("receive_turns.c");
    for ranks in ["2", "3", "8"] {
        let mut one = Command::new("taskset");
        one.args(["-c", "0", "env"]);
        let job = started_by(one, "mpirun", ["--ranks", "fiber", "-n", ranks]).argument(&program);
        job.run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn bursts_of_messages_before_their_receives_take_memory_once() {
    on("process", 2, &program("early_bursts.c")).run().expect_success().expect_output("no errors\n");
}

#[test]
fn what_is_sent_and_received_in_one_call_is_sent_once_and_received_when_it_comes() {
    holds("send_and_receive.c", &[1, 2, 5]);
}

/// Ranks that are threads have one thread each, but call at once, too. Where ranks are more than cores, each waits for some that do not run.
#[test]
fn threads_that_send_and_receive_in_one_call_get_what_their_partners_have_sent() {
    holds("send_and_receive_threads.c", &[1, 2, 4]);
    let program = program("send_and_receive_threads.c");
    for (ranks, lanes) in [(2, "1"), (2, "3"), (4, "1")] {
        let job = on("process", ranks, &program).argument("multiple").variable("CORELACE_LANES", lanes);
        job.run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn a_count_of_zero_comes_with_a_null_pointer_in_every_function_that_takes_a_buffer() {
    holds("no_elements.c", &[1, 2, 3]);
}

#[test]
fn ranks_that_only_meet_in_collectives_take_in_what_others_send_and_cancel() {
    let program = program("taken_in.c");
    for how in ["barrier", "allreduce", "bcast", "allgather", "long", "ibarrier"] {
        for mode in MODES {
            for ranks in [1, 2, 3] {
                let ended = on(mode, ranks, &program).argument(how).run();
                ended.expect_success().expect_output("no errors\n");
            }
        }
    }
}

#[test]
fn a_handle_that_was_freed_is_told_from_one_that_never_was() {
    holds("past_handles.c", &[1, 2]);
}

#[test]
fn messages_of_every_size_around_the_protocols_thresholds_arrive_whole() {
    holds("sizes.c", &[2, 3]);
}

#[test]
fn threads_may_call_at_once_where_they_are_promised_it() {
    let program = program("threads.c");
    for ranks in [1, 2, 3] {
        let ended = on("process", ranks, &program).argument("multiple").run();
        ended.expect_success().expect_output("no errors\n");
    }
}

#[test]
fn what_is_under_way_on_a_communicator_goes_on_while_threads_wait_on_others() {
    let program = program("lanes.c");
    for ranks in [1, 2, 3, 4] {
        for lanes in ["3", "8"] {
            let ended =
                on("process", ranks, &program).argument("all").variable("CORELACE_LANES", lanes).run();
            ended.expect_success().expect_output("no errors\n");
        }
    }
}

#[test]
fn a_thread_that_is_held_up_in_its_lane_holds_nobody_up() {
    let program = program("lanes.c");
    let run = |lanes, limit| {
        let held = mpirun(["--timeout", limit, "-n", "2"]).argument(&program).argument("held");
        held.variable("CORELACE_LANES", lanes).run()
    };
    run("8", "60").expect_success().expect_output("no errors\n");
    let ended = run("1", "3");
    assert!(ended.stderr.contains("the job did not end within 3 s"), "one lane is one turnstile: {ended}");
}

#[test]
fn random_messages_of_threads_are_matched_as_by_a_sequential_model() {
    let program = program("matching.c");
    let run = |mode, ranks, seed: u32, threads: u32| {
        let arguments = [seed.to_string(), threads.to_string()];
        let ended = on(mode, ranks, &program).arguments(&[&arguments[0], &arguments[1]]).run();
        ended.expect_success().expect_output("no errors\n");
    };
    for seed in 1..=12 {
        for (ranks, threads) in [(1, 3), (2, 2), (2, 4), (3, 8), (4, 1)] {
            run("process", ranks, seed * 100 + threads, threads);
        }
        run("thread", 5, seed, 1);
        run("fiber", 13, seed, 1);
    }
}

#[test]
fn an_agent_makes_progress_while_the_program_computes() {
    let program = program("agent.c");
    let with = on("process", 3, &program).variable("CORELACE_AGENT", "1");
    with.run().expect_success().expect_output("no errors\n");
    on("process", 3, &program).argument("without").run().expect_success().expect_output("no errors\n");
}

#[test]
fn random_traffic_of_all_kinds_arrives_and_leaves_no_memory() {
    let program = program("soak.c");
    for (mode, ranks) in [("process", 4), ("thread", 3), ("fiber", 16)] {
        let ended = on(mode, ranks, &program).arguments(&["2", "17"]).run().expect_success();
        ended.expect_output("no errors\n");
    }
}

#[test]
fn messages_of_one_sender_do_not_overtake_each_other() {
    holds("order.c", &[2, 6]);
}

#[test]
fn exceptions_belong_to_the_rank_that_throws_them() {
    holds("exceptions.cc", &[1, 4]);
    let chip = mpirun(["--chip", "mesh16", "-n", "4"]).argument(program("exceptions.cc"));
    chip.run().expect_success().expect_output("no errors\n");
}

#[test]
fn rounding_and_floating_point_flags_belong_to_a_rank() {
    holds("floats.cc", &[1, 5]);
    let chip = mpirun(["--chip", "mesh16", "-n", "5"]).argument(program("floats.cc"));
    chip.run().expect_success().expect_output("no errors\n");
}

#[test]
fn a_frame_too_large_for_its_stack_ends_in_the_guard_and_not_in_another_rank() {
    let program = program("large_frame.c");
    for mode in ["thread", "fiber"] {
        let ended = on(mode, 4, &program).run();
        assert!(ended.code() != 0 && !ended.stdout.contains("has written"), "{mode}: {ended}");
    }
}

#[test]
fn the_two_groups_of_an_intercommunicator_talk_to_each_other() {
    holds("intercomm.c", &[2, 3, 7]);
    let chip = mpirun(["--chip", "mesh16", "-n", "7"]).argument(program("intercomm.c"));
    chip.run().expect_success().expect_output("no errors\n");
}

#[test]
fn a_handler_that_is_given_for_a_new_object_gets_the_errors_of_the_call_that_makes_it() {
    holds("given_handlers.c", &[1, 3]);
}

#[test]
fn sessions_come_and_go_before_beside_and_after_the_world() {
    holds("sessions.c", &[1, 2, 5]);
    let chip = mpirun(["--chip", "mesh16", "-n", "5"]).argument(program("sessions.c"));
    chip.run().expect_success().expect_output("no errors\n");
}

#[test]
fn communicators_are_split_by_the_memory_that_is_shared() {
    holds("hardware.c", &[1, 4]);
    for (chip, ranks) in [("mesh16", "4"), ("mppa256-bostan", "40")] {
        let job = mpirun(["--chip", chip, "-n", ranks]).argument(program("hardware.c"));
        job.run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn extensions_work_without_a_chip() {
    holds("extensions.c", &[1, 2, 5, 6]);
}

#[test]
fn messages_and_collectives_arrive_whole_by_every_protocol() {
    let programs = ["sizes.c", "collectives.c"].map(program);
    for protocol in ["pe", "dma", "eager", "lazy", "lwmpi", "lwmpi-unopt"] {
        for (program, mode) in programs.iter().flat_map(|program| MODES.map(|mode| (program, mode))) {
            let job = mpirun(["--protocol", protocol, "--ranks", mode, "-n", "3"]).argument(program);
            job.run().expect_success().expect_output("no errors\n");
        }
    }
}

#[test]
fn persistent_collectives_start_again_in_any_order() {
    holds("repeated.c", &[1, 2, 5]);
}

#[test]
fn persistent_requests_start_again_with_what_the_buffer_holds() {
    holds("persistent.c", &[1, 2, 5]);
}

#[test]
fn probes_see_what_a_receive_would_get_and_matched_messages_are_taken_once() {
    holds("probe.c", &[2, 5]);
}

#[test]
fn waits_and_tests_complete_the_requests_they_say() {
    holds("completion.c", &[2, 4]);
}

#[test]
fn thousands_of_requests_may_be_outstanding() {
    holds("many.c", &[2, 5]);
}

#[test]
fn collectives_give_what_a_loop_over_the_ranks_gives() {
    holds("collectives.c", &[1, 2, 7, 16]);
}

#[test]
fn collectives_of_uneven_parts_put_each_part_in_its_place() {
    holds("uneven.c", &[1, 2, 5, 16]);
}

#[test]
fn collectives_that_do_not_block_may_overlap() {
    holds("overlap.c", &[1, 2, 7]);
}

#[test]
fn long_collectives_that_do_not_block_give_what_a_loop_over_the_ranks_gives() {
    holds("moving.c", &[1, 2, 3, 8]);
}

#[test]
fn collectives_of_one_length_again_and_again_stay_right_whichever_way_they_go() {
    holds("again.c", &[2]);
    // Two alone may change their way, which takes many calls.
    let program = program("again.c");
    let modes = [1, 3].map(|ranks| MODES.map(|mode| (mode, ranks)));
    for (mode, ranks) in modes.as_flattened() {
        let job = on(mode, *ranks, &program).argument("16");
        let ended = job.run().expect_success().expect_output("no errors\n");
        assert_eq!(ended.stderr, "", "{mode}, {ranks} ranks: {ended}");
    }
}

#[test]
fn reductions_of_every_operation_and_type_agree_with_c() {
    holds("reductions.c", &[1, 2, 7]);
}

#[test]
fn operations_that_do_not_commute_are_applied_in_the_order_of_ranks() {
    holds("operations.c", &[1, 2, 3, 8, 13]);
}

#[test]
fn communicators_separate_their_traffic() {
    holds("communicators.c", &[1, 2, 7, 64]);
}

#[test]
fn groups_follow_the_algebra_of_sets_with_an_order() {
    holds("groups.c", &[1, 2, 8]);
}

#[test]
fn attributes_are_copied_and_deleted_by_their_callbacks() {
    holds("attributes.c", &[1, 3]);
}

#[test]
fn error_handlers_belong_to_their_communicator() {
    holds("handlers.c", &[1, 3]);
}

#[test]
fn the_environment_of_a_rank_is_as_the_standard_says() {
    holds("environment.c", &[1, 4]);
}

#[test]
fn statuses_tell_of_empty_and_failed_requests_and_errors_go_to_the_handler_of_the_moment() {
    holds("statuses.c", &[1, 2]);
}

#[test]
fn datatypes_of_either_form_lay_out_count_and_tell_what_their_constructor_was_told() {
    holds("types.c", &[1, 2]);
}

#[test]
fn dealt_arrays_external_forms_and_parameterised_kinds_are_as_the_standard_defines_them() {
    holds("portions.c", &[1, 2]);
}

#[test]
fn generalized_requests_have_the_status_that_their_program_gives_them() {
    holds("generalized.c", &[1, 3]);
}

#[test]
fn a_send_and_a_receive_may_be_one_request_and_a_communicator_may_have_its_own_buffer() {
    holds("both_ways.c", &[1, 2, 4]);
}

#[test]
fn partitioned_messages_leave_when_their_last_part_is_ready() {
    holds("partitions.c", &[1, 2, 4]);
}

#[test]
fn topologies_are_made_asked_and_taken_apart() {
    holds("topologies.c", &[1, 2, 5]);
}

#[test]
fn neighbours_exchange_in_every_form_on_every_topology() {
    holds("neighbors.c", &[1, 2, 5]);
}

#[test]
fn windows_are_objects_with_members_attributes_names_hints_handlers_and_attached_memory() {
    holds("windows.c", &[1, 2, 5]);
    let chip = mpirun(["--chip", "mesh16", "-n", "5"]).argument(program("windows.c"));
    chip.run().expect_success().expect_output("no errors\n");
}

#[test]
fn objects_have_the_names_hints_attributes_and_errors_of_the_standard() {
    holds("objects.c", &[1, 2, 4]);
}

#[test]
fn c_plus_plus_exceptions_of_callbacks_pass_through_the_library() {
    holds("throws.cc", &[1, 2]);
}

#[test]
fn the_initial_error_handler_is_the_one_that_was_asked_for() {
    let program = program("initial_handler.c");
    for mode in MODES {
        let job = mpirun(["-initial-errhandler", "mpi_errors_return", "--ranks", mode, "-n", "2"]);
        let ended = job.argument(&program).argument("return").run();
        ended.expect_success().expect_output("no errors\n");
        let job = mpirun(["-initial-errhandler", "mpi_errors_abort", "--ranks", mode, "-n", "2"]);
        let ended = job.argument(&program).argument("abort").run();
        assert!(
            !ended.status.success() && ended.stderr.contains("its error handler is MPI_ERRORS_ABORT"),
            "{ended}"
        );
    }
    let ended = mpirun(["-n", "1"])
        .argument(&program)
        .argument("abort")
        .variable("CORELACE_INITIAL_ERRHANDLER", "none")
        .run();
    let expected = "CORELACE_INITIAL_ERRHANDLER is \"none\", expected one of: mpi_errors_are_fatal mpi_errors_abort mpi_errors_return";
    assert!(ended.stderr.contains(expected), "{ended}");
}

#[test]
fn errors_in_error_handlers_end_and_a_handler_may_be_left_by_longjmp() {
    holds("in_handlers.c", &[1, 2]);
}

#[test]
fn functions_of_any_time_may_be_called_by_several_threads_at_once() {
    for words in [&[][..], &["threads alone"]] {
        let job = on("process", 2, &program("any_time.c")).arguments(words);
        job.run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn a_thread_of_the_program_may_ask_how_far_its_rank_is_in_every_kind_of_ranks() {
    holds("other_thread.c", &[1, 3]);
}

/// Where fibers are more than cores one of them would keep the others from running.
#[test]
fn ranks_that_compute_without_calls_do_not_keep_others_from_running() {
    holds("long_turns.c", &[1, 2, 7]);
    let program = program("long_turns.c");
    for mode in MODES {
        let mut one = Command::new("taskset");
        one.args(["-c", "0", "env"]);
        let job = started_by(one, "mpirun", ["--ranks", mode, "-n", "3"]).argument(&program);
        let ended = job.run().expect_success().expect_output("no errors\n");
        assert_eq!(ended.stderr, "", "{mode}: {ended}");
    }
}

/// The first calls on a communicator go by messages, and so do all of a job that is recorded.
#[test]
fn reductions_have_the_same_bits_in_every_call_form_and_kind_of_ranks() {
    let program = program("same_bits.c");
    for mode in MODES {
        for (ranks, most) in [
            (2, "100000"),
            (3, "4097"),
            (4, "500"),
            (5, "100000"),
            (6, "65"),
            (7, "500"),
            (8, "65"),
            (9, "4097"),
        ] {
            let ended = on(mode, ranks, &program).argument(most).run().expect_success();
            let ended = ended.expect_output("no errors\n");
            assert_eq!(ended.stderr, "", "{mode}, {ranks} ranks: {ended}");
        }
        for ranks in ["2", "5", "9"] {
            let trace = scratch("same_bits").join("run.trace");
            let flags = ["--ranks", mode, "-n", ranks, "--trace", trace.to_str().expect("plain")];
            let job = mpirun(flags).argument(&program).argument("500");
            job.run().expect_success().expect_output("no errors\n");
        }
    }
}

#[test]
fn every_form_of_every_collective_gives_the_same() {
    holds("forms.c", &[1, 2, 5]);
}

#[test]
fn every_form_of_send_and_receive_delivers() {
    holds("message_forms.c", &[1, 2, 5]);
}

#[test]
fn handles_become_integers_and_back() {
    holds("integers.c", &[1, 2]);
}

/// A search among all that there ever were takes ten times as long as this limit, and they are done in a hundredth of it.
#[test]
fn the_last_of_many_requests_becomes_an_integer_as_fast_as_the_first() {
    let job = mpirun(["--timeout", "20", "-n", "1"]).argument(program("many_integers.c")).argument("400000");
    job.run().expect_success().expect_output("no errors\n");
}

#[test]
fn names_of_mpi_1_and_fortran_s_handles_are_there_by_default() {
    holds("old_names.c", &[1, 2]);
}

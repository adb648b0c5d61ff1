//! One-sided operations (MPI chapter 12), through C programs that check themselves, in every kind of ranks.

use std::process::Command;

use crate::support::job::Job;
use crate::support::{MODES, mpirun, on, program, scratch};

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
fn puts_and_gets_move_what_the_datatypes_say_on_every_window_in_every_epoch() {
    holds("onesided_moves.c", &[1, 2, 5]);
}

#[test]
fn accumulates_of_eight_ranks_lose_nothing_and_locks_exclude() {
    holds("onesided_atomics.c", &[1, 2, 8]);
}

#[test]
fn blocks_of_arrays_move_as_their_extents_and_starts_say() {
    holds("blocks.c", &[1, 2, 5]);
}

#[test]
fn wrong_one_sided_calls_are_told_by_their_classes() {
    holds("onesided_errors.c", &[1, 2, 4]);
}

/// Also where the kernel lets nobody read another's memory: what is shared is mapped.
#[test]
fn memory_from_the_library_carries_messages_and_windows_and_can_be_freed_at_any_time() {
    holds("alloc_mem.c", &[1, 2, 5]);
    let program = program("alloc_mem.c");
    on("process", 3, &program)
        .variable("CORELACE_CMA", "off")
        .run()
        .expect_success()
        .expect_output("no errors\n");
}

/// As in containers without the right to trace: memory of the program's own is asked for, and accumulates under its lock, too.
#[test]
fn windows_work_between_processes_that_may_not_read_each_other() {
    for name in ["onesided_moves.c", "onesided_atomics.c", "onesided_errors.c", "blocks.c", "windows.c"] {
        let program = program(name);
        for ranks in [1, 2, 4] {
            let job = on("process", ranks, &program).variable("CORELACE_CMA", "off");
            job.run().expect_success().expect_output("no errors\n");
        }
    }
    let threads = program("onesided_threads.c");
    for (ranks, lanes) in [(2, "1"), (3, "3"), (3, "8")] {
        let job = on("process", ranks, &threads).variable("CORELACE_CMA", "off");
        job.variable("CORELACE_LANES", lanes).run().expect_success().expect_output("no errors\n");
    }
}

/// Of fibers there are more than cores, so that those who look must let the one run that they wait for.
#[test]
fn ranks_that_look_at_memory_again_and_again_let_others_change_it() {
    holds("onesided_polling.c", &[1, 2, 9]);
}

#[test]
fn a_program_that_was_started_alone_has_windows_too() {
    for name in ["onesided_moves.c", "onesided_atomics.c", "onesided_errors.c"] {
        let ended = Job::of(Command::new(program(name))).run();
        ended.expect_success().expect_output("no errors\n");
    }
}

#[test]
fn threads_may_have_windows_of_their_own_and_share_one() {
    let program = program("onesided_threads.c");
    for (ranks, lanes) in [(1, "8"), (3, "1"), (3, "3"), (4, "8")] {
        let ended = on("process", ranks, &program).variable("CORELACE_LANES", lanes).run();
        ended.expect_success().expect_output("no errors\n");
    }
}

/// Fibers of one worker run one after the other, so a target that computes delays everybody: only with a worker each it can be asked.
#[test]
fn a_target_that_computes_does_not_delay_those_who_reach_into_its_memory() {
    let program = program("onesided_passive.c");
    for mode in ["process", "thread"] {
        on(mode, 2, &program).run().expect_success().expect_output("no errors\n");
    }
}

#[test]
fn checks_say_nothing_of_operations_that_only_seem_to_conflict() {
    for name in ["onesided_apart.c", "onesided_moves.c", "onesided_atomics.c"] {
        let program = program(name);
        for mode in MODES {
            let flags = ["--check", "--hang-timeout", "1", "--ranks", mode, "-n", "4"];
            let ended = mpirun(flags).argument(&program).run().expect_success().expect_output("no errors\n");
            assert_eq!(ended.stderr, "", "{name}, {mode}: {ended}");
        }
    }
}

/// Threads of one process cannot be stopped one by one; fibers of one worker run one after the other.
#[test]
fn a_target_that_computes_sleeps_or_is_stopped_has_everything_done_to_it_meanwhile() {
    let program = program("onesided_still.c");
    for what in ["computes", "sleeps", "stopped"] {
        for mode in ["process", "thread"].iter().filter(|mode| what != "stopped" || **mode == "process") {
            let pipe = scratch(&format!("still-{what}-{mode}")).join("pipe");
            let ended = on(mode, 2, &program).argument(what).argument(pipe).run().expect_success();
            ended.expect_output("no errors\n");
        }
    }
}

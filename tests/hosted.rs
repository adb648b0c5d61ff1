//! Ranks that are threads or fibers give the answer of processes, or say why they cannot.

use std::process::Command;

use crate::support::job::{Ended, Job};
use crate::support::{MODES, compile, mpirun, on, prefix, program, root, scratch, succeed};

/// The kinds of ranks that share a process.
const SHARED: [&str; 2] = ["thread", "fiber"];

fn hosted(mode: &str, ranks: usize, words: &[&str]) -> Ended {
    on(mode, ranks, &program("hosted.c")).arguments(words).run()
}

#[test]
fn children_of_a_rank_are_processes_that_end_by_themselves() {
    let lines = |ended: &Ended| ended.sorted().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let model = hosted("process", 3, &["forks"]).expect_success();
    assert!(
        model.sorted().contains(&"child of forks")
            && model.sorted().contains(&"handler of rank 1 in a child")
    );
    for mode in SHARED {
        let ended = hosted(mode, 3, &["forks"]).expect_success();
        assert_eq!(lines(&ended), lines(&model), "{mode}: {ended}");
        assert_eq!(ended.stderr, "", "{mode}");
    }
    // What children print is their rank's.
    let tagged = mpirun(["--ranks", "fiber", "-n", "2", "--tag-output"]).argument(program("hosted.c"));
    let tagged = tagged.argument("forks").run().expect_success();
    for line in ["[0] child of forks", "[1] child of forks", "[0] system", "[1] system"] {
        assert!(tagged.sorted().contains(&line), "{line}: {tagged}");
    }
}

#[test]
fn calls_of_mpi_in_a_forked_child_are_refused() {
    for mode in MODES {
        let ended = hosted(mode, 2, &["child-calls"]).expect_success();
        ended.expect_said(&["MPI_Comm_rank was called in a child that a rank has made by fork()"]);
    }
}

#[test]
fn a_crash_in_a_shared_process_names_its_rank_and_what_happened_to_its_stack() {
    for mode in SHARED {
        for (how, code, signal) in [
            ("s", 139, "signal 11 (SIGSEGV)"),
            ("f", 136, "signal 8 (SIGFPE)"),
            ("i", 132, "signal 4 (SIGILL)"),
            ("a", 134, "signal 6 (SIGABRT)"),
        ] {
            let ended = hosted(mode, 4, &["crash", how]).expect_code(code);
            let who = format!("rank 1 ({mode}, pid ");
            let end = format!(", hosted) was killed by {signal}; the other 3 ranks were ended\n");
            assert!(ended.stderr.contains(&who) && ended.stderr.contains(&end), "{ended}");
        }
        // One call at a time too many, and one frame that would pass over a small guard.
        for how in ["d9000", "w"] {
            let stack = ["--stack", "2M", "--ranks", mode, "-n", "4"];
            let ended = mpirun(stack).argument(program("hosted.c")).arguments(&["crash", how]).run();
            let end = ", hosted) was killed by signal 11 (SIGSEGV): its stack of 2 MiB overflowed (see --stack); \
                       the other 3 ranks were ended\n";
            let ended = ended.expect_code(139);
            assert!(ended.stderr.contains("rank 1 (") && ended.stderr.contains(end), "{how}: {ended}");
        }
    }
}

#[test]
fn the_stack_of_a_rank_is_what_the_limit_or_the_user_says() {
    let program = program("hosted.c");
    for mode in SHARED {
        let roomy = mpirun(["--stack", "32M", "--ranks", mode, "-n", "3"]).argument(&program);
        roomy.arguments(&["crash", "d20000"]).run().expect_success();
        for (limit, code) in [("65536", 0), ("4096", 139)] {
            let mut shell = Command::new("sh");
            let launcher = prefix().join("bin/mpirun");
            shell.arg("-c").arg(format!(
                "ulimit -s {limit} && exec {} --ranks {mode} -n 3 {} crash d20000",
                launcher.display(),
                program.display()
            ));
            let ended = Job::of(shell).run().expect_code(code);
            assert!(code == 0 || ended.stderr.contains("its stack of 4 MiB overflowed"), "{ended}");
        }
    }
    let refused = mpirun(["--stack", "32M", "-n", "1"]).argument(&program).run();
    refused.expect_code(127).expect_said(&["--stack with --ranks process"]);
}

#[test]
fn too_little_address_space_is_a_sentence() {
    for mode in SHARED {
        let ended =
            mpirun(["--stack", "1024G", "--ranks", mode, "-n", "999"]).argument(program("hosted.c")).run();
        let ended = ended.expect_code(127);
        ended.expect_said(&["no room for the stack of each of 999 ranks", "smaller stacks, see --stack"]);
    }
}

#[test]
fn the_thread_level_that_is_provided_is_kept() {
    hosted("process", 2, &["level"]).expect_success().expect_output("multiple, a thread's call works\n");
    for mode in SHARED {
        let ended = hosted(mode, 2, &["level"]).expect_success();
        ended.expect_output("funneled, a thread's call fails\n").expect_said(&[
            "MPI_Comm_rank was called on a thread that belongs to no rank",
            "MPI_THREAD_FUNNELED",
        ]);
    }
}

#[test]
fn threads_that_call_at_the_same_time_are_told_so() {
    let ended = hosted("process", 1, &["overlap"]).expect_code(16);
    let ended = ended.expect_said(&[
        "MPI_Sendrecv was called while another thread was in a call",
        "MPI_THREAD_SERIALIZED",
    ]);
    assert!(!ended.stderr.contains("panicked"), "{ended}");
}

#[test]
fn the_ends_of_a_rank_run_its_handlers_destructors_and_threads() {
    let lines = |name: &str| (0..3).map(|rank| format!("{name} of rank {rank}")).collect::<Vec<_>>();
    for mode in MODES {
        let ended = hosted(mode, 3, &["pthread_exit"]).expect_success();
        assert_eq!(ended.sorted(), lines("destructor"), "{mode}: {ended}");
        let ended = hosted(mode, 3, &["destructor"]).expect_success();
        let destructors: Vec<_> = ended.sorted().into_iter().filter(|line| line.starts_with("d")).collect();
        assert_eq!(destructors, lines("destructor"), "{mode}: {ended}");
        assert!(ended.stdout.contains("handler of rank 2 in the rank\n"), "{ended}");
        for words in [&[][..], &["exit"]] {
            let ended = on(mode, 3, &program("thread_locals.cc")).arguments(words).run().expect_success();
            let alive: Vec<_> = (0..3).map(|rank| format!("member of rank {rank}: registry alive")).collect();
            assert_eq!(ended.sorted(), alive, "{mode}: {ended}");
        }
    }
}

#[test]
fn an_exit_inside_libc_is_that_of_a_rank() {
    for mode in MODES {
        let ended = hosted(mode, 3, &["error"]).expect_code(3);
        ended.expect_said(&[
            "hosted: rank 1 cannot go on",
            "exited with status 3 before MPI_Finalize",
            "rank 1 (",
        ]);
        let ended = hosted(mode, 3, &["argp"]).expect_code(64);
        let ended = ended.expect_said(&["exited with status 64 before MPI_Finalize", "rank 1 ("]);
        let told = ended.stderr.contains("rank 1: exit(64) was called inside of a shared library");
        assert_eq!(told, mode != "process", "{ended}");
    }
}

#[test]
fn processor_time_is_the_rank_s_or_said_to_be_shared() {
    for mode in ["process", "thread"] {
        let ended = hosted(mode, 3, &["clocks"]).expect_success().expect_output("no errors\n");
        assert_eq!(ended.stderr, "", "{mode}");
    }
    let ended = hosted("fiber", 3, &["clocks"]);
    let notes = ended.stderr.matches("share the processor time of their process").count();
    assert_eq!(notes, 1, "{ended}");
}

#[test]
fn what_ranks_share_is_reported_once() {
    let calls = ["getpid", "chdir", "umask", "signal", "setitimer", "dlopen in vain"];
    let calls_of_fibers = ["sigprocmask", "uselocale"];
    for mode in SHARED {
        let ended = hosted(mode, 4, &["shared"]).expect_success();
        let told =
            |call| ended.stderr.matches(&format!(" calls {call}: ranks that are {mode}s share ")).count();
        assert_eq!(calls.map(told), [1; 6], "{ended}");
        assert_eq!(calls_of_fibers.map(told), [usize::from(mode == "fiber"); 2], "{ended}");
    }
    assert_eq!(hosted("process", 4, &["shared"]).expect_success().stderr, "");
}

#[test]
fn a_rank_cannot_replace_the_process_of_all() {
    for mode in SHARED {
        let ended = hosted(mode, 3, &["exec"]).expect_success().expect_output("no errors\n");
        ended.expect_said(&["rank 1 calls execv, which would replace all ranks of this process"]);
    }
}

#[test]
fn a_rank_that_binds_itself_does_not_bind_others() {
    for mode in MODES {
        let ended = hosted(mode, 3, &["affinity"]).expect_success().expect_output("no errors\n");
        let refused =
            ended.stderr.contains("calls pthread_setaffinity_np: ranks that are fibers share the cores");
        assert_eq!(refused, mode == "fiber", "{ended}");
    }
}

#[test]
fn descriptors_0_to_2_are_the_rank_s() {
    for mode in MODES {
        let ended = hosted(mode, 3, &["descriptors"]).expect_success();
        assert_eq!(ended.sorted(), ["line", "line", "no errors", "open", "open"], "{mode}: {ended}");
    }
}

#[test]
fn ranks_with_openmp_run_as_threads_and_count_right() {
    let product = scratch("openmp").join("openmp");
    compile(&root().join("tests/c/openmp.c"), &product, &["-fopenmp"]);
    for mode in MODES {
        let ended = on(mode, 3, &product).run().expect_success().expect_output("no errors\n");
        let told = ended.stderr.matches("uses OpenMP (libgomp").count();
        assert_eq!(told, usize::from(mode == "fiber"), "{ended}");
    }
    let refused = mpirun(["--chip", "mesh16", "-n", "3"]).argument(&product).run().expect_code(127);
    refused.expect_said(&["uses OpenMP (libgomp", "ranks on a chip are fibers of one thread"]);
}

#[test]
fn openmp_threads_that_call_at_once_and_spin_between_their_calls_come_through_on_few_cores() {
    let product = scratch("openmp").join("openmp_multiple");
    compile(&root().join("tests/c/openmp_multiple.c"), &product, &["-fopenmp"]);
    for policy in ["active", "passive"] {
        for words in [["4", "4", "200"], ["8", "8", "100"], ["8", "2", "100"]] {
            let job = on("process", 2, &product).arguments(&words).variable("OMP_WAIT_POLICY", policy);
            job.run().expect_success().expect_output("no errors\n");
        }
    }
}

#[test]
fn a_library_with_variables_is_named_and_one_without_is_not() {
    let room = scratch("library");
    let program = |library: &str| {
        let file = room.join(format!("lib{library}.so"));
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC"])
            .arg(root().join(format!("tests/c/{library}.c")))
            .arg("-o")
            .arg(&file);
        succeed(compiler);
        let product = room.join(library);
        let path = format!("-Wl,-rpath,{}", room.display());
        compile(
            &root().join("tests/c/library_user.c"),
            &product,
            &[file.to_str().expect("a path of ours"), &path],
        );
        product
    };
    let (with, without) = (program("library_state"), program("library_pure"));
    on("process", 3, &with).run().expect_success().expect_output("no errors\n");
    for mode in SHARED {
        let ended = on(mode, 3, &with).run();
        assert_eq!(
            ended.stderr.matches("liblibrary_state.so has variables (kept_value)").count(),
            1,
            "{ended}"
        );
        let ended = on(mode, 3, &without).run();
        assert!(!ended.stderr.contains("has variables"), "{ended}");
    }
}

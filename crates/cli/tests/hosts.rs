//! Jobs of one host process: what the launcher asks of it, and the same supervision as for processes.
//!
//! The stand-in for the library makes threads whatever the plan says, and shows the program what it says. What fibers are is
//! tested with the library itself (`tests/`).

use crate::common::{build, run};

#[test]
fn a_host_is_asked_for_threads_or_fibers_and_each_rank_has_its_own_globals_output_and_end() {
    let program = build(
        "own.c",
        r#"
        #include <mpi.h>
        #include <stdio.h>
        #include <stdlib.h>
        int counter;
        static void bye(void) { printf("bye %d\n", counter); }
        int main(int argc, char **argv) {
            int rank, size;
            MPI_Init(&argc, &argv);
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            MPI_Comm_size(MPI_COMM_WORLD, &size);
            for (int i = 0; i <= rank; i++) counter++;
            printf("%s %s %d of %d: %d\n", argv[1], getenv("STAND_IN_MODE"), rank, size, counter);
            atexit(bye);
            MPI_Finalize();
            exit(0);
        }"#,
    );
    for mode in ["thread", "fiber"] {
        let job = run(&["-n", "3", "--ranks", mode, "--tag-output", program.to_str().unwrap(), "word"]);
        assert_eq!((job.status, job.stderr.as_str()), (Some(0), ""));
        let expected = [0, 1, 2]
            .map(|r| [format!("[{r}] bye {}", r + 1), format!("[{r}] word {mode} {r} of 3: {}", r + 1)]);
        assert_eq!(job.sorted(), expected.as_flattened());
    }
}

#[test]
fn the_same_program_runs_as_processes_with_the_same_output() {
    let program = build(
        "both.cc",
        "#include <mpi.h>\n#include <iostream>\nint main(int c, char **v) { int r; MPI_Init(&c, &v); \
         MPI_Comm_rank(MPI_COMM_WORLD, &r); std::cout << \"hello \" << r << std::endl; MPI_Finalize(); }",
    );
    for mode in ["process", "thread"] {
        let job = run(&["-n", "4", "--ranks", mode, "--tag-output", program.to_str().unwrap()]);
        assert_eq!((job.status, job.stderr.as_str()), (Some(0), ""), "{mode}");
        assert_eq!(job.sorted(), ["[0] hello 0", "[1] hello 1", "[2] hello 2", "[3] hello 3"], "{mode}");
    }
}

#[test]
fn failures_of_one_rank_end_the_host_with_the_usual_statuses_and_messages() {
    let program = build(
        "fails.c",
        r#"
        #include <mpi.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(int argc, char **argv) {
            int rank;
            MPI_Init(&argc, &argv);
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            if (rank == 1) switch (argv[1][0]) {
                case 'e': exit(7);
                case 'z': exit(0);
                case 'a': MPI_Abort(MPI_COMM_WORLD, 33);
                case 's': *(volatile int *)8 = 1;
            }
            for (;;) pause();
        }"#,
    );
    for (how, status, text) in [
        ("e", 7, "rank 1 (fails) exited with status 7 before MPI_Finalize; the other 2 ranks were ended\n"),
        ("z", 1, "rank 1 (fails) exited without having called MPI_Finalize; the other 2 ranks were ended\n"),
        ("a", 33, "rank 1 called MPI_Abort with code 33; the other 2 ranks were ended\n"),
        ("s", 139, ") was killed by signal 11 (SIGSEGV)\n"),
    ] {
        let job = run(&["-n", "3", "--ranks", "thread", program.to_str().unwrap(), how]);
        assert_eq!(job.status, Some(status), "{how}: {}", job.stderr);
        assert!(job.stderr.ends_with(text), "{how}: {}", job.stderr);
    }
    let job = run(&["-n", "2", "--ranks", "thread", "--timeout", "0.2", program.to_str().unwrap(), "w"]);
    assert_eq!(job.status, Some(124), "{}", job.stderr);
}

#[test]
fn a_host_that_cannot_load_the_program_says_so_once() {
    let job = run(&["-n", "2", "--ranks", "thread", "/bin/true"]);
    assert_eq!(job.status, Some(9));
    assert_eq!(job.stderr.lines().count(), 1, "{}", job.stderr);
    assert!(job.stderr.contains("cannot load /bin/true"), "{}", job.stderr);
}

#[test]
fn an_exception_that_leaves_main_and_a_failed_assertion_end_the_job_as_they_end_a_process() {
    let program = build(
        "throws.cc",
        "#include <mpi.h>\n#include <cassert>\n#include <stdexcept>\n#include <unistd.h>\nint main(int c, char **v) { int r; \
         MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r); if (r == 1) { assert(v[1][0] != 'a'); \
         throw std::runtime_error(\"nobody catches this\"); } for (;;) pause(); }",
    );
    for mode in ["process", "thread"] {
        for (how, text) in [("t", "nobody catches this"), ("a", "Assertion `v[1][0] != 'a'' failed.")] {
            let job = run(&["-n", "2", "--ranks", mode, program.to_str().unwrap(), how]);
            assert_eq!(job.status, Some(134), "{mode}: {}", job.stderr);
            assert!(job.stderr.contains(text) && job.stderr.contains("SIGABRT"), "{mode}: {}", job.stderr);
        }
    }
}

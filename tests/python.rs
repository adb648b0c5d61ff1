//! Python programs: mpi4py, built from its source with our `mpicc`, runs on our library.

use std::path::Path;
use std::sync::OnceLock;

use crate::support::python::Environment;
use crate::support::{on, prefix, root};

/// The wheel of mpi4py knows the ABIs of other MPIs only; built here, it uses the standard one.
const MPI4PY: &str = "mpi4py==4.1.2";

/// Python with mpi4py.
pub fn environment() -> &'static Environment {
    static MADE: OnceLock<Environment> = OnceLock::new();
    MADE.get_or_init(|| {
        let mpicc = prefix().join("bin/mpicc");
        let mpicc = mpicc.to_str().expect("a readable path");
        // Its extension module finds the library where this prefix has it.
        Environment::make("python", &format!("{MPI4PY} with {mpicc}"), |environment| {
            environment.install(&["numpy"], &[]);
            let source = ["--no-binary=mpi4py", "--no-cache-dir", MPI4PY];
            environment.install(&source, &[("MPICC", mpicc), ("CFLAGS", "-O0 -g0")]);
        })
    })
}

fn python(ranks: usize, script: &Path) -> crate::support::job::Ended {
    on("process", ranks, &environment().program("python")).argument(script).run().expect_success()
}

#[test]
fn the_hello_example_says_one_line_a_rank() {
    for ranks in [1, 4] {
        let expected: Vec<_> = (0..ranks).map(|rank| format!("hello from rank {rank} of {ranks}")).collect();
        assert_eq!(python(ranks, &root().join("examples/python/hello.py")).sorted(), expected);
    }
}

#[test]
fn the_allreduce_example_sums_numpy_arrays() {
    for (ranks, line) in
        [(1, "sum over 1 ranks: first 0, last 999\n"), (4, "sum over 4 ranks: first 6, last 4002\n")]
    {
        python(ranks, &root().join("examples/python/allreduce.py")).expect_output(line);
    }
}

#[test]
fn objects_arrays_communicators_and_exceptions_work_as_mpi4py_documents() {
    for ranks in [1, 4] {
        python(ranks, &root().join("tests/python/operations.py")).expect_output("no errors\n");
    }
}

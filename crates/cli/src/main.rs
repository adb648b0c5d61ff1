//! The executable `corelace`, also called `mpirun`, `mpicc` and so on: see the library beside it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}

//! Every rank says who it is.

use std::process::ExitCode;

fn main() -> ExitCode {
    corelace_examples::run(|world, _| {
        println!("hello from rank {} of {}", world.rank(), world.size());
        Ok(())
    })
}

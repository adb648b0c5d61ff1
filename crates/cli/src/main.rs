//! The executables.
fn main() {}

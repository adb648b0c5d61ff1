//! The laboratory from outside: `corelace bench` with installations that measure nothing, and `corelace chips`.

mod bench;
mod chips;

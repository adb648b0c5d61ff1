//! Loads one program several times into one process, a copy a rank, each with globals of its own.
//!
//! A program built by `mpicc` carries a form for copies in a section ([`pmi::copies`]), or is, as a *dual-use* ELF file, that form as a whole
//! (see `shim/corelace_program.h`). [`Image`] reads it once;
//! [`Program::load`] maps a copy of it, and [`Program::run_main`] runs the copy's `main`, where `exit` ends the rank only.
//!
//! # What each rank has for itself
//!
//! Globals, statics (template statics and inline variables of C++ too), `thread_local`s, `stdin`/`stdout`/`stderr` and
//! `std::cout` and its sisters, `exit`/`atexit`, `getopt`, `rand`/`random`/`drand48`, `strtok`, `localtime` and relatives.
//!
//! On a chip, where memory is small, what a program allocates is counted ([`Heap`]).
//!
//! # What ranks of a process share
//!
//! The working directory, the environment, signal handlers, the locale, timers, the process id (the first call that has to do
//! with one of them says so on stderr), open descriptors, `errno` of a worker thread (saved by the fiber switch), the heap, and the globals of
//! shared libraries: only the program itself is copied. A crash or `abort` of a rank ends all of them.
//!
//! # Cost
//!
//! A copy is private only where it is written to: text and constants of all copies are remapped to one image after
//! loading, so a rank costs its data pages, its relocated pointers and the dynamic linker's bookkeeping. Copies of which there are many ([`Copies`])
//! do without the latter.

mod copies;
mod counters;
mod elf;
mod error;
mod heap;
mod host;
mod image;
mod libraries;
mod mould;
mod program;

pub use copies::Copies;
pub use counters::Tally;
pub use error::LoadError;
pub use heap::Heap;
pub use host::call_host;
pub use image::Image;
pub use libraries::SharedLibrary;
pub use program::{Program, Streams};

#[cfg(test)]
mod tests;

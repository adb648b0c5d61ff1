//! The Rust interface from outside: programs as users write them, and some that do their worst.
#![forbid(unsafe_code)]

mod adversarial;
mod collectives;
mod datatypes;
mod intercommunicators;
mod jobs;
mod messages;
mod own_process;
mod persistent;
mod requests;
mod session_life;
mod session_threads;
mod sessions;
mod threads;
mod topologies;
mod windows;

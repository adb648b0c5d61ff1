//! The C interface from outside: what it exports, and what C programs see of it.

mod abi;
mod behaviour;
mod jobs;
mod library;

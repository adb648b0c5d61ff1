//! Files of many ranks (MPI chapter 14), over the engine.
//!
//! # The rooms
//!
//! * What a file looks like to a rank: [`Mode`], [`Hints`], [`View`] (which bytes of the file it sees, and in which order) and the representation
//!   of data in it ([`Source`] and [`Sink`]: memory as it is, or by way of a conversion).
//! * What is moved: `pattern` (the bytes of a view as a stream), `runs` (many runs of bytes in few words) and `domains` (which rank stands for
//!   which part of the file in a collective call) are data without a rank or a system.
//! * How it is moved: `handle` is the system's file, `mapping` a part of it as memory, `transfer` moves a stream with few calls of the system (it sieves), `work` has threads for
//!   transfers that the program does not wait for, `collective`, `two_phase` and `pull` are accesses as a machine of small steps, and `desk` lets them go on
//!   whenever the rank makes progress; in `meeting` ranks tell each other a few words.
//! * [`File`] is all of that together, with the pointers (`pointer`).
//!
//! Errors are values ([`Error`]) and name the file; MPI's codes exist in the C library only.

mod collective;
mod desk;
mod domains;
mod error;
mod file;
mod handle;
mod hints;
mod mapping;
mod meeting;
mod memory;
mod mode;
mod open;
mod pattern;
mod pointer;
mod pull;
mod runs;
mod transfer;
mod two_phase;
mod view;
mod work;

pub use error::{Error, Kind, Result};
pub use file::{File, Whence};
pub use hints::{Hints, Switch};
pub use memory::{Sink, Source, external_source};
pub use mode::Mode;
pub use open::{delete, without_prefix};
#[doc(hidden)]
pub use runs::bytes_of_foreign_runs;
pub use view::{Representation, View, external_extent};

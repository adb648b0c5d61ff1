//! `mpirun --check`: finds misuse of MPI that goes unnoticed otherwise, and says where (docs/guide/checking.md).
//!
//! While checks are on, every call takes the cold way of observed ones (`call/run`): `Watch::enter` sees its arguments before it
//! runs, `Watch::leave` what became of them. Everything else follows from that: this is a tool that lies between the program and
//! the library, inside the library. Without checks nothing of it runs.
//!
//! | file | what it looks for |
//! | --- | --- |
//! | [`objects`] | objects never freed, handles used after |
//! | [`operations`] | memory that an operation in flight owns, changed or shared; requests never completed |
//! | [`collectives`], [`parts`] | collective calls that differ between ranks |
//! | [`signatures`] | messages received as something else than they were sent as; messages never received |
//! | [`windows`], [`known`], [`epochs`], [`accesses`], [`meetings`], [`members`] | one-sided operations that conflict or miss, and assertions that are not true |
//! | [`threads`] | calls by the wrong thread |
//! | [`shapes`], [`calls`], [`buffers`], [`regions`] | what a call's arguments are |
//! | [`findings`] | how it is said |
//! | [`book`] | nothing: it is what the others remember in |
//!
//! Invariant: no borrow is held while the engine runs, since the program's callbacks may call in again.

mod accesses;
mod book;
mod buffers;
mod calls;
mod collectives;
mod epochs;
mod findings;
mod known;
mod letters;
mod meetings;
mod members;
mod objects;
mod operations;
mod parts;
mod regions;
mod shapes;
mod signatures;
mod threads;
mod watcher;
mod windows;

pub(crate) use watcher::Check;

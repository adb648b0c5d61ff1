//! Message passing between the ranks of a parallel program: MPI for Rust, in Rust.
//!
//! A program runs as several *ranks*, each with its own memory and its own thread of control. They exchange messages, and take
//! part in *collectives* that combine or distribute data. This crate runs them inside of the calling program, without a
//! launcher, or joins a job of processes that `mpirun` has started. There is nothing to install beside it.
//!
//! ```
//! use corelace::op;
//!
//! // Four ranks, as fibers of this program. Each adds up its part of 1/1 + 1/4 + 1/9 + …
//! let results = corelace::run(4, |world| {
//!     let mine = (1..=1000).skip(world.rank()).step_by(world.size());
//!     let part: f64 = mine.map(|n| 1.0 / f64::from(n * n)).sum();
//!     world.allreduce(&part, op::sum()).unwrap()
//! })?;
//! assert!((results[0] - 1.643_934).abs() < 1e-6);
//! # Ok::<(), corelace::RunError>(())
//! ```
//!
//! The same ranks as processes, started by `mpirun -n 4 target/release/program`:
//!
//! ```
//! let universe = corelace::init()?;
//! let world = universe.world();
//! if world.rank() == 0 {
//!     println!("{} ranks are here", world.size());
//! }
//! # Ok::<(), corelace::InitError>(())
//! ```
//!
//! # What there is
//!
//! | to | use |
//! | --- | --- |
//! | start ranks | [`run`], [`Job`] for options, [`init`] under `mpirun` |
//! | run them on a simulated chip | [`run_on`], [`ChipJob`] for options, [`Communicator::compute`] |
//! | send and receive | [`Communicator::send`], [`recv`](Communicator::recv), [`recv_into`](Communicator::recv_into), [`recv_vec`](Communicator::recv_vec), [`send_recv`](Communicator::send_recv) |
//! | go on while messages travel | [`Communicator::scope`] with borrowed buffers, [`isend_owned`](Communicator::isend_owned) and [`irecv_owned`](Communicator::irecv_owned) with owned ones |
//! | combine | [`Communicator::allreduce`], [`reduce`](Communicator::reduce), [`scan`](Communicator::scan) with an [`op`] |
//! | distribute and collect | [`Communicator::broadcast`], [`scatter`](Communicator::scatter), [`gather`](Communicator::gather), [`allgather`](Communicator::allgather), [`alltoall`](Communicator::alltoall), and their forms with a `v` |
//! | form smaller groups | [`Communicator::split`], [`split_type`](Communicator::split_type) by hardware, [`duplicate`](Communicator::duplicate), [`Group`] |
//! | use MPI in a library, without the program's knowing | [`Session`] with a [`ProcessSet`] |
//! | know neighbours | [`Communicator::cartesian`], [`graph`](Communicator::graph), [`distributed_graph`](Communicator::distributed_graph), then [`neighbor_alltoall`](Communicator::neighbor_alltoall) and others |
//! | connect two groups | [`Communicator::intercommunicator`] |
//! | do the same again and again | [`Scope::send_init`] and others, [`Scope::exchange`] for halos, [`Scope::partitioned_send`] |
//! | send columns and blocks | [`Selection`], [`Parts`] |
//! | reach into the memory of other ranks | [`Communicator::allocate_window`], then [`Window`]: locks, phases, and [`Remote`] with `put`, `get`, `compare_and_swap` |
//! | wait for work of one's own | [`Communicator::generalized_request`] |
//! | use a rank from several threads | [`Universe::serialized`] |
//! | see what ranks do | [`Job::trace`], [`ChipJob::trace`], module [`trace`] |
//! | send structs | [`derive(Datatype)`](macro@Datatype) |
//!
//! # What the types promise
//!
//! * **A buffer is left alone while a message uses it.** Requests borrow their buffers for a scope, or own them. They can be
//!   dropped or forgotten; memory stays valid until the operation is complete. Persistent ones lend them out between rounds.
//! * **What arrives is a value.** Only a [`Datatype`] travels, any data of which is a value.
//! * **A rank is one thread of control.** A [`Communicator`] can neither be sent to another thread nor shared with one, and cannot
//!   outlive its job. Threads of a process may take turns by [`Serialized`].
//! * **Memory that ranks share has no races.** Elements of a [`Window`] are a plain slice for one rank, or read by all, or cells that are changed by atomic operations alone.
//! * **A communicator is of a kind**: what makes no sense for it is not there.
//! * **Errors are values** ([`Error`]) that say what was wrong in full sentences. Nothing panics on a user's mistake, nor on
//!   drop.
//!
//! What the types cannot promise is that ranks agree: a message received as another type than it was sent as is
//! reinterpreted if the lengths allow it, and ranks that wait for each other wait. [`run`] notices the latter.
#![deny(unsafe_code)]
#![warn(missing_docs)]

// The derive's output names this crate; so it works in here, too.
extern crate self as corelace;

mod activity;
mod address;
mod blocks;
mod calls;
mod chip;
mod collective;
mod communicator;
mod error;
mod generalized;
mod group;
mod inter;
mod job;
mod kind;
mod neighbor;
pub mod op;
mod p2p;
mod part;
mod persistent;
#[allow(unsafe_code, reason = "the room that calls the engine with addresses")]
mod raw;
mod request;
mod scope;
mod selection;
mod session;
mod split;
mod status;
mod topology;
pub mod trace;
mod universe;
mod window;

pub use address::{Any, Dest, Source, TagMatch};
pub use blocks::Blocks;
pub use chip::{ChipJob, ChipRun, ChipStats, run_on};
pub use communicator::{Communicator, Comparison};
pub use corelace_derive::Datatype;
pub use engine::ProcessSet;
pub use error::{Error, ErrorKind, Result};
pub use generalized::{Completer, GeneralizedRequest};
pub use group::Group;
pub use inter::Root;
pub use job::{BoxError, Failure, Job, RankFailure, RunError, run};
pub use kind::{
    Cartesian, CartesianCommunicator, DistributedGraph, DistributedGraphCommunicator, Graph,
    GraphCommunicator, Inter, Intercommunicator, Intra, Kind, Neighbors, OneGroup,
};
pub use p2p::Message;
pub use raw::partitioned::{PartitionedRecv, PartitionedSend, RecvRound, SendRound};
pub use raw::persistent::{Exchange, Persistent, Round};
pub use raw::remote::Remote;
pub use raw::serialized::Serialized;
pub use raw::view::{Parts, View, ViewMut};
pub use raw::window::{Epoch, ExclusiveLock, LockAll, Segments, SharedLock, Window};
pub use raw::{Buffer, BufferMut, Data, Datatype, Shape};
pub use request::{
    CollectiveRequest, OwnedRecv, OwnedSend, RecvRequest, Request, SendRequest, Started, test_any, wait_all,
    wait_any,
};
pub use scope::Scope;
pub use selection::Selection;
pub use session::Session;
pub use split::{Hardware, Resource, SplitType};
pub use status::Status;
pub use topology::{Edge, dims_create};
pub use universe::{InitError, Universe, init};

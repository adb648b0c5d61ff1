//! The engine from outside: on fabrics whose habits the tests change, on chips,
//! and its words as loom models.

// Named by the files that the models share with the engine.
#[cfg(loom)]
extern crate alloc;

#[cfg(not(loom))]
mod boards;
#[cfg(not(loom))]
mod cancelling;
#[cfg(not(loom))]
mod chips;
#[cfg(not(loom))]
mod collectives;
#[cfg(not(loom))]
mod communicators;
#[cfg(not(loom))]
mod completion;
#[cfg(not(loom))]
mod faults;
#[cfg(not(loom))]
mod intercommunicators;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod lost_peers;
#[cfg(not(loom))]
mod many_ranks;
#[cfg(not(loom))]
mod multicast;
#[cfg(not(loom))]
mod observing;
#[cfg(not(loom))]
mod own_process;
#[cfg(not(loom))]
mod point_to_point;
#[cfg(not(loom))]
mod schedules;
#[cfg(not(loom))]
mod support;
#[cfg(not(loom))]
mod waits;
#[cfg(not(loom))]
mod windows;

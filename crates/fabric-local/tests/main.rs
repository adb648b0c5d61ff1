//! Threads and fibers from outside: what every fabric owes, how jobs end,
//! and what sleeps as loom models.

#[cfg(not(loom))]
mod conformance;
#[cfg(not(loom))]
mod jobs;
#[cfg(loom)]
mod loom;
#[cfg(loom)]
mod loom_crew;

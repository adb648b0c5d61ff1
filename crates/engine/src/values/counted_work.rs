//! What a program counts of its own computing, where time is virtual.

/// The work of a program that was compiled to count it.
pub trait CountedWork {
    /// Whether it counts at all. Known when MPI is initialised.
    fn is_counted(&self) -> bool;

    /// How many cycles it has computed since this was last asked.
    fn cycles(&self) -> u64;
}

//! The state of a rank that no user code runs under: its tables, and the protocols that work on them. Knows no `Rank`, and never waits.

pub(crate) mod cancel;
pub(crate) mod core;
pub(crate) mod direct;
pub(crate) mod lent;
pub(crate) mod observe;
pub(crate) mod poison;
pub(crate) mod protocol;
pub(crate) mod raw;
pub(crate) mod tables;

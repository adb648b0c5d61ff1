//! Waiting and completing.

pub(crate) mod complete;
pub(crate) mod waits;

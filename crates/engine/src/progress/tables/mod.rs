//! The tables of a rank's state, each with what its entries go through. They know of each other only what they hold.

pub(crate) mod arrived;
pub(crate) mod awaited;
pub(crate) mod mailroom;
pub(crate) mod matching;
pub(crate) mod peers;
pub(crate) mod portions;
pub(crate) mod receive;
pub(crate) mod request;
pub(crate) mod send;
pub(crate) mod slot;
pub(crate) mod spares;
pub(crate) mod template;
pub(crate) mod trials;
pub(crate) mod watch;

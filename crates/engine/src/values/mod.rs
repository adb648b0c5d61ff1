//! The lowest floor: values that everything above speaks of. Nothing here has a rank's state, talks to a peer or waits.

pub(crate) mod bounds;
pub(crate) mod choice;
pub mod comm;
pub(crate) mod contexts;
pub(crate) mod counted_work;
pub mod datatype;
pub(crate) mod envelope;
pub(crate) mod error;
pub mod group;
pub(crate) mod ids;
#[allow(unsafe_code, reason = "the room for memory that others write")]
pub mod memory;
pub(crate) mod mode;
pub mod op;
pub(crate) mod order;
pub(crate) mod pairing;
pub(crate) mod request;
#[allow(unsafe_code, reason = "the room for what threads share")]
pub(crate) mod shared;
pub(crate) mod slab;
pub mod topology;
pub(crate) mod trial;
pub(crate) mod tuning;

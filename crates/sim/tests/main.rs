//! The simulator from outside: what holds of every run,
//! and what comes out of those that can be computed by hand.

mod conservation;
mod copies;
mod multicast;
mod pressure;

//! Chips as a fabric: what every fabric owes, and what virtual time, memory and ports cost.

mod conformance;
mod kinds;
mod ports;
mod regions;
mod time;

//! Traces that are made for the tests, and a browser to look at their pages with.

pub mod browser;
pub mod by_hand;
pub mod stencil;

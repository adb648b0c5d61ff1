//! What is checked about the whole of the source.

mod arrows;
mod generated;

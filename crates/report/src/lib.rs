//! What a trace means: where the time of a job went and who caused it, as sentences, as numbers, as a page to look at, and
//! in the formats of other viewers.
//!
//! A [`trace::Trace`] becomes a [`Run`] (calls, waits and messages put together from events); [`Analysis`] finds what is
//! worth saying about it. The page and the text say the same, from the same strings.
#![forbid(unsafe_code)]

pub mod analysis;
mod chrome;
mod compare;
mod csv;
mod page;
mod run;
mod sentences;
mod table;
mod text;
mod units;

pub use analysis::Analysis;
pub use chrome::chrome;
pub use compare::Comparison;
pub use csv::{csv, csv_profile};
pub use page::page;
pub use run::{
    Access, Call, ChipRun, Collective, Epoch, Held, HeldBy, Message, Phase, Rank, Region, Run, Segment, Side,
    State, Wait,
};
pub use sentences::sentences;
pub use text::text;

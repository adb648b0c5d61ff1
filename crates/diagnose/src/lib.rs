//! Why a job does not go on: from what each rank says of itself to sentences that a person can act on.
//!
//! | module | subject |
//! | --- | --- |
//! | `graph` | who waits for whom; the shortest cycle |
//! | `findings` | what is wrong: cycles, ranks that left or never came, near misses, messages that nobody receives |
//! | `words` | one rank's state, an operation, a set of ranks, in words |
//! | `render` | the report, the table, and the forms for programs (JSON, dot) |
//!
//! Pure: no system calls, no clock. Invariant: any picture of a job, however contradictory, yields a report; a cycle that is named is
//! one in the picture.
#![forbid(unsafe_code)]

mod findings;
mod graph;
mod render;
#[cfg(test)]
mod tests;
mod words;

use std::str::FromStr;

pub use findings::findings;
pub use graph::cycle;
pub use pmi::{Collective, Kind, Operation, Statement};
pub use render::{dot, json, report, table};

/// What is known of a job: its ranks, by number.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// What each does.
    pub ranks: Vec<State>,
}

/// What a rank does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It has not called MPI_Init.
    Early,
    /// It does not wait in MPI: it did not answer.
    Computing,
    /// It is stopped by a signal or a debugger.
    Stopped,
    /// It waits, or polls, and says so.
    Waiting(Box<Statement>),
    /// It has left MPI_Finalize.
    Finalized,
    /// It has ended.
    Ended,
}

/// How a picture of a job is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// For Graphviz: who waits for whom.
    Dot,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(word: &str) -> Result<Format, String> {
        match word {
            "text" => Ok(Format::Text),
            "json" => Ok(Format::Json),
            "dot" => Ok(Format::Dot),
            _ => Err(format!("\"{word}\", expected one of: text json dot")),
        }
    }
}

impl Job {
    /// What a rank says, if it waits.
    pub(crate) fn statement(&self, rank: u32) -> Option<&Statement> {
        match self.ranks.get(rank as usize)? {
            State::Waiting(statement) => Some(statement),
            _ => None,
        }
    }

    /// The ranks that wait, with what they say.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u32, &Statement)> {
        (0..).zip(&self.ranks).filter_map(|(rank, state)| match state {
            State::Waiting(statement) => Some((rank, &**statement)),
            _ => None,
        })
    }

    /// What a communicator is called.
    pub(crate) fn comm_name(&self, comm: u32) -> String {
        let named =
            self.waiting().flat_map(|(_, statement)| &statement.names).find(|(number, _)| *number == comm);
        match named {
            Some((_, name)) => name.clone(),
            None if comm == 0 => "MPI_COMM_WORLD".into(),
            None => format!("communicator {comm}"),
        }
    }

    /// The ranks that belong to the communicator of a collective.
    pub(crate) fn members(&self, collective: &Collective) -> Vec<u32> {
        let count = self.ranks.len() as u32;
        if collective.members.is_empty() {
            return if collective.comm == 0 { (0..count).collect() } else { Vec::new() };
        }
        let runs = collective.members.iter().map(|(first, last)| *first..last.saturating_add(1).min(count));
        runs.flatten().collect()
    }
}

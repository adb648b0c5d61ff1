//! Several cores of a place that work for one rank: what it costs to bring them to it and to wait for the last one.

use super::ChipError;
use super::read::Section;
use super::schema::COST_MAX;
use super::unit::Kind;
use crate::Time;

/// The law of a team of cores: the rank's own core calls the others, all work, and the work is over when the last one has said that it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Team {
    /// Calling each further core.
    pub fork: Time,
    /// The barrier at the end.
    pub join: Time,
}

impl Team {
    pub(super) fn read(section: &Section<'_>) -> Result<Team, ChipError> {
        let cycles = |key| section.number(key, Kind::Cycles, 0..=COST_MAX);
        let team = Team { fork: cycles("fork")?, join: cycles("join")? };
        section.finish()?;
        Ok(team)
    }

    /// What a region of so many cores takes besides the work. A core alone calls nobody.
    pub fn overhead(&self, cores: u32) -> Time {
        match cores {
            0 | 1 => 0,
            _ => self.fork * Time::from(cores - 1) + self.join,
        }
    }
}

//! The part of a host's plan that puts its ranks on a simulated chip.
//!
//! ```text
//! chip chips/mesh16.toml 6%20mesh16%20… map=compact io=no memory=no stats=none scale=none progress=-1
//! ```

use std::fmt::Write;
use std::os::fd::RawFd;

use crate::host::{PlanError, bad, escape, parsed, unescape};

/// Which chip, and what to tell of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostChip {
    /// Where the description comes from, for messages.
    pub origin: String,
    /// The chip, in the words that the model of chips writes and reads.
    pub chip: String,
    /// Ranks go round the clusters (`--map scatter`) instead of filling one after the other.
    pub scatter: bool,
    /// The last rank is the I/O rank.
    pub io: bool,
    /// A map of each cluster's memory is wanted (`--memory`).
    pub memory: bool,
    /// In which form the figures of the run are wanted (`--stats`).
    pub stats: ChipStats,
    /// Millionths of a virtual second charged for each second of processor time (`--scale`); `None` for nothing at all.
    pub scale: Option<u64>,
    /// A terminal on which to show how far the run is; `-1` for none.
    pub progress: RawFd,
}

/// In which form the figures of a run are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChipStats {
    /// Not at all.
    #[default]
    None,
    /// For people.
    Text,
    /// For programs, on one line.
    Json,
}

const EXPECTED: &str = "chip ORIGIN WORDS map=compact|scatter io=yes|no memory=yes|no stats=none|text|json \
                        scale=none|MILLIONTHS progress=DESCRIPTOR";

impl HostChip {
    /// The fields of the line, behind the key.
    pub(crate) fn encode(&self, text: &mut String) {
        escape(self.origin.as_bytes(), text);
        text.push(' ');
        escape(self.chip.as_bytes(), text);
        let yes_no = |flag| if flag { "yes" } else { "no" };
        let stats = match self.stats {
            ChipStats::None => "none",
            ChipStats::Text => "text",
            ChipStats::Json => "json",
        };
        let scale = self.scale.map_or("none".into(), |scale| scale.to_string());
        _ = write!(
            text,
            " map={} io={} memory={} stats={stats} scale={scale} progress={}",
            if self.scatter { "scatter" } else { "compact" },
            yes_no(self.io),
            yes_no(self.memory),
            self.progress
        );
    }

    pub(crate) fn decode<'a>(
        line: &str,
        mut fields: impl Iterator<Item = &'a str>,
    ) -> Result<HostChip, PlanError> {
        let wrong = || bad(line, EXPECTED);
        let mut text = || {
            let field = fields.next().and_then(unescape).and_then(|text| text.into_string().ok());
            field.ok_or_else(wrong)
        };
        let (origin, chip) = (text()?, text()?);
        let mut value = |key: &str| {
            let (found, value) = fields.next().and_then(|field| field.split_once('=')).ok_or_else(wrong)?;
            if found == key { Ok(value) } else { Err(wrong()) }
        };
        let flag = |value: &str, yes: &str, no: &str| match value {
            value if value == yes => Ok(true),
            value if value == no => Ok(false),
            _ => Err(wrong()),
        };
        Ok(HostChip {
            origin,
            chip,
            scatter: flag(value("map")?, "scatter", "compact")?,
            io: flag(value("io")?, "yes", "no")?,
            memory: flag(value("memory")?, "yes", "no")?,
            stats: match value("stats")? {
                "none" => ChipStats::None,
                "text" => ChipStats::Text,
                "json" => ChipStats::Json,
                _ => return Err(wrong()),
            },
            scale: match value("scale")? {
                "none" => None,
                number => Some(parsed(number, EXPECTED)?),
            },
            progress: parsed(value("progress")?, EXPECTED)?,
        })
    }
}

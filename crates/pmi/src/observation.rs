//! What a launcher wants to see of its ranks: recordings for a trace, a board for a live display, and their last calls.
//!
//! All are descriptors that the ranks inherit: nothing has a name in the file system, so nothing is left there whoever is killed.
//! A process of one rank gets that rank's recording; a host gets those of all its ranks, and on a chip one more for the chip.

use std::os::fd::RawFd;

use crate::invitation::Error;

/// The names of the environment variables.
pub mod variable {
    /// `LIMIT FREQUENCY DESCRIPTOR…`: bytes of each recording, ticks of the processor's counter in a second or 0 for the fabric's
    /// clock, recordings.
    pub const TRACE: &str = "CORELACE_TRACE";
    /// The descriptor of the board.
    pub const BOARD: &str = "CORELACE_PROGRESS_FD";
    /// The descriptor of the sheets.
    pub const SHEETS: &str = "CORELACE_SHEETS_FD";
}

const TRACE_EXPECTED: &str = "a number of bytes, a frequency in Hz and at least one descriptor";

/// What to show, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// The recordings, if a trace is wanted.
    pub trace: Option<TraceFiles>,
    /// The board of the live display, if one is wanted: a [`Line`] for each rank, one behind the other.
    pub board: Option<RawFd>,
    /// Where process ranks leave their last call: a [sheet](crate::sheet) for each, one behind the other.
    pub sheets: Option<RawFd>,
}

/// Where ranks record what they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFiles {
    /// Bytes that each recording may take.
    pub limit: u64,
    /// Ticks in a second of the processor's time-stamp counter, which all cores share; `None` where only the fabric's clock is good.
    pub counter: Option<u64>,
    /// A file for each rank of the process, in rank order, and one for the chip if there is one.
    pub files: Vec<RawFd>,
}

impl Observation {
    /// The variables to set in the environment of a rank or host. Those that are not among them must not be inherited: see
    /// [`Observation::VARIABLES`].
    pub fn to_env(&self) -> Vec<(&'static str, String)> {
        let trace = self.trace.as_ref().map(|TraceFiles { limit, counter, files }| {
            let mut text = format!("{limit} {}", counter.unwrap_or(0));
            for file in files {
                text.push_str(&format!(" {file}"));
            }
            (variable::TRACE, text)
        });
        let board = self.board.map(|board| (variable::BOARD, board.to_string()));
        let sheets = self.sheets.map(|sheets| (variable::SHEETS, sheets.to_string()));
        trace.into_iter().chain(board).chain(sheets).collect()
    }

    /// All variables, for a launcher to take away.
    pub const VARIABLES: [&'static str; 3] = [variable::TRACE, variable::BOARD, variable::SHEETS];

    /// Reads what a launcher wants; `lookup` is usually `|name| std::env::var(name).ok()`.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Observation, Error> {
        let wrong = |name, value: &str, expected| Error::Malformed { name, value: value.into(), expected };
        let trace = match lookup(variable::TRACE) {
            None => None,
            Some(text) => {
                Some(trace_files(&text).ok_or_else(|| wrong(variable::TRACE, &text, TRACE_EXPECTED))?)
            }
        };
        let descriptor = |name| match lookup(name) {
            None => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| wrong(name, &text, "a descriptor number")),
        };
        Ok(Observation { trace, board: descriptor(variable::BOARD)?, sheets: descriptor(variable::SHEETS)? })
    }

    /// Reads what the launcher of this process wants.
    pub fn from_process() -> Result<Observation, Error> {
        Observation::from_env(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }
}

fn trace_files(text: &str) -> Option<TraceFiles> {
    let mut fields = text.split(' ');
    let limit = fields.next()?.parse().ok()?;
    let counter = fields.next()?.parse().ok()?;
    let files = fields.map(|field| field.parse().ok()).collect::<Option<Vec<RawFd>>>()?;
    (!files.is_empty()).then_some(TraceFiles { limit, counter: (counter > 0).then_some(counter), files })
}

/// What a rank shows on the board: words that it stores one by one, never locked. A reader may see one word newer than another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// What the rank does.
    pub doing: Doing,
    /// Messages that it has sent.
    pub messages: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Its clock when it showed something last: virtual on a chip.
    pub time: u64,
}

/// What a rank does, as the board shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Doing {
    /// It has not begun to use MPI.
    #[default]
    Starting,
    /// Its own work.
    Computing,
    /// Inside an MPI call.
    Communicating,
    /// Inside an MPI call, with nothing to do.
    Waiting,
    /// It has ended.
    Ended,
}

impl Line {
    /// Words of a line; one cache line, so that ranks do not disturb each other.
    pub const WORDS: usize = 8;
    /// Bytes of a line.
    pub const BYTES: usize = Line::WORDS * 8;
    /// Which word is which.
    pub const DOING: usize = 0;
    /// See [`Line::DOING`].
    pub const MESSAGES: usize = 1;
    /// See [`Line::DOING`].
    pub const SENT_BYTES: usize = 2;
    /// See [`Line::DOING`].
    pub const TIME: usize = 3;

    /// From the words of a board.
    pub fn from_words(words: [u64; Line::WORDS]) -> Line {
        let doing = match words[Line::DOING] {
            1 => Doing::Computing,
            2 => Doing::Communicating,
            3 => Doing::Waiting,
            4 => Doing::Ended,
            _ => Doing::Starting,
        };
        Line {
            doing,
            messages: words[Line::MESSAGES],
            bytes: words[Line::SENT_BYTES],
            time: words[Line::TIME],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_launcher_wants_survives_the_environment() {
        let trace = TraceFiles { limit: 1 << 20, counter: Some(2_400_000_000), files: vec![5, 9, 12] };
        let wanted = Observation { trace: Some(trace), board: Some(7), sheets: Some(8) };
        let env = wanted.to_env();
        let read = Observation::from_env(|name| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
        });
        assert_eq!(read, Ok(wanted));
        assert_eq!(Observation::from_env(|_| None), Ok(Observation::default()));
    }

    #[test]
    fn a_broken_variable_is_named_with_its_value() {
        for text in ["", "7", "7 0", "7 0 x", "many 0 5"] {
            let error =
                Observation::from_env(|name| (name == variable::TRACE).then(|| text.into())).unwrap_err();
            let expected = format!("CORELACE_TRACE is \"{text}\", expected {TRACE_EXPECTED}");
            assert_eq!(error.to_string(), expected);
        }
    }
}

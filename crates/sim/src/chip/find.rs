//! From a word on the command line to a chip: the name of a description that comes with the program, or a file.

use std::fmt;
use std::path::Path;

use super::nearest::nearest;
use super::{BUILTIN, Chip, ChipError};

/// The text of a chip file, which may have to travel to another process before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The file's name, for messages.
    pub origin: String,
    /// What it says.
    pub text: String,
}

/// Why there is no chip of that name.
#[derive(Debug)]
pub enum FindError {
    /// Neither a known name nor a file.
    Unknown {
        /// The word.
        word: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
    /// The file cannot be read.
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file is not the description of a chip.
    Broken(ChipError),
}

impl Chip {
    /// The chip of that name, or in that file.
    pub fn find(word: &str) -> Result<Chip, FindError> {
        let Description { origin, text } = Description::find(word)?;
        Self::from_toml(&text, &origin).map_err(FindError::Broken)
    }
}

impl Description {
    /// The description of that name, or in that file. A word with a slash or ending in `.toml` is a file.
    pub fn find(word: &str) -> Result<Description, FindError> {
        if let Some((name, text)) = BUILTIN.iter().find(|(name, _)| *name == word) {
            return Ok(Description { origin: format!("chips/{name}.toml"), text: text.to_string() });
        }
        if !word.contains('/') && !word.ends_with(".toml") && !Path::new(word).is_file() {
            let nearest = nearest(word, BUILTIN.iter().map(|(name, _)| *name));
            return Err(FindError::Unknown { word: word.to_string(), nearest });
        }
        let origin = word.to_string();
        match std::fs::read_to_string(word) {
            Ok(text) => Ok(Description { origin, text }),
            Err(error) => Err(FindError::Unreadable { file: origin, error }),
        }
    }
}

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { word, nearest } => {
                write!(f, "no chip is called '{word}'")?;
                match nearest {
                    Some(name) => write!(f, "; did you mean '{name}'?")?,
                    None => {
                        let names: Vec<&str> = BUILTIN.iter().map(|(name, _)| *name).collect();
                        write!(f, "; there are {}", names.join(", "))?;
                    }
                }
                f.write_str(" (a chip of your own is named by its file, FILE.toml)")
            }
            Self::Unreadable { file, error } => write!(f, "{file}: {error}"),
            Self::Broken(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FindError {}

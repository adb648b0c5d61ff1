//! `cargo xtask install`.

use crate::workspace::Outcome;

/// Runs the command.
pub fn command(_arguments: &[&str]) -> Outcome {
    Err("not yet".to_owned())
}

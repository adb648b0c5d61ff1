//! What every call does: from the entry point to the implementation ([`run`]), and from a fault to the error handler ([`raise`]).

mod raise;
mod run;
mod values;

pub(crate) use raise::{Object, invoke, raise};
pub(crate) use run::{
    Entry, TOO_EARLY, TOO_LATE, entry, left_to, quick, run, run_any_phase, run_shared, run_tool,
};
pub(crate) use values::{
    Call, Scope, Shared, Whose, Word, callback, in_place, unless_in_place, word_of_callback,
};

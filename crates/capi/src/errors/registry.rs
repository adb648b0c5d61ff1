//! Error classes, codes and their texts: the predefined ones, and those that the program adds (MPI section 9.5).
//!
//! A predefined class is its own code. The text of the last error that was raised is kept, so that MPI_Error_string on the
//! code that a call just returned gives the whole sentence and not only the class.
//!
//! Several threads may use it at once, at every thread level (MPI section 11.4.1): each method holds the lock from its look to its change.

use core::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::{Fault, Outcome};
use crate::abi::constants::*;

/// The error codes of one MPI process.
pub(crate) struct Registry {
    added: Mutex<AllAdded>,
    /// Value of the attribute MPI_LASTUSEDCODE; its address is given out.
    last_used: Box<AtomicI32>,
    last_raised: Mutex<(c_int, String)>,
}

/// What the program has added, in the order of the codes.
#[derive(Default)]
struct AllAdded(Vec<Added>);

struct Added {
    code: c_int,
    /// Its own code for a class.
    class: c_int,
    text: String,
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self {
            added: Mutex::default(),
            last_used: Box::new(AtomicI32::new(MPI_ERR_LASTCODE)),
            last_raised: Mutex::default(),
        }
    }

    fn added(&self) -> MutexGuard<'_, AllAdded> {
        self.added.lock().expect("nobody panics with it")
    }

    fn last_raised(&self) -> MutexGuard<'_, (c_int, String)> {
        self.last_raised.lock().expect("nobody panics with it")
    }

    /// The class of a code.
    pub(crate) fn class(&self, code: c_int) -> Outcome<c_int> {
        if predefined(code).is_some() {
            return Ok(code);
        }
        self.added().get(code).map(|added| added.class).ok_or_else(|| unknown("errorcode", code))
    }

    /// The text of a code or class.
    pub(crate) fn text(&self, code: c_int) -> Outcome<String> {
        {
            let last = self.last_raised();
            if last.0 == code && code != MPI_SUCCESS && !last.1.is_empty() {
                return Ok(last.1.clone());
            }
        }
        if let Some(name) = predefined(code) {
            return Ok(format!("{name}: {}", describe(code)));
        }
        self.added().get(code).map(|added| added.text.clone()).ok_or_else(|| unknown("errorcode", code))
    }

    /// Notes the sentence of an error that goes to the program.
    pub(crate) fn note(&self, code: c_int, sentence: &str) {
        // A text that the program gave to its own code wins over ours.
        if predefined(code).is_some() {
            *self.last_raised() = (code, sentence.to_owned());
        }
    }

    pub(crate) fn add_class(&self) -> c_int {
        self.add(&mut self.added(), None)
    }

    pub(crate) fn add_code(&self, class: c_int) -> Outcome<c_int> {
        let mut all = self.added();
        let known = predefined(class).is_some() || all.get(class).is_some_and(|added| added.class == class);
        if !known {
            return Err(unknown("errorclass", class));
        }
        Ok(self.add(&mut all, Some(class)))
    }

    pub(crate) fn set_text(&self, code: c_int, text: &str) -> Outcome {
        text.clone_into(&mut self.added().find("errorcode", code)?.text);
        Ok(())
    }

    /// Only what has a text can lose it.
    pub(crate) fn remove_text(&self, code: c_int) -> Outcome {
        let mut all = self.added();
        let text = std::mem::take(&mut all.find("errorcode", code)?.text);
        if text.is_empty() {
            let expected = format_args!("errorcode {code} has no error string, expected one to remove");
            return Err(Fault::new(MPI_ERR_OTHER, expected));
        }
        Ok(())
    }

    pub(crate) fn remove_code(&self, code: c_int) -> Outcome {
        let mut all = self.added();
        let added = all.find("errorcode", code)?;
        if added.class == code {
            return Err(Fault::new(
                MPI_ERR_OTHER,
                format_args!("errorcode {code} is a class, expected a code"),
            ));
        }
        added.without_text("errorcode", code)?;
        self.forget(&mut all, code);
        Ok(())
    }

    pub(crate) fn remove_class(&self, class: c_int) -> Outcome {
        let mut all = self.added();
        all.find("errorclass", class)?;
        if all.0.iter().any(|added| added.class == class && added.code != class) {
            let text =
                format_args!("errorclass {class} still has error codes, expected them to be removed before");
            return Err(Fault::new(MPI_ERR_OTHER, text));
        }
        all.find("errorclass", class)?.without_text("errorclass", class)?;
        self.forget(&mut all, class);
        Ok(())
    }

    /// Where the value of MPI_LASTUSEDCODE lives.
    pub(crate) fn last_used(&self) -> *mut c_int {
        self.last_used.as_ptr()
    }

    /// A new code of a class, or a new class.
    fn add(&self, all: &mut AllAdded, class: Option<c_int>) -> c_int {
        let code = all.last() + 1;
        self.last_used.fetch_max(code, Ordering::Relaxed);
        all.0.push(Added { code, class: class.unwrap_or(code), text: String::new() });
        code
    }

    fn forget(&self, all: &mut AllAdded, code: c_int) {
        all.0.retain(|added| added.code != code);
        self.last_used.store(all.last(), Ordering::Relaxed);
    }
}

impl AllAdded {
    fn get(&self, code: c_int) -> Option<&Added> {
        self.place(code).map(|at| &self.0[at])
    }

    fn find(&mut self, name: &str, code: c_int) -> Outcome<&mut Added> {
        let Some(at) = self.place(code) else {
            let text = format_args!("{name} is {code}, expected one that the program has added");
            return Err(Fault::new(MPI_ERR_OTHER, text));
        };
        Ok(&mut self.0[at])
    }

    fn place(&self, code: c_int) -> Option<usize> {
        self.0.binary_search_by_key(&code, |added| added.code).ok()
    }

    fn last(&self) -> c_int {
        self.0.last().map_or(MPI_ERR_LASTCODE, |added| added.code)
    }
}

impl Added {
    /// What still has a text stays (MPI section 9.5).
    fn without_text(&self, name: &str, code: c_int) -> Outcome {
        if self.text.is_empty() {
            return Ok(());
        }
        let text = format_args!("{name} {code} still has its error string, expected it to be removed before");
        Err(Fault::new(MPI_ERR_OTHER, text))
    }
}

/// The name of a predefined class.
pub(crate) fn predefined(code: c_int) -> Option<&'static str> {
    ERROR_CLASSES.iter().find(|(class, _)| *class == code).map(|(_, name)| *name)
}

fn unknown(name: &str, code: c_int) -> Fault {
    Fault::new(MPI_ERR_ARG, format_args!("{name} is {code}, expected a known error class or code"))
}

fn describe(class: c_int) -> &'static str {
    match class {
        MPI_SUCCESS => "no error",
        MPI_ERR_BUFFER => "the buffer cannot be used so",
        MPI_ERR_COUNT => "the count is out of range",
        MPI_ERR_TYPE => "the datatype cannot be used so",
        MPI_ERR_TAG => "the tag is out of range",
        MPI_ERR_COMM => "the communicator cannot be used so",
        MPI_ERR_RANK => "the rank is not one of the communicator",
        MPI_ERR_REQUEST => "the request cannot be used so",
        MPI_ERR_ROOT => "the root is not one of the communicator",
        MPI_ERR_GROUP => "the group cannot be used so",
        MPI_ERR_OP => "the operation cannot be used so",
        MPI_ERR_TOPOLOGY => "the communicator has no such topology",
        MPI_ERR_DIMS => "the dimensions cannot be used so",
        MPI_ERR_ARG => "an argument is wrong",
        MPI_ERR_UNKNOWN => "something is wrong and nobody knows what",
        MPI_ERR_TRUNCATE => "the message is longer than the receive buffer",
        MPI_ERR_OTHER => "something else is wrong",
        MPI_ERR_INTERN => "the library made a mistake",
        MPI_ERR_PENDING => "the operation is neither complete nor failed",
        MPI_ERR_IN_STATUS => "the status of each operation holds its error",
        MPI_ERR_KEYVAL => "the attribute key is not known",
        MPI_ERR_INFO => "the info object cannot be used so",
        MPI_ERR_INFO_KEY => "the info key is too long or empty",
        MPI_ERR_INFO_VALUE => "the info value is too long",
        MPI_ERR_INFO_NOKEY => "the info object has no such key",
        MPI_ERR_NO_MEM => "there is no memory left",
        MPI_ERR_WIN => "the window cannot be used so",
        MPI_ERR_FILE => "the file handle cannot be used so",
        MPI_ERR_SESSION => "the session cannot be used so",
        MPI_ERR_ERRHANDLER => "the error handler cannot be used so",
        MPI_ERR_UNSUPPORTED_OPERATION => "this library does not implement the operation",
        MPI_ERR_VALUE_TOO_LARGE => "the value does not fit into the result",
        MPI_ERR_PROC_ABORTED => "a process that takes part has ended",
        MPI_ERR_ABI => "the ABI setting cannot be changed so",
        MPI_ERR_LASTCODE => "the largest predefined error code",
        _ => "see the MPI standard, section 9.4",
    }
}

#[cfg(test)]
mod tests {
    use super::{MPI_ERR_LASTCODE, MPI_ERR_RANK, Registry};

    #[test]
    fn added_codes_lie_above_the_predefined_ones_and_know_their_class() {
        let registry = Registry::new();
        let class = registry.add_class();
        let code = registry.add_code(class).ok().unwrap();
        assert!(MPI_ERR_LASTCODE < class && class < code);
        assert_eq!(registry.class(code).ok(), Some(class));
        registry.set_text(code, "out of paper").ok().unwrap();
        assert_eq!(registry.text(code).ok().as_deref(), Some("out of paper"));
    }

    #[test]
    fn a_class_with_codes_is_not_removed() {
        let registry = Registry::new();
        let class = registry.add_class();
        let code = registry.add_code(class).ok().unwrap();
        assert!(registry.remove_class(class).is_err());
        assert!(registry.remove_code(code).is_ok() && registry.remove_class(class).is_ok());
        assert!(registry.class(class).is_err());
    }

    #[test]
    fn the_text_of_the_error_just_raised_is_the_whole_sentence() {
        let registry = Registry::new();
        assert!(registry.text(MPI_ERR_RANK).ok().unwrap().starts_with("MPI_ERR_RANK: "));
        registry.note(MPI_ERR_RANK, "MPI_Send: dest is 9");
        assert_eq!(registry.text(MPI_ERR_RANK).ok().as_deref(), Some("MPI_Send: dest is 9"));
    }
}

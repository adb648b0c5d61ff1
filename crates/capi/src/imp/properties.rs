//! What several kinds of objects have in common: names (MPI section 7.8) and hints (sections 7.4.4 and 12.2.7).

use core::ffi::{CStr, c_int};
use std::cell::RefCell;
use std::sync::Arc;

use crate::abi::types::MPI_Info;
use crate::call::Call;
use crate::convert::{Out, OutString};
use crate::handles::Info;
use crate::imp::sessions::ALLOC_KINDS;

/// Names an object.
#[inline(never)]
pub(crate) fn rename(current: &RefCell<String>, name: &CStr) {
    *current.borrow_mut() = name.to_string_lossy().into_owned();
}

/// Tells the name of an object, or of its null handle.
#[inline(never)]
pub(crate) fn tell_name(
    object: Option<&RefCell<String>>,
    null: &str,
    name: OutString,
    resultlen: Out<c_int>,
) {
    resultlen.set(match object {
        Some(current) => name.set(&current.borrow()),
        None => name.set(null),
    });
}

/// A hint that the library knows: its key, and its value where none was given, which also says what it can be.
pub(crate) type Hint = (&'static str, &'static str);

/// In which order a window's accumulate operations can be kept, and by default are; any of it can be wanted, or none.
pub(crate) const EVERY_ORDER: &str = "rar,raw,war,waw";

/// Of accumulate operations at one place at a time: one kind, with or without MPI_NO_OP.
pub(crate) const SAME_OP_NO_OP: &str = "same_op_no_op";

/// Takes up the hints that are known; the others, and those with a value that they cannot have, are ignored, and not told of again.
#[inline(never)]
pub(crate) fn heed(current: &Info, known: &[Hint], info: Option<Arc<Info>>) {
    let Some(info) = info else { return };
    for (key, default) in known {
        if let Some(value) = info.get(key).filter(|value| can_be(default, value)) {
            current.set(key, &value);
        }
    }
}

fn can_be(default: &str, value: &str) -> bool {
    match default {
        "false" => value == "true" || value == "false",
        "0" => !value.is_empty() && value.bytes().all(|digit| digit.is_ascii_digit()),
        EVERY_ORDER => {
            // Reads and writes after each other, with commas in between.
            let is_order = |order: &[u8]| {
                matches!(order, [b'r' | b'w', b'a', b'r' | b'w'] | [b'r' | b'w', b'a', b'r' | b'w', b','])
            };
            value == "none" || value.len() % 4 == 3 && value.as_bytes().chunks(4).all(is_order)
        }
        _ => value == SAME_OP_NO_OP || value == "same_op",
    }
}

/// All hints that the library knows, with their defaults where none was given, and those that it has set itself.
#[inline(never)]
pub(crate) fn tell_hints(
    call: &Call,
    current: &Info,
    known: &[Hint],
    own: Option<&str>,
    info_used: Out<MPI_Info>,
) {
    let used = Info::default();
    for (key, default) in known {
        used.set(key, &current.get(key).unwrap_or_else(|| (*default).to_owned()));
    }
    if let Some((key, value)) = own.and_then(|key| Some((key, current.get(key)?))) {
        used.set(key, &value);
    }
    used.set(ALLOC_KINDS.0, ALLOC_KINDS.1);
    info_used.set(call.state.infos.insert(used));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{EVERY_ORDER, Hint, SAME_OP_NO_OP, heed};
    use crate::handles::Info;

    const KNOWN: [Hint; 4] =
        [("promise", "false"), ("bytes", "0"), ("order", EVERY_ORDER), ("ops", SAME_OP_NO_OP)];

    fn kept(key: &str, value: &str) -> bool {
        let (given, current) = (Info::default(), Info::default());
        given.set(key, value);
        heed(&current, &KNOWN, Some(Arc::new(given)));
        current.get(key).as_deref() == Some(value)
    }

    #[test]
    fn a_hint_is_kept_if_it_is_known_and_its_value_means_something() {
        for (key, value) in [
            ("promise", "true"),
            ("promise", "false"),
            ("bytes", "64"),
            ("order", "none"),
            ("order", "war"),
            ("order", "waw,rar"),
            ("ops", "same_op"),
            ("ops", "same_op_no_op"),
        ] {
            assert!(kept(key, value), "{key} = {value}");
        }
        for (key, value) in [
            ("promise", "maybe"),
            ("bytes", "-1"),
            ("order", "rar,"),
            ("order", "none,rar"),
            ("ops", "no_op"),
            ("unknown", "true"),
        ] {
            assert!(!kept(key, value), "{key} = {value}");
        }
    }
}

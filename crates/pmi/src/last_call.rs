//! What a rank leaves behind for the case that it dies: which MPI function it called last, and from where.
//!
//! A process rank has a sheet of memory that it shares with its launcher. It stores two words there with each call; who writes them is
//! gone when somebody reads them, and nothing else of the rank is left to ask.
//!
//! ```text
//! byte 0     8      16     24      32            512                         16384
//!      | call | site | bias | bytes | program … | name 1 | name 2 | … (40 bytes each)
//! ```
//!
//! `call` is the number of a name, 0 before the first call; `site` the address that the call returns to; `bias` and `bytes` say where the
//! program lies in the rank's memory, and `program` which file it is, so that an address means something after the rank's end. Texts end
//! with a zero byte.
//!
//! Invariant: any bytes are a sheet. A rank that writes nonsense is told of with nonsense, or not at all; no other harm comes of it.

/// The layout of the sheet, in words of 8 bytes and in bytes.
pub mod sheet {
    /// Bytes of it: whole pages of every machine, of which only those are used that are written to.
    pub const BYTES: usize = 16384;
    /// The word with the number of the function's name.
    pub const CALL: usize = 0;
    /// The bit of that word which says that the return address is not known.
    pub const NO_SITE: u64 = 1 << 31;
    /// The word with the return address.
    pub const SITE: usize = 1;
    /// The word with what the loader added to the program's addresses.
    pub const BIAS: usize = 2;
    /// The word with the bytes of memory behind it that the program takes.
    pub const PROGRAM_BYTES: usize = 3;
    /// The byte at which the program's file name begins.
    pub const PROGRAM: usize = 32;
    /// The byte at which the first function's name begins.
    pub const NAMES: usize = 512;
    /// Bytes of a function's name, the zero at its end included.
    pub const NAME_BYTES: usize = 40;
    /// Between the name of a call and the line that it is in, if the rank knows that by itself. Such a text may take the places of several names.
    pub const LINE_FOLLOWS: &str = " at ";
    /// Bytes of the longest text in the places of names, the zero at its end included.
    pub const TEXT_MAX: usize = 4 * NAME_BYTES;
    /// How many names there is room for.
    pub const NAMES_MAX: usize = (BYTES - NAMES) / NAME_BYTES;
}

/// A rank's last call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastCall {
    /// The function, `MPI_Recv`.
    pub function: String,
    /// Where it was called, as `/path/of/program+0xOFFSET` or `src/main.rs:42`; `None` if that was not in the program itself.
    pub site: Option<String>,
    /// The rank notes only calls that have waited: there may have been others since.
    pub waited: bool,
}

impl LastCall {
    /// Reads a sheet; `None` if the rank has called nothing.
    pub fn of_sheet(bytes: &[u8]) -> Option<LastCall> {
        let word = |index: usize| {
            let bytes = bytes.get(index * 8..index * 8 + 8)?;
            Some(u64::from_ne_bytes(bytes.try_into().ok()?))
        };
        let text = |begin: usize, limit: usize| {
            let room = bytes.get(begin..)?;
            let room = &room[..room.len().min(limit)];
            let end = room.iter().position(|byte| *byte == 0).unwrap_or(room.len());
            let text = String::from_utf8_lossy(&room[..end]).into_owned();
            (!text.is_empty()).then_some(text)
        };
        let call = word(sheet::CALL)?;
        let number = usize::try_from(call & !sheet::NO_SITE).ok()?.checked_sub(1)?;
        let begin = number.checked_mul(sheet::NAME_BYTES)?.checked_add(sheet::NAMES)?;
        let function = text(begin, sheet::TEXT_MAX)?;
        if let Some((call, line)) = function.split_once(sheet::LINE_FOLLOWS) {
            return Some(LastCall { function: call.into(), site: Some(line.into()), waited: true });
        }
        let offset = word(sheet::SITE)?.wrapping_sub(word(sheet::BIAS)?);
        let inside = call & sheet::NO_SITE == 0 && offset < word(sheet::PROGRAM_BYTES)?;
        let program = text(sheet::PROGRAM, sheet::NAMES - sheet::PROGRAM).filter(|_| inside);
        Some(LastCall {
            function,
            waited: false,
            site: program.map(|program| format!("{program}+{offset:#x}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sheet(call: u64, site: u64) -> Vec<u8> {
        let mut bytes = vec![0; sheet::BYTES];
        for (index, word) in
            [(sheet::CALL, call), (sheet::SITE, site), (sheet::BIAS, 0x5000), (sheet::PROGRAM_BYTES, 0x800)]
        {
            bytes[index * 8..index * 8 + 8].copy_from_slice(&word.to_ne_bytes());
        }
        bytes[sheet::PROGRAM..][..7].copy_from_slice(b"/a/heat");
        bytes[sheet::NAMES + sheet::NAME_BYTES..][..8].copy_from_slice(b"MPI_Recv");
        bytes
    }

    #[test]
    fn the_last_call_is_named_with_its_site_in_the_program() {
        let call = LastCall::of_sheet(&sheet(2, 0x5123)).expect("it has called something");
        assert_eq!((call.function.as_str(), call.site.as_deref()), ("MPI_Recv", Some("/a/heat+0x123")));
    }

    #[test]
    fn a_rank_may_know_the_line_itself() {
        let mut bytes = sheet(2, 0);
        let text = b"recv at crates/with/a/path/longer/than/one/name/src/main.rs:42\0";
        bytes[sheet::NAMES + sheet::NAME_BYTES..][..text.len()].copy_from_slice(text);
        let call = LastCall::of_sheet(&bytes).expect("it has called something");
        let line = "crates/with/a/path/longer/than/one/name/src/main.rs:42";
        assert_eq!((call.function.as_str(), call.site.as_deref(), call.waited), ("recv", Some(line), true));
    }

    #[test]
    fn a_call_from_a_library_has_no_site_and_no_call_is_none() {
        for site in [0x4fff, 0x5800, 0] {
            assert_eq!(LastCall::of_sheet(&sheet(2, site)).expect("a call").site, None, "{site:#x}");
        }
        assert_eq!(LastCall::of_sheet(&sheet(0, 0x5123)), None);
        assert_eq!(LastCall::of_sheet(&sheet(1, 0x5123)), None, "a number without a name");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..5000), call in any::<u64>()) {
            let mut bytes = bytes;
            if let Some(word) = bytes.get_mut(..8) {
                word.copy_from_slice(&call.to_ne_bytes());
            }
            _ = LastCall::of_sheet(&bytes);
        }
    }
}

//! Which call a process rank waits in and in which line of the program, for reports of hangs and crashes.
//!
//! A call is noted when it is about to wait, as one lookup in a small table and two stores. Its line is known without debug information: the
//! methods of this crate are told their caller's by the compiler (`#[track_caller]`).

use std::cell::Cell;
use std::panic::Location;

use runtime::last_call::Sheet;
use runtime::{Origin, Site};

type Line = &'static Location<'static>;

/// Calls that were noted, by their names and lines.
#[derive(Default)]
pub struct Calls {
    last: Cell<Option<(&'static str, Line)>>,
    /// The numbers of calls on the sheet; one that is forgotten is written down again.
    numbers: Numbers,
    /// The number of what is written on the sheet next, less one; 0 also if nothing was written.
    written: Cell<u64>,
}

struct Numbers([Cell<(usize, usize, u64)>; Numbers::SLOTS]);

impl Numbers {
    const SLOTS: usize = 64;
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers([const { Cell::new((0, 0, 0)) }; Numbers::SLOTS])
    }
}

impl Calls {
    /// Notes a call that is about to wait.
    #[inline]
    pub fn note(&self, sheet: &Sheet, name: &'static str, line: Line) {
        self.last.set(Some((name, line)));
        let key = (name.as_ptr().addr(), std::ptr::from_ref(line).addr());
        let slot = &self.numbers.0[(key.1 >> 3 ^ key.1 >> 9 ^ key.0) % Numbers::SLOTS];
        let (known_name, known_line, number) = slot.get();
        if (known_name, known_line) == key {
            sheet.words().note(number, 0);
        } else {
            let number = self.write(sheet, name, line);
            slot.set((key.0, key.1, number));
            sheet.words().note(number, 0);
        }
    }

    /// Writes a call on the sheet: its number, 0 if that is not possible.
    #[cold]
    fn write(&self, sheet: &Sheet, name: &'static str, line: Line) -> u64 {
        let number = self.written.get() + 1;
        let written = match in_words(line) {
            Some(line) => sheet.write_line(number, name, &line),
            None => Some(sheet.write_name(number, name) + 1).filter(|next| *next > 1),
        };
        let Some(next) = written else { return 0 };
        self.written.set(next - 1);
        number
    }

    /// The call that was noted last.
    pub fn last(&self) -> Option<Site> {
        let (name, line) = self.last.get()?;
        // Reports know the end of a program's part in a job by the standard's name.
        let call = if name == "finalize" { "MPI_Finalize" } else { name };
        let origin = in_words(line).map_or_else(Origin::default, Origin::Line);
        Some(Site { call: call.into(), origin })
    }
}

/// File and line; `None` if they are of this crate, which is nobody's mistake.
fn in_words(line: Line) -> Option<String> {
    let own = file!().strip_suffix("calls.rs").unwrap_or("src");
    (!line.file().starts_with(own)).then(|| format!("{}:{}", line.file(), line.line()))
}

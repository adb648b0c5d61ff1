//! The sheet on which a process rank notes its last call, for the launcher to read if the rank dies ([`pmi::sheet`] has the layout).

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pmi::sheet;

/// Where a rank notes its calls: memory that its launcher can see, or, where nobody wants to know, memory of its own.
pub struct Sheet {
    words: &'static Words,
    /// The whole of it, if a launcher reads it.
    shared: Option<&'static [AtomicU64; sheet::BYTES / 8]>,
}

/// The words that each call stores.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Words([AtomicU64; 2]);

impl Words {
    /// Nothing noted yet.
    pub const fn new() -> Words {
        Words([const { AtomicU64::new(0) }; 2])
    }

    /// Notes a call: the number of its [name](Sheet::write_name), and where it returns to.
    #[inline(always)]
    pub fn note(&self, call: u64, site: u64) {
        self.0[sheet::CALL].store(call, Relaxed);
        self.0[sheet::SITE].store(site, Relaxed);
    }
}

impl Words {
    /// Where the call that was noted last returns to; 0 if that is unknown.
    pub fn site(&self) -> u64 {
        let is_known = self.0[sheet::CALL].load(Relaxed) & sheet::NO_SITE == 0;
        if is_known { self.0[sheet::SITE].load(Relaxed) } else { 0 }
    }

    /// Notes what is noted elsewhere.
    pub fn copy(&self, from: &Words) {
        self.note(from.0[sheet::CALL].load(Relaxed), from.0[sheet::SITE].load(Relaxed));
    }
}

const _: () = assert!(sheet::CALL == 0 && sheet::SITE == 1);

impl Sheet {
    /// The sheet that the launcher of this process rank has laid out, or one that nobody reads.
    pub fn of_process(rank: u32) -> Sheet {
        let wanted = pmi::Observation::from_process().ok().and_then(|wanted| wanted.sheets);
        // A launcher that cannot be told of the last call is still told of the death.
        wanted.and_then(|sheets| Sheet::on(sheets, rank).ok()).unwrap_or_else(Sheet::private)
    }

    /// One that nobody reads.
    pub fn private() -> Sheet {
        Sheet { words: Box::leak(Box::default()), shared: None }
    }

    /// Where calls are noted.
    pub fn words(&self) -> &'static Words {
        self.words
    }

    /// The last call that was noted and where it returns to, 0 if that is unknown; `None` if there was none, or nobody reads the sheet.
    #[cold]
    pub fn last_call(&self) -> Option<(String, u64)> {
        let call = self.words.0[sheet::CALL].load(Relaxed);
        let site = self.words.0[sheet::SITE].load(Relaxed);
        let begin = sheet::NAMES + ((call & !sheet::NO_SITE) as usize).checked_sub(1)? * sheet::NAME_BYTES;
        let words = self.shared?.get(begin / 8..)?.iter().take(sheet::NAME_BYTES / 8);
        let bytes = words.flat_map(|word| word.load(Relaxed).to_ne_bytes()).take_while(|byte| *byte != 0);
        let name = String::from_utf8(bytes.collect()).ok()?;
        Some((name, if call & sheet::NO_SITE == 0 { site } else { 0 }))
    }

    /// Writes the name of a function behind those that are there, as number `number`, counted from 1. 0 if it has no room.
    #[cold]
    pub fn write_name(&self, number: u64, name: &str) -> u64 {
        let place = number as usize;
        if !(1..=sheet::NAMES_MAX).contains(&place) || name.len() >= sheet::NAME_BYTES {
            return 0;
        }
        self.write(sheet::NAMES + (place - 1) * sheet::NAME_BYTES, name.as_bytes());
        number
    }

    /// Writes a call and its line, `recv at src/main.rs:42`, behind what is there, as number `number`. The number of what will be written
    /// next; `None` if this has no room, nobody reads it, or it is too long.
    #[cold]
    pub fn write_line(&self, number: u64, call: &str, line: &str) -> Option<u64> {
        self.shared?;
        let text = format!("{call}{}{line}", sheet::LINE_FOLLOWS);
        let places = text.len() / sheet::NAME_BYTES + 1;
        let first = usize::try_from(number).ok()?.checked_sub(1)?;
        if text.len() >= sheet::TEXT_MAX || first + places > sheet::NAMES_MAX {
            return None;
        }
        self.write(sheet::NAMES + first * sheet::NAME_BYTES, text.as_bytes());
        Some(number + places as u64)
    }

    /// Maps the sheet of `rank` behind this descriptor, and writes where this program lies in memory.
    fn on(sheets: i32, rank: u32) -> io::Result<Sheet> {
        let offset = i64::from(rank) * sheet::BYTES as i64;
        // SAFETY: a new mapping; the kernel checks descriptor and offset.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                sheet::BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                sheets,
                offset,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a mapping of this size, aligned, never unmapped, and only ever used as atomics. The launcher has made the file as long
        // as its ranks need, and sealed it so.
        let shared: &'static [AtomicU64; sheet::BYTES / 8] = unsafe { &*address.cast() };
        // SAFETY: the first words of the same, in the same form.
        let words: &'static Words = unsafe { &*address.cast() };
        let sheet = Sheet { words, shared: Some(shared) };
        if let (Some((bias, bytes)), Ok(program)) =
            (crate::module::program(), std::fs::read_link("/proc/self/exe"))
        {
            let name = program.as_os_str().as_bytes();
            // A name that is cut names nothing.
            if name.len() < sheet::NAMES - sheet::PROGRAM {
                shared[sheet::BIAS].store(bias as u64, Relaxed);
                shared[sheet::PROGRAM_BYTES].store(bytes as u64, Relaxed);
                sheet.write(sheet::PROGRAM, name);
            }
        }
        Ok(sheet)
    }

    /// Writes bytes at an offset that is a multiple of 8, and zeros up to the next one.
    fn write(&self, offset: usize, bytes: &[u8]) {
        let Some(shared) = self.shared else { return };
        for (word, piece) in shared[offset / 8..].iter().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..piece.len()].copy_from_slice(piece);
            word.store(u64::from_ne_bytes(padded), Relaxed);
        }
    }
}

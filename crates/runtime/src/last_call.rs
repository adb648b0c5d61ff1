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

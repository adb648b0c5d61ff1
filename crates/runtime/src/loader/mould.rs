//! Thousands of copies of a program, cast from one mould: what the dynamic linker did once is repeated without it.
//!
//! The dynamic linker takes five mappings and a descriptor a copy, and a time that grows with the square of their number. A copy that
//! is cast takes two mappings, no descriptor, and a moment:
//!
//! ```text
//!   one reservation:  | text | data | text | data | ...       text: mapped from one file, code and constants; data: a copy's own
//! ```
//!
//! The mould itself is the dynamic linker's work. It loads the program twice, its constructors hidden from it. A word of the data
//! that differs between the two by the distance between them is an address of the program's own, which moves with the
//! copy; every other word is the same wherever the program lies (addresses of libraries, constants). So no relocation has to be
//! understood here, whatever the machine, and what was bound stays bound as the dynamic linker did it.
//!
//! What a cast lacks is what the dynamic linker keeps in its own tables: variables of each thread, and the frames that exceptions go through.
//! Programs with either are refused ([`Mould::make`] finds none), and debuggers and `dladdr` do not know a cast. Hence few
//! copies are left to the dynamic linker ([`Copies`](super::Copies)).
//!
//! **Invariant:** neither the two first copies nor casts are ever unloaded (see [`program`](super::program)).

use std::ffi::{c_char, c_int};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use super::elf::Layout;
use super::error::LoadError;
use super::image::{Image, memory_file, page_bytes};
use super::program::{Linked, environ};

/// Libraries without which no exception passes through a program.
const UNWINDERS: [&str; 4] = ["libstdc++.so", "libgcc_s.so", "libc++.so", "libunwind.so"];

const WORD: usize = size_of::<usize>();

/// What all casts of a program are made from.
pub(super) struct Mould {
    image: Image,
    /// Code and constants, each byte at its address.
    text: File,
    /// Bytes of that; the data begin there.
    text_bytes: usize,
    /// The data as the dynamic linker leaves them. Zeros follow.
    pattern: Pattern,
    /// From one copy to the next.
    stride: usize,
    /// Where the way in is, from the beginning.
    entry: usize,
}

/// Room for copies, and those that were cast in it.
pub(super) struct Casts {
    mould: Mould,
    next: usize,
    end: usize,
}

impl Mould {
    /// The mould of a program; `None` if only the dynamic linker can make copies of it.
    pub(super) fn make(image: &Image) -> Result<Option<Mould>, LoadError> {
        let layout = image.layout();
        let Some(text_bytes) = text_bytes(layout).filter(|_| can_be_cast(layout)) else { return Ok(None) };
        let (first, _) = Linked::load(image, image.silenced()?)?;
        let (second, _) = Linked::load(image, image.silenced()?)?;
        let Some(entry) = first.entry.addr().checked_sub(first.base).filter(|_| second.base != 0) else {
            return Ok(None);
        };
        let words = data_bytes(layout, text_bytes) / WORD;
        // SAFETY: both were just loaded with segments that cover these words, and nothing of them has run that could write there.
        let of = |copy: &Linked| unsafe {
            std::slice::from_raw_parts((copy.base + text_bytes) as *const usize, words)
        };
        let linkers = |word| layout.linkers_words.contains(&((text_bytes + word * WORD) as u64));
        let pattern = Pattern::of(of(&first), of(&second), (first.base, second.base), linkers);
        let Some(pattern) = pattern else { return Ok(None) };
        let text = flat(image, layout).map_err(|source| image.no_copy(source))?;
        let stride = image.span().next_multiple_of(layout.alignment.max(page_bytes()) as usize);
        let mut mould = Mould { image: image.clone(), text, text_bytes, pattern, stride, entry };
        mould.forget_the_linker()?;
        Ok(Some(mould))
    }

    /// Reserves room for so many copies.
    pub(super) fn reserve(self, copies: usize) -> Result<Casts, LoadError> {
        let alignment = self.image.layout().alignment.max(page_bytes()) as usize;
        let length = self.stride.checked_mul(copies).and_then(|bytes| bytes.checked_add(alignment));
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let room = length.map(|length| {
            // SAFETY: a new mapping at an address of the kernel's choice disturbs no existing memory.
            unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0) }
        });
        match room {
            Some(room) if room != libc::MAP_FAILED => {
                let next = room.addr().next_multiple_of(alignment);
                Ok(Casts { next, end: next + self.stride * copies, mould: self })
            }
            _ => Err(self.image.no_room(copies, io::Error::last_os_error())),
        }
    }

    /// The table that the program itself reads (for its destructors) is that of its file: the copies here are not the dynamic linker's.
    fn forget_the_linker(&mut self) -> Result<(), LoadError> {
        let layout = self.image.layout();
        let mut table = vec![0; (layout.dynamic.end - layout.dynamic.start) as usize];
        let read = self.image.master().read_exact_at(&mut table, layout.dynamic.start);
        read.map_err(|source| self.image.no_copy(source))?;
        let first = (layout.dynamic_address as usize - self.text_bytes) / WORD;
        let words = first..first + table.len() / WORD;
        let Pattern { words: data, addresses } = &mut self.pattern;
        for (word, bytes) in data[words.clone()].iter_mut().zip(table.as_chunks::<WORD>().0) {
            *word = usize::from_ne_bytes(*bytes);
        }
        addresses.retain(|at| !words.contains(&(*at as usize)));
        Ok(())
    }
}

impl Casts {
    /// The next copy: its constructors have run.
    pub(super) fn cast(&mut self) -> Result<Linked, LoadError> {
        let Mould { image, text, text_bytes, pattern, stride, entry } = &self.mould;
        let base = self.next;
        assert!(base < self.end, "room was reserved for fewer copies of {}", image.path().display());
        self.next += stride;
        // SAFETY: these pages of the reservation are nobody's yet.
        let mapped = unsafe {
            libc::mmap(
                base as *mut libc::c_void,
                *text_bytes,
                libc::PROT_READ | libc::PROT_EXEC,
                libc::MAP_PRIVATE | libc::MAP_FIXED,
                text.as_raw_fd(),
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(image.no_room((self.end - base) / stride, io::Error::last_os_error()));
        }
        // SAFETY: the reservation reaches to the end of the copy's segments, and nobody else knows of this part of it.
        let own =
            unsafe { std::slice::from_raw_parts_mut((base + text_bytes) as *mut usize, pattern.words.len()) };
        own.copy_from_slice(&pattern.words);
        for at in &pattern.addresses {
            own[*at as usize] = own[*at as usize].wrapping_add(base);
        }
        // SAFETY: the copy is complete, as the dynamic linker would have left it before this step.
        unsafe { construct(image.layout(), base) };
        Ok(Linked { base, entry: (base + entry) as *mut libc::c_void })
    }
}

/// Whether a program asks for nothing that only the dynamic linker has.
fn can_be_cast(layout: &Layout) -> bool {
    let unwinds = layout.needed.iter().any(|name| UNWINDERS.iter().any(|known| name.starts_with(known)));
    !layout.thread_locals && !layout.text_relocations && !unwinds
}

/// Bytes from the beginning to the first that is writable: all that is read-only, in whole pages. `None` if a program is laid out otherwise.
fn text_bytes(layout: &Layout) -> Option<usize> {
    let page = page_bytes();
    let writable = layout.segments.iter().filter(|segment| segment.writable);
    let data = writable.map(|segment| segment.address / page * page).min()?;
    let fixed = layout.segments.iter().filter(|segment| !segment.writable);
    let end = fixed.map(|segment| segment.address.saturating_add(segment.memory_bytes)).max()?;
    let table = layout.dynamic_address >= data && layout.dynamic_address.is_multiple_of(WORD as u64);
    let first = layout.segments.first().is_some_and(|segment| segment.address == 0);
    (end <= data && data > 0 && first && table).then_some(data as usize)
}

/// Bytes of the data that are not zero from the outset.
fn data_bytes(layout: &Layout, text_bytes: usize) -> usize {
    let writable = layout.segments.iter().filter(|segment| segment.writable);
    let end = writable.map(|segment| segment.address.saturating_add(segment.file_bytes)).max().unwrap_or(0);
    // Whole words: a segment takes whole pages.
    (end as usize).next_multiple_of(WORD) - text_bytes
}

/// What is alike in all copies of a program's data.
#[derive(Debug, PartialEq, Eq)]
struct Pattern {
    /// The words, as those of a copy at address 0.
    words: Vec<usize>,
    /// Which of them are addresses of the program's own.
    addresses: Vec<u32>,
}

impl Pattern {
    /// Of the data of two copies that lie at `bases`; `None` if they differ in other ways. Words that are the dynamic linker's own are left out.
    fn of(
        first: &[usize],
        second: &[usize],
        bases: (usize, usize),
        linkers: impl Fn(usize) -> bool,
    ) -> Option<Pattern> {
        let distance = bases.1.wrapping_sub(bases.0);
        let mut pattern = Pattern { words: Vec::with_capacity(first.len()), addresses: Vec::new() };
        for (at, (&one, &other)) in first.iter().zip(second).enumerate() {
            pattern.words.push(match other.wrapping_sub(one) {
                0 => one,
                moved if moved == distance => {
                    pattern.addresses.push(u32::try_from(at).ok()?);
                    one.wrapping_sub(bases.0)
                }
                _ if linkers(at) => 0,
                _ => return None,
            });
        }
        Some(pattern)
    }
}

/// A file of what is read-only, each byte at its address. Pages that no cast reads are holes: the kernel maps the pages around one that is touched as well,
/// if there are any, and counts them for each copy.
fn flat(image: &Image, layout: &Layout) -> io::Result<File> {
    let file = memory_file()?;
    let page = page_bytes();
    let is_read = |first: u64, end: u64| {
        !image.inner.unread.iter().any(|range| range.start <= first && end <= range.end)
    };
    let mut end = 0;
    for segment in layout.segments.iter().filter(|segment| !segment.writable) {
        let mut bytes = vec![0; segment.file_bytes as usize];
        image.master().read_exact_at(&mut bytes, segment.offset)?;
        let mut at = segment.address;
        while let Some(rest) = bytes.get((at - segment.address) as usize..).filter(|rest| !rest.is_empty()) {
            let in_page = ((at / page + 1) * page - at).min(rest.len() as u64);
            if is_read(at / page * page, at + in_page) {
                file.write_all_at(&rest[..in_page as usize], at)?;
            }
            at += in_page;
        }
        end = end.max(segment.address + segment.memory_bytes);
    }
    file.set_len(end)?;
    Ok(file)
}

/// Runs the constructors of the copy at `base`, in the order of the dynamic linker.
///
/// # Safety
/// The copy must be complete, and none of them have run.
unsafe fn construct(layout: &Layout, base: usize) {
    type Constructor = unsafe extern "C" fn(c_int, *const *const c_char, *mut *mut c_char);
    let no_arguments: *const c_char = std::ptr::null();
    let run = |address: usize| {
        // SAFETY: a constructor of this program, which is as trusted as its main. The environment is that of the process.
        unsafe {
            let constructor = std::mem::transmute::<usize, Constructor>(address);
            constructor(0, &raw const no_arguments, environ);
        }
    };
    if let Some(address) = layout.constructor {
        run(base + address as usize);
    }
    for at in layout.constructors.clone().step_by(WORD) {
        // SAFETY: an entry of the table of constructors, whose words are addresses. Two of its values mean that there is none.
        let address = unsafe { *((base + at as usize) as *const usize) };
        if !matches!(address, 0 | usize::MAX) {
            run(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_move_with_the_program_are_told_from_those_that_do_not() {
        let (first, second) = ([7, 0x1000, 0x99, 0x1008], [7, 0x5000, 0x99, 0x5008]);
        let expected = Pattern { words: vec![7, 0, 0x99, 8], addresses: vec![1, 3] };
        let of = |bases, one: &[usize], other: &[usize]| Pattern::of(one, other, bases, |_| false);
        assert_eq!(of((0x1000, 0x5000), &first, &second).as_ref(), Some(&expected));
        assert_eq!(of((0x5000, 0x1000), &second, &first).as_ref(), Some(&expected));
    }

    #[test]
    fn a_word_that_differs_otherwise_is_the_linker_s_or_refuses_the_program() {
        let (first, second, bases) = ([1, 0x7f01], [1, 0x7f90], (0x1000, 0x5000));
        assert_eq!(Pattern::of(&first, &second, bases, |_| false), None);
        let expected = Pattern { words: vec![1, 0], addresses: Vec::new() };
        assert_eq!(Pattern::of(&first, &second, bases, |at| at == 1), Some(expected));
    }
}

//! Scratch memory of schedules.

use alloc::vec::Vec;
use core::alloc::Layout;
use core::mem::MaybeUninit;

use crate::values::datatype::Datatype;
use crate::values::memory::region::{Region, span};

/// A piece of memory that does not move while its owner lives, aligned for every basic type.
#[derive(Debug)]
pub(crate) struct Scratch(Vec<MaybeUninit<u128>>);

/// Bytes of a word of the backing store, which sets the alignment.
const WORD: usize = size_of::<u128>();

/// A short piece of such memory, on the stack.
pub(crate) struct Aside([MaybeUninit<u128>; Aside::BYTES as usize / WORD]);

impl Aside {
    pub const BYTES: u64 = 4096;

    /// The contents are undefined.
    pub fn new() -> Aside {
        Aside([MaybeUninit::uninit(); Aside::BYTES as usize / WORD])
    }

    /// The memory as `count` elements of a type without gaps, until it moves.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn region(&mut self, count: u64, datatype: &Datatype) -> Region {
        assert!(count * datatype.size() <= Aside::BYTES && datatype.layout().is_contiguous());
        Region::at(self.0.as_mut_ptr().cast(), count, datatype)
    }
}

impl Scratch {
    /// Room for `bytes` bytes, all zero.
    pub fn zeroed(bytes: usize) -> Scratch {
        Scratch(alloc::vec![MaybeUninit::new(0); bytes.div_ceil(WORD)])
    }

    /// As [`zeroed`](Scratch::zeroed), for as many bytes as a program asks for: none if there are not so many. Memory is used where it is touched.
    pub fn try_zeroed(bytes: usize) -> Option<Scratch> {
        let words = bytes.div_ceil(WORD);
        if words == 0 {
            return Some(Scratch(Vec::new()));
        }
        let layout = Layout::array::<MaybeUninit<u128>>(words).ok()?;
        // SAFETY: the layout has bytes; a vector frees its memory with the layout that its capacity has.
        unsafe {
            let memory = alloc::alloc::alloc_zeroed(layout).cast::<MaybeUninit<u128>>();
            (!memory.is_null()).then(|| Scratch(Vec::from_raw_parts(memory, words, words)))
        }
    }

    /// Room for `bytes` bytes of elements without gaps. The contents are undefined: a schedule receives or copies data into
    /// scratch memory before it reads it, and clearing megabytes first would cost as much as combining them.
    pub fn unwritten(bytes: usize) -> Scratch {
        let words = bytes.div_ceil(WORD);
        let mut memory = Vec::with_capacity(words);
        // SAFETY: the capacity is there, and elements that may be uninitialised need no value.
        unsafe { memory.set_len(words) };
        Scratch(memory)
    }

    /// Bytes that are held.
    pub fn capacity(&self) -> usize {
        self.0.len() * WORD
    }

    /// Where it begins.
    pub fn base(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    /// Bytes that `count` elements need.
    pub fn bytes_for(count: u64, datatype: &Datatype) -> usize {
        let (low, high) = span(datatype.layout(), count);
        (high - low).max(count as i64 * datatype.extent()) as usize
    }

    /// The memory as `count` elements.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn region(&mut self, count: u64, datatype: &Datatype) -> Region {
        assert!(Scratch::bytes_for(count, datatype) <= self.capacity());
        let (low, _) = span(datatype.layout(), count);
        Region::at(self.0.as_mut_ptr().cast::<u8>().wrapping_offset(-low as isize), count, datatype)
    }
}

/// Data in one piece, which others may read or write: where they lie, or else in scratch memory.
#[derive(Debug)]
pub(crate) struct Whole {
    region: Region,
    scratch: Option<Scratch>,
}

impl Whole {
    /// A place for data. `byte` is the type of one byte.
    pub fn place(data: &Region, byte: &Datatype) -> Whole {
        if let Some(region) = data.as_bytes(byte) {
            return Whole { region, scratch: None };
        }
        let mut scratch = Scratch::unwritten(data.bytes() as usize);
        Whole { region: scratch.region(data.bytes(), byte), scratch: Some(scratch) }
    }

    /// The data themselves.
    pub fn of(data: &Region, byte: &Datatype) -> Whole {
        let whole = Whole::place(data, byte);
        if whole.scratch.is_some() {
            data.copy_to(&whole.region);
        }
        whole
    }

    /// Bytes.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// What has come to the place goes where the data lie.
    pub fn spread(&self, data: &Region) {
        if self.scratch.is_some() {
            self.region.copy_to(data);
        }
    }
}
